//! The chunk of the story: seeded, leased twice, completed, and every other
//! way a chunk can go.

use super::{attempt_id, chunk_id, digest, key, ppm, tally};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::{
    AllocatedAttempt, AttemptPin, CarriedResult, ChunkAttemptsAllocated, ChunkCancelled, ChunkCompleted,
    ChunkDispatched, ChunkEvent, ChunkExecutionsDeferred, ChunkExecutionsQuarantined, ChunkExecutionsSettled,
    ChunkFailed, ChunkLeaseExpired, ChunkLeased, ChunkProcessingFailed, ChunkQuarantined, ChunkReleased, ChunkRequeued,
    ChunkSeeded, DeferredExecution, Intervention, QuarantinedAttempt, ReleaseReason, RequeueReason, SeededCase,
    SettledExecution, Unfinished,
};
use tribunal_schema::ids::{ExecutionKey, GrantId, Incarnation};
use tribunal_schema::score::{DimensionScore, ExecutionOutcome, ExecutionResult, Judgment};
use tribunal_schema::units::{DurationMs, LeaseTerm, ReadySeq, ScorePpm, Version};
use ulid::Ulid;

pub fn samples() -> Vec<ChunkEvent> {
    let mut samples = working();
    samples.extend(recovering());
    samples.extend(ending());
    samples
}

fn working() -> Vec<ChunkEvent> {
    let allocated =
        |execution, number, key| AllocatedAttempt { attempt: attempt_id(execution, number), execution, number, key };
    vec![
        ChunkEvent::Seeded(seeded()),
        ChunkEvent::Dispatched(ChunkDispatched { ready_seq: ReadySeq(1) }),
        ChunkEvent::Leased(ChunkLeased {
            term: LeaseTerm(2),
            grant: GrantId(Ulid::from_parts(super::STORY_MS + 900, 7)),
            holder: Incarnation(Ulid::from_parts(super::STORY_MS - 5000, 3)),
            lease: DurationMs::from_secs(60),
            hard_deadline: DurationMs::from_secs(635),
        }),
        ChunkEvent::AttemptsAllocated(ChunkAttemptsAllocated {
            term: LeaseTerm(2),
            attempts: vec![allocated(key(0, 1), 1, 0), allocated(key(3, 1), 2, 1)],
        }),
        ChunkEvent::ExecutionsSettled(ChunkExecutionsSettled { term: LeaseTerm(2), settled: settled() }),
        ChunkEvent::ExecutionsDeferred(ChunkExecutionsDeferred {
            term: LeaseTerm(2),
            deferred: vec![DeferredExecution {
                attempt: attempt_id(key(3, 1), 2),
                execution: key(3, 1),
                class: FailureClass::RateLimited,
                retry_after: DurationMs::from_secs(15),
                response_received: true,
                pin: pin("attempt of case 3 repeat 1", 2),
            }],
        }),
        ChunkEvent::ExecutionsQuarantined(ChunkExecutionsQuarantined {
            term: LeaseTerm(2),
            attempts: vec![QuarantinedAttempt {
                attempt: attempt_id(key(3, 2), 1),
                execution: key(3, 2),
                class: FailureClass::Timeout,
                pin: pin("attempt of case 3 repeat 2", 2),
            }],
        }),
        ChunkEvent::Released(ChunkReleased {
            term: LeaseTerm(2),
            reason: ReleaseReason::RetryWait,
            unfinished: Unfinished { unburnt: vec![attempt_id(key(2, 2), 1)], ..Unfinished::default() },
            due_in: DurationMs::from_secs(15),
            ready_seq: ReadySeq(3),
        }),
    ]
}

fn recovering() -> Vec<ChunkEvent> {
    vec![
        ChunkEvent::LeaseExpired(ChunkLeaseExpired {
            term: LeaseTerm(1),
            unfinished: unfinished(),
            recoveries_without_progress: 1,
        }),
        ChunkEvent::Requeued(ChunkRequeued {
            reason: RequeueReason::Released,
            released: vec![key(3, 2)],
            due_in: DurationMs(0),
            ready_seq: ReadySeq(2),
        }),
        ChunkEvent::ProcessingFailed(ChunkProcessingFailed {
            term: LeaseTerm(1),
            message: "the page of cases does not read: unexpected end of input".into(),
            count: 2,
            unfinished: unfinished(),
        }),
    ]
}

fn ending() -> Vec<ChunkEvent> {
    vec![
        ChunkEvent::Quarantined(ChunkQuarantined { executions: vec![key(3, 2)], tally: tally() }),
        ChunkEvent::Completed(ChunkCompleted { tally: tally() }),
        ChunkEvent::Failed(ChunkFailed { reason: "3 recoveries in a row settled nothing".into(), tally: tally() }),
        ChunkEvent::Cancelled(ChunkCancelled {
            cause: Intervention { by: "ada@example.org".into(), reason: "wrong dataset".into() },
            in_flight: vec![attempt_id(key(3, 0), 2)],
            tally: tally(),
        }),
    ]
}

fn unfinished() -> Unfinished {
    Unfinished {
        unburnt: vec![attempt_id(key(1, 1), 1)],
        expired: vec![attempt_id(key(1, 0), 1)],
        lost: vec![attempt_id(key(3, 2), 1)],
    }
}

fn seeded() -> ChunkSeeded {
    let case = |id: &str, group, tags: &[&str]| SeededCase {
        id: id.into(),
        group,
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
    };
    ChunkSeeded {
        chunk: chunk_id(),
        plan_digest: digest("the plan"),
        lane: "default".into(),
        first_case: 0,
        cases: vec![
            case("refund-001", 0, &["en", "smoke"]),
            case("refund-002", 0, &["en", "smoke"]),
            case("päckchen-17", 1, &["de"]),
            case("sha256:6f1b", 1, &[]),
        ],
        repeats: 3,
        page: digest("the page of cases"),
        carried: vec![CarriedResult { result: passed(key(0, 0)), pin: Some(pin("earlier attempt", 3)) }],
        ready_seq: ReadySeq(1),
    }
}

fn settled() -> Vec<SettledExecution> {
    let failed = Judgment {
        outcome: ExecutionOutcome::Failed,
        score_ppm: Some(ppm(250_000)),
        dimensions: vec![Some(DimensionScore { score_ppm: ScorePpm::ZERO, passed: false }), None],
    };
    let unscored = |outcome| Judgment { outcome, score_ppm: None, dimensions: Vec::new() };
    let result = |execution, judgment, failure| ExecutionResult {
        execution,
        attempt: Some(attempt_id(execution, 1)),
        judgment,
        failure,
    };
    vec![
        SettledExecution { result: passed(key(0, 1)), pin: pin("passed", 3) },
        SettledExecution { result: result(key(1, 2), failed, None), pin: pin("failed", 3) },
        SettledExecution {
            result: result(key(3, 0), unscored(ExecutionOutcome::Errored), Some(FailureClass::Timeout)),
            pin: pin("errored", 2),
        },
        SettledExecution {
            result: result(key(3, 2), unscored(ExecutionOutcome::Abstained), None),
            pin: pin("abstained", 3),
        },
    ]
}

fn passed(execution: ExecutionKey) -> ExecutionResult {
    let whole = Some(DimensionScore { score_ppm: ScorePpm::ONE, passed: true });
    ExecutionResult {
        execution,
        attempt: Some(attempt_id(execution, 1)),
        judgment: Judgment {
            outcome: ExecutionOutcome::Passed,
            score_ppm: Some(ScorePpm::ONE),
            dimensions: vec![whole, whole],
        },
        failure: None,
    }
}

fn pin(of: &str, version: u64) -> AttemptPin {
    AttemptPin { version: Version(version), digest: digest(of) }
}
