//! Which events a command causes in a chunk.

use super::state::{ChunkPhase, ChunkState, Stage};
use super::terms::{Fate, unfinished};
use super::{ChunkCommand, FailedAttempt};
use crate::decider::{Decider, Rejection};
use crate::mutant::{self, Mutant};
use crate::policy::{AfterFailure, FailureFacts, after_failure, processing_backoff};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_schema::events::{
    AllocatedAttempt, ChunkAttemptsAllocated, ChunkCancelled, ChunkCompleted, ChunkDispatched, ChunkEnd, ChunkEvent,
    ChunkExecutionsDeferred, ChunkExecutionsQuarantined, ChunkExecutionsSettled, ChunkFailed, ChunkLeaseExpired,
    ChunkLeased, ChunkProcessingFailed, ChunkQuarantined, ChunkReleased, ChunkRequeued, ChunkSeeded, DeferredExecution,
    Intervention, QuarantinedAttempt, ReleaseReason, RequeueReason, SettledExecution,
};
use tribunal_schema::ids::{AttemptId, ExecutionKey};
use tribunal_schema::profile::Profile;
use tribunal_schema::score::{ExecutionOutcome, ExecutionResult, Judgment};
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, ReadySeq};

type Decision = Result<Vec<ChunkEvent>, Rejection>;

pub(super) fn decide(state: &ChunkState, command: &ChunkCommand) -> Decision {
    match command {
        ChunkCommand::Seed { seeded, profile } => seed(state, seeded, profile),
        ChunkCommand::Dispatch { ready_seq } => dispatch(state, *ready_seq),
        ChunkCommand::Lease { ready_seq, grant, holder, lease, hard_deadline } => {
            offered(state, *ready_seq)?;
            Ok(vec![ChunkEvent::Leased(ChunkLeased {
                term: LeaseTerm(state.term.0 + 1),
                grant: *grant,
                holder: *holder,
                lease: *lease,
                hard_deadline: *hard_deadline,
            })])
        }
        ChunkCommand::Allocate { term, ids, now } => allocate(state, *term, ids, *now),
        ChunkCommand::Settle { term, settled, profile } => settle(state, *term, settled, profile),
        ChunkCommand::RecordFailures { term, failures, profile } => record_failures(state, *term, failures, profile),
        ChunkCommand::Release { term, reason, fates, profile, now } => {
            release(state, *term, *reason, fates, profile, *now)
        }
        ChunkCommand::Expire { term, fates, profile, recovery_limit } => {
            expire(state, *term, fates, profile, *recovery_limit)
        }
        ChunkCommand::FailProcessing { term, fates, message, failure_budget, profile } => {
            fail_processing(state, *term, fates, message, *failure_budget, profile)
        }
        ChunkCommand::Cancel { cause, fates, profile } => cancel(state, cause, fates, profile),
        ChunkCommand::ReleaseQuarantined { executions } => release_quarantined(state, executions),
    }
}

fn seed(state: &ChunkState, wanted: &ChunkSeeded, profile: &Profile) -> Decision {
    match state.seeded.as_deref() {
        None => with_end(state, vec![ChunkEvent::Seeded(wanted.clone())], profile),
        Some(known) if known == wanted => Ok(vec![]),
        Some(_) => Err(Rejection::Contradiction(format!("chunk {} exists with other content", wanted.chunk))),
    }
}

fn dispatch(state: &ChunkState, ready_seq: ReadySeq) -> Decision {
    offered(state, ready_seq)?;
    Ok(vec![ChunkEvent::Dispatched(ChunkDispatched { ready_seq })])
}

/// The chunk is claimable under this number.
fn offered(state: &ChunkState, ready_seq: ReadySeq) -> Result<(), Rejection> {
    match state.phase {
        ChunkPhase::New => Err(Rejection::Unknown("the chunk")),
        ChunkPhase::Ended(end) => Err(Rejection::Over("the chunk", format!("{end:?}"))),
        ChunkPhase::Ready if ready_seq == state.ready_seq => Ok(()),
        ChunkPhase::Ready | ChunkPhase::Leased | ChunkPhase::Closed => {
            Err(Rejection::Superseded { claimed: ready_seq.0, current: state.ready_seq.0 })
        }
    }
}

/// The command's term is the chunk's live one.
fn held(state: &ChunkState, term: LeaseTerm) -> Result<(), Rejection> {
    match state.phase {
        ChunkPhase::Leased if state.term == term => Ok(()),
        ChunkPhase::New => Err(Rejection::Unknown("the chunk")),
        ChunkPhase::Ended(end) => Err(Rejection::Over("the chunk", format!("{end:?}"))),
        ChunkPhase::Ready | ChunkPhase::Leased | ChunkPhase::Closed => {
            Err(Rejection::StaleTerm { claimed: term.0, current: state.term.0 })
        }
    }
}

fn allocate(state: &ChunkState, term: LeaseTerm, ids: &[AttemptId], now: InstantMs) -> Decision {
    held(state, term)?;
    let due = state.executions.iter().filter(|(_, execution)| match execution.stage {
        Stage::Pending { due_at } => due_at <= now,
        Stage::Open(_) | Stage::Settled(..) | Stage::Quarantined { .. } => false,
    });
    // An id that is open was given out when this command came the first time.
    let fresh: BTreeSet<AttemptId> = ids.iter().filter(|id| !state.open.contains_key(id)).copied().collect();
    let attempts: Vec<AllocatedAttempt> = due
        .zip(fresh)
        .map(|((key, execution), attempt)| AllocatedAttempt {
            attempt,
            execution: *key,
            number: execution.attempts + 1,
            key: execution.key,
        })
        .collect();
    if attempts.is_empty() {
        return Ok(vec![]);
    }
    Ok(vec![ChunkEvent::AttemptsAllocated(ChunkAttemptsAllocated { term, attempts })])
}

/// Whether an attempt is still to be dealt with: `false` when this was recorded before.
fn is_current(state: &ChunkState, key: ExecutionKey, attempt: AttemptId) -> Result<bool, Rejection> {
    let stage = state.executions.get(&key).map(|execution| (&execution.stage, execution.deferred));
    match stage {
        Some((Stage::Open(open), _)) if open.attempt == attempt => Ok(true),
        Some((Stage::Settled(..), _)) if mutant::is_alive(Mutant::SettledTwice) => Ok(true),
        Some(_) if mutant::is_alive(Mutant::NoCurrentAttemptCheck) => Ok(true),
        Some((Stage::Settled(known, _), _)) if known.attempt == Some(attempt) => Ok(false),
        Some((Stage::Quarantined { attempt: known, .. }, _)) if *known == attempt => Ok(false),
        Some((_, Some(deferred))) if deferred == attempt => Ok(false),
        Some((Stage::Pending { .. } | Stage::Open(_) | Stage::Settled(..) | Stage::Quarantined { .. }, _)) | None => {
            Err(Rejection::NotCurrentAttempt { attempt: attempt.to_string(), execution: key.to_string() })
        }
    }
}

fn settle(state: &ChunkState, term: LeaseTerm, settled: &[SettledExecution], profile: &Profile) -> Decision {
    held(state, term)?;
    let mut news: Vec<SettledExecution> = Vec::with_capacity(settled.len());
    let mut seen = BTreeSet::new();
    for one in settled {
        let Some(attempt) = one.result.attempt else {
            return Err(Rejection::Contradiction(format!("{} is settled without an attempt", one.result.execution)));
        };
        if !is_current(state, one.result.execution, attempt)? {
            contradicts(state, one)?;
        } else if seen.insert(attempt) {
            news.push(one.clone());
        }
    }
    if news.is_empty() {
        return Ok(vec![]);
    }
    with_end(state, vec![ChunkEvent::ExecutionsSettled(ChunkExecutionsSettled { term, settled: news })], profile)
}

/// What is settled already must have been settled alike.
fn contradicts(state: &ChunkState, one: &SettledExecution) -> Result<(), Rejection> {
    let key = one.result.execution;
    match state.executions.get(&key).map(|execution| &execution.stage) {
        Some(Stage::Settled(known, _)) if *known == one.result => Ok(()),
        Some(Stage::Pending { .. } | Stage::Open(_) | Stage::Settled(..) | Stage::Quarantined { .. }) | None => {
            Err(Rejection::Contradiction(format!("{key} was recorded with another end")))
        }
    }
}

fn record_failures(state: &ChunkState, term: LeaseTerm, failures: &[FailedAttempt], profile: &Profile) -> Decision {
    held(state, term)?;
    let (mut deferred, mut settled, mut quarantined) = (vec![], vec![], vec![]);
    let mut seen = BTreeSet::new();
    for failed in failures {
        if !is_current(state, failed.execution, failed.attempt)? || !seen.insert(failed.attempt) {
            continue;
        }
        let failures = state.executions.get(&failed.execution).map_or(0, |execution| execution.failures) + 1;
        let facts = FailureFacts {
            class: failed.class,
            retry_after: failed.retry_after,
            failures,
            jitter_ppm: failed.jitter_ppm,
        };
        match after_failure(&profile.attempts, profile.target.side_effects, facts) {
            AfterFailure::Retry(retry_after) => deferred.push(DeferredExecution {
                attempt: failed.attempt,
                execution: failed.execution,
                class: failed.class,
                retry_after,
                response_received: failed.response_received,
                pin: failed.pin,
            }),
            AfterFailure::Settle => settled.push(errored(failed)),
            AfterFailure::Quarantine => quarantined.push(QuarantinedAttempt {
                attempt: failed.attempt,
                execution: failed.execution,
                class: failed.class,
                pin: failed.pin,
            }),
        }
    }
    let mut events = vec![];
    if !deferred.is_empty() {
        events.push(ChunkEvent::ExecutionsDeferred(ChunkExecutionsDeferred { term, deferred }));
    }
    if !quarantined.is_empty() {
        events.push(ChunkEvent::ExecutionsQuarantined(ChunkExecutionsQuarantined { term, attempts: quarantined }));
    }
    if !settled.is_empty() {
        events.push(ChunkEvent::ExecutionsSettled(ChunkExecutionsSettled { term, settled }));
    }
    with_end(state, events, profile)
}

fn errored(failed: &FailedAttempt) -> SettledExecution {
    SettledExecution {
        result: ExecutionResult {
            execution: failed.execution,
            attempt: Some(failed.attempt),
            judgment: Judgment { outcome: ExecutionOutcome::Errored, score_ppm: None, dimensions: vec![] },
            failure: Some(failed.class),
        },
        pin: failed.pin,
    }
}

fn release(
    state: &ChunkState,
    term: LeaseTerm,
    reason: ReleaseReason,
    fates: &BTreeMap<AttemptId, Fate>,
    profile: &Profile,
    now: InstantMs,
) -> Decision {
    held(state, term)?;
    let unfinished = unfinished(state, fates, profile.target.side_effects);
    // What is unburnt, or open with a record, can be worked on at once; else the next due instant counts.
    let at_once = !state.open.is_empty();
    let due_at = if at_once { now } else { state.next_due().unwrap_or(now) };
    let due_in = DurationMs(u64::try_from(due_at.0 - now.0).unwrap_or(0));
    let ready_seq = ReadySeq(state.ready_seq.0 + 1);
    let events = vec![ChunkEvent::Released(ChunkReleased { term, reason, unfinished, due_in, ready_seq })];
    with_end(state, events, profile)
}

fn expire(
    state: &ChunkState,
    term: LeaseTerm,
    fates: &BTreeMap<AttemptId, Fate>,
    profile: &Profile,
    recovery_limit: u32,
) -> Decision {
    held(state, term)?;
    let recoveries_without_progress = state.recoveries_without_progress + 1;
    let unfinished = unfinished(state, fates, profile.target.side_effects);
    let expired = ChunkEvent::LeaseExpired(ChunkLeaseExpired { term, unfinished, recoveries_without_progress });
    if recoveries_without_progress > recovery_limit {
        let reason = format!("its lease was lost {recoveries_without_progress} times in a row without a result");
        return with_failure(state, expired, reason, profile);
    }
    with_requeue(state, expired, RequeueReason::Recovery, DurationMs(0), profile)
}

fn fail_processing(
    state: &ChunkState,
    term: LeaseTerm,
    fates: &BTreeMap<AttemptId, Fate>,
    message: &str,
    failure_budget: u32,
    profile: &Profile,
) -> Decision {
    held(state, term)?;
    let count = state.processing_failures + 1;
    let unfinished = unfinished(state, fates, profile.target.side_effects);
    let failed =
        ChunkEvent::ProcessingFailed(ChunkProcessingFailed { term, unfinished, message: message.into(), count });
    if count > failure_budget {
        return with_failure(state, failed, format!("it could not be processed {count} times: {message}"), profile);
    }
    with_requeue(state, failed, RequeueReason::ProcessingFailed, processing_backoff(count), profile)
}

fn cancel(state: &ChunkState, cause: &Intervention, fates: &BTreeMap<AttemptId, Fate>, profile: &Profile) -> Decision {
    match state.phase {
        ChunkPhase::New => return Err(Rejection::Unknown("the chunk")),
        ChunkPhase::Ended(_) => return Ok(vec![]),
        ChunkPhase::Ready | ChunkPhase::Leased | ChunkPhase::Closed => {}
    }
    let fate = |attempt: &AttemptId| fates.get(attempt).copied().unwrap_or(Fate::Started);
    let open = || state.open_attempts().into_iter().map(|open| open.attempt);
    let called: BTreeSet<AttemptId> = open().filter(|attempt| fate(attempt) != Fate::NeverStarted).collect();
    let in_flight = open().filter(|attempt| fate(attempt) == Fate::Started).collect();
    let tally = state.tally(profile, &called);
    Ok(vec![ChunkEvent::Cancelled(ChunkCancelled { cause: cause.clone(), in_flight, tally })])
}

fn release_quarantined(state: &ChunkState, executions: &[ExecutionKey]) -> Decision {
    if executions.is_empty() {
        return Ok(vec![]);
    }
    let waits = |key: &ExecutionKey| {
        matches!(state.executions.get(key).map(|execution| &execution.stage), Some(Stage::Quarantined { .. }))
    };
    if let Some(stranger) = executions.iter().find(|key| !waits(key)) {
        return Err(Rejection::NotNow(format!("{stranger} does not wait in quarantine")));
    }
    if state.phase != ChunkPhase::Ended(ChunkEnd::Quarantined) {
        return Err(Rejection::NotNow("the chunk is still being worked on; release when it has ended".into()));
    }
    let released: BTreeSet<ExecutionKey> = executions.iter().copied().collect();
    Ok(vec![ChunkEvent::Requeued(ChunkRequeued {
        reason: RequeueReason::Released,
        released: released.into_iter().collect(),
        due_in: DurationMs(0),
        ready_seq: ReadySeq(state.ready_seq.0 + 1),
    })])
}

/// The state after events that have just been decided. They are legal by
/// construction; the instant matters to none of the events this is used for.
fn foresee(state: &ChunkState, events: &[ChunkEvent]) -> ChunkState {
    let step = |state, event: &ChunkEvent| super::Chunk::evolve(state, event, InstantMs(i64::MAX));
    events.iter().try_fold(state.clone(), step).expect("a decided event is legal in the state it was decided in")
}

/// The events, and the chunk's end where they leave nothing to do.
fn with_end(state: &ChunkState, mut events: Vec<ChunkEvent>, profile: &Profile) -> Decision {
    if events.is_empty() {
        return Ok(events);
    }
    let after = foresee(state, &events);
    if after.unsettled > 0 {
        return Ok(events);
    }
    let waiting: Vec<ExecutionKey> = after
        .executions
        .iter()
        .filter(|(_, execution)| matches!(execution.stage, Stage::Quarantined { .. }))
        .map(|(key, _)| *key)
        .collect();
    let tally = after.tally(profile, &BTreeSet::new());
    events.push(if waiting.is_empty() {
        ChunkEvent::Completed(ChunkCompleted { tally })
    } else {
        ChunkEvent::Quarantined(ChunkQuarantined { executions: waiting, tally })
    });
    Ok(events)
}

/// The end of a term, and the chunk offered again, or its end where nothing is left to do.
fn with_requeue(
    state: &ChunkState,
    closed: ChunkEvent,
    reason: RequeueReason,
    due_in: DurationMs,
    profile: &Profile,
) -> Decision {
    let mut events = with_end(state, vec![closed], profile)?;
    if events.len() == 1 {
        let ready_seq = ReadySeq(state.ready_seq.0 + 1);
        events.push(ChunkEvent::Requeued(ChunkRequeued { reason, released: vec![], due_in, ready_seq }));
    }
    Ok(events)
}

/// The end of a term, and the chunk's end as failed: what has no result is missing.
fn with_failure(state: &ChunkState, closed: ChunkEvent, reason: String, profile: &Profile) -> Decision {
    let events = with_end(state, vec![closed], profile)?;
    if events.len() > 1 {
        return Ok(events);
    }
    let after = foresee(state, &events);
    // Open attempts that have a record were called, and nobody will adopt them.
    let tally = after.tally(profile, &after.open.keys().copied().collect());
    Ok(events.into_iter().chain([ChunkEvent::Failed(ChunkFailed { reason, tally })]).collect())
}
