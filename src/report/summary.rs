//! One event in a few words, for a list of events.

use super::terminal::counted;
use super::text::escaped;
use super::when::span;
use tribunal_schema::codec::decode;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::events::{AttemptEvent, ChunkEvent, Intervention, OperatorEvent, RunEvent, Unfinished};
use tribunal_schema::ids::StreamId;
use tribunal_schema::score::Tally;

/// What an event says, on one line and escaped. Of one that cannot be read, why.
pub fn summary(recorded: &RecordedEvent) -> String {
    let words = match recorded.stream {
        StreamId::Run(_) => decode(recorded).map(|event| run(&event)),
        StreamId::Chunk(_) => decode(recorded).map(|event| chunk(&event)),
        StreamId::Attempt(_) => decode(recorded).map(|event| attempt(&event)),
        StreamId::Operator(_) => decode(recorded).map(|event| operator(&event)),
    };
    let words = words.unwrap_or_else(|error| format!("unreadable: {error}"));
    escaped(&words).into_owned()
}

fn chunks(count: u32) -> String {
    counted(count.into(), "chunk", "chunks")
}

fn executions(count: u64) -> String {
    counted(count, "execution", "executions")
}

fn by(cause: &Intervention) -> String {
    format!("by {}: {}", cause.by, cause.reason)
}

fn run(event: &RunEvent) -> String {
    match event {
        RunEvent::Planned(planned) => {
            let plan = &planned.plan;
            let (profile, version) = (&plan.profile.name, &plan.profile.version);
            format!(
                "{profile} {version} on {}, {} in {}",
                plan.dataset,
                executions(plan.executions()),
                chunks(plan.chunks)
            )
        }
        RunEvent::PlacementSeeded(seeded) => format!("{} in placement {}", chunks(seeded.chunks), seeded.placement),
        RunEvent::Opened(opened) => format!("{}, {}", chunks(opened.chunks), executions(opened.executions)),
        RunEvent::Started(_) => "first chunk dispatched".into(),
        RunEvent::ChunksAccepted(accepted) => {
            let numbers: Vec<String> = accepted.chunks.iter().take(8).map(|chunk| chunk.chunk.to_string()).collect();
            let more = if accepted.chunks.len() > numbers.len() { ", ..." } else { "" };
            format!("{} ended: {}{more}", accepted.chunks.len(), numbers.join(", "))
        }
        RunEvent::ChunkReopened(reopened) => {
            format!("chunk {} by {}: {}", reopened.chunk, reopened.by, reopened.reason)
        }
        RunEvent::Paused(cause) | RunEvent::Resumed(cause) | RunEvent::Cancelled(cause) | RunEvent::Retired(cause) => {
            by(cause)
        }
        RunEvent::Halted(halted) => halted.reason.clone(),
        RunEvent::Judged(judged) => format!("{}; {}", judged.judged.verdict, tally(&judged.tally)),
        RunEvent::Completed(_) => String::new(),
        RunEvent::Failed(failed) => failed.reason.clone(),
    }
}

fn chunk(event: &ChunkEvent) -> String {
    match event {
        ChunkEvent::Seeded(seeded) => {
            let last = seeded.first_case as usize + seeded.cases.len().saturating_sub(1);
            format!(
                "cases {} to {last}, {}, lane {}",
                seeded.first_case,
                counted(seeded.repeats.into(), "repeat", "repeats"),
                seeded.lane
            )
        }
        ChunkEvent::Dispatched(dispatched) => format!("ready number {}", dispatched.ready_seq.0),
        ChunkEvent::Leased(leased) => {
            format!("term {} for {}, held by {}", leased.term, leased.lease, leased.holder)
        }
        ChunkEvent::AttemptsAllocated(allocated) => {
            format!("term {}, {}", allocated.term, counted(allocated.attempts.len() as u64, "attempt", "attempts"))
        }
        ChunkEvent::ExecutionsSettled(settled) => {
            format!("term {}, {}", settled.term, executions(settled.settled.len() as u64))
        }
        ChunkEvent::ExecutionsDeferred(deferred) => {
            format!("term {}, {} to be tried again", deferred.term, executions(deferred.deferred.len() as u64))
        }
        ChunkEvent::ExecutionsQuarantined(quarantined) => {
            format!(
                "term {}, waiting for a person: {}",
                quarantined.term,
                executions(quarantined.attempts.len() as u64)
            )
        }
        ChunkEvent::Released(released) => {
            let why = format!("{:?}", released.reason).to_lowercase();
            format!("term {} ({why}), due in {}{}", released.term, released.due_in, unfinished(&released.unfinished))
        }
        ChunkEvent::LeaseExpired(expired) => format!("term {}{}", expired.term, unfinished(&expired.unfinished)),
        ChunkEvent::Requeued(requeued) => format!("ready number {}, due in {}", requeued.ready_seq.0, requeued.due_in),
        ChunkEvent::ProcessingFailed(failed) => {
            format!(
                "term {}, failure {}: {}{}",
                failed.term,
                failed.count,
                failed.message,
                unfinished(&failed.unfinished)
            )
        }
        ChunkEvent::Quarantined(end) => {
            format!("waiting for a person: {}; {}", executions(end.executions.len() as u64), tally(&end.tally))
        }
        ChunkEvent::Completed(end) => tally(&end.tally),
        ChunkEvent::Failed(end) => format!("{}; {}", end.reason, tally(&end.tally)),
        ChunkEvent::Cancelled(end) => {
            format!("{}; {} in flight; {}", by(&end.cause), end.in_flight.len(), tally(&end.tally))
        }
    }
}

fn attempt(event: &AttemptEvent) -> String {
    match event {
        AttemptEvent::Started(started) => {
            format!("number {} of {}, term {}", started.number, started.execution, started.term)
        }
        AttemptEvent::Answered(answered) => {
            format!("{} bytes after {}", answered.bytes, span(answered.latency.0))
        }
        AttemptEvent::Failed(failed) => format!("{}: {}", failed.class, failed.message),
        AttemptEvent::Judged(judged) => {
            let score = judged.judgment.score_ppm.map(|score| format!(" {score}")).unwrap_or_default();
            format!("{}{score} by {} evaluators", judged.judgment.outcome.name(), judged.outcomes.len())
        }
        AttemptEvent::Expired(expired) => {
            format!(
                "term {}{}",
                expired.term,
                if expired.lost { ", lost: nobody knows what the target did" } else { "" }
            )
        }
        AttemptEvent::Cancelled(cancelled) => cancelled.reason.clone(),
        AttemptEvent::Late(late) => format!("{:?} under term {}, refused: {}", late.result, late.term, late.refusal),
    }
}

fn operator(event: &OperatorEvent) -> String {
    let OperatorEvent::Acted(acted) = event;
    format!("{} by {}: {} ({} changed)", acted.action, acted.by, acted.reason, acted.changed)
}

fn tally(tally: &Tally) -> String {
    let counts = &tally.counts;
    let mut words = format!("{} passed, {} failed", counts.passed, counts.failed);
    for (count, what) in [(counts.errored, "errored"), (counts.abstained, "abstained"), (counts.missing, "missing")] {
        if count > 0 {
            words += &format!(", {count} {what}");
        }
    }
    words
}

fn unfinished(unfinished: &Unfinished) -> String {
    let Unfinished { unburnt, expired, lost } = unfinished;
    let named = [(unburnt, "given back"), (expired, "expired"), (lost, "lost")];
    let words = named.iter().filter(|(ids, _)| !ids.is_empty()).map(|(ids, what)| format!(", {} {what}", ids.len()));
    words.collect()
}
