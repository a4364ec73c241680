//! What one gate rule sees of one case.
//!
//! A rule that counts executions sees each repeat as it stands. A rule that counts
//! cases needs more than counts: a case with one pass, one error and one missing
//! repeat of three may still pass, fail, or - where the gate leaves errors out - be
//! left out, and which of these are possible cannot be seen from sums over
//! executions. So each undecided case is sorted here, once, by how it may still end.

use super::judge::counts_in;
use tribunal_schema::profile::{Group, Rule};
use tribunal_schema::score::{ExecutionOutcome, ExecutionResult, RuleTally};

/// What a rule looks at in a case that it covers.
pub(super) struct Scope {
    /// The dimension's index in the group; `None` for the whole execution.
    pub(super) dimension: Option<usize>,
}

impl Scope {
    /// `None` where the rule does not cover the case. A dimension that nothing
    /// required counts in is shown and never scored, so no rule covers it.
    pub(super) fn of(rule: &Rule, group: &Group, tags: &[String]) -> Option<Scope> {
        let in_group = rule.group.as_ref().is_none_or(|name| *name == group.name);
        let tagged = rule.tag.as_ref().is_none_or(|tag| tags.contains(tag));
        if !in_group || !tagged {
            return None;
        }
        let Some(name) = &rule.dimension else {
            return Some(Scope { dimension: None });
        };
        let index = group.dimensions.iter().position(|dimension| dimension.name == *name)?;
        let counted = group.bindings.iter().any(|binding| counts_in(binding, &group.dimensions[index]));
        counted.then_some(Scope { dimension: Some(index) })
    }
}

/// How one execution stands under one rule.
#[derive(Clone, Copy)]
pub(super) enum Standing {
    Scored { passed: bool, score_ppm: u64 },
    Errored,
    Abstained,
    Missing,
}

impl Standing {
    pub(super) fn of(result: Option<&ExecutionResult>, dimension: Option<usize>) -> Standing {
        let Some(ExecutionResult { judgment, .. }) = result else {
            return Standing::Missing;
        };
        match judgment.outcome {
            ExecutionOutcome::Errored => return Standing::Errored,
            ExecutionOutcome::Abstained => return Standing::Abstained,
            ExecutionOutcome::Passed | ExecutionOutcome::Failed => {}
        }
        let seen = match dimension {
            None => judgment.score_ppm.map(|score| (judgment.outcome == ExecutionOutcome::Passed, score)),
            Some(index) => judgment.dimensions.get(index).copied().flatten().map(|seen| (seen.passed, seen.score_ppm)),
        };
        match seen {
            Some((passed, score)) => Standing::Scored { passed, score_ppm: u64::from(score.ppm()) },
            None => Standing::Abstained,
        }
    }
}

pub(super) fn count_rule(sums: &mut RuleTally, rule: &Rule, standings: impl Iterator<Item = Standing>) {
    match rule.per_case {
        None => standings.for_each(|standing| count_standing(sums, standing)),
        Some(per_case) => {
            let mut ballot = Ballot::default();
            standings.for_each(|standing| ballot.cast(standing));
            // A case cannot pass by no pass at all: nothing would have been seen.
            count_ballot(sums, &ballot, u64::from(per_case.passes.max(1)));
        }
    }
}

fn count_standing(sums: &mut RuleTally, standing: Standing) {
    sums.population += 1;
    match standing {
        Standing::Scored { passed, score_ppm } => {
            sums.scored += 1;
            sums.passed += u64::from(passed);
            sums.score_ppm_sum += score_ppm;
        }
        Standing::Errored => sums.errored += 1,
        Standing::Abstained => {
            sums.abstained += 1;
            sums.either += 1;
        }
        Standing::Missing => {
            sums.missing += 1;
            sums.either += 1;
        }
    }
}

/// The repeats of one case by how they stand.
///
/// With `needed` passes, a case is decided once its passes suffice, or once they
/// could not even if every unsettled repeat passed. Undecided, it is sorted by two
/// questions that set the errored repeats apart: *may it pass* without any of them,
/// and *may it fail* although all of them might have passed? Neither: what errored
/// alone decides it.
#[derive(Default)]
struct Ballot {
    passed: u64,
    errored: u64,
    abstained: u64,
    missing: u64,
}

impl Ballot {
    fn cast(&mut self, standing: Standing) {
        match standing {
            Standing::Scored { passed, .. } => self.passed += u64::from(passed),
            Standing::Errored => self.errored += 1,
            Standing::Abstained => self.abstained += 1,
            Standing::Missing => self.missing += 1,
        }
    }
}

fn count_ballot(sums: &mut RuleTally, ballot: &Ballot, needed: u64) {
    sums.population += 1;
    let passes = ballot.passed >= needed;
    let most = ballot.passed + ballot.errored + ballot.abstained + ballot.missing;
    if passes || most < needed {
        sums.scored += 1;
        sums.passed += u64::from(passes);
        sums.score_ppm_sum += if passes { 1_000_000 } else { 0 };
        return;
    }
    let reason = if ballot.missing > 0 {
        &mut sums.missing
    } else if ballot.errored > 0 {
        &mut sums.errored
    } else {
        &mut sums.abstained
    };
    *reason += 1;
    let may_pass = ballot.passed + ballot.abstained + ballot.missing >= needed;
    let may_fail = ballot.passed + ballot.errored < needed;
    match (may_pass, may_fail) {
        (true, true) => sums.either += 1,
        (true, false) => sums.pass_or_out += 1,
        (false, true) => sums.fail_or_out += 1,
        (false, false) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::verdict::testbed::{
        ABSTAINED, ERRORED, FAILED, MISSING, PASSED, per_case, profile, results, rule, tallied,
    };
    use crate::verdict::{Calls, CaseFacts, tally};
    use tribunal_schema::profile::Rule;

    #[test]
    fn a_rule_covers_only_its_group_tag_and_dimension() {
        let scoped = |edit: fn(&mut Rule)| {
            let mut scoped = rule();
            edit(&mut scoped);
            scoped
        };
        let gate = vec![
            scoped(|rule| rule.group = Some("g".into())),
            scoped(|rule| rule.group = Some("other".into())),
            scoped(|rule| rule.tag = Some("smoke".into())),
            scoped(|rule| rule.dimension = Some("d".into())),
            scoped(|rule| rule.dimension = Some("e".into())),
        ];
        let profile = profile(1, gate);
        let smoke = ["smoke".to_string()];
        let cases = [CaseFacts { case: 0, group: 0, tags: &smoke }, CaseFacts { case: 1, group: 0, tags: &[] }];
        let sums = tally(&profile, &cases, &results(&[&[PASSED], &[PASSED]]), Calls::default());
        let populations: Vec<u64> = sums.rules.iter().map(|rule| rule.population).collect();
        assert_eq!(populations, [2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_dimension_that_is_only_shown_is_no_rules_population() {
        let mut profile = profile(1, vec![Rule { dimension: Some("d".into()), ..rule() }]);
        profile.groups[0].bindings[0].required = false;
        assert_eq!(tallied(&profile, &[&[PASSED]]).rules[0].population, 0);
    }

    /// One case of three repeats, two passes needed.
    #[test]
    fn a_case_is_decided_as_soon_as_its_repeats_decide_it() {
        let profile = profile(3, vec![per_case(2, 3)]);
        for (repeats, scored, passed) in [
            ([PASSED, PASSED, MISSING], 1, 1),
            ([PASSED, PASSED, ERRORED], 1, 1),
            ([PASSED, FAILED, MISSING], 0, 0),
            ([PASSED, FAILED, FAILED], 1, 0),
            ([FAILED, FAILED, MISSING], 1, 0),
            ([FAILED, MISSING, MISSING], 0, 0),
        ] {
            let sums = tallied(&profile, &[&repeats]).rules[0];
            assert_eq!((sums.population, sums.scored, sums.passed), (1, scored, passed), "{repeats:?}");
            assert_eq!(sums.score_ppm_sum, passed * 1_000_000, "{repeats:?}");
        }
    }

    #[test]
    fn an_undecided_case_is_sorted_by_why_and_by_how_it_may_end() {
        let profile = profile(3, vec![per_case(2, 3)]);
        // (errored, abstained, missing), (either, pass_or_out, fail_or_out)
        for (repeats, why, how) in [
            ([PASSED, FAILED, ERRORED], (1, 0, 0), (0, 0, 0)),
            ([PASSED, FAILED, ABSTAINED], (0, 1, 0), (1, 0, 0)),
            ([PASSED, FAILED, MISSING], (0, 0, 1), (1, 0, 0)),
            ([PASSED, ERRORED, ABSTAINED], (1, 0, 0), (0, 1, 0)),
            ([PASSED, ERRORED, MISSING], (0, 0, 1), (0, 1, 0)),
            ([FAILED, ERRORED, ABSTAINED], (1, 0, 0), (0, 0, 1)),
            ([ERRORED, ERRORED, FAILED], (1, 0, 0), (0, 0, 0)),
            ([ERRORED, ABSTAINED, ABSTAINED], (1, 0, 0), (1, 0, 0)),
        ] {
            let sums = tallied(&profile, &[&repeats]).rules[0];
            assert_eq!((sums.errored, sums.abstained, sums.missing), why, "{repeats:?}");
            assert_eq!((sums.either, sums.pass_or_out, sums.fail_or_out), how, "{repeats:?}");
        }
    }

    #[test]
    fn a_case_never_passes_by_no_pass_at_all() {
        let profile = profile(1, vec![per_case(0, 1)]);
        let sums = tallied(&profile, &[&[FAILED], &[MISSING]]).rules[0];
        assert_eq!((sums.scored, sums.passed, sums.missing), (1, 0, 1));
    }
}
