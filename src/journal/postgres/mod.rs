//! The Postgres journal: one database that many processes write and read at once.
//!
//! What SQLite's single writer gives for nothing is done here by locks, in one
//! order: leases first (`FOR UPDATE` by whoever changes one, `FOR KEY SHARE` by a
//! guard), ready rows, and only then the clock is read and the heads of the streams.
//! So a guard and an expiry exclude each other, while heartbeats pass. Streams
//! need no lock: two writers of one version meet in the unique constraint, and the
//! second looks again.
//!
//! A process has one [`coordinator`]: what waits is written in one transaction of
//! three round trips, whatever the number of units. A unit that is refused by a
//! rule takes nobody with it; one that the database refuses is found by its
//! statement, or by halves, and the others are written without it.
//!
//! An outcome that nobody knows (the connection went after COMMIT was sent) is
//! settled by writing the same units again: what is there already is recognised.
//!
//! A process that writes holds an advisory lock on the name of its incarnation for
//! as long as its session lives. Whose lock is free is dead, and its leases may be
//! ended at once. Should the session of a living process be cut, others may end
//! its leases before it has its lock again: the term fences it, as after any expiry.
//!
//! What it deliberately does not do: no SQL of its own (it is in
//! [`tribunal_schema::sql::postgres`]), no NOTIFY, no ordering lock, no clock but the
//! database's. Read [`unit`] for how a unit becomes statements, [`reader`] for the feed.

mod address;
mod columns;
mod coordinator;
mod doctor;
mod error;
mod incarnation;
mod journal;
mod link;
mod place;
mod plan;
mod queues;
mod reader;
mod schema;
mod statements;
mod unit;
mod view_rows;
mod views;

pub use address::{AddressError, PostgresAddress};
pub use doctor::{Doctor, Horizon};
pub use error::OpenError;
pub use journal::PostgresJournal;
pub use reader::PostgresReader;
pub use schema::{Migrated, SchemaState, migrate};
