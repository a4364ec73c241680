//! Rows of the small tables beside the events: how they are written with a unit,
//! and as what they are read again.

use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::ids::{ChunkId, GrantId, Incarnation, RunId};
use tribunal_schema::score::Tally;
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, ReadySeq, Version};

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
