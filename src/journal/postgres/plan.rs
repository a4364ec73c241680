//! The ground of a batch: what its units rest on, locked and read before anything
//! is decided, and moved on by each unit that is to be written.

use super::columns;
use super::error::Stop;
use super::statements::Value;
use deadpool_postgres::Object;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tribunal_actors::mutant::Mutant;
use tribunal_actors::ports::journal::{AppendUnit, Failure, Guard, Row as JournalRow};
use tribunal_schema::Digest;
use tribunal_schema::ids::{ChunkId, CommandId, GrantId, StreamId};
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::{InstantMs, LeaseTerm, ReadySeq, Version};

/// The end of a stream.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) version: Version,
    pub(super) digest: Digest,
    pub(super) command: Option<CommandId>,
}

impl Head {
    const NONE: Head = Head { version: Version(0), digest: Digest::ZERO, command: None };
}

/// A lease as it stands.
#[derive(Clone, Copy)]
pub(super) struct Lease {
    pub(super) term: LeaseTerm,
    pub(super) grant: GrantId,
    pub(super) expires_at: InstantMs,
    pub(super) hard_deadline_at: InstantMs,
}

/// What a batch must lock and read.
#[derive(Default)]
struct Needs {
    leases_changed: BTreeSet<ChunkId>,
    leases_guarded: BTreeSet<ChunkId>,
    ready: BTreeSet<ChunkId>,
    streams: BTreeSet<String>,
}

impl Needs {
    fn of<'a>(units: impl Iterator<Item = &'a AppendUnit>, mutant: Option<Mutant>) -> Needs {
        let mut needs = Needs::default();
        for unit in units {
            needs.streams.extend(unit.appends.iter().map(|append| append.stream.to_string()));
            for guard in &unit.guards {
                match guard {
                    Guard::Lease { chunk, .. } => {
                        needs.leases_guarded.insert(*chunk);
                    }
                    Guard::Attempt { attempt, .. } => {
                        needs.streams.insert(StreamId::Attempt(*attempt).to_string());
                    }
                }
            }
            unit.rows.iter().for_each(|row| needs.add(row));
        }
        if mutant == Some(Mutant::ExpiryWithoutRowLock) {
            needs.leases_guarded.append(&mut needs.leases_changed);
        }
        needs.leases_guarded.retain(|chunk| !needs.leases_changed.contains(chunk));
        needs
    }

    fn add(&mut self, row: &JournalRow) {
        match row {
            JournalRow::LeaseGrant { chunk, .. }
            | JournalRow::LeaseEnd { chunk, .. }
            | JournalRow::LeaseExpire { chunk, .. }
            | JournalRow::LeaseRevoke { chunk } => {
                self.leases_changed.insert(*chunk);
            }
            JournalRow::ReadyPut { chunk, .. }
            | JournalRow::ReadyTake { chunk, .. }
            | JournalRow::ReadyPublished { chunk, .. }
            | JournalRow::ReadyDrop { chunk } => {
                self.ready.insert(*chunk);
            }
            JournalRow::OutboxPut(_)
            | JournalRow::SettlementPut(_)
            | JournalRow::IntentPut { .. }
            | JournalRow::IntentDone { .. }
            | JournalRow::PlanPut(_)
            | JournalRow::PlanDrop { .. }
            | JournalRow::CursorPut { .. }
            | JournalRow::CursorDrop { .. }
            | JournalRow::DesiredPut { .. }
            | JournalRow::BlobPut { .. }
            | JournalRow::BlobRef { .. } => {}
        }
    }
}

/// What stands, as far as the batch's units need it.
pub(super) struct Ground {
    /// The one instant of the batch: read after every lock was taken.
    pub(super) now: InstantMs,
    heads: HashMap<String, Head>,
    leases: HashMap<ChunkId, Lease>,
    ready: HashMap<ChunkId, ReadySeq>,
    /// Streams that a unit of this batch writes already.
    written: HashSet<StreamId>,
}

/// What one unit changes of the ground; forgotten when the unit is refused.
#[derive(Default)]
pub(super) struct Steps {
    leases: BTreeMap<ChunkId, Option<Lease>>,
    ready: BTreeMap<ChunkId, Option<ReadySeq>>,
}

impl Ground {
    /// Begins the transaction, takes all locks in one order, and then reads clock and heads: one round trip.
    pub(super) async fn survey<'a>(
        connection: &Object,
        units: impl Iterator<Item = &'a AppendUnit>,
        mutant: Option<Mutant>,
    ) -> Result<Ground, Stop> {
        let needs = Needs::of(units, mutant);
        let guard_text = match mutant {
            Some(Mutant::PlainSelectGuard | Mutant::ExpiryWithoutRowLock) => sql::LEASES_PLAIN,
            _ => sql::LEASES_GUARD,
        };
        let lock = connection.prepare_cached(sql::LEASES_LOCK).await?;
        let guard = connection.prepare_cached(guard_text).await?;
        let ready = connection.prepare_cached(sql::READY_LOCK).await?;
        let now = connection.prepare_cached(sql::NOW).await?;
        let heads = connection.prepare_cached(sql::STREAM_HEADS_OF).await?;
        let (changed, guarded, offered) =
            (keys(&needs.leases_changed), keys(&needs.leases_guarded), keys(&needs.ready));
        let streams: Vec<String> = needs.streams.into_iter().collect();
        let streams: [&(dyn ToSql + Sync); 1] = [&streams];
        let (changed, guarded, offered) = (borrowed(&changed), borrowed(&guarded), borrowed(&offered));
        // `join` polls in order, and a statement is sent when it is polled first.
        let (begun, locked, held, offers, now, heads) = futures::join!(
            connection.batch_execute(sql::TRANSACTION_BEGIN),
            connection.query(&lock, &changed),
            connection.query(&guard, &guarded),
            connection.query(&ready, &offered),
            connection.query_one(&now, &[]),
            connection.query(&heads, &streams),
        );
        begun?;
        let (locked, held, offers, now, heads) = (locked?, held?, offers?, now?, heads?);
        let unreadable = |failure: Failure| Stop::Again(failure.message);
        Ok(Ground {
            now: InstantMs(columns::plain(&now, 0).map_err(unreadable)?),
            heads: heads.iter().map(head).collect::<Result<_, _>>().map_err(unreadable)?,
            leases: locked.iter().chain(&held).map(lease).collect::<Result<_, _>>().map_err(unreadable)?,
            ready: offers.iter().map(offer).collect::<Result<_, _>>().map_err(unreadable)?,
            written: HashSet::new(),
        })
    }

    /// Where a stream stands.
    pub(super) fn head(&self, stream: &StreamId) -> Head {
        self.heads.get(&stream.to_string()).copied().unwrap_or(Head::NONE)
    }

    /// Whether a unit of this batch is to write the stream: what comes next to it waits for the next batch.
    pub(super) fn is_written(&self, stream: &StreamId) -> bool {
        self.written.contains(stream)
    }

    /// The chunk's lease, as the unit has it so far.
    pub(super) fn lease(&self, steps: &Steps, chunk: ChunkId) -> Option<Lease> {
        steps.leases.get(&chunk).copied().unwrap_or_else(|| self.leases.get(&chunk).copied())
    }

    /// The number of the chunk's offer, as the unit has it so far.
    pub(super) fn ready(&self, steps: &Steps, chunk: ChunkId) -> Option<ReadySeq> {
        steps.ready.get(&chunk).copied().unwrap_or_else(|| self.ready.get(&chunk).copied())
    }

    /// The unit will be written: what comes next in the batch stands on it.
    pub(super) fn take(&mut self, steps: Steps, streams: impl Iterator<Item = StreamId>) {
        self.written.extend(streams);
        for (chunk, lease) in steps.leases {
            match lease {
                Some(lease) => drop(self.leases.insert(chunk, lease)),
                None => drop(self.leases.remove(&chunk)),
            }
        }
        for (chunk, seq) in steps.ready {
            match seq {
                Some(seq) => drop(self.ready.insert(chunk, seq)),
                None => drop(self.ready.remove(&chunk)),
            }
        }
    }
}

impl Steps {
    pub(super) fn set_lease(&mut self, chunk: ChunkId, lease: Option<Lease>) {
        self.leases.insert(chunk, lease);
    }

    pub(super) fn set_ready(&mut self, chunk: ChunkId, seq: Option<ReadySeq>) {
        self.ready.insert(chunk, seq);
    }
}

fn keys(chunks: &BTreeSet<ChunkId>) -> [Value; 2] {
    let runs: Vec<String> = chunks.iter().map(|chunk| chunk.run.to_string()).collect();
    let numbers: Vec<i64> = chunks.iter().map(|chunk| i64::from(chunk.number)).collect();
    [Box::new(runs), Box::new(numbers)]
}

fn borrowed(keys: &[Value; 2]) -> [&(dyn ToSql + Sync); 2] {
    [keys[0].as_ref(), keys[1].as_ref()]
}

fn head(row: &Row) -> Result<(String, Head), Failure> {
    let head = Head {
        version: Version(columns::count(row, 1)?),
        digest: columns::digest(row, 2)?,
        command: Some(columns::parsed(row, 3)?),
    };
    Ok((columns::plain(row, 0)?, head))
}

fn lease(row: &Row) -> Result<(ChunkId, Lease), Failure> {
    let lease = Lease {
        term: LeaseTerm(columns::count(row, 2)?),
        grant: columns::parsed(row, 3)?,
        expires_at: InstantMs(columns::plain(row, 4)?),
        hard_deadline_at: InstantMs(columns::plain(row, 5)?),
    };
    Ok((columns::chunk(row, 0)?, lease))
}

fn offer(row: &Row) -> Result<(ChunkId, ReadySeq), Failure> {
    Ok((columns::chunk(row, 0)?, ReadySeq(columns::count(row, 2)?)))
}
