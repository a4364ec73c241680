//! What a run on Postgres goes through: its process is killed, the server loses
//! its power, every session is ended, answers to COMMIT are lost. The agent's own log
//! and the journal must tell the same story afterwards, and the verdict is proven.

use super::proxy::Proxy;
use super::{Cluster, client};
use crate::kill::truth;
use crate::world::{Agent, Bench, Chance, Ended, Record, Tribunal, binary};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CASES: usize = 150;
const IN_FLIGHT: u64 = 8;
/// Of each kind of trouble; `TRIBUNAL_TEST_ROUNDS` asks for more.
const ROUNDS: u32 = 3;

/// Two cases whose first two calls fail, so that retries cross the troubles, and one that never succeeds.
const SCRIPT: &str = "\
- { match: { case: c-7 }, times: 2, fault: { status: 500 } }
- { match: { case: c-61 }, times: 2, fault: { status: 500 } }
- { match: { case: c-33 }, fault: { status: 400 } }
";
const POLICY: &str = "repeats: 2\nattempts: { max: 3, backoff: 50ms }\nchunk: { size: 16 }";

/// A stage with an agent, and how a run ends there that nothing happens to.
struct Stage {
    bench: Bench,
    agent: Agent,
    whole: Ended,
    span: Duration,
    chance: Chance,
}

impl Stage {
    async fn set(cluster: &Cluster) -> Stage {
        let bench = Bench::empty();
        bench.write_dataset(CASES);
        let script = bench.write("script.yaml", SCRIPT).display().to_string();
        let agent = Agent::start(bench.path(), &["--script", &script, "--latency", "5ms", "--jitter", "10ms"]);
        bench.write_profile(&agent.chat_url(), &format!("max_in_flight: {IN_FLIGHT}"), POLICY);
        let store = PathBuf::from(cluster.database().await);
        let begin = Instant::now();
        let whole = bench.run(&store, &[]).end().await;
        let span = begin.elapsed();
        assert_eq!(whole.code, Some(0), "{whole:?}");
        let stage = Stage { bench, agent, whole, span, chance: Chance::new() };
        stage.check(&stage.whole, &store, 0, "nothing happened").await;
        stage
    }

    /// A moment of the run's life, in the so-manyth part of it.
    fn moment(&mut self, round: u32, rounds: u32) -> Duration {
        self.span * (round * 1000 + self.chance.permille()) / (rounds * 1000)
    }

    /// The journal, the agent's log and the report tell the same story, and it is proven.
    async fn check(&self, ended: &Ended, store: &Path, kills: u64, what: &str) {
        assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
        assert_eq!(truth::verdict_of(ended), truth::verdict_of(&self.whole), "{what}");
        let record = Record::read(store).await.expect("a run");
        let run = record.run.run.to_string();
        let calls: Vec<_> = self.agent.calls().into_iter().filter(|call| call.run == run).collect();
        truth::check(&record, &calls, ended, kills, IN_FLIGHT);
        let verify = ["replay", "verify", "latest", "--no-progress", "--store"];
        let proof = tokio::process::Command::new(binary()).args(verify).arg(store).output().await.expect("it runs");
        assert!(proof.status.success(), "{what}: {}", String::from_utf8_lossy(&proof.stdout));
        queues_are_empty(store).await;
    }
}

/// Nothing is left to be done.
async fn queues_are_empty(store: &Path) {
    let database = client(store.to_str().expect("an address")).await;
    for table in ["ready", "leases", "outbox_delivery_queue", "settlements", "intents", "plan_rows"] {
        let count = database.query_one(&format!("SELECT count(*) FROM tribunal.{table}"), &[]).await.expect("a count");
        assert_eq!(count.get::<_, i64>(0), 0, "{table} is not empty");
    }
}

fn rounds() -> u32 {
    std::env::var("TRIBUNAL_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

async fn resume(bench: &Bench, store: &Path) -> Tribunal {
    match Record::read(store).await {
        Some(record) => bench.run(store, &["--resume", &record.run.run.to_string()]),
        None => bench.run(store, &["--resume"]),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nemesis_kills_the_process_and_it_resumes_at_once() {
    let cluster = Cluster::shared();
    let mut stage = Stage::set(cluster).await;
    for round in 0..rounds() {
        let moment = stage.moment(round, rounds());
        let store = PathBuf::from(cluster.database().await);
        let first = stage.bench.run(&store, &["--resume"]);
        tokio::time::sleep(moment).await;
        first.kill();
        let begin = Instant::now();
        let ended = resume(&stage.bench, &store).await.end().await;
        assert!(begin.elapsed() < Duration::from_secs(50), "it waited for a lease to run out");
        stage.check(&ended, &store, 1, &format!("killed after {moment:?}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nemesis_cuts_the_power_of_the_server_and_no_attempt_is_burnt() {
    let cluster = Cluster::new();
    let mut stage = Stage::set(&cluster).await;
    for round in 0..rounds() {
        let moment = stage.moment(round, rounds());
        let store = PathBuf::from(cluster.database().await);
        // Once it is connected: a server that is not there at the start is an error of its own.
        let run = stage.bench.run(&store, &[]);
        run.until_recorded(&store, "the run", |_| true).await;
        tokio::time::sleep(moment).await;
        cluster.stop_immediately();
        cluster.start();
        let ended = run.end().await;
        stage.check(&ended, &store, 0, &format!("the power was cut after {moment:?}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nemesis_ends_all_sessions_and_no_attempt_is_burnt() {
    let cluster = Cluster::shared();
    let mut stage = Stage::set(cluster).await;
    let admin = cluster.admin().await;
    let end_all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1";
    for round in 0..rounds() {
        let url = cluster.database().await;
        let name = url.rsplit('/').next().expect("a name").to_owned();
        let store = PathBuf::from(url);
        let run = stage.bench.run(&store, &[]);
        run.until_recorded(&store, "the run", |_| true).await;
        let mut ended_sessions = 0;
        for _ in 0..5 {
            tokio::time::sleep(stage.moment(round, rounds()) / 5).await;
            ended_sessions += admin.query_one(end_all, &[&name]).await.expect("a superuser may").get::<_, i64>(0);
        }
        let ended = run.end().await;
        assert!(ended_sessions > 0, "there was no session to end");
        stage.check(&ended, &store, 0, &format!("{ended_sessions} sessions were ended")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nemesis_loses_answers_to_commit_and_nothing_is_written_twice() {
    let cluster = Cluster::shared();
    let stage = Stage::set(cluster).await;
    for round in 0..rounds() {
        let proxy = Proxy::before(cluster.port()).await;
        let direct = PathBuf::from(cluster.database().await);
        let through = PathBuf::from(proxy.url(direct.to_str().expect("an address")));
        proxy.cut_every(7 + round);
        let ended = stage.bench.run(&through, &[]).end().await;
        assert!(proxy.cuts() > 2, "only {} answers were lost", proxy.cuts());
        println!("{} answers to COMMIT were lost", proxy.cuts());
        stage.check(&ended, &direct, 0, &format!("{} answers to COMMIT were lost", proxy.cuts())).await;
    }
}
