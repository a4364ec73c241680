//! Journals: adapters of the journal port. One a database, none knows another;
//! the conformance suite in `tribunal-actors` says what all of them promise.
//! What they share knows no database: [`shape`], [`touched`], [`words`].

pub mod postgres;
mod shape;
pub mod sqlite;
mod touched;
mod words;
