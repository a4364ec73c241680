//! The envelope: an event as it is recorded, and the chain that binds it to
//! what came before in its stream.
//!
//! The digest of an event is SHA-256 over the previous digest of its stream (64
//! hex digits, 64 zeros for the first), a line feed, and the canonical text of
//! the envelope without what the database sets. `docs/audit.md` shows how to
//! recompute it with stock tools.

use crate::canonical::{CanonicalError, canonical_value};
use crate::digest::Digest;
use crate::ids::{CommandId, EventId, RunId, StreamId};
use crate::units::{InstantMs, Version};
use serde_json::{Map, Value};

/// An event that is to be recorded: everything but what the journal adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// `chunk.leased`
    pub event_type: &'static str,
    /// The version of the payload's shape, from 1.
    pub type_version: u32,
    /// The payload's canonical text.
    pub payload: String,
}

/// Who asked for an event, and about what: the same for all events of an append unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The command that caused it.
    pub command: CommandId,
    /// The run it is about.
    pub run: Option<RunId>,
    /// The team that owns the run.
    pub team: String,
    /// The recorded event that led to the command, where a policy issued it.
    pub causation: Option<EventId>,
}

/// An event as the journal holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    /// Its place in the journal's table; set by the database, not digested, not the feed's order everywhere.
    pub position: u64,
    /// Its stream.
    pub stream: StreamId,
    /// Its place in the stream, from 1.
    pub version: Version,
    /// Its id.
    pub id: EventId,
    /// The command that caused it.
    pub command: CommandId,
    /// `chunk.leased`
    pub event_type: String,
    /// The version of the payload's shape.
    pub type_version: u32,
    /// The run it is about.
    pub run: Option<RunId>,
    /// The team that owns the run.
    pub team: String,
    /// The payload's canonical text.
    pub payload: String,
    /// The recorded event that led to the command.
    pub causation: Option<EventId>,
    /// When, by the database's clock; not digested.
    pub recorded_at: InstantMs,
    /// The chain's digest up to and including this event.
    pub digest: Digest,
}

impl RecordedEvent {
    /// The canonical text that is digested, also one line of an export.
    pub fn canonical_text(&self) -> Result<String, CanonicalError> {
        let payload: Value =
            serde_json::from_str(&self.payload).map_err(|error| CanonicalError::NoJson(error.to_string()))?;
        let mut map = Map::new();
        map.insert("causation".into(), self.causation.map_or(Value::Null, |id| Value::String(id.to_string())));
        map.insert("command".into(), Value::String(self.command.to_string()));
        map.insert("id".into(), Value::String(self.id.to_string()));
        map.insert("payload".into(), payload);
        map.insert("run".into(), self.run.map_or(Value::Null, |id| Value::String(id.to_string())));
        map.insert("stream".into(), Value::String(self.stream.to_string()));
        map.insert("team".into(), Value::String(self.team.clone()));
        map.insert("type".into(), Value::String(self.event_type.clone()));
        map.insert("type_version".into(), Value::from(self.type_version));
        map.insert("version".into(), Value::from(self.version.0));
        canonical_value(&Value::Object(map))
    }
}

/// The canonical text of an envelope whose payload is canonical already: the
/// hot path, equal to [`RecordedEvent::canonical_text`] by a test.
pub fn envelope_text(stream: &StreamId, version: Version, id: EventId, origin: &Origin, event: &NewEvent) -> String {
    let mut text = String::with_capacity(event.payload.len() + 320);
    text.push_str("{\"causation\":");
    push_optional(&mut text, origin.causation.map(|id| id.to_string()));
    text.push_str(",\"command\":");
    push_quoted(&mut text, &origin.command.to_string());
    text.push_str(",\"id\":");
    push_quoted(&mut text, &id.to_string());
    text.push_str(",\"payload\":");
    text.push_str(&event.payload);
    text.push_str(",\"run\":");
    push_optional(&mut text, origin.run.map(|id| id.to_string()));
    text.push_str(",\"stream\":");
    push_quoted(&mut text, &stream.to_string());
    text.push_str(",\"team\":");
    push_quoted(&mut text, &origin.team);
    text.push_str(",\"type\":");
    push_quoted(&mut text, event.event_type);
    text.push_str(",\"type_version\":");
    text.push_str(&event.type_version.to_string());
    text.push_str(",\"version\":");
    text.push_str(&version.0.to_string());
    text.push('}');
    text
}

fn push_quoted(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).expect("a string always has a JSON form"));
}

fn push_optional(out: &mut String, text: Option<String>) {
    match text {
        Some(text) => push_quoted(out, &text),
        None => out.push_str("null"),
    }
}

/// The next digest of a chain.
pub fn chain(previous: Digest, canonical: &str) -> Digest {
    Digest::of_parts([previous.to_string().as_bytes(), b"\n", canonical.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    #[test]
    fn the_written_text_is_the_canonical_text_of_what_is_read_back() {
        let stream = StreamId::Run(RunId(Ulid::from_parts(1, 1)));
        for causation in [None, Some(EventId(Ulid::from_parts(2, 2)))] {
            let origin = Origin {
                command: CommandId(Ulid::from_parts(3, 3)),
                run: Some(RunId(Ulid::from_parts(1, 1))),
                team: "té\"am".into(),
                causation,
            };
            let event =
                NewEvent { event_type: "run.started", type_version: 1, payload: r#"{"a":1,"b":"ü\u0000"}"#.into() };
            let id = EventId::derived(origin.command, &stream, 0);
            let text = envelope_text(&stream, Version(4), id, &origin, &event);
            let recorded = RecordedEvent {
                position: 9,
                stream: stream.clone(),
                version: Version(4),
                id,
                command: origin.command,
                event_type: event.event_type.into(),
                type_version: 1,
                run: origin.run,
                team: origin.team.clone(),
                payload: event.payload.clone(),
                causation,
                recorded_at: InstantMs(5),
                digest: chain(Digest::ZERO, &text),
            };
            assert_eq!(recorded.canonical_text().expect("canonical"), text);
        }
    }

    #[test]
    fn a_chain_depends_on_what_came_before() {
        assert_ne!(chain(Digest::ZERO, "x"), chain(Digest::of(b"y"), "x"));
    }
}
