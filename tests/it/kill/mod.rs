//! What survives what: runs that are killed, interrupted, fenced off and starved.
//!
//! The binary runs as a child against a mock agent in a process of its own. The
//! agent's call log is the ground truth of what was asked; the store is read as
//! any reader would. Moments are drawn by seeded chance, and a failure names
//! the seed.

mod anywhere;
mod bounded;
mod held;
mod interrupted;
mod outage;
mod resumed;
pub(crate) mod truth;
mod unsafe_target;
mod waiting;
