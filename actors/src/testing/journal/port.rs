//! The journal port over tables in memory.

use super::reader::limited;
use super::tables::Tables;
use super::unit::{self, Touched, after};
use crate::mutant::{self, Mutant};
use crate::ports::journal::*;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;
use tribunal_schema::Digest;
use tribunal_schema::ids::{ChunkId, ClaimToken, Incarnation, RunId};
use tribunal_schema::units::{DurationMs, InstantMs, Version};

/// The first instant of the clock: some time in 2026.
const BEGINNING: InstantMs = InstantMs(1_790_000_000_000);

/// A journal in memory. Clones of [`MemoryJournal::beside`] share the tables and have their own hints, as processes do.
pub struct MemoryJournal {
    shared: Arc<Shared>,
    hints: Arc<Hints>,
}

struct Shared {
    tables: Mutex<Tables>,
    begun: Instant,
    /// The incarnations that are known to live; with none named, nobody is but who asks.
    living: Mutex<BTreeSet<Incarnation>>,
}

impl Default for MemoryJournal {
    fn default() -> MemoryJournal {
        MemoryJournal::new()
    }
}

impl MemoryJournal {
    /// An empty journal. Its clock is tokio's.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time.
    pub fn new() -> MemoryJournal {
        let shared = Shared { tables: Mutex::default(), begun: Instant::now(), living: Mutex::default() };
        MemoryJournal { shared: Arc::new(shared), hints: Arc::default() }
    }

    /// The same tables, as another process sees them.
    #[must_use]
    pub fn beside(&self) -> MemoryJournal {
        MemoryJournal { shared: Arc::clone(&self.shared), hints: Arc::default() }
    }

    /// Everything, to look at.
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process lives from now on.
    pub fn lives(&self, holder: Incarnation) {
        self.living().insert(holder);
    }

    /// A process is known to be dead.
    pub fn died(&self, holder: Incarnation) {
        self.living().remove(&holder);
    }

    /// A transaction began that writes no event: what is committed from now on stays out of the feed until
    /// [`MemoryJournal::close`].
    pub fn open(&self) {
        let mut tables = self.tables();
        let next = tables.position + 1;
        tables.held.get_or_insert(next);
    }

    /// The open transaction ended.
    pub fn close(&self) {
        self.tables().held = None;
    }

    /// Begins to write a unit: takes the positions of its events, as a transaction of a server does that
    /// commits late. Nothing of it is seen before [`Begun::commit`], which looks at guards and versions, and
    /// until then the feed ends before its positions.
    pub fn begin(&self, unit: AppendUnit) -> Begun<'_> {
        let mut tables = self.tables();
        let first = tables.take_positions(unit.appends.iter().map(|append| append.events.len()).sum());
        tables.open.insert(first);
        drop(tables);
        Begun { journal: self, unit, first }
    }

    fn living(&self) -> MutexGuard<'_, BTreeSet<Incarnation>> {
        self.shared.living.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn instant(&self) -> InstantMs {
        let passed = self.shared.begun.elapsed().as_millis();
        InstantMs(BEGINNING.0 + i64::try_from(passed).unwrap_or(i64::MAX / 2))
    }

    /// Tells who waits, and whoever comes next.
    fn tell(&self, touched: &Touched) {
        let hints = &self.hints;
        let told: [(bool, &Notify); 9] = [
            (touched.ready, &hints.ready),
            (touched.outbox, &hints.outbox),
            (touched.settlement, &hints.settlement),
            (touched.intent, &hints.create),
            (touched.intent, &hints.cancel),
            (touched.intent, &hints.judge),
            (touched.lease, &hints.lease),
            (touched.desired, &hints.desired),
            (touched.run, &hints.run),
        ];
        for (_, hint) in told.into_iter().filter(|(touched, _)| *touched) {
            hint.notify_waiters();
            hint.notify_one();
        }
    }
}

/// A transaction that has taken its positions. Dropped, it is rolled back, and its positions stay empty.
#[must_use = "dropped, it is rolled back"]
pub struct Begun<'a> {
    journal: &'a MemoryJournal,
    unit: AppendUnit,
    first: u64,
}

impl Begun<'_> {
    /// Writes the unit at its positions, or says why not.
    ///
    /// # Errors
    /// As [`Journal::append`].
    pub fn commit(self) -> Result<Appended, AppendError> {
        let mut touched = Touched::default();
        let now = self.journal.instant();
        let appended = unit::write(&mut self.journal.tables(), &self.unit, Some(self.first), now, &mut touched)?;
        self.journal.tell(&touched);
        Ok(appended)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.journal.tables().open.remove(&self.first);
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, unit: AppendUnit) -> Result<Appended, AppendError> {
        let mut touched = Touched::default();
        let appended = unit::write(&mut self.tables(), &unit, None, self.instant(), &mut touched)?;
        self.tell(&touched);
        Ok(appended)
    }

    fn hints(&self) -> Arc<Hints> {
        Arc::clone(&self.hints)
    }

    async fn put_blob(&self, digest: Digest, bytes: Arc<[u8]>) -> Result<(), Failure> {
        if Digest::of(&bytes) != digest {
            return Err(Failure::new(format!("the bytes of blob {digest} are not its bytes")));
        }
        self.tables().blobs.entry(digest).or_insert(bytes);
        Ok(())
    }

    async fn ready_due(&self, lane: &str, only: Option<RunId>, limit: u32) -> Result<Vec<ReadyRow>, Failure> {
        let (now, tables) = (self.instant(), self.tables());
        let mut turns: BTreeMap<RunId, usize> = BTreeMap::new();
        let mut due = vec![];
        let offered = tables.ready.iter().filter(|(chunk, ready)| {
            let desired = tables.desired.get(&chunk.run).map_or(Desired::Running, |(desired, _)| *desired);
            ready.lane == lane
                && ready.published_at.is_none()
                && ready.due_at <= now
                && only.is_none_or(|only| chunk.run == only)
                && tables.cursors.contains(&chunk.run)
                && desired == Desired::Running
        });
        for (chunk, ready) in offered {
            let busy = || {
                let leased = tables.leases.keys().filter(|one| one.run == chunk.run).count();
                let published = |(one, row): &(&ChunkId, &super::Ready)| {
                    one.run == chunk.run && row.lane == lane && row.published_at.is_some()
                };
                leased + tables.ready.iter().filter(published).count()
            };
            let turn = turns.entry(chunk.run).or_insert_with(busy);
            *turn += 1;
            let row = ReadyRow { chunk: *chunk, ready_seq: ready.seq, lane: ready.lane.clone(), due_at: ready.due_at };
            due.push((*turn, row));
        }
        due.sort_by_key(|(turn, row)| (*turn, row.chunk));
        Ok(limited(due.into_iter().map(|(_, row)| row), limit))
    }

    async fn ready_lanes(&self) -> Result<Vec<String>, Failure> {
        let lanes: BTreeSet<String> = self.tables().ready.values().map(|ready| ready.lane.clone()).collect();
        Ok(lanes.into_iter().collect())
    }

    async fn ready_outstanding(&self, lane: &str, only: Option<RunId>) -> Result<u32, Failure> {
        let tables = self.tables();
        let outstanding = tables.ready.iter().filter(|(chunk, ready)| {
            ready.lane == lane && ready.published_at.is_some() && only.is_none_or(|only| chunk.run == only)
        });
        Ok(u32::try_from(outstanding.count()).unwrap_or(u32::MAX))
    }

    async fn ready_next_due(&self) -> Result<Option<InstantMs>, Failure> {
        let (now, tables) = (self.instant(), self.tables());
        let later = tables.ready.values().filter(|ready| ready.published_at.is_none() && ready.due_at > now);
        Ok(later.map(|ready| ready.due_at).min())
    }

    async fn ready_unpublish(&self, age: Option<DurationMs>, only: Option<RunId>) -> Result<u64, Failure> {
        let (now, mut changed) = (self.instant(), 0);
        for (chunk, ready) in &mut self.tables().ready {
            let Some(published_at) = ready.published_at else { continue };
            let is_old = age.is_none_or(|age| {
                let age = age.0 << ready.publications.saturating_sub(1).min(20);
                after(published_at, DurationMs(age)) <= now
            });
            if is_old && only.is_none_or(|only| chunk.run == only) {
                ready.published_at = None;
                changed += 1;
            }
        }
        self.tell(&Touched { ready: changed > 0, ..Touched::default() });
        Ok(changed)
    }

    async fn outbox_claim(
        &self,
        token: ClaimToken,
        window: DurationMs,
        only: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, Failure> {
        let now = self.instant();
        let mut tables = self.tables();
        let available = tables
            .outbox
            .iter_mut()
            .filter(|(_, row)| row.available_at <= now && only.is_none_or(|only| row.run == Some(only)));
        let claim = available.take(limit as usize).map(|(id, row)| {
            (row.token, row.available_at, row.attempts) = (Some(token), after(now, window), row.attempts + 1);
            OutboxRow { id: *id, attempts: row.attempts, message: row.message.clone() }
        });
        Ok(claim.collect())
    }

    async fn outbox_confirm(&self, token: ClaimToken, ids: &[u64]) -> Result<u64, Failure> {
        let mut tables = self.tables();
        let before = tables.outbox.len();
        tables.outbox.retain(|id, row| !(ids.contains(id) && row.token == Some(token)));
        Ok((before - tables.outbox.len()) as u64)
    }

    async fn outbox_reschedule(&self, token: ClaimToken, ids: &[u64], delay: DurationMs) -> Result<u64, Failure> {
        let (at, mut given) = (after(self.instant(), delay), 0);
        for (_, row) in self.tables().outbox.iter_mut().filter(|(id, row)| ids.contains(id) && row.token == Some(token))
        {
            (row.token, row.available_at) = (None, at);
            given += 1;
        }
        self.tell(&Touched { outbox: given > 0, ..Touched::default() });
        Ok(given)
    }

    async fn settlements(&self, limit: u32) -> Result<Vec<SettlementRow>, Failure> {
        let mut rows: Vec<_> = self.tables().settlements.values().cloned().collect();
        rows.sort_by_key(|(at, row)| (*at, row.settlement.chunk));
        Ok(limited(rows.into_iter().map(|(_, row)| row), limit))
    }

    async fn settlement_done(&self, chunk: ChunkId, version: Version) -> Result<(), Failure> {
        let mut tables = self.tables();
        if tables.settlements.get(&chunk).is_some_and(|(_, row)| row.settlement.version <= version) {
            tables.settlements.remove(&chunk);
        }
        Ok(())
    }

    async fn intents(&self, kind: IntentKind, limit: u32) -> Result<Vec<Intent>, Failure> {
        let tables = self.tables();
        let mut rows: Vec<(InstantMs, RunId)> =
            tables.intents.iter().filter(|((of, _), _)| *of == kind).map(|((_, run), at)| (*at, *run)).collect();
        rows.sort_unstable();
        Ok(limited(rows.into_iter().map(|(_, run)| Intent { run, kind }), limit))
    }

    async fn plan_rows(&self, run: RunId, after: Option<ChunkId>, limit: u32) -> Result<Vec<PlanRow>, Failure> {
        let tables = self.tables();
        let rows = tables
            .plan_rows
            .iter()
            .filter(|(chunk, _)| chunk.run == run && after.is_none_or(|after| chunk.number > after.number));
        Ok(limited(rows.map(|(chunk, seeded)| PlanRow { chunk: *chunk, seeded: seeded.clone() }), limit))
    }

    async fn leases_renew(&self, holder: Incarnation, lease: DurationMs) -> Result<Vec<Renewal>, Failure> {
        let now = self.instant();
        let mut tables = self.tables();
        let Tables { leases, desired, .. } = &mut *tables;
        let resurrects = mutant::is_alive(Mutant::RenewalResurrects);
        let mine = leases.iter_mut().filter(|(_, row)| row.holder == holder && (row.expires_at > now || resurrects));
        let renewed = mine.map(|(chunk, row)| {
            row.expires_at = after(now, lease).min(row.hard_deadline_at);
            let desired = desired.get(&chunk.run).map_or(Desired::Running, |(desired, _)| *desired);
            Renewal { chunk: *chunk, term: row.term, desired }
        });
        Ok(renewed.collect())
    }

    async fn leases_due(&self, limit: u32) -> Result<Vec<LeaseRow>, Failure> {
        let (now, tables) = (self.instant(), self.tables());
        let over = tables.leases.iter().filter(|(_, lease)| lease.expires_at <= now);
        let mut rows: Vec<LeaseRow> = over
            .map(|(chunk, lease)| LeaseRow {
                chunk: *chunk,
                term: lease.term,
                grant: lease.grant,
                holder: lease.holder,
                expires_at: lease.expires_at,
                hard_deadline_at: lease.hard_deadline_at,
            })
            .collect();
        rows.sort_by_key(|row| (row.expires_at, row.chunk));
        Ok(limited(rows.into_iter(), limit))
    }

    async fn leases_revoke_dead(&self, holder: Incarnation) -> Result<u64, Failure> {
        let (now, living, mut ended) = (self.instant(), self.living().clone(), 0);
        for lease in self.tables().leases.values_mut() {
            if lease.holder != holder && !living.contains(&lease.holder) && lease.expires_at > now {
                lease.expires_at = now;
                ended += 1;
            }
        }
        self.tell(&Touched { lease: ended > 0, ..Touched::default() });
        Ok(ended)
    }

    async fn poison_put(&self, body: &[u8], reason: &str) -> Result<(), Failure> {
        self.tables().poison.push((body.to_vec(), reason.into()));
        Ok(())
    }
}
