//! What a seed plays: how many processes, which runs, what a person does.

use super::nemesis::Dice;
use crate::testing::plot;
use std::time::Duration;
use tribunal_schema::ids::RunId;
use tribunal_schema::profile::{Profile, SideEffects};
use ulid::Ulid;

/// What a person does to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Pauses it, and resumes it after a while.
    Pause(Duration),
    /// Cancels it.
    Cancel,
    /// Releases whatever waits in quarantine.
    Release,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its id.
    pub run: RunId,
    /// Its profile.
    pub profile: Profile,
    /// Chunks.
    pub chunks: u32,
    /// Cases a chunk.
    pub cases: u32,
    /// What a person does, and when.
    pub deed: Option<(Duration, Deed)>,
}

/// What a seed plays.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// Processes, each coordinator and worker.
    pub processes: usize,
    /// The runs.
    pub trials: Vec<Trial>,
}

impl Scenario {
    /// The scenario of a seed.
    pub fn of(seed: u64) -> Scenario {
        let mut dice = Dice::of(seed, 2);
        let processes = dice.between(1, 3) as usize;
        let trials = (0..dice.between(1, 2)).map(|number| trial(&mut dice, number)).collect();
        Scenario { seed, processes, trials }
    }
}

fn trial(dice: &mut Dice, number: u64) -> Trial {
    let side_effects = match dice.below(5) {
        0 => SideEffects::Unsafe,
        1 => SideEffects::Idempotent,
        _ => SideEffects::None,
    };
    let mut profile = plot::profile(side_effects, dice.between(2, 3) as u32, dice.between(1, 2) as u32);
    let cases = dice.between(1, 3) as u32;
    profile.chunk_size = cases;
    let deed = match dice.below(10) {
        0 => Some(Deed::Pause(Duration::from_millis(dice.between(100, 60_000)))),
        1 => Some(Deed::Cancel),
        2..=3 => Some(Deed::Release),
        _ => None,
    };
    let when = Duration::from_millis(dice.between(10, 20_000));
    Trial {
        run: RunId(Ulid::from_parts(1_000 + number, u128::from(dice.roll()))),
        profile,
        chunks: dice.between(1, 4) as u32,
        cases,
        deed: deed.map(|deed| (when, deed)),
    }
}
