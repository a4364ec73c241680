//! The run: from the plan to the verdict.
//!
//! A run knows its plan and what its chunks came to, and nothing of single
//! executions: chunks add their tallies, pinned by digest, and when the last one
//! is in, the run can be judged. Cancelling ends a run at once; halting (a target
//! that only fails, a spent budget) stops the asking and still judges what there is.

mod decide;
mod state;
#[cfg(test)]
mod tests;

pub use state::{Accepted, RunPhase, RunState};

use crate::decider::{Decider, Illegal, Rejection, Step};
use crate::ports::journal::{Desired, IntentKind, Row};
use tribunal_schema::Digest;
use tribunal_schema::events::{AcceptedChunk, HaltCause, Intervention, RunEvent, RunPlanned};
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{InstantMs, ScorePpm};
use tribunal_schema::view::{RunStatus, ViewChange};

/// The decider of run streams.
#[derive(Clone, Copy, Debug)]
pub struct Run;

/// What can be asked of a run.
#[derive(Clone, Debug)]
pub enum RunCommand {
    /// It shall exist.
    Plan(Box<RunPlanned>),
    /// All chunks of a placement exist.
    RecordSeeded {
        /// The placement.
        placement: String,
        /// How many.
        chunks: u32,
    },
    /// It may be dispatched.
    Open,
    /// The first chunk is dispatched.
    Start,
    /// Some chunks ended.
    AcceptChunks(Vec<AcceptedChunk>),
    /// A chunk is to be worked on again.
    ReopenChunk {
        /// Its number.
        chunk: u32,
        /// Who and why.
        by: Intervention,
    },
    /// Stop for now.
    Pause(Intervention),
    /// Go on.
    Resume(Intervention),
    /// Stop for good, without a verdict.
    Cancel(Intervention),
    /// Ask no more, and judge what there is.
    Halt {
        /// The kind of reason.
        cause: HaltCause,
        /// In words.
        reason: String,
    },
    /// Say the verdict.
    Judge {
        /// Over the results in case order.
        result_digest: Digest,
        /// The digest of the stream that the verdict rests on.
        root: Digest,
    },
    /// It cannot be carried out.
    Fail(String),
}

impl Decider for Run {
    type State = RunState;
    type Command = RunCommand;
    type Event = RunEvent;

    fn decide(state: &RunState, command: &RunCommand) -> Result<Vec<RunEvent>, Rejection> {
        decide::decide(state, command)
    }

    fn evolve(state: RunState, event: &RunEvent, _: InstantMs) -> Result<RunState, Illegal> {
        state.after(event)
    }

    fn rows(step: &Step<'_, Run>) -> Vec<Row> {
        let StreamId::Run(run) = *step.stream else { return vec![] };
        let desired = |desired| Row::DesiredPut { run, desired, version: step.version };
        let intent = |kind| Row::IntentPut { run, kind };
        let judge_when_all_in = || if step.after.is_judgeable() { vec![intent(IntentKind::Judge)] } else { vec![] };
        match step.event {
            RunEvent::Planned(_) => vec![intent(IntentKind::Create)],
            RunEvent::Opened(_) => {
                let mut rows = vec![
                    Row::PlanDrop { run },
                    Row::IntentDone { run, kind: IntentKind::Create },
                    Row::CursorPut { run },
                    desired(Desired::Running),
                ];
                rows.extend(judge_when_all_in());
                rows
            }
            RunEvent::Paused(_) => vec![desired(Desired::Paused)],
            RunEvent::Resumed(_) => vec![desired(Desired::Running)],
            RunEvent::Cancelled(_) | RunEvent::Halted(_) | RunEvent::Failed(_) => {
                let mut rows = vec![
                    Row::PlanDrop { run },
                    Row::IntentDone { run, kind: IntentKind::Create },
                    Row::CursorDrop { run },
                    desired(Desired::Stopped),
                    intent(IntentKind::Cancel),
                ];
                rows.extend(judge_when_all_in());
                rows
            }
            RunEvent::ChunksAccepted(_) => judge_when_all_in(),
            RunEvent::Judged(_) => vec![Row::IntentDone { run, kind: IntentKind::Judge }],
            RunEvent::Completed(_) => vec![Row::CursorDrop { run }],
            RunEvent::ChunkReopened(_) => vec![Row::IntentDone { run, kind: IntentKind::Judge }],
            RunEvent::PlacementSeeded(_) | RunEvent::Started(_) | RunEvent::Retired(_) => vec![],
        }
    }

    fn views(step: &Step<'_, Run>) -> Vec<ViewChange> {
        let StreamId::Run(run) = *step.stream else { return vec![] };
        let status = |status, reason: Option<&str>, ended| {
            vec![ViewChange::RunStatus { run, status, reason: reason.map(str::to_string), ended }]
        };
        match step.event {
            RunEvent::Planned(planned) => vec![ViewChange::RunPlanned {
                run,
                team: planned.team.clone(),
                profile: planned.plan.profile.name.clone(),
                profile_version: planned.plan.profile.version.clone(),
                dataset: planned.plan.dataset.clone(),
                plan_digest: planned.plan_digest,
                cases: u64::from(planned.plan.cases),
                executions: planned.plan.executions(),
            }],
            RunEvent::Opened(_) => status(RunStatus::Running, None, false),
            RunEvent::Paused(cause) => status(RunStatus::Paused, Some(&cause.reason), false),
            RunEvent::Resumed(_) => status(RunStatus::Running, None, false),
            RunEvent::Cancelled(cause) => status(RunStatus::Cancelled, Some(&cause.reason), true),
            RunEvent::Halted(halted) => status(RunStatus::Halted, Some(&halted.reason), false),
            RunEvent::Judged(judged) => vec![ViewChange::RunJudged {
                run,
                verdict: judged.judged.verdict,
                score_ppm: mean_score(judged.tally.score_ppm_sum, judged.tally.counts.scored),
            }],
            RunEvent::Completed(_) => status(RunStatus::Completed, step.after.halted_reason(), true),
            RunEvent::Failed(failed) => status(RunStatus::Failed, Some(&failed.reason), true),
            RunEvent::Retired(cause) => status(RunStatus::Retired, Some(&cause.reason), false),
            RunEvent::PlacementSeeded(_)
            | RunEvent::Started(_)
            | RunEvent::ChunksAccepted(_)
            | RunEvent::ChunkReopened(_) => vec![],
        }
    }
}

/// The mean of scored executions, rounded down; `None` where nothing is scored.
pub fn mean_score(score_ppm_sum: u64, scored: u64) -> Option<ScorePpm> {
    score_ppm_sum.checked_div(scored).map(ScorePpm::saturating)
}
