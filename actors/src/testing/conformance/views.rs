//! Views: the rows equal the fold of the same changes.

use super::fixtures::*;
use super::witness::Views;
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::evaluation::{Finding, Measurement, Outcome, Severity};
use tribunal_schema::ids::ExecutionKey;
use tribunal_schema::json::JsonText;
use tribunal_schema::score::{ExecutionOutcome, Verdict};
use tribunal_schema::units::{LeaseTerm, ScorePpm};
use tribunal_schema::view::*;

fn key(case: u32) -> ExecutionKey {
    ExecutionKey { case, repeat: case % 2 }
}

fn settled(case: u32, outcome: ExecutionOutcome, failure: Option<FailureClass>) -> ViewChange {
    let score_ppm = outcome.is_scored().then_some(ScorePpm::saturating(u64::from(case) * 1000));
    let attempt = failure.is_none().then_some(attempt_id(u64::from(case)));
    let row = ExecutionRow { run: run_id(1), execution: key(case), attempt, outcome, score_ppm, failure };
    ViewChange::ExecutionSettled { chunk: chunk_id(1, case % 2), row }
}

fn finding(index: u32) -> ViewChange {
    let evidence = Some(JsonText::try_from("{\"b\": 1.50}".to_owned()).unwrap());
    let finding = Finding { severity: Severity::Warning, category: "c".into(), message: "ü\u{0}".into(), evidence };
    ViewChange::Finding(FindingRow { run: run_id(1), attempt: attempt_id(1), binding: "b".into(), index, finding })
}

fn outcome(binding: &str, outcome: Outcome) -> ViewChange {
    ViewChange::Outcome(OutcomeRow { run: run_id(1), attempt: attempt_id(1), binding: binding.into(), outcome })
}

/// Every kind of change, some of rows that do not exist, in three units.
fn changes() -> Vec<Vec<ViewChange>> {
    let (run, number) = (run_id(1), Measurement::Number { value: "1.5".parse().unwrap(), unit: Some("ms".into()) });
    let planned = ViewChange::RunPlanned {
        run,
        team: "t".into(),
        profile: "p".into(),
        profile_version: "1".into(),
        dataset: "d".into(),
        plan_digest: Digest::of(b"plan"),
        cases: 4,
        executions: 5,
    };
    let status = |status, reason: Option<&str>, ended| ViewChange::RunStatus {
        run,
        status,
        reason: reason.map(Into::into),
        ended,
    };
    let chunk_status = |number, status, term: Option<u64>| ViewChange::ChunkStatus {
        chunk: chunk_id(1, number),
        status,
        term: term.map(LeaseTerm),
    };
    let quarantined = |case| ViewChange::Quarantined {
        run,
        chunk: chunk_id(1, 1),
        execution: key(case),
        attempt: attempt_id(9),
        reason: "lost".into(),
    };
    let measured = Outcome::Measured { measurement: number, score_ppm: ScorePpm::ONE, passed: true };
    vec![
        vec![
            planned,
            ViewChange::ChunkSeeded { chunk: chunk_id(1, 0), executions: 3 },
            ViewChange::ChunkSeeded { chunk: chunk_id(1, 1), executions: 2 },
            status(RunStatus::Running, None, false),
            chunk_status(0, ChunkStatus::Leased, Some(3)),
            chunk_status(7, ChunkStatus::Leased, Some(3)),
        ],
        vec![
            settled(0, ExecutionOutcome::Passed, None),
            settled(1, ExecutionOutcome::Errored, Some(FailureClass::Lost)),
            settled(2, ExecutionOutcome::Abstained, None),
            outcome("b", measured),
            outcome("a", Outcome::Abstained { reason: "none".into() }),
            finding(1),
            finding(0),
            quarantined(1),
            quarantined(3),
            ViewChange::ChunkRecovered { chunk: chunk_id(1, 1) },
            status(RunStatus::Paused, Some("breaker"), false),
        ],
        vec![
            settled(1, ExecutionOutcome::Failed, None),
            ViewChange::QuarantineStatus { run, execution: key(1), status: QuarantineStatus::Released },
            chunk_status(0, ChunkStatus::Completed, None),
            ViewChange::RunJudged { run, verdict: Verdict::Fail, score_ppm: Some(ScorePpm::ZERO) },
            status(RunStatus::Completed, None, true),
        ],
    ]
}

pub async fn views_equal_the_fold(journal: Arc<dyn Journal>) {
    let (journal, run) = (&*journal, run_id(1));
    let mut views = Views::default();
    for (n, changes) in (1..).zip(changes()) {
        let unit = AppendUnit { views: changes.clone(), ..append_to(n, n, 0, "{}") };
        let at = journal.append(unit).await.unwrap().events[0].recorded_at;
        changes.iter().for_each(|change| views.fold.apply(change, at));
        views.look_at(&changes);
        views.are_those_of(journal).await;
    }
    let failed = [ExecutionOutcome::Failed, ExecutionOutcome::Abstained];
    let page = journal.executions(run, None, Some(&failed), 10).await.unwrap();
    assert_eq!(page.iter().map(|row| row.execution).collect::<Vec<_>>(), [key(1), key(2)]);
    let after = journal.executions(run, Some(key(0)), None, 1).await.unwrap();
    assert_eq!(after.iter().map(|row| row.execution).collect::<Vec<_>>(), [key(1)]);
    let progress = journal.progress(run).await.unwrap();
    assert_eq!(
        (progress.executions, progress.settled()),
        (5, 4),
        "the replaced result is counted beside its successor"
    );
    assert_eq!(journal.quarantine(None, 1).await.unwrap().len(), 1);
    assert!(journal.quarantine(Some(run_id(2)), 10).await.unwrap().is_empty());
    assert_eq!(journal.run(run_id(2)).await.unwrap(), None);
}

pub async fn a_finding_is_recorded_once(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    journal.append(with_views(1, vec![finding(0)])).await.unwrap();
    let again = journal.append(with_views(2, vec![finding(1), finding(0)])).await;
    assert!(matches!(again, Err(AppendError::Invalid(_))), "{again:?}");
    assert_eq!(journal.findings(attempt_id(1)).await.unwrap().len(), 1);
}
