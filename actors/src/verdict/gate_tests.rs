//! The gate, case by case: which word, for which reason.

use super::testbed::{
    ABSTAINED, ERRORED, End, FAILED, MISSING, PASSED, facts, group, min_mean, min_pass_rate, per_case, ppm, profile,
    tallied, tallied_singles,
};
use super::{Calls, CaseFacts, Facts, decided, gate, tally};
use Verdict::{Fail, Inconclusive, Pass};
use std::collections::BTreeMap;
use tribunal_schema::profile::{Baseline, ErrorsAs, Profile, Rule};
use tribunal_schema::score::{ConditionState, ExecutionOutcome, Judged, Verdict};
use tribunal_schema::units::ScorePpm;

fn judged(profile: &Profile, ends: &[(usize, End)]) -> Judged {
    gate(profile, &tallied_singles(profile, ends), Facts::default())
}

fn under(errors_as: ErrorsAs, rule: Rule, ends: &[(usize, End)]) -> Judged {
    judged(&Profile { errors_as, ..profile(1, vec![rule]) }, ends)
}

fn word(rule: Rule, ends: &[(usize, End)]) -> Verdict {
    under(ErrorsAs::Inconclusive, rule, ends).verdict
}

fn reasons(rule: Rule, ends: &[(usize, End)]) -> Vec<String> {
    under(ErrorsAs::Inconclusive, rule, ends).reasons
}

#[test]
fn a_pass_rate_is_asked_exactly() {
    for (passed, failed, verdict) in [(18, 2, Fail), (19, 1, Pass), (20, 0, Pass), (0, 20, Fail)] {
        assert_eq!(word(min_pass_rate(950_000), &[(passed, PASSED), (failed, FAILED)]), verdict, "{passed}");
    }
}

#[test]
fn a_mean_is_asked_exactly() {
    let end = |score| End(Some(ExecutionOutcome::Failed), score);
    for (last, verdict) in [(849_999, Fail), (850_000, Pass), (850_001, Pass)] {
        assert_eq!(word(min_mean(950_000), &[(2, PASSED), (1, end(last))]), verdict, "{last}");
    }
}

#[test]
fn a_failure_says_where_what_and_how_much_is_needed() {
    let rule = Rule { dimension: Some("d".into()), group: Some("g".into()), ..min_pass_rate(950_000) };
    assert_eq!(
        reasons(rule, &[(18, PASSED), (2, FAILED)]),
        ["dimension d, group g: 18 of 20 executions passed (0.900), at least 0.950 is needed"]
    );
    assert_eq!(
        reasons(min_mean(950_000), &[(9, PASSED), (1, FAILED)]),
        ["all executions: the mean score of 10 executions is 0.900, at least 0.950 is needed"]
    );
}

#[test]
fn what_is_not_known_is_said_with_its_interval() {
    assert_eq!(
        reasons(min_pass_rate(900_000), &[(83, PASSED), (5, FAILED), (12, ERRORED)]),
        ["all executions: 12 of 100 executions have no score (12 errored), so the pass rate may be anywhere \
          from 0.830 to 0.950; at least 0.900 is needed"]
    );
    assert_eq!(
        reasons(min_mean(900_000), &[(83, PASSED), (16, FAILED), (1, MISSING)]),
        ["all executions: the mean score of 99 scored executions is 0.838383; 1 of 100 executions has no score \
          (1 missing), so the mean score is at most 0.840; at least 0.900 is needed"]
    );
}

#[test]
fn what_is_not_known_decides_only_where_it_can() {
    for (passed, failed, errored, verdict) in [
        (95, 0, 5, Pass),
        (94, 0, 6, Inconclusive),
        (90, 5, 5, Inconclusive),
        (90, 6, 4, Fail),
        (0, 0, 100, Inconclusive),
    ] {
        let ends = [(passed, PASSED), (failed, FAILED), (errored, ERRORED)];
        assert_eq!(word(min_pass_rate(950_000), &ends), verdict, "{passed} {failed} {errored}");
    }
}

#[test]
fn a_dead_target_is_neither_pass_nor_fail_even_where_nothing_is_asked_of_it() {
    for threshold in [0, 1, 950_000] {
        assert_eq!(word(min_pass_rate(threshold), &[(10, ERRORED)]), Inconclusive, "{threshold}");
        assert_eq!(word(min_mean(threshold), &[(10, MISSING)]), Inconclusive, "{threshold}");
    }
    let lenient = Rule { max_error_rate: Some(ScorePpm::ONE), ..Rule::default() };
    assert_eq!(word(lenient, &[(10, ERRORED)]), Inconclusive);
}

#[test]
fn errors_as_fail_counts_what_errored_as_zero() {
    let ends = [(95, PASSED), (5, ERRORED)];
    assert_eq!(under(ErrorsAs::Fail, min_pass_rate(950_000), &ends).verdict, Pass);
    let failed = under(ErrorsAs::Fail, min_pass_rate(950_001), &ends);
    assert_eq!(failed.verdict, Fail);
    assert_eq!(
        failed.reasons,
        [
            "all executions: 95 of 95 scored executions passed (1.000); 5 of 100 executions have no score (5 errored and \
          counted as not passed), so the pass rate is at most 0.950; at least 0.950001 is needed"
        ]
    );
    assert_eq!(under(ErrorsAs::Fail, min_mean(500_000), &[(10, ERRORED)]).verdict, Fail);
    assert_eq!(under(ErrorsAs::Fail, min_mean(950_000), &[(94, PASSED), (6, ABSTAINED)]).verdict, Inconclusive);
}

#[test]
fn errors_as_exclude_leaves_them_out_and_says_so_even_for_a_pass() {
    let passed = under(ErrorsAs::Exclude, min_pass_rate(950_000), &[(19, PASSED), (1, FAILED), (5, ERRORED)]);
    assert_eq!(passed.verdict, Pass);
    assert_eq!(passed.reasons, ["5 executions errored and are left out (errors_as: exclude)"]);
    let failed = under(ErrorsAs::Exclude, min_pass_rate(950_000), &[(18, PASSED), (1, FAILED), (1, ERRORED)]);
    assert_eq!(failed.verdict, Fail);
    assert_eq!(
        failed.reasons.last().map(String::as_str),
        Some("1 execution errored and is left out (errors_as: exclude)")
    );
}

#[test]
fn errors_as_exclude_leaves_nothing_to_judge_where_everything_errored() {
    let nothing = under(ErrorsAs::Exclude, min_pass_rate(0), &[(3, ERRORED)]);
    assert_eq!(nothing.verdict, Inconclusive);
    assert_eq!(nothing.conditions[0].state, ConditionState::Open);
    assert_eq!(nothing.reasons[0], "none of 3 executions has a score, so there is nothing to judge");
}

#[test]
fn broken_evidence_is_inconclusive_and_never_a_failure() {
    let coverage = Rule { min_coverage: Some(ppm(980_000)), ..Rule::default() };
    assert_eq!(word(coverage.clone(), &[(98, PASSED), (2, ERRORED)]), Pass);
    assert_eq!(word(coverage.clone(), &[(97, PASSED), (3, ERRORED)]), Inconclusive);
    assert_eq!(
        reasons(coverage, &[(97, PASSED), (3, ERRORED)]),
        ["all executions: 97 of 100 executions have a score (0.970), and at least 0.980 is needed to judge"]
    );
    let errors = Rule { max_error_rate: Some(ppm(20_000)), ..Rule::default() };
    assert_eq!(word(errors.clone(), &[(98, PASSED), (2, ERRORED)]), Pass);
    assert_eq!(word(errors.clone(), &[(97, PASSED), (3, ERRORED)]), Inconclusive);
    assert_eq!(
        reasons(errors.clone(), &[(97, PASSED), (3, ERRORED)]),
        ["all executions: 3 of 100 executions errored (0.030), and at most 0.020 may for a verdict"]
    );
    assert_eq!(
        reasons(errors, &[(98, PASSED), (1, ERRORED), (2, MISSING)]),
        ["all executions: 1 of 101 executions errored and 2 are missing, so the error rate may be anywhere \
          from 0.009901 to 0.029703; at most 0.020 may for a verdict"]
    );
    let abstentions = Rule { max_abstention_rate: Some(ppm(50_000)), ..Rule::default() };
    assert_eq!(word(abstentions.clone(), &[(95, PASSED), (5, ABSTAINED)]), Pass);
    assert_eq!(word(abstentions, &[(94, PASSED), (6, ABSTAINED)]), Inconclusive);
}

#[test]
fn a_sure_failure_stays_one_however_thin_the_evidence() {
    let rule = Rule { min_coverage: Some(ppm(980_000)), ..min_pass_rate(950_000) };
    let judged = under(ErrorsAs::Inconclusive, rule, &[(50, FAILED), (50, ERRORED)]);
    assert_eq!(judged.verdict, Fail);
    assert!(judged.reasons[0].contains("0 of 50 scored executions passed (0.000)"), "{:?}", judged.reasons);
    assert!(judged.reasons[1].contains("50 of 100 executions have a score"), "{:?}", judged.reasons);
}

#[test]
fn every_condition_is_reported_with_its_state_in_the_order_of_the_gate() {
    let first = Rule { min_mean: Some(ppm(500_000)), max_error_rate: Some(ppm(0)), ..min_pass_rate(1_000_000) };
    let judged = judged(&profile(1, vec![first, min_mean(900_000)]), &[(9, PASSED), (1, ERRORED)]);
    let seen: Vec<_> = judged.conditions.iter().map(|c| (c.rule, c.condition.as_str(), c.state)).collect();
    assert_eq!(
        seen,
        [
            (0, "min_mean", ConditionState::Holds),
            (0, "min_pass_rate", ConditionState::Open),
            (0, "max_error_rate", ConditionState::Broken),
            (1, "min_mean", ConditionState::Holds),
        ]
    );
    let rate = &judged.conditions[1];
    assert_eq!((rate.observed_ppm, rate.low_ppm, rate.high_ppm), (Some(ScorePpm::ONE), ppm(900_000), ScorePpm::ONE));
    assert_eq!(judged.verdict, Inconclusive);
}

#[test]
fn a_run_without_cases_is_inconclusive_with_one_reason() {
    for rule in [min_pass_rate(950_000), min_mean(0), Rule { max_error_rate: Some(ppm(0)), ..Rule::default() }] {
        let judged = under(ErrorsAs::Inconclusive, rule, &[]);
        assert_eq!(judged.verdict, Inconclusive);
        assert_eq!(judged.reasons, ["the run has no cases, so there is nothing to judge"]);
        assert_eq!(judged.conditions[0].state, ConditionState::Open);
    }
}

#[test]
fn filters_that_left_no_case_are_named() {
    let profile = profile(1, vec![min_pass_rate(950_000)]);
    let filters = ["--tag smok".to_string(), "--limit 3".to_string()];
    let judged = gate(&profile, &tallied_singles(&profile, &[]), Facts { filters: &filters, ..Facts::default() });
    assert_eq!(judged.reasons, ["the run has no cases with --tag smok --limit 3, so there is nothing to judge"]);
}

#[test]
fn a_rule_that_covers_nothing_asks_nothing_or_is_not_there_is_inconclusive() {
    let smoke = Rule { tag: Some("smoke".into()), ..min_pass_rate(0) };
    assert_eq!(reasons(smoke, &[(1, PASSED)]), ["tag smoke: no case is in its scope, so it says nothing"]);
    assert_eq!(reasons(Rule::default(), &[(1, PASSED)]), ["all executions: the rule asks nothing, so it says nothing"]);
    let no_rules = judged(&profile(1, Vec::new()), &[(1, PASSED)]);
    assert_eq!(no_rules.verdict, Inconclusive);
    assert_eq!(no_rules.reasons, ["the gate has no rules, so nothing says what is good enough"]);
}

#[test]
fn a_group_whose_cases_nobody_judges_is_inconclusive_and_an_empty_one_is_not() {
    let mut profile = profile(1, vec![Rule { group: Some("g".into()), ..min_pass_rate(950_000) }]);
    profile.groups.push(group("greetings", Vec::new(), Vec::new()));
    let results = super::testbed::results(&[&[PASSED], &[ABSTAINED]]);
    let greeting = |group| [facts(1)[0], CaseFacts { case: 1, group, tags: &[] }];
    let unjudged = gate(&profile, &tally(&profile, &greeting(1), &results, Calls::default()), Facts::default());
    assert_eq!(unjudged.verdict, Inconclusive);
    assert_eq!(unjudged.reasons, ["group greetings: it has no evaluator, so nothing can be said of its 1 case"]);
    let empty = gate(&profile, &tally(&profile, &facts(1), &results, Calls::default()), Facts::default());
    assert_eq!(empty.verdict, Pass);

    profile.groups[1].bindings = profile.groups[0].bindings.clone();
    profile.groups[1].bindings[0].required = false;
    let shown = gate(&profile, &tally(&profile, &greeting(1), &results, Calls::default()), Facts::default());
    assert_eq!(shown.verdict, Inconclusive);
    assert!(shown.reasons[0].contains("none of its evaluators is required"), "{:?}", shown.reasons);
}

#[test]
fn a_baseline_without_a_run_to_compare_with_is_inconclusive() {
    let baseline = Baseline { max_drop: ppm(20_000), confidence: ppm(950_000) };
    let judged = under(ErrorsAs::Inconclusive, Rule { baseline: Some(baseline), ..Rule::default() }, &[(5, PASSED)]);
    assert_eq!(judged.verdict, Inconclusive);
    assert_eq!(
        judged.reasons,
        ["all executions: there is no run to compare with, so whether it lost more than 0.020 is not known"]
    );
}

#[test]
fn a_run_that_was_cut_short_never_passes_and_still_fails() {
    let cut = Facts { cut_short: Some("the budget of 100 calls is used up"), ..Facts::default() };
    let profile = profile(1, vec![min_pass_rate(500_000)]);
    let passing = gate(&profile, &tallied_singles(&profile, &[(9, PASSED), (1, MISSING)]), cut);
    assert_eq!((passing.verdict, passing.reasons), (Inconclusive, vec!["the budget of 100 calls is used up".into()]));
    let failing = gate(&profile, &tallied_singles(&profile, &[(9, FAILED), (1, MISSING)]), cut);
    assert_eq!(failing.verdict, Fail);
}

#[test]
fn cases_are_counted_by_their_repeats() {
    let rule = Rule { min_pass_rate: Some(ppm(500_000)), ..per_case(2, 3) };
    let profile = profile(3, vec![rule]);
    let word = |cases: &[&[End]]| gate(&profile, &tallied(&profile, cases), Facts::default());
    let (good, bad, open) = (&[PASSED, PASSED, FAILED], &[PASSED, FAILED, FAILED], &[PASSED, FAILED, ERRORED]);
    assert_eq!(word(&[good, bad]).verdict, Pass);
    assert_eq!(word(&[good, bad, bad]).verdict, Fail);
    assert_eq!(
        word(&[good, bad, bad]).reasons,
        ["cases by 2 of 3 repeats: 1 of 3 cases passed (0.333333), at least 0.500 is needed"]
    );
    assert_eq!(word(&[good, bad, open]).verdict, Inconclusive);
    assert_eq!(
        word(&[good, bad, open]).reasons,
        ["cases by 2 of 3 repeats: 1 of 3 cases has no result (1 errored), so the pass rate may be anywhere from \
          0.333333 to 0.666666; at least 0.500 is needed"]
    );
}

#[test]
fn a_case_undecided_by_its_errors_fails_or_is_left_out_as_errors_do() {
    let rule = Rule { min_pass_rate: Some(ppm(750_000)), ..per_case(2, 3) };
    let cases: [&[End]; 3] = [&[PASSED, PASSED, ERRORED], &[PASSED, PASSED, PASSED], &[PASSED, FAILED, ERRORED]];
    let word = |errors_as| {
        let profile = Profile { errors_as, ..profile(3, vec![rule.clone()]) };
        gate(&profile, &tallied(&profile, &cases), Facts::default()).verdict
    };
    assert_eq!(word(ErrorsAs::Inconclusive), Inconclusive);
    assert_eq!(word(ErrorsAs::Fail), Fail);
    assert_eq!(word(ErrorsAs::Exclude), Pass);
}

#[test]
fn a_rule_by_repeats_that_do_not_exist_is_inconclusive() {
    let rule = Rule { min_pass_rate: Some(ppm(500_000)), ..per_case(2, 3) };
    assert_eq!(reasons(rule, &[(5, PASSED)]), ["cases by 2 of 3 repeats: each case is asked once, so it says nothing"]);
    let more_than_all = Rule { min_pass_rate: Some(ppm(500_000)), ..per_case(2, 1) };
    assert_eq!(word(more_than_all, &[(5, PASSED)]), Inconclusive);
}

#[test]
fn a_verdict_is_decided_as_soon_as_it_can_no_longer_change() {
    let profile = profile(1, vec![min_pass_rate(900_000)]);
    for (passed, failed, missing, verdict) in
        [(89, 0, 11, None), (90, 0, 10, Some(Pass)), (0, 10, 90, None), (0, 11, 89, Some(Fail)), (0, 0, 100, None)]
    {
        let ends = [(passed, PASSED), (failed, FAILED), (missing, MISSING)];
        assert_eq!(decided(&profile, &tallied_singles(&profile, &ends)), verdict, "{passed} {failed} {missing}");
    }
    assert_eq!(decided(&profile, &tallied_singles(&profile, &[(10, ERRORED)])), Some(Inconclusive));
}

#[test]
fn a_pass_is_not_decided_while_missing_executions_may_break_the_evidence() {
    let rule = Rule { max_error_rate: Some(ppm(20_000)), ..min_pass_rate(900_000) };
    let profile = profile(1, vec![rule]);
    let word = |ends: &[(usize, End)]| decided(&profile, &tallied_singles(&profile, ends));
    assert_eq!(word(&[(97, PASSED), (3, MISSING)]), None);
    assert_eq!(word(&[(98, PASSED), (2, MISSING)]), Some(Pass));
}

#[test]
fn ten_million_executions_are_judged_exactly() {
    let profile = profile(1, vec![min_pass_rate(950_000)]);
    let chunk = tallied_singles(&profile, &[(95, PASSED), (5, FAILED)]);
    let mut run = tally(&profile, &[], &BTreeMap::new(), Calls::default());
    for _ in 0..100_000 {
        super::add(&mut run, &chunk);
    }
    assert_eq!(run.counts.executions, 10_000_000);
    assert_eq!(gate(&profile, &run, Facts::default()).verdict, Pass);
    super::add(&mut run, &tallied_singles(&profile, &[(1, FAILED)]));
    assert_eq!(gate(&profile, &run, Facts::default()).verdict, Fail);
}
