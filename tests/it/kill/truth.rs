//! What must be true of every run, however often it was killed: the store and the
//! agent's log tell the same story.

use crate::world::agent::Call;
use crate::world::{Ended, Record};
use std::collections::{BTreeMap, BTreeSet};

/// The parts of a report that may not depend on how often the run was killed.
pub(crate) fn verdict_of(ended: &Ended) -> [String; 4] {
    ["verdict", "counts", "result_digest", "score_ppm"].map(|key| ended.report[key].to_string())
}

/// Checks a run that has ended against the agent's log.
pub(crate) fn check(record: &Record, calls: &[Call], ended: &Ended, kills: u64, in_flight: u64) {
    let run = record.run.run.to_string();
    let strangers: Vec<&Call> = calls.iter().filter(|call| call.run != run).collect();
    assert!(strangers.is_empty(), "another run was worked on: {strangers:?}");
    streams_are_contiguous(record);
    each_attempt_is_called_once_and_was_started_before(record, calls);
    no_answered_execution_is_called_again(record, calls);

    let maybe_repeated = number(ended, "calls_maybe_repeated");
    let repeated = repeats_without_a_recorded_failure(record, calls);
    assert!(repeated <= maybe_repeated, "{repeated} calls were repeated, the report says {maybe_repeated}");
    assert!(maybe_repeated <= kills * in_flight, "{maybe_repeated} calls after {kills} kills of {in_flight} in flight");

    let attempts = record.attempts();
    let target_calls = number(ended, "target_calls");
    assert_eq!(target_calls, attempts.len() as u64, "every started attempt counts as a call, and no other");
    // A started attempt without a call was killed between the two, or found nobody to listen.
    let never_sent = target_calls - calls.len() as u64;
    let explained = attempts.values().filter(|tried| tried.expired || tried.failed).count() as u64;
    assert!(never_sent <= explained, "{never_sent} calls are unexplained by {explained} that came to nothing");
}

pub(crate) fn number(ended: &Ended, key: &str) -> u64 {
    ended.report[key].as_u64().unwrap_or_else(|| panic!("the report has no number {key}: {ended:?}"))
}

fn streams_are_contiguous(record: &Record) {
    let mut versions = BTreeMap::new();
    for event in &record.events {
        let version = versions.entry(event.stream.to_string()).or_insert(0);
        *version += 1;
        assert_eq!(event.version.0, *version, "stream {} has a gap or a fork", event.stream);
    }
}

fn each_attempt_is_called_once_and_was_started_before(record: &Record, calls: &[Call]) {
    let attempts = record.attempts();
    let mut seen = BTreeSet::new();
    for call in calls {
        assert!(seen.insert(&call.attempt), "attempt {} was called twice", call.attempt);
        let tried = attempts.get(&call.attempt).unwrap_or_else(|| panic!("{call:?} has no attempt.started"));
        assert_eq!((tried.number, tried.execution.repeat), (call.attempt_number, call.repeat));
    }
}

fn no_answered_execution_is_called_again(record: &Record, calls: &[Call]) {
    let attempts = record.attempts();
    let mut answered = BTreeMap::new();
    for tried in attempts.values().filter(|tried| tried.answered) {
        let twice = answered.insert(tried.execution, tried.number);
        assert_eq!(twice, None, "{} was answered twice", tried.execution);
    }
    for call in calls {
        let tried = &attempts[&call.attempt];
        let last = answered.get(&tried.execution).copied().unwrap_or(u32::MAX);
        assert!(tried.number <= last, "{} was called again after its answer was recorded", tried.execution);
    }
}

/// Calls beyond one per execution that do not follow a failure that was recorded.
fn repeats_without_a_recorded_failure(record: &Record, calls: &[Call]) -> u64 {
    let attempts = record.attempts();
    let mut called = BTreeMap::<_, u64>::new();
    for call in calls {
        *called.entry(attempts[&call.attempt].execution).or_default() += 1;
    }
    let failures = |execution| attempts.values().filter(|one| one.execution == execution && one.failed).count() as u64;
    called.iter().map(|(execution, calls)| calls.saturating_sub(1 + failures(*execution))).sum()
}
