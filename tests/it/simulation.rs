//! The deterministic simulation: many seeds, each a schedule of its own, and each
//! mutant of a guard that it must notice.
//!
//! `TRIBUNAL_SIM_SEEDS=N` plays N seeds, `TRIBUNAL_SIM_SEED=S` plays one.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tribunal_actors::testing::simulation::nemesis::Faults;
use tribunal_actors::testing::simulation::{Scenario, examine, play};

/// Seeds of the short form.
const SEEDS: u64 = 1_000;

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Plays seeds on as many threads as there are cores; the first that breaks is told.
fn play_seeds(first: u64, count: u64) {
    let (next, struck, broken) = (AtomicU64::new(first), AtomicUsize::new(0), AtomicBool::new(false));
    let play_some = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || broken.load(Ordering::Relaxed) {
                return Ok(());
            }
            match examine(seed) {
                Ok(faults) => drop(struck.fetch_add(faults, Ordering::Relaxed)),
                Err(failed) => {
                    broken.store(true, Ordering::Relaxed);
                    return Err(failed.to_string());
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let players: Vec<_> = (0..threads).map(|_| scope.spawn(play_some)).collect();
        players.into_iter().map(|player| player.join().expect("a seed panicked")).collect()
    });
    for outcome in outcomes {
        outcome.unwrap_or_else(|words| panic!("\n{words}\n"));
    }
    println!("{count} seeds, {} faults", struck.load(Ordering::Relaxed));
}

#[test]
fn simulation_keeps_every_promise_whatever_strikes() {
    match asked("TRIBUNAL_SIM_SEED") {
        Some(seed) => {
            // What the shell says of it: TRIBUNAL_LOG=debug.
            let filter = tracing_subscriber::EnvFilter::from_env("TRIBUNAL_LOG");
            let _ = tracing_subscriber::fmt().with_env_filter(filter).without_time().try_init();
            play_seeds(seed, 1);
        }
        None => play_seeds(0, asked("TRIBUNAL_SIM_SEEDS").unwrap_or(SEEDS)),
    }
}

#[test]
fn simulation_plays_the_same_seed_the_same_way() {
    for seed in 0..20 {
        let scenario = Scenario::of(seed);
        let (one, other) = (play(&scenario, Faults::all()), play(&scenario, Faults::all()));
        assert_eq!((one.trace, one.struck, one.results), (other.trace, other.struck, other.results), "seed {seed}");
    }
}
