//! The shell around a decider: the one event-sourced actor and how callers reach it.
//!
//! A command goes through five steps, always the same: locate or load, decide,
//! append at the expected version, evolve with what was written, answer. On a
//! conflict the memory is dropped and the stream is loaded and decided anew; an
//! append whose outcome is unknown is settled by appending the identical unit
//! again, never by deciding again.
//!
//! `live` has the state and its loading, `unit` how events become an append unit,
//! `execute` the five steps as one function, `actor` the actix actor that keeps a
//! state between commands, `directory` finds or starts the actors and hides them
//! behind handles.

mod actor;
mod directory;
mod execute;
mod live;
#[cfg(all(test, feature = "testing"))]
mod tests;
mod unit;

pub use directory::{Directory, Handle};
pub use execute::{CommandError, Done, Execute, append_settled};
pub use live::{Head, Live, load};
pub use unit::UnitBuilder;
