//! The profile of a run, resolved: every default filled in, every number an
//! integer, every evaluator pinned. Reading it from YAML, with file, line and
//! column, is the business of the package `tribunal`; this is what
//! `run.planned` carries and what every decision rests on.

use crate::answer::FailureClass;
use crate::case::Case;
use crate::digest::Digest;
use crate::json::{Decimal, JsonText};
use crate::units::{DurationMs, ScorePpm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A resolved profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its version, as written; `0` when it has none.
    pub version: String,
    /// One line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The agent under test.
    pub target: TargetConfig,
    /// The model that evaluators may ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<TargetConfig>,
    /// When and how often an execution is tried.
    pub attempts: AttemptPolicy,
    /// How many times each case is asked, at least 1.
    pub repeats: u32,
    /// What an errored execution means to the gate.
    pub errors_as: ErrorsAs,
    /// Cases per chunk, 1..=10_000.
    pub chunk_size: u32,
    /// The lane its chunks queue in.
    pub lane: String,
    /// What the run may spend.
    pub budget: Budget,
    /// What is kept of answers and findings.
    pub persist: Persist,
    /// The groups, in order; the first that matches takes a case.
    pub groups: Vec<Group>,
    /// The rules of the verdict, in order.
    pub gate: Vec<Rule>,
}

/// How the target is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetConfig {
    /// What it speaks.
    pub kind: TargetKind,
    /// Where it is; may hold `${env:NAME}` references.
    pub url: String,
    /// Header name to value; values may hold `${env:NAME}` references, never resolved here.
    pub headers: BTreeMap<String, String>,
    /// One attempt's time, connection to last byte.
    pub timeout: DurationMs,
    /// Calls in flight at once.
    pub max_in_flight: u32,
    /// Calls a second, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The largest body that is read, in bytes.
    pub max_response_bytes: u64,
    /// Whether a call that was lost may be made again.
    pub side_effects: SideEffects,
}

/// What a target speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// OpenAI-compatible chat completions.
    Chat {
        /// The model's name.
        model: String,
        /// Sent as they are beside model and messages; a JSON object.
        parameters: JsonText,
        /// A system message before the case's messages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
        /// The tools offered, sent as they are; a JSON list.
        tools: JsonText,
        /// Whether the answer is asked for as a stream.
        stream: bool,
    },
    /// Any HTTP endpoint: a body template and paths into the answer.
    Http {
        /// The method.
        method: String,
        /// The body with `${...}` placeholders as whole values.
        body: JsonText,
        /// JSONPath per part of the answer: text, structured, tool_calls, usage.input_tokens, usage.output_tokens.
        answer: BTreeMap<String, String>,
    },
}

/// At most `calls` in each `per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Calls.
    pub calls: u32,
    /// The span they are counted in.
    pub per: DurationMs,
}

/// Whether a call that was lost may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SideEffects {
    /// The target changes nothing: calling again is harmless.
    None,
    /// The target honours the Idempotency-Key.
    Idempotent,
    /// Calling again may do harm.
    Unsafe,
}

/// When and how often an execution is tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptPolicy {
    /// Answered or failed attempts of an execution, at most; at least 1.
    pub max: u32,
    /// The wait after the first failure; it triples with each further one.
    pub backoff: DurationMs,
    /// The longest wait; a Retry-After above it ends the retries.
    pub backoff_max: DurationMs,
    /// The classes that are tried again; sorted.
    pub retry_on: Vec<FailureClass>,
}

/// What an errored execution means to the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorsAs {
    /// Its score may be anywhere in 0..1.
    Inconclusive,
    /// It counts as 0 and as not passed.
    Fail,
    /// It is left out, and the report says so.
    Exclude,
}

/// What a run may spend; `None` is without limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Calls of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u64>,
    /// Tokens in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// Which answers are kept after the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Persist {
    /// Which answers.
    pub answers: PersistAnswers,
    /// Whether findings keep their evidence.
    pub evidence: bool,
}

/// Which answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PersistAnswers {
    /// All.
    All,
    /// Those of executions that did not pass.
    Failures,
    /// None.
    None,
}

/// A named set of cases, judged the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name; `all` where the profile has evaluators but no groups.
    pub name: String,
    /// Which cases it takes.
    #[serde(rename = "match")]
    pub takes: Match,
    /// Its bindings, in order.
    pub bindings: Vec<Binding>,
    /// Its dimensions, in order of first mention; every binding's dimension is one of them.
    pub dimensions: Vec<Dimension>,
}

/// Which cases a group takes: all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The case's task type is this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The case has at least one of these tags; empty asks nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags_any: Vec<String>,
    /// The case has all of these tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags_all: Vec<String>,
}

impl Group {
    /// Whether the group takes a case. A case that names a group goes to the group
    /// of that name if the profile has one; otherwise `match` decides.
    pub fn takes(&self, case: &Case) -> bool {
        let wanted = &self.takes;
        let has = |tag: &String| case.tags.contains(tag);
        wanted.task_type.as_ref().is_none_or(|kind| case.task_type.as_ref() == Some(kind))
            && (wanted.tags_any.is_empty() || wanted.tags_any.iter().any(has))
            && wanted.tags_all.iter().all(has)
    }
}

impl Profile {
    /// The index of the group that takes a case: the one the case names, else the first that matches.
    pub fn group_of(&self, case: &Case) -> Option<u16> {
        let named = case.group.as_ref().and_then(|name| self.groups.iter().position(|group| group.name == *name));
        let index = named.or_else(|| self.groups.iter().position(|group| group.takes(case)))?;
        u16::try_from(index).ok()
    }
}

/// A profile's use of an evaluator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Its id, unique in its group.
    pub id: String,
    /// What it uses.
    pub evaluator: EvaluatorPin,
    /// Its configuration, a JSON object; `null` where none was given.
    pub config: JsonText,
    /// How a measurement becomes a score.
    pub measure: Measure,
    /// Whether pass and fail are swapped (`not: true`): the score becomes 1 - score.
    pub negate: bool,
    /// The dimension it counts in.
    pub dimension: String,
    /// Its weight within the dimension, in millionths of 1.
    pub weight_ppm: u64,
    /// The score from which it passes.
    pub pass_at: ScorePpm,
    /// Whether an execution needs its measurement and counts its score; without, it is shown only.
    pub required: bool,
    /// Whether its failing fails the execution whatever the score, also where it is not required.
    pub blocking: bool,
}

/// An evaluator and the exact component it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluatorPin {
    /// As the profile wrote it: `std/contains`, or `./my.wasm#strict`.
    pub reference: String,
    /// The evaluator's name within the component.
    pub name: String,
    /// SHA-256 of the component's bytes.
    pub component: Digest,
}

/// How a measurement becomes a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Yes is 1, no is 0. A number or label under this mapping is errored,
    /// except a number within 0..=1, which is its own score.
    Direct,
    /// From worst (0) to best (1), saturating beyond them; best may be the smaller one.
    Linear {
        /// Scores 1.
        best: Decimal,
        /// Scores 0.
        worst: Decimal,
    },
    /// Straight lines between points, saturating beyond the first and last; sorted by value, at least two.
    Piecewise {
        /// The points.
        points: Vec<Point>,
    },
    /// The score of the highest threshold that the value reaches, 0 below the lowest; sorted by value.
    Thresholds {
        /// The steps.
        steps: Vec<Point>,
    },
    /// A score per label; a label that is not listed is errored.
    Labels {
        /// The scores.
        scores: BTreeMap<String, ScorePpm>,
    },
}

/// A value and the score it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The measured value.
    pub value: Decimal,
    /// Its score.
    pub score_ppm: ScorePpm,
}

/// A named bucket of bindings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// How its bindings' scores become one.
    pub method: Method,
    /// Its weight within the execution's score, in millionths of 1.
    pub weight_ppm: u64,
    /// The score from which it passes; `None`: all its required bindings pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass_at: Option<ScorePpm>,
    /// Whether its failing fails the execution whatever the score.
    pub blocking: bool,
}

/// How bindings' scores become a dimension's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The lowest.
    Min,
    /// The mean by weight.
    WeightedMean,
}

/// One entry of the gate: a population and what must hold of it. Every condition given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Only executions whose group has this dimension, by that dimension's score and pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<String>,
    /// Only cases of this group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Only cases with this tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Counts cases instead of executions: a case passes when enough of its repeats do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_case: Option<PerCase>,
    /// The mean score is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_mean: Option<ScorePpm>,
    /// The share that passes is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_pass_rate: Option<ScorePpm>,
    /// Evidence: the share that is scored is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_coverage: Option<ScorePpm>,
    /// Evidence: the share that errored is at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error_rate: Option<ScorePpm>,
    /// Evidence: the share that abstained is at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_abstention_rate: Option<ScorePpm>,
    /// Paired comparison with an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// A case passes when `passes` of its `of` repeats pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerCase {
    /// Passing repeats that are needed.
    pub passes: u32,
    /// Repeats there are; equals the run's repeats.
    pub of: u32,
}

/// How much worse than the baseline the run may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The largest drop of the mean.
    pub max_drop: ScorePpm,
    /// The confidence of the comparison.
    pub confidence: ScorePpm,
}
