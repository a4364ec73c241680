//! Testing: what proves adapters and decisions, for tests only (feature `testing`).
//!
//! [`conformance`] holds every journal to its port's promises, [`journal`] is the one that
//! keeps them in memory. The rest is what
//! decisions are told with: a small run of made-up cases, and a scene in which a
//! decider is asked and believed.

#[cfg(feature = "testing")]
pub mod conformance;
#[cfg(feature = "testing")]
pub mod journal;
mod plot;
mod scene;
#[cfg(feature = "testing")]
pub mod simulation;

pub use plot::{
    DAY, GRANT, HOLDER, answered, attempt_id, by, failed, judged, outcome, page, pin, planned, profile, result, run_id,
    seeded, settled,
};
pub use scene::Scene;
