//! Events of an attempt, in the placement of its chunk.

use super::events;
use crate::answer::{FailureClass, Usage};
use crate::digest::Digest;
use crate::evaluation::{Finding, Outcome};
use crate::ids::{ChunkId, ExecutionKey};
use crate::score::Judgment;
use crate::units::{DurationMs, LeaseTerm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The target is about to be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptStarted {
    /// The chunk.
    pub chunk: ChunkId,
    /// What is tried.
    pub execution: ExecutionKey,
    /// The attempt's number, from 1.
    pub number: u32,
    /// The term under which it was started.
    pub term: LeaseTerm,
    /// The Idempotency-Key that is sent.
    pub idempotency_key: String,
}

/// The target answered; the answer is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptAnswered {
    /// The term under which the answer was recorded.
    pub term: LeaseTerm,
    /// The answer's blob.
    pub answer: Digest,
    /// Its size in bytes.
    pub bytes: u64,
    /// How long the target took.
    pub latency: DurationMs,
    /// Why the target stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Tokens, where the target says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The target failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptFailed {
    /// The term under which the failure was recorded.
    pub term: LeaseTerm,
    /// The class of the first check that failed.
    pub class: FailureClass,
    /// In words.
    pub message: String,
    /// The HTTP status, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What the target asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<DurationMs>,
    /// Whether any part of a response was received.
    pub response_received: bool,
    /// How long it took.
    pub latency: DurationMs,
    /// The blob with the beginning of the body, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Digest>,
}

/// What one binding said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BindingOutcome {
    /// The binding's id.
    pub binding: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The fuel it used.
    pub fuel: u64,
    /// Its findings, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// The answer was examined and judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptJudged {
    /// The term under which it was judged.
    pub term: LeaseTerm,
    /// One entry per binding of the group, in its order.
    pub outcomes: Vec<BindingOutcome>,
    /// What follows from them.
    pub judgment: Judgment,
}

/// The lease ended while the attempt had no end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptExpired {
    /// The term that ended.
    pub term: LeaseTerm,
    /// Whether the target is unsafe, so that nobody may call again by themselves.
    pub lost: bool,
}

/// The attempt was given up with its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptCancelled {
    /// Why.
    pub reason: String,
}

/// What a late result would have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LateResult {
    /// An answer.
    Answered,
    /// A failure of the target.
    Failed,
    /// A judgment.
    Judged,
}

/// A result came after its term had ended: kept for the record, never scored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptLate {
    /// The term it was made under.
    pub term: LeaseTerm,
    /// What it would have been.
    pub result: LateResult,
    /// Why it was refused.
    pub refusal: String,
    /// The answer's digest, where there was one; its blob is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Digest>,
}

events!(
    /// Events of an attempt.
    AttemptEvent, "attempt", {
        Started(AttemptStarted) = "attempt.started" v 1,
        Answered(AttemptAnswered) = "attempt.answered" v 1,
        Failed(AttemptFailed) = "attempt.failed" v 1,
        Judged(AttemptJudged) = "attempt.judged" v 1,
        Expired(AttemptExpired) = "attempt.expired" v 1,
        Cancelled(AttemptCancelled) = "attempt.cancelled" v 1,
        Late(AttemptLate) = "attempt.late" v 1,
    }
);
