//! Tables in memory, in the order of their keys.

use crate::ports::journal::{Desired, IntentKind, OutboxMessage, SettlementRow};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{ChunkId, ClaimToken, GrantId, Incarnation, RunId, StreamId};
use tribunal_schema::units::{InstantMs, LeaseTerm, ReadySeq, Version};
use tribunal_schema::view::{ViewChange, ViewFold};

/// A chunk that waits to be claimed.
#[derive(Clone, Debug)]
pub struct Ready {
    /// What a claim must name.
    pub seq: ReadySeq,
    /// Its lane.
    pub lane: String,
    /// When it may be claimed.
    pub due_at: InstantMs,
    /// When it was handed to the outbox last.
    pub published_at: Option<InstantMs>,
    /// How often.
    pub publications: u32,
}

/// A lease.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
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

/// A message that must be published.
#[derive(Clone, Debug)]
pub struct Outbox {
    /// About which run.
    pub run: Option<RunId>,
    /// The message.
    pub message: OutboxMessage,
    /// How often it was claimed.
    pub attempts: u32,
    /// Who has it.
    pub token: Option<ClaimToken>,
    /// When it may be claimed.
    pub available_at: InstantMs,
}

/// Everything a journal holds. Cloned as a whole to undo a unit that is refused.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Streams with their events, in order.
    pub streams: BTreeMap<StreamId, Vec<Arc<RecordedEvent>>>,
    /// All events in the order of their positions.
    pub events: Vec<Arc<RecordedEvent>>,
    /// The last position that was taken, by whom it may be; the first is 1.
    pub position: u64,
    /// The first positions of transactions that have taken theirs and are not committed: the feed ends before them.
    pub open: BTreeSet<u64>,
    /// The position behind which a transaction began that takes none itself: the feed ends there as well.
    pub held: Option<u64>,
    /// Leases.
    pub leases: BTreeMap<ChunkId, Lease>,
    /// Offers.
    pub ready: BTreeMap<ChunkId, Ready>,
    /// Runs whose chunks may be dispatched.
    pub cursors: BTreeSet<RunId>,
    /// What workers should do.
    pub desired: BTreeMap<RunId, (Desired, Version)>,
    /// What must be published, by id.
    pub outbox: BTreeMap<u64, Outbox>,
    /// The last id of the outbox.
    pub outbox_id: u64,
    /// Settlements, with when they were put.
    pub settlements: BTreeMap<ChunkId, (InstantMs, SettlementRow)>,
    /// Intents, with when they were put.
    pub intents: BTreeMap<(IntentKind, RunId), InstantMs>,
    /// Chunks still to be seeded.
    pub plan_rows: BTreeMap<ChunkId, String>,
    /// Bodies.
    pub blobs: BTreeMap<Digest, Arc<[u8]>>,
    /// Which run needs which.
    pub blob_refs: BTreeSet<(Digest, RunId)>,
    /// Messages that could not be understood.
    pub poison: Vec<(Vec<u8>, String)>,
    /// The views, as they were written.
    pub views: ViewFold,
    /// The changes of views, in order: what a fold of the events must give again.
    pub view_changes: Vec<(ViewChange, InstantMs)>,
}

impl Tables {
    /// Where a stream stands.
    pub fn version(&self, stream: &StreamId) -> Version {
        Version(self.streams.get(stream).map_or(0, |events| events.len() as u64))
    }

    /// Below which position nothing can appear any more; `None` when no transaction is open.
    pub fn horizon(&self) -> Option<u64> {
        self.open.first().copied().into_iter().chain(self.held).min()
    }

    /// Takes positions, whether or not something will stand there; gives the first.
    pub(super) fn take_positions(&mut self, events: usize) -> u64 {
        let first = self.position + 1;
        self.position += events as u64;
        first
    }
}
