//! Columns: how ids, instants and words are written and read back. A value that
//! does not read back is an error of its row, never a default.

use rusqlite::types::Type;
use rusqlite::{Connection, Row};
use std::str::FromStr;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{ChunkId, ExecutionKey, RunId};
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::{DurationMs, InstantMs, Version};

/// The database's clock.
pub(super) fn now(connection: &Connection) -> rusqlite::Result<InstantMs> {
    connection.prepare_cached(sql::NOW)?.query_row([], |row| row.get(0)).map(InstantMs)
}

/// The instant a duration after another, held at the end of time.
pub(super) fn after(instant: InstantMs, duration: DurationMs) -> i64 {
    instant.0.saturating_add(i64::try_from(duration.0).unwrap_or(i64::MAX))
}

/// A count as a column holds it; one beyond 2^63 is an error of its unit.
pub(super) fn integer(count: u64) -> rusqlite::Result<i64> {
    i64::try_from(count).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// A count of a column.
pub(super) fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(index)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, value))
}

/// A value of its text in a column.
pub(super) fn parsed<T: FromStr<Err = String>>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(index)?.as_str().map_err(|error| unreadable(index, error.to_string()))?;
    text.parse().map_err(|error: String| unreadable(index, error))
}

/// A value of its text in a column that may be NULL.
pub(super) fn parsed_optional<T: FromStr<Err = String>>(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<T>> {
    match row.get_ref(index)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => parsed(row, index).map(Some),
    }
}

/// A word of a column, by the function that knows the words.
pub(super) fn word<T>(row: &Row<'_>, index: usize, named: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    named(&text).ok_or_else(|| unreadable(index, format!("unknown word {text:?}")))
}

/// A word of a column that may be NULL.
pub(super) fn word_optional<T>(
    row: &Row<'_>,
    index: usize,
    named: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(index)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => word(row, index, named).map(Some),
    }
}

/// A value of its JSON in a column.
pub(super) fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(index)?.as_str().map_err(|error| unreadable(index, error.to_string()))?;
    serde_json::from_str(text).map_err(|error| unreadable(index, error.to_string()))
}

/// A digest of a column.
pub(super) fn digest(row: &Row<'_>, index: usize) -> rusqlite::Result<Digest> {
    let bytes = row.get_ref(index)?.as_blob().map_err(|error| unreadable(index, error.to_string()))?;
    Digest::from_bytes(bytes).ok_or_else(|| unreadable(index, format!("a digest of {} bytes", bytes.len())))
}

/// A chunk of two columns, run and number.
pub(super) fn chunk(row: &Row<'_>, index: usize) -> rusqlite::Result<ChunkId> {
    Ok(ChunkId { run: parsed::<RunId>(row, index)?, number: row.get(index + 1)? })
}

/// Case and repeat of two columns.
pub(super) fn execution(row: &Row<'_>, index: usize) -> rusqlite::Result<ExecutionKey> {
    Ok(ExecutionKey { case: row.get(index)?, repeat: row.get(index + 1)? })
}

/// A recorded event of the columns that all event queries select.
pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<RecordedEvent> {
    Ok(RecordedEvent {
        position: count(row, 0)?,
        stream: parsed(row, 1)?,
        version: Version(count(row, 2)?),
        id: parsed(row, 3)?,
        command: parsed(row, 4)?,
        event_type: row.get(5)?,
        type_version: row.get(6)?,
        run: parsed_optional(row, 7)?,
        team: row.get(8)?,
        payload: row.get(9)?,
        causation: parsed_optional(row, 10)?,
        recorded_at: InstantMs(row.get(11)?),
        digest: digest(row, 12)?,
    })
}

/// All rows of a cached query.
pub(super) fn rows<T>(
    connection: &Connection,
    statement: &str,
    params: impl rusqlite::Params,
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(statement)?.query_map(params, row)?.collect()
}

fn unreadable(index: usize, reason: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, reason.into())
}
