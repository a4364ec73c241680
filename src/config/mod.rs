//! # Configuration: datasets and profiles, read from files
//!
//! The room in which text becomes the types of `tribunal_schema::case` and
//! `tribunal_schema::profile`. Its promise to people: all that is wrong with a
//! file is said at once, with file, line and column, before the target is
//! called. Its promise to the verdict: no case is left out, no value is lost
//! or changed, no separator, encoding or meaning is guessed.
//!
//! [`dataset`] reads cases, [`profile`] reads profiles; both stand on one tree
//! of values with places ([`node`]) that [`json`] and [`yaml`] build, and
//! speak through [`problem`]. Nothing here resolves a secret, calls a target or
//! loads a component: evaluators are known through [`profile::EvaluatorCatalog`].

pub mod dataset;
pub mod json;
pub mod limits;
pub mod near;
pub mod node;
pub mod problem;
pub mod profile;
mod source;
#[cfg(test)]
pub(crate) mod testing;
pub mod yaml;

pub use dataset::{Dataset, read_dataset};
pub use problem::{Place, Problem, Problems, Warning};
pub use profile::{EvaluatorCatalog, match_cases, read_profile};
