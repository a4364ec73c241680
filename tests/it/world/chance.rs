//! Seeded chance: a failing test names its seed, and `TRIBUNAL_TEST_SEED` repeats it.

/// A stream of numbers that a seed repeats (SplitMix64).
pub(crate) struct Chance {
    pub(crate) seed: u64,
    state: u64,
}

impl Chance {
    /// A fresh seed, or the one that is asked for.
    pub(crate) fn new() -> Chance {
        let asked = std::env::var("TRIBUNAL_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let seed = asked.unwrap_or_else(rand::random);
        Chance { seed, state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A part of a thousand.
    pub(crate) fn permille(&mut self) -> u32 {
        u32::try_from(self.next() % 1000).expect("below 1000")
    }
}
