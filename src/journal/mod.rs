//! Journals: adapters of the journal port. One a database, none knows another;
//! the conformance suite in `tribunal-actors` says what all of them promise.

pub mod sqlite;
