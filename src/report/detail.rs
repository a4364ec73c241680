//! Everything of one case: what was asked, every try, every answer, every word of
//! every binding.

use super::answer;
use super::cases::FoundCase;
use super::gather::{ReportError, read};
use super::json::finding;
use super::not_passed::answer as answer_of;
use super::when::rfc3339;
use serde_json::{Value, json};
use tribunal_actors::aggregate::load;
use tribunal_actors::chunk::{Chunk, Stage};
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::answer::Answer;
use tribunal_schema::case::{Case, CasePage};
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::events::{AttemptEvent, BindingOutcome, ChunkEvent};
use tribunal_schema::ids::{AttemptId, ChunkId, ExecutionKey, RunId, StreamId};
use tribunal_schema::profile::{Group, Profile};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::{DurationMs, InstantMs, ScorePpm, Version};

/// Events a page when a stream is read.
const PAGE: u32 = 1000;

/// Everything of a case.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// The run.
    pub run: RunId,
    /// The case's id.
    pub case_id: String,
    /// Its place in the dataset, from 0.
    pub number: u32,
    /// Its content; `None` where it was not kept.
    pub case: Option<Case>,
    /// Its group.
    pub group: Option<Group>,
    /// One entry per repeat.
    pub executions: Vec<ExecutionDetail>,
}

/// One repeat of a case.
#[derive(Clone, Debug)]
pub struct ExecutionDetail {
    /// The repeat, from 0.
    pub repeat: u32,
    /// How it ended: `passed` ..., or where it stands: `pending`, `in flight`, `quarantined`.
    pub stands: &'static str,
    /// How it ended, where it did.
    pub outcome: Option<ExecutionOutcome>,
    /// Its score.
    pub score_ppm: Option<ScorePpm>,
    /// Its attempts, in order.
    pub attempts: Vec<AttemptDetail>,
}

/// One try.
#[derive(Clone, Debug)]
pub struct AttemptDetail {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its number.
    pub number: u32,
    /// Its events with their instants.
    pub events: Vec<(InstantMs, AttemptEvent)>,
    /// What the target returned; `None` where it did not answer or the answer was not kept.
    pub answer: Option<Answer>,
    /// How long the run waited before the next try.
    pub retry_after: Option<DurationMs>,
}

impl CaseReport {
    /// Gathers a case.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn read(
        reader: &dyn JournalReader,
        run: RunId,
        profile: &Profile,
        found: &FoundCase,
    ) -> Result<CaseReport, ReportError> {
        let at = (found.case - found.seeded.first_case) as usize;
        let seeded = &found.seeded.cases[at];
        let page = reader.blob(found.seeded.page).await?;
        let page = page.and_then(|bytes| serde_json::from_slice::<CasePage>(&bytes).ok());
        let state = load::<Chunk>(reader, &StreamId::Chunk(found.chunk)).await?.state;
        let tries = tries(reader, found.chunk, found.case).await?;
        let mut executions = vec![];
        for repeat in 0..found.seeded.repeats {
            let key = ExecutionKey { case: found.case, repeat };
            let stage = state.executions.get(&key).map(|execution| &execution.stage);
            let mut tried: Vec<Try> = tries.iter().filter(|one| one.execution == key).copied().collect();
            let mut execution =
                ExecutionDetail { repeat, stands: "pending", outcome: None, score_ppm: None, attempts: vec![] };
            match stage {
                Some(Stage::Settled(result, _)) => {
                    execution.outcome = Some(result.judgment.outcome);
                    execution.stands = result.judgment.outcome.name();
                    execution.score_ppm = result.judgment.score_ppm;
                    // A result that was carried over has its attempt in the earlier run.
                    if let Some(attempt) = result.attempt.filter(|id| tried.iter().all(|one| one.attempt != *id)) {
                        tried.push(Try { attempt, execution: key, number: 0, retry_after: None });
                    }
                }
                Some(Stage::Open(_)) => execution.stands = "in flight",
                Some(Stage::Quarantined { .. }) => execution.stands = "quarantined",
                Some(Stage::Pending { .. }) | None => {}
            }
            for one in tried {
                execution.attempts.push(attempt_detail(reader, one).await?);
            }
            executions.push(execution);
        }
        Ok(CaseReport {
            run,
            case_id: seeded.id.clone(),
            number: found.case,
            case: page.and_then(|mut page| (at < page.cases.len()).then(|| page.cases.swap_remove(at))),
            group: profile.groups.get(usize::from(seeded.group)).cloned(),
            executions,
        })
    }

    /// The case as one object.
    pub fn json(&self) -> Value {
        json!({
            "run": self.run,
            "case_id": self.case_id,
            "case": self.number,
            "group": self.group.as_ref().map(|group| &group.name),
            "content": self.case,
            "executions": self.executions.iter().map(ExecutionDetail::json).collect::<Vec<_>>(),
        })
    }
}

impl ExecutionDetail {
    fn json(&self) -> Value {
        json!({
            "repeat": self.repeat,
            "stands": self.stands,
            "outcome": self.outcome,
            "score_ppm": self.score_ppm,
            "attempts": self.attempts.iter().map(AttemptDetail::json).collect::<Vec<_>>(),
        })
    }
}

impl AttemptDetail {
    /// What its bindings said; empty where it was not judged.
    pub fn outcomes(&self) -> &[BindingOutcome] {
        let judged = self.events.iter().find_map(|(_, event)| match event {
            AttemptEvent::Judged(judged) => Some(judged.outcomes.as_slice()),
            AttemptEvent::Started(_)
            | AttemptEvent::Answered(_)
            | AttemptEvent::Failed(_)
            | AttemptEvent::Expired(_)
            | AttemptEvent::Cancelled(_)
            | AttemptEvent::Late(_) => None,
        });
        judged.unwrap_or_default()
    }

    fn json(&self) -> Value {
        let events = self.events.iter().map(|(at, event)| event_json(*at, event)).collect::<Vec<_>>();
        let binding = |said: &BindingOutcome| {
            json!({
                "binding": said.binding,
                "outcome": said.outcome,
                "fuel": said.fuel,
                "findings": said.findings.iter().map(finding).collect::<Vec<_>>(),
            })
        };
        json!({
            "attempt": self.attempt,
            "number": self.number,
            "events": events,
            "answer": self.answer,
            "bindings": self.outcomes().iter().map(binding).collect::<Vec<_>>(),
            "retry_after_ms": self.retry_after,
        })
    }
}

fn event_json(at: InstantMs, event: &AttemptEvent) -> Value {
    let at = rfc3339(at);
    match event {
        AttemptEvent::Started(started) => {
            json!({"event": "started", "at": at, "term": started.term, "idempotency_key": started.idempotency_key})
        }
        AttemptEvent::Answered(answered) => json!({
            "event": "answered", "at": at, "latency_ms": answered.latency, "bytes": answered.bytes,
            "finish_reason": answered.finish_reason, "usage": answered.usage, "answer_digest": answered.answer,
        }),
        AttemptEvent::Failed(failed) => json!({
            "event": "failed", "at": at, "class": failed.class, "message": failed.message, "status": failed.status,
            "latency_ms": failed.latency, "retry_after_ms": failed.retry_after,
            "response_received": failed.response_received,
        }),
        AttemptEvent::Judged(judged) => {
            json!({"event": "judged", "at": at, "outcome": judged.judgment.outcome, "score_ppm": judged.judgment.score_ppm})
        }
        AttemptEvent::Expired(expired) => {
            json!({"event": "expired", "at": at, "term": expired.term, "lost": expired.lost})
        }
        AttemptEvent::Cancelled(cancelled) => json!({"event": "cancelled", "at": at, "reason": cancelled.reason}),
        AttemptEvent::Late(late) => {
            json!({"event": "late", "at": at, "result": late.result, "term": late.term, "refusal": late.refusal})
        }
    }
}

/// An attempt as the chunk gave it out.
#[derive(Clone, Copy, Debug)]
struct Try {
    attempt: AttemptId,
    execution: ExecutionKey,
    number: u32,
    retry_after: Option<DurationMs>,
}

/// Every attempt that was given out for a case, in order.
async fn tries(reader: &dyn JournalReader, chunk: ChunkId, case: u32) -> Result<Vec<Try>, ReportError> {
    let mut tries: Vec<Try> = vec![];
    let mut version = Version(0);
    loop {
        let page = reader.read_stream(&StreamId::Chunk(chunk), version, PAGE).await?;
        let Some(last) = page.last() else { return Ok(tries) };
        version = last.version;
        for recorded in &page {
            note_tries(&mut tries, recorded, case)?;
        }
    }
}

fn note_tries(tries: &mut Vec<Try>, recorded: &RecordedEvent, case: u32) -> Result<(), ReportError> {
    if !matches!(recorded.event_type.as_str(), "chunk.attempts-allocated" | "chunk.executions-deferred") {
        return Ok(());
    }
    let event = read::<ChunkEvent>(recorded)?;
    if let ChunkEvent::AttemptsAllocated(allocated) = &event {
        let of_case = allocated.attempts.iter().filter(|one| one.execution.case == case);
        tries.extend(of_case.map(|one| Try {
            attempt: one.attempt,
            execution: one.execution,
            number: one.number,
            retry_after: None,
        }));
    }
    if let ChunkEvent::ExecutionsDeferred(deferred) = &event {
        for one in &deferred.deferred {
            if let Some(known) = tries.iter_mut().find(|known| known.attempt == one.attempt) {
                known.retry_after = Some(one.retry_after);
            }
        }
    }
    Ok(())
}

async fn attempt_detail(reader: &dyn JournalReader, one: Try) -> Result<AttemptDetail, ReportError> {
    let stream = StreamId::Attempt(one.attempt);
    let mut detail = AttemptDetail {
        attempt: one.attempt,
        number: one.number,
        events: vec![],
        answer: None,
        retry_after: one.retry_after,
    };
    for recorded in reader.read_stream(&stream, Version(0), PAGE).await? {
        let event: AttemptEvent = read(&recorded)?;
        if let AttemptEvent::Started(started) = &event {
            detail.number = started.number;
        }
        if let AttemptEvent::Answered(answered) = &event {
            detail.answer = answer_of(reader, answered.answer).await?;
        }
        detail.events.push((recorded.recorded_at, event));
    }
    Ok(detail)
}

/// The tool calls of an answer, one line each.
pub(super) fn tool_calls(answer: &Answer) -> Vec<String> {
    answer.tool_calls.iter().map(answer::call).collect()
}
