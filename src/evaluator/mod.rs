//! # Evaluators: where the answers are examined
//!
//! Every evaluator is a Wasm component of the world in `schema/wit/evaluator.wit`,
//! the standard ones too. This room compiles them, holds them to their limits,
//! and turns what they return into reports, or into an error with its class.
//! It does not score, and it knows nothing of runs, journals or targets.
//!
//! An evaluator is a stranger's code. So it never shares anything:
//! - **Compiling** an unknown component happens in a child process with limits
//!   of memory and time ([`compile`]), because no limit of the run time covers it.
//! - **Each call has a fresh store** with bounded memory, tables, instances,
//!   fuel, time, log and report ([`limits`], [`sandbox`]).
//! - **At most N stores live at once** in the process, whoever asks: a store can
//!   be made only under a [`sandbox::Permit`].
//! - **One binding's failure is its own**: the others of the case go on.
//!
//! The door is [`Catalog`]: it resolves the references of a profile, keeps the
//! loaded components by digest, and is the adapter of the port `Evaluators`.
//! [`standard`] holds the embedded component; [`inspect`] is what the command
//! `tribunal evaluator` shows.

pub mod bindings;
pub mod cache;
pub mod catalog;
pub mod compile;
pub mod component;
pub mod config;
pub mod engine;
pub mod examine;
pub mod inspect;
pub mod limits;
pub mod reference;
pub mod report;
pub mod sandbox;
pub mod standard;

pub use catalog::{Catalog, ComponentSource, Options, Resolution};
pub use compile::{COMPILE_SUBCOMMAND, compile_child_main};
pub use config::ConfigProblem;
pub use limits::Limits;
pub use reference::ReferenceError;
