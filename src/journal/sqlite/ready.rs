//! Ready rows, as dispatch and the sweep work through them.

use super::columns::{self, integer};
use super::coordinator::Transaction;
use super::error::Stop;
use super::rows::execute;
use crate::journal::touched::Touched;
use rusqlite::{Connection, params};
use tribunal_actors::ports::journal::ReadyRow;
use tribunal_schema::ids::RunId;
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::{DurationMs, InstantMs, ReadySeq};

/// What may be dispatched of a lane now.
pub(super) fn due(
    connection: &Connection,
    lane: &str,
    only: Option<RunId>,
    limit: u32,
) -> rusqlite::Result<Vec<ReadyRow>> {
    let now = columns::now(connection)?;
    columns::rows(connection, sql::READY_DUE, params![lane, now.0, limit, only.map(|run| run.to_string())], |row| {
        Ok(ReadyRow {
            chunk: columns::chunk(row, 0)?,
            ready_seq: ReadySeq(columns::count(row, 2)?),
            lane: row.get(3)?,
            due_at: InstantMs(row.get(4)?),
        })
    })
}

/// The lanes that have rows.
pub(super) fn lanes(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    columns::rows(connection, sql::READY_LANES, [], |row| row.get(0))
}

/// How many rows of a lane are published and unclaimed.
pub(super) fn outstanding(connection: &Connection, lane: &str, only: Option<RunId>) -> rusqlite::Result<u32> {
    connection
        .prepare_cached(sql::READY_OUTSTANDING)?
        .query_row(params![lane, only.map(|run| run.to_string())], |row| row.get(0))
}

/// When the next row is due that is not due now.
pub(super) fn next_due(connection: &Connection) -> rusqlite::Result<Option<InstantMs>> {
    let now = columns::now(connection)?;
    let next: Option<i64> = connection.prepare_cached(sql::READY_NEXT_DUE)?.query_row([now.0], |row| row.get(0))?;
    Ok(next.map(InstantMs))
}

/// Makes rows unpublished again, those that are too old or all.
pub(super) fn unpublish(
    transaction: &Transaction<'_>,
    age: Option<DurationMs>,
    only: Option<RunId>,
) -> Result<u64, Stop> {
    let only = only.map(|run| run.to_string());
    let changed = match age {
        Some(age) => execute(transaction, sql::READY_UNPUBLISH, params![integer(age.0)?, transaction.now.0, only])?,
        None => execute(transaction, sql::READY_UNPUBLISH_ALL, [only])?,
    };
    if changed > 0 {
        transaction.touch(Touched::READY);
    }
    Ok(changed as u64)
}
