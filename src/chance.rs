//! Chance: new ids and noise, from the operating system.

use rand::RngExt;
use tribunal_actors::ports::chance::Chance;
use ulid::Ulid;

/// The system's clock and random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn ulid(&self) -> Ulid {
        Ulid::generate()
    }

    fn ppm(&self) -> u32 {
        rand::rng().random_range(0..=1_000_000)
    }
}
