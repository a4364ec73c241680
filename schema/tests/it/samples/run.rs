//! The run of the story: planned, judged, and every way a run can end.

use super::{chunk_id, digest, ppm, profile, run_id, tally};
use tribunal_schema::Digest;
use tribunal_schema::canonical::canonical_text;
use tribunal_schema::events::{
    AcceptedChunk, ChunkEnd, HaltCause, Intervention, RunChunkReopened, RunChunksAccepted, RunCompleted, RunEvent,
    RunFailed, RunHalted, RunJudged, RunOpened, RunPlacementSeeded, RunPlan, RunPlanned, RunStarted,
};
use tribunal_schema::score::{ConditionResult, ConditionState, Judged, Verdict};
use tribunal_schema::units::Version;
use ulid::Ulid;

pub fn samples() -> Vec<RunEvent> {
    vec![
        RunEvent::Planned(planned()),
        RunEvent::PlacementSeeded(RunPlacementSeeded { placement: "local".into(), chunks: 1 }),
        RunEvent::Opened(RunOpened { chunks: 1, cases: 4, executions: 12 }),
        RunEvent::Started(RunStarted {}),
        RunEvent::ChunksAccepted(RunChunksAccepted { chunks: vec![accepted()] }),
        RunEvent::ChunkReopened(RunChunkReopened {
            chunk: chunk_id().number,
            by: "ada@example.org".into(),
            reason: "the refund was not booked; the call is safe to make again".into(),
        }),
        RunEvent::Paused(word("the agent is being redeployed")),
        RunEvent::Resumed(word("the agent is back")),
        RunEvent::Cancelled(word("wrong dataset")),
        RunEvent::Halted(RunHalted {
            cause: HaltCause::TargetFailing,
            reason: "the last 20 calls ended in client-error: 401 Unauthorized".into(),
        }),
        RunEvent::Judged(judged()),
        RunEvent::Completed(RunCompleted {}),
        RunEvent::Failed(RunFailed { reason: "chunk 0 is seeded with another plan".into() }),
        RunEvent::Retired(word("older than 90 days")),
    ]
}

fn word(reason: &str) -> Intervention {
    Intervention { by: "ada@example.org".into(), reason: reason.into() }
}

fn planned() -> RunPlanned {
    let plan = RunPlan {
        profile: profile::profile(),
        dataset: "support.jsonl".into(),
        dataset_digest: digest("the four cases"),
        cases: 4,
        chunks: 1,
        placements: vec!["local".into()],
        filters: vec!["--limit 4".into()],
    };
    let plan_digest = Digest::of(canonical_text(&plan).expect("a plan has canonical text").as_bytes());
    let follows = Some(tribunal_schema::ids::RunId(Ulid::from_parts(super::STORY_MS - 86_400_000, 1)));
    RunPlanned { team: "support".into(), plan, plan_digest, follows }
}

fn accepted() -> AcceptedChunk {
    AcceptedChunk {
        chunk: chunk_id().number,
        version: Version(9),
        digest: digest("chunk 0 at version 9"),
        end: ChunkEnd::Completed,
        tally: tally(),
    }
}

fn judged() -> RunJudged {
    let reasons = [
        "dimension correctness: mean 0.833333 of 6 executions, 0.900 is asked",
        "dimension correctness: 5 of 6 executions pass (0.833333), 0.850 is asked",
        "coverage: 10 of 12 executions are scored (0.833333), 0.980 is asked",
        "errors: 1 of 12 executions errored (0.083333), at most 0.020 is asked",
        "abstentions: 1 of 12 executions abstained (0.083333), at most 0.050 is asked",
    ];
    RunJudged {
        judged: Judged {
            verdict: Verdict::Fail,
            reasons: reasons.map(String::from).to_vec(),
            conditions: conditions(),
        },
        tally: tally(),
        result_digest: digest(&format!("the results of {}", run_id())),
        root: digest("the run's stream at version 5"),
    }
}

fn conditions() -> Vec<ConditionResult> {
    let condition = |rule, scope: &str, condition: &str, threshold, observed, low, high, state| ConditionResult {
        rule,
        scope: scope.into(),
        condition: condition.into(),
        threshold_ppm: ppm(threshold),
        observed_ppm: Some(ppm(observed)),
        low_ppm: ppm(low),
        high_ppm: ppm(high),
        state,
    };
    use ConditionState::{Broken, Holds, Open};
    vec![
        condition(0, "dimension correctness", "min_mean", 900_000, 833_333, 833_333, 833_333, Broken),
        condition(0, "dimension correctness", "min_pass_rate", 850_000, 833_333, 833_333, 833_333, Broken),
        condition(1, "dimension tools, group tools", "min_pass_rate", 950_000, 1_000_000, 666_666, 1_000_000, Open),
        condition(2, "tag smoke", "min_pass_rate", 1_000_000, 1_000_000, 1_000_000, 1_000_000, Holds),
        condition(3, "cases with 2 of 3", "min_pass_rate", 900_000, 1_000_000, 750_000, 1_000_000, Open),
        condition(4, "all executions", "min_coverage", 980_000, 833_333, 833_333, 833_333, Broken),
        condition(4, "all executions", "max_error_rate", 20_000, 83_333, 83_333, 83_333, Broken),
        condition(4, "all executions", "max_abstention_rate", 50_000, 83_333, 83_333, 83_333, Broken),
    ]
}
