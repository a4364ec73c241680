//! Events of a chunk, in the placement that holds it.

use super::{Intervention, events};
use crate::answer::FailureClass;
use crate::digest::Digest;
use crate::ids::{AttemptId, ChunkId, ExecutionKey, GrantId, Incarnation};
use crate::score::{ExecutionResult, Tally};
use crate::units::{DurationMs, LeaseTerm, ReadySeq, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A case of a chunk: what decisions need of it. Its content is in the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeededCase {
    /// The case's id in the dataset.
    pub id: String,
    /// The index of its group in the profile.
    pub group: u16,
    /// Its tags, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A result taken over from the run that this one follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarriedResult {
    /// The result, with the earlier run's attempt.
    pub result: ExecutionResult,
    /// The attempt's stream as the earlier run pinned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<AttemptPin>,
}

/// The chunk exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkSeeded {
    /// The chunk.
    pub chunk: ChunkId,
    /// The plan it belongs to.
    pub plan_digest: Digest,
    /// The lane it queues in.
    pub lane: String,
    /// The place of its first case in the dataset, from 0.
    pub first_case: u32,
    /// Its cases, in dataset order.
    pub cases: Vec<SeededCase>,
    /// Repeats of each case.
    pub repeats: u32,
    /// The blob with the cases' content.
    pub page: Digest,
    /// Results that are already known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<CarriedResult>,
    /// The number of its first ready row.
    pub ready_seq: ReadySeq,
}

/// A message that offers the chunk was handed to the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkDispatched {
    /// The ready row it offers.
    pub ready_seq: ReadySeq,
}

/// A worker has the chunk for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkLeased {
    /// The fencing number, one more than the last.
    pub term: LeaseTerm,
    /// This grant.
    pub grant: GrantId,
    /// Who holds it.
    pub holder: Incarnation,
    /// How long it lasts without renewal.
    pub lease: DurationMs,
    /// How long it lasts at most.
    pub hard_deadline: DurationMs,
}

/// An attempt that may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocatedAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// What it tries.
    pub execution: ExecutionKey,
    /// Its number among the execution's attempts, from 1.
    pub number: u32,
    /// The number of its idempotency key: +1 whenever a response was received.
    pub key: u32,
}

/// Attempts were given out under a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkAttemptsAllocated {
    /// The term.
    pub term: LeaseTerm,
    /// The attempts.
    pub attempts: Vec<AllocatedAttempt>,
}

/// An attempt's stream, pinned: everything in it up to this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptPin {
    /// The version.
    pub version: Version,
    /// The digest of the stream at that version.
    pub digest: Digest,
}

/// An execution that has its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettledExecution {
    /// The result.
    pub result: ExecutionResult,
    /// Its attempt, pinned.
    pub pin: AttemptPin,
}

/// Executions have their results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkExecutionsSettled {
    /// The term under which they were settled.
    pub term: LeaseTerm,
    /// The results, each execution once.
    pub settled: Vec<SettledExecution>,
}

/// An execution that is to be tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeferredExecution {
    /// The attempt that failed.
    pub attempt: AttemptId,
    /// What it tried.
    pub execution: ExecutionKey,
    /// Why it failed.
    pub class: FailureClass,
    /// How long to wait, counted from the record of this event.
    pub retry_after: DurationMs,
    /// Whether a response was received, so that the next attempt needs a new idempotency key.
    pub response_received: bool,
    /// The failed attempt, pinned.
    pub pin: AttemptPin,
}

/// Executions are to be tried again later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkExecutionsDeferred {
    /// The term under which they were deferred.
    pub term: LeaseTerm,
    /// The executions.
    pub deferred: Vec<DeferredExecution>,
}

/// What the end of a term means for the attempts that were open under it. An
/// attempt that is answered or judged is in none of the lists: the next term adopts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unfinished {
    /// Allocated and never started: they go back unburnt, with their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unburnt: Vec<AttemptId>,
    /// Started, and nobody knows how they ended: the target may have served them; they may be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expired: Vec<AttemptId>,
    /// The same of an unsafe target: never made again by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<AttemptId>,
}

/// An attempt of an unsafe target whose end nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuarantinedAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// What it tried.
    pub execution: ExecutionKey,
    /// How it failed.
    pub class: FailureClass,
    /// The failed attempt, pinned.
    pub pin: AttemptPin,
}

/// Executions wait for a person: the target is unsafe and may have acted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkExecutionsQuarantined {
    /// The term under which they failed.
    pub term: LeaseTerm,
    /// Their attempts.
    pub attempts: Vec<QuarantinedAttempt>,
}

/// Why a worker gave a chunk back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseReason {
    /// Its time slice ended.
    Slice,
    /// Only executions that wait for a retry are left.
    RetryWait,
    /// The run was paused.
    Paused,
    /// The worker is going.
    Shutdown,
}

/// The chunk was given back before it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkReleased {
    /// The term that ended.
    pub term: LeaseTerm,
    /// Why.
    pub reason: ReleaseReason,
    /// What that means for its open attempts.
    pub unfinished: Unfinished,
    /// When it may be claimed again, counted from the record of this event.
    pub due_in: DurationMs,
    /// The number of its new ready row.
    pub ready_seq: ReadySeq,
}

/// A lease ran out or was revoked, and what that means for its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkLeaseExpired {
    /// The term that ended.
    pub term: LeaseTerm,
    /// What that means for its open attempts.
    pub unfinished: Unfinished,
    /// How many recoveries in a row settled nothing, this one included.
    pub recoveries_without_progress: u32,
}

/// Why a chunk is claimable again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequeueReason {
    /// Its lease expired.
    Recovery,
    /// Its processing failed.
    ProcessingFailed,
    /// Something was released from its quarantine.
    Released,
}

/// The chunk is claimable again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkRequeued {
    /// Why.
    pub reason: RequeueReason,
    /// Executions taken out of quarantine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<ExecutionKey>,
    /// When it may be claimed, counted from the record of this event.
    pub due_in: DurationMs,
    /// The number of its new ready row.
    pub ready_seq: ReadySeq,
}

/// The worker itself failed while it processed the chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkProcessingFailed {
    /// The term that ended.
    pub term: LeaseTerm,
    /// What that means for its open attempts.
    pub unfinished: Unfinished,
    /// What went wrong.
    pub message: String,
    /// How many times in all, this one included.
    pub count: u32,
}

/// The chunk is over: every execution has its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkCompleted {
    /// What it adds to the run.
    pub tally: Tally,
}

/// The chunk is over but for executions that wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkQuarantined {
    /// The executions that wait; they count as errored.
    pub executions: Vec<ExecutionKey>,
    /// What it adds to the run.
    pub tally: Tally,
}

/// The chunk could not be processed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkFailed {
    /// Why.
    pub reason: String,
    /// What it adds to the run; what was not settled is missing.
    pub tally: Tally,
}

/// The chunk was stopped with its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkCancelled {
    /// Who and why.
    pub cause: Intervention,
    /// Attempts that were started and have no end; they are cancelled with the chunk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<AttemptId>,
    /// What it adds to the run; what was not settled is missing.
    pub tally: Tally,
}

events!(
    /// Events of a chunk.
    ChunkEvent, "chunk", {
        Seeded(ChunkSeeded) = "chunk.seeded" v 1,
        Dispatched(ChunkDispatched) = "chunk.dispatched" v 1,
        Leased(ChunkLeased) = "chunk.leased" v 1,
        AttemptsAllocated(ChunkAttemptsAllocated) = "chunk.attempts-allocated" v 1,
        ExecutionsSettled(ChunkExecutionsSettled) = "chunk.executions-settled" v 1,
        ExecutionsDeferred(ChunkExecutionsDeferred) = "chunk.executions-deferred" v 1,
        ExecutionsQuarantined(ChunkExecutionsQuarantined) = "chunk.executions-quarantined" v 1,
        Released(ChunkReleased) = "chunk.released" v 1,
        LeaseExpired(ChunkLeaseExpired) = "chunk.lease-expired" v 1,
        Requeued(ChunkRequeued) = "chunk.requeued" v 1,
        ProcessingFailed(ChunkProcessingFailed) = "chunk.processing-failed" v 1,
        Quarantined(ChunkQuarantined) = "chunk.quarantined" v 1,
        Completed(ChunkCompleted) = "chunk.completed" v 1,
        Failed(ChunkFailed) = "chunk.failed" v 1,
        Cancelled(ChunkCancelled) = "chunk.cancelled" v 1,
    }
);
