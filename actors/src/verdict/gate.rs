//! The gate: from the sums of a run to the word on it.
//!
//! Every condition of every rule is put to the interval of what may be: it *holds*
//! if it holds whatever the unsettled executions might have been, is *broken* if it
//! is broken whatever they might have been, and is *open* otherwise.
//!
//! - **Fail**: a score condition is broken. A sure failure stays a failure, however
//!   thin the evidence: no answer that is not known could have saved the run.
//! - **Pass**: every condition holds, and there was something to hold it for.
//! - **Inconclusive**: everything else. Broken evidence conditions never fail a run,
//!   since they speak of us and not of the agent.
//!
//! There is no pass by default. A run without executions, a run where nothing was
//! scored, a gate without rules, a rule that asks nothing or covers nothing, and a
//! group whose cases nobody judges are each inconclusive and say so.
//!
//! A missing execution is treated as one that may still arrive. So the same function
//! tells, in the middle of a run, whether its verdict can still change: see [`decided`].

use super::interval::{Bound, Range, Share, evidence_range, score_range};
use super::words;
use tribunal_schema::profile::{ErrorsAs, Profile, Rule};
use tribunal_schema::score::{ConditionResult, ConditionState, Judged, RuleTally, Tally, Verdict};
use tribunal_schema::units::ScorePpm;

/// What the gate must know beside the sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// Why the run was ended before its work was done (budget used up, target dead), in
    /// a sentence. Such a run never passes; it still fails if it surely does.
    pub cut_short: Option<&'a str>,
    /// What narrowed the dataset, in words: named when it left nothing.
    pub filters: &'a [String],
}

/// The verdict on a run. The tally covers every planned case, with what was never
/// settled as missing.
///
/// Reasons come in the order of their weight: what fails the run, what keeps it from
/// being judged, what was left out. A pass has none but the last.
pub fn gate(profile: &Profile, tally: &Tally, facts: Facts<'_>) -> Judged {
    let mut hearing = Hearing::default();
    hearing.vacuity(profile, tally, facts.filters);
    if let Some(why) = facts.cut_short {
        hearing.doubts.push(why.to_string());
    }
    for (index, rule) in (0u32..).zip(&profile.gate) {
        let sums = tally.rules.get(index as usize).copied().unwrap_or_default();
        hearing.rule(profile, index, rule, &sums, tally.counts.executions > 0);
    }
    if profile.errors_as == ErrorsAs::Exclude && tally.counts.errored > 0 {
        hearing.notes.push(words::left_out(tally.counts.errored));
    }
    hearing.close()
}

/// The verdict if it can no longer change, whatever becomes of what is missing;
/// otherwise `None`. A pass or a fail may be certain early, inconclusive only when
/// nothing is missing. Give it [`expecting`](super::expecting) of what is planned and what is settled.
pub fn decided(profile: &Profile, tally: &Tally) -> Option<Verdict> {
    match gate(profile, tally, Facts::default()).verdict {
        verdict @ (Verdict::Pass | Verdict::Fail) => Some(verdict),
        Verdict::Inconclusive => (tally.counts.missing == 0).then_some(Verdict::Inconclusive),
    }
}

/// One condition of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    Mean(ScorePpm),
    PassRate(ScorePpm),
    Coverage(ScorePpm),
    ErrorRate(ScorePpm),
    AbstentionRate(ScorePpm),
    Baseline(ScorePpm),
}

impl Asked {
    /// Everything a rule asks, in the order of its fields.
    fn all(rule: &Rule) -> impl Iterator<Item = Asked> {
        [
            rule.min_mean.map(Asked::Mean),
            rule.min_pass_rate.map(Asked::PassRate),
            rule.min_coverage.map(Asked::Coverage),
            rule.max_error_rate.map(Asked::ErrorRate),
            rule.max_abstention_rate.map(Asked::AbstentionRate),
            rule.baseline.map(|baseline| Asked::Baseline(baseline.max_drop)),
        ]
        .into_iter()
        .flatten()
    }

    const fn name(self) -> &'static str {
        match self {
            Asked::Mean(_) => "min_mean",
            Asked::PassRate(_) => "min_pass_rate",
            Asked::Coverage(_) => "min_coverage",
            Asked::ErrorRate(_) => "max_error_rate",
            Asked::AbstentionRate(_) => "max_abstention_rate",
            Asked::Baseline(_) => "baseline",
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Asked::Mean(_) => "mean score",
            Asked::PassRate(_) => "pass rate",
            Asked::Coverage(_) => "coverage",
            Asked::ErrorRate(_) => "error rate",
            Asked::AbstentionRate(_) => "abstention rate",
            Asked::Baseline(_) => "drop",
        }
    }

    const fn threshold(self) -> ScorePpm {
        match self {
            Asked::Mean(at)
            | Asked::PassRate(at)
            | Asked::Coverage(at)
            | Asked::ErrorRate(at)
            | Asked::AbstentionRate(at)
            | Asked::Baseline(at) => at,
        }
    }

    const fn bound(self) -> Bound {
        match self {
            Asked::Mean(_) | Asked::PassRate(_) | Asked::Coverage(_) => Bound::AtLeast,
            Asked::ErrorRate(_) | Asked::AbstentionRate(_) | Asked::Baseline(_) => Bound::AtMost,
        }
    }

    /// Whether it speaks of the agent, so that breaking it fails the run.
    const fn is_of_scores(self) -> bool {
        match self {
            Asked::Mean(_) | Asked::PassRate(_) => true,
            Asked::Coverage(_) | Asked::ErrorRate(_) | Asked::AbstentionRate(_) | Asked::Baseline(_) => false,
        }
    }

    /// Where the value may lie, and what was seen of it; `None` where nothing can be said.
    fn weigh(self, errors_as: ErrorsAs, sums: &RuleTally) -> Option<(Range, Option<Share>)> {
        if sums.population == 0 {
            return None;
        }
        let of_scores = |sum| (score_range(errors_as, sums, sum), Share::of(u128::from(sum), sums.scored));
        let of_evidence = |count| {
            let seen = Share::of(u128::from(count) * 1_000_000, sums.population);
            (evidence_range(sums, count), seen)
        };
        match self {
            Asked::Mean(_) => Some(of_scores(sums.score_ppm_sum)),
            Asked::PassRate(_) => Some(of_scores(sums.passed.saturating_mul(1_000_000))),
            Asked::Coverage(_) => Some(of_evidence(sums.scored)),
            Asked::ErrorRate(_) => Some(of_evidence(sums.errored)),
            Asked::AbstentionRate(_) => Some(of_evidence(sums.abstained)),
            // A comparison needs another run, and there is none.
            Asked::Baseline(_) => None,
        }
    }

    fn examine(self, errors_as: ErrorsAs, index: u32, rule: &Rule, sums: &RuleTally) -> ConditionResult {
        let unknown = ConditionResult {
            rule: index,
            scope: words::scope(rule),
            condition: self.name().into(),
            threshold_ppm: self.threshold(),
            observed_ppm: None,
            low_ppm: ScorePpm::ZERO,
            high_ppm: ScorePpm::ONE,
            state: ConditionState::Open,
        };
        let Some((range, seen)) = self.weigh(errors_as, sums) else {
            return unknown;
        };
        let bound = self.bound();
        let mut state = bound.state(range, self.threshold());
        if self.is_of_scores() && sums.scored == 0 && state == ConditionState::Holds {
            // A threshold of zero holds for anything; but there is nothing it held for.
            state = ConditionState::Open;
        }
        ConditionResult {
            observed_ppm: seen.map(|share| bound.shown(share)),
            low_ppm: bound.shown(range.low),
            high_ppm: bound.shown(range.high),
            state,
            ..unknown
        }
    }
}

/// What has been said for and against so far.
#[derive(Default)]
struct Hearing {
    failures: Vec<String>,
    doubts: Vec<String>,
    notes: Vec<String>,
    conditions: Vec<ConditionResult>,
}

impl Hearing {
    /// Doubts that need no rule: there is nothing to judge, or nobody judges it.
    fn vacuity(&mut self, profile: &Profile, tally: &Tally, filters: &[String]) {
        let counts = &tally.counts;
        if counts.executions == 0 {
            self.doubts.push(words::no_cases(filters));
        } else if counts.scored == 0 {
            self.doubts.push(words::nothing_scored(counts.executions));
        }
        if profile.gate.is_empty() {
            self.doubts.push("the gate has no rules, so nothing says what is good enough".into());
        }
        for (group, cases) in profile.groups.iter().zip(&tally.group_cases) {
            if *cases > 0 && !group.bindings.iter().any(|binding| binding.required) {
                self.doubts.push(words::not_evaluated(group, *cases));
            }
        }
    }

    /// Hears one rule. A rule that cannot be put to the sums is one doubt, not one per condition.
    fn rule(&mut self, profile: &Profile, index: u32, rule: &Rule, sums: &RuleTally, any_case: bool) {
        let other_repeats = rule.per_case.filter(|needs| needs.of != profile.repeats || needs.passes > needs.of);
        let unfit = if Asked::all(rule).next().is_none() {
            Some(words::asks_nothing(rule))
        } else if other_repeats.is_some() {
            Some(words::other_repeats(rule, profile.repeats))
        } else if sums.population == 0 && any_case {
            Some(words::nothing_in_scope(rule))
        } else {
            None
        };
        let sums = if other_repeats.is_some() { &RuleTally::default() } else { sums };
        let silent = unfit.is_some() || sums.population == 0;
        self.doubts.extend(unfit);
        for asked in Asked::all(rule) {
            let seen = asked.examine(profile.errors_as, index, rule, sums);
            if !silent && seen.state != ConditionState::Holds {
                let reason = words::condition(asked, rule, profile.errors_as, sums, &seen);
                let fails = asked.is_of_scores() && seen.state == ConditionState::Broken;
                if fails { self.failures.push(reason) } else { self.doubts.push(reason) }
            }
            self.conditions.push(seen);
        }
    }

    fn close(self) -> Judged {
        let verdict = if !self.failures.is_empty() {
            Verdict::Fail
        } else if !self.doubts.is_empty() {
            Verdict::Inconclusive
        } else {
            Verdict::Pass
        };
        let reasons = [self.failures, self.doubts, self.notes].concat();
        Judged { verdict, reasons, conditions: self.conditions }
    }
}
