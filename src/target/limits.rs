//! How many calls may be made at once and how fast, and when none may be made.
//!
//! One [`Limits`] belongs to one target and is shared by all workers of the
//! process. Time is tokio's monotonic clock, so that a test can hold it still.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep_until};
use tribunal_actors::ports::target::Permit;
use tribunal_schema::profile::Rate;

/// The longest that one response can hold back the calls of all cases. The case
/// that was refused waits for as long as it was asked to (or is given up); others
/// ask again after this, so that one absurd header does not stop a run in silence.
const HOLD_MAX: Duration = Duration::from_secs(600);

/// The longest span of a rate; far beyond any run, and safe to add to any instant.
const PER_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// In-flight limit, rate and the target's own "not before".
#[derive(Debug)]
pub struct Limits {
    in_flight: Arc<Semaphore>,
    /// Calls of the last span. Its lock is a queue: whoever holds it is the next to
    /// be let through, so that waiters keep their order and only one wakes at a time.
    rate: Mutex<Option<Bucket>>,
    not_before: StdMutex<Option<Instant>>,
}

impl Limits {
    /// At most `max_in_flight` calls at once, and at most `rate`; both at least one.
    pub fn new(max_in_flight: u32, rate: Option<Rate>) -> Limits {
        let permits = usize::try_from(max_in_flight).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Limits {
            in_flight: Arc::new(Semaphore::new(permits)),
            rate: Mutex::new(rate.map(Bucket::new)),
            not_before: StdMutex::new(None),
        }
    }

    /// Waits for the right to make one call. Callers are let through in the order
    /// they came. Dropping the future takes nothing: a token is taken only in the
    /// same step that returns the permit.
    pub async fn permit(&self) -> Permit {
        let slot = Arc::clone(&self.in_flight).acquire_owned().await.expect("the semaphore is never closed");
        let mut bucket = self.rate.lock().await;
        loop {
            let now = Instant::now();
            let held = self.not_before().filter(|until| *until > now);
            let paced = bucket.as_mut().and_then(|bucket| bucket.next(now));
            match held.max(paced) {
                Some(until) => sleep_until(until).await,
                None => break,
            }
        }
        if let Some(bucket) = bucket.as_mut() {
            bucket.take(Instant::now());
        }
        Permit::new(slot)
    }

    /// Lets no call through for `wait` (at most ten minutes) from now. The later
    /// of two holds is kept. Calls that have a permit are not affected.
    pub fn hold(&self, wait: Duration) {
        let until = Instant::now() + wait.min(HOLD_MAX);
        let mut not_before = self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        *not_before = (*not_before).max(Some(until));
    }

    fn not_before(&self) -> Option<Instant> {
        *self.not_before.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bucket of tokens that come back one span after each was taken: whatever
/// second one looks at, it holds no more calls than the rate says. (A bucket that
/// refills steadily would let twice as many through in its first span.)
#[derive(Debug)]
struct Bucket {
    calls: usize,
    per: Duration,
    taken: VecDeque<Instant>,
}

impl Bucket {
    fn new(rate: Rate) -> Bucket {
        let calls = usize::try_from(rate.calls).unwrap_or(usize::MAX).max(1);
        Bucket { calls, per: rate.per.duration().min(PER_MAX), taken: VecDeque::new() }
    }

    /// When the next token can be taken; `None`: now.
    fn next(&mut self, now: Instant) -> Option<Instant> {
        while self.taken.front().is_some_and(|taken| *taken + self.per <= now) {
            self.taken.pop_front();
        }
        if self.taken.len() < self.calls {
            return None;
        }
        self.taken.front().map(|oldest| *oldest + self.per)
    }

    fn take(&mut self, now: Instant) {
        self.taken.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use tribunal_schema::units::DurationMs;

    fn rate(calls: u32, per: u64) -> Option<Rate> {
        Some(Rate { calls, per: DurationMs(per) })
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_calls_are_in_flight_than_allowed_and_a_dropped_permit_is_given_back() {
        let limits = Limits::new(2, None);
        let first = limits.permit().await;
        let _second = limits.permit().await;
        assert!(limits.permit().now_or_never().is_none());
        drop(first);
        assert!(limits.permit().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn no_span_holds_more_calls_than_the_rate_says() {
        let limits = Limits::new(100, rate(5, 1000));
        let start = Instant::now();
        let mut at = Vec::new();
        for number in 0..17_u64 {
            // Uneven use: the third call comes late in the first span.
            if number == 2 {
                tokio::time::advance(Duration::from_millis(900)).await;
            }
            let _permit = limits.permit().await;
            at.push(start.elapsed().as_millis());
        }
        for window in at.windows(6) {
            assert!(window[5] - window[0] >= 1000, "six calls within {window:?}");
        }
        assert!(at[16] <= 3900, "the rate is used: {at:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_back_exactly_one_span_after_it_was_taken() {
        let limits = Limits::new(10, rate(1, 1000));
        let _permit = limits.permit().await;
        tokio::time::advance(Duration::from_millis(999)).await;
        assert!(limits.permit().now_or_never().is_none());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(limits.permit().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_wait_takes_neither_slot_nor_token() {
        let limits = Limits::new(1, rate(1, 1000));
        drop(limits.permit().await);
        for _ in 0..3 {
            assert!(limits.permit().now_or_never().is_none());
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(limits.permit().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_stops_everyone_until_it_ends_and_the_later_of_two_wins() {
        let limits = Limits::new(10, None);
        limits.hold(Duration::from_secs(7));
        limits.hold(Duration::from_secs(2));
        tokio::time::advance(Duration::from_millis(6_999)).await;
        assert!(limits.permit().now_or_never().is_none());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(limits.permit().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_that_comes_while_someone_waits_is_kept() {
        let limits = Arc::new(Limits::new(10, rate(1, 1000)));
        let start = Instant::now();
        drop(limits.permit().await);
        let waiting = tokio::spawn({
            let limits = Arc::clone(&limits);
            async move { drop(limits.permit().await) }
        });
        tokio::task::yield_now().await;
        limits.hold(Duration::from_secs(5));
        waiting.await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn an_absurd_hold_ends_after_ten_minutes() {
        let limits = Limits::new(1, None);
        let start = Instant::now();
        limits.hold(Duration::from_secs(u32::MAX.into()));
        drop(limits.permit().await);
        assert_eq!(start.elapsed(), HOLD_MAX);
    }
}
