//! Killed at any moment and resumed with the same command, a run ends as if nothing had happened.

use super::truth;
use crate::world::{Agent, Bench, Chance, Ended, Record, Tribunal, binary};
use std::path::Path;
use std::time::{Duration, Instant};
use tribunal_schema::units::InstantMs;

const CASES: usize = 100;
const IN_FLIGHT: u64 = 8;
const KILLED_RUNS: u32 = 20;
/// Every fourth run is killed again while it is resumed.
const KILLED_TWICE_EVERY: u32 = 4;
/// The lease of a run that nobody works on any more, in milliseconds.
const LEASE_MS: i64 = 60_000;

/// Two cases whose first two calls fail, so that retries cross the kills, and one that never succeeds.
const SCRIPT: &str = "\
- { match: { case: c-7 }, times: 2, fault: { status: 500 } }
- { match: { case: c-61 }, times: 2, fault: { status: 500 } }
- { match: { case: c-33 }, fault: { status: 400 } }
";
const POLICY: &str = "repeats: 2\nattempts: { max: 3, backoff: 50ms }\nchunk: { size: 16 }";

fn flags() -> [&'static str; 6] {
    ["--script", "script.yaml", "--latency", "5ms", "--jitter", "10ms"]
}

fn stage() -> (Bench, Agent) {
    let bench = Bench::empty();
    bench.write_dataset(CASES);
    let script = bench.write("script.yaml", SCRIPT);
    let mut flags = flags().map(str::to_string);
    flags[1] = script.display().to_string();
    let agent = Agent::start(bench.path(), &flags.each_ref().map(String::as_str));
    bench.write_profile(&agent.chat_url(), &format!("max_in_flight: {IN_FLIGHT}"), POLICY);
    (bench, agent)
}

#[tokio::test]
async fn a_run_killed_at_any_moment_and_resumed_ends_as_one_that_was_not() {
    let mut chance = Chance::new();
    let (bench, agent) = stage();
    let begin = Instant::now();
    let whole = bench.run(&bench.store("whole"), &[]).end().await;
    let span = begin.elapsed();
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let record = Record::read(&bench.store("whole")).await.expect("a run");
    truth::check(&record, &calls_of(&agent, &record), &whole, 0, IN_FLIGHT);

    for number in 0..KILLED_RUNS {
        // One moment in each twentieth of the process's life, so that none of its phases is left out.
        let moment = span * (number * 1000 + chance.permille()) / (KILLED_RUNS * 1000);
        let again = (number % KILLED_TWICE_EVERY == 0).then(|| span * chance.permille() / 1000);
        let what = format!("seed {}, run {number}, killed after {moment:?} and {again:?}", chance.seed);
        println!("{what}");
        let store = bench.store(&format!("killed-{number}"));
        let ended = killed_and_resumed(&bench, &store, moment, again).await;
        assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
        assert_eq!(truth::verdict_of(&ended), truth::verdict_of(&whole), "{what}");
        let record = Record::read(&store).await.expect("a run");
        let kills = 1 + u64::from(again.is_some());
        truth::check(&record, &calls_of(&agent, &record), &ended, kills, IN_FLIGHT);
        work_starts_within_the_lease(&record);
        is_proven(&store).await;
    }
}

/// The calls of a record's run: all runs ask the same agent.
fn calls_of(agent: &Agent, record: &Record) -> Vec<crate::world::agent::Call> {
    let run = record.run.run.to_string();
    agent.calls().into_iter().filter(|call| call.run == run).collect()
}

async fn killed_and_resumed(bench: &Bench, store: &Path, moment: Duration, again: Option<Duration>) -> Ended {
    let first = bench.run(store, &["--resume"]);
    tokio::time::sleep(moment).await;
    first.kill();
    if let Some(moment) = again {
        let second = resume(bench, store).await;
        tokio::time::sleep(moment).await;
        second.kill();
    }
    resume(bench, store).await.end().await
}

/// Carries on with the run there is, by its id: the kill may have come after its verdict.
async fn resume(bench: &Bench, store: &Path) -> Tribunal {
    match Record::read(store).await {
        Some(record) => bench.run(store, &["--resume", &record.run.run.to_string()]),
        None => bench.run(store, &["--resume"]),
    }
}

/// What was recorded proves the verdict.
async fn is_proven(store: &Path) {
    let verify = ["replay", "verify", "latest", "--no-progress", "--store"];
    let proof = tokio::process::Command::new(binary()).args(verify).arg(store).output().await.expect("the binary runs");
    assert!(proof.status.success(), "{}", String::from_utf8_lossy(&proof.stdout));
}

/// Whatever was leased when the process died is expired and started again long before its lease would run out.
fn work_starts_within_the_lease(record: &Record) {
    for expired in record.of_type("chunk.lease-expired") {
        let leased = record.of_type("chunk.leased");
        let granted = leased.filter(|one| one.stream == expired.stream && one.version < expired.version).last();
        let InstantMs(granted) = granted.expect("an expired lease was granted").recorded_at;
        assert!(expired.recorded_at.0 - granted < LEASE_MS, "{} waited for its lease", expired.stream);
    }
    let starts: Vec<i64> = record.attempts().values().map(|tried| tried.started_at.0).collect();
    let (first, last) = (starts.iter().min().expect("attempts"), starts.iter().max().expect("attempts"));
    assert!(last - first < LEASE_MS, "the run stood still for a lease");
}
