//! The plug between a process and its ports: where the nemesis strikes, and what
//! makes a crash a crash - from then on, every port of the process stays silent.

use super::nemesis::{Blow, Point};
use super::target::Call;
use super::world::World;
use crate::ports::chance::Chance;
use crate::ports::journal::*;
use crate::ports::target::Ask;
use crate::testing::journal::MemoryJournal;
use async_trait::async_trait;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{AttemptId, ChunkId, ClaimToken, ExecutionKey, Incarnation, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::{DurationMs, InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow};
use ulid::Ulid;

/// One process, as its ports see it.
pub(super) struct Plug {
    world: Arc<World>,
    /// Its place: a new process takes the place of one that crashed.
    pub(super) place: usize,
    /// Its number among all processes there ever were.
    pub(super) number: u64,
    pub(super) holder: Incarnation,
    dead: AtomicBool,
    frozen_until: Mutex<Option<Instant>>,
    /// Until when the journal is out of reach.
    cut_until: Mutex<Option<Instant>>,
}

/// What is to be done at a port.
pub(super) enum Way {
    Go,
    Refuse,
    LoseReply,
    DieAfter,
}

impl Plug {
    pub(super) fn new(world: Arc<World>, place: usize, number: u64, holder: Incarnation) -> Plug {
        Plug {
            world,
            place,
            number,
            holder,
            dead: AtomicBool::new(false),
            frozen_until: Mutex::default(),
            cut_until: Mutex::default(),
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.world.seed()
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// The process is gone.
    pub(super) fn die(&self) {
        if !self.dead.swap(true, Ordering::Relaxed) {
            self.world.died(self);
        }
    }

    /// The process is gone, and nobody is told: the simulation ends.
    pub(super) fn unplug(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_call(&self, ask: &Ask) {
        self.world.note_call(Call { run: ask.run, execution: ask.execution, attempt: ask.attempt });
    }

    pub(super) fn strike(&self, point: Point) -> Option<Blow> {
        self.world.strike(point, self.place)
    }

    /// Waits, and stays silent if the process died meanwhile.
    pub(super) async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
        self.silence().await;
    }

    /// Nothing comes back to the dead, and the frozen wait.
    async fn silence(&self) {
        loop {
            if self.is_dead() {
                pending::<()>().await;
            }
            let until = *self.frozen_until.lock().unwrap_or_else(PoisonError::into_inner);
            match until {
                Some(until) if until > Instant::now() => tokio::time::sleep_until(until).await,
                _ => return,
            }
        }
    }

    /// Passes a port where nothing can be refused or lost.
    pub(super) async fn pass(&self, point: Point) {
        match self.way(point).await {
            Way::Go | Way::Refuse | Way::LoseReply => {}
            Way::DieAfter => self.die(),
        }
        self.silence().await;
    }

    pub(super) async fn way(&self, point: Point) -> Way {
        self.silence().await;
        let way = match self.strike(point) {
            None | Some(Blow::LoseMessage | Blow::Repeat | Blow::Delay(_) | Blow::Nack) => Way::Go,
            Some(Blow::CrashBefore) => {
                self.die();
                Way::Go
            }
            Some(Blow::CrashAfter) => Way::DieAfter,
            Some(Blow::Refuse) => Way::Refuse,
            Some(Blow::LoseReply) => Way::LoseReply,
            Some(Blow::Wait(ms)) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Way::Go
            }
            Some(Blow::Cut(ms)) => {
                let until = Instant::now() + Duration::from_millis(ms);
                *self.cut_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
                Way::Refuse
            }
            Some(Blow::HoldFeed(ms)) => {
                self.world.hold_feed(Duration::from_millis(ms));
                Way::Go
            }
            Some(Blow::Freeze(ms)) => {
                let until = Instant::now() + Duration::from_millis(ms);
                *self.frozen_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
                Way::Go
            }
        };
        self.silence().await;
        way
    }

    /// Does something at a port, in whatever way.
    pub(super) async fn through<T, E: From<Failure>>(
        &self,
        point: Point,
        deed: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let lost = |words: &str| Err(Failure::new(words).into());
        let cut = *self.cut_until.lock().unwrap_or_else(PoisonError::into_inner);
        if cut.is_some_and(|until| until > Instant::now()) {
            // A connection that is not there takes its while to say so.
            self.sleep(Duration::from_millis(100)).await;
            return lost("the journal is out of reach");
        }
        match self.way(point).await {
            Way::Refuse => lost("nobody answers"),
            Way::Go => {
                let done = deed.await;
                self.silence().await;
                done
            }
            Way::LoseReply => {
                drop(deed.await);
                self.silence().await;
                lost("the connection went before the answer came")
            }
            Way::DieAfter => {
                drop(deed.await);
                self.die();
                pending().await
            }
        }
    }
}

/// Ids and noise of one process.
pub(super) struct PluggedChance(pub(super) Arc<Plug>);

impl Chance for PluggedChance {
    fn ulid(&self) -> Ulid {
        self.0.world.ulid()
    }

    fn ppm(&self) -> u32 {
        self.0.world.ppm()
    }
}

/// The journal of one process.
pub(super) struct PluggedJournal {
    pub(super) plug: Arc<Plug>,
    pub(super) journal: MemoryJournal,
}

impl PluggedJournal {
    async fn read<T>(&self, deed: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.plug.through(Point::Read, deed).await
    }

    async fn write<T>(&self, deed: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.plug.through(Point::Write, deed).await
    }
}

#[async_trait]
impl JournalReader for PluggedJournal {
    async fn now(&self) -> Result<InstantMs, Failure> {
        self.read(self.journal.now()).await
    }

    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure> {
        self.read(self.journal.read_stream(stream, after, limit)).await
    }

    async fn read_feed(
        &self,
        filter: &EventFilter,
        after: Option<u64>,
        descending: bool,
        limit: u32,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        self.read(self.journal.read_feed(filter, after, descending, limit)).await
    }

    async fn stream_heads(&self, run: RunId, after: Option<&StreamId>, limit: u32) -> Result<Vec<StreamHead>, Failure> {
        self.read(self.journal.stream_heads(run, after, limit)).await
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        self.read(self.journal.blob(digest)).await
    }

    async fn runs(&self, limit: u32) -> Result<Vec<RunRow>, Failure> {
        self.read(self.journal.runs(limit)).await
    }

    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure> {
        self.read(self.journal.run(run)).await
    }

    async fn chunks(&self, run: RunId) -> Result<Vec<ChunkRow>, Failure> {
        self.read(self.journal.chunks(run)).await
    }

    async fn progress(&self, run: RunId) -> Result<Progress, Failure> {
        self.read(self.journal.progress(run)).await
    }

    async fn executions(
        &self,
        run: RunId,
        after: Option<ExecutionKey>,
        outcomes: Option<&[ExecutionOutcome]>,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, Failure> {
        self.read(self.journal.executions(run, after, outcomes, limit)).await
    }

    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure> {
        self.read(self.journal.outcomes(attempt)).await
    }

    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure> {
        self.read(self.journal.findings(attempt)).await
    }

    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure> {
        self.read(self.journal.quarantine(run, limit)).await
    }
}

#[async_trait]
impl Journal for PluggedJournal {
    async fn append(&self, unit: AppendUnit) -> Result<Appended, AppendError> {
        self.plug.through(Point::Append, self.journal.append(unit)).await
    }

    fn hints(&self) -> Arc<Hints> {
        self.journal.hints()
    }

    async fn put_blob(&self, digest: Digest, bytes: Arc<[u8]>) -> Result<(), Failure> {
        self.write(self.journal.put_blob(digest, bytes)).await
    }

    async fn ready_due(&self, lane: &str, only: Option<RunId>, limit: u32) -> Result<Vec<ReadyRow>, Failure> {
        self.read(self.journal.ready_due(lane, only, limit)).await
    }

    async fn ready_lanes(&self) -> Result<Vec<String>, Failure> {
        self.read(self.journal.ready_lanes()).await
    }

    async fn ready_outstanding(&self, lane: &str, only: Option<RunId>) -> Result<u32, Failure> {
        self.read(self.journal.ready_outstanding(lane, only)).await
    }

    async fn ready_next_due(&self) -> Result<Option<InstantMs>, Failure> {
        self.read(self.journal.ready_next_due()).await
    }

    async fn ready_unpublish(&self, age: Option<DurationMs>, only: Option<RunId>) -> Result<u64, Failure> {
        self.write(self.journal.ready_unpublish(age, only)).await
    }

    async fn outbox_claim(
        &self,
        token: ClaimToken,
        window: DurationMs,
        only: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, Failure> {
        self.write(self.journal.outbox_claim(token, window, only, limit)).await
    }

    async fn outbox_confirm(&self, token: ClaimToken, ids: &[u64]) -> Result<u64, Failure> {
        if let Some(id) = ids.iter().find(|id| !self.plug.world.is_confirmed(**id)) {
            self.plug.world.note_broken(format!("message {id} is taken out of the outbox and was never confirmed"));
        }
        self.write(self.journal.outbox_confirm(token, ids)).await
    }

    async fn outbox_reschedule(&self, token: ClaimToken, ids: &[u64], delay: DurationMs) -> Result<u64, Failure> {
        self.write(self.journal.outbox_reschedule(token, ids, delay)).await
    }

    async fn settlements(&self, limit: u32) -> Result<Vec<SettlementRow>, Failure> {
        self.read(self.journal.settlements(limit)).await
    }

    async fn settlement_done(&self, chunk: ChunkId, version: Version) -> Result<(), Failure> {
        self.write(self.journal.settlement_done(chunk, version)).await
    }

    async fn intents(&self, kind: IntentKind, limit: u32) -> Result<Vec<Intent>, Failure> {
        self.read(self.journal.intents(kind, limit)).await
    }

    async fn plan_rows(&self, run: RunId, after: Option<ChunkId>, limit: u32) -> Result<Vec<PlanRow>, Failure> {
        self.read(self.journal.plan_rows(run, after, limit)).await
    }

    async fn leases_renew(&self, holder: Incarnation, lease: DurationMs) -> Result<Vec<Renewal>, Failure> {
        self.write(self.journal.leases_renew(holder, lease)).await
    }

    async fn leases_due(&self, limit: u32) -> Result<Vec<LeaseRow>, Failure> {
        self.read(self.journal.leases_due(limit)).await
    }

    async fn leases_revoke_dead(&self, holder: Incarnation) -> Result<u64, Failure> {
        self.write(self.journal.leases_revoke_dead(holder)).await
    }

    async fn poison_put(&self, body: &[u8], reason: &str) -> Result<(), Failure> {
        self.write(self.journal.poison_put(body, reason)).await
    }
}
