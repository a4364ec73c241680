//! The journal port on SQLite: every write goes through the coordinator, every
//! read through the reader.

use super::coordinator::{Coordinator, Transaction};
use super::error::{OpenError, Stop};
use super::lock::StoreLock;
use super::reader::SqliteReader;
use super::{JOURNAL_FILE, leases, outbox, ready, rows, schema, unit};
use crate::journal::shape;
use async_trait::async_trait;
use std::path::Path;
use std::sync::Arc;
use tribunal_actors::ports::journal::*;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{AttemptId, ChunkId, ClaimToken, ExecutionKey, Incarnation, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::{DurationMs, InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow};

/// A store that this process writes. Dropping it writes what waits, closes the
/// database and lets go of the lock, in this order.
pub struct SqliteJournal {
    reader: SqliteReader,
    coordinator: Coordinator,
    hints: Arc<Hints>,
}

impl SqliteJournal {
    /// The schema of a store that was opened for writing.
    pub const SCHEMA: u32 = schema::KNOWN;

    /// Opens the store in a folder for writing; makes folder and store where there are none and
    /// migrates an older schema. Fails at once when somebody else writes it.
    pub fn open(store: &Path) -> Result<SqliteJournal, OpenError> {
        SqliteJournal::open_with(store, None)
    }

    fn open_with(store: &Path, pages_max: Option<u32>) -> Result<SqliteJournal, OpenError> {
        let io = |source| OpenError::Io { path: store.to_path_buf(), source };
        std::fs::create_dir_all(store).map_err(io)?;
        let lock = StoreLock::take(store)?;
        let connection = schema::open_writer(store, pages_max)?;
        let reader = SqliteReader::open(store)?;
        let hints = Arc::new(Hints::default());
        let coordinator = Coordinator::start(connection, lock, Arc::clone(&hints)).map_err(io)?;
        tracing::debug!(journal = %store.join(JOURNAL_FILE).display(), "store opened for writing");
        Ok(SqliteJournal { reader, coordinator, hints })
    }

    /// As [`SqliteJournal::open`], for a store that may not grow beyond a number of pages of 4 KiB: a small disk.
    pub fn open_with_pages_max(store: &Path, pages_max: u32) -> Result<SqliteJournal, OpenError> {
        SqliteJournal::open_with(store, Some(pages_max))
    }

    /// The same store, for reading only.
    pub fn reader(&self) -> SqliteReader {
        self.reader.clone()
    }

    /// Writes outside a unit; nothing but the database can refuse it.
    async fn write<T, F>(&self, bytes: usize, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: Fn(&Transaction<'_>) -> Result<T, Stop> + Send + 'static,
    {
        self.coordinator.run(bytes, work).await.map_err(|error| match error {
            AppendError::Unavailable(failure) => failure,
            AppendError::Conflict { .. } | AppendError::Refused(_) | AppendError::Invalid(_) => {
                Failure::new(error.to_string())
            }
        })
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        // The last connection to close folds the log into the journal; it must be the writer's.
        self.reader.close_idle();
    }
}

#[async_trait]
impl Journal for SqliteJournal {
    async fn append(&self, unit: AppendUnit) -> Result<Appended, AppendError> {
        shape::check(&unit)?;
        self.coordinator.run(shape::weight(&unit), move |transaction| unit::write(transaction, &unit)).await
    }

    fn hints(&self) -> Arc<Hints> {
        Arc::clone(&self.hints)
    }

    async fn put_blob(&self, digest: Digest, bytes: Arc<[u8]>) -> Result<(), Failure> {
        shape::check_blob(digest, &bytes).map_err(Failure::new)?;
        self.write(bytes.len(), move |transaction| rows::blob_put(transaction, digest, &bytes)).await
    }

    async fn ready_due(&self, lane: &str, only: Option<RunId>, limit: u32) -> Result<Vec<ReadyRow>, Failure> {
        let lane = lane.to_owned();
        self.reader.read(move |connection| ready::due(connection, &lane, only, limit)).await
    }

    async fn ready_lanes(&self) -> Result<Vec<String>, Failure> {
        self.reader.read(ready::lanes).await
    }

    async fn ready_outstanding(&self, lane: &str, only: Option<RunId>) -> Result<u32, Failure> {
        let lane = lane.to_owned();
        self.reader.read(move |connection| ready::outstanding(connection, &lane, only)).await
    }

    async fn ready_next_due(&self) -> Result<Option<InstantMs>, Failure> {
        self.reader.read(ready::next_due).await
    }

    async fn ready_unpublish(&self, age: Option<DurationMs>, only: Option<RunId>) -> Result<u64, Failure> {
        self.write(0, move |transaction| ready::unpublish(transaction, age, only)).await
    }

    async fn outbox_claim(
        &self,
        token: ClaimToken,
        window: DurationMs,
        only: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, Failure> {
        self.write(0, move |transaction| outbox::claim(transaction, token, window, only, limit)).await
    }

    async fn outbox_confirm(&self, token: ClaimToken, ids: &[u64]) -> Result<u64, Failure> {
        let ids = ids.to_vec();
        self.write(0, move |transaction| outbox::confirm(transaction, token, &ids)).await
    }

    async fn outbox_reschedule(&self, token: ClaimToken, ids: &[u64], delay: DurationMs) -> Result<u64, Failure> {
        let ids = ids.to_vec();
        self.write(0, move |transaction| outbox::reschedule(transaction, token, &ids, delay)).await
    }

    async fn settlements(&self, limit: u32) -> Result<Vec<SettlementRow>, Failure> {
        self.reader.read(move |connection| outbox::settlements(connection, limit)).await
    }

    async fn settlement_done(&self, chunk: ChunkId, version: Version) -> Result<(), Failure> {
        self.write(0, move |transaction| outbox::settlement_done(transaction, chunk, version)).await
    }

    async fn intents(&self, kind: IntentKind, limit: u32) -> Result<Vec<Intent>, Failure> {
        self.reader.read(move |connection| outbox::intents(connection, kind, limit)).await
    }

    async fn plan_rows(&self, run: RunId, after: Option<ChunkId>, limit: u32) -> Result<Vec<PlanRow>, Failure> {
        self.reader.read(move |connection| outbox::plan_rows(connection, run, after, limit)).await
    }

    async fn leases_renew(&self, holder: Incarnation, lease: DurationMs) -> Result<Vec<Renewal>, Failure> {
        self.write(0, move |transaction| leases::renew(transaction, holder, lease)).await
    }

    async fn leases_due(&self, limit: u32) -> Result<Vec<LeaseRow>, Failure> {
        self.reader.read(move |connection| leases::due(connection, limit)).await
    }

    async fn leases_revoke_dead(&self, holder: Incarnation) -> Result<u64, Failure> {
        self.write(0, move |transaction| leases::revoke_others(transaction, holder)).await
    }

    async fn poison_put(&self, body: &[u8], reason: &str) -> Result<(), Failure> {
        let (body, reason) = (body.to_vec(), reason.to_owned());
        self.write(body.len(), move |transaction| outbox::poison_put(transaction, &body, &reason)).await
    }
}

#[async_trait]
impl JournalReader for SqliteJournal {
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
