//! Rows in memory: the small tables that change with a unit's events.

use super::tables::{Lease, Outbox, Ready, Tables};
use super::unit::{Scene, after};
use crate::mutant::{self, Mutant};
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::envelope::Origin;
use tribunal_schema::ids::{ChunkId, StreamId};
use tribunal_schema::units::{InstantMs, LeaseTerm, ReadySeq};

impl Scene {
    /// Writes a row, or says why not.
    pub(super) fn row(&mut self, origin: &Origin, row: &Row) -> Result<(), AppendError> {
        let (now, tables) = (self.now, &mut self.tables);
        match row {
            Row::ReadyPut { chunk, ready_seq, lane, due_in } => {
                storable(ready_seq.0)?;
                let (seq, lane, due_at) = (*ready_seq, lane.clone(), after(now, *due_in));
                tables.ready.insert(*chunk, Ready { seq, lane, due_at, published_at: None, publications: 0 });
                self.touched.ready = true;
            }
            Row::ReadyTake { chunk, ready_seq } => {
                offered(tables, *chunk, *ready_seq)?;
                tables.ready.remove(chunk);
                self.touched.ready = true;
            }
            Row::ReadyPublished { chunk, ready_seq } => {
                offered(tables, *chunk, *ready_seq)?;
                if let Some(ready) = tables.ready.get_mut(chunk) {
                    (ready.published_at, ready.publications) = (Some(now), ready.publications + 1);
                }
            }
            Row::ReadyDrop { chunk } => {
                tables.ready.remove(chunk);
                self.touched.ready = true;
            }
            Row::LeaseGrant { chunk, term, grant, holder, lease, hard_deadline } => {
                if let Some(held) = tables.leases.get(chunk) {
                    return Err(Refusal::LeaseHeld { chunk: *chunk, term: held.term }.into());
                }
                storable(term.0)?;
                let hard_deadline_at = after(now, *hard_deadline);
                let expires_at = after(now, *lease).min(hard_deadline_at);
                let (term, grant, holder) = (*term, *grant, *holder);
                tables.leases.insert(*chunk, Lease { term, grant, holder, expires_at, hard_deadline_at });
                self.touched.ready = true;
            }
            Row::LeaseEnd { chunk, term } => {
                of_term(tables, *chunk, *term)?;
                tables.leases.remove(chunk);
            }
            Row::LeaseExpire { chunk, term } => {
                if now < of_term(tables, *chunk, *term)?.expires_at {
                    return Err(Refusal::LeaseLive { chunk: *chunk, term: *term }.into());
                }
                tables.leases.remove(chunk);
            }
            Row::LeaseRevoke { chunk } => {
                tables.leases.remove(chunk);
                self.touched.lease = true;
            }
            Row::OutboxPut(message) => {
                let known = tables.outbox.values().any(|row| row.message.dedupe_key == message.dedupe_key);
                if !known {
                    tables.outbox_id += 1;
                    let (run, message) = (origin.run, message.clone());
                    let row = Outbox { run, message, attempts: 0, token: None, available_at: now };
                    tables.outbox.insert(tables.outbox_id, row);
                }
                self.touched.outbox = true;
            }
            Row::SettlementPut(settlement) => {
                settle(tables, settlement, now)?;
                self.touched.settlement = true;
            }
            Row::IntentPut { run, kind } => {
                tables.intents.entry((*kind, *run)).or_insert(now);
                self.touched.intent = true;
            }
            Row::IntentDone { run, kind } => drop(tables.intents.remove(&(*kind, *run))),
            Row::PlanPut(row) => {
                let known = tables.plan_rows.entry(row.chunk).or_insert_with(|| row.seeded.clone());
                if *known != row.seeded {
                    let reason = format!("chunk {} is planned with other content", row.chunk);
                    return Err(AppendError::Invalid(reason));
                }
            }
            Row::PlanDrop { run } => tables.plan_rows.retain(|chunk, _| chunk.run != *run),
            Row::CursorPut { run } => {
                tables.cursors.insert(*run);
                self.touched.ready = true;
            }
            Row::CursorDrop { run } => {
                tables.cursors.remove(run);
            }
            Row::DesiredPut { run, desired, version } => {
                storable(version.0)?;
                if tables.desired.get(run).is_none_or(|(_, known)| known < version) {
                    tables.desired.insert(*run, (*desired, *version));
                }
                (self.touched.ready, self.touched.desired) = (true, true);
            }
            Row::BlobPut { digest, bytes } => {
                tables.blobs.entry(*digest).or_insert_with(|| Arc::clone(bytes));
            }
            Row::BlobRef { digest, run } => {
                if !tables.blobs.contains_key(digest) {
                    return Err(Refusal::MissingBlob(*digest).into());
                }
                tables.blob_refs.insert((*digest, *run));
            }
        }
        Ok(())
    }
}

/// A count as a column of a database holds it; one beyond 2^63 is an error of its unit.
fn storable(count: u64) -> Result<(), AppendError> {
    match i64::try_from(count) {
        Ok(_) => Ok(()),
        Err(_) => Err(AppendError::Invalid(format!("{count} does not fit a column"))),
    }
}

fn offered(tables: &Tables, chunk: ChunkId, ready_seq: ReadySeq) -> Result<(), AppendError> {
    let offer = tables.ready.get(&chunk).map(|ready| ready.seq);
    if offer == Some(ready_seq) || (offer.is_some() && mutant::is_alive(Mutant::ReadySeqIgnored)) {
        return Ok(());
    }
    Err(Refusal::Superseded { chunk, ready_seq }.into())
}

fn of_term(tables: &Tables, chunk: ChunkId, term: LeaseTerm) -> Result<Lease, AppendError> {
    let stale = |reason| Err(Refusal::StaleLease { chunk, term, reason }.into());
    match tables.leases.get(&chunk) {
        None => stale(StaleReason::Ended),
        Some(lease) if lease.term != term => stale(StaleReason::Replaced),
        Some(lease) => Ok(*lease),
    }
}

fn settle(tables: &mut Tables, settlement: &Settlement, now: InstantMs) -> Result<(), AppendError> {
    let (chunk, version) = (settlement.chunk, settlement.version);
    let events = tables.streams.get(&StreamId::Chunk(chunk));
    let at = usize::try_from(version.0).ok().and_then(|version| version.checked_sub(1));
    let Some(event) = events.zip(at).and_then(|(events, at)| events.get(at)) else {
        let reason = format!("chunk {chunk} settles at version {version}, which is not recorded");
        return Err(AppendError::Invalid(reason));
    };
    let digest = event.digest;
    if tables.settlements.get(&chunk).is_none_or(|(_, known)| known.settlement.version < version) {
        tables.settlements.insert(chunk, (now, SettlementRow { settlement: settlement.clone(), digest }));
    }
    Ok(())
}
