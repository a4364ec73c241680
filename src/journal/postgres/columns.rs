//! Columns: how ids, instants and words are written and read back. A value that
//! does not read back is an error of its row, never a default.

use std::borrow::Cow;
use std::str::FromStr;
use tokio_postgres::Row;
use tribunal_actors::ports::journal::Failure;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{ChunkId, ExecutionKey, RunId};
use tribunal_schema::units::{DurationMs, InstantMs, Version};

/// What stands before a text that a column of Postgres cannot hold as it is: a character of private use.
const ESCAPED: char = '\u{E000}';

/// Words of people as a column holds them: a NUL, which no text of Postgres can have, as JSON behind a mark.
pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !text.contains('\0') && !text.starts_with(ESCAPED) {
        return Cow::Borrowed(text);
    }
    let json = serde_json::to_string(text).expect("a string always has a JSON form");
    Cow::Owned(format!("{ESCAPED}{json}"))
}

fn released(text: String) -> Result<String, Failure> {
    match text.strip_prefix(ESCAPED) {
        None => Ok(text),
        Some(json) => serde_json::from_str(json).map_err(|error| Failure::new(format!("a kept text: {error}"))),
    }
}

/// The instant a duration after another, held at the end of time.
pub(super) fn after(instant: InstantMs, duration: DurationMs) -> i64 {
    instant.0.saturating_add(i64::try_from(duration.0).unwrap_or(i64::MAX))
}

/// A column as it is.
pub(super) fn plain<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Failure> {
    row.try_get(index).map_err(|error| unreadable(row, index, &error.to_string()))
}

/// Words of people.
pub(super) fn text(row: &Row, index: usize) -> Result<String, Failure> {
    released(plain(row, index)?)
}

/// Words of people, where there are any.
pub(super) fn text_optional(row: &Row, index: usize) -> Result<Option<String>, Failure> {
    plain::<Option<String>>(row, index)?.map(released).transpose()
}

/// A count of a column.
pub(super) fn count<T: TryFrom<i64>>(row: &Row, index: usize) -> Result<T, Failure> {
    let value: i64 = plain(row, index)?;
    T::try_from(value).map_err(|_| unreadable(row, index, &format!("{value} is out of range")))
}

/// A value of its text in a column.
pub(super) fn parsed<T: FromStr<Err = String>>(row: &Row, index: usize) -> Result<T, Failure> {
    let text: &str = plain(row, index)?;
    text.parse().map_err(|error: String| unreadable(row, index, &error))
}

/// A value of its text in a column that may be NULL.
pub(super) fn parsed_optional<T: FromStr<Err = String>>(row: &Row, index: usize) -> Result<Option<T>, Failure> {
    match plain::<Option<&str>>(row, index)? {
        None => Ok(None),
        Some(_) => parsed(row, index).map(Some),
    }
}

/// A word of a column, by the function that knows the words.
pub(super) fn word<T>(row: &Row, index: usize, named: impl Fn(&str) -> Option<T>) -> Result<T, Failure> {
    let text: &str = plain(row, index)?;
    named(text).ok_or_else(|| unreadable(row, index, &format!("unknown word {text:?}")))
}

/// A word of a column that may be NULL.
pub(super) fn word_optional<T>(
    row: &Row,
    index: usize,
    named: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, Failure> {
    match plain::<Option<&str>>(row, index)? {
        None => Ok(None),
        Some(_) => word(row, index, named).map(Some),
    }
}

/// A value of its JSON in a column.
pub(super) fn json<T: serde::de::DeserializeOwned>(row: &Row, index: usize) -> Result<T, Failure> {
    let text: &str = plain(row, index)?;
    serde_json::from_str(text).map_err(|error| unreadable(row, index, &error.to_string()))
}

/// A digest of a column.
pub(super) fn digest(row: &Row, index: usize) -> Result<Digest, Failure> {
    let bytes: &[u8] = plain(row, index)?;
    Digest::from_bytes(bytes).ok_or_else(|| unreadable(row, index, &format!("a digest of {} bytes", bytes.len())))
}

/// A chunk of two columns, run and number.
pub(super) fn chunk(row: &Row, index: usize) -> Result<ChunkId, Failure> {
    Ok(ChunkId { run: parsed::<RunId>(row, index)?, number: count(row, index + 1)? })
}

/// Case and repeat of two columns.
pub(super) fn execution(row: &Row, index: usize) -> Result<ExecutionKey, Failure> {
    Ok(ExecutionKey { case: count(row, index)?, repeat: count(row, index + 1)? })
}

/// A recorded event of the columns that all event queries select.
pub(super) fn event(row: &Row) -> Result<RecordedEvent, Failure> {
    Ok(RecordedEvent {
        position: count(row, 0)?,
        stream: parsed(row, 1)?,
        version: Version(count(row, 2)?),
        id: parsed(row, 3)?,
        command: parsed(row, 4)?,
        event_type: plain(row, 5)?,
        type_version: count(row, 6)?,
        run: parsed_optional(row, 7)?,
        team: text(row, 8)?,
        payload: plain(row, 9)?,
        causation: parsed_optional(row, 10)?,
        recorded_at: InstantMs(plain(row, 11)?),
        digest: digest(row, 12)?,
    })
}

fn unreadable(row: &Row, index: usize, reason: &str) -> Failure {
    let column = row.columns().get(index).map_or("?", |column| column.name());
    Failure::new(format!("the column {column} cannot be read: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_as_it_was() {
        for text in ["", "plain", "a\0b", "\u{E000}", "\u{E000}\"x\"", "\0", "\u{202E}שלום \u{1F980}"] {
            let stored = kept(text);
            assert!(!stored.contains('\0'));
            assert_eq!(released(stored.into_owned()).expect("readable"), text);
        }
    }
}
