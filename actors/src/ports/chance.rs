//! The chance port: ids and noise. The only source of what is not decided.

use ulid::Ulid;

/// Where new ids and noise come from.
pub trait Chance: Send + Sync {
    /// A new id, unique in the world.
    fn ulid(&self) -> Ulid;
    /// Noise, 0..=1_000_000.
    fn ppm(&self) -> u32;
}
