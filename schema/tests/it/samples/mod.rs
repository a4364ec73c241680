//! One real payload of every event: the story of one small run that fails its
//! gate. Four cases in two groups, three repeats, twelve executions: nine
//! passed, one failed, one errored after three timeouts, one abstained.
//!
//! These are what the files in `golden/` were made from. A new event adds its
//! sample here; the sample of an old version goes, its golden file stays.

mod attempt;
mod chunk;
mod operator;
mod profile;
mod run;

use tribunal_schema::digest::Digest;
use tribunal_schema::envelope::NewEvent;
use tribunal_schema::events::{AttemptEvent, ChunkEvent, DomainEvent, OperatorEvent, RunEvent};
use tribunal_schema::ids::{AttemptId, ChunkId, ExecutionKey, RunId};
use tribunal_schema::score::{Counts, DimensionTally, RuleTally, Tally};
use tribunal_schema::units::ScorePpm;
use ulid::Ulid;

/// Every sample, as it is recorded.
pub fn all() -> Vec<NewEvent> {
    let run = run::samples().iter().map(RunEvent::encode).collect::<Vec<_>>();
    let chunk = chunk::samples().iter().map(ChunkEvent::encode).collect::<Vec<_>>();
    let attempt = attempt::samples().iter().map(AttemptEvent::encode).collect::<Vec<_>>();
    let operator = operator::samples().iter().map(OperatorEvent::encode).collect::<Vec<_>>();
    [run, chunk, attempt, operator].concat()
}

/// When the story happens, in milliseconds since the epoch: only ids show it.
const STORY_MS: u64 = 1_790_000_000_000;

fn run_id() -> RunId {
    RunId(Ulid::from_parts(STORY_MS, 1))
}

fn chunk_id() -> ChunkId {
    ChunkId { run: run_id(), number: 0 }
}

/// The attempt of an execution by its number from 1.
fn attempt_id(execution: ExecutionKey, number: u32) -> AttemptId {
    let place = u128::from(execution.case) * 1000 + u128::from(execution.repeat) * 100 + u128::from(number);
    AttemptId(Ulid::from_parts(STORY_MS + 1500, place))
}

const fn key(case: u32, repeat: u32) -> ExecutionKey {
    ExecutionKey { case, repeat }
}

fn digest(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

fn ppm(parts: u32) -> ScorePpm {
    ScorePpm::new(parts).expect("samples are at most one million")
}

const ALL_COUNTS: Counts = Counts {
    cases: 4,
    executions: 12,
    attempted: 12,
    scored: 10,
    passed: 9,
    failed: 1,
    errored: 1,
    abstained: 1,
    missing: 0,
};

/// What all twelve executions add up to.
fn tally() -> Tally {
    let dimension = |scored, passed, score_ppm_sum| DimensionTally { population: 6, scored, passed, score_ppm_sum };
    let none = RuleTally::default();
    Tally {
        counts: ALL_COUNTS,
        score_ppm_sum: 8_983_332,
        rules: vec![
            RuleTally { population: 6, scored: 6, passed: 5, score_ppm_sum: 5_000_000, ..none },
            RuleTally {
                population: 6,
                scored: 4,
                passed: 4,
                score_ppm_sum: 4_000_000,
                errored: 1,
                abstained: 1,
                ..none
            },
            RuleTally { population: 3, scored: 3, passed: 3, score_ppm_sum: 3_000_000, ..none },
            RuleTally { population: 4, scored: 3, passed: 3, score_ppm_sum: 3_000_000, errored: 1, ..none },
            RuleTally {
                population: 12,
                scored: 10,
                passed: 9,
                score_ppm_sum: 8_983_332,
                errored: 1,
                abstained: 1,
                ..none
            },
            RuleTally {
                population: 12,
                scored: 10,
                passed: 9,
                score_ppm_sum: 8_983_332,
                errored: 1,
                abstained: 1,
                ..none
            },
        ],
        dimensions: vec![
            dimension(6, 5, 5_000_000),
            dimension(6, 6, 6_000_000),
            dimension(4, 4, 4_000_000),
            dimension(4, 4, 3_200_000),
        ],
        group_cases: vec![2, 2],
        failures: [(tribunal_schema::answer::FailureClass::Timeout, 1)].into(),
        evaluator_errors: 0,
        target_calls: 15,
        calls_maybe_repeated: 1,
    }
}
