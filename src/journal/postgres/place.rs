//! Where a unit finds its streams: where it expects them, elsewhere, or written by itself.

use super::columns;
use super::error::Stop;
use super::plan::{Ground, Head};
use deadpool_postgres::Object;
use std::collections::HashMap;
use tokio_postgres::Row;
use tribunal_actors::mutant::Mutant;
use tribunal_actors::ports::journal::{AppendError, AppendUnit, Expected, Failure, Guard, StreamAppend};
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{CommandId, EventId, StreamId};
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::Version;

/// What a unit finds.
pub(super) enum Found {
    /// Its own events, all of them.
    Written(Vec<RecordedEvent>),
    /// Its streams where it expects them.
    Fresh,
    /// Something else.
    Refused(AppendError),
}

/// What one append finds.
enum Place {
    Written(Vec<RecordedEvent>),
    Fresh,
    Moved { expected: Version, actual: Version },
}

/// Whether a unit rests on a stream that another one of the batch writes.
pub(super) fn waits(ground: &Ground, unit: &AppendUnit) -> bool {
    let guarded = unit.guards.iter().any(|guard| match guard {
        Guard::Attempt { attempt, .. } => ground.is_written(&StreamId::Attempt(*attempt)),
        Guard::Lease { .. } => false,
    });
    guarded || unit.appends.iter().any(|append| ground.is_written(&append.stream))
}

/// Looks where the streams of a unit stand.
pub(super) async fn find(
    connection: &Object,
    ground: &Ground,
    unit: &AppendUnit,
    mutant: Option<Mutant>,
) -> Result<Found, Stop> {
    let mut places = Vec::with_capacity(unit.appends.len());
    for append in &unit.appends {
        let head = ground.head(&append.stream);
        match place(connection, head, unit.origin.command, append, mutant).await? {
            Ok(place) => places.push(place),
            Err(error) => return Ok(Found::Refused(error)),
        }
    }
    if !places.is_empty() && places.iter().all(|place| matches!(place, Place::Written(_))) {
        let events = places.into_iter().flat_map(|place| match place {
            Place::Written(events) => events,
            Place::Fresh | Place::Moved { .. } => vec![],
        });
        return Ok(Found::Written(events.collect()));
    }
    // A unit of which only a part is written is another unit of the same command.
    for (append, place) in unit.appends.iter().zip(places) {
        let (expected, actual) = match place {
            Place::Fresh => continue,
            Place::Moved { expected, actual } => (expected, actual),
            Place::Written(events) => {
                let version = |event: Option<&RecordedEvent>| event.map_or(Version(0), |event| event.version);
                (Version(version(events.first()).0.saturating_sub(1)), version(events.last()))
            }
        };
        return Ok(Found::Refused(AppendError::Conflict { stream: append.stream.clone(), expected, actual }));
    }
    Ok(Found::Fresh)
}

async fn place(
    connection: &Object,
    head: Head,
    command: CommandId,
    append: &StreamAppend,
    mutant: Option<Mutant>,
) -> Result<Result<Place, AppendError>, Stop> {
    let expected = match append.expected {
        Expected::Version(version) => version,
        Expected::Any => match first_event_version(connection, head, command, append).await? {
            Some(first) => Version(first.0 - 1),
            None => return Ok(Ok(Place::Fresh)),
        },
    };
    if head.version > expected
        && mutant != Some(Mutant::RedeliveryNotIdempotent)
        && let Some(events) = written(connection, command, append, expected).await?
    {
        return Ok(Ok(Place::Written(events)));
    }
    if head.version != expected {
        return Ok(Ok(Place::Moved { expected, actual: head.version }));
    }
    if head.command == Some(command) {
        let reason = format!("command {command} has written to stream {} already", append.stream);
        return Ok(Err(AppendError::Invalid(reason)));
    }
    Ok(Ok(Place::Fresh))
}

/// Where the first event of an append that may stand anywhere was written before.
async fn first_event_version(
    connection: &Object,
    head: Head,
    command: CommandId,
    append: &StreamAppend,
) -> Result<Option<Version>, Stop> {
    if head.version == Version(0) {
        return Ok(None);
    }
    let first = EventId::derived(command, &append.stream, 0).to_string();
    let find = connection.prepare_cached(sql::EVENT_FIND).await?;
    let found = connection.query_opt(&find, &[&append.stream.to_string(), &first]).await?;
    let version = found.map(|row| columns::count(&row, 0)).transpose();
    version.map(|version| version.map(Version)).map_err(|failure| Stop::Again(failure.message))
}

/// The events behind `expected`, if they are exactly those that the append would write there.
async fn written(
    connection: &Object,
    command: CommandId,
    append: &StreamAppend,
    expected: Version,
) -> Result<Option<Vec<RecordedEvent>>, Stop> {
    let page = connection.prepare_cached(sql::STREAM_PAGE).await?;
    let after = i64::try_from(expected.0).unwrap_or(i64::MAX);
    let count = append.events.len() as i64;
    let rows = connection.query(&page, &[&append.stream.to_string(), &after, &count]).await?;
    let stored: Result<Vec<RecordedEvent>, Failure> = rows.iter().map(columns::event).collect();
    let stored = stored.map_err(|failure| Stop::Again(failure.message))?;
    let same = stored.len() == append.events.len()
        && stored.iter().zip(&append.events).enumerate().all(|(index, (stored, event))| {
            stored.id == EventId::derived(command, &append.stream, index)
                && stored.event_type == event.event_type
                && stored.type_version == event.type_version
                && stored.payload == event.payload
        });
    Ok(same.then_some(stored))
}

/// Gives events the positions that the database returned.
pub(super) fn number(events: &mut [RecordedEvent], rows: &[Row]) -> Result<(), Failure> {
    let mut positions = HashMap::with_capacity(rows.len());
    for row in rows {
        let key: (String, u64) = (columns::plain(row, 1)?, columns::count(row, 2)?);
        positions.insert(key, columns::count::<u64>(row, 0)?);
    }
    for event in events {
        let position = positions.get(&(event.stream.to_string(), event.version.0));
        event.position = *position.ok_or_else(|| Failure::new("the database returned no position"))?;
    }
    Ok(())
}
