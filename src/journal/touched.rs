//! Hints: what a transaction changed, told to those who wait after its commit.

use tribunal_actors::ports::journal::Hints;

/// What a transaction changed that somebody may wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Touched(u8);

impl Touched {
    pub(super) const READY: Touched = Touched(1);
    pub(super) const OUTBOX: Touched = Touched(2);
    pub(super) const SETTLEMENT: Touched = Touched(4);
    pub(super) const INTENT: Touched = Touched(8);
    pub(super) const LEASE: Touched = Touched(16);
    pub(super) const RUN: Touched = Touched(32);
    pub(super) const DESIRED: Touched = Touched(64);

    const fn has(self, other: Touched) -> bool {
        self.0 & other.0 != 0
    }

    /// Both.
    pub(super) const fn and(self, other: Touched) -> Touched {
        Touched(self.0 | other.0)
    }

    /// Wakes everybody who waits, and whoever comes next: a waiter that was busy must not miss it.
    pub(super) fn tell(self, hints: &Hints) {
        let told = [
            (Touched::READY, &hints.ready),
            (Touched::OUTBOX, &hints.outbox),
            (Touched::SETTLEMENT, &hints.settlement),
            (Touched::INTENT, &hints.create),
            (Touched::INTENT, &hints.cancel),
            (Touched::INTENT, &hints.judge),
            (Touched::DESIRED, &hints.desired),
            (Touched::LEASE, &hints.lease),
            (Touched::RUN, &hints.run),
        ];
        for (_, hint) in told.into_iter().filter(|(flag, _)| self.has(*flag)) {
            hint.notify_waiters();
            hint.notify_one();
        }
    }
}
