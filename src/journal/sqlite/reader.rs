//! Reading: a few read-only connections that never wait for the writer.
//!
//! Each page is one statement and so one snapshot; nothing is held open between
//! pages, so that a slow reader never keeps the log from being copied back.

use super::columns::{self, integer};
use super::error::OpenError;
use super::{schema, view_rows};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tribunal_actors::ports::journal::{EventFilter, Failure, JournalReader, Progress, StreamHead};
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::{InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow};

/// Reads at a time: more than cores would only share caches.
const CONNECTIONS_MAX: usize = 4;

/// A store that is only read: while another process writes it, or when none does.
#[derive(Clone)]
pub struct SqliteReader {
    pool: Arc<Pool>,
}

struct Pool {
    store: PathBuf,
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl SqliteReader {
    /// Opens the store in a folder for reading. Fails when there is none, or when its schema is not this build's.
    pub fn open(store: &Path) -> Result<SqliteReader, OpenError> {
        let first = schema::open_reader(store)?;
        let permits = Semaphore::new(CONNECTIONS_MAX);
        let pool = Pool { store: store.to_path_buf(), permits, idle: Mutex::new(vec![first]) };
        Ok(SqliteReader { pool: Arc::new(pool) })
    }

    /// Reads on a connection of the pool. A connection that failed is closed, the next read opens another.
    pub(super) async fn read<T, F>(&self, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let _permit = self.pool.permits.acquire().await.map_err(|error| Failure::new(error.to_string()))?;
        let pool = Arc::clone(&self.pool);
        let read = tokio::task::spawn_blocking(move || {
            let connection = pool.take().map_err(|error| Failure::new(error.to_string()))?;
            let read = work(&connection).map_err(|error| Failure::new(error.to_string()))?;
            pool.give_back(connection);
            Ok(read)
        });
        read.await.map_err(|error| Failure::new(error.to_string()))?
    }

    /// Closes what is idle, so that the writer that closes after it can fold the log into the journal.
    pub(super) fn close_idle(&self) {
        self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Pool {
    fn take(&self) -> Result<Connection, OpenError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| schema::open_reader(&self.store), Ok)
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

/// The statement of a filter's narrowest index, and what is compared with its key.
fn feed_statement(filter: &EventFilter, descending: bool) -> (&'static str, Vec<Option<String>>) {
    let run = filter.run.map(|run| run.to_string());
    match (&filter.stream, run) {
        (Some(stream), run) => {
            let statement = if descending { sql::FEED_STREAM_DESCENDING } else { sql::FEED_STREAM_ASCENDING };
            (statement, vec![Some(stream.to_string()), run])
        }
        (None, Some(run)) => {
            (if descending { sql::FEED_RUN_DESCENDING } else { sql::FEED_RUN_ASCENDING }, vec![Some(run)])
        }
        (None, None) => (if descending { sql::FEED_ALL_DESCENDING } else { sql::FEED_ALL_ASCENDING }, Vec::new()),
    }
}

fn feed_page(
    connection: &Connection,
    filter: &EventFilter,
    after: i64,
    descending: bool,
    limit: u32,
) -> rusqlite::Result<Vec<RecordedEvent>> {
    let (exact, prefix) = match filter.event_type.as_deref() {
        None => (None, None),
        Some(text) => text.strip_suffix('*').map_or((Some(text), None), |prefix| (None, Some(prefix))),
    };
    let (statement, keys) = feed_statement(filter, descending);
    let (since, until) = (filter.since.map(|at| at.0), filter.until.map(|at| at.0));
    let shared = params![after, filter.category, exact, prefix, since, until, limit];
    let mut values: Vec<&dyn rusqlite::ToSql> = shared.to_vec();
    values.extend(keys.iter().map(|key| key as &dyn rusqlite::ToSql));
    columns::rows(connection, statement, values.as_slice(), columns::event)
}

#[async_trait]
impl JournalReader for SqliteReader {
    async fn now(&self) -> Result<InstantMs, Failure> {
        self.read(columns::now).await
    }

    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure> {
        let stream = stream.to_string();
        self.read(move |connection| {
            columns::rows(connection, sql::STREAM_PAGE, params![stream, integer(after.0)?, limit], columns::event)
        })
        .await
    }

    async fn read_feed(
        &self,
        filter: &EventFilter,
        after: Option<u64>,
        descending: bool,
        limit: u32,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        let filter = filter.clone();
        // Positions start at 1 and end below 2^63, so that both ends are outside.
        let start = if descending { i64::MAX } else { 0 };
        let after = after.map_or(start, |position| i64::try_from(position).unwrap_or(i64::MAX));
        self.read(move |connection| feed_page(connection, &filter, after, descending, limit)).await
    }

    async fn stream_heads(&self, run: RunId, after: Option<&StreamId>, limit: u32) -> Result<Vec<StreamHead>, Failure> {
        let after = after.map(StreamId::to_string).unwrap_or_default();
        self.read(move |connection| {
            columns::rows(connection, sql::STREAM_HEADS, params![run.to_string(), after, limit], |row| {
                let version = Version(columns::count(row, 1)?);
                Ok(StreamHead { stream: columns::parsed(row, 0)?, version, digest: columns::digest(row, 2)? })
            })
        })
        .await
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        self.read(move |connection| {
            connection.prepare_cached(sql::BLOB_READ)?.query_row([digest.bytes()], |row| row.get(0)).optional()
        })
        .await
    }

    async fn runs(&self, limit: u32) -> Result<Vec<RunRow>, Failure> {
        self.read(move |connection| columns::rows(connection, sql::RUNS_PAGE, [limit], view_rows::run)).await
    }

    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure> {
        self.read(move |connection| {
            connection.prepare_cached(sql::RUN_READ)?.query_row([run.to_string()], view_rows::run).optional()
        })
        .await
    }

    async fn chunks(&self, run: RunId) -> Result<Vec<ChunkRow>, Failure> {
        self.read(move |connection| columns::rows(connection, sql::CHUNKS_READ, [run.to_string()], view_rows::chunk))
            .await
    }

    async fn progress(&self, run: RunId) -> Result<Progress, Failure> {
        self.read(move |connection| {
            connection.prepare_cached(sql::PROGRESS_READ)?.query_row([run.to_string()], view_rows::progress)
        })
        .await
    }

    async fn executions(
        &self,
        run: RunId,
        after: Option<ExecutionKey>,
        outcomes: Option<&[ExecutionOutcome]>,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, Failure> {
        // Cases and repeats count from 0: (-1, -1) is before all of them.
        let (case, repeat) = after.map_or((-1, -1), |key| (i64::from(key.case), i64::from(key.repeat)));
        let words = outcomes.map(|outcomes| outcomes.iter().map(|outcome| outcome.name()).collect::<Vec<_>>());
        let words = words.map(|words| serde_json::json!(words).to_string());
        self.read(move |connection| {
            let page = params![run.to_string(), case, repeat, words, limit];
            columns::rows(connection, sql::EXECUTIONS_PAGE, page, view_rows::execution)
        })
        .await
    }

    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure> {
        self.read(move |connection| {
            columns::rows(connection, sql::OUTCOMES_READ, [attempt.to_string()], view_rows::outcome)
        })
        .await
    }

    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure> {
        self.read(move |connection| {
            columns::rows(connection, sql::FINDINGS_READ, [attempt.to_string()], view_rows::finding)
        })
        .await
    }

    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure> {
        let run = run.map(|run| run.to_string());
        self.read(move |connection| {
            columns::rows(connection, sql::QUARANTINE_PAGE, params![run, limit], view_rows::quarantine)
        })
        .await
    }
}
