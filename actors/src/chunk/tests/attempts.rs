//! Allocation, results, failures and their retries.

use super::*;
use crate::chunk::FailedAttempt;
use crate::decider::{Decider, Rejection};
use crate::testing::failed;
use tribunal_schema::answer::FailureClass::{self, Connect, Parse, ServerError, Timeout};
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::units::DurationMs;

#[test]
fn attempts_are_given_out_for_as_many_as_there_are_ids_or_executions() {
    let mut court = Court::leased(3, SideEffects::None, 3);
    assert_eq!(court.allocate([]), vec![]);
    let first = court.allocate([0, 1]);
    assert_eq!(
        first.iter().map(|one| (one.execution, one.number, one.key)).collect::<Vec<_>>(),
        [(case(0), 1, 0), (case(1), 1, 0)]
    );
    assert_eq!(court.allocate([2, 3, 4]).len(), 1);
    assert_eq!(court.allocate([5]), vec![]);
}

#[test]
fn an_allocation_told_again_gives_no_id_to_a_second_execution() {
    let mut court = Court::leased(4, SideEffects::None, 3);
    court.allocate([0, 1]);
    assert_eq!(court.allocate([0, 1]), vec![]);
    assert_eq!(court.allocate([7, 7]).len(), 1, "nor does an id that is named twice");
    assert_eq!(court.chunk.state.open.len(), 3);
}

#[test]
fn an_attempt_id_that_is_open_is_not_allowed_on_replay() {
    let mut court = Court::leased(2, SideEffects::None, 3);
    court.allocate([0]);
    let mut event = match Chunk::decide(&court.chunk.state, &court.allocate_command([1])).expect("granted").remove(0) {
        ChunkEvent::AttemptsAllocated(event) => event,
        other => panic!("{other:?}"),
    };
    event.attempts[0].attempt = attempt_id(0);
    let forged = ChunkEvent::AttemptsAllocated(event);
    assert!(Chunk::evolve(court.chunk.state.clone(), &forged, InstantMs(0)).is_err());
}

#[test]
fn a_retry_is_never_given_out_before_it_is_due() {
    let mut court = Court::open(1, SideEffects::None, 3);
    let events = court.chunk.does(court.failure_command(vec![failed(case(0), 0, Timeout)]));
    let [ChunkEvent::ExecutionsDeferred(deferred)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(deferred.deferred[0].retry_after, DurationMs(5000));
    court.wait(4999);
    assert_eq!(court.allocate([1]), vec![]);
    court.wait(1);
    let again = court.allocate([1]);
    assert_eq!((again[0].number, again[0].key), (2, 0), "no response was received: the same key");
}

#[test]
fn a_clock_that_was_set_back_does_not_make_a_record_illegal() {
    let mut court = Court::open(1, SideEffects::None, 3);
    court.chunk.does(court.failure_command(vec![failed(case(0), 0, Timeout)]));
    court.wait(5000);
    let command = court.allocate_command([1]);
    court.wait(-4000);
    assert_eq!(types(&court.chunk.does(command)), ["attempts-allocated"]);
}

#[test]
fn a_response_of_any_kind_calls_for_a_new_key() {
    let mut court = Court::open(1, SideEffects::None, 9);
    for (attempt, class, key) in [(0, ServerError, 1), (1, Timeout, 1), (2, ServerError, 2), (3, Connect, 2)] {
        court.chunk.does(court.failure_command(vec![failed(case(0), attempt, class)]));
        court.wait(DAY.0 as i64);
        assert_eq!(court.allocate([attempt + 1])[0].key, key, "after {class}");
    }
}

#[test]
fn an_execution_is_never_answered_or_failed_more_often_than_the_profile_says() {
    for max in 1..4 {
        let mut court = Court::open(1, SideEffects::None, max);
        for attempt in 0..u64::from(max) {
            let events = court.chunk.does(court.failure_command(vec![failed(case(0), attempt, Timeout)]));
            if attempt + 1 < u64::from(max) {
                assert_eq!(types(&events), ["executions-deferred"]);
                court.wait(DAY.0 as i64);
                court.allocate([attempt + 1]);
            } else {
                assert_eq!(types(&events), ["executions-settled", "completed"], "attempt {attempt} of {max}");
            }
        }
        assert_eq!((court.chunk.state.calls, court.phase()), (u64::from(max), ChunkPhase::Ended(ChunkEnd::Completed)));
    }
}

#[test]
fn an_expired_attempt_is_not_counted_against_the_attempts() {
    let mut court = Court::open(1, SideEffects::None, 1);
    court.chunk.does(court.expire_command(fates(&[(0, Fate::Started)])));
    court.lease();
    let again = court.allocate([1]);
    assert_eq!((again[0].number, again[0].key), (2, 0));
    let events = court.chunk.does(court.settle_command(&[(0, 1, true)]));
    let ChunkEvent::Completed(end) = &events[1] else { panic!("{events:?}") };
    assert_eq!((end.tally.target_calls, end.tally.calls_maybe_repeated, end.tally.counts.passed), (2, 1, 1));
}

#[test]
fn failures_go_the_way_that_their_class_calls_for() {
    let three = |classes: [FailureClass; 3]| -> Vec<FailedAttempt> {
        (0u32..).zip(classes).map(|(number, class)| failed(case(number), u64::from(number), class)).collect()
    };
    let mut safe = Court::open(4, SideEffects::None, 3);
    let events = safe.chunk.does(safe.failure_command(three([Timeout, Parse, Connect])));
    assert_eq!(types(&events), ["executions-deferred", "executions-settled"]);
    let mut unsafe_one = Court::open(4, SideEffects::Unsafe, 3);
    let events = unsafe_one.chunk.does(unsafe_one.failure_command(three([Timeout, ServerError, Connect])));
    assert_eq!(types(&events), ["executions-deferred", "executions-quarantined"]);
    assert_eq!(*unsafe_one.stage(0), Stage::Quarantined { attempt: attempt_id(0), lost: false });
    assert!(matches!(unsafe_one.stage(2), Stage::Pending { .. }), "a refused connection proves that nothing ran");
}

#[test]
fn results_told_again_are_nothing() {
    let mut court = Court::open(3, SideEffects::Unsafe, 3);
    let settle = court.settle_command(&[(0, 0, true)]);
    let fail = court.failure_command(vec![failed(case(1), 1, Connect), failed(case(2), 2, Timeout)]);
    for command in [settle, fail] {
        assert!(!court.chunk.does(command.clone()).is_empty());
        assert_eq!(court.chunk.does(command), vec![]);
    }
    assert_eq!(court.chunk.state.calls, 3);
}

#[test]
fn a_failure_told_again_after_the_next_attempt_is_still_nothing() {
    let mut court = Court::open(2, SideEffects::None, 3);
    let fail = court.failure_command(vec![failed(case(0), 0, Timeout)]);
    court.chunk.does(fail.clone());
    court.wait(DAY.0 as i64);
    court.allocate([5]);
    assert_eq!(court.chunk.does(fail), vec![]);
    assert!(matches!(court.stage(0), Stage::Open(open) if open.attempt == attempt_id(5)));
}

#[test]
fn a_result_that_is_in_a_batch_twice_is_recorded_once() {
    let mut court = Court::open(3, SideEffects::None, 3);
    let events = court.chunk.does(court.settle_command(&[(0, 0, true), (0, 0, true)]));
    let [ChunkEvent::ExecutionsSettled(event)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(event.settled.len(), 1);
    let twice = vec![failed(case(1), 1, Timeout), failed(case(1), 1, Timeout)];
    court.chunk.does(court.failure_command(twice));
    assert_eq!(court.chunk.state.executions[&case(1)].failures, 1);
}

#[test]
fn a_second_and_different_result_contradicts() {
    let mut court = Court::open(2, SideEffects::None, 3);
    court.chunk.does(court.settle_command(&[(0, 0, true)]));
    assert!(matches!(court.chunk.refuses(court.settle_command(&[(0, 0, false)])), Rejection::Contradiction(_)));
}

#[test]
fn only_the_current_attempt_may_settle() {
    let mut court = Court::open(2, SideEffects::None, 3);
    for (number, attempt) in [(0, 1), (0, 9), (9, 0)] {
        let refused = court.chunk.refuses(court.settle_command(&[(number, attempt, true)]));
        assert!(matches!(refused, Rejection::NotCurrentAttempt { .. }), "{refused}");
        let refused = court.chunk.refuses(court.failure_command(vec![failed(case(number), attempt, Timeout)]));
        assert!(matches!(refused, Rejection::NotCurrentAttempt { .. }), "{refused}");
    }
    let mut command = court.settle_command(&[(0, 0, true)]);
    if let ChunkCommand::Settle { settled, .. } = &mut command {
        settled[0].result.attempt = None;
    }
    assert!(matches!(court.chunk.refuses(command), Rejection::Contradiction(_)));
}
