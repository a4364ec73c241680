//! The append unit: what is written together, and what must hold meanwhile.

use super::Row;
use tribunal_schema::envelope::{NewEvent, Origin, RecordedEvent};
use tribunal_schema::ids::{AttemptId, ChunkId, GrantId, StreamId};
use tribunal_schema::units::{LeaseTerm, Version};
use tribunal_schema::view::ViewChange;

/// What is written together.
#[derive(Clone, Debug)]
pub struct AppendUnit {
    /// Who asked for it, and about what.
    pub origin: Origin,
    /// Events, per stream; a stream occurs once.
    pub appends: Vec<StreamAppend>,
    /// What must hold.
    pub guards: Vec<Guard>,
    /// Rows of the small tables, in order.
    pub rows: Vec<Row>,
    /// Changes of views, in order.
    pub views: Vec<ViewChange>,
}

/// Events for one stream.
#[derive(Clone, Debug)]
pub struct StreamAppend {
    /// The stream.
    pub stream: StreamId,
    /// Where it must stand.
    pub expected: Expected,
    /// The events, in order; at least one.
    pub events: Vec<NewEvent>,
}

/// Where a stream must stand before an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// At this version; 0 = it must not exist.
    Version(Version),
    /// Anywhere: for late records that rest on no state.
    Any,
}

/// What must hold in the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The chunk's lease is live: this term and grant, not expired, not past its hard deadline.
    Lease {
        /// The chunk.
        chunk: ChunkId,
        /// The term.
        term: LeaseTerm,
        /// The grant.
        grant: GrantId,
    },
    /// The attempt's stream stands at this version, 0 = it does not exist; otherwise the unit is
    /// an [`AppendError::Conflict`]. For a unit that rests on a stream it does not write.
    Attempt {
        /// The attempt.
        attempt: AttemptId,
        /// The version.
        version: Version,
    },
}

/// A unit that was written.
#[derive(Clone, Debug)]
pub struct Appended {
    /// Its events, in the unit's order.
    pub events: Vec<RecordedEvent>,
}
