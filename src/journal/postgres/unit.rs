//! A unit of a batch: what it finds, what refuses it, and the statements that write it.
//!
//! The order is that of every adapter, so that the same unit is refused for the
//! same reason: whether it is written already, where its streams stand, guards, events,
//! rows in their order, views in theirs. All that is decided here rests on what
//! [`Ground`] has locked; nothing has been written yet.

use super::columns::{after, kept};
use super::plan::{Ground, Lease, Steps};
use super::statements::{Statement, values};
use super::views;
use crate::journal::touched::Touched;
use crate::journal::words::{desired_name, end_name};
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_actors::mutant::Mutant;
use tribunal_actors::ports::journal::*;
use tribunal_schema::Digest;
use tribunal_schema::canonical::canonical_text;
use tribunal_schema::envelope::{Origin, RecordedEvent, chain, envelope_text};
use tribunal_schema::ids::{ChunkId, EventId, GrantId, StreamId};
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::{InstantMs, LeaseTerm, ReadySeq};

/// What a rule or the unit itself may refuse.
pub(super) type Refusing<T> = Result<T, AppendError>;

/// A count as a column holds it; one beyond 2^63 is an error of its unit.
pub(super) fn integer(count: u64) -> Refusing<i64> {
    i64::try_from(count).map_err(|_| AppendError::Invalid(format!("{count} does not fit a column")))
}

/// What a batch writes, gathered of its units.
pub(super) struct Writing {
    pub(super) ground: Ground,
    pub(super) mutant: Option<Mutant>,
    /// Events in the order of their units; positions come when they are inserted.
    pub(super) events: Vec<RecordedEvent>,
    /// Each kept once, in one order.
    pub(super) blobs: BTreeMap<Digest, Arc<[u8]>>,
    /// Statements with the place of their unit in the batch.
    pub(super) statements: Vec<(usize, Statement)>,
    pub(super) touched: Touched,
}

/// What one unit adds, kept apart until nothing refuses it.
#[derive(Default)]
struct Part {
    steps: Steps,
    events: Vec<RecordedEvent>,
    blobs: Vec<(Digest, Arc<[u8]>)>,
    statements: Vec<Statement>,
    touched: Touched,
}

impl Writing {
    pub(super) fn on(ground: Ground, mutant: Option<Mutant>) -> Writing {
        Writing {
            ground,
            mutant,
            events: vec![],
            blobs: BTreeMap::new(),
            statements: vec![],
            touched: Touched::default(),
        }
    }

    /// Adds a unit whose streams stand where it expects them; gives which of the events are its.
    pub(super) fn add(&mut self, index: usize, unit: &AppendUnit) -> Refusing<std::ops::Range<usize>> {
        let mut part = Part::default();
        for guard in &unit.guards {
            self.check(&part.steps, guard)?;
        }
        for append in &unit.appends {
            self.append(&unit.origin, append, &mut part.events);
        }
        for row in &unit.rows {
            self.row(&unit.origin, row, &mut part)?;
        }
        for change in &unit.views {
            part.statements.extend(views::statements(change, self.ground.now, &mut part.touched)?);
        }
        if unit.appends.iter().any(|append| matches!(append.stream, StreamId::Run(_))) {
            part.touched = part.touched.and(Touched::RUN);
        }
        let first = self.events.len();
        self.events.extend(part.events);
        self.blobs.extend(part.blobs);
        self.statements.extend(part.statements.into_iter().map(|statement| (index, statement)));
        self.touched = self.touched.and(part.touched);
        self.ground.take(part.steps, unit.appends.iter().map(|append| append.stream.clone()));
        Ok(first..self.events.len())
    }

    fn check(&self, steps: &Steps, guard: &Guard) -> Refusing<()> {
        match guard {
            Guard::Lease { chunk, term, grant } => self.check_live(steps, *chunk, *term, *grant),
            Guard::Attempt { attempt, version } => {
                let stream = StreamId::Attempt(*attempt);
                let actual = self.ground.head(&stream).version;
                match actual == *version {
                    true => Ok(()),
                    false => Err(AppendError::Conflict { stream, expected: *version, actual }),
                }
            }
        }
    }

    /// Refuses unless the chunk's lease is live and is this one.
    fn check_live(&self, steps: &Steps, chunk: ChunkId, term: LeaseTerm, grant: GrantId) -> Refusing<()> {
        let stale = |reason| Err(Refusal::StaleLease { chunk, term, reason }.into());
        let Some(lease) = self.ground.lease(steps, chunk) else { return stale(StaleReason::Ended) };
        let is_another = lease.term != term || lease.grant != grant;
        if is_another && self.mutant != Some(Mutant::NoTermCompare) {
            return stale(StaleReason::Replaced);
        }
        if self.ground.now >= lease.hard_deadline_at {
            return stale(StaleReason::DeadlineReached);
        }
        if self.ground.now >= lease.expires_at {
            return stale(StaleReason::Expired);
        }
        Ok(())
    }

    /// Appends to one stream behind its head.
    fn append(&self, origin: &Origin, append: &StreamAppend, events: &mut Vec<RecordedEvent>) {
        let head = self.ground.head(&append.stream);
        let (mut version, mut digest) = (head.version, head.digest);
        for (index, event) in append.events.iter().enumerate() {
            version = version.next();
            let id = EventId::derived(origin.command, &append.stream, index);
            digest = chain(digest, &envelope_text(&append.stream, version, id, origin, event));
            events.push(RecordedEvent {
                position: 0,
                stream: append.stream.clone(),
                version,
                id,
                command: origin.command,
                event_type: event.event_type.into(),
                type_version: event.type_version,
                run: origin.run,
                team: origin.team.clone(),
                payload: event.payload.clone(),
                causation: origin.causation,
                recorded_at: self.ground.now,
                digest,
            });
        }
    }

    fn row(&self, origin: &Origin, row: &Row, part: &mut Part) -> Refusing<()> {
        let now = self.ground.now;
        let statement = match row {
            Row::ReadyPut { chunk, ready_seq, lane, due_in } => {
                part.touch(Touched::READY);
                part.steps.set_ready(*chunk, Some(*ready_seq));
                let (seq, lane) = (integer(ready_seq.0)?, kept(lane).into_owned());
                Statement::new(sql::READY_PUT, values![run(*chunk), number(*chunk), seq, lane, after(now, *due_in)])
            }
            Row::ReadyTake { chunk, ready_seq } => {
                part.touch(Touched::READY);
                self.check_offer(&part.steps, *chunk, *ready_seq)?;
                part.steps.set_ready(*chunk, None);
                Statement::new(sql::READY_TAKE, values![run(*chunk), number(*chunk), integer(ready_seq.0)?])
            }
            Row::ReadyPublished { chunk, ready_seq } => {
                self.check_offer(&part.steps, *chunk, *ready_seq)?;
                let seq = integer(ready_seq.0)?;
                Statement::new(sql::READY_PUBLISHED, values![run(*chunk), number(*chunk), seq, now.0])
            }
            Row::ReadyDrop { chunk } => {
                part.touch(Touched::READY);
                part.steps.set_ready(*chunk, None);
                Statement::new(sql::READY_DROP, values![run(*chunk), number(*chunk)])
            }
            Row::LeaseGrant { chunk, term, grant, holder, lease, hard_deadline } => {
                if let Some(held) = self.ground.lease(&part.steps, *chunk) {
                    return Err(Refusal::LeaseHeld { chunk: *chunk, term: held.term }.into());
                }
                part.touch(Touched::READY);
                let hard_deadline_at = after(now, *hard_deadline);
                let expires_at = after(now, *lease).min(hard_deadline_at);
                let granted = Lease {
                    term: *term,
                    grant: *grant,
                    expires_at: InstantMs(expires_at),
                    hard_deadline_at: InstantMs(hard_deadline_at),
                };
                part.steps.set_lease(*chunk, Some(granted));
                let (grant, holder) = (grant.to_string(), holder.to_string());
                let term = integer(term.0)?;
                let row = values![run(*chunk), number(*chunk), term, grant, holder, expires_at, hard_deadline_at];
                Statement::new(sql::LEASE_INSERT, row)
            }
            Row::LeaseEnd { chunk, term } => {
                self.of_term(&part.steps, *chunk, *term)?;
                part.end_lease(*chunk)
            }
            Row::LeaseExpire { chunk, term } => {
                let lease = self.of_term(&part.steps, *chunk, *term)?;
                if now < lease.expires_at {
                    return Err(Refusal::LeaseLive { chunk: *chunk, term: *term }.into());
                }
                part.end_lease(*chunk)
            }
            Row::LeaseRevoke { chunk } => {
                part.touch(Touched::LEASE);
                part.end_lease(*chunk)
            }
            Row::OutboxPut(message) => {
                part.touch(Touched::OUTBOX);
                let (key, routing) = (kept(&message.dedupe_key).into_owned(), kept(&message.routing_key).into_owned());
                Statement::new(
                    sql::OUTBOX_PUT,
                    values![key, routing, message.body.clone(), now.0, origin.run.map(|run| run.to_string())],
                )
            }
            Row::SettlementPut(settlement) => {
                part.touch(Touched::SETTLEMENT);
                settlement_put(settlement, now)?
            }
            Row::IntentPut { run, kind } => {
                part.touch(Touched::INTENT);
                Statement::new(sql::INTENT_PUT, values![run.to_string(), kind.name(), now.0])
            }
            Row::IntentDone { run, kind } => Statement::new(sql::INTENT_DONE, values![run.to_string(), kind.name()]),
            Row::PlanPut(row) => {
                let text = values![run(row.chunk), number(row.chunk), row.seeded.clone()];
                let contradiction = format!("chunk {} is planned with other content", row.chunk);
                Statement { must_change: Some(contradiction), ..Statement::new(sql::PLAN_PUT, text) }
            }
            Row::PlanDrop { run } => Statement::new(sql::PLAN_DROP, values![run.to_string()]),
            Row::CursorPut { run } => {
                part.touch(Touched::READY);
                Statement::new(sql::CURSOR_PUT, values![run.to_string()])
            }
            Row::CursorDrop { run } => Statement::new(sql::CURSOR_DROP, values![run.to_string()]),
            Row::DesiredPut { run, desired, version } => {
                part.touch(Touched::READY);
                part.touch(Touched::DESIRED);
                let version = integer(version.0)?;
                Statement::new(sql::DESIRED_PUT, values![run.to_string(), desired_name(*desired), version])
            }
            Row::BlobPut { digest, bytes } => {
                part.blobs.push((*digest, Arc::clone(bytes)));
                return Ok(());
            }
            Row::BlobRef { digest, run } => {
                let row = values![digest.bytes().to_vec(), run.to_string()];
                Statement { refers_to: Some((*digest, *run)), ..Statement::new(sql::BLOB_REF_PUT, row) }
            }
        };
        part.statements.push(statement);
        Ok(())
    }

    fn check_offer(&self, steps: &Steps, chunk: ChunkId, ready_seq: ReadySeq) -> Refusing<()> {
        match self.ground.ready(steps, chunk) == Some(ready_seq) {
            true => Ok(()),
            false => Err(Refusal::Superseded { chunk, ready_seq }.into()),
        }
    }

    /// The chunk's lease, refusing unless it has this term.
    fn of_term(&self, steps: &Steps, chunk: ChunkId, term: LeaseTerm) -> Refusing<Lease> {
        let stale = |reason| AppendError::Refused(Refusal::StaleLease { chunk, term, reason });
        match self.ground.lease(steps, chunk) {
            None => Err(stale(StaleReason::Ended)),
            Some(lease) if lease.term != term => Err(stale(StaleReason::Replaced)),
            Some(lease) => Ok(lease),
        }
    }
}

impl Part {
    fn touch(&mut self, what: Touched) {
        self.touched = self.touched.and(what);
    }

    fn end_lease(&mut self, chunk: ChunkId) -> Statement {
        self.steps.set_lease(chunk, None);
        Statement::new(sql::LEASE_DELETE, values![run(chunk), number(chunk)])
    }
}

/// Puts a settlement with its pin: the digest of the chunk's stream at the version that it names.
fn settlement_put(settlement: &Settlement, now: InstantMs) -> Refusing<Statement> {
    let (chunk, version) = (settlement.chunk, settlement.version);
    let tally = canonical_text(&settlement.tally).map_err(|error| AppendError::Invalid(error.to_string()))?;
    let stream = StreamId::Chunk(chunk).to_string();
    let end = end_name(settlement.end);
    let row = values![run(chunk), number(chunk), integer(version.0)?, end, tally, now.0, stream];
    let unpinned = format!("chunk {chunk} settles at version {version}, which is not recorded");
    Ok(Statement { must_change: Some(unpinned), ..Statement::new(sql::SETTLEMENT_PUT, row) })
}

fn run(chunk: ChunkId) -> String {
    chunk.run.to_string()
}

fn number(chunk: ChunkId) -> i64 {
    i64::from(chunk.number)
}
