//! From the results of a chunk to sums.
//!
//! A tally is additive: the tallies of all chunks, added in any order and any
//! grouping, are the tally of the run. That is why it holds sums and counts only,
//! never a mean, and why it keeps raw numbers: what an errored execution *means*
//! (`errors_as`) is the business of the gate.
//!
//! What one rule sees of one case is decided in `population`.

use super::population::{Scope, Standing, count_rule};
use std::collections::BTreeMap;
use tribunal_schema::ids::ExecutionKey;
use tribunal_schema::profile::Profile;
use tribunal_schema::score::{Counts, DimensionTally, ExecutionOutcome, ExecutionResult, RuleTally, Tally};

/// What the tally needs to know of a case.
#[derive(Clone, Copy, Debug)]
pub struct CaseFacts<'a> {
    /// Its place in the dataset, from 0.
    pub case: u32,
    /// The index of its group in the profile.
    pub group: u16,
    /// Its tags.
    pub tags: &'a [String],
}

/// The calls of the target behind the results, which the results alone don't tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Attempts that were started.
    pub started: u64,
    /// Calls whose end nobody recorded.
    pub maybe_repeated: u64,
    /// Executions that an attempt was started for and that have no result.
    pub attempted_missing: u64,
}

/// The tally of some cases: every one of their `profile.repeats` executions is counted,
/// those without a result as missing. Results of other cases are ignored.
pub fn tally(
    profile: &Profile,
    cases: &[CaseFacts<'_>],
    results: &BTreeMap<ExecutionKey, ExecutionResult>,
    calls: Calls,
) -> Tally {
    let mut sums = empty(profile);
    sums.target_calls = calls.started;
    sums.calls_maybe_repeated = calls.maybe_repeated;
    sums.counts.attempted = calls.attempted_missing;
    for case in cases {
        let of_case: Vec<Option<&ExecutionResult>> =
            (0..profile.repeats).map(|repeat| results.get(&ExecutionKey { case: case.case, repeat })).collect();
        count_case(&mut sums, profile, case, &of_case);
    }
    sums
}

/// The tally of no case: zeros for every rule, group and dimension of the profile.
pub fn empty(profile: &Profile) -> Tally {
    Tally {
        rules: vec![RuleTally::default(); profile.gate.len()],
        dimensions: vec![DimensionTally::default(); profile.groups.iter().map(|group| group.dimensions.len()).sum()],
        group_cases: vec![0; profile.groups.len()],
        ..Tally::default()
    }
}

/// Adds the tally of other cases under the same profile. Order and grouping do not
/// matter; `Tally::default()` changes nothing. Sums that would not fit stay at the
/// largest number: 10^7 executions need 10^13 of the 10^19 there are.
pub fn add(total: &mut Tally, part: &Tally) {
    let Tally {
        counts,
        score_ppm_sum,
        rules,
        dimensions,
        group_cases,
        failures,
        evaluator_errors,
        target_calls,
        calls_maybe_repeated,
    } = part;
    add_counts(&mut total.counts, counts);
    plus(&mut total.score_ppm_sum, *score_ppm_sum);
    each(&mut total.rules, rules, add_rule);
    each(&mut total.dimensions, dimensions, add_dimension);
    each(&mut total.group_cases, group_cases, |sum, more| plus(sum, *more));
    for (class, count) in failures {
        plus(total.failures.entry(*class).or_default(), *count);
    }
    plus(&mut total.evaluator_errors, *evaluator_errors);
    plus(&mut total.target_calls, *target_calls);
    plus(&mut total.calls_maybe_repeated, *calls_maybe_repeated);
}

/// What is settled so far, with every planned execution that is not in it as missing:
/// what the gate must see to say whether the verdict can still change. `planned` is
/// the tally of all cases without any result; `so_far` the sum over finished chunks.
pub fn expecting(planned: &Tally, so_far: &Tally) -> Tally {
    let mut rest = planned.clone();
    let less = |all: &mut u64, seen: u64| *all = all.saturating_sub(seen);
    less(&mut rest.counts.cases, so_far.counts.cases);
    less(&mut rest.counts.executions, so_far.counts.executions);
    rest.counts.missing = rest.counts.executions;
    each(&mut rest.rules, &so_far.rules, |rule, seen| {
        less(&mut rule.population, seen.population);
        // A rule that asks for more passes than there are repeats is decided from the start.
        let open = if rule.scored > 0 { 0 } else { rule.population };
        *rule = RuleTally { population: rule.population, missing: open, either: open, ..RuleTally::default() };
        rule.scored = rule.population - open;
    });
    each(&mut rest.dimensions, &so_far.dimensions, |sums, seen| less(&mut sums.population, seen.population));
    each(&mut rest.group_cases, &so_far.group_cases, |cases, seen| less(cases, *seen));
    add(&mut rest, so_far);
    rest
}

fn plus(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn each<T: Default + Clone>(totals: &mut Vec<T>, parts: &[T], add: impl Fn(&mut T, &T)) {
    if totals.len() < parts.len() {
        totals.resize(parts.len(), T::default());
    }
    for (total, part) in totals.iter_mut().zip(parts) {
        add(total, part);
    }
}

fn add_counts(total: &mut Counts, part: &Counts) {
    let Counts { cases, executions, attempted, scored, passed, failed, errored, abstained, missing } = part;
    plus(&mut total.cases, *cases);
    plus(&mut total.executions, *executions);
    plus(&mut total.attempted, *attempted);
    plus(&mut total.scored, *scored);
    plus(&mut total.passed, *passed);
    plus(&mut total.failed, *failed);
    plus(&mut total.errored, *errored);
    plus(&mut total.abstained, *abstained);
    plus(&mut total.missing, *missing);
}

fn add_rule(total: &mut RuleTally, part: &RuleTally) {
    let RuleTally {
        population,
        scored,
        passed,
        score_ppm_sum,
        errored,
        abstained,
        missing,
        either,
        pass_or_out,
        fail_or_out,
    } = part;
    plus(&mut total.population, *population);
    plus(&mut total.scored, *scored);
    plus(&mut total.passed, *passed);
    plus(&mut total.score_ppm_sum, *score_ppm_sum);
    plus(&mut total.errored, *errored);
    plus(&mut total.abstained, *abstained);
    plus(&mut total.missing, *missing);
    plus(&mut total.either, *either);
    plus(&mut total.pass_or_out, *pass_or_out);
    plus(&mut total.fail_or_out, *fail_or_out);
}

fn add_dimension(total: &mut DimensionTally, part: &DimensionTally) {
    let DimensionTally { population, scored, passed, score_ppm_sum } = part;
    plus(&mut total.population, *population);
    plus(&mut total.scored, *scored);
    plus(&mut total.passed, *passed);
    plus(&mut total.score_ppm_sum, *score_ppm_sum);
}

/// Counts one case with all its repeats, given in order.
fn count_case(sums: &mut Tally, profile: &Profile, case: &CaseFacts<'_>, of_case: &[Option<&ExecutionResult>]) {
    sums.counts.cases += 1;
    let group_index = usize::from(case.group);
    if let Some(cases) = sums.group_cases.get_mut(group_index) {
        *cases += 1;
    }
    for result in of_case {
        count_execution(sums, *result);
    }
    let Some(group) = profile.groups.get(group_index) else {
        return;
    };
    let first: usize = profile.groups[..group_index].iter().map(|group| group.dimensions.len()).sum();
    for index in 0..group.dimensions.len() {
        let dimension = &mut sums.dimensions[first + index];
        for result in of_case {
            count_dimension(dimension, Standing::of(*result, Some(index)));
        }
    }
    for (rule, sums) in profile.gate.iter().zip(&mut sums.rules) {
        if let Some(scope) = Scope::of(rule, group, case.tags) {
            count_rule(sums, rule, of_case.iter().map(|result| Standing::of(*result, scope.dimension)));
        }
    }
}

fn count_execution(sums: &mut Tally, result: Option<&ExecutionResult>) {
    let counts = &mut sums.counts;
    counts.executions += 1;
    let Some(result) = result else {
        counts.missing += 1;
        return;
    };
    counts.attempted += u64::from(result.attempt.is_some());
    match result.judgment.outcome {
        ExecutionOutcome::Passed => counts.passed += 1,
        ExecutionOutcome::Failed => counts.failed += 1,
        ExecutionOutcome::Abstained => counts.abstained += 1,
        ExecutionOutcome::Errored => {
            counts.errored += 1;
            match result.failure {
                Some(class) => *sums.failures.entry(class).or_default() += 1,
                None => sums.evaluator_errors += 1,
            }
        }
    }
    if result.judgment.outcome.is_scored() {
        counts.scored += 1;
        sums.score_ppm_sum += result.judgment.score_ppm.map_or(0, |score| u64::from(score.ppm()));
    }
}

fn count_dimension(sums: &mut DimensionTally, standing: Standing) {
    sums.population += 1;
    match standing {
        Standing::Scored { passed, score_ppm } => {
            sums.scored += 1;
            sums.passed += u64::from(passed);
            sums.score_ppm_sum += score_ppm;
        }
        Standing::Errored | Standing::Abstained | Standing::Missing => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::testbed::{
        self, ABSTAINED, ERRORED, FAILED, MISSING, PASSED, per_case, profile, results, rule, tallied,
    };
    use tribunal_schema::answer::FailureClass;

    #[test]
    fn every_execution_of_a_case_is_counted_once_and_the_absent_ones_as_missing() {
        let profile = profile(2, vec![rule()]);
        let sums = tallied(&profile, &[&[PASSED, FAILED], &[ERRORED, ABSTAINED], &[MISSING, PASSED]]);
        let counts = sums.counts;
        assert_eq!((counts.cases, counts.executions, counts.attempted), (3, 6, 5));
        assert_eq!((counts.scored, counts.passed, counts.failed), (3, 2, 1));
        assert_eq!((counts.errored, counts.abstained, counts.missing), (1, 1, 1));
        assert_eq!(sums.score_ppm_sum, 2_000_000);
        assert_eq!(sums.group_cases, [3]);
        assert_eq!(sums.rules[0].population, 6);
        assert_eq!(
            sums.dimensions[0],
            DimensionTally { population: 6, scored: 3, passed: 2, score_ppm_sum: 2_000_000 }
        );
    }

    #[test]
    fn errors_are_told_apart_by_who_made_them() {
        let profile = profile(1, vec![rule()]);
        let mut results = results(&[&[ERRORED], &[ERRORED], &[ERRORED]]);
        for (key, result) in &mut results {
            result.failure = (key.case < 2).then_some(FailureClass::Timeout);
        }
        let sums = tally(&profile, &testbed::facts(3), &results, Calls::default());
        assert_eq!(sums.failures, [(FailureClass::Timeout, 2)].into());
        assert_eq!(sums.evaluator_errors, 1);
    }

    #[test]
    fn calls_are_taken_over_and_an_attempt_without_a_result_was_still_attempted() {
        let profile = profile(1, vec![rule()]);
        let calls = Calls { started: 5, maybe_repeated: 2, attempted_missing: 1 };
        let sums = tally(&profile, &testbed::facts(2), &results(&[&[PASSED], &[MISSING]]), calls);
        assert_eq!((sums.target_calls, sums.calls_maybe_repeated, sums.counts.attempted), (5, 2, 2));
    }

    #[test]
    fn results_of_other_cases_are_not_counted() {
        let profile = profile(1, vec![rule()]);
        let sums = tally(&profile, &testbed::facts(1), &results(&[&[PASSED], &[PASSED]]), Calls::default());
        assert_eq!((sums.counts.executions, sums.counts.passed), (1, 1));
    }

    #[test]
    fn a_default_tally_changes_nothing() {
        let profile = profile(1, vec![rule()]);
        let sums = tallied(&profile, &[&[PASSED], &[ERRORED]]);
        let (mut left, mut right) = (Tally::default(), sums.clone());
        add(&mut left, &sums);
        add(&mut right, &Tally::default());
        assert_eq!((&left, &right), (&sums, &sums));
    }

    #[test]
    fn what_is_not_settled_yet_is_expected_as_missing() {
        let profile = profile(2, vec![rule(), per_case(1, 2)]);
        let planned = tallied(&profile, &[&[MISSING, MISSING], &[MISSING, MISSING], &[MISSING, MISSING]]);
        let so_far = tallied(&profile, &[&[PASSED, ERRORED]]);
        let whole = tallied(&profile, &[&[PASSED, ERRORED], &[MISSING, MISSING], &[MISSING, MISSING]]);
        assert_eq!(expecting(&planned, &so_far), whole);
        assert_eq!(expecting(&planned, &empty(&profile)), planned);
    }
}
