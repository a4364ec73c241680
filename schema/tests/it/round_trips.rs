//! Round trips of payloads that nobody wrote down: what is encoded decodes to
//! the same event, and encodes again to the same bytes.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use tribunal_schema::answer::{FailureClass, Usage};
use tribunal_schema::codec::decode_payload;
use tribunal_schema::digest::Digest;
use tribunal_schema::evaluation::{EvaluationErrorClass, Finding, Measurement, Outcome, Severity};
use tribunal_schema::events::{
    AcceptedChunk, AttemptAnswered, AttemptEvent, AttemptFailed, AttemptJudged, AttemptPin, BindingOutcome, ChunkEnd,
    ChunkEvent, ChunkExecutionsSettled, DomainEvent, RunChunksAccepted, RunEvent, SettledExecution,
};
use tribunal_schema::ids::{AttemptId, ExecutionKey};
use tribunal_schema::json::{Decimal, JsonText};
use tribunal_schema::score::{
    Counts, DimensionScore, DimensionTally, ExecutionOutcome, ExecutionResult, Judgment, RuleTally, Tally,
};
use tribunal_schema::units::{DurationMs, LeaseTerm, ScorePpm, Version};
use ulid::Ulid;

fn reads_back<E: DomainEvent>(event: &E) {
    let written = event.encode();
    let read: E = decode_payload(written.event_type, written.type_version, &written.payload).expect("decodes");
    assert_eq!(&read, event);
    assert_eq!(read.encode().payload, written.payload);
}

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(|bytes| Digest::from_bytes(&bytes).expect("32 bytes"))
}

fn score() -> impl Strategy<Value = ScorePpm> {
    (0..=1_000_000u32).prop_map(|ppm| ScorePpm::new(ppm).expect("within one million"))
}

fn attempt() -> impl Strategy<Value = AttemptId> {
    any::<u128>().prop_map(|bits| AttemptId(Ulid(bits)))
}

fn failure() -> impl Strategy<Value = FailureClass> {
    proptest::sample::select(FailureClass::ALL.to_vec())
}

fn outcome_of_execution() -> impl Strategy<Value = ExecutionOutcome> {
    use ExecutionOutcome::{Abstained, Errored, Failed, Passed};
    proptest::sample::select(vec![Passed, Failed, Errored, Abstained])
}

fn judgment() -> impl Strategy<Value = Judgment> {
    let dimension = (score(), any::<bool>()).prop_map(|(score_ppm, passed)| DimensionScore { score_ppm, passed });
    (outcome_of_execution(), option::of(score()), vec(option::of(dimension), 0..4))
        .prop_map(|(outcome, score_ppm, dimensions)| Judgment { outcome, score_ppm, dimensions })
}

fn result() -> impl Strategy<Value = ExecutionResult> {
    (any::<u32>(), any::<u32>(), option::of(attempt()), judgment(), option::of(failure())).prop_map(
        |(case, repeat, attempt, judgment, failure)| ExecutionResult {
            execution: ExecutionKey { case, repeat },
            attempt,
            judgment,
            failure,
        },
    )
}

fn settled() -> impl Strategy<Value = SettledExecution> {
    (result(), any::<u64>(), digest()).prop_map(|(result, version, digest)| SettledExecution {
        result,
        pin: AttemptPin { version: Version(version), digest },
    })
}

fn decimal() -> impl Strategy<Value = Decimal> {
    (any::<bool>(), any::<u32>(), 0..1_000_000_000u32).prop_map(|(negative, whole, fraction)| {
        let sign = if negative { "-" } else { "" };
        format!("{sign}{whole}.{fraction:09}").parse().expect("a decimal")
    })
}

fn measurement() -> impl Strategy<Value = Measurement> {
    prop_oneof![
        any::<bool>().prop_map(Measurement::Binary),
        (decimal(), option::of(any::<String>())).prop_map(|(value, unit)| Measurement::Number { value, unit }),
        any::<String>().prop_map(Measurement::Label),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        (measurement(), score(), any::<bool>()).prop_map(|(measurement, score_ppm, passed)| Outcome::Measured {
            measurement,
            score_ppm,
            passed
        }),
        any::<String>().prop_map(|reason| Outcome::Abstained { reason }),
        any::<String>().prop_map(|message| Outcome::Errored { class: EvaluationErrorClass::Trap, message }),
    ]
}

fn finding() -> impl Strategy<Value = Finding> {
    let evidence = any::<String>().prop_map(|text| JsonText::of(&serde_json::json!({ "seen": text })));
    (any::<String>(), any::<String>(), option::of(evidence)).prop_map(|(category, message, evidence)| Finding {
        severity: Severity::Warning,
        category,
        message,
        evidence,
    })
}

fn binding_outcome() -> impl Strategy<Value = BindingOutcome> {
    (any::<String>(), outcome(), any::<u64>(), vec(finding(), 0..3))
        .prop_map(|(binding, outcome, fuel, findings)| BindingOutcome { binding, outcome, fuel, findings })
}

fn tally() -> impl Strategy<Value = Tally> {
    (any::<[u64; 4]>(), vec(any::<u64>(), 0..3), btree_map(failure(), any::<u64>(), 0..4)).prop_map(
        |([executions, passed, calls, repeated], sums, failures)| Tally {
            counts: Counts { executions, passed, ..Counts::default() },
            score_ppm_sum: executions,
            rules: sums.iter().map(|sum| RuleTally { score_ppm_sum: *sum, ..RuleTally::default() }).collect(),
            dimensions: sums.iter().map(|sum| DimensionTally { scored: *sum, ..DimensionTally::default() }).collect(),
            group_cases: sums,
            failures,
            evaluator_errors: passed,
            target_calls: calls,
            calls_maybe_repeated: repeated,
        },
    )
}

proptest! {
    #[test]
    fn settled_executions_read_back(term in any::<u64>(), settled in vec(settled(), 0..5)) {
        reads_back(&ChunkEvent::ExecutionsSettled(ChunkExecutionsSettled { term: LeaseTerm(term), settled }));
    }

    #[test]
    fn accepted_chunks_read_back(chunk in any::<u32>(), version in any::<u64>(), digest in digest(), tally in tally()) {
        let accepted = AcceptedChunk { chunk, version: Version(version), digest, end: ChunkEnd::Failed, tally };
        reads_back(&RunEvent::ChunksAccepted(RunChunksAccepted { chunks: vec![accepted] }));
    }

    #[test]
    fn a_judged_attempt_reads_back(outcomes in vec(binding_outcome(), 0..4), judgment in judgment()) {
        reads_back(&AttemptEvent::Judged(AttemptJudged { term: LeaseTerm(1), outcomes, judgment }));
    }

    #[test]
    fn a_failed_attempt_reads_back(
        class in failure(),
        message in any::<String>(),
        status in option::of(any::<u16>()),
        wait in option::of(any::<u64>()),
        body in option::of(digest()),
    ) {
        reads_back(&AttemptEvent::Failed(AttemptFailed {
            term: LeaseTerm(1),
            class,
            message,
            status,
            retry_after: wait.map(DurationMs),
            response_received: status.is_some(),
            latency: DurationMs(wait.unwrap_or(0)),
            body,
        }));
    }

    #[test]
    fn an_answered_attempt_reads_back(
        answer in digest(),
        bytes in any::<u64>(),
        finish_reason in option::of(any::<String>()),
        tokens in option::of((option::of(any::<u64>()), option::of(any::<u64>()))),
    ) {
        let usage = tokens.map(|(input_tokens, output_tokens)| Usage { input_tokens, output_tokens });
        let latency = DurationMs(bytes);
        reads_back(&AttemptEvent::Answered(AttemptAnswered { term: LeaseTerm(1), answer, bytes, latency, finish_reason, usage }));
    }
}
