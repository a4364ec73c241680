//! A small run of made-up cases: one group with one binding in one dimension.

use crate::chunk::FailedAttempt;
use crate::verdict::{judge, outcome_of};
use std::collections::BTreeMap;
use tribunal_schema::Digest;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::case::{Case, CasePage};
use tribunal_schema::evaluation::{Measurement, Outcome, Report, Said};
use tribunal_schema::events::{
    AttemptAnswered, AttemptFailed, AttemptJudged, AttemptPin, BindingOutcome, ChunkSeeded, Intervention, RunPlan,
    RunPlanned, SeededCase, SettledExecution,
};
use tribunal_schema::ids::{AttemptId, ChunkId, ExecutionKey, GrantId, Incarnation, RunId};
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::{
    AttemptPolicy, Binding, Budget, Dimension, ErrorsAs, EvaluatorPin, Group, Match, Measure, Method, Persist,
    PersistAnswers, Profile, Rule, SideEffects, TargetConfig, TargetKind,
};
use tribunal_schema::score::{ExecutionResult, Judgment};
use tribunal_schema::units::{DurationMs, LeaseTerm, ReadySeq, ScorePpm, Version};
use ulid::Ulid;

/// Long enough for anything.
pub const DAY: DurationMs = DurationMs(86_400_000);
/// The grant of every lease.
pub const GRANT: GrantId = GrantId(Ulid::from_parts(7, 7));
/// The holder of every lease.
pub const HOLDER: Incarnation = Incarnation(Ulid::from_parts(8, 8));

/// The run.
pub fn run_id() -> RunId {
    RunId(Ulid::from_parts(1, 1))
}

/// The n-th attempt.
pub fn attempt_id(n: u64) -> AttemptId {
    AttemptId(Ulid::from_parts(2, u128::from(n)))
}

/// A pin that nothing stands behind.
pub fn pin(n: u64) -> AttemptPin {
    AttemptPin { version: Version(3), digest: Digest::of(&n.to_be_bytes()) }
}

/// A person.
pub fn by() -> Intervention {
    Intervention { by: "ada".into(), reason: "because".into() }
}

/// A profile of one group; half of the executions must pass. Timeouts and server errors are tried again.
pub fn profile(side_effects: SideEffects, attempts_max: u32, repeats: u32) -> Profile {
    let binding = Binding {
        id: "b".into(),
        evaluator: EvaluatorPin { reference: "std/equals".into(), name: "equals".into(), component: Digest::ZERO },
        config: JsonText::default(),
        measure: Measure::Direct,
        negate: false,
        dimension: "d".into(),
        weight_ppm: 1_000_000,
        pass_at: ScorePpm::ONE,
        required: true,
        blocking: false,
    };
    let dimension =
        Dimension { name: "d".into(), method: Method::Min, weight_ppm: 1_000_000, pass_at: None, blocking: false };
    Profile {
        name: "test".into(),
        version: "1".into(),
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
            max_in_flight: 4,
            rate: None,
            max_response_bytes: 1024,
            side_effects,
        },
        judge: None,
        attempts: AttemptPolicy {
            max: attempts_max,
            backoff: DurationMs(5000),
            backoff_max: DurationMs(600_000),
            retry_on: vec![FailureClass::Connect, FailureClass::Timeout, FailureClass::ServerError],
        },
        repeats,
        errors_as: ErrorsAs::Inconclusive,
        chunk_size: 100,
        lane: "default".into(),
        budget: Budget::default(),
        persist: Persist { answers: PersistAnswers::All, evidence: true },
        groups: vec![Group {
            name: "all".into(),
            takes: Match::default(),
            bindings: vec![binding],
            dimensions: vec![dimension],
        }],
        gate: vec![Rule { min_pass_rate: ScorePpm::new(500_000), ..Rule::default() }],
    }
}

/// A run of some chunks of `cases` cases each.
pub fn planned(profile: Profile, chunks: u32, cases: u32) -> RunPlanned {
    let plan = RunPlan {
        profile,
        dataset: "made-up".into(),
        dataset_digest: Digest::of(b"made-up"),
        cases: chunks * cases,
        chunks,
        placements: vec!["local".into()],
        filters: vec![],
    };
    let plan_digest = plan.digest();
    RunPlanned { team: "default".into(), plan, plan_digest, follows: None }
}

/// The content of a chunk's cases.
pub fn page(number: u32, cases: u32) -> Vec<u8> {
    let case = |case: u32| Case {
        id: format!("case-{case}"),
        input: format!("question {case}").into(),
        expected: None,
        context: None,
        task_type: None,
        group: None,
        tags: vec![],
        metadata: Default::default(),
    };
    let page = CasePage { cases: (number * cases..(number + 1) * cases).map(case).collect() };
    serde_json::to_vec(&page).expect("cases have a JSON form")
}

/// A chunk of a run.
pub fn seeded(planned: &RunPlanned, number: u32) -> ChunkSeeded {
    let cases = planned.plan.cases / planned.plan.chunks;
    let first_case = number * cases;
    ChunkSeeded {
        chunk: ChunkId { run: run_id(), number },
        plan_digest: planned.plan_digest,
        lane: "default".into(),
        first_case,
        cases: (first_case..first_case + cases)
            .map(|case| SeededCase { id: format!("case-{case}"), group: 0, tags: vec![] })
            .collect(),
        repeats: planned.plan.profile.repeats,
        page: Digest::of(&page(number, cases)),
        carried: vec![],
        ready_seq: ReadySeq(1),
    }
}

/// What the one binding says: yes or no.
pub fn outcome(profile: &Profile, passes: bool) -> Outcome {
    let report = Report { said: Said::Measured(Measurement::Binary(passes)), findings: vec![] };
    outcome_of(&profile.groups[0].bindings[0], Ok(&report))
}

fn judgment(profile: &Profile, passes: bool) -> Judgment {
    judge(&profile.groups[0], &[outcome(profile, passes)])
}

/// The result of an execution.
pub fn result(profile: &Profile, execution: ExecutionKey, attempt: AttemptId, passes: bool) -> ExecutionResult {
    ExecutionResult { execution, attempt: Some(attempt), judgment: judgment(profile, passes), failure: None }
}

/// A settled execution with a pin that nothing stands behind.
pub fn settled(profile: &Profile, execution: ExecutionKey, attempt: u64, passes: bool) -> SettledExecution {
    SettledExecution { result: result(profile, execution, attempt_id(attempt), passes), pin: pin(attempt) }
}

/// A failed attempt with a pin that nothing stands behind.
pub fn failed(execution: ExecutionKey, attempt: u64, class: FailureClass) -> FailedAttempt {
    FailedAttempt {
        attempt: attempt_id(attempt),
        execution,
        class,
        retry_after: None,
        response_received: class.implies_response(),
        pin: pin(attempt),
        jitter_ppm: 0,
    }
}

/// An answer of some bytes.
pub fn answered(term: LeaseTerm, body: &[u8]) -> AttemptAnswered {
    AttemptAnswered {
        term,
        answer: Digest::of(body),
        bytes: body.len() as u64,
        latency: DurationMs(12),
        finish_reason: None,
        usage: None,
    }
}

/// A judgment of an answer.
pub fn judged(profile: &Profile, term: LeaseTerm, passes: bool) -> AttemptJudged {
    let said = BindingOutcome { binding: "b".into(), outcome: outcome(profile, passes), fuel: 7, findings: vec![] };
    AttemptJudged { term, outcomes: vec![said], judgment: judgment(profile, passes) }
}

impl FailedAttempt {
    /// The same as the attempt's stream records it.
    pub fn recorded(&self, term: LeaseTerm) -> AttemptFailed {
        AttemptFailed {
            term,
            class: self.class,
            message: "it failed".into(),
            status: None,
            retry_after: self.retry_after,
            response_received: self.response_received,
            latency: DurationMs(3),
            body: None,
        }
    }
}
