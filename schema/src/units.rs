//! Units: the integers that events are made of. No float ever enters an event,
//! because a float does not survive every database, language and printer
//! unchanged, and a digest that changes in transit proves nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A score or rate in integer parts per million, 0..=1_000_000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(with = "u32", extend("maximum" = 1000000))]
pub struct ScorePpm(u32);

impl ScorePpm {
    /// Nothing: 0.0.
    pub const ZERO: ScorePpm = ScorePpm(0);
    /// Everything: 1.0.
    pub const ONE: ScorePpm = ScorePpm(1_000_000);

    /// A score from parts per million; `None` above one million.
    pub const fn new(ppm: u32) -> Option<ScorePpm> {
        if ppm <= 1_000_000 { Some(ScorePpm(ppm)) } else { None }
    }

    /// A score from parts per million, held within 0..=1_000_000.
    pub const fn saturating(ppm: u64) -> ScorePpm {
        if ppm >= 1_000_000 { ScorePpm::ONE } else { ScorePpm(ppm as u32) }
    }

    /// The score in parts per million, 0..=1_000_000.
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// `part / whole` in parts per million, rounded down; `None` when `whole` is zero.
    /// Rounds down so that a rate never reads as reached when it is not.
    pub fn ratio(part: u64, whole: u64) -> Option<ScorePpm> {
        if whole == 0 {
            return None;
        }
        let ppm = u128::from(part) * 1_000_000 / u128::from(whole);
        Some(ScorePpm::saturating(ppm.min(1_000_000) as u64))
    }
}

impl TryFrom<u32> for ScorePpm {
    type Error = String;
    fn try_from(ppm: u32) -> Result<Self, String> {
        ScorePpm::new(ppm).ok_or_else(|| format!("{ppm} ppm is above 1000000"))
    }
}

impl From<ScorePpm> for u32 {
    fn from(score: ScorePpm) -> u32 {
        score.0
    }
}

/// Shown as a decimal with trailing zeros removed down to three places: `0.950`, `0.333333`.
impl fmt::Display for ScorePpm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0 / 1_000_000;
        let digits = format!("{:06}", self.0 % 1_000_000);
        let mut shown = digits.as_str();
        while shown.len() > 3 && shown.ends_with('0') {
            shown = &shown[..shown.len() - 1];
        }
        write!(f, "{whole}.{shown}")
    }
}

/// A duration in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct DurationMs(pub u64);

impl DurationMs {
    /// A duration from whole seconds.
    pub const fn from_secs(secs: u64) -> DurationMs {
        DurationMs(secs * 1000)
    }

    /// The same span as a standard duration.
    pub const fn duration(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }
}

impl fmt::Display for DurationMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1000 {
            write!(f, "{} ms", self.0)
        } else if self.0.is_multiple_of(1000) {
            write!(f, "{} s", self.0 / 1000)
        } else {
            write!(f, "{}.{:01} s", self.0 / 1000, self.0 % 1000 / 100)
        }
    }
}

/// An instant as the database's clock gave it: milliseconds since the Unix epoch.
/// Adapters produce it; deciders never read a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct InstantMs(pub i64);

/// The fencing number of a lease: +1 at each grant, 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LeaseTerm(pub u64);

/// The number of events in a stream; the first event has version 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Version(pub u64);

impl Version {
    /// The version after this one.
    pub const fn next(self) -> Version {
        Version(self.0 + 1)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for LeaseTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The number of the message that offers a chunk: a claim must name the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ReadySeq(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_refuses_more_than_one() {
        assert!(ScorePpm::new(1_000_000).is_some());
        assert!(ScorePpm::new(1_000_001).is_none());
        assert!(serde_json::from_str::<ScorePpm>("1000001").is_err());
    }

    #[test]
    fn ratio_rounds_down_and_has_no_answer_for_nothing() {
        assert_eq!(ScorePpm::ratio(2, 3).map(ScorePpm::ppm), Some(666_666));
        assert_eq!(ScorePpm::ratio(0, 0), None);
    }

    #[test]
    fn score_is_shown_as_a_decimal() {
        assert_eq!(ScorePpm::ONE.to_string(), "1.000");
        assert_eq!(ScorePpm::saturating(333_333).to_string(), "0.333333");
    }
}
