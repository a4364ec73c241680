//! Reading: each page is one statement and so one snapshot.
//!
//! The feed is ordered by (epoch, transaction, position) and ends below the
//! snapshot's horizon: positions are given before commits, so a lower one may appear
//! late, and a reader that went by positions would miss it. Below the horizon
//! nothing can appear any more. What holds it back is told by [`PostgresReader::horizon`].

use super::address::PostgresAddress;
use super::columns;
use super::doctor::{Horizon, horizon};
use super::error::OpenError;
use super::link::Link;
use super::{queues, schema, view_rows};
use async_trait::async_trait;
use tokio_postgres::types::ToSql;
use tribunal_actors::mutant::{self, Mutant};
use tribunal_actors::ports::journal::{EventFilter, Failure, JournalReader, Progress, StreamHead};
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::{InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow};

/// A journal that is only read.
#[derive(Clone)]
pub struct PostgresReader {
    link: Link,
    /// The epoch that the horizon is about: the last one.
    epoch: i64,
}

/// A place in the feed's order.
struct Place {
    epoch: i64,
    xid: String,
    position: i64,
}

impl PostgresReader {
    /// Opens a database for reading. Fails when it holds no journal, or one of another schema.
    ///
    /// # Errors
    /// In words that say what to do.
    pub async fn open(address: &PostgresAddress) -> Result<PostgresReader, OpenError> {
        let link = Link::new(address)?;
        schema::require_current(&link).await?;
        PostgresReader::on(link).await
    }

    pub(super) async fn on(link: Link) -> Result<PostgresReader, OpenError> {
        let epoch = link.row(sql::EPOCH_READ, &[]).await.and_then(|row| {
            row.map_or(Ok(None), |row| columns::plain::<Option<i64>>(&row, 0)).map(Option::unwrap_or_default)
        });
        let address = link.address().clone();
        let epoch = epoch.map_err(|failure| OpenError::Unreachable { address, reason: failure.message })?;
        // A horizon of an epoch to come holds nothing back.
        let epoch = if mutant::is_alive(Mutant::FeedWithoutHorizon) { i64::MAX } else { epoch };
        Ok(PostgresReader { link: link.patient(), epoch })
    }

    /// What holds the feed back now.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn horizon(&self) -> Result<Option<Horizon>, Failure> {
        horizon(&self.link).await
    }

    /// Where a page of the feed begins.
    async fn place(&self, after: Option<u64>, descending: bool) -> Result<Place, Failure> {
        let end = Place { epoch: i64::MAX, xid: u64::MAX.to_string(), position: i64::MAX };
        let start = Place { epoch: 0, xid: "0".into(), position: 0 };
        let Some(position) = after else { return Ok(if descending { end } else { start }) };
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let Some(row) = self.link.row(sql::FEED_PLACE, &[&position]).await? else { return Ok(start) };
        Ok(Place { epoch: columns::plain(&row, 0)?, xid: columns::plain(&row, 1)?, position: columns::plain(&row, 2)? })
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

#[async_trait]
impl JournalReader for PostgresReader {
    async fn now(&self) -> Result<InstantMs, Failure> {
        queues::now(&self.link).await
    }

    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure> {
        let after = i64::try_from(after.0).unwrap_or(i64::MAX);
        let rows = self.link.rows(sql::STREAM_PAGE, &[&stream.to_string(), &after, &i64::from(limit)]).await?;
        rows.iter().map(columns::event).collect()
    }

    async fn read_feed(
        &self,
        filter: &EventFilter,
        after: Option<u64>,
        descending: bool,
        limit: u32,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        let place = self.place(after, descending).await?;
        let (exact, prefix) = match filter.event_type.as_deref() {
            None => (None, None),
            Some(text) => text.strip_suffix('*').map_or((Some(text), None), |prefix| (None, Some(prefix))),
        };
        let (statement, keys) = feed_statement(filter, descending);
        let (since, until) = (filter.since.map(|at| at.0), filter.until.map(|at| at.0));
        let (category, limit) = (filter.category.as_deref(), i64::from(limit));
        let mut values: Vec<&(dyn ToSql + Sync)> = vec![
            &place.epoch,
            &place.xid,
            &place.position,
            &self.epoch,
            &category,
            &exact,
            &prefix,
            &since,
            &until,
            &limit,
        ];
        values.extend(keys.iter().map(|key| key as &(dyn ToSql + Sync)));
        let rows = self.link.rows(statement, &values).await?;
        rows.iter().map(columns::event).collect()
    }

    async fn stream_heads(&self, run: RunId, after: Option<&StreamId>, limit: u32) -> Result<Vec<StreamHead>, Failure> {
        let after = after.map(StreamId::to_string).unwrap_or_default();
        let rows = self.link.rows(sql::STREAM_HEADS, &[&run.to_string(), &after, &i64::from(limit)]).await?;
        let row = |row: &tokio_postgres::Row| {
            let version = Version(columns::count(row, 1)?);
            Ok(StreamHead { stream: columns::parsed(row, 0)?, version, digest: columns::digest(row, 2)? })
        };
        rows.iter().map(row).collect()
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        let row = self.link.row(sql::BLOB_READ, &[&digest.bytes().as_slice()]).await?;
        row.map(|row| columns::plain(&row, 0)).transpose()
    }

    async fn runs(&self, limit: u32) -> Result<Vec<RunRow>, Failure> {
        self.link.rows(sql::RUNS_PAGE, &[&i64::from(limit)]).await?.iter().map(view_rows::run).collect()
    }

    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure> {
        self.link.row(sql::RUN_READ, &[&run.to_string()]).await?.as_ref().map(view_rows::run).transpose()
    }

    async fn chunks(&self, run: RunId) -> Result<Vec<ChunkRow>, Failure> {
        self.link.rows(sql::CHUNKS_READ, &[&run.to_string()]).await?.iter().map(view_rows::chunk).collect()
    }

    async fn progress(&self, run: RunId) -> Result<Progress, Failure> {
        let row = self.link.row(sql::PROGRESS_READ, &[&run.to_string()]).await?;
        row.as_ref().map_or_else(|| Ok(Progress::default()), view_rows::progress)
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
        let page: [&(dyn ToSql + Sync); 5] = [&run.to_string(), &case, &repeat, &words, &i64::from(limit)];
        self.link.rows(sql::EXECUTIONS_PAGE, &page).await?.iter().map(view_rows::execution).collect()
    }

    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure> {
        self.link.rows(sql::OUTCOMES_READ, &[&attempt.to_string()]).await?.iter().map(view_rows::outcome).collect()
    }

    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure> {
        self.link.rows(sql::FINDINGS_READ, &[&attempt.to_string()]).await?.iter().map(view_rows::finding).collect()
    }

    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure> {
        let run = run.map(|run| run.to_string());
        let rows = self.link.rows(sql::QUARANTINE_PAGE, &[&run, &i64::from(limit)]).await?;
        rows.iter().map(view_rows::quarantine).collect()
    }
}
