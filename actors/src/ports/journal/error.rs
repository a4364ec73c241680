//! Why a unit is not written: a rule refuses it, it can never be written, or the
//! world did not answer.

use tribunal_schema::Digest;
use tribunal_schema::ids::{ChunkId, StreamId};
use tribunal_schema::units::{LeaseTerm, ReadySeq, Version};

/// The world said no; another try may succeed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What happened.
    pub message: String,
}

impl Failure {
    /// A failure in words.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into() }
    }
}

/// Why a unit was not written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// A stream stands elsewhere than the unit expects.
    #[error("stream {stream} is at version {actual}, not at {expected}")]
    Conflict {
        /// The stream.
        stream: StreamId,
        /// What was expected.
        expected: Version,
        /// Where it stands.
        actual: Version,
    },
    /// A guard or row said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The unit can never be written: a constraint, a value the database cannot hold.
    #[error("the unit cannot be written: {0}")]
    Invalid(String),
    /// The outcome is unknown: append the identical unit again.
    #[error("the journal did not answer: {0}")]
    Unavailable(#[from] Failure),
}

/// Why a guard or row refused its unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The lease is another one, or over.
    #[error("the lease of chunk {chunk} at term {term} is over: {reason}")]
    StaleLease {
        /// The chunk.
        chunk: ChunkId,
        /// The term that was claimed.
        term: LeaseTerm,
        /// How it is over.
        reason: StaleReason,
    },
    /// The chunk has another ready row, or none.
    #[error("chunk {chunk} is no longer offered under number {}", .ready_seq.0)]
    Superseded {
        /// The chunk.
        chunk: ChunkId,
        /// The number that was named.
        ready_seq: ReadySeq,
    },
    /// The chunk has a lease.
    #[error("chunk {chunk} is held under term {term}")]
    LeaseHeld {
        /// The chunk.
        chunk: ChunkId,
        /// The term that holds it.
        term: LeaseTerm,
    },
    /// The lease that should expire is live.
    #[error("the lease of chunk {chunk} at term {term} is live")]
    LeaseLive {
        /// The chunk.
        chunk: ChunkId,
        /// The term.
        term: LeaseTerm,
    },
    /// A blob that the unit names does not exist.
    #[error("blob {0} does not exist")]
    MissingBlob(Digest),
}

/// How a lease is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleReason {
    /// There is none.
    Ended,
    /// Another term or grant has it.
    Replaced,
    /// It ran out.
    Expired,
    /// It reached its hard deadline.
    DeadlineReached,
}

impl std::fmt::Display for StaleReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StaleReason::Ended => "it was ended",
            StaleReason::Replaced => "another grant has the chunk",
            StaleReason::Expired => "it expired",
            StaleReason::DeadlineReached => "it reached its hard deadline",
        })
    }
}
