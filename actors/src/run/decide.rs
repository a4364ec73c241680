//! Which events a command causes in a run.

use super::{RunCommand, RunPhase, RunState};
use crate::decider::Rejection;
use crate::verdict::{Facts, gate};
use tribunal_schema::Digest;
use tribunal_schema::events::{
    AcceptedChunk, ChunkEnd, HaltCause, Intervention, RunChunkReopened, RunChunksAccepted, RunCompleted, RunEvent,
    RunFailed, RunHalted, RunJudged, RunOpened, RunPlacementSeeded, RunPlanned, RunStarted,
};

type Decision = Result<Vec<RunEvent>, Rejection>;

pub(super) fn decide(state: &RunState, command: &RunCommand) -> Decision {
    match command {
        RunCommand::Plan(planned) => plan(state, planned),
        RunCommand::RecordSeeded { placement, chunks } => record_seeded(state, placement, *chunks),
        RunCommand::Open => open(state),
        RunCommand::Start => start(state),
        RunCommand::AcceptChunks(chunks) => accept(state, chunks),
        RunCommand::ReopenChunk { chunk, by } => reopen(state, *chunk, by),
        RunCommand::Pause(by) => pause(state, by),
        RunCommand::Resume(by) => resume(state, by),
        RunCommand::Cancel(by) => cancel(state, by),
        RunCommand::Halt { cause, reason } => halt(state, *cause, reason),
        RunCommand::Judge { result_digest, root } => judge(state, *result_digest, *root),
        RunCommand::Fail(reason) => fail(state, reason),
    }
}

fn planned(state: &RunState) -> Result<&RunPlanned, Rejection> {
    state.planned.as_deref().ok_or(Rejection::Unknown("the run"))
}

fn not_now(state: &RunState, wanted: &str) -> Decision {
    Err(Rejection::NotNow(format!("the run is {} and cannot be {wanted}", state.phase.name())))
}

fn plan(state: &RunState, wanted: &RunPlanned) -> Decision {
    match state.planned.as_deref() {
        None => Ok(vec![RunEvent::Planned(wanted.clone())]),
        Some(known) if known == wanted => Ok(vec![]),
        Some(known) => Err(Rejection::Contradiction(format!(
            "the run exists with plan {}, not {}",
            known.plan_digest.short(),
            wanted.plan_digest.short()
        ))),
    }
}

fn record_seeded(state: &RunState, placement: &str, chunks: u32) -> Decision {
    let plan = &planned(state)?.plan;
    if !plan.placements.iter().any(|known| known == placement) {
        return Err(Rejection::Contradiction(format!("placement {placement} is not in the plan")));
    }
    match state.phase {
        _ if state.seeded.contains(placement) => Ok(vec![]),
        RunPhase::Creating => {
            Ok(vec![RunEvent::PlacementSeeded(RunPlacementSeeded { placement: placement.into(), chunks })])
        }
        RunPhase::New
        | RunPhase::Running
        | RunPhase::Paused
        | RunPhase::Halted
        | RunPhase::Judged
        | RunPhase::Completed
        | RunPhase::Cancelled
        | RunPhase::Failed => not_now(state, "seeded"),
    }
}

fn open(state: &RunState) -> Decision {
    let plan = &planned(state)?.plan;
    match state.phase {
        RunPhase::Creating if state.is_seeded() => Ok(vec![RunEvent::Opened(RunOpened {
            chunks: plan.chunks,
            cases: plan.cases,
            executions: plan.executions(),
        })]),
        RunPhase::Creating => not_now(state, "opened before all its chunks exist"),
        RunPhase::Running | RunPhase::Paused | RunPhase::Halted | RunPhase::Judged | RunPhase::Completed => Ok(vec![]),
        RunPhase::New | RunPhase::Cancelled | RunPhase::Failed => not_now(state, "opened"),
    }
}

fn start(state: &RunState) -> Decision {
    match state.phase {
        _ if state.started => Ok(vec![]),
        RunPhase::Running | RunPhase::Paused => Ok(vec![RunEvent::Started(RunStarted {})]),
        RunPhase::New
        | RunPhase::Creating
        | RunPhase::Halted
        | RunPhase::Judged
        | RunPhase::Completed
        | RunPhase::Cancelled
        | RunPhase::Failed => not_now(state, "started"),
    }
}

/// The same or a lower version of a chunk is known already; what comes after the
/// end of the run is accepted as nothing.
fn accept(state: &RunState, chunks: &[AcceptedChunk]) -> Decision {
    let plan = &planned(state)?.plan;
    match state.phase {
        RunPhase::Cancelled | RunPhase::Failed | RunPhase::Judged | RunPhase::Completed => return Ok(vec![]),
        RunPhase::New | RunPhase::Creating => return not_now(state, "told of a chunk's end"),
        RunPhase::Running | RunPhase::Paused | RunPhase::Halted => {}
    }
    if let Some(stranger) = chunks.iter().find(|chunk| chunk.chunk >= plan.chunks) {
        return Err(Rejection::Contradiction(format!(
            "the run has {} chunks, not a chunk {}",
            plan.chunks, stranger.chunk
        )));
    }
    let is_new =
        |chunk: &&AcceptedChunk| state.accepted.get(&chunk.chunk).is_none_or(|known| known.version < chunk.version);
    let mut news: Vec<AcceptedChunk> = chunks.iter().filter(is_new).cloned().collect();
    news.sort_by_key(|chunk| (chunk.chunk, std::cmp::Reverse(chunk.version)));
    news.dedup_by_key(|chunk| chunk.chunk);
    if news.is_empty() { Ok(vec![]) } else { Ok(vec![RunEvent::ChunksAccepted(RunChunksAccepted { chunks: news })]) }
}

fn reopen(state: &RunState, chunk: u32, by: &Intervention) -> Decision {
    planned(state)?;
    match state.phase {
        RunPhase::Running | RunPhase::Paused => {}
        RunPhase::Judged | RunPhase::Completed => {
            return Err(Rejection::Over("the run", "it has its verdict; a release makes a follow-up run".into()));
        }
        RunPhase::New | RunPhase::Creating | RunPhase::Halted | RunPhase::Cancelled | RunPhase::Failed => {
            return not_now(state, "given a chunk again");
        }
    }
    match state.accepted.get(&chunk) {
        None => Err(Rejection::NotNow(format!("chunk {chunk} has not ended yet"))),
        Some(known) if known.reopened => Ok(vec![]),
        // Reopened without anything to work on, a chunk would never end again.
        Some(known) if known.end != ChunkEnd::Quarantined => {
            Err(Rejection::NotNow(format!("nothing of chunk {chunk} waits in quarantine")))
        }
        Some(_) => {
            Ok(vec![RunEvent::ChunkReopened(RunChunkReopened { chunk, by: by.by.clone(), reason: by.reason.clone() })])
        }
    }
}

fn pause(state: &RunState, by: &Intervention) -> Decision {
    match state.phase {
        RunPhase::Running => Ok(vec![RunEvent::Paused(by.clone())]),
        RunPhase::Paused => Ok(vec![]),
        RunPhase::New
        | RunPhase::Creating
        | RunPhase::Halted
        | RunPhase::Judged
        | RunPhase::Completed
        | RunPhase::Cancelled
        | RunPhase::Failed => not_now(state, "paused"),
    }
}

fn resume(state: &RunState, by: &Intervention) -> Decision {
    match state.phase {
        RunPhase::Paused => Ok(vec![RunEvent::Resumed(by.clone())]),
        RunPhase::Running => Ok(vec![]),
        RunPhase::New
        | RunPhase::Creating
        | RunPhase::Halted
        | RunPhase::Judged
        | RunPhase::Completed
        | RunPhase::Cancelled
        | RunPhase::Failed => not_now(state, "resumed"),
    }
}

fn cancel(state: &RunState, by: &Intervention) -> Decision {
    match state.phase {
        RunPhase::Creating | RunPhase::Running | RunPhase::Paused | RunPhase::Halted => {
            Ok(vec![RunEvent::Cancelled(by.clone())])
        }
        RunPhase::Cancelled => Ok(vec![]),
        RunPhase::New | RunPhase::Judged | RunPhase::Completed | RunPhase::Failed => not_now(state, "cancelled"),
    }
}

fn halt(state: &RunState, cause: HaltCause, reason: &str) -> Decision {
    match state.phase {
        RunPhase::Running | RunPhase::Paused => Ok(vec![RunEvent::Halted(RunHalted { cause, reason: reason.into() })]),
        RunPhase::Halted | RunPhase::Judged | RunPhase::Completed | RunPhase::Cancelled | RunPhase::Failed => {
            Ok(vec![])
        }
        RunPhase::New | RunPhase::Creating => not_now(state, "halted"),
    }
}

fn judge(state: &RunState, result_digest: Digest, root: Digest) -> Decision {
    let plan = &planned(state)?.plan;
    if state.judged.is_some() {
        return Ok(vec![]);
    }
    if !state.is_judgeable() {
        let (known, chunks) = (state.accepted.len(), plan.chunks);
        return Err(Rejection::NotNow(format!(
            "the run is {} and {known} of its {chunks} chunks have ended: it cannot be judged",
            state.phase.name()
        )));
    }
    let tally = state.tally();
    let facts = Facts { cut_short: state.halted_reason(), filters: &plan.filters };
    let judged = gate(&plan.profile, &tally, facts);
    Ok(vec![RunEvent::Judged(RunJudged { judged, tally, result_digest, root }), RunEvent::Completed(RunCompleted {})])
}

fn fail(state: &RunState, reason: &str) -> Decision {
    match state.phase {
        RunPhase::Creating | RunPhase::Running | RunPhase::Paused => {
            Ok(vec![RunEvent::Failed(RunFailed { reason: reason.into() })])
        }
        RunPhase::Failed => Ok(vec![]),
        RunPhase::New | RunPhase::Halted | RunPhase::Judged | RunPhase::Completed | RunPhase::Cancelled => {
            not_now(state, "failed")
        }
    }
}
