//! An agent that misbehaves, a component that runs wild, input from the world:
//! what a run makes of them. Through the built binary, as a child behind pipes,
//! against an agent of this process whose own log is the ground truth.

pub(crate) mod bench;
mod evals;
mod evaluators;
mod limits;
#[cfg(target_os = "linux")]
mod memory;
mod responses;
mod retries;
mod secrets;
