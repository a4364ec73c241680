//! The breaker: what an unbroken row of failures means for the calls to come.
//!
//! A target that has never answered and refuses everybody is not asked many times:
//! the run halts. One
//! that has answered may only be away for a while (a restart, a deployment), so
//! the breaker opens first: no call is made but one probe at a time, after waits
//! that double, and the executions wait unburnt. When the probes fail too, the
//! run halts. Any answer closes it.
//!
//! Time is tokio's monotonic clock. Retries of single executions are not its
//! matter; the chunk decides those.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Failures in a row that would meet every call, without a single answer to this run, that halt it.
const FAILURES_UNANSWERED_MAX: u64 = 10;
/// Failures in a row after an answer that open the breaker, or three times the calls in flight if that is more.
const FAILURES_IN_A_ROW_MAX: u64 = 50;
/// The wait before a probe: 1 s doubling to 8 s, as for placements.
const WAIT_FIRST: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(8);
/// Probes in a row that fail before a run halts: together they wait about 40 s.
const PROBES_MAX: u32 = 6;

/// One run's breaker in this process.
pub(super) struct Breaker {
    state: Mutex<State>,
    changed: Notify,
    row_max: u64,
}

#[derive(Default)]
struct State {
    answered: bool,
    row: u64,
    open: Option<Open>,
}

struct Open {
    probe_at: Instant,
    probes_failed: u32,
    probing: bool,
}

/// The right to call; the probe's is given back when it is dropped without a result.
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    probe: bool,
}

/// What a failure says of the next calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It would meet every call: nobody listens, nobody is let in.
    Everybody,
    /// It may be about this call or this moment.
    One,
    /// The target refused by itself, as a rate limit does: it is there.
    Alive,
}

/// What a failure means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing for others.
    One,
    /// The target is away; calls wait.
    Away,
    /// The target is given up after so many failures; whether it ever answered.
    Dead { row: u64, answered: bool },
}

impl Breaker {
    /// A closed breaker. `answered` says whether the run had an answer before this process.
    pub(super) fn new(in_flight: u32, answered: bool) -> Breaker {
        let row_max = FAILURES_IN_A_ROW_MAX.max(3 * u64::from(in_flight));
        Breaker { state: Mutex::new(State { answered, ..State::default() }), changed: Notify::new(), row_max }
    }

    /// Waits until a call may be made. Dropping the future takes nothing.
    pub(super) async fn pass(&self) -> Pass<'_> {
        loop {
            // Listening before looking: a change in between is not missed.
            let changed = self.changed.notified();
            let probe_at = {
                let mut state = self.lock();
                let Some(open) = state.open.as_mut() else { return Pass { breaker: self, probe: false } };
                if !open.probing && Instant::now() >= open.probe_at {
                    open.probing = true;
                    return Pass { breaker: self, probe: true };
                }
                (!open.probing).then_some(open.probe_at)
            };
            match probe_at {
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep_until(at) => {}
                        () = changed => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// Notes an answer: the target is there.
    pub(super) fn answered(&self) {
        let mut state = self.lock();
        *state = State { answered: true, row: 0, open: None };
        drop(state);
        self.changed.notify_waiters();
    }

    /// Notes a failure.
    pub(super) fn failed(&self, pass: Pass<'_>, sign: Sign) -> Meaning {
        let mut state = self.lock();
        state.row += 1;
        let (row, answered) = (state.row, state.answered);
        let unanswered_max = match sign {
            Sign::Everybody => FAILURES_UNANSWERED_MAX,
            Sign::One => self.row_max,
            Sign::Alive => u64::MAX,
        };
        if !answered && sign != Sign::Alive {
            return if row >= unanswered_max { Meaning::Dead { row, answered } } else { Meaning::One };
        }
        match state.open.as_mut() {
            Some(open) if pass.probe => {
                open.probes_failed += 1;
                if open.probes_failed >= PROBES_MAX {
                    return Meaning::Dead { row, answered };
                }
                open.probe_at = Instant::now() + WAIT_MAX.min(WAIT_FIRST * 2u32.pow(open.probes_failed));
                Meaning::Away
            }
            // A call that was in flight when the breaker opened.
            Some(_) => Meaning::One,
            None if row < self.row_max => Meaning::One,
            None => {
                state.open = Some(Open { probe_at: Instant::now() + WAIT_FIRST, probes_failed: 0, probing: false });
                Meaning::Away
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.probe {
            return;
        }
        if let Some(open) = self.breaker.lock().open.as_mut() {
            open.probing = false;
        }
        self.breaker.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    async fn fail(breaker: &Breaker, times: u64) -> Meaning {
        let mut meaning = Meaning::One;
        for _ in 0..times {
            let pass = breaker.pass().await;
            meaning = breaker.failed(pass, Sign::Everybody);
        }
        meaning
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_never_answered_is_given_up_at_the_tenth_failure() {
        let breaker = Breaker::new(1, false);
        assert_eq!(fail(&breaker, 9).await, Meaning::One);
        assert_eq!(fail(&breaker, 1).await, Meaning::Dead { row: 10, answered: false });
    }

    #[tokio::test(start_paused = true)]
    async fn rate_limits_alone_do_not_look_like_a_dead_target() {
        let breaker = Breaker::new(1, false);
        for _ in 0..49 {
            let pass = breaker.pass().await;
            assert_eq!(breaker.failed(pass, Sign::Alive), Meaning::One);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_probe_at_a_time_is_let_through_and_an_answer_lets_all_through() {
        let breaker = Breaker::new(1, true);
        assert_eq!(fail(&breaker, 49).await, Meaning::One);
        assert_eq!(fail(&breaker, 1).await, Meaning::Away);
        assert!(breaker.pass().now_or_never().is_none());
        tokio::time::advance(Duration::from_secs(1)).await;
        let probe = breaker.pass().now_or_never().expect("the probe");
        assert!(breaker.pass().now_or_never().is_none(), "a second probe");
        breaker.answered();
        assert!(breaker.pass().now_or_never().is_some());
        drop(probe);
        assert_eq!(fail(&breaker, 49).await, Meaning::One, "the row begins again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_was_dropped_leaves_its_place_to_another() {
        let breaker = Breaker::new(1, true);
        fail(&breaker, 50).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(breaker.pass().await);
        assert!(breaker.pass().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn six_failed_probes_give_the_target_up() {
        let breaker = Breaker::new(1, true);
        fail(&breaker, 50).await;
        assert_eq!(fail(&breaker, 5).await, Meaning::Away);
        assert_eq!(fail(&breaker, 1).await, Meaning::Dead { row: 56, answered: true });
    }
}
