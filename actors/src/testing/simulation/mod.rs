//! The simulation: the real shell - directory, aggregates, supervisors, worker pool -
//! of several processes over a journal, a broker, a target and a clock in memory, in one
//! thread and in virtual time, so that one seed is one schedule.
//!
//! A [`plug`] is between each process and its ports. The [`nemesis`] sits there: at any
//! append, read, publish, ack, call, reply or examination it may let the process crash
//! before or after the deed, refuse the deed, do it and lose the reply, make it wait, cut the process off, or
//! freeze the process past its leases and let it go on. It loses, repeats, delays and
//! refuses messages, and holds the feed back. A crashed process never comes back from
//! its next port; another one starts in its place, under a new name.
//!
//! What the target answers depends on case, repeat and attempt only, never on how
//! often it was asked. So the same seed is played twice: once in peace, and once not; what
//! came of it must be the same, unless a recovery limit, a person or the quarantine of an
//! unsafe target is recorded as the reason why not. [`invariants`] says what else must hold.
//!
//! To add a fault: a variant of [`nemesis::Blow`], a weight in `Nemesis::kind`, and its meaning in
//! [`plug`]. To add an invariant: a function in [`invariants`] over the tables and the calls.
//! A seed that fails is played again with its faults taken away one by one, as long as it
//! still fails; what is left is printed with the way to repeat it.

mod broker;
pub mod invariants;
pub mod nemesis;
mod plug;
mod scenario;
mod target;
mod world;

pub use scenario::Scenario;
pub use world::{Played, play};

use nemesis::Faults;
use std::collections::BTreeSet;

/// Times a failing seed is played again to find what it needs to fail.
const SHRINK_MAX: usize = 60;

/// A seed that broke a promise.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The seed.
    pub seed: u64,
    /// What was broken.
    pub what: String,
    /// The faults that it takes, as few as were found.
    pub faults: Vec<String>,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.what)?;
        for fault in &self.faults {
            writeln!(f, "  {fault}")?;
        }
        write!(f, "again: TRIBUNAL_SIM_SEED={} cargo test --workspace simulation", self.seed)
    }
}

/// Plays a seed in peace and with faults, and compares. Gives how many faults struck.
///
/// # Errors
/// With the first broken promise, and the fewest faults that were found to break it.
pub fn examine(seed: u64) -> Result<usize, Broken> {
    let scenario = Scenario::of(seed);
    let (what, played) = match try_with(&scenario, Faults::all()) {
        Ok(struck) => return Ok(struck),
        Err(broken) => broken,
    };
    let (what, faults) = shrink(&scenario, what, played);
    Err(Broken { seed, what, faults })
}

type Failed = (String, Vec<(u32, String)>);

fn try_with(scenario: &Scenario, faults: Faults) -> Result<usize, Failed> {
    let peace = play(scenario, Faults::none());
    if let Err(what) = &peace.ending {
        return Err((format!("in peace: {what}"), vec![]));
    }
    let war = play(scenario, faults);
    let judged = match &war.ending {
        Ok(()) => invariants::equal_results(&peace, &war),
        Err(what) => Err(what.clone()),
    };
    match judged {
        Ok(()) => Ok(war.struck.len()),
        Err(what) => Err((what, war.struck)),
    }
}

/// Takes faults away one by one, as long as the seed still fails.
fn shrink(scenario: &Scenario, mut what: String, mut struck: Vec<(u32, String)>) -> (String, Vec<String>) {
    let mut muted = BTreeSet::new();
    let mut candidates: Vec<u32> = struck.iter().rev().map(|(index, _)| *index).collect();
    candidates.truncate(SHRINK_MAX);
    for index in candidates {
        muted.insert(index);
        match try_with(scenario, Faults::without(&muted)) {
            Ok(_) => drop(muted.remove(&index)),
            Err((again, fewer)) => (what, struck) = (again, fewer),
        }
    }
    (what, struck.into_iter().map(|(_, words)| words).collect())
}
