//! Events of a run, in the control database.

use super::events;
use crate::digest::Digest;
use crate::ids::RunId;
use crate::profile::Profile;
use crate::score::{Judged, Tally};
use crate::units::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run is made of: everything a decision about it may rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// The resolved profile.
    pub profile: Profile,
    /// The dataset's name, as the user gave it.
    pub dataset: String,
    /// The digest of the cases that were chosen, in order.
    pub dataset_digest: Digest,
    /// Cases.
    pub cases: u32,
    /// Chunks.
    pub chunks: u32,
    /// The placements that hold the chunks, by alias.
    pub placements: Vec<String>,
    /// What was left out of the dataset, in words: `--limit 10`.
    pub filters: Vec<String>,
}

impl RunPlan {
    /// Cases times repeats.
    pub fn executions(&self) -> u64 {
        u64::from(self.cases) * u64::from(self.profile.repeats)
    }

    /// SHA-256 of the plan's canonical text: equal for the same profile on the same cases.
    pub fn digest(&self) -> Digest {
        let text = crate::canonical::canonical_text(self).expect("a plan is made of integers and strings only");
        Digest::of(text.as_bytes())
    }
}

/// The run was planned; its plan rows are in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPlanned {
    /// The team that owns the run.
    pub team: String,
    /// The plan.
    pub plan: RunPlan,
    /// SHA-256 of the plan's canonical text.
    pub plan_digest: Digest,
    /// The earlier run that this one continues after a release from quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RunId>,
}

/// All chunks of a placement exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPlacementSeeded {
    /// The placement's alias.
    pub placement: String,
    /// How many chunks it holds of the run.
    pub chunks: u32,
}

/// The run may be dispatched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunOpened {
    /// Chunks.
    pub chunks: u32,
    /// Cases.
    pub cases: u32,
    /// Cases times repeats.
    pub executions: u64,
}

/// The first chunk was dispatched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {}

/// How a chunk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkEnd {
    /// Every execution is settled.
    Completed,
    /// Some executions wait in quarantine; the others are settled.
    Quarantined,
    /// It could not be processed.
    Failed,
    /// The run was cancelled or halted.
    Cancelled,
}

/// A chunk's end as the run accepts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptedChunk {
    /// The chunk's number.
    pub chunk: u32,
    /// The version of the chunk's stream that ended it; a higher one replaces the tally.
    pub version: Version,
    /// The digest of the chunk's stream at that version: the pin.
    pub digest: Digest,
    /// How it ended.
    pub end: ChunkEnd,
    /// What it adds to the run.
    pub tally: Tally,
}

/// The ends of some chunks were recorded with the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunChunksAccepted {
    /// The chunks, each once.
    pub chunks: Vec<AcceptedChunk>,
}

/// A chunk that had ended is open again: something was released from its quarantine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunChunkReopened {
    /// The chunk's number.
    pub chunk: u32,
    /// Who released it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A person's word on the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Intervention {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// Why a run asks no more, without a person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HaltCause {
    /// The target only fails.
    TargetFailing,
    /// The budget of calls is used up.
    CallsSpent,
    /// The budget of tokens is used up.
    TokensSpent,
}

/// The run asks no more: what is open is cancelled, what is settled is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunHalted {
    /// The kind of reason.
    pub cause: HaltCause,
    /// In words.
    pub reason: String,
}

/// The verdict, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunJudged {
    /// The verdict with its reasons and conditions.
    pub judged: Judged,
    /// The sum of the accepted tallies.
    pub tally: Tally,
    /// Over (case, repeat, outcome, score) in case order: equal results, equal digests.
    pub result_digest: Digest,
    /// The digest of the run's stream before this event. Through the pins it covers every accepted chunk and settled attempt.
    pub root: Digest,
}

/// The run is over and has its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCompleted {}

/// The run could not be carried out; it has no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunFailed {
    /// Why.
    pub reason: String,
}

events!(
    /// Events of a run.
    RunEvent, "run", {
        Planned(RunPlanned) = "run.planned" v 1,
        PlacementSeeded(RunPlacementSeeded) = "run.placement-seeded" v 1,
        Opened(RunOpened) = "run.opened" v 1,
        Started(RunStarted) = "run.started" v 1,
        ChunksAccepted(RunChunksAccepted) = "run.chunks-accepted" v 1,
        ChunkReopened(RunChunkReopened) = "run.chunk-reopened" v 1,
        Paused(Intervention) = "run.paused" v 1,
        Resumed(Intervention) = "run.resumed" v 1,
        Cancelled(Intervention) = "run.cancelled" v 1,
        Halted(RunHalted) = "run.halted" v 1,
        Judged(RunJudged) = "run.judged" v 1,
        Completed(RunCompleted) = "run.completed" v 1,
        Failed(RunFailed) = "run.failed" v 1,
        Retired(Intervention) = "run.retired" v 1,
    }
);
