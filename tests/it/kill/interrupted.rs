//! Interrupted by Ctrl-C or SIGTERM, a run finishes its calls and leaves nothing behind; told twice, it stops at once.

use super::truth;
use crate::world::{Agent, Bench, Record};
use rustix::process::Signal;
use std::path::Path;

const CASES: usize = 60;
const IN_FLIGHT: u64 = 4;
const INTERRUPTED: Option<i32> = Some(130);

async fn interrupted_once(signal: Signal) {
    let bench = Bench::empty();
    bench.write_dataset(CASES);
    let agent = Agent::start(bench.path(), &["--latency", "150ms"]);
    bench.write_profile(&agent.chat_url(), &format!("max_in_flight: {IN_FLIGHT}"), "chunk: { size: 8 }");
    let store = bench.store("one");
    let first = bench.run(&store, &[]);
    first.until_recorded(&store, "some answers", |record| record.count("attempt.answered") > 5).await;
    first.signal(signal);
    let ended = first.end().await;
    assert_eq!(ended.code, INTERRUPTED, "{ended:?}");

    let record = Record::read(&store).await.expect("a run");
    let resume = format!("tribunal run --resume {}", record.run.run);
    assert!(ended.stderr.contains(&resume), "the words tell how to go on: {}", ended.stderr);
    assert_eq!(leases(&store), 0, "no lease is left to expire");
    let attempts = record.attempts();
    assert!(attempts.values().all(|tried| tried.answered), "calls in flight were finished: {attempts:?}");
    assert!(attempts.len() < CASES, "it was interrupted before its end");

    let resumed = bench.run(&store, &["--resume"]).end().await;
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(truth::number(&resumed, "calls_maybe_repeated"), 0);
    let record = Record::read(&store).await.expect("a run");
    truth::check(&record, &agent.calls(), &resumed, 0, IN_FLIGHT);
    assert_eq!(agent.calls().len(), CASES, "each case was called once");
}

#[tokio::test]
async fn ctrl_c_finishes_calls_in_flight_and_leaves_no_lease() {
    interrupted_once(Signal::INT).await;
}

#[tokio::test]
async fn sigterm_finishes_calls_in_flight_and_leaves_no_lease() {
    interrupted_once(Signal::TERM).await;
}

#[tokio::test]
async fn a_second_ctrl_c_stops_at_once_and_the_run_can_still_be_resumed() {
    let bench = Bench::empty();
    bench.write_dataset(6);
    let script = bench.write("script.yaml", "- { match: { case: c-3, nth: 1 }, fault: hang }\n");
    let agent = Agent::start(bench.path(), &["--script", &script.display().to_string()]);
    // Far longer than the test is patient: it ends only if the hanging call is not waited for.
    bench.write_profile(&agent.chat_url(), "max_in_flight: 2, timeout: 500s", "");
    let store = bench.store("one");
    let first = bench.run(&store, &[]);
    let is_stuck = |record: &Record| record.count("attempt.judged") == 5 && record.count("attempt.started") == 6;
    first.until_recorded(&store, "all but the hanging call", is_stuck).await;
    let ended = first.end_signalled(Signal::INT).await;
    assert_eq!(ended.code, INTERRUPTED, "{ended:?}");

    let resumed = bench.run(&store, &["--resume"]).end().await;
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let record = Record::read(&store).await.expect("a run");
    truth::check(&record, &agent.calls(), &resumed, 1, 2);
    assert_eq!(truth::number(&resumed, "calls_maybe_repeated"), 1);
}

fn leases(store: &Path) -> u32 {
    let journal = store.join(tribunal::journal::sqlite::JOURNAL_FILE);
    let connection = rusqlite::Connection::open(journal).expect("the journal opens");
    connection.query_row("SELECT count(*) FROM leases", [], |row| row.get(0)).expect("leases can be counted")
}
