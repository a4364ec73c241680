//! The target port: one call of the agent under test.

use async_trait::async_trait;
use std::sync::Arc;
use tribunal_schema::answer::{Answer, FailureClass, RawBody};
use tribunal_schema::case::Case;
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId};

/// One call to be made.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The run.
    pub run: RunId,
    /// Which case and repeat.
    pub execution: ExecutionKey,
    /// The attempt; sent in the header `x-tribunal-attempt`.
    pub attempt: AttemptId,
    /// The attempt's number, from 1.
    pub number: u32,
    /// The case.
    pub case: Arc<Case>,
    /// Sent as `Idempotency-Key`: the same for calls whose predecessor got no response.
    pub idempotency_key: String,
}

/// An answer and how long it took.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The answer.
    pub answer: Answer,
    /// From the first byte sent to the last byte read, in milliseconds.
    pub latency_ms: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct TargetFailure {
    /// The class of the first check that failed.
    pub class: FailureClass,
    /// In words, with the values that matter and no secret.
    pub message: String,
    /// The status, where there was one.
    pub status: Option<u16>,
    /// What the target asked to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Whether any part of a response was received.
    pub response_received: bool,
    /// The beginning of the body, capped, where there was one.
    pub body: Option<RawBody>,
    /// Until the failure, in milliseconds.
    pub latency_ms: u64,
}

/// The right to have one call in flight; dropping it gives it back.
pub struct Permit(#[allow(dead_code, reason = "held for its Drop")] Box<dyn Send>);

impl Permit {
    /// A permit that gives back whatever `held` holds.
    pub fn new(held: impl Send + 'static) -> Permit {
        Permit(Box::new(held))
    }
}

/// The agent under test.
#[async_trait]
pub trait Target: Send + Sync {
    /// Waits for the right to make one call: in-flight limit, rate, and what the
    /// target asked to wait. Cancel-safe: dropping the future takes nothing.
    async fn permit(&self) -> Permit;

    /// Makes one call. Never retries, never follows a redirect. Dropping the
    /// future abandons the call, which the target may still serve.
    async fn ask(&self, ask: &Ask) -> Result<Answered, TargetFailure>;
}
