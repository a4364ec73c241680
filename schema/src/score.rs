//! Results: what became of an execution, the additive tally of many, and the
//! verdict over them. The arithmetic lives in `tribunal-actors`, module `verdict`.

use crate::answer::FailureClass;
use crate::ids::{AttemptId, ExecutionKey};
use crate::units::ScorePpm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How an execution ended. Each is counted once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionOutcome {
    /// Every required binding measured, and it passes.
    Passed,
    /// Every required binding measured, and it does not pass.
    Failed,
    /// The target failed or a required binding errored.
    Errored,
    /// A required binding abstained, and none errored.
    Abstained,
}

impl ExecutionOutcome {
    /// Whether it has a score.
    pub const fn is_scored(self) -> bool {
        matches!(self, ExecutionOutcome::Passed | ExecutionOutcome::Failed)
    }

    /// The outcome as it is written.
    pub const fn name(self) -> &'static str {
        match self {
            ExecutionOutcome::Passed => "passed",
            ExecutionOutcome::Failed => "failed",
            ExecutionOutcome::Errored => "errored",
            ExecutionOutcome::Abstained => "abstained",
        }
    }
}

/// A dimension's score in one execution, by the dimension's index in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DimensionScore {
    /// Its score.
    pub score_ppm: ScorePpm,
    /// Whether it passes.
    pub passed: bool,
}

/// What became of an answer under its group's bindings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgment {
    /// How the execution ended.
    pub outcome: ExecutionOutcome,
    /// Its score, where it is scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_ppm: Option<ScorePpm>,
    /// One entry per dimension of the group, in the group's order; empty where it is not scored.
    /// `None` for a dimension that has no required binding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<Option<DimensionScore>>,
}

/// The terminal result of an execution, as its chunk records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionResult {
    /// Which execution.
    pub execution: ExecutionKey,
    /// The attempt that settled it; `None` when none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// How it was judged.
    pub judgment: Judgment,
    /// Why the target gave no answer, where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
}

/// How many of what. `executions` = scored + errored + abstained + missing, and
/// scored = passed + failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Cases.
    pub cases: u64,
    /// Cases times repeats.
    pub executions: u64,
    /// Executions for which at least one attempt was started.
    pub attempted: u64,
    /// Passed or failed.
    pub scored: u64,
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Errored.
    pub errored: u64,
    /// Abstained.
    pub abstained: u64,
    /// Never settled.
    pub missing: u64,
}

/// Additive sums over executions: adding the tallies of all chunks, in any
/// order, gives the run's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// All executions.
    pub counts: Counts,
    /// The sum of the scores of scored executions, in ppm.
    pub score_ppm_sum: u64,
    /// One entry per gate rule, in the gate's order.
    pub rules: Vec<RuleTally>,
    /// One entry per group and dimension, in the profile's order.
    pub dimensions: Vec<DimensionTally>,
    /// Cases per group, in the profile's order.
    pub group_cases: Vec<u64>,
    /// Executions without an answer, by why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<FailureClass, u64>,
    /// Executions that an evaluator errored.
    #[serde(default)]
    pub evaluator_errors: u64,
    /// Calls of the target: attempts that were started.
    pub target_calls: u64,
    /// Calls whose end nobody recorded, so that the target may have seen the case once more than it settled.
    pub calls_maybe_repeated: u64,
}

/// The population of one gate rule: executions, or cases for a `per_case` rule.
/// `population` = scored + errored + abstained + missing. The first seven are what
/// is shown; the last three say how the unsettled may still end, which for cases
/// does not follow from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleTally {
    /// Executions in scope, or cases for a `per_case` rule.
    pub population: u64,
    /// Scored, or cases that are decided (enough passes, or too many that cannot pass).
    pub scored: u64,
    /// Passing among the scored.
    pub passed: u64,
    /// The sum of the scores of the scored, in ppm; for `per_case` a passing case counts one million.
    pub score_ppm_sum: u64,
    /// Errored, or cases undecided with an errored and no missing repeat.
    pub errored: u64,
    /// Abstained, or cases undecided for abstained repeats alone.
    pub abstained: u64,
    /// Never settled, or cases undecided with a missing repeat.
    pub missing: u64,
    /// Of the unsettled: may pass or fail, even without a word from what errored.
    pub either: u64,
    /// Of the unsettled: may pass; otherwise only what errored could have decided it.
    pub pass_or_out: u64,
    /// Of the unsettled: may fail; otherwise only what errored could have decided it.
    /// The unsettled that are in none of the three can be decided by what errored alone.
    pub fail_or_out: u64,
}

/// One dimension of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DimensionTally {
    /// Executions of the group.
    pub population: u64,
    /// Scored ones.
    pub scored: u64,
    /// Ones whose dimension passes.
    pub passed: u64,
    /// The sum of the dimension's scores, in ppm.
    pub score_ppm_sum: u64,
}

/// The word on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every rule holds, whatever the unsettled executions might have been.
    Pass,
    /// A score rule is broken, whatever the unsettled executions might have been.
    Fail,
    /// Neither can be said.
    Inconclusive,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Inconclusive => "inconclusive",
        })
    }
}

/// The verdict and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// The word.
    pub verdict: Verdict,
    /// Why, in sentences; for a pass only what was left out, if anything was.
    pub reasons: Vec<String>,
    /// Every condition of every rule, in the gate's order.
    pub conditions: Vec<ConditionResult>,
}

/// One condition of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionResult {
    /// The rule's index in the gate.
    pub rule: u32,
    /// The rule's population in words: `dimension tools, group tools`.
    pub scope: String,
    /// `min_pass_rate`, `min_mean`, `min_coverage`, ...
    pub condition: String,
    /// What is asked.
    pub threshold_ppm: ScorePpm,
    /// What was seen among the scored; `None` when there is nothing to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_ppm: Option<ScorePpm>,
    /// The lowest it can be, whatever the unsettled ones are.
    pub low_ppm: ScorePpm,
    /// The highest it can be.
    pub high_ppm: ScorePpm,
    /// What that means.
    pub state: ConditionState,
}

/// What a condition came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionState {
    /// It holds for every possible value of what is unsettled.
    Holds,
    /// It is broken for every possible value.
    Broken,
    /// It may hold or not.
    Open,
}
