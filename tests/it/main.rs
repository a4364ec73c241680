//! The integration tests, in one binary: it links once, and a filter finds its test.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod cli;
mod conformance;
mod evaluator;
mod faults;
mod kill;
mod mutants;
mod postgres;
mod rabbit;
mod simulation;
mod sqlite_store;
mod tidy;
mod world;
