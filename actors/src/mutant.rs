//! Mutants: single guards and checks that a test may switch off, to see that
//! the simulation or the conformance suite notices. A check that can be removed
//! unnoticed is not tested.
//!
//! The switch belongs to the thread that turns it, and exists only with the
//! feature `testing`; without it [`is_alive`] is `false` for the compiler as well,
//! and nothing of it is left in the binary. What works on other threads (a
//! journal's coordinator) asks once, where it is made, and keeps the answer.

/// One mutation. The name says what is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mutant {
    /// A lease guard looks at no term and no grant.
    NoTermCompare,
    /// Expiry and release take the lease row without `FOR UPDATE`.
    ExpiryWithoutRowLock,
    /// A guard reads the lease row by a plain SELECT.
    PlainSelectGuard,
    /// An attempt that is not the current one may settle its execution.
    NoCurrentAttemptCheck,
    /// A message is deleted from the outbox before the broker has confirmed it.
    OutboxDeletedBeforeConfirm,
    /// A claim does not compare the number of the offer.
    ReadySeqIgnored,
    /// The lease row goes in one transaction, the events of its expiry in the next.
    ExpiryInTwoSteps,
    /// An answered attempt is called again by the next term.
    AnsweredCalledAgain,
    /// The same unit again is written again, or refused.
    RedeliveryNotIdempotent,
    /// An execution that has its outcome may get another.
    SettledTwice,
    /// A renewal brings an expired lease back to life.
    RenewalResurrects,
    /// The feed shows what lies above the snapshot horizon.
    FeedWithoutHorizon,
    /// The tally of a chunk replaces the sum instead of joining it.
    TallyNotAdditive,
}

impl Mutant {
    /// All there are.
    pub const ALL: [Mutant; 13] = [
        Mutant::NoTermCompare,
        Mutant::ExpiryWithoutRowLock,
        Mutant::PlainSelectGuard,
        Mutant::NoCurrentAttemptCheck,
        Mutant::OutboxDeletedBeforeConfirm,
        Mutant::ReadySeqIgnored,
        Mutant::ExpiryInTwoSteps,
        Mutant::AnsweredCalledAgain,
        Mutant::RedeliveryNotIdempotent,
        Mutant::SettledTwice,
        Mutant::RenewalResurrects,
        Mutant::FeedWithoutHorizon,
        Mutant::TallyNotAdditive,
    ];
}

#[cfg(feature = "testing")]
thread_local! {
    static ALIVE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Whether this check is switched off on this thread.
#[cfg(feature = "testing")]
pub fn is_alive(mutant: Mutant) -> bool {
    ALIVE.get() == Some(mutant)
}

/// Whether this check is switched off: never, outside of tests.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub const fn is_alive(_: Mutant) -> bool {
    false
}

/// Switches a check off on this thread until it is dropped.
#[cfg(feature = "testing")]
#[must_use = "the mutant dies with it"]
pub struct Release(());

#[cfg(feature = "testing")]
impl Release {
    /// Switches `mutant` off; one at a time.
    ///
    /// # Panics
    /// When another one is alive on this thread.
    pub fn new(mutant: Mutant) -> Release {
        assert_eq!(ALIVE.replace(Some(mutant)), None, "one mutant at a time");
        Release(())
    }
}

#[cfg(feature = "testing")]
impl Drop for Release {
    fn drop(&mut self) {
        ALIVE.set(None);
    }
}
