//! The one abstraction: a decider is two pure functions and what follows from
//! its events.
//!
//! `decide` says which events a command causes in a state, or why none;
//! `evolve` is the only way a state changes, live and on replay. `rows` and
//! `views` say which rows of the small tables are written with an event: they
//! follow from the event and the states around it alone, so that a replay can
//! check them. No clock, no random, no I/O: ids and instants are inputs.

use crate::ports::journal::Row;
use std::fmt;
use tribunal_schema::events::DomainEvent;
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{InstantMs, Version};
use tribunal_schema::view::ViewChange;

/// Two pure functions over the events of one stream.
pub trait Decider: Clone + fmt::Debug + Send + Sync + Unpin + 'static {
    /// What the events so far add up to. The default is the state before the first event.
    type State: Default + Clone + fmt::Debug + Send + Sync + Unpin + 'static;
    /// What can be asked.
    type Command: Clone + fmt::Debug + Send + Sync + Unpin + 'static;
    /// What can happen.
    type Event: DomainEvent + Send + Sync + 'static;

    /// What a command causes: the events, in order. None means that it is already so.
    fn decide(state: &Self::State, command: &Self::Command) -> Result<Vec<Self::Event>, Rejection>;

    /// The state after an event that was recorded at an instant; an error when the
    /// state does not allow it, which quarantines the stream.
    fn evolve(state: Self::State, event: &Self::Event, recorded_at: InstantMs) -> Result<Self::State, Illegal>;

    /// The rows that are written with an event.
    fn rows(step: &Step<'_, Self>) -> Vec<Row>;

    /// The changes of views that are written with an event.
    fn views(step: &Step<'_, Self>) -> Vec<ViewChange>;
}

/// One event between two states.
pub struct Step<'a, D: Decider> {
    /// The stream.
    pub stream: &'a StreamId,
    /// The version of the event.
    pub version: Version,
    /// The state before.
    pub before: &'a D::State,
    /// The event.
    pub event: &'a D::Event,
    /// The state after.
    pub after: &'a D::State,
}

/// A rule said no. The text names the thing and the values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The thing does not exist.
    #[error("{0} does not exist")]
    Unknown(&'static str),
    /// What exists contradicts what was asked.
    #[error("{0}")]
    Contradiction(String),
    /// It is over.
    #[error("{0} is over: {1}")]
    Over(&'static str, String),
    /// The state does not allow it now.
    #[error("{0}")]
    NotNow(String),
    /// The command was made under a term that has ended.
    #[error("term {claimed} is over, the chunk is at term {current}")]
    StaleTerm {
        /// The command's term.
        claimed: u64,
        /// The current one.
        current: u64,
    },
    /// The message was superseded.
    #[error("ready number {claimed} was superseded by {current}")]
    Superseded {
        /// The command's number.
        claimed: u64,
        /// The current one.
        current: u64,
    },
    /// The attempt is not the execution's current one.
    #[error("attempt {attempt} is not the current one of {execution}")]
    NotCurrentAttempt {
        /// The attempt.
        attempt: String,
        /// The execution.
        execution: String,
    },
}

/// An event that its state does not allow: somebody wrote what no decision made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not allowed here: {reason}")]
pub struct Illegal {
    /// The event's type.
    pub event: &'static str,
    /// Why not.
    pub reason: String,
}

impl Illegal {
    /// An illegal event and why.
    pub fn new(event: &impl DomainEvent, reason: impl Into<String>) -> Illegal {
        Illegal { event: event.event_type(), reason: reason.into() }
    }
}
