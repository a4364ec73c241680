//! Writing: units, and the pages that supervisors work through.

use super::{
    AppendError, AppendUnit, Appended, Failure, Hints, Intent, IntentKind, JournalReader, LeaseRow, OutboxRow, PlanRow,
    ReadyRow, Renewal, SettlementRow,
};
use async_trait::async_trait;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::ids::{ChunkId, ClaimToken, Incarnation, RunId};
use tribunal_schema::units::{DurationMs, InstantMs, Version};

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
