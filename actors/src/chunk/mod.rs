//! The chunk: a bounded range of cases with all their repeats, worked on by one
//! holder at a time.
//!
//! It owns the executions: which attempt is current, what was deferred until
//! when, what is settled, what waits in quarantine. Its term is the fence: every
//! command of a worker names it, and the guard of the append checks it again
//! against the lease row. When the last execution is settled the chunk ends in
//! the same unit, and a settlement row tells the run.
//!
//! `state` has what the events add up to, `decide` which events a command causes,
//! `terms` what the end of a term means for open attempts.

mod decide;
mod state;
mod terms;
#[cfg(test)]
mod tests;

pub use state::{ChunkPhase, ChunkState, Execution, Stage};
pub use terms::Fate;

use crate::decider::{Decider, Illegal, Rejection, Step};
use crate::ports::journal::{OutboxMessage, Row, Settlement};
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::{
    AttemptPin, ChunkEnd, ChunkEvent, ChunkSeeded, Intervention, ReleaseReason, SettledExecution,
};
use tribunal_schema::ids::{AttemptId, ChunkId, ExecutionKey, GrantId, Incarnation, StreamId};
use tribunal_schema::profile::Profile;
use tribunal_schema::score::Tally;
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, ReadySeq};
use tribunal_schema::view::{ChunkStatus, ExecutionRow, QuarantineStatus, ViewChange};
use tribunal_schema::wire::ChunkReady;

/// The decider of chunk streams.
#[derive(Clone, Copy, Debug)]
pub struct Chunk;

/// What can be asked of a chunk. Commands of a worker name its term.
#[derive(Clone, Debug)]
pub enum ChunkCommand {
    /// It shall exist.
    Seed {
        /// What it is made of.
        seeded: Arc<ChunkSeeded>,
        /// The profile, for the tally of a chunk whose results are all carried.
        profile: Arc<Profile>,
    },
    /// A message is about to offer it.
    Dispatch {
        /// The ready row.
        ready_seq: ReadySeq,
    },
    /// A worker wants it.
    Lease {
        /// The ready row that was offered.
        ready_seq: ReadySeq,
        /// The grant's id.
        grant: GrantId,
        /// The worker's incarnation.
        holder: Incarnation,
        /// Without renewal.
        lease: DurationMs,
        /// At most.
        hard_deadline: DurationMs,
    },
    /// Attempts for what is pending and due, as many as there are ids.
    Allocate {
        /// The term.
        term: LeaseTerm,
        /// Ids to give out.
        ids: Vec<AttemptId>,
        /// The database's clock.
        now: InstantMs,
    },
    /// Executions have their results.
    Settle {
        /// The term.
        term: LeaseTerm,
        /// The results.
        settled: Vec<SettledExecution>,
        /// For the tally.
        profile: Arc<Profile>,
    },
    /// Attempts failed.
    RecordFailures {
        /// The term.
        term: LeaseTerm,
        /// The failures.
        failures: Vec<FailedAttempt>,
        /// For the retry policy and the tally.
        profile: Arc<Profile>,
    },
    /// The worker gives the chunk back.
    Release {
        /// The term.
        term: LeaseTerm,
        /// Why.
        reason: ReleaseReason,
        /// What its open attempts have recorded.
        fates: BTreeMap<AttemptId, Fate>,
        /// The profile.
        profile: Arc<Profile>,
        /// The database's clock.
        now: InstantMs,
    },
    /// The lease's time is over.
    Expire {
        /// The term.
        term: LeaseTerm,
        /// What its open attempts have recorded.
        fates: BTreeMap<AttemptId, Fate>,
        /// The profile.
        profile: Arc<Profile>,
        /// Recoveries without progress that are borne.
        recovery_limit: u32,
    },
    /// The worker itself failed.
    FailProcessing {
        /// The term.
        term: LeaseTerm,
        /// What its open attempts have recorded.
        fates: BTreeMap<AttemptId, Fate>,
        /// What went wrong.
        message: String,
        /// Processing failures that are borne.
        failure_budget: u32,
        /// The profile.
        profile: Arc<Profile>,
    },
    /// The run is over or asks no more.
    Cancel {
        /// Who and why.
        cause: Intervention,
        /// What its open attempts have recorded.
        fates: BTreeMap<AttemptId, Fate>,
        /// For the tally.
        profile: Arc<Profile>,
    },
    /// A person lets executions out of quarantine.
    ReleaseQuarantined {
        /// Which.
        executions: Vec<ExecutionKey>,
    },
}

/// A failed attempt, as its stream recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// What it tried.
    pub execution: ExecutionKey,
    /// Why it failed.
    pub class: FailureClass,
    /// What the target asked to wait.
    pub retry_after: Option<DurationMs>,
    /// Whether a response was received.
    pub response_received: bool,
    /// Its stream.
    pub pin: AttemptPin,
    /// Noise for the wait, 0..=1_000_000.
    pub jitter_ppm: u32,
}

impl Decider for Chunk {
    type State = ChunkState;
    type Command = ChunkCommand;
    type Event = ChunkEvent;

    fn decide(state: &ChunkState, command: &ChunkCommand) -> Result<Vec<ChunkEvent>, Rejection> {
        decide::decide(state, command)
    }

    fn evolve(state: ChunkState, event: &ChunkEvent, recorded_at: InstantMs) -> Result<ChunkState, Illegal> {
        state.after(event, recorded_at)
    }

    fn rows(step: &Step<'_, Chunk>) -> Vec<Row> {
        let StreamId::Chunk(chunk) = *step.stream else { return vec![] };
        let lane = || step.after.seeded.as_ref().map(|seeded| seeded.lane.clone()).unwrap_or_default();
        let ready = |ready_seq, due_in| Row::ReadyPut { chunk, ready_seq, lane: lane(), due_in };
        match step.event {
            ChunkEvent::Seeded(seeded) => {
                vec![Row::BlobRef { digest: seeded.page, run: chunk.run }, ready(seeded.ready_seq, DurationMs(0))]
            }
            ChunkEvent::Dispatched(dispatched) => vec![
                Row::ReadyPublished { chunk, ready_seq: dispatched.ready_seq },
                Row::OutboxPut(chunk_ready(chunk, dispatched.ready_seq, step.version.0, &lane())),
            ],
            ChunkEvent::Leased(leased) => vec![
                Row::ReadyTake { chunk, ready_seq: step.before.ready_seq },
                Row::LeaseGrant {
                    chunk,
                    term: leased.term,
                    grant: leased.grant,
                    holder: leased.holder,
                    lease: leased.lease,
                    hard_deadline: leased.hard_deadline,
                },
            ],
            ChunkEvent::Released(released) => {
                vec![Row::LeaseEnd { chunk, term: released.term }, ready(released.ready_seq, released.due_in)]
            }
            ChunkEvent::LeaseExpired(expired) => vec![Row::LeaseExpire { chunk, term: expired.term }],
            ChunkEvent::ProcessingFailed(failed) => vec![Row::LeaseEnd { chunk, term: failed.term }],
            ChunkEvent::Requeued(requeued) => vec![ready(requeued.ready_seq, requeued.due_in)],
            ChunkEvent::Completed(end) => ending(step, chunk, ChunkEnd::Completed, &end.tally),
            ChunkEvent::Quarantined(end) => ending(step, chunk, ChunkEnd::Quarantined, &end.tally),
            ChunkEvent::Failed(end) => ending(step, chunk, ChunkEnd::Failed, &end.tally),
            ChunkEvent::Cancelled(end) => {
                let mut rows = vec![Row::LeaseRevoke { chunk }];
                rows.extend(ending(step, chunk, ChunkEnd::Cancelled, &end.tally));
                rows
            }
            ChunkEvent::AttemptsAllocated(_)
            | ChunkEvent::ExecutionsSettled(_)
            | ChunkEvent::ExecutionsDeferred(_)
            | ChunkEvent::ExecutionsQuarantined(_) => vec![],
        }
    }

    fn views(step: &Step<'_, Chunk>) -> Vec<ViewChange> {
        let StreamId::Chunk(chunk) = *step.stream else { return vec![] };
        let run = chunk.run;
        let status = |status, term| ViewChange::ChunkStatus { chunk, status, term };
        let settled = |result: &tribunal_schema::score::ExecutionResult| ViewChange::ExecutionSettled {
            chunk,
            row: ExecutionRow {
                run,
                execution: result.execution,
                attempt: result.attempt,
                outcome: result.judgment.outcome,
                score_ppm: result.judgment.score_ppm,
                failure: result.failure,
            },
        };
        let quarantined = |attempt: AttemptId, execution: ExecutionKey, reason: String| ViewChange::Quarantined {
            run,
            chunk,
            execution,
            attempt,
            reason,
        };
        let lost = |attempts: &[AttemptId]| -> Vec<ViewChange> {
            let reason = "the call was cut off and its end is unknown; the target is unsafe";
            let execution = |attempt: &AttemptId| step.before.execution_of(*attempt);
            attempts.iter().filter_map(|id| Some(quarantined(*id, execution(id)?, reason.into()))).collect()
        };
        match step.event {
            ChunkEvent::Seeded(seeded) => {
                let executions = seeded.cases.len() as u64 * u64::from(seeded.repeats);
                let mut changes = vec![ViewChange::ChunkSeeded { chunk, executions }];
                changes.extend(seeded.carried.iter().map(|carried| settled(&carried.result)));
                changes
            }
            ChunkEvent::Leased(leased) => vec![status(ChunkStatus::Leased, Some(leased.term))],
            ChunkEvent::ExecutionsSettled(event) => event.settled.iter().map(|one| settled(&one.result)).collect(),
            ChunkEvent::ExecutionsQuarantined(event) => event
                .attempts
                .iter()
                .map(|one| {
                    let reason =
                        format!("the call failed ({}) and may have had an effect; the target is unsafe", one.class);
                    quarantined(one.attempt, one.execution, reason)
                })
                .collect(),
            ChunkEvent::Released(released) => {
                let mut changes = lost(&released.unfinished.lost);
                changes.push(status(ChunkStatus::Ready, None));
                changes
            }
            ChunkEvent::LeaseExpired(expired) => {
                let mut changes = lost(&expired.unfinished.lost);
                changes.push(ViewChange::ChunkRecovered { chunk });
                changes
            }
            ChunkEvent::ProcessingFailed(failed) => lost(&failed.unfinished.lost),
            ChunkEvent::Requeued(requeued) => {
                let released = |execution: &ExecutionKey| ViewChange::QuarantineStatus {
                    run,
                    execution: *execution,
                    status: QuarantineStatus::Released,
                };
                let mut changes: Vec<ViewChange> = requeued.released.iter().map(released).collect();
                changes.push(status(ChunkStatus::Ready, None));
                changes
            }
            ChunkEvent::Completed(_) => vec![status(ChunkStatus::Completed, None)],
            ChunkEvent::Quarantined(_) => vec![status(ChunkStatus::Quarantined, None)],
            ChunkEvent::Failed(_) => vec![status(ChunkStatus::Failed, None)],
            ChunkEvent::Cancelled(_) => vec![status(ChunkStatus::Cancelled, None)],
            ChunkEvent::Dispatched(_) | ChunkEvent::AttemptsAllocated(_) | ChunkEvent::ExecutionsDeferred(_) => vec![],
        }
    }
}

/// The rows of a chunk's end: no offer, no lease of a term that is still open, and word to the run.
fn ending(step: &Step<'_, Chunk>, chunk: ChunkId, end: ChunkEnd, tally: &Tally) -> Vec<Row> {
    let mut rows = match step.before.phase {
        ChunkPhase::Leased if end != ChunkEnd::Cancelled => vec![Row::LeaseEnd { chunk, term: step.before.term }],
        ChunkPhase::New | ChunkPhase::Ready | ChunkPhase::Leased | ChunkPhase::Closed | ChunkPhase::Ended(_) => {
            vec![]
        }
    };
    rows.push(Row::ReadyDrop { chunk });
    rows.push(Row::SettlementPut(Settlement { chunk, version: step.version, end, tally: tally.clone() }));
    rows
}

/// The message that offers a chunk. A dispatch after another one has another version, so that
/// what was published and lost can be published again.
fn chunk_ready(chunk: ChunkId, ready_seq: ReadySeq, version: u64, lane: &str) -> OutboxMessage {
    let message = ChunkReady { version: ChunkReady::VERSION, chunk, ready_seq };
    OutboxMessage {
        dedupe_key: format!("chunk-ready/{chunk}/{}/{version}", ready_seq.0),
        routing_key: ChunkReady::routing_key(lane),
        body: serde_json::to_vec(&message).expect("a wire message has a JSON form"),
    }
}
