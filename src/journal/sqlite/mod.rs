//! The SQLite journal: a folder that one process writes and anybody reads.
//!
//! A store is a folder with `journal.db` and `lock`. The process that writes it
//! holds an operating-system lock on `lock`, so that a second one is told who
//! is there instead of waiting; readers need no lock and see whole units only,
//! because SQLite's write-ahead log gives each of them a snapshot.
//!
//! All writing goes through one thread ([`coordinator`]) that drains what waits
//! into one transaction and gives each unit a savepoint of its own: the disk is
//! synced once for many, and a unit that is refused takes nobody with it.
//!
//! What it deliberately does not do: no SQL of its own (it is in
//! [`tribunal_schema::sql::sqlite`]), no clock of its own (instants are the
//! database's), no cache of heads or leases (the database is asked each time, so
//! that there is nothing to get out of step).
//!
//! Read [`unit`] for how a unit is written, [`rows`] for guards and rows,
//! [`reader`] for reading.

mod columns;
mod coordinator;
mod error;
mod journal;
mod leases;
mod lock;
mod outbox;
mod reader;
mod ready;
mod rows;
mod schema;
mod unit;
mod view_rows;
mod views;

pub use error::OpenError;
pub use journal::SqliteJournal;
pub use reader::SqliteReader;

/// The file of a store that holds the journal.
pub const JOURNAL_FILE: &str = "journal.db";
/// The file of a store that its writer locks.
pub const LOCK_FILE: &str = "lock";
