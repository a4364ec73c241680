//! The sentences of a verdict: each says where, what was seen in numbers, and what
//! was asked. They end up in reports, in CI logs and in the journal, so a reader
//! must be able to check them by hand.

use super::gate::Asked;
use super::interval::unsettled;
use tribunal_schema::profile::{ErrorsAs, Group, Rule};
use tribunal_schema::score::{ConditionResult, ConditionState, RuleTally};

/// The population of a rule: `dimension tools, group tools`.
pub(super) fn scope(rule: &Rule) -> String {
    let named = [("dimension", &rule.dimension), ("group", &rule.group), ("tag", &rule.tag)];
    let mut parts: Vec<String> =
        named.iter().filter_map(|(kind, name)| name.as_ref().map(|name| format!("{kind} {name}"))).collect();
    if let Some(per_case) = rule.per_case {
        parts.push(format!("cases by {} of {} repeats", per_case.passes, per_case.of));
    }
    if parts.is_empty() { "all executions".into() } else { parts.join(", ") }
}

/// What a population consists of, and how its members are spoken of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Executions,
    Cases,
}

impl Unit {
    const fn of(rule: &Rule) -> Unit {
        if rule.per_case.is_some() { Unit::Cases } else { Unit::Executions }
    }

    const fn noun(self, count: u64) -> &'static str {
        match (self, count) {
            (Unit::Executions, 1) => "execution",
            (Unit::Executions, _) => "executions",
            (Unit::Cases, 1) => "case",
            (Unit::Cases, _) => "cases",
        }
    }

    fn counted(self, count: u64) -> String {
        format!("{count} {}", self.noun(count))
    }

    /// What a settled one has, and an unsettled one has not.
    const fn possession(self) -> &'static str {
        match self {
            Unit::Executions => "score",
            Unit::Cases => "result",
        }
    }

    /// What a settled one is.
    const fn settled(self) -> &'static str {
        match self {
            Unit::Executions => "scored",
            Unit::Cases => "decided",
        }
    }
}

fn has(count: u64) -> &'static str {
    if count == 1 { "has" } else { "have" }
}

/// Why a condition does not hold.
pub(super) fn condition(
    asked: Asked,
    rule: &Rule,
    errors_as: ErrorsAs,
    tally: &RuleTally,
    seen: &ConditionResult,
) -> String {
    let unit = Unit::of(rule);
    let sentence = match asked {
        Asked::PassRate(_) | Asked::Mean(_) => score(asked, unit, errors_as, tally, seen),
        Asked::Coverage(_) => format!(
            "{} of {} {} a {} ({}), and at least {} is needed to judge",
            tally.scored,
            unit.counted(tally.population),
            has(tally.scored),
            unit.possession(),
            observed(seen),
            seen.threshold_ppm
        ),
        Asked::ErrorRate(_) => limit("errored", "error rate", tally.errored, unit, tally, seen),
        Asked::AbstentionRate(_) => limit("abstained", "abstention rate", tally.abstained, unit, tally, seen),
        Asked::Baseline(_) => {
            format!("there is no run to compare with, so whether it lost more than {} is not known", seen.threshold_ppm)
        }
    };
    format!("{}: {sentence}", seen.scope)
}

fn observed(seen: &ConditionResult) -> String {
    seen.observed_ppm.map_or_else(|| "none seen".into(), |share| share.to_string())
}

fn score(asked: Asked, unit: Unit, errors_as: ErrorsAs, tally: &RuleTally, seen: &ConditionResult) -> String {
    let what = asked.words();
    let open = unsettled(tally);
    let needed = format!("at least {} is needed", seen.threshold_ppm);
    let without = || {
        let of = unit.counted(tally.population);
        format!("{open} of {of} {} no {} ({})", has(open), unit.possession(), why(errors_as, tally))
    };
    if tally.scored == 0 && seen.state != ConditionState::Broken {
        return format!("{}, so nothing can be said of the {what}; {needed}", without());
    }
    let seen_so = if matches!(asked, Asked::PassRate(_)) || unit == Unit::Cases {
        format!("{} of {} passed ({})", tally.passed, scored(unit, tally), observed(seen))
    } else {
        format!("the mean score of {} is {}", scored(unit, tally), observed(seen))
    };
    match seen.state {
        ConditionState::Broken if open == 0 => format!("{seen_so}, {needed}"),
        ConditionState::Broken if tally.scored == 0 => {
            format!("{}, so the {what} is at most {}; {needed}", without(), seen.high_ppm)
        }
        ConditionState::Broken => {
            format!("{seen_so}; {}, so the {what} is at most {}; {needed}", without(), seen.high_ppm)
        }
        ConditionState::Open | ConditionState::Holds => {
            format!("{}, so the {what} may be anywhere from {} to {}; {needed}", without(), seen.low_ppm, seen.high_ppm)
        }
    }
}

fn scored(unit: Unit, tally: &RuleTally) -> String {
    if unsettled(tally) == 0 {
        return unit.counted(tally.scored);
    }
    format!("{} {} {}", tally.scored, unit.settled(), unit.noun(tally.scored))
}

/// Why some have no score: `12 errored, 3 missing`.
fn why(errors_as: ErrorsAs, tally: &RuleTally) -> String {
    let errored = match errors_as {
        ErrorsAs::Inconclusive => "errored",
        ErrorsAs::Fail => "errored and counted as not passed",
        ErrorsAs::Exclude => "errored and left out",
    };
    let parts = [(tally.errored, errored), (tally.abstained, "abstained"), (tally.missing, "missing")];
    let named: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
    named.join(", ")
}

fn limit(did: &str, what: &str, count: u64, unit: Unit, tally: &RuleTally, seen: &ConditionResult) -> String {
    let of = unit.counted(tally.population);
    let limit = seen.threshold_ppm;
    if seen.state == ConditionState::Broken {
        return format!("{count} of {of} {did} ({}), and at most {limit} may for a verdict", observed(seen));
    }
    format!(
        "{count} of {of} {did} and {} missing, so the {what} may be anywhere from {} to {}; at most {limit} may for a verdict",
        if tally.missing == 1 { "1 is".into() } else { format!("{} are", tally.missing) },
        seen.low_ppm,
        seen.high_ppm
    )
}

/// Why a rule without a population says nothing.
pub(super) fn nothing_in_scope(rule: &Rule) -> String {
    format!("{}: no case is in its scope, so it says nothing", scope(rule))
}

/// Why a rule that asks nothing says nothing.
pub(super) fn asks_nothing(rule: &Rule) -> String {
    format!("{}: the rule asks nothing, so it says nothing", scope(rule))
}

/// Why a rule by repeats that don't exist says nothing.
pub(super) fn other_repeats(rule: &Rule, repeats: u32) -> String {
    format!(
        "{}: each case is asked {}, so it says nothing",
        scope(rule),
        if repeats == 1 { "once".into() } else { format!("{repeats} times") }
    )
}

/// Why a group's cases can't be judged.
pub(super) fn not_evaluated(group: &Group, cases: u64) -> String {
    let lacks = if group.bindings.is_empty() { "it has no evaluator" } else { "none of its evaluators is required" };
    format!("group {}: {lacks}, so nothing can be said of its {}", group.name, Unit::Cases.counted(cases))
}

/// What was left out.
pub(super) fn left_out(errored: u64) -> String {
    format!(
        "{} errored and {} left out (errors_as: exclude)",
        Unit::Executions.counted(errored),
        if errored == 1 { "is" } else { "are" }
    )
}

/// Why a run without cases has no verdict, and what may have left them out.
pub(super) fn no_cases(filters: &[String]) -> String {
    match filters {
        [] => "the run has no cases, so there is nothing to judge".into(),
        filters => format!("the run has no cases with {}, so there is nothing to judge", filters.join(" ")),
    }
}

/// Why a run in which nothing was scored has no verdict.
pub(super) fn nothing_scored(executions: u64) -> String {
    format!("none of {} has a score, so there is nothing to judge", Unit::Executions.counted(executions))
}
