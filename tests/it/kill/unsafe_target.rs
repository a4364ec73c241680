//! An unsafe target may act on each call: what was lost waits for a person and is never called again by itself.

use crate::world::agent::Call;
use crate::world::{Agent, Bench, Record, binary};
use std::net::TcpListener;
use std::path::Path;

const UNSAFE: &str = "side_effects: unsafe, max_in_flight: 4";

fn calls_of(calls: &[Call], case: &str) -> usize {
    calls.iter().filter(|call| call.case == case).count()
}

fn stage(script: &str, target: &str, more: &str) -> (Bench, Agent) {
    let bench = Bench::empty();
    bench.write_dataset(10);
    let script = bench.write("script.yaml", script);
    let agent = Agent::start(bench.path(), &["--script", &script.display().to_string()]);
    bench.write_profile(&agent.chat_url(), target, more);
    (bench, agent)
}

#[tokio::test]
async fn unsafe_calls_lost_in_a_kill_wait_in_quarantine_and_are_never_called_again() {
    let script = "- { match: { regex: 'say [123]\\.' }, fault: hang }\n";
    let (bench, agent) = stage(script, UNSAFE, "");
    let store = bench.store("one");
    let first = bench.run(&store, &[]);
    let is_stuck = |record: &Record| record.count("attempt.judged") == 7 && record.count("attempt.started") == 10;
    first.until_recorded(&store, "all but the hanging calls", is_stuck).await;
    crate::world::until("the hanging calls have arrived", async || agent.calls().len() == 10).await;
    first.kill();

    for resumed_before in 0..2 {
        let run = Record::read(&store).await.expect("a run").run.run.to_string();
        let resumed = bench.run(&store, &["--resume", &run]).end().await;
        assert_eq!(resumed.code, Some(3), "resumed {resumed_before} times before: {resumed:?}");
        assert_eq!(resumed.report["verdict"], "inconclusive");
        assert_eq!(resumed.report["counts"]["errored"], 3);
        assert_eq!(resumed.report["errors"]["lost"], 3, "{resumed:?}");
        let record = Record::read(&store).await.expect("a run");
        let mut lost: Vec<u32> = record.quarantine.iter().map(|row| row.execution.case).collect();
        lost.sort_unstable();
        assert_eq!(lost, [1, 2, 3]);
        for case in 0..10 {
            assert_eq!(calls_of(&agent.calls(), &format!("c-{case}")), 1, "case {case}");
        }
    }
}

#[tokio::test]
async fn an_unsafe_call_that_timed_out_or_failed_is_quarantined_and_not_tried_again() {
    let script = "- { match: { case: c-1 }, fault: { status: 500 } }\n- { match: { case: c-2 }, fault: hang }\n";
    let (bench, agent) = stage(script, "side_effects: unsafe, timeout: 1s", "attempts: { max: 3, backoff: 10ms }");
    let store = bench.store("one");
    let ended = bench.run(&store, &[]).end().await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let record = Record::read(&store).await.expect("a run");
    let mut lost: Vec<u32> = record.quarantine.iter().map(|row| row.execution.case).collect();
    lost.sort_unstable();
    assert_eq!(lost, [1, 2]);
    assert_eq!((calls_of(&agent.calls(), "c-1"), calls_of(&agent.calls(), "c-2")), (1, 1));
}

#[tokio::test]
async fn an_unsafe_call_that_was_refused_a_connection_is_tried_again() {
    let script = "- { match: '*' }\n";
    let (bench, mut agent) = stage(script, UNSAFE, "attempts: { max: 20, backoff: 300ms, backoff_max: 1s }");
    agent.kill();
    let store = bench.store("one");
    let run = bench.run(&store, &["--limit", "1"]);
    run.until_recorded(&store, "refused connections", |record| record.count("attempt.failed") >= 2).await;
    agent.restart(&[]);
    let ended = run.end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(agent.calls().len(), 1);
    let record = Record::read(&store).await.expect("a run");
    assert!(record.quarantine.is_empty());
}

/// A local address that nobody listens on.
pub(super) fn closed_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").to_string()
}

/// Runs `tribunal quarantine ...` on a store.
async fn quarantine(store: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut command = tokio::process::Command::new(binary());
    command.arg("quarantine").args(words).arg("--store").arg(store).env("USER", "ada");
    let output = command.output().await.expect("the binary runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test]
async fn a_release_after_the_verdict_makes_a_run_that_asks_only_what_was_released() {
    let script = "- { match: { case: c-1 }, times: 1, fault: { status: 500 } }\n\
                  - { match: { case: c-2 }, times: 1, fault: { status: 500 } }\n";
    let (bench, agent) = stage(script, UNSAFE, "");
    let store = bench.store("one");
    let first = bench.run(&store, &[]).end().await;
    assert_eq!((first.code, first.report["errors"]["lost"].as_u64()), (Some(3), Some(2)), "{first:?}");
    let (code, said) = quarantine(&store, &["release", "latest", "--case", "c-1", "--reason", "was not booked"]).await;
    assert_eq!(code, Some(1), "only a preview: {said}");
    assert!(said.contains("--yes") && calls_of(&agent.calls(), "c-1") == 1, "{said}");
    let (code, said) =
        quarantine(&store, &["discard", "latest", "--case", "c-2", "--reason", "booked by hand", "--yes"]).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) =
        quarantine(&store, &["release", "latest", "--case", "c-1", "--reason", "was not booked", "--yes"]).await;
    assert_eq!(code, Some(0), "{said}");
    let follow_up = said.split("--resume ").nth(1).and_then(|rest| rest.split(' ').next()).expect("the next command");
    let second = bench.run(&store, &["--resume", follow_up]).end().await;
    let counts = &second.report["counts"];
    assert_eq!((counts["passed"].as_u64(), counts["errored"].as_u64()), (Some(8), Some(2)), "{second:?}");
    for case in 0..10 {
        let expected = if case == 1 { 2 } else { 1 };
        assert_eq!(calls_of(&agent.calls(), &format!("c-{case}")), expected, "case {case}");
    }
}
