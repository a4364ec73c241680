//! The codec: recorded events back into typed ones, whatever version of
//! Tribunal wrote them.
//!
//! A payload whose shape changed keeps its old versions readable for ever: an
//! upcaster turns version n into n + 1, and the codec applies them one after
//! the other. A version that this build does not know, or a payload that does
//! not fit, is an error that quarantines the stream; it is never guessed over.

use crate::envelope::RecordedEvent;
use crate::events::DomainEvent;
use serde_json::Value;

/// Why a recorded event cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The type is not one of the category's.
    #[error("unknown event type {event_type} in a {category} stream")]
    UnknownType {
        /// The type.
        event_type: String,
        /// The category.
        category: &'static str,
    },
    /// The version is newer than this build knows, or has no upcaster.
    #[error("{event_type} version {found} cannot be read: this build knows up to version {known}")]
    UnknownVersion {
        /// The type.
        event_type: String,
        /// The version that was recorded.
        found: u32,
        /// The newest version that is known.
        known: u32,
    },
    /// The payload is not what its type and version promise.
    #[error("the payload of {event_type} does not fit its schema: {reason}")]
    Payload {
        /// The type.
        event_type: String,
        /// What does not fit.
        reason: String,
    },
}

/// One step of an upcaster: the payload of a type at a version, as the next version.
/// Every event is at version 1 today; the first change of a payload adds its arm here.
fn upcast(event_type: &str, version: u32, payload: Value) -> Result<Value, Value> {
    let _ = (event_type, version);
    Err(payload)
}

/// The typed event of a recorded one.
pub fn decode<E: DomainEvent>(recorded: &RecordedEvent) -> Result<E, DecodeError> {
    decode_payload(&recorded.event_type, recorded.type_version, &recorded.payload)
}

/// The typed event of a type, version and payload text.
pub fn decode_payload<E: DomainEvent>(event_type: &str, type_version: u32, payload: &str) -> Result<E, DecodeError> {
    let known = E::TYPES
        .iter()
        .find(|(known, _)| *known == event_type)
        .map(|(_, version)| *version)
        .ok_or_else(|| DecodeError::UnknownType { event_type: event_type.into(), category: E::CATEGORY })?;
    let unknown = || DecodeError::UnknownVersion { event_type: event_type.into(), found: type_version, known };
    if type_version == 0 || type_version > known {
        return Err(unknown());
    }
    let mut value: Value = serde_json::from_str(payload)
        .map_err(|error| DecodeError::Payload { event_type: event_type.into(), reason: error.to_string() })?;
    for version in type_version..known {
        value = upcast(event_type, version, value).map_err(|_| unknown())?;
    }
    E::decode(event_type, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{RunEvent, RunStarted};

    #[test]
    fn a_newer_version_is_refused_and_named() {
        let error = decode_payload::<RunEvent>("run.started", 2, "{}");
        assert_eq!(error, Err(DecodeError::UnknownVersion { event_type: "run.started".into(), found: 2, known: 1 }));
        assert_eq!(decode_payload::<RunEvent>("run.started", 1, "{}"), Ok(RunEvent::Started(RunStarted {})));
    }

    #[test]
    fn an_unknown_type_and_an_unknown_field_are_refused() {
        assert!(matches!(decode_payload::<RunEvent>("run.begun", 1, "{}"), Err(DecodeError::UnknownType { .. })));
        assert!(matches!(decode_payload::<RunEvent>("run.started", 1, r#"{"x":1}"#), Err(DecodeError::Payload { .. })));
    }
}
