//! Waiting for a retry: never early, never more often than allowed, and without spinning.

use super::unsafe_target::closed_address;
use crate::world::{Agent, Bench, Record};

fn stage(cases: usize, script: &str, more: &str) -> (Bench, Agent) {
    let bench = Bench::empty();
    bench.write_dataset(cases);
    let script = bench.write("script.yaml", script);
    let agent = Agent::start(bench.path(), &["--script", &script.display().to_string()]);
    bench.write_profile(&agent.chat_url(), "max_in_flight: 4", more);
    (bench, agent)
}

#[tokio::test]
async fn a_case_told_to_wait_is_not_called_again_before_that() {
    let script = "- { match: { case: c-0 }, times: 2, fault: { status: 429, headers: { retry-after: '2' } } }\n";
    let (bench, agent) = stage(20, script, "attempts: { max: 3, backoff: 10ms }");
    let ended = bench.run(&bench.store("one"), &[]).end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let calls = agent.calls();
    let at: Vec<u64> = calls.iter().filter(|call| call.case == "c-0").map(|call| call.at_ms).collect();
    assert_eq!(at.len(), 3);
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 2000), "called again early: {at:?}");
    assert_eq!(calls.len(), 22, "nobody else was called twice");
}

#[tokio::test]
async fn a_case_that_always_fails_is_called_as_often_as_allowed_and_no_more() {
    let script = "- { match: { case: c-3 }, fault: { status: 503 } }\n";
    let (bench, agent) = stage(20, script, "attempts: { max: 4, backoff: 10ms }");
    let ended = bench.run(&bench.store("one"), &[]).end().await;
    assert_eq!(ended.report["counts"]["errored"], 1, "{ended:?}");
    let calls = agent.calls();
    let of_case: Vec<_> = calls.iter().filter(|call| call.case == "c-3").collect();
    assert_eq!(of_case.iter().map(|call| call.attempt_number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let keys: std::collections::BTreeSet<&str> = of_case.iter().map(|call| call.idempotency_key.as_str()).collect();
    assert_eq!(keys.len(), 4, "a response was received each time, so each call has a key of its own");
}

#[tokio::test]
async fn a_run_that_only_waits_writes_nothing_meanwhile() {
    let script = "- { match: '*', times: 1, fault: { status: 503, headers: { retry-after: '4' } } }\n";
    let (bench, agent) = stage(5, script, "attempts: { max: 3, backoff: 10ms }");
    let store = bench.store("one");
    let ended = bench.run(&store, &[]).end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(agent.calls().len(), 10);
    let record = Record::read(&store).await.expect("a run");
    // At worst each of the five waits ends in a lease of its own.
    let leased = record.count("chunk.leased");
    assert!(leased <= 1 + 5, "the chunk was claimed {leased} times");
    let chunk_events = record.events.iter().filter(|event| event.event_type.starts_with("chunk.")).count();
    assert!(chunk_events <= 40, "{chunk_events} events of one chunk that mostly waited");
}

#[tokio::test]
async fn a_dead_target_is_called_a_few_times_and_named() {
    let address = closed_address();
    let bench = Bench::new(100, &format!("http://{address}/v1/chat/completions"), "max_in_flight: 8", "");
    let store = bench.store("one");
    let ended = bench.run(&store, &[]).end().await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert_eq!(ended.report["verdict"], "inconclusive");
    let calls = super::truth::number(&ended, "target_calls");
    assert!(calls <= 10 + 8, "{calls} calls to a target that never answered");
    let reasons = ended.report["reasons"].to_string();
    assert!(reasons.contains("connect") && reasons.contains(&address), "{reasons}");
    let run = ended.report["run"].as_str().expect("a run");
    let again = bench.run(&store, &["--resume", run]).end().await;
    assert_eq!((again.code, &again.report["run"]), (Some(3), &ended.report["run"]), "{again:?}");
}
