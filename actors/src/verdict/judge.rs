//! From the outcomes of one answer to its judgment.
//!
//! An execution has a score only if every required binding measured. Nothing is
//! scored on half of its evidence: one required binding without a measurement
//! leaves the execution unsettled, and the gate then asks what it might have been.
//!
//! Each level rounds down to whole parts per million: the bindings' mean to the
//! dimension's score, the dimensions' mean to the execution's. Those rounded scores
//! are the record; everything above sums them and never divides.

use tribunal_schema::evaluation::Outcome;
use tribunal_schema::profile::{Binding, Dimension, Group, Method};
use tribunal_schema::score::{DimensionScore, ExecutionOutcome, Judgment};
use tribunal_schema::units::ScorePpm;

/// Judges an answer by what its group's bindings said, one outcome per binding in the group's order.
///
/// - *Errored* if a required binding errored (or has no outcome in the list), else
///   *abstained* if one abstained; without score and dimensions.
/// - Otherwise each dimension has the minimum or the weighted mean of its required
///   bindings, and passes from its `pass_at`, by default where all of them pass.
/// - *Passed* if every dimension passes and nothing blocking measured and did not pass.
///   A blocking binding that is not required has no say where it did not measure.
/// - A group without a required binding abstains: it was never asked anything, and
///   the gate says so.
pub fn judge(group: &Group, outcomes: &[Outcome]) -> Judgment {
    let required = || group.bindings.iter().enumerate().filter(|(_, binding)| binding.required);
    let mut unsettled = if required().next().is_none() { Some(ExecutionOutcome::Abstained) } else { None };
    for (index, _) in required() {
        match outcomes.get(index) {
            Some(Outcome::Measured { .. }) => {}
            Some(Outcome::Abstained { .. }) => unsettled = unsettled.or(Some(ExecutionOutcome::Abstained)),
            Some(Outcome::Errored { .. }) | None => unsettled = Some(ExecutionOutcome::Errored),
        }
    }
    match unsettled {
        Some(outcome) => Judgment { outcome, score_ppm: None, dimensions: Vec::new() },
        None => scored(group, outcomes),
    }
}

/// The judgment where every required binding measured.
fn scored(group: &Group, outcomes: &[Outcome]) -> Judgment {
    let dimensions: Vec<Option<DimensionScore>> =
        group.dimensions.iter().map(|dimension| dimension_score(group, dimension, outcomes)).collect();
    let shares = group.dimensions.iter().zip(&dimensions).filter_map(|(dimension, score)| {
        score.as_ref().map(|score| Weighed { score: score.score_ppm, weight: dimension.weight_ppm })
    });
    let score = weighted_mean(shares);
    let blocked = group
        .bindings
        .iter()
        .zip(outcomes)
        .any(|(binding, outcome)| binding.blocking && matches!(outcome, Outcome::Measured { passed: false, .. }));
    let passed = !blocked && dimensions.iter().flatten().all(|dimension| dimension.passed);
    let outcome = if passed { ExecutionOutcome::Passed } else { ExecutionOutcome::Failed };
    Judgment { outcome, score_ppm: Some(score), dimensions }
}

/// A dimension's score; `None` where it has no required binding.
fn dimension_score(group: &Group, dimension: &Dimension, outcomes: &[Outcome]) -> Option<DimensionScore> {
    let measured: Vec<(Weighed, bool)> = group
        .bindings
        .iter()
        .zip(outcomes)
        .filter(|(binding, _)| counts_in(binding, dimension))
        .filter_map(|(binding, outcome)| match outcome {
            Outcome::Measured { score_ppm, passed, .. } => {
                Some((Weighed { score: *score_ppm, weight: binding.weight_ppm }, *passed))
            }
            Outcome::Abstained { .. } | Outcome::Errored { .. } => None,
        })
        .collect();
    let shares = || measured.iter().map(|(share, _)| *share);
    let lowest = shares().map(|share| share.score).min()?;
    let score_ppm = match dimension.method {
        Method::Min => lowest,
        Method::WeightedMean => weighted_mean(shares()),
    };
    let passed = match dimension.pass_at {
        Some(pass_at) => score_ppm >= pass_at,
        None => measured.iter().all(|(_, passed)| *passed),
    };
    Some(DimensionScore { score_ppm, passed })
}

/// Whether a binding counts in the score of a dimension.
pub(super) fn counts_in(binding: &Binding, dimension: &Dimension) -> bool {
    binding.required && binding.dimension == dimension.name
}

#[derive(Clone, Copy)]
struct Weighed {
    score: ScorePpm,
    weight: u64,
}

/// The mean by weight, rounded down. Where all weights are zero there is nothing to
/// prefer, and all count alike. Of nothing: zero; callers have at least one.
fn weighted_mean(shares: impl Iterator<Item = Weighed> + Clone) -> ScorePpm {
    let weight_sum: u128 = shares.clone().map(|share| u128::from(share.weight)).sum();
    let weight = |share: &Weighed| if weight_sum == 0 { 1 } else { u128::from(share.weight) };
    let whole: u128 = shares.clone().map(|share| weight(&share)).sum();
    let part: u128 = shares.map(|share| weight(&share) * u128::from(share.score.ppm())).sum();
    match part.checked_div(whole) {
        Some(mean) => ScorePpm::saturating(u64::try_from(mean).expect("a mean of scores is at most one million")),
        None => ScorePpm::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::testbed::{abstained, binding, dimension, errored, group, measured, ppm};

    fn one(method: Method, pass_at: Option<u32>) -> Dimension {
        Dimension { method, pass_at: pass_at.map(ppm), ..dimension("d") }
    }

    fn pair(of: Dimension) -> Group {
        group("g", vec![binding("a", "d"), binding("b", "d")], vec![of])
    }

    #[test]
    fn an_execution_is_scored_only_if_every_required_binding_measured() {
        use ExecutionOutcome::{Abstained, Errored, Passed};
        let group = pair(one(Method::WeightedMean, None));
        let full = || measured(1_000_000, true);
        for (a, b, outcome) in [
            (full(), full(), Passed),
            (full(), abstained(), Abstained),
            (full(), errored(), Errored),
            (abstained(), errored(), Errored),
            (errored(), abstained(), Errored),
            (abstained(), abstained(), Abstained),
        ] {
            let judgment = judge(&group, &[a, b]);
            assert_eq!(judgment.outcome, outcome);
            assert_eq!(judgment.score_ppm.is_some(), outcome.is_scored());
            assert_eq!(judgment.dimensions.is_empty(), !outcome.is_scored());
        }
    }

    #[test]
    fn an_outcome_that_is_not_there_is_errored_and_never_scored() {
        let judgment = judge(&pair(one(Method::Min, None)), &[measured(1_000_000, true)]);
        assert_eq!(judgment.outcome, ExecutionOutcome::Errored);
    }

    #[test]
    fn a_binding_that_is_not_required_is_never_scored() {
        let mut group = pair(one(Method::Min, None));
        group.bindings[1].required = false;
        for shown in [measured(0, false), abstained(), errored()] {
            let judgment = judge(&group, &[measured(1_000_000, true), shown]);
            assert_eq!(judgment.outcome, ExecutionOutcome::Passed);
            assert_eq!(judgment.score_ppm, Some(ScorePpm::ONE));
        }
    }

    #[test]
    fn a_group_without_a_required_binding_abstains() {
        let mut none_required = pair(one(Method::Min, None));
        none_required.bindings.iter_mut().for_each(|binding| binding.required = false);
        let full = [measured(1_000_000, true), measured(1_000_000, true)];
        assert_eq!(judge(&none_required, &full).outcome, ExecutionOutcome::Abstained);
        assert_eq!(judge(&group("g", Vec::new(), Vec::new()), &[]).outcome, ExecutionOutcome::Abstained);
    }

    #[test]
    fn a_dimension_is_the_lowest_or_the_weighted_mean_of_its_bindings() {
        let outcomes = [measured(1_000_000, true), measured(400_000, false)];
        let mut weighted = pair(one(Method::WeightedMean, None));
        weighted.bindings[0].weight_ppm = 3_000_000;
        assert_eq!(judge(&weighted, &outcomes).score_ppm, Some(ppm(850_000)));
        assert_eq!(judge(&pair(one(Method::Min, None)), &outcomes).score_ppm, Some(ppm(400_000)));
    }

    #[test]
    fn a_weight_of_zero_counts_only_where_all_weights_are_zero() {
        let outcomes = [measured(1_000_000, true), measured(0, true)];
        let mut group = pair(one(Method::WeightedMean, None));
        group.bindings[1].weight_ppm = 0;
        assert_eq!(judge(&group, &outcomes).score_ppm, Some(ScorePpm::ONE));
        group.bindings[0].weight_ppm = 0;
        assert_eq!(judge(&group, &outcomes).score_ppm, Some(ppm(500_000)));
    }

    #[test]
    fn the_largest_weights_do_not_overflow() {
        let mut group = pair(one(Method::WeightedMean, None));
        group.bindings.iter_mut().for_each(|binding| binding.weight_ppm = u64::MAX);
        let outcomes = [measured(1_000_000, true), measured(0, true)];
        assert_eq!(judge(&group, &outcomes).score_ppm, Some(ppm(500_000)));
    }

    #[test]
    fn a_dimension_passes_from_its_pass_at_even_where_a_binding_does_not() {
        for (pass_at, passes) in [(500_001, false), (500_000, true), (499_999, true)] {
            let group = pair(one(Method::WeightedMean, Some(pass_at)));
            let judgment = judge(&group, &[measured(1_000_000, true), measured(0, false)]);
            assert_eq!(judgment.outcome == ExecutionOutcome::Passed, passes, "{pass_at}");
            assert_eq!(judgment.dimensions[0].map(|d| d.passed), Some(passes), "{pass_at}");
        }
    }

    #[test]
    fn without_pass_at_a_dimension_passes_where_all_its_bindings_do() {
        let group = pair(one(Method::WeightedMean, None));
        let both = judge(&group, &[measured(300_000, true), measured(300_000, true)]);
        let only_one = judge(&group, &[measured(900_000, true), measured(900_000, false)]);
        assert_eq!(both.outcome, ExecutionOutcome::Passed);
        assert_eq!(only_one.outcome, ExecutionOutcome::Failed);
    }

    #[test]
    fn a_blocking_binding_fails_the_execution_whatever_the_score() {
        for required in [true, false] {
            let mut group = pair(one(Method::WeightedMean, Some(0)));
            let outcomes = [measured(1_000_000, true), measured(999_999, false)];
            assert_eq!(judge(&group, &outcomes).outcome, ExecutionOutcome::Passed);
            group.bindings[1].blocking = true;
            group.bindings[1].required = required;
            assert_eq!(judge(&group, &outcomes).outcome, ExecutionOutcome::Failed, "required: {required}");
        }
    }

    #[test]
    fn a_blocking_binding_that_is_not_required_has_no_say_where_it_did_not_measure() {
        let mut group = pair(one(Method::WeightedMean, None));
        group.bindings[1].blocking = true;
        group.bindings[1].required = false;
        for silent in [abstained(), errored()] {
            assert_eq!(judge(&group, &[measured(1_000_000, true), silent]).outcome, ExecutionOutcome::Passed);
        }
    }

    #[test]
    fn an_execution_is_the_mean_of_its_dimensions_by_weight_and_passes_where_all_do() {
        let heavy = Dimension { weight_ppm: 3_000_000, ..dimension("x") };
        let group = group("g", vec![binding("a", "x"), binding("b", "y")], vec![heavy, dimension("y")]);
        let judgment = judge(&group, &[measured(1_000_000, true), measured(0, false)]);
        assert_eq!(judgment.score_ppm, Some(ppm(750_000)));
        assert_eq!(judgment.outcome, ExecutionOutcome::Failed);
        assert_eq!(judgment.dimensions.iter().flatten().filter(|d| d.passed).count(), 1);
    }

    #[test]
    fn a_dimension_without_a_required_binding_has_no_score_and_no_say() {
        let mut group = group("g", vec![binding("a", "x"), binding("b", "y")], vec![dimension("x"), dimension("y")]);
        group.bindings[1].required = false;
        group.dimensions[1].blocking = true;
        let judgment = judge(&group, &[measured(1_000_000, true), measured(0, false)]);
        assert_eq!(judgment.dimensions[1], None);
        assert_eq!(judgment.score_ppm, Some(ScorePpm::ONE));
        assert_eq!(judgment.outcome, ExecutionOutcome::Passed);
    }
}
