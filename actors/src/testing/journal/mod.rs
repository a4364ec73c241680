//! The journal in memory: what every adapter promises, with nothing behind it.
//!
//! For the deterministic simulation, in which several processes share one set of
//! tables, and as the third journal of the conformance suite: a promise that is kept
//! here without a database is one of the port and not of a database. It knows no
//! thread, no file and no chance; its clock is tokio's, so that under paused time
//! an hour passes at once. Everything is kept in order, and nothing depends on a hash.
//!
//! [`tables`] is what it holds, [`unit`] how a unit is written, [`rows`] what its rows do, [`port`] and [`reader`]
//! the rest of the port.

mod port;
mod reader;
mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod unit;

pub use port::{Begun, MemoryJournal};
pub use tables::{Lease, Outbox, Ready, Tables};
