//! From decided events to an append unit: events, and the rows and views that follow from them.

use super::execute::CommandError;
use super::live::Live;
use crate::decider::{Decider, Step};
use crate::ports::journal::{AppendUnit, Expected, Guard, Row, StreamAppend};
use tribunal_schema::envelope::Origin;
use tribunal_schema::events::DomainEvent;
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{InstantMs, Version};

/// Collects what is written together.
#[derive(Clone, Debug)]
pub struct UnitBuilder {
    unit: AppendUnit,
}

impl UnitBuilder {
    /// An empty unit.
    pub fn new(origin: Origin) -> UnitBuilder {
        UnitBuilder { unit: AppendUnit { origin, appends: vec![], guards: vec![], rows: vec![], views: vec![] } }
    }

    /// Adds guards.
    pub fn guards(mut self, guards: Vec<Guard>) -> UnitBuilder {
        self.unit.guards.extend(guards);
        self
    }

    /// Adds rows before those of the events that are added later.
    pub fn rows(mut self, rows: Vec<Row>) -> UnitBuilder {
        self.unit.rows.extend(rows);
        self
    }

    /// Adds the events of one stream, with their rows and views.
    pub fn stream<D: Decider>(
        mut self,
        stream: &StreamId,
        live: &Live<D>,
        events: &[D::Event],
    ) -> Result<UnitBuilder, CommandError> {
        let mut before = live.state.clone();
        let mut version = live.head.version;
        for event in events {
            version = version.next();
            // The real instant is known after the append only; rows and views depend on none.
            let after = D::evolve(before.clone(), event, InstantMs(i64::MAX))
                .map_err(|illegal| CommandError::Bug(format!("{stream} decided what it does not allow: {illegal}")))?;
            let step = Step { stream, version, before: &before, event, after: &after };
            self.unit.rows.extend(D::rows(&step));
            self.unit.views.extend(D::views(&step));
            before = after;
        }
        let events = events.iter().map(DomainEvent::encode).collect();
        let expected = Expected::Version(Version(live.head.version.0));
        self.unit.appends.push(StreamAppend { stream: stream.clone(), expected, events });
        Ok(self)
    }

    /// The unit.
    pub fn build(self) -> AppendUnit {
        self.unit
    }
}
