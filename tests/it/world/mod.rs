//! The world of the end-to-end tests: a bench with a dataset, a profile, an agent
//! in a process of its own, and the binary as a child that can be killed.
//!
//! Nothing here asserts; tests do. What a test waits for is something recorded:
//! a line of the agent's log or an event of the store.

pub(crate) mod agent;
pub(crate) mod bench;
pub(crate) mod chance;
pub(crate) mod record;

pub(crate) use agent::Agent;
pub(crate) use bench::{Bench, Ended, Tribunal};
pub(crate) use chance::Chance;
pub(crate) use record::Record;

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What a test waits at most for anything: far beyond what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(180);

/// The binary on trial itself: the one that is named, else the one that was built with the tests.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("TRIBUNAL_TEST_BINARY").map_or_else(|| env!("CARGO_BIN_EXE_tribunal").into(), PathBuf::from)
}

/// Looks until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !is_so().await {
        assert!(begin.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
