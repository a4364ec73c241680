//! Hints: what changed, for those who wait for work.

use tokio::sync::Notify;

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
