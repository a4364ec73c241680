//! The journal port on Postgres: units go through the coordinator, everything else
//! is one statement of its own.

use super::address::PostgresAddress;
use super::coordinator::Coordinator;
use super::doctor::Horizon;
use super::error::OpenError;
use super::incarnation::HeldName;
use super::link::Link;
use super::queues::Queues;
use super::reader::PostgresReader;
use super::{queues, schema};
use crate::journal::shape;
use async_trait::async_trait;
use std::sync::Arc;
use tribunal_actors::mutant::{self, Mutant};
use tribunal_actors::ports::journal::*;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{AttemptId, ChunkId, ClaimToken, ExecutionKey, Incarnation, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::{DurationMs, InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow};

/// Mutants that this adapter has; see [`mutant`].
const MUTANTS: [Mutant; 5] = [
    Mutant::NoTermCompare,
    Mutant::PlainSelectGuard,
    Mutant::ExpiryWithoutRowLock,
    Mutant::RedeliveryNotIdempotent,
    Mutant::RenewalResurrects,
];

/// A database that this process writes, together with others.
pub struct PostgresJournal {
    reader: PostgresReader,
    coordinator: Coordinator,
    link: Link,
    hints: Arc<Hints>,
    /// The statement of a renewal.
    renewal: &'static str,
    _name: HeldName,
}

impl PostgresJournal {
    /// Opens a database for writing, under the name of this start of this process.
    ///
    /// # Errors
    /// When it cannot be reached, or its schema is not this build's.
    pub async fn open(address: &PostgresAddress, holder: Incarnation) -> Result<PostgresJournal, OpenError> {
        let mutant = MUTANTS.into_iter().find(|mutant| mutant::is_alive(*mutant));
        let link = Link::new(address)?;
        schema::require_current(&link).await?;
        let unreachable =
            |failure: Failure| OpenError::Unreachable { address: address.clone(), reason: failure.message };
        link.execute(sql::EPOCH_NOTE, &[]).await.map_err(unreachable)?;
        let epoch = link.row(sql::EPOCH_READ, &[]).await.map_err(unreachable)?;
        let epoch: i64 = epoch.and_then(|row| row.get::<_, Option<i64>>(0)).unwrap_or(1);
        // Connections of its own: however much is read, units and heartbeats find one.
        let reader = PostgresReader::on(Link::new(address)?).await?;
        let link = link.patient();
        let name = HeldName::hold(link.clone(), holder).await;
        let hints = Arc::new(Hints::default());
        let coordinator = Coordinator::start(link.clone(), epoch, Arc::clone(&hints), mutant);
        let renewal = if mutant == Some(Mutant::RenewalResurrects) { sql::LEASES_RENEW_ALL } else { sql::LEASES_RENEW };
        tracing::debug!(%address, %holder, "database opened for writing");
        Ok(PostgresJournal { reader, coordinator, link, hints, renewal, _name: name })
    }

    /// The same database, for reading only.
    pub fn reader(&self) -> PostgresReader {
        self.reader.clone()
    }

    /// What holds the feed back now.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn horizon(&self) -> Result<Option<Horizon>, Failure> {
        self.reader.horizon().await
    }

    fn queues(&self) -> Queues<'_> {
        Queues { link: &self.link, hints: &self.hints }
    }
}

#[async_trait]
impl Journal for PostgresJournal {
    async fn append(&self, unit: AppendUnit) -> Result<Appended, AppendError> {
        shape::check(&unit)?;
        self.coordinator.append(unit).await
    }

    fn hints(&self) -> Arc<Hints> {
        Arc::clone(&self.hints)
    }

    async fn put_blob(&self, digest: Digest, bytes: Arc<[u8]>) -> Result<(), Failure> {
        shape::check_blob(digest, &bytes).map_err(Failure::new)?;
        let now = queues::now(&self.link).await?;
        self.link.execute(sql::BLOB_PUT, &[&digest.bytes().as_slice(), &&*bytes, &now.0]).await.map(drop)
    }

    async fn ready_due(&self, lane: &str, only: Option<RunId>, limit: u32) -> Result<Vec<ReadyRow>, Failure> {
        self.queues().ready_due(lane, only, limit).await
    }

    async fn ready_lanes(&self) -> Result<Vec<String>, Failure> {
        self.queues().ready_lanes().await
    }

    async fn ready_outstanding(&self, lane: &str, only: Option<RunId>) -> Result<u32, Failure> {
        self.queues().ready_outstanding(lane, only).await
    }

    async fn ready_next_due(&self) -> Result<Option<InstantMs>, Failure> {
        self.queues().ready_next_due().await
    }

    async fn ready_unpublish(&self, age: Option<DurationMs>, only: Option<RunId>) -> Result<u64, Failure> {
        self.queues().ready_unpublish(age, only).await
    }

    async fn outbox_claim(
        &self,
        token: ClaimToken,
        window: DurationMs,
        only: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, Failure> {
        self.queues().outbox_claim(token, window, only, limit).await
    }

    async fn outbox_confirm(&self, token: ClaimToken, ids: &[u64]) -> Result<u64, Failure> {
        self.queues().outbox_confirm(token, ids).await
    }

    async fn outbox_reschedule(&self, token: ClaimToken, ids: &[u64], delay: DurationMs) -> Result<u64, Failure> {
        self.queues().outbox_reschedule(token, ids, delay).await
    }

    async fn settlements(&self, limit: u32) -> Result<Vec<SettlementRow>, Failure> {
        self.queues().settlements(limit).await
    }

    async fn settlement_done(&self, chunk: ChunkId, version: Version) -> Result<(), Failure> {
        self.queues().settlement_done(chunk, version).await
    }

    async fn intents(&self, kind: IntentKind, limit: u32) -> Result<Vec<Intent>, Failure> {
        self.queues().intents(kind, limit).await
    }

    async fn plan_rows(&self, run: RunId, after: Option<ChunkId>, limit: u32) -> Result<Vec<PlanRow>, Failure> {
        self.queues().plan_rows(run, after, limit).await
    }

    async fn leases_renew(&self, holder: Incarnation, lease: DurationMs) -> Result<Vec<Renewal>, Failure> {
        self.queues().leases_renew(self.renewal, holder, lease).await
    }

    async fn leases_due(&self, limit: u32) -> Result<Vec<LeaseRow>, Failure> {
        self.queues().leases_due(limit).await
    }

    async fn leases_revoke_dead(&self, holder: Incarnation) -> Result<u64, Failure> {
        self.queues().leases_revoke_dead(holder).await
    }

    async fn poison_put(&self, body: &[u8], reason: &str) -> Result<(), Failure> {
        self.queues().poison_put(body, reason).await
    }
}

#[async_trait]
impl JournalReader for PostgresJournal {
    async fn now(&self) -> Result<InstantMs, Failure> {
        self.reader.now().await
    }

    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure> {
        self.reader.read_stream(stream, after, limit).await
    }

    async fn read_feed(
        &self,
        filter: &EventFilter,
        after: Option<u64>,
        descending: bool,
        limit: u32,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        self.reader.read_feed(filter, after, descending, limit).await
    }

    async fn stream_heads(&self, run: RunId, after: Option<&StreamId>, limit: u32) -> Result<Vec<StreamHead>, Failure> {
        self.reader.stream_heads(run, after, limit).await
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        self.reader.blob(digest).await
    }

    async fn runs(&self, limit: u32) -> Result<Vec<RunRow>, Failure> {
        self.reader.runs(limit).await
    }

    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure> {
        self.reader.run(run).await
    }

    async fn chunks(&self, run: RunId) -> Result<Vec<ChunkRow>, Failure> {
        self.reader.chunks(run).await
    }

    async fn progress(&self, run: RunId) -> Result<Progress, Failure> {
        self.reader.progress(run).await
    }

    async fn executions(
        &self,
        run: RunId,
        after: Option<ExecutionKey>,
        outcomes: Option<&[ExecutionOutcome]>,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, Failure> {
        self.reader.executions(run, after, outcomes, limit).await
    }

    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure> {
        self.reader.outcomes(attempt).await
    }

    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure> {
        self.reader.findings(attempt).await
    }

    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure> {
        self.reader.quarantine(run, limit).await
    }
}
