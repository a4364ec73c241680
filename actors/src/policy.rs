//! Policies: what follows from something recorded, as pure functions.

use tribunal_schema::answer::FailureClass;
use tribunal_schema::profile::{AttemptPolicy, SideEffects};
use tribunal_schema::units::DurationMs;

/// What becomes of an execution after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// Another attempt, after a wait.
    Retry(DurationMs),
    /// It is settled as errored.
    Settle,
    /// The target is unsafe and may have acted: a person decides.
    Quarantine,
}

/// A failed attempt, as the policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureFacts {
    /// Why it failed.
    pub class: FailureClass,
    /// What the target asked to wait.
    pub retry_after: Option<DurationMs>,
    /// Answered or failed attempts of the execution, this one included.
    pub failures: u32,
    /// Noise for the wait, 0..=1_000_000; an input because deciders know no random.
    pub jitter_ppm: u32,
}

/// What becomes of an execution after a failed attempt.
///
/// The wait is `backoff` x 3^(n-1), up to `backoff_max`, of which up to a fifth is
/// taken off by the jitter; a Retry-After is waited in full, and one above
/// `backoff_max` ends the retries. An unsafe target is called again only when the
/// class proves that nothing ran.
pub fn after_failure(policy: &AttemptPolicy, side_effects: SideEffects, facts: FailureFacts) -> AfterFailure {
    if side_effects == SideEffects::Unsafe && !facts.class.proves_nothing_ran() {
        return AfterFailure::Quarantine;
    }
    let wanted = policy.retry_on.contains(&facts.class) && facts.failures < policy.max;
    let bearable = facts.retry_after.is_none_or(|wait| wait <= policy.backoff_max);
    if !wanted || !bearable {
        return AfterFailure::Settle;
    }
    let own = backoff(policy.backoff, policy.backoff_max, facts.failures);
    let jittered = own.0 - own.0 / 5 * u64::from(facts.jitter_ppm.min(1_000_000)) / 1_000_000;
    AfterFailure::Retry(DurationMs(jittered.max(facts.retry_after.map_or(0, |wait| wait.0))))
}

/// `first` x 3^(n-1), at most `max`.
pub fn backoff(first: DurationMs, max: DurationMs, n: u32) -> DurationMs {
    let factor = 3u64.saturating_pow(n.saturating_sub(1));
    DurationMs(first.0.saturating_mul(factor).min(max.0))
}

/// The wait after the n-th processing failure of a chunk: 1 s doubling to 5 min.
pub fn processing_backoff(n: u32) -> DurationMs {
    DurationMs(1000u64.saturating_mul(2u64.saturating_pow(n.saturating_sub(1))).min(300_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(max: u32) -> AttemptPolicy {
        AttemptPolicy {
            max,
            backoff: DurationMs(5000),
            backoff_max: DurationMs(600_000),
            retry_on: vec![FailureClass::Connect, FailureClass::Timeout, FailureClass::RateLimited],
        }
    }

    fn facts(class: FailureClass, failures: u32) -> FailureFacts {
        FailureFacts { class, retry_after: None, failures, jitter_ppm: 0 }
    }

    #[test]
    fn waits_triple_up_to_the_cap() {
        let wait = |n| after_failure(&policy(99), SideEffects::None, facts(FailureClass::Timeout, n));
        assert_eq!(wait(1), AfterFailure::Retry(DurationMs(5000)));
        assert_eq!(wait(2), AfterFailure::Retry(DurationMs(15_000)));
        assert_eq!(wait(3), AfterFailure::Retry(DurationMs(45_000)));
        assert_eq!(wait(90), AfterFailure::Retry(DurationMs(600_000)));
    }

    #[test]
    fn the_last_allowed_attempt_is_not_followed_by_another() {
        let after = |max, n| after_failure(&policy(max), SideEffects::None, facts(FailureClass::Timeout, n));
        assert!(matches!(after(3, 2), AfterFailure::Retry(_)));
        assert_eq!(after(3, 3), AfterFailure::Settle);
        assert_eq!(after(1, 1), AfterFailure::Settle);
    }

    #[test]
    fn a_class_that_is_not_listed_is_settled_at_once() {
        assert_eq!(after_failure(&policy(3), SideEffects::None, facts(FailureClass::Parse, 1)), AfterFailure::Settle);
    }

    #[test]
    fn a_retry_after_is_waited_in_full_and_one_above_the_cap_ends_the_retries() {
        let asked = |ms| FailureFacts { retry_after: Some(DurationMs(ms)), ..facts(FailureClass::RateLimited, 1) };
        let after = |ms| after_failure(&policy(3), SideEffects::None, asked(ms));
        assert_eq!(after(7000), AfterFailure::Retry(DurationMs(7000)));
        assert_eq!(after(600_000), AfterFailure::Retry(DurationMs(600_000)));
        assert_eq!(after(600_001), AfterFailure::Settle);
    }

    #[test]
    fn an_unsafe_target_is_called_again_only_when_nothing_ran() {
        let after = |class| after_failure(&policy(3), SideEffects::Unsafe, facts(class, 1));
        assert!(matches!(after(FailureClass::Connect), AfterFailure::Retry(_)));
        assert_eq!(after(FailureClass::Timeout), AfterFailure::Quarantine);
        assert_eq!(after(FailureClass::ServerError), AfterFailure::Quarantine);
    }

    #[test]
    fn jitter_takes_off_at_most_a_fifth() {
        let jittered = FailureFacts { jitter_ppm: 1_000_000, ..facts(FailureClass::Timeout, 1) };
        assert_eq!(after_failure(&policy(3), SideEffects::None, jittered), AfterFailure::Retry(DurationMs(4000)));
    }
}
