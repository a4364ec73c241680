//! The agent itself goes away for a while: the run waits for it and ends complete.

use super::truth;
use crate::world::{Agent, Bench, Record};
use std::time::Duration;

const CASES: usize = 2000;
/// How long nobody listens at the agent's address.
const OUTAGE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn an_agent_that_is_killed_and_comes_back_costs_no_case() {
    let bench = Bench::empty();
    bench.write_dataset(CASES);
    let mut agent = Agent::start(bench.path(), &["--latency", "5ms"]);
    let policy = "attempts: { max: 10, backoff: 200ms, backoff_max: 2s }";
    bench.write_profile(&agent.chat_url(), "max_in_flight: 16", policy);
    let store = bench.store("one");
    let run = bench.run(&store, &[]);
    crate::world::until("a quarter of the calls", async || agent.calls().len() > CASES / 4).await;
    agent.kill();
    tokio::time::sleep(OUTAGE).await;
    agent.restart(&["--latency", "5ms"]);
    let ended = run.end().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.report["counts"]["passed"], CASES, "{ended:?}");
    let record = Record::read(&store).await.expect("a run");
    truth::check(&record, &agent.calls(), &ended, 0, 16);
    let refused = record.count("attempt.failed");
    assert!(refused > 0, "the outage was noticed");
    assert!(refused < CASES, "an outage does not burn a call for each case: {refused}");
}
