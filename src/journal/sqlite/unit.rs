//! A unit in a transaction: events, guards, rows, views - all or nothing.
//!
//! The order is fixed, so that every adapter refuses the same unit for the same
//! reason: first whether the unit is written already, then where its streams
//! stand, then guards, then events, rows in their order, views in theirs.

use super::columns::{self, integer};
use super::coordinator::Transaction;
use super::error::Stop;
use super::{rows, views};
use crate::journal::touched::Touched;
use rusqlite::{OptionalExtension, params};
use tribunal_actors::ports::journal::{AppendError, AppendUnit, Appended, Expected, StreamAppend};
use tribunal_schema::Digest;
use tribunal_schema::envelope::{NewEvent, Origin, RecordedEvent, chain, envelope_text};
use tribunal_schema::ids::{CommandId, EventId, StreamId};
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::Version;

/// Writes a unit, or finds it written.
pub(super) fn write(transaction: &Transaction<'_>, unit: &AppendUnit) -> Result<Appended, Stop> {
    let places = unit
        .appends
        .iter()
        .map(|append| place(transaction, unit.origin.command, append))
        .collect::<Result<Vec<Place>, Stop>>()?;
    if !places.is_empty() && places.iter().all(|place| matches!(place, Place::Written(_))) {
        return Ok(Appended { events: places.into_iter().flat_map(Place::into_events).collect() });
    }
    let heads = heads(&unit.appends, places)?;
    for guard in &unit.guards {
        rows::check_guard(transaction, guard)?;
    }
    let mut events = Vec::with_capacity(unit.appends.iter().map(|append| append.events.len()).sum());
    for (append, head) in unit.appends.iter().zip(heads) {
        append_stream(transaction, &unit.origin, append, head, &mut events)?;
    }
    for row in &unit.rows {
        rows::write(transaction, &unit.origin, row)?;
    }
    for change in &unit.views {
        views::write(transaction, change)?;
    }
    if unit.appends.iter().any(|append| matches!(append.stream, StreamId::Run(_))) {
        transaction.touch(Touched::RUN);
    }
    Ok(Appended { events })
}

/// The end of a stream.
#[derive(Clone, Copy)]
struct Head {
    version: Version,
    digest: Digest,
    command: Option<CommandId>,
}

/// What an append finds in its stream.
enum Place {
    /// Its own events.
    Written(Vec<RecordedEvent>),
    /// The stream where it expects it.
    Fresh(Head),
    /// The stream elsewhere.
    Moved { expected: Version, actual: Version },
}

impl Place {
    fn into_events(self) -> Vec<RecordedEvent> {
        match self {
            Place::Written(events) => events,
            Place::Fresh(_) | Place::Moved { .. } => Vec::new(),
        }
    }
}

/// Looks where a stream stands.
fn place(transaction: &Transaction<'_>, command: CommandId, append: &StreamAppend) -> Result<Place, Stop> {
    let head = stream_head(transaction, &append.stream)?;
    let expected = match append.expected {
        Expected::Version(version) => version,
        Expected::Any => match first_event_version(transaction, command, append, head)? {
            Some(first) => Version(first.0 - 1),
            None => return Ok(Place::Fresh(head)),
        },
    };
    if head.version > expected
        && let Some(events) = written(transaction, command, append, expected)?
    {
        return Ok(Place::Written(events));
    }
    if head.version != expected {
        return Ok(Place::Moved { expected, actual: head.version });
    }
    if head.command == Some(command) {
        return Err(Stop::invalid(format!("command {command} has written to stream {} already", append.stream)));
    }
    Ok(Place::Fresh(head))
}

/// Conflicts unless a stream that the unit does not write stands at a version.
pub(super) fn check_version(transaction: &Transaction<'_>, stream: &StreamId, expected: Version) -> Result<(), Stop> {
    let actual = stream_head(transaction, stream)?.version;
    if actual == expected {
        return Ok(());
    }
    Err(Stop::Unit(AppendError::Conflict { stream: stream.clone(), expected, actual }))
}

fn stream_head(transaction: &Transaction<'_>, stream: &StreamId) -> Result<Head, Stop> {
    let found = transaction
        .connection
        .prepare_cached(sql::STREAM_HEAD)?
        .query_row([stream.to_string()], |row| {
            let version = Version(columns::count(row, 0)?);
            Ok(Head { version, digest: columns::digest(row, 1)?, command: Some(columns::parsed(row, 2)?) })
        })
        .optional()?;
    Ok(found.unwrap_or(Head { version: Version(0), digest: Digest::ZERO, command: None }))
}

/// Where the first event of an append that may stand anywhere was written before.
fn first_event_version(
    transaction: &Transaction<'_>,
    command: CommandId,
    append: &StreamAppend,
    head: Head,
) -> Result<Option<Version>, Stop> {
    if head.version == Version(0) {
        return Ok(None);
    }
    let first = EventId::derived(command, &append.stream, 0);
    let version = transaction
        .connection
        .prepare_cached(sql::EVENT_FIND)?
        .query_row([append.stream.to_string(), first.to_string()], |row| columns::count(row, 0))
        .optional()?;
    Ok(version.map(Version))
}

/// The events behind `expected`, if they are exactly those that the append would write there.
fn written(
    transaction: &Transaction<'_>,
    command: CommandId,
    append: &StreamAppend,
    expected: Version,
) -> Result<Option<Vec<RecordedEvent>>, Stop> {
    let page = params![append.stream.to_string(), integer(expected.0)?, integer(append.events.len() as u64)?];
    let stored = columns::rows(transaction.connection, sql::STREAM_PAGE, page, columns::event)?;
    let same = stored.len() == append.events.len()
        && stored.iter().zip(&append.events).enumerate().all(|(index, (stored, event))| {
            stored.id == EventId::derived(command, &append.stream, index)
                && stored.event_type == event.event_type
                && stored.type_version == event.type_version
                && stored.payload == event.payload
        });
    Ok(same.then_some(stored))
}

/// The heads to append behind, or the conflict. A unit of which only a part is
/// written is another unit of the same command.
fn heads(appends: &[StreamAppend], places: Vec<Place>) -> Result<Vec<Head>, Stop> {
    let mut heads = Vec::with_capacity(places.len());
    for (append, place) in appends.iter().zip(places) {
        let (expected, actual) = match place {
            Place::Fresh(head) => {
                heads.push(head);
                continue;
            }
            Place::Moved { expected, actual } => (expected, actual),
            Place::Written(events) => {
                let last = events.last().map_or(Version(0), |event| event.version);
                (events.first().map_or(Version(0), |event| Version(event.version.0 - 1)), last)
            }
        };
        return Err(Stop::Unit(AppendError::Conflict { stream: append.stream.clone(), expected, actual }));
    }
    Ok(heads)
}

/// Appends to one stream behind its head.
fn append_stream(
    transaction: &Transaction<'_>,
    origin: &Origin,
    append: &StreamAppend,
    head: Head,
    events: &mut Vec<RecordedEvent>,
) -> Result<(), Stop> {
    let stream = append.stream.to_string();
    let run = origin.run.map(|run| run.to_string());
    let causation = origin.causation.map(|event| event.to_string());
    let command = origin.command.to_string();
    let mut insert = transaction.connection.prepare_cached(sql::EVENT_INSERT)?;
    let (mut version, mut digest) = (head.version, head.digest);
    for (index, event) in append.events.iter().enumerate() {
        version = version.next();
        let id = EventId::derived(origin.command, &append.stream, index);
        digest = chain(digest, &envelope_text(&append.stream, version, id, origin, event));
        let position = insert.insert(params![
            stream,
            append.stream.category(),
            integer(version.0)?,
            id.to_string(),
            command,
            event.event_type,
            event.type_version,
            run,
            origin.team,
            event.payload,
            causation,
            transaction.now.0,
            digest.bytes(),
        ])?;
        let position = u64::try_from(position).map_err(|_| Stop::invalid("positions are not negative"))?;
        let place = (position, version, id, digest);
        events.push(recorded(transaction, origin, append, event, place));
    }
    Ok(())
}

fn recorded(
    transaction: &Transaction<'_>,
    origin: &Origin,
    append: &StreamAppend,
    event: &NewEvent,
    (position, version, id, digest): (u64, Version, EventId, Digest),
) -> RecordedEvent {
    RecordedEvent {
        position,
        stream: append.stream.clone(),
        version,
        id,
        command: origin.command,
        event_type: event.event_type.into(),
        type_version: event.type_version,
        run: origin.run,
        team: origin.team.clone(),
        payload: event.payload.clone(),
        causation: origin.causation,
        recorded_at: transaction.now,
        digest,
    }
}
