//! Ids, units and waits that the cases share.

use crate::ports::journal::*;
use std::future::Future;
use tribunal_schema::envelope::{NewEvent, Origin};
use tribunal_schema::ids::{AttemptId, ChunkId, ClaimToken, CommandId, GrantId, Incarnation, RunId, StreamId};
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, ReadySeq, Version};
use tribunal_schema::view::ViewChange;
use ulid::Ulid;

/// A duration that no test waits for.
pub const LONG: DurationMs = DurationMs(3_600_000);
/// A duration that a test waits for.
pub const SHORT: DurationMs = DurationMs(30);

pub fn run_id(n: u64) -> RunId {
    RunId(Ulid::from_parts(1_000 + n, u128::from(n)))
}

pub fn chunk_id(run: u64, number: u32) -> ChunkId {
    ChunkId { run: run_id(run), number }
}

pub fn attempt_id(n: u64) -> AttemptId {
    AttemptId(Ulid::from_parts(2_000 + n, u128::from(n)))
}

pub fn command_id(n: u64) -> CommandId {
    CommandId(Ulid::from_parts(3_000 + n, u128::from(n)))
}

pub fn grant_id(n: u64) -> GrantId {
    GrantId(Ulid::from_parts(4_000 + n, u128::from(n)))
}

pub fn holder(n: u64) -> Incarnation {
    Incarnation(Ulid::from_parts(5_000 + n, u128::from(n)))
}

pub fn event(payload: &str) -> NewEvent {
    NewEvent { event_type: "attempt.started", type_version: 1, payload: payload.into() }
}

/// A unit of nothing, of a command of run 1.
pub fn unit(command: u64) -> AppendUnit {
    let origin = Origin { command: command_id(command), run: Some(run_id(1)), team: "team".into(), causation: None };
    AppendUnit { origin, appends: vec![], guards: vec![], rows: vec![], views: vec![] }
}

/// A unit with one event on an attempt's stream.
pub fn append_to(command: u64, attempt: u64, expected: u64, payload: &str) -> AppendUnit {
    let mut unit = unit(command);
    unit.appends.push(stream_append(StreamId::Attempt(attempt_id(attempt)), expected, &[payload]));
    unit
}

pub fn stream_append(stream: StreamId, expected: u64, payloads: &[&str]) -> StreamAppend {
    let events = payloads.iter().map(|payload| event(payload)).collect();
    StreamAppend { stream, expected: Expected::Version(Version(expected)), events }
}

pub fn with_rows(command: u64, rows: Vec<Row>) -> AppendUnit {
    AppendUnit { rows, ..unit(command) }
}

pub fn with_views(command: u64, views: Vec<ViewChange>) -> AppendUnit {
    AppendUnit { views, ..unit(command) }
}

/// Writes rows; they must be accepted.
pub async fn put(journal: &dyn Journal, rows: Vec<Row>) {
    journal.append(with_rows(0, rows)).await.expect("rows are written");
}

pub fn grant(chunk: ChunkId, term: u64, grant: u64, lease: DurationMs, hard_deadline: DurationMs) -> Row {
    let (term, grant) = (LeaseTerm(term), grant_id(grant));
    Row::LeaseGrant { chunk, term, grant, holder: holder(1), lease, hard_deadline }
}

pub fn guard(chunk: ChunkId, term: u64, grant: u64) -> Guard {
    Guard::Lease { chunk, term: LeaseTerm(term), grant: grant_id(grant) }
}

pub fn guarded(command: u64, guard: Guard) -> AppendUnit {
    AppendUnit { guards: vec![guard], ..append_to(command, command, 0, "{}") }
}

pub fn ready(chunk: ChunkId, seq: u64) -> Row {
    Row::ReadyPut { chunk, ready_seq: ReadySeq(seq), lane: "default".into(), due_in: DurationMs(0) }
}

pub fn token(n: u64) -> ClaimToken {
    ClaimToken(Ulid::from_parts(n, 1))
}

pub fn message(key: &str) -> Row {
    let message = OutboxMessage { dedupe_key: key.into(), routing_key: "run.x".into(), body: key.into() };
    Row::OutboxPut(message)
}

pub fn refusal(result: Result<Appended, AppendError>) -> Refusal {
    match result {
        Err(AppendError::Refused(refusal)) => refusal,
        other => panic!("refused, not {other:?}"),
    }
}

pub async fn events_of(journal: &dyn Journal, stream: &StreamId) -> Vec<tribunal_schema::envelope::RecordedEvent> {
    journal.read_stream(stream, Version(0), 1_000).await.expect("a stream")
}

/// Does the same in several tasks at once, from 0; gives their answers in this order.
pub async fn at_once<T, F>(tasks: u64, deed: impl Fn(u64) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..tasks).map(|n| tokio::spawn(deed(n))).collect();
    let mut answers = Vec::with_capacity(tasks.len());
    for task in tasks {
        answers.push(task.await.expect("no task panics"));
    }
    answers
}

/// Waits until the feed shows this many events: one that was committed appears when whatever it
/// must not overtake has ended, and on a server others work at the same time.
pub async fn feed_shows(journal: &dyn Journal, events: usize) {
    let all = EventFilter::default();
    while journal.read_feed(&all, None, false, 1_000).await.expect("a feed").len() < events {
        tokio::task::yield_now().await;
    }
}

/// Waits until the journal's clock has reached an instant.
pub async fn wait_until(journal: &dyn Journal, instant: InstantMs) {
    while journal.now().await.expect("a clock") < instant {
        tokio::task::yield_now().await;
    }
}

/// Waits until a duration has passed on the journal's clock.
pub async fn wait_for(journal: &dyn Journal, duration: DurationMs) {
    let now = journal.now().await.expect("a clock");
    wait_until(journal, InstantMs(now.0 + duration.0 as i64)).await;
}
