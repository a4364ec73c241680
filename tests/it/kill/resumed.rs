//! What a resumed process knows of the one before, and whose work it leaves alone.

use super::truth;
use crate::world::{Agent, Bench, Record};

#[tokio::test]
async fn a_tail_of_failures_after_a_kill_is_no_target_that_never_answered() {
    let bench = Bench::empty();
    bench.write_dataset(40);
    // The second half is refused, each for itself: more in a row than a dead target is asked.
    let script = "- { match: { regex: 'say [23][0-9]\\.' }, latency: 100ms, fault: { status: 403 } }\n";
    let script = bench.write("script.yaml", script);
    let agent = Agent::start(bench.path(), &["--script", &script.display().to_string()]);
    bench.write_profile(&agent.chat_url(), "max_in_flight: 2", "");
    let whole = bench.run(&bench.store("whole"), &[]).end().await;
    assert_eq!(whole.report["counts"]["errored"], 20, "{whole:?}");

    let store = bench.store("killed");
    let first = bench.run(&store, &[]);
    let in_the_tail = |record: &Record| record.count("attempt.answered") == 20 && record.count("attempt.failed") > 2;
    first.until_recorded(&store, "failures after the last answer", in_the_tail).await;
    first.kill();
    let resumed = bench.run(&store, &["--resume"]).end().await;
    assert_eq!(truth::verdict_of(&resumed), truth::verdict_of(&whole), "{resumed:?}");
}

#[tokio::test]
async fn a_run_beside_an_unfinished_one_makes_no_call_for_it() {
    let bench = Bench::empty();
    bench.write_dataset(60);
    let agent = Agent::start(bench.path(), &["--latency", "50ms"]);
    bench.write_profile(&agent.chat_url(), "max_in_flight: 2", "chunk: { size: 8 }");
    let store = bench.store("one");
    let first = bench.run(&store, &[]);
    first.until_recorded(&store, "some answers", |record| record.count("attempt.answered") > 5).await;
    first.kill();
    let unfinished = Record::read(&store).await.expect("a run").run.run.to_string();
    let before = agent.calls().len();

    let other = bench.run(&store, &["--limit", "3"]).end().await;
    assert_eq!(other.code, Some(0), "{other:?}");
    let calls = agent.calls();
    let new: Vec<&str> = calls[before..].iter().map(|call| call.run.as_str()).collect();
    assert_eq!(new.len(), 3, "{new:?}");
    assert!(new.iter().all(|run| *run != unfinished), "the unfinished run was worked on");

    let resumed = bench.run(&store, &["--resume"]).end().await;
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(resumed.report["run"], unfinished.as_str());
}
