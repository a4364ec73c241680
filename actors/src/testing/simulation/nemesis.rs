//! The nemesis: seeded chance that strikes, a bounded number of times.

use std::collections::BTreeSet;

/// A stream of numbers that a seed repeats (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed, for one purpose.
    pub fn of(seed: u64, purpose: u64) -> Dice {
        let mut dice = Dice(seed ^ purpose.wrapping_mul(0xff51_afd7_ed55_8ccd));
        dice.roll();
        dice
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below a bound, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// Between two bounds, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// Where it may strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A unit is appended.
    Append,
    /// Something is read.
    Read,
    /// A small table is changed.
    Write,
    /// Messages are published.
    Publish,
    /// A message is acked.
    Ack,
    /// The target is called.
    Call,
    /// The target has replied.
    Reply,
    /// An answer is examined.
    Examine,
    /// A message is on its way.
    Message,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// The process dies before the deed.
    CrashBefore,
    /// The process dies after the deed.
    CrashAfter,
    /// The deed is refused: nobody answers.
    Refuse,
    /// The deed is done, and nobody hears of it.
    LoseReply,
    /// The deed takes a while, in milliseconds.
    Wait(u64),
    /// The whole process stands still, in milliseconds.
    Freeze(u64),
    /// The journal is out of the process's reach, in milliseconds.
    Cut(u64),
    /// What is committed from now on appears in the feed later, in milliseconds.
    HoldFeed(u64),
    /// A message is lost after it was confirmed.
    LoseMessage,
    /// A message comes twice.
    Repeat,
    /// A message comes later, in milliseconds.
    Delay(u64),
    /// A message is not confirmed.
    Nack,
}

/// Which faults may strike.
#[derive(Clone, Debug)]
pub struct Faults {
    any: bool,
    muted: BTreeSet<u32>,
}

impl Faults {
    /// None.
    pub fn none() -> Faults {
        Faults { any: false, muted: BTreeSet::new() }
    }

    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        !self.any
    }

    /// All that the seed has.
    pub fn all() -> Faults {
        Faults { any: true, muted: BTreeSet::new() }
    }

    /// All but some.
    pub fn without(muted: &BTreeSet<u32>) -> Faults {
        Faults { any: true, muted: muted.clone() }
    }
}

/// Seeded chance that strikes.
#[derive(Debug)]
pub struct Nemesis {
    dice: Dice,
    faults: Faults,
    /// In how many of a thousand cases.
    permille: u64,
    left: u32,
    drawn: u32,
    /// What struck: its number and its words.
    pub(super) struck: Vec<(u32, String)>,
}

impl Nemesis {
    /// The nemesis of a seed.
    pub fn of(seed: u64, faults: Faults) -> Nemesis {
        let mut dice = Dice::of(seed, 1);
        let permille = [4, 10, 25, 60][dice.below(4) as usize];
        let left = dice.between(1, 14) as u32;
        Nemesis { dice, faults, permille, left, drawn: 0, struck: vec![] }
    }

    /// Whether it strikes here, and how. `who` and `when` are for the words only.
    pub fn strike(&mut self, point: Point, who: usize, when_ms: u128) -> Option<Blow> {
        if !self.faults.any || self.left == 0 || self.dice.below(1000) >= self.permille {
            return None;
        }
        let blow = self.kind(point);
        let index = self.drawn;
        self.drawn += 1;
        self.left -= 1;
        if self.faults.muted.contains(&index) {
            return None;
        }
        self.struck.push((index, format!("{when_ms} ms: process {who}: {point:?}: {blow:?}")));
        Some(blow)
    }

    fn kind(&mut self, point: Point) -> Blow {
        let short = self.dice.between(1, 2_000);
        // Beyond a lease, and beyond a slice.
        let long = self.dice.between(8_000, 45_000);
        match point {
            Point::Message => match self.dice.below(4) {
                0 => Blow::LoseMessage,
                1 => Blow::Repeat,
                2 => Blow::Delay(long),
                _ => Blow::Nack,
            },
            Point::Append | Point::Read | Point::Write => match self.dice.below(14) {
                0..=2 => Blow::CrashBefore,
                3..=5 => Blow::CrashAfter,
                6 => Blow::Refuse,
                7..=8 => Blow::LoseReply,
                9 => Blow::Wait(short),
                10 => Blow::Cut(long),
                11 => Blow::HoldFeed(long),
                _ => Blow::Freeze(long),
            },
            Point::Publish => match self.dice.below(12) {
                0..=2 => Blow::CrashBefore,
                3..=5 => Blow::CrashAfter,
                6 => Blow::Refuse,
                7..=8 => Blow::LoseReply,
                9 => Blow::Wait(short),
                _ => Blow::Freeze(long),
            },
            Point::Ack => match self.dice.below(3) {
                0 => Blow::CrashBefore,
                1 => Blow::CrashAfter,
                _ => Blow::LoseReply,
            },
            Point::Call | Point::Reply | Point::Examine => match self.dice.below(6) {
                0..=1 => Blow::CrashBefore,
                2 => Blow::CrashAfter,
                3 => Blow::Wait(short),
                _ => Blow::Freeze(long),
            },
        }
    }
}
