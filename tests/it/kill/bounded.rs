//! Several runs of many chunks in one process share one limit of live Wasm stores.

use crate::world::{Bench, until};
use serde_json::Value;
use tribunal::agent::{MockAgent, Options as AgentOptions};
use tribunal::config::{EvaluatorCatalog, match_cases, read_dataset, read_profile};
use tribunal::daemon::Process;
use tribunal::daemon::store::StoreAddress;
use tribunal::daemon::submit::Submission;
use tribunal::evaluator::{Catalog, Options};
use tribunal_actors::shell::Settings;
use tribunal_schema::profile::EvaluatorPin;
use tribunal_schema::view::RunStatus;

const RUNS: usize = 3;
const CASES: usize = 120;
const LIVE_STORES_MAX: usize = 2;

/// Every reference is this evaluator.
struct Pinned(EvaluatorPin);

impl EvaluatorCatalog for Pinned {
    fn resolve(&self, _: &str) -> Result<EvaluatorPin, String> {
        Ok(self.0.clone())
    }

    fn check(&self, _: &EvaluatorPin, _: &Value) -> Vec<String> {
        vec![]
    }
}

#[test]
fn three_runs_at_once_never_have_more_live_stores_than_permitted() {
    let system = actix::System::with_tokio_rt(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(8).enable_all().build().expect("a runtime")
    });
    system.block_on(three_runs());
}

async fn three_runs() {
    let agent = MockAgent::start(AgentOptions::default()).await.expect("an agent");
    let bench = Bench::new(CASES, &agent.chat_url(), "max_in_flight: 64", "chunk: { size: 10 }");
    let options = Options { live_stores_max: LIVE_STORES_MAX, ..crate::evaluator::options() };
    let catalog = Catalog::open(options).await.expect("a catalog");
    let pin = catalog.resolve("std/contains", bench.path()).await.expect("std is there").pin;
    let submission = submission(&bench, &Pinned(pin));

    let opened = StoreAddress::Folder(bench.store("one")).journal().await.expect("a store");
    let journal = opened.journal.clone();
    let settings = Settings { chunk_permits: 16, ..Settings::default() };
    let lanes = vec![submission.profile.lane.clone()];
    let process = Process::start(opened, catalog.clone(), settings, lanes, None).await.expect("a process");
    let mut runs = vec![];
    for _ in 0..RUNS {
        runs.push(submission.clone().submit(&process.shell, &catalog).await.expect("a run"));
    }
    for run in runs {
        let is_over = async || {
            let row = journal.run(run).await.expect("the store is readable");
            row.is_some_and(|row| row.status == RunStatus::Completed)
        };
        until("the run's end", is_over).await;
        assert_eq!(journal.progress(run).await.expect("the store is readable").passed, CASES as u64);
    }
    process.wind_down().await;
    assert_eq!(agent.calls().len(), RUNS * CASES);
    agent.stop().await;
    let most = catalog.live_stores_high_water();
    assert!((1..=LIVE_STORES_MAX).contains(&most), "{most} live stores");
}

fn submission(bench: &Bench, pinned: &Pinned) -> Submission {
    let (profile, _) = read_profile(&bench.path().join("profile.yaml"), pinned).expect("a profile");
    let dataset = read_dataset(&bench.path().join("dataset.jsonl")).expect("a dataset");
    let groups = match_cases(&profile, &dataset).expect("each case has its group");
    Submission {
        profile,
        dataset: dataset.name,
        filters: vec![],
        cases: dataset.cases,
        groups,
        carried: vec![],
        follows: None,
    }
}
