//! Links: what the connections to the broker are doing, for whoever asks.
//!
//! Each task that keeps a session has a link and tells it whether it is connected
//! or waits, and why. One answer is made of all: waiting as soon as one of them
//! waits. Nothing is decided from it; it is for people, probes and tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What the broker is to us at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Every connection stands.
    Connected {
        /// Since when: the youngest of them.
        since: Instant,
    },
    /// At least one connection does not stand; it is tried again, for ever.
    Waiting {
        /// Which one and why, in words.
        reason: String,
        /// Since when.
        since: Instant,
        /// How often it was tried in vain.
        tries: u32,
    },
}

impl State {
    /// Whether every connection stands.
    pub fn is_connected(&self) -> bool {
        matches!(self, State::Connected { .. })
    }
}

type All = BTreeMap<u64, State>;

/// The links of one adapter.
#[derive(Clone)]
pub(super) struct Links(Arc<watch::Sender<All>>);

impl Links {
    pub(super) fn new() -> Links {
        Links(Arc::new(watch::Sender::new(All::new())))
    }

    /// A new link, which waits for its first connection.
    pub(super) fn join(&self, name: String) -> Link {
        let mut key = 0;
        self.0.send_modify(|all| {
            key = all.last_key_value().map_or(0, |(last, _)| last + 1);
            let reason = format!("{name}: not connected yet");
            all.insert(key, State::Waiting { reason, since: Instant::now(), tries: 0 });
        });
        Link { all: self.0.clone(), key, name }
    }

    /// The state of all of them.
    pub(super) fn state(&self) -> State {
        of(&self.0.borrow())
    }

    /// Waits until the state of all of them is such.
    pub(super) async fn wait_for(&self, mut is_such: impl FnMut(&State) -> bool) -> State {
        let mut states = self.0.subscribe();
        let found = states.wait_for(|all| is_such(&of(all))).await;
        of(&found.expect("we hold the sender"))
    }
}

fn of(all: &All) -> State {
    let longest_waiting = all
        .values()
        .filter_map(|state| match state {
            State::Waiting { since, .. } => Some((*since, state)),
            State::Connected { .. } => None,
        })
        .min_by_key(|(since, _)| *since);
    if let Some((_, waiting)) = longest_waiting {
        return waiting.clone();
    }
    let youngest = all.values().filter_map(|state| match state {
        State::Connected { since } => Some(*since),
        State::Waiting { .. } => None,
    });
    State::Connected { since: youngest.max().unwrap_or_else(Instant::now) }
}

/// One connection's place in the state; gone when dropped.
pub(super) struct Link {
    all: Arc<watch::Sender<All>>,
    key: u64,
    name: String,
}

impl Link {
    /// It stands.
    pub(super) fn connected(&self) {
        tracing::info!(connection = %self.name, "connected to the broker");
        self.all.send_modify(|all| {
            all.insert(self.key, State::Connected { since: Instant::now() });
        });
    }

    /// It does not stand.
    pub(super) fn waiting(&self, reason: &str) {
        let reason = format!("{}: {reason}", self.name);
        self.all.send_modify(|all| {
            let (mut first, mut failures) = (Instant::now(), 0);
            if let Some(State::Waiting { since, tries, .. }) = all.get(&self.key) {
                (first, failures) = (*since, *tries);
            }
            let tries = failures.saturating_add(1);
            if tries == 1 {
                tracing::warn!(%reason, "the broker is waited for");
            } else {
                tracing::debug!(%reason, tries, "the broker is waited for");
            }
            all.insert(self.key, State::Waiting { reason, since: first, tries });
        });
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.all.send_modify(|all| {
            all.remove(&self.key);
        });
    }
}

/// How long to wait before the next try: doubled each time up to the longest, with noise,
/// so that neither one process nor a hundred of them hammer a broker that comes back.
pub(super) struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl Backoff {
    pub(super) const fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { first, longest, failures: 0 }
    }

    /// A session ended. Only one that lived for a while is a reason to begin anew: a broker
    /// that lets us in and throws us out at once is not to be asked ever faster.
    pub(super) fn session_lived(&mut self, lived: Duration) {
        if lived >= self.longest {
            self.failures = 0;
        }
    }

    pub(super) fn next(&mut self) -> Duration {
        let ceiling = self.first.saturating_mul(1 << self.failures.min(16)).min(self.longest);
        self.failures = self.failures.saturating_add(1);
        ceiling.mul_f64(rand::RngExt::random_range(&mut rand::rng(), 0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_link_that_waits_is_what_all_say() {
        let links = Links::new();
        let (one, two) = (links.join("one".into()), links.join("two".into()));
        one.connected();
        two.connected();
        assert!(links.state().is_connected());
        two.waiting("no route");
        two.waiting("no route still");
        let State::Waiting { reason, tries, .. } = links.state() else { panic!("two waits") };
        assert_eq!((reason.as_str(), tries), ("two: no route still", 2));
        drop(two);
        assert!(links.state().is_connected(), "a link that is gone waits for nothing");
    }

    #[test]
    fn waits_double_up_to_the_longest_and_begin_anew_after_a_long_session_only() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(1));
        let mut backoff = Backoff::new(first, longest);
        for ceiling in [100, 200, 400, 800, 1000, 1000] {
            let wait = backoff.next().as_millis();
            assert!((ceiling / 2..=ceiling).contains(&wait), "{wait} of {ceiling}");
        }
        backoff.session_lived(longest - first);
        assert!(backoff.next() >= longest / 2);
        backoff.session_lived(longest);
        assert!(backoff.next() <= first);
    }
}
