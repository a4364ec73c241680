//! What the tests of this module build their situations from.

use super::{Calls, CaseFacts, tally};
use std::collections::BTreeMap;
use tribunal_schema::Digest;
use tribunal_schema::evaluation::{EvaluationErrorClass, Measurement, Outcome};
use tribunal_schema::ids::{AttemptId, ExecutionKey};
use tribunal_schema::json::{Decimal, JsonText};
use tribunal_schema::profile::{
    AttemptPolicy, Binding, Budget, Dimension, ErrorsAs, EvaluatorPin, Group, Match, Measure, Method, PerCase, Persist,
    PersistAnswers, Profile, Rule, SideEffects, TargetConfig, TargetKind,
};
use tribunal_schema::score::{DimensionScore, ExecutionOutcome, ExecutionResult, Judgment, Tally};
use tribunal_schema::units::{DurationMs, ScorePpm};

pub(super) fn ppm(ppm: u32) -> ScorePpm {
    ScorePpm::new(ppm).expect("a test's score is at most one million")
}

pub(super) fn decimal(text: &str) -> Decimal {
    text.parse().expect("a test's decimal is one")
}

pub(super) fn binding(id: &str, dimension: &str) -> Binding {
    Binding {
        id: id.into(),
        evaluator: EvaluatorPin { reference: "std/equals".into(), name: "equals".into(), component: Digest::ZERO },
        config: JsonText::default(),
        measure: Measure::Direct,
        negate: false,
        dimension: dimension.into(),
        weight_ppm: 1_000_000,
        pass_at: ScorePpm::ONE,
        required: true,
        blocking: false,
    }
}

pub(super) fn dimension(name: &str) -> Dimension {
    Dimension { name: name.into(), method: Method::WeightedMean, weight_ppm: 1_000_000, pass_at: None, blocking: false }
}

pub(super) fn group(name: &str, bindings: Vec<Binding>, dimensions: Vec<Dimension>) -> Group {
    Group { name: name.into(), takes: Match::default(), bindings, dimensions }
}

pub(super) fn measured(score: u32, passed: bool) -> Outcome {
    Outcome::Measured { measurement: Measurement::Binary(passed), score_ppm: ppm(score), passed }
}

pub(super) fn abstained() -> Outcome {
    Outcome::Abstained { reason: "nothing to compare".into() }
}

pub(super) fn errored() -> Outcome {
    Outcome::Errored { class: EvaluationErrorClass::Trap, message: "unreachable".into() }
}

/// One group `g` with one binding in one dimension `d`.
pub(super) fn profile(repeats: u32, gate: Vec<Rule>) -> Profile {
    Profile {
        name: "test".into(),
        version: "0".into(),
        description: None,
        target: TargetConfig {
            kind: TargetKind::Chat {
                model: "mock".into(),
                parameters: JsonText::default(),
                system: None,
                tools: JsonText::default(),
                stream: false,
            },
            url: "http://127.0.0.1:1/".into(),
            headers: BTreeMap::new(),
            timeout: DurationMs(1000),
            max_in_flight: 1,
            rate: None,
            max_response_bytes: 1024,
            side_effects: SideEffects::None,
        },
        judge: None,
        attempts: AttemptPolicy { max: 1, backoff: DurationMs(1), backoff_max: DurationMs(1), retry_on: Vec::new() },
        repeats,
        errors_as: ErrorsAs::Inconclusive,
        chunk_size: 100,
        lane: "default".into(),
        budget: Budget::default(),
        persist: Persist { answers: PersistAnswers::All, evidence: true },
        groups: vec![group("g", vec![binding("b", "d")], vec![dimension("d")])],
        gate,
    }
}

/// A rule that asks nothing of everything.
pub(super) fn rule() -> Rule {
    Rule::default()
}

pub(super) fn per_case(passes: u32, of: u32) -> Rule {
    Rule { per_case: Some(PerCase { passes, of }), ..Rule::default() }
}

pub(super) fn min_pass_rate(at_least: u32) -> Rule {
    Rule { min_pass_rate: Some(ppm(at_least)), ..Rule::default() }
}

pub(super) fn min_mean(at_least: u32) -> Rule {
    Rule { min_mean: Some(ppm(at_least)), ..Rule::default() }
}

/// How an execution of a test ended; `None` is missing, a number its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End(pub Option<ExecutionOutcome>, pub u32);

pub(super) const PASSED: End = End(Some(ExecutionOutcome::Passed), 1_000_000);
pub(super) const FAILED: End = End(Some(ExecutionOutcome::Failed), 0);
pub(super) const ERRORED: End = End(Some(ExecutionOutcome::Errored), 0);
pub(super) const ABSTAINED: End = End(Some(ExecutionOutcome::Abstained), 0);
pub(super) const MISSING: End = End(None, 0);

impl End {
    pub(super) fn judgment(self) -> Option<Judgment> {
        let outcome = self.0?;
        let scored = outcome.is_scored();
        let passed = outcome == ExecutionOutcome::Passed;
        Some(Judgment {
            outcome,
            score_ppm: scored.then(|| ppm(self.1)),
            dimensions: if scored { vec![Some(DimensionScore { score_ppm: ppm(self.1), passed })] } else { Vec::new() },
        })
    }
}

/// One row per case, one entry per repeat.
pub(super) fn results(cases: &[&[End]]) -> BTreeMap<ExecutionKey, ExecutionResult> {
    let mut results = BTreeMap::new();
    for (case, repeats) in (0..).zip(cases) {
        for (repeat, end) in (0..).zip(*repeats) {
            let execution = ExecutionKey { case, repeat };
            let attempt = Some(AttemptId(ulid::Ulid::from_parts(1, u128::from(case))));
            if let Some(judgment) = end.judgment() {
                results.insert(execution, ExecutionResult { execution, attempt, judgment, failure: None });
            }
        }
    }
    results
}

/// Untagged cases of the first group.
pub(super) fn facts(count: u32) -> Vec<CaseFacts<'static>> {
    (0..count).map(|case| CaseFacts { case, group: 0, tags: &[] }).collect()
}

pub(super) fn tallied(profile: &Profile, cases: &[&[End]]) -> Tally {
    let count = u32::try_from(cases.len()).expect("a test has few cases");
    tally(profile, &facts(count), &results(cases), Calls::default())
}

/// `count` cases of one repeat each that ended alike, after `cases`.
pub(super) fn many(ends: &[(usize, End)]) -> Vec<[End; 1]> {
    ends.iter().flat_map(|(count, end)| std::iter::repeat_n([*end], *count)).collect()
}

/// The tally of single-repeat cases.
pub(super) fn tallied_singles(profile: &Profile, ends: &[(usize, End)]) -> Tally {
    let cases = many(ends);
    let rows: Vec<&[End]> = cases.iter().map(|case| case.as_slice()).collect();
    tallied(profile, &rows)
}
