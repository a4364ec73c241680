//! What must be true of every run, tried on thousands.

use super::testbed::{End, facts, per_case, ppm, profile, results};
use super::{Calls, CaseFacts, Facts, add, gate, judge, tally};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tribunal_schema::ids::ExecutionKey;
use tribunal_schema::profile::{ErrorsAs, Method, Profile, Rule};
use tribunal_schema::score::{ConditionState, ExecutionOutcome, ExecutionResult, Tally, Verdict};
use tribunal_schema::units::ScorePpm;

type Results = BTreeMap<ExecutionKey, ExecutionResult>;
type Cases = Vec<Vec<End>>;

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        3 => (0u32..=1_000_000).prop_map(|score| End(Some(ExecutionOutcome::Passed), score)),
        3 => (0u32..=1_000_000).prop_map(|score| End(Some(ExecutionOutcome::Failed), score)),
        2 => Just(End(Some(ExecutionOutcome::Errored), 0)),
        2 => Just(End(Some(ExecutionOutcome::Abstained), 0)),
        2 => Just(End(None, 0)),
    ]
}

fn cases(count: std::ops::Range<usize>, repeats: usize) -> impl Strategy<Value = Cases> {
    prop::collection::vec(prop::collection::vec(end(), repeats), count)
}

/// Thresholds where boundaries are: shares of small numbers, and anything.
fn threshold() -> impl Strategy<Value = ScorePpm> {
    prop_oneof![
        (0u32..=6, 1u32..=6).prop_map(|(part, whole)| ppm((part.min(whole)) * 1_000_000 / whole)),
        (0u32..=6, 1u32..=6).prop_map(|(part, whole)| ppm((part.min(whole) * 1_000_000 / whole + 1).min(1_000_000))),
        (0u32..=1_000_000).prop_map(ppm),
    ]
}

fn errors_as() -> impl Strategy<Value = ErrorsAs> {
    prop_oneof![Just(ErrorsAs::Inconclusive), Just(ErrorsAs::Fail), Just(ErrorsAs::Exclude)]
}

/// A rule of any kind; those by repeats need 1 to 3 of 3.
fn rule() -> impl Strategy<Value = Rule> {
    let maybe = || prop::option::weighted(0.4, threshold());
    (maybe(), maybe(), maybe(), maybe(), maybe(), prop::option::of(1u32..=3)).prop_map(
        |(min_mean, min_pass_rate, min_coverage, max_error_rate, max_abstention_rate, passes)| Rule {
            min_mean,
            min_pass_rate,
            min_coverage,
            max_error_rate,
            max_abstention_rate,
            ..passes.map_or_else(Rule::default, |passes| per_case(passes, 3))
        },
    )
}

fn any_profile() -> impl Strategy<Value = Profile> {
    (errors_as(), prop::collection::vec(rule(), 1..4))
        .prop_map(|(errors_as, gate)| Profile { errors_as, ..profile(3, gate) })
}

fn results_of(cases: &Cases) -> Results {
    let rows: Vec<&[End]> = cases.iter().map(Vec::as_slice).collect();
    results(&rows)
}

fn tally_of(profile: &Profile, cases: &Cases) -> Tally {
    let count = u32::try_from(cases.len()).expect("a test has few cases");
    tally(profile, &facts(count), &results_of(cases), Calls::default())
}

fn verdict(profile: &Profile, cases: &Cases) -> Verdict {
    gate(profile, &tally_of(profile, cases), Facts::default()).verdict
}

/// What the unsettled repeats of all cases might have been: every way, each as a
/// list of ends with scores 0 and 1 at the extremes. What is left out stays errored.
fn worlds(errors_as: ErrorsAs, cases: &Cases) -> Vec<Cases> {
    const NO: End = End(Some(ExecutionOutcome::Failed), 0);
    const YES: End = End(Some(ExecutionOutcome::Passed), 1_000_000);
    let mut worlds = vec![Vec::new()];
    for case in cases {
        let mut ways: Vec<Vec<End>> = vec![Vec::new()];
        for end in case {
            let possible: &[End] = match (end.0, errors_as) {
                (Some(ExecutionOutcome::Passed | ExecutionOutcome::Failed), _) => &[*end],
                (Some(ExecutionOutcome::Errored), ErrorsAs::Fail) => &[NO],
                (Some(ExecutionOutcome::Errored), ErrorsAs::Exclude) => &[*end],
                (Some(ExecutionOutcome::Errored), ErrorsAs::Inconclusive)
                | (Some(ExecutionOutcome::Abstained) | None, _) => &[NO, YES],
            };
            ways = ways.iter().flat_map(|way| possible.iter().map(|end| [way.as_slice(), &[*end]].concat())).collect();
        }
        worlds = worlds
            .iter()
            .flat_map(|world: &Cases| ways.iter().map(|way| [world.as_slice(), std::slice::from_ref(way)].concat()))
            .collect();
    }
    worlds
}

/// The sum and the number that a score condition is about in one such world, the plain way.
fn sum_and_whole(rule: &Rule, world: &Cases) -> (u64, u64) {
    let passed = |end: &&End| end.0 == Some(ExecutionOutcome::Passed);
    let errored = |end: &&End| end.0 == Some(ExecutionOutcome::Errored);
    if let Some(per_case) = rule.per_case {
        let needed = per_case.passes as usize;
        let mut sum_and_whole = (0, 0);
        for case in world {
            let passes = case.iter().filter(passed).count();
            if passes >= needed {
                sum_and_whole.0 += 1_000_000;
                sum_and_whole.1 += 1;
            } else if passes + case.iter().filter(errored).count() < needed {
                sum_and_whole.1 += 1;
            }
        }
        return sum_and_whole;
    }
    let counted = || world.iter().flatten().filter(|end| !errored(end));
    let sum = match rule.min_mean {
        Some(_) => counted().map(|end| u64::from(end.1)).sum(),
        None => counted().filter(passed).count() as u64 * 1_000_000,
    };
    (sum, counted().count() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// The sum over any cut into chunks, taken in any order, is the tally of all.
    #[test]
    fn tallies_add_up_however_cases_are_cut_and_whatever_the_order(
        profile in any_profile(),
        (cases, chunks, order) in cases(0..12, 3).prop_flat_map(|cases| {
            let chunks = prop::collection::vec(0usize..4, cases.len());
            (Just(cases), chunks, Just((0..4usize).collect::<Vec<_>>()).prop_shuffle())
        }),
    ) {
        let whole = tally_of(&profile, &cases);
        let results = results_of(&cases);
        let all = facts(u32::try_from(cases.len()).expect("few"));
        let mut sum = Tally::default();
        for chunk in order {
            let of_chunk: Vec<CaseFacts<'_>> =
                all.iter().zip(&chunks).filter(|(_, of)| **of == chunk).map(|(case, _)| *case).collect();
            add(&mut sum, &tally(&profile, &of_chunk, &results, Calls::default()));
        }
        prop_assert_eq!(sum, whole);
    }

    /// The order of cases and of repeats is nothing to the verdict, its reasons and its numbers.
    #[test]
    fn the_verdict_is_the_same_under_any_permutation(
        profile in any_profile(),
        (cases, shuffled) in cases(0..8, 3).prop_flat_map(|cases| (Just(cases.clone()), Just(cases).prop_shuffle())),
    ) {
        let reversed: Cases = shuffled.iter().map(|case| case.iter().rev().copied().collect()).collect();
        let judged = |cases: &Cases| gate(&profile, &tally_of(&profile, cases), Facts::default());
        prop_assert_eq!(judged(&cases), judged(&reversed));
    }

    /// A pass or a fail that was reached while executions were missing stays, however they end.
    #[test]
    fn a_pass_or_a_fail_never_changes_when_what_was_missing_arrives(
        profile in any_profile(),
        (partial, complete) in cases(0..6, 3).prop_flat_map(|cases| {
            let repeats = cases.iter().map(Vec::len).sum::<usize>();
            (Just(cases), prop::collection::vec(end(), repeats))
        }).prop_map(|(partial, arrivals)| {
            let mut arrivals = arrivals.into_iter();
            let complete = partial.iter().map(|case| {
                case.iter().map(|end| {
                    let arrival = arrivals.next().expect("one for each");
                    if end.0.is_none() { arrival } else { *end }
                }).collect()
            }).collect();
            (partial, complete)
        }),
    ) {
        let (before, after) = (verdict(&profile, &partial), verdict(&profile, &complete));
        prop_assert!(before == Verdict::Inconclusive || before == after, "{before} became {after}");
    }

    /// A condition holds or is broken exactly where it does and is in every possible world.
    #[test]
    fn an_interval_says_what_every_possible_world_says(
        errors_as in errors_as(),
        at_least in threshold(),
        mean in any::<bool>(),
        passes in prop::option::of(1u32..=3),
        cases in cases(1..4, 3),
    ) {
        let rule = Rule {
            min_mean: mean.then_some(at_least),
            min_pass_rate: (!mean).then_some(at_least),
            ..passes.map_or_else(Rule::default, |passes| per_case(passes, 3))
        };
        let profile = Profile { errors_as, ..profile(3, vec![rule.clone()]) };
        let sums = tally_of(&profile, &cases);
        let state = gate(&profile, &sums, Facts::default()).conditions[0].state;
        let mut says = worlds(errors_as, &cases).iter().map(|world| {
            let (sum, whole) = sum_and_whole(&rule, world);
            (whole > 0).then(|| u128::from(sum) >= u128::from(at_least.ppm()) * u128::from(whole))
        }).collect::<Vec<_>>();
        says.sort();
        says.dedup();
        let expected = match says.as_slice() {
            [Some(true)] if sums.rules[0].scored > 0 => ConditionState::Holds,
            [Some(false)] => ConditionState::Broken,
            _ => ConditionState::Open,
        };
        prop_assert_eq!(state, expected, "{:?}", says);
    }

    /// Counts are complete: each execution is one of five, for every rule as for the run.
    #[test]
    fn every_execution_is_counted_exactly_once(profile in any_profile(), cases in cases(0..8, 3)) {
        let sums = tally_of(&profile, &cases);
        let counts = sums.counts;
        prop_assert_eq!(counts.executions, counts.scored + counts.errored + counts.abstained + counts.missing);
        prop_assert_eq!(counts.scored, counts.passed + counts.failed);
        for rule in &sums.rules {
            prop_assert_eq!(rule.population, rule.scored + rule.errored + rule.abstained + rule.missing);
            prop_assert!(rule.either + rule.pass_or_out + rule.fail_or_out <= rule.population - rule.scored);
        }
    }

    /// A better execution never makes the verdict worse, as far as scores are asked for. Evidence
    /// is another matter: a case that failed for sure may become one that its errors leave open.
    #[test]
    fn a_better_execution_never_makes_the_verdict_worse(
        mut profile in any_profile(),
        at_least in threshold(),
        cases in cases(1..6, 3),
        which in any::<prop::sample::Index>(),
    ) {
        // A share of at least nothing holds for what is decided only, see the gate.
        let at_least = at_least.max(ppm(1));
        for rule in &mut profile.gate {
            *rule = Rule {
                min_mean: rule.min_mean.map(|mean| mean.max(ppm(1))),
                min_pass_rate: Some(at_least),
                per_case: rule.per_case,
                ..Rule::default()
            };
        }
        let mut better = cases.clone();
        let scored: Vec<&mut End> = better
            .iter_mut()
            .flatten()
            .filter(|end| end.0.is_some_and(ExecutionOutcome::is_scored))
            .collect();
        prop_assume!(!scored.is_empty());
        let index = which.index(scored.len());
        let end = scored.into_iter().nth(index).expect("an index is within");
        *end = End(Some(ExecutionOutcome::Passed), 1_000_000);
        let (before, after) = (verdict(&profile, &cases), verdict(&profile, &better));
        let rank = |verdict| match verdict {
            Verdict::Fail => 0,
            Verdict::Inconclusive => 1,
            Verdict::Pass => 2,
        };
        prop_assert!(rank(after) >= rank(before), "{before} became {after}");
    }

    /// A mean lies between its lowest and highest part, whatever the weights, and a
    /// common factor of all weights changes nothing.
    #[test]
    fn a_weighted_mean_lies_between_its_parts_and_knows_no_scale(
        parts in prop::collection::vec((0u32..=1_000_000, 0u64..1_000_000_000), 1..6),
        factor in 1u64..1000,
    ) {
        use super::testbed::{binding, dimension, group, measured};
        let scored = |factor: u64, method| {
            let bindings = parts.iter().enumerate().map(|(index, (_, weight))| {
                let mut binding = binding(&index.to_string(), "d");
                binding.weight_ppm = weight * factor;
                binding
            }).collect();
            let mut dimension = dimension("d");
            dimension.method = method;
            let outcomes: Vec<_> = parts.iter().map(|(score, _)| measured(*score, true)).collect();
            judge(&group("g", bindings, vec![dimension]), &outcomes).score_ppm.map(ScorePpm::ppm)
        };
        let mean = scored(1, Method::WeightedMean).expect("all measured");
        let scores = || parts.iter().map(|(score, _)| *score);
        prop_assert!(scores().min() <= Some(mean) && Some(mean) <= scores().max());
        prop_assert_eq!(scored(factor, Method::WeightedMean), Some(mean));
        prop_assert_eq!(scored(factor, Method::Min), scores().min());
    }
}
