//! Attempts of the story: one that is answered and judged, and every other end.

use super::{attempt_id, chunk_id, digest, key, ppm};
use tribunal_schema::answer::{FailureClass, Usage};
use tribunal_schema::evaluation::{EvaluationErrorClass, Finding, Measurement, Outcome, Severity};
use tribunal_schema::events::{
    AttemptAnswered, AttemptCancelled, AttemptEvent, AttemptExpired, AttemptFailed, AttemptJudged, AttemptLate,
    AttemptStarted, BindingOutcome, LateResult,
};
use tribunal_schema::json::JsonText;
use tribunal_schema::score::{ExecutionOutcome, Judgment};
use tribunal_schema::units::{DurationMs, LeaseTerm, ScorePpm};

const TERM: LeaseTerm = LeaseTerm(2);

pub fn samples() -> Vec<AttemptEvent> {
    let execution = key(3, 1);
    vec![
        AttemptEvent::Started(AttemptStarted {
            chunk: chunk_id(),
            execution,
            number: 2,
            term: TERM,
            idempotency_key: format!("{}-3-1-2", chunk_id().run),
        }),
        AttemptEvent::Answered(AttemptAnswered {
            term: TERM,
            answer: digest("the answer"),
            bytes: 812,
            latency: DurationMs(1160),
            finish_reason: Some("tool_calls".into()),
            usage: Some(Usage { input_tokens: Some(412), output_tokens: Some(57) }),
        }),
        AttemptEvent::Failed(AttemptFailed {
            term: TERM,
            class: FailureClass::RateLimited,
            message: "429 Too Many Requests, retry after 15 s".into(),
            status: Some(429),
            retry_after: Some(DurationMs::from_secs(15)),
            response_received: true,
            latency: DurationMs(38),
            body: Some(digest("the body of the 429")),
        }),
        AttemptEvent::Judged(judged()),
        AttemptEvent::Expired(AttemptExpired { term: LeaseTerm(1), lost: true }),
        AttemptEvent::Cancelled(AttemptCancelled { reason: "wrong dataset".into() }),
        AttemptEvent::Late(AttemptLate {
            term: LeaseTerm(1),
            result: LateResult::Answered,
            refusal: format!(
                "the lease of chunk {} at term 1 is over: another grant has the chunk (attempt {})",
                chunk_id(),
                attempt_id(execution, 1)
            ),
            answer: Some(digest("the late answer")),
        }),
    ]
}

fn judged() -> AttemptJudged {
    let said =
        |binding: &str, outcome, fuel| BindingOutcome { binding: binding.into(), outcome, fuel, findings: Vec::new() };
    let measured = |measurement, score_ppm, passed| Outcome::Measured { measurement, score_ppm, passed };
    let latency = Measurement::Number { value: "1160.5".parse().expect("a decimal"), unit: Some("ms".into()) };
    let missing = Finding {
        severity: Severity::Error,
        category: "wrong-argument".into(),
        message: "issue_refund was called with amount 43.1, expected 43.10 EUR".into(),
        evidence: Some(JsonText::of(&serde_json::json!({"argument": "amount", "expected": "43.10 €"}))),
    };
    AttemptJudged {
        term: TERM,
        outcomes: vec![
            said("right-tool", measured(Measurement::Binary(true), ScorePpm::ONE, true), 48_211),
            BindingOutcome {
                findings: vec![missing],
                ..said("right-arguments", measured(Measurement::Label("close".into()), ppm(500_000), false), 91_734)
            },
            said("fast", measured(latency, ppm(799_895), true), 20_105),
            said("not-chatty", Outcome::Abstained { reason: "the answer has no text".into() }, 9_870),
            said(
                "custom",
                Outcome::Errored {
                    class: EvaluationErrorClass::Fuel,
                    message: "used up its 500000000 units of fuel".into(),
                },
                500_000_000,
            ),
        ],
        judgment: Judgment { outcome: ExecutionOutcome::Errored, score_ppm: None, dimensions: Vec::new() },
    }
}
