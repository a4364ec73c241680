//! The journal port: the append-only table of events and the small tables that
//! are written with it.
//!
//! An adapter keeps these promises, and `tests/it/conformance` checks them on
//! every adapter:
//!
//! - **A unit is all or nothing**: events, guards, rows and views of one
//!   [`AppendUnit`] become visible together or not at all. A unit that fails
//!   never holds up or harms another one written in the same transaction.
//! - **The identical unit again is success.** When every stream of a unit already
//!   holds, at the versions the unit would have written, events of the unit's
//!   command with the same ids, the stored events are returned and nothing else
//!   changes. So an append whose outcome is unknown is settled by appending it again.
//! - **Guards are checked inside the transaction** against the lease row and the
//!   database's clock; grants, expiries and releases exclude them.
//! - **One instant an append**: `recorded_at` of its events and every instant its
//!   rows and views take are the same reading of the database's clock.
//! - Events are never changed or deleted; the database itself refuses it.

use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::Notify;
use tribunal_schema::Digest;
use tribunal_schema::envelope::{NewEvent, Origin, RecordedEvent};
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::ids::{AttemptId, ChunkId, ClaimToken, ExecutionKey, GrantId, Incarnation, RunId, StreamId};
use tribunal_schema::score::{ExecutionOutcome, Tally};
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, ReadySeq, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow, ViewChange};

/// What is written together.
#[derive(Clone, Debug)]
pub struct AppendUnit {
    /// Who asked for it, and about what.
    pub origin: Origin,
    /// Events, per stream; a stream occurs once.
    pub appends: Vec<StreamAppend>,
    /// What must hold.
    pub guards: Vec<Guard>,
    /// Rows of the small tables, in order.
    pub rows: Vec<Row>,
    /// Changes of views, in order.
    pub views: Vec<ViewChange>,
}

/// Events for one stream.
#[derive(Clone, Debug)]
pub struct StreamAppend {
    /// The stream.
    pub stream: StreamId,
    /// Where it must stand.
    pub expected: Expected,
    /// The events, in order; at least one.
    pub events: Vec<NewEvent>,
}

/// Where a stream must stand before an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// At this version; 0 = it must not exist.
    Version(Version),
    /// Anywhere: for late records that rest on no state.
    Any,
}

/// What must hold in the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The chunk's lease is live: this term and grant, not expired, not past its hard deadline.
    Lease {
        /// The chunk.
        chunk: ChunkId,
        /// The term.
        term: LeaseTerm,
        /// The grant.
        grant: GrantId,
    },
    /// The attempt's stream stands at this version, 0 = it does not exist; otherwise the unit is
    /// an [`AppendError::Conflict`]. For a unit that rests on a stream it does not write.
    Attempt {
        /// The attempt.
        attempt: AttemptId,
        /// The version.
        version: Version,
    },
}

/// A row written with events.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Puts the chunk's one ready row (replacing an older one): due `due_in` from now, unpublished.
    ReadyPut {
        /// The chunk.
        chunk: ChunkId,
        /// Its number.
        ready_seq: ReadySeq,
        /// The lane.
        lane: String,
        /// From now.
        due_in: DurationMs,
    },
    /// Takes the ready row away; refuses the unit with [`Refusal::Superseded`] unless it exists with this number.
    ReadyTake {
        /// The chunk.
        chunk: ChunkId,
        /// Its number.
        ready_seq: ReadySeq,
    },
    /// Notes that the ready row was handed to the outbox now; refuses like `ReadyTake`.
    ReadyPublished {
        /// The chunk.
        chunk: ChunkId,
        /// Its number.
        ready_seq: ReadySeq,
    },
    /// Takes the ready row away if there is one.
    ReadyDrop {
        /// The chunk.
        chunk: ChunkId,
    },
    /// Grants a lease until now + `lease`, at most until now + `hard_deadline`. Refuses with
    /// [`Refusal::LeaseHeld`] while a lease row of the chunk exists, live or not: only
    /// `LeaseEnd` or `LeaseExpire` takes one away.
    LeaseGrant {
        /// The chunk.
        chunk: ChunkId,
        /// The term.
        term: LeaseTerm,
        /// The grant.
        grant: GrantId,
        /// The holder.
        holder: Incarnation,
        /// Without renewal.
        lease: DurationMs,
        /// At most.
        hard_deadline: DurationMs,
    },
    /// The holder ends its lease; refuses with [`Refusal::StaleLease`] unless the row has this term.
    /// Whether it is still live is the business of a guard.
    LeaseEnd {
        /// The chunk.
        chunk: ChunkId,
        /// The term.
        term: LeaseTerm,
    },
    /// The lease ends because its time is over; refuses with [`Refusal::LeaseLive`] while it is live,
    /// and with [`Refusal::StaleLease`] unless the row has this term.
    LeaseExpire {
        /// The chunk.
        chunk: ChunkId,
        /// The term.
        term: LeaseTerm,
    },
    /// The lease ends by the run's cancellation, live or not; nothing when there is none.
    LeaseRevoke {
        /// The chunk.
        chunk: ChunkId,
    },
    /// Puts a message that must be published, about the run of the unit's origin; one with a known dedupe key is dropped silently.
    OutboxPut(OutboxMessage),
    /// Puts what the run must still hear about the chunk's end; a higher version replaces, a lower or equal one changes nothing.
    SettlementPut(Settlement),
    /// Puts work that must be done for a run; the same (run, kind) again changes nothing.
    IntentPut {
        /// The run.
        run: RunId,
        /// What.
        kind: IntentKind,
    },
    /// The work is done; nothing when there is none.
    IntentDone {
        /// The run.
        run: RunId,
        /// What.
        kind: IntentKind,
    },
    /// Puts a plan row (a chunk still to be seeded); the same (run, chunk) again with other content refuses with [`AppendError::Invalid`].
    PlanPut(PlanRow),
    /// Takes all plan rows of a run away.
    PlanDrop {
        /// The run.
        run: RunId,
    },
    /// Makes the run's chunks dispatchable.
    CursorPut {
        /// The run.
        run: RunId,
    },
    /// Makes them undispatchable; nothing when they are.
    CursorDrop {
        /// The run.
        run: RunId,
    },
    /// What workers should do for the run; a lower or equal version changes nothing.
    DesiredPut {
        /// The run.
        run: RunId,
        /// What.
        desired: Desired,
        /// The run's stream version.
        version: Version,
    },
    /// Keeps bytes under their digest; known ones are kept once.
    BlobPut {
        /// SHA-256 of the bytes.
        digest: Digest,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A run needs a blob; refuses with [`Refusal::MissingBlob`] when it does not exist.
    BlobRef {
        /// The blob.
        digest: Digest,
        /// The run.
        run: RunId,
    },
}

/// A message on its way to the broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxMessage {
    /// Unique: the same deed is published once.
    pub dedupe_key: String,
    /// Where to.
    pub routing_key: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A claimed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// The row's id; also the message id.
    pub id: u64,
    /// How often it was claimed, this time included.
    pub attempts: u32,
    /// The message.
    pub message: OutboxMessage,
}

/// What a run must hear about a chunk's end.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// The chunk.
    pub chunk: ChunkId,
    /// The version of its stream that ended it.
    pub version: Version,
    /// How it ended.
    pub end: ChunkEnd,
    /// What it adds.
    pub tally: Tally,
}

/// A settlement as it is read: with the pin that the journal computed.
#[derive(Clone, Debug, PartialEq)]
pub struct SettlementRow {
    /// What was put.
    pub settlement: Settlement,
    /// The digest of the chunk's stream at that version.
    pub digest: Digest,
}

/// Work that a recorded event calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntentKind {
    /// Seed and open the run.
    Create,
    /// Cancel its open chunks.
    Cancel,
    /// Judge it.
    Judge,
}

impl IntentKind {
    /// The word of the column.
    pub const fn name(self) -> &'static str {
        match self {
            IntentKind::Create => "create",
            IntentKind::Cancel => "cancel",
            IntentKind::Judge => "judge",
        }
    }

    /// The kind of a word.
    pub fn named(text: &str) -> Option<IntentKind> {
        match text {
            "create" => Some(IntentKind::Create),
            "cancel" => Some(IntentKind::Cancel),
            "judge" => Some(IntentKind::Judge),
            _ => None,
        }
    }
}

/// Work for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The run.
    pub run: RunId,
    /// What.
    pub kind: IntentKind,
}

/// A chunk still to be seeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRow {
    /// The chunk.
    pub chunk: ChunkId,
    /// The canonical text of its `chunk.seeded`.
    pub seeded: String,
}

/// What workers should do for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Desired {
    /// Work.
    Running,
    /// Give its chunks back.
    Paused,
    /// Drop its chunks.
    Stopped,
}

/// A chunk that waits to be claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyRow {
    /// The chunk.
    pub chunk: ChunkId,
    /// The number a claim must name.
    pub ready_seq: ReadySeq,
    /// Its lane.
    pub lane: String,
    /// When it may be claimed.
    pub due_at: InstantMs,
}

/// A live or expired lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// The chunk.
    pub chunk: ChunkId,
    /// Its term.
    pub term: LeaseTerm,
    /// Its grant.
    pub grant: GrantId,
    /// Its holder.
    pub holder: Incarnation,
    /// When it ends without renewal.
    pub expires_at: InstantMs,
    /// When it ends at the latest.
    pub hard_deadline_at: InstantMs,
}

/// A lease that was renewed, and what the run wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The chunk.
    pub chunk: ChunkId,
    /// The term.
    pub term: LeaseTerm,
    /// What the worker should do; running when nothing else is said.
    pub desired: Desired,
}

/// A unit that was written.
#[derive(Clone, Debug)]
pub struct Appended {
    /// Its events, in the unit's order.
    pub events: Vec<RecordedEvent>,
}

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

/// What changed, told after commit: supervisors wait for it. A missed one costs a tick, never work.
#[derive(Debug, Default)]
pub struct Hints {
    /// A ready row was put, a cursor appeared, a claim made room.
    pub ready: Notify,
    /// A message was put into the outbox.
    pub outbox: Notify,
    /// A settlement was put.
    pub settlement: Notify,
    /// A run is to be created.
    pub create: Notify,
    /// A run is to be cancelled.
    pub cancel: Notify,
    /// A run is to be judged.
    pub judge: Notify,
    /// A lease was revoked.
    pub lease: Notify,
    /// What some run wants of its workers changed.
    pub desired: Notify,
    /// Some run changed.
    pub run: Notify,
}

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

/// Writing the journal, and the pages that supervisors work through.
#[async_trait]
pub trait Journal: JournalReader {
    /// Writes a unit. Dropping the future does not undo it.
    async fn append(&self, unit: AppendUnit) -> Result<Appended, AppendError>;

    /// What changed.
    fn hints(&self) -> Arc<Hints>;

    /// Keeps a large blob before the unit that names it, durably.
    async fn put_blob(&self, digest: Digest, bytes: Arc<[u8]>) -> Result<(), Failure>;

    /// Due, unpublished ready rows of dispatchable, running runs of a lane, or of one run only:
    /// round-robin by run, then by chunk.
    async fn ready_due(&self, lane: &str, only: Option<RunId>, limit: u32) -> Result<Vec<ReadyRow>, Failure>;

    /// The lanes that have ready rows.
    async fn ready_lanes(&self) -> Result<Vec<String>, Failure>;

    /// Published ready rows of a lane that nobody has claimed, of one run or all.
    async fn ready_outstanding(&self, lane: &str, only: Option<RunId>) -> Result<u32, Failure>;

    /// When the next ready row is due that is not due now.
    async fn ready_next_due(&self) -> Result<Option<InstantMs>, Failure>;

    /// Makes ready rows unpublished again whose publication is older than `age` doubled at each
    /// time; `None` = all of them (the broker lost everything). Of one run or all. Gives how many.
    async fn ready_unpublish(&self, age: Option<DurationMs>, only: Option<RunId>) -> Result<u64, Failure>;

    /// Claims a batch of the outbox for `window`: available ones, oldest first; those put for one
    /// run, or all.
    async fn outbox_claim(
        &self,
        token: ClaimToken,
        window: DurationMs,
        only: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<OutboxRow>, Failure>;

    /// Deletes published rows, where the token still holds them. Gives how many.
    async fn outbox_confirm(&self, token: ClaimToken, ids: &[u64]) -> Result<u64, Failure>;

    /// Gives claimed rows back, available after `delay`, where the token still holds them.
    async fn outbox_reschedule(&self, token: ClaimToken, ids: &[u64], delay: DurationMs) -> Result<u64, Failure>;

    /// Settlements that the control database has not recorded yet.
    async fn settlements(&self, limit: u32) -> Result<Vec<SettlementRow>, Failure>;

    /// The control database has recorded it; a row with a higher version stays.
    async fn settlement_done(&self, chunk: ChunkId, version: Version) -> Result<(), Failure>;

    /// Intents of a kind.
    async fn intents(&self, kind: IntentKind, limit: u32) -> Result<Vec<Intent>, Failure>;

    /// Plan rows of a run, by chunk, after one.
    async fn plan_rows(&self, run: RunId, after: Option<ChunkId>, limit: u32) -> Result<Vec<PlanRow>, Failure>;

    /// Renews all live leases of a holder until now + `lease`, never beyond their hard deadline;
    /// never one that has expired. Gives those that are live.
    async fn leases_renew(&self, holder: Incarnation, lease: DurationMs) -> Result<Vec<Renewal>, Failure>;

    /// Leases whose time is over, oldest first.
    async fn leases_due(&self, limit: u32) -> Result<Vec<LeaseRow>, Failure>;

    /// Ends the time of every lease whose holder is known to be dead. In a store that one process
    /// writes at a time that is everybody but `holder`. Gives how many.
    async fn leases_revoke_dead(&self, holder: Incarnation) -> Result<u64, Failure>;

    /// Keeps a message that cannot be understood, with its bytes and why.
    async fn poison_put(&self, body: &[u8], reason: &str) -> Result<(), Failure>;
}
