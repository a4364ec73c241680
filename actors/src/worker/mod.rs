//! The worker: claims chunks and puts their cases to the target.
//!
//! A delivery is held unacked while the chunk is worked on; the lease, not the
//! message, is the authority. `pool` consumes deliveries and keeps the leases
//! alive, `process` works through one chunk, `trial` is one attempt from permit to
//! judgment, `docket` is what is known of a run in this process: its plan, its
//! target, and what it has cost; `breaker` says whether the target is still worth asking.

mod breaker;
mod docket;
mod pool;
mod process;
mod trial;

pub use docket::{RunAdapters, TargetSetup};
pub use pool::{Worker, start};
