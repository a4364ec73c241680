//! Where a number may lie, given what is not known.
//!
//! A mean or rate is a fraction of two integers, and so are its lowest and highest
//! possible value. They are compared with a threshold by cross-multiplication in
//! 128 bits: 19 of 20 is 0.95 exactly, and 2 of 3 is below 0.666667 and above
//! 0.666666, whatever a display makes of it.
//!
//! The two ends of a [`Range`] are reached, not just bounds: each unsettled
//! execution (or case) may end its own way, so all may end the worst way at once.

use tribunal_schema::profile::ErrorsAs;
use tribunal_schema::score::{ConditionState, RuleTally};
use tribunal_schema::units::ScorePpm;

const ONE_PPM: u128 = 1_000_000;

/// A share: `part_ppm` / `whole` parts per million. `whole` is never zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    part_ppm: u128,
    whole: u128,
}

impl Share {
    const NOTHING: Share = Share { part_ppm: 0, whole: 1 };
    const EVERYTHING: Share = Share { part_ppm: ONE_PPM, whole: 1 };

    /// `None` of nothing.
    pub(super) fn of(part_ppm: u128, whole: u64) -> Option<Share> {
        (whole > 0).then_some(Share { part_ppm, whole: u128::from(whole) })
    }

    fn limit(self, threshold: ScorePpm) -> u128 {
        u128::from(threshold.ppm()) * self.whole
    }

    fn is_at_least(self, threshold: ScorePpm) -> bool {
        self.part_ppm >= self.limit(threshold)
    }

    fn is_at_most(self, threshold: ScorePpm) -> bool {
        self.part_ppm <= self.limit(threshold)
    }

    /// In whole parts per million, rounded down: below a threshold it also reads so.
    fn rounded_down(self) -> ScorePpm {
        shown(self.part_ppm / self.whole)
    }

    /// Rounded up: above a threshold it also reads so.
    fn rounded_up(self) -> ScorePpm {
        shown(self.part_ppm.div_ceil(self.whole))
    }
}

fn shown(ppm: u128) -> ScorePpm {
    ScorePpm::saturating(u64::try_from(ppm).unwrap_or(u64::MAX))
}

/// The lowest and the highest that a share can be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) low: Share,
    pub(super) high: Share,
}

/// Which side of a threshold is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    AtLeast,
    AtMost,
}

impl Bound {
    /// What a range means for a threshold on this side.
    pub(super) fn state(self, range: Range, threshold: ScorePpm) -> ConditionState {
        let (worst_holds, best_holds) = match self {
            Bound::AtLeast => (range.low.is_at_least(threshold), range.high.is_at_least(threshold)),
            Bound::AtMost => (range.high.is_at_most(threshold), range.low.is_at_most(threshold)),
        };
        match (worst_holds, best_holds) {
            (true, _) => ConditionState::Holds,
            (false, true) => ConditionState::Open,
            (false, false) => ConditionState::Broken,
        }
    }

    /// A share as it is shown beside a threshold: rounded so that it stands on its right side.
    pub(super) fn shown(self, share: Share) -> ScorePpm {
        match self {
            Bound::AtLeast => share.rounded_down(),
            Bound::AtMost => share.rounded_up(),
        }
    }
}

/// What has no score: errored, abstained and missing.
pub(super) fn unsettled(tally: &RuleTally) -> u64 {
    tally.errored.saturating_add(tally.abstained).saturating_add(tally.missing)
}

/// Where the mean of a score may lie whose sum over the scored is `sum_ppm`. A pass
/// rate is the mean of a score that is 1 for what passes.
///
/// Abstained and missing executions may have any score. So may errored ones, unless
/// they count as 0 (`fail`) or are left out (`exclude`). A case that may end as
/// left out pulls neither way, so at the low end it fails if it may, at the high end
/// it passes if it may, and is left out otherwise.
pub(super) fn score_range(errors_as: ErrorsAs, tally: &RuleTally, sum_ppm: u64) -> Range {
    let RuleTally { scored, either, pass_or_out, fail_or_out, .. } = *tally;
    let all = scored.saturating_add(unsettled(tally));
    let may_pass = either.saturating_add(pass_or_out);
    let may_fail = either.saturating_add(fail_or_out);
    let (low_whole, most_passes, high_whole) = match errors_as {
        ErrorsAs::Inconclusive => (all, unsettled(tally), all),
        ErrorsAs::Fail => (all, may_pass, all),
        ErrorsAs::Exclude => (scored.saturating_add(may_fail), may_pass, scored.saturating_add(may_pass)),
    };
    let sum = u128::from(sum_ppm);
    Range {
        low: Share::of(sum, low_whole).unwrap_or(Share::NOTHING),
        high: Share::of(sum + u128::from(most_passes) * ONE_PPM, high_whole).unwrap_or(Share::EVERYTHING),
    }
}

/// Where the share may lie that `count` has in the population: what is missing may
/// yet be counted, or not.
pub(super) fn evidence_range(tally: &RuleTally, count: u64) -> Range {
    let part = u128::from(count) * ONE_PPM;
    let most = part + u128::from(tally.missing) * ONE_PPM;
    Range {
        low: Share::of(part, tally.population).unwrap_or(Share::NOTHING),
        high: Share::of(most, tally.population).unwrap_or(Share::EVERYTHING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::testbed::ppm;
    use ConditionState::{Broken, Holds, Open};

    fn plain(scored: u64, errored: u64, abstained: u64, missing: u64) -> RuleTally {
        let population = scored + errored + abstained + missing;
        RuleTally {
            population,
            scored,
            errored,
            abstained,
            missing,
            either: abstained + missing,
            ..RuleTally::default()
        }
    }

    fn state(errors_as: ErrorsAs, tally: &RuleTally, passed: u64, at_least: u32) -> ConditionState {
        Bound::AtLeast.state(score_range(errors_as, tally, passed * 1_000_000), ppm(at_least))
    }

    #[test]
    fn a_threshold_is_met_exactly_at_it() {
        for (passed, at_least, expected) in
            [(18, 950_000, Broken), (19, 950_000, Holds), (19, 950_001, Broken), (20, 1_000_000, Holds), (0, 0, Holds)]
        {
            assert_eq!(state(ErrorsAs::Inconclusive, &plain(20, 0, 0, 0), passed, at_least), expected, "{passed}");
        }
    }

    #[test]
    fn thirds_are_never_rounded_before_they_are_compared() {
        let three = plain(3, 0, 0, 0);
        assert_eq!(state(ErrorsAs::Inconclusive, &three, 2, 666_666), Holds);
        assert_eq!(state(ErrorsAs::Inconclusive, &three, 2, 666_667), Broken);
        let mean = |sum| Bound::AtLeast.state(score_range(ErrorsAs::Inconclusive, &three, sum), ppm(950_000));
        assert_eq!(mean(2_849_999), Broken);
        assert_eq!(mean(2_850_000), Holds);
        assert_eq!(mean(2_850_001), Holds);
    }

    #[test]
    fn what_errored_may_be_anything_or_fails_or_is_left_out() {
        // Nine of ten scored passed eight times; one errored.
        let tally = plain(9, 1, 0, 0);
        for (errors_as, at_least, expected) in [
            (ErrorsAs::Inconclusive, 800_000, Holds),
            (ErrorsAs::Inconclusive, 800_001, Open),
            (ErrorsAs::Inconclusive, 900_000, Open),
            (ErrorsAs::Inconclusive, 900_001, Broken),
            (ErrorsAs::Fail, 800_000, Holds),
            (ErrorsAs::Fail, 800_001, Broken),
            (ErrorsAs::Exclude, 888_888, Holds),
            (ErrorsAs::Exclude, 888_889, Broken),
        ] {
            assert_eq!(state(errors_as, &tally, 8, at_least), expected, "{errors_as:?} {at_least}");
        }
    }

    #[test]
    fn what_abstained_or_is_missing_may_be_anything_under_every_policy() {
        for errors_as in [ErrorsAs::Inconclusive, ErrorsAs::Fail, ErrorsAs::Exclude] {
            for tally in [plain(9, 0, 1, 0), plain(9, 0, 0, 1)] {
                assert_eq!(state(errors_as, &tally, 8, 800_000), Holds);
                assert_eq!(state(errors_as, &tally, 8, 900_000), Open);
                assert_eq!(state(errors_as, &tally, 8, 900_001), Broken);
            }
        }
    }

    #[test]
    fn nothing_known_is_open_and_divides_by_nothing() {
        for errors_as in [ErrorsAs::Inconclusive, ErrorsAs::Exclude] {
            assert_eq!(state(errors_as, &plain(0, 5, 0, 0), 0, 500_000), Open);
            assert_eq!(state(errors_as, &RuleTally::default(), 0, 500_000), Open);
        }
    }

    #[test]
    fn an_upper_limit_is_met_exactly_at_it_and_open_while_missing_may_break_it() {
        let at_most = |errored, missing, limit| {
            let tally = plain(100 - errored - missing, errored, 0, missing);
            Bound::AtMost.state(evidence_range(&tally, errored), ppm(limit))
        };
        assert_eq!(at_most(2, 0, 20_000), Holds);
        assert_eq!(at_most(3, 0, 20_000), Broken);
        assert_eq!(at_most(2, 0, 19_999), Broken);
        assert_eq!(at_most(1, 1, 20_000), Holds);
        assert_eq!(at_most(1, 2, 20_000), Open);
    }

    #[test]
    fn what_is_shown_stands_on_the_right_side_of_its_threshold() {
        let third = Share::of(1_000_000, 3).expect("three is not zero");
        assert_eq!(Bound::AtLeast.shown(third), ppm(333_333));
        assert_eq!(Bound::AtMost.shown(third), ppm(333_334));
    }

    #[test]
    fn ten_million_executions_and_more_do_not_overflow() {
        let tally = plain(10_000_000, 0, 0, 0);
        assert_eq!(state(ErrorsAs::Inconclusive, &tally, 9_500_000, 950_000), Holds);
        assert_eq!(state(ErrorsAs::Inconclusive, &tally, 9_499_999, 950_000), Broken);
        let most = RuleTally { population: u64::MAX, missing: u64::MAX, either: u64::MAX, ..RuleTally::default() };
        let range = score_range(ErrorsAs::Inconclusive, &most, u64::MAX);
        assert_eq!(Bound::AtLeast.state(range, ScorePpm::ONE), Open);
    }
}
