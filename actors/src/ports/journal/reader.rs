//! Reading: streams, the feed, bodies and views.

use super::Failure;
use async_trait::async_trait;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::{InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow};

/// Which events a reader wants; all that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Of this run.
    pub run: Option<RunId>,
    /// Of this stream.
    pub stream: Option<StreamId>,
    /// Of this category.
    pub category: Option<String>,
    /// Of this type; a `*` at the end stands for anything.
    pub event_type: Option<String>,
    /// Recorded at or after.
    pub since: Option<InstantMs>,
    /// Recorded before.
    pub until: Option<InstantMs>,
}

/// The head of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamHead {
    /// The stream.
    pub stream: StreamId,
    /// Its version.
    pub version: Version,
    /// Its digest.
    pub digest: Digest,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// All executions.
    pub executions: u64,
    /// Passed so far.
    pub passed: u64,
    /// Failed so far.
    pub failed: u64,
    /// Errored so far.
    pub errored: u64,
    /// Abstained so far.
    pub abstained: u64,
}

impl Progress {
    /// Executions that have their result.
    pub const fn settled(&self) -> u64 {
        self.passed + self.failed + self.errored + self.abstained
    }
}

/// Reading the journal: cannot cause anything. Pages are bounded by `limit`.
#[async_trait]
pub trait JournalReader: Send + Sync {
    /// The database's clock.
    async fn now(&self) -> Result<InstantMs, Failure>;

    /// Events of a stream after a version, ascending, at most `limit`.
    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure>;

    /// Events by filter in the feed's order: an event appears when nothing can appear before it any
    /// more, which on a server may be a moment after its commit. After a position (exclusive;
    /// `None` = from the start, or from the end when descending).
    async fn read_feed(
        &self,
        filter: &EventFilter,
        after: Option<u64>,
        descending: bool,
        limit: u32,
    ) -> Result<Vec<RecordedEvent>, Failure>;

    /// The heads of all streams whose events name a run, by stream id, after one.
    async fn stream_heads(&self, run: RunId, after: Option<&StreamId>, limit: u32) -> Result<Vec<StreamHead>, Failure>;

    /// The bytes of a blob.
    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure>;

    /// `runs`, newest first.
    async fn runs(&self, limit: u32) -> Result<Vec<RunRow>, Failure>;

    /// One of `runs`.
    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure>;

    /// `chunks` of a run, in order.
    async fn chunks(&self, run: RunId) -> Result<Vec<ChunkRow>, Failure>;

    /// The sums of `chunks`.
    async fn progress(&self, run: RunId) -> Result<Progress, Failure>;

    /// `executions` of a run in order, after one, optionally of some outcomes only.
    async fn executions(
        &self,
        run: RunId,
        after: Option<ExecutionKey>,
        outcomes: Option<&[ExecutionOutcome]>,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, Failure>;

    /// `outcomes` of an attempt, by binding.
    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure>;

    /// `findings` of an attempt, by binding and index.
    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure>;

    /// `quarantine`, by run and execution; of one run or all.
    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure>;
}
