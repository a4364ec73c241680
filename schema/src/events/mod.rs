//! Events: everything that can happen, as it is recorded for ever.
//!
//! One file a stream category; one struct an event, named as a past
//! participle. To add an event: write its struct and its line in the `events!`
//! table of its category, handle it in the category's decider (the compiler
//! asks), run `scripts/bless-schemas` for its JSON Schema and golden file, and
//! say in ARCHITECTURE.md if it is a new promise. To change one: never; add a
//! version and an upcaster ([`crate::codec`]).

mod attempt;
mod chunk;
mod operator;
mod run;

pub use attempt::*;
pub use chunk::*;
pub use operator::*;
pub use run::*;

use crate::canonical::canonical_text;
use crate::codec::DecodeError;
use crate::envelope::NewEvent;

/// A closed set of events of one stream category.
pub trait DomainEvent: Sized + Clone + std::fmt::Debug + PartialEq {
    /// The category: `run`, `chunk`, `attempt`, `operator`.
    const CATEGORY: &'static str;
    /// Every type of the set with its current version.
    const TYPES: &'static [(&'static str, u32)];

    /// `chunk.leased`
    fn event_type(&self) -> &'static str;
    /// The current version of its payload's shape.
    fn type_version(&self) -> u32;
    /// The event as it is recorded.
    fn encode(&self) -> NewEvent;
    /// An event from its type and its payload in the current version's shape.
    fn decode(event_type: &str, payload: serde_json::Value) -> Result<Self, DecodeError>;
    /// The JSON Schema of each type's payload.
    fn schemas() -> Vec<(&'static str, u32, schemars::Schema)>;
}

fn encode_payload<T: serde::Serialize>(event_type: &'static str, type_version: u32, payload: &T) -> NewEvent {
    let payload = canonical_text(payload).expect("event payloads are made of integers and strings only");
    NewEvent { event_type, type_version, payload }
}

/// Declares a category: the enum, its types and versions, and its codec.
macro_rules! events {
    ($(#[$doc:meta])* $name:ident, $category:literal, { $($variant:ident($payload:ty) = $type:literal v $version:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(#[doc = concat!("`", $type, "`")] $variant($payload),)+
        }

        impl crate::events::DomainEvent for $name {
            const CATEGORY: &'static str = $category;
            const TYPES: &'static [(&'static str, u32)] = &[$(($type, $version)),+];

            fn event_type(&self) -> &'static str {
                match self { $($name::$variant(_) => $type,)+ }
            }

            fn type_version(&self) -> u32 {
                match self { $($name::$variant(_) => $version,)+ }
            }

            fn encode(&self) -> crate::envelope::NewEvent {
                match self { $($name::$variant(payload) => crate::events::encode_payload($type, $version, payload),)+ }
            }

            fn decode(event_type: &str, payload: serde_json::Value) -> Result<Self, crate::codec::DecodeError> {
                match event_type {
                    $($type => serde_json::from_value(payload).map($name::$variant).map_err(|error| {
                        crate::codec::DecodeError::Payload { event_type: event_type.into(), reason: error.to_string() }
                    }),)+
                    _ => Err(crate::codec::DecodeError::UnknownType { event_type: event_type.into(), category: $category }),
                }
            }

            fn schemas() -> Vec<(&'static str, u32, schemars::Schema)> {
                vec![$(($type, $version, schemars::schema_for!($payload))),+]
            }
        }
    };
}
use events;
