//! Words: how columns of any database name what is not a number.

use tribunal_actors::ports::journal::Desired;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::score::{ExecutionOutcome, Verdict};

/// The column's word for how a chunk ended.
pub(super) const fn end_name(end: ChunkEnd) -> &'static str {
    match end {
        ChunkEnd::Completed => "completed",
        ChunkEnd::Quarantined => "quarantined",
        ChunkEnd::Failed => "failed",
        ChunkEnd::Cancelled => "cancelled",
    }
}

/// How a chunk ended, of its word.
pub(super) fn end_named(word: &str) -> Option<ChunkEnd> {
    [ChunkEnd::Completed, ChunkEnd::Quarantined, ChunkEnd::Failed, ChunkEnd::Cancelled]
        .into_iter()
        .find(|end| end_name(*end) == word)
}

/// The column's word for what workers should do.
pub(super) const fn desired_name(desired: Desired) -> &'static str {
    match desired {
        Desired::Running => "running",
        Desired::Paused => "paused",
        Desired::Stopped => "stopped",
    }
}

/// What workers should do, of its word.
pub(super) fn desired_named(word: &str) -> Option<Desired> {
    [Desired::Running, Desired::Paused, Desired::Stopped].into_iter().find(|desired| desired_name(*desired) == word)
}

/// A verdict, of its word.
pub(super) fn verdict_named(word: &str) -> Option<Verdict> {
    [Verdict::Pass, Verdict::Fail, Verdict::Inconclusive].into_iter().find(|verdict| verdict.to_string() == word)
}

/// An outcome, of its word.
pub(super) fn outcome_named(word: &str) -> Option<ExecutionOutcome> {
    let all =
        [ExecutionOutcome::Passed, ExecutionOutcome::Failed, ExecutionOutcome::Errored, ExecutionOutcome::Abstained];
    all.into_iter().find(|outcome| outcome.name() == word)
}

/// A failure class, of its word.
pub(super) fn failure_named(word: &str) -> Option<FailureClass> {
    FailureClass::ALL.into_iter().find(|class| class.name() == word)
}
