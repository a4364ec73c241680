//! A unit in memory: in the order of every adapter - written already, where its
//! streams stand, guards, events, rows, views - on a copy that replaces the tables
//! when nothing refuses it.

use super::tables::Tables;
use crate::mutant::{self, Mutant};
use crate::ports::journal::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::envelope::{Origin, RecordedEvent, chain, envelope_text};
use tribunal_schema::ids::{ChunkId, CommandId, EventId, GrantId, StreamId};
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, Version};
use tribunal_schema::view::ViewChange;

/// What a unit changed that somebody may wait for.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) ready: bool,
    pub(super) outbox: bool,
    pub(super) settlement: bool,
    pub(super) intent: bool,
    pub(super) lease: bool,
    pub(super) desired: bool,
    pub(super) run: bool,
}

/// The instant a duration after another, held at the end of time.
pub(super) fn after(instant: InstantMs, duration: DurationMs) -> InstantMs {
    InstantMs(instant.0.saturating_add(i64::try_from(duration.0).unwrap_or(i64::MAX)))
}

/// Writes a unit, at the next positions or at those it has taken before; or finds it written, or says
/// why not: then nothing has changed.
pub(super) fn write(
    tables: &mut Tables,
    unit: &AppendUnit,
    taken: Option<u64>,
    now: InstantMs,
    touched: &mut Touched,
) -> Result<Appended, AppendError> {
    check_shape(unit)?;
    if let Some(events) = written(tables, unit)? {
        return Ok(Appended { events });
    }
    let mut scene = Scene { tables: tables.clone(), now, touched: Touched::default(), position: 0 };
    let events = unit.appends.iter().map(|append| append.events.len()).sum();
    scene.position = taken.unwrap_or_else(|| scene.tables.take_positions(events));
    for guard in &unit.guards {
        scene.check(guard)?;
    }
    let mut events = vec![];
    for append in &unit.appends {
        scene.append(&unit.origin, append, &mut events);
    }
    for row in &unit.rows {
        scene.row(&unit.origin, row)?;
    }
    for change in &unit.views {
        scene.view(change)?;
    }
    scene.touched.run |= unit.appends.iter().any(|append| matches!(append.stream, StreamId::Run(_)));
    (*tables, *touched) = (scene.tables, scene.touched);
    Ok(Appended { events })
}

fn check_shape(unit: &AppendUnit) -> Result<(), AppendError> {
    let mut streams = BTreeSet::new();
    for append in &unit.appends {
        if append.events.is_empty() {
            return Err(AppendError::Invalid(format!("nothing is appended to stream {}", append.stream)));
        }
        if !streams.insert(&append.stream) {
            return Err(AppendError::Invalid(format!("stream {} occurs twice", append.stream)));
        }
    }
    for row in &unit.rows {
        if let Row::BlobPut { digest, bytes } = row
            && Digest::of(bytes) != *digest
        {
            return Err(AppendError::Invalid(format!("the bytes of blob {digest} are not its bytes")));
        }
    }
    Ok(())
}

/// The unit's own events where all of them are there already; a conflict where a stream stands elsewhere.
fn written(tables: &Tables, unit: &AppendUnit) -> Result<Option<Vec<RecordedEvent>>, AppendError> {
    let mut found = vec![];
    let mut fresh = unit.appends.is_empty();
    let mut conflict = None;
    for append in &unit.appends {
        let head = tables.version(&append.stream);
        let expected = match append.expected {
            Expected::Version(version) => version,
            Expected::Any => first_of(tables, unit.origin.command, append).unwrap_or(head),
        };
        let own = if mutant::is_alive(Mutant::RedeliveryNotIdempotent) {
            None
        } else {
            own_events(tables, unit.origin.command, append, expected)
        };
        match own {
            Some(events) => {
                let (stream, actual) = (append.stream.clone(), head);
                conflict = conflict.or(Some(AppendError::Conflict { stream, expected, actual }));
                found.extend(events);
            }
            None if head != expected => {
                return Err(AppendError::Conflict { stream: append.stream.clone(), expected, actual: head });
            }
            None => {
                let last = tables.streams.get(&append.stream).and_then(|events| events.last());
                if last.is_some_and(|last| last.command == unit.origin.command) {
                    let reason = format!("the command has written to stream {} already", append.stream);
                    return Err(AppendError::Invalid(reason));
                }
                fresh = true;
            }
        }
    }
    match (fresh, conflict) {
        // A unit of which only a part is written is another unit of the same command.
        (true, Some(conflict)) => Err(conflict),
        (true, None) => Ok(None),
        (false, _) => Ok(Some(found)),
    }
}

/// The version before the first event of an append that may stand anywhere, where it is written.
fn first_of(tables: &Tables, command: CommandId, append: &StreamAppend) -> Option<Version> {
    let first = EventId::derived(command, &append.stream, 0);
    let event = tables.streams.get(&append.stream)?.iter().find(|event| event.id == first)?;
    Some(Version(event.version.0 - 1))
}

fn own_events(
    tables: &Tables,
    command: CommandId,
    append: &StreamAppend,
    expected: Version,
) -> Option<Vec<RecordedEvent>> {
    let from = usize::try_from(expected.0).ok()?;
    let stored = tables.streams.get(&append.stream)?.get(from..from + append.events.len())?;
    let same = stored.iter().zip(&append.events).enumerate().all(|(index, (stored, event))| {
        stored.id == EventId::derived(command, &append.stream, index)
            && stored.event_type == event.event_type
            && stored.type_version == event.type_version
            && stored.payload == event.payload
    });
    same.then(|| stored.iter().map(|event| (**event).clone()).collect())
}

/// The tables as the unit leaves them, until it is kept or refused.
pub(super) struct Scene {
    pub(super) tables: Tables,
    pub(super) now: InstantMs,
    pub(super) touched: Touched,
    /// Where the next event stands.
    position: u64,
}

impl Scene {
    fn check(&self, guard: &Guard) -> Result<(), AppendError> {
        match guard {
            Guard::Lease { chunk, term, grant } => self.check_live(*chunk, *term, *grant),
            Guard::Attempt { attempt, version } => {
                let stream = StreamId::Attempt(*attempt);
                let actual = self.tables.version(&stream);
                if actual == *version {
                    return Ok(());
                }
                Err(AppendError::Conflict { stream, expected: *version, actual })
            }
        }
    }

    fn check_live(&self, chunk: ChunkId, term: LeaseTerm, grant: GrantId) -> Result<(), AppendError> {
        let stale = |reason| Err(Refusal::StaleLease { chunk, term, reason }.into());
        let Some(lease) = self.tables.leases.get(&chunk) else { return stale(StaleReason::Ended) };
        if (lease.term != term || lease.grant != grant) && !mutant::is_alive(Mutant::NoTermCompare) {
            return stale(StaleReason::Replaced);
        }
        if self.now >= lease.hard_deadline_at {
            return stale(StaleReason::DeadlineReached);
        }
        if self.now >= lease.expires_at {
            return stale(StaleReason::Expired);
        }
        Ok(())
    }

    fn append(&mut self, origin: &Origin, append: &StreamAppend, events: &mut Vec<RecordedEvent>) {
        for (index, event) in append.events.iter().enumerate() {
            let stored = self.tables.streams.entry(append.stream.clone()).or_default();
            let version = Version(stored.len() as u64 + 1);
            let id = EventId::derived(origin.command, &append.stream, index);
            let before = stored.last().map_or(Digest::ZERO, |event| event.digest);
            let recorded = RecordedEvent {
                position: self.position,
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
                recorded_at: self.now,
                digest: chain(before, &envelope_text(&append.stream, version, id, origin, event)),
            };
            let kept = Arc::new(recorded.clone());
            stored.push(Arc::clone(&kept));
            // Mostly the end; a late commit stands before what others have written meanwhile.
            let place = self.tables.events.partition_point(|event| event.position < self.position);
            self.tables.events.insert(place, kept);
            self.position += 1;
            events.push(recorded);
        }
    }

    fn view(&mut self, change: &ViewChange) -> Result<(), AppendError> {
        if let ViewChange::Finding(row) = change
            && self.tables.views.findings.contains_key(&(row.attempt, row.binding.clone(), row.index))
        {
            let (binding, attempt) = (&row.binding, row.attempt);
            let reason = format!("finding {} of {binding} on attempt {attempt} is recorded already", row.index);
            return Err(AppendError::Invalid(reason));
        }
        self.touched.run |= matches!(
            change,
            ViewChange::RunPlanned { .. } | ViewChange::RunStatus { .. } | ViewChange::RunJudged { .. }
        );
        self.tables.views.apply(change, self.now);
        self.tables.view_changes.push((change.clone(), self.now));
        Ok(())
    }
}
