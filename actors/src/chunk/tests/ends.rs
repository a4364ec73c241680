//! How a chunk ends, what it adds to its run, and how it is opened again.

use super::*;
use crate::decider::Rejection;
use crate::testing::{failed, pin, result};
use crate::verdict::{self, Calls, CaseFacts};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::{CarriedResult, ChunkEnd};

#[test]
fn a_chunk_is_completed_exactly_when_its_last_execution_is_settled() {
    let mut court = Court::open(3, SideEffects::None, 3);
    assert_eq!(types(&court.chunk.does(court.settle_command(&[(2, 2, true)]))), ["executions-settled"]);
    assert_eq!(types(&court.chunk.does(court.settle_command(&[(0, 0, false)]))), ["executions-settled"]);
    assert_eq!(court.phase(), ChunkPhase::Leased);
    let events = court.chunk.does(court.settle_command(&[(1, 1, true)]));
    assert_eq!(types(&events), ["executions-settled", "completed"]);
    let ChunkEvent::Completed(end) = &events[1] else { panic!("{events:?}") };
    let facts: Vec<_> = (0..3).map(|case| CaseFacts { case, group: 0, tags: &[] }).collect();
    let calls = Calls { started: 3, maybe_repeated: 0, attempted_missing: 0 };
    assert_eq!(end.tally, verdict::tally(&court.profile, &facts, &court.chunk.state.results(), calls));
    assert_eq!((end.tally.counts.passed, end.tally.counts.failed), (2, 1));
    assert!(matches!(court.chunk.refuses(court.settle_command(&[(1, 1, true)])), Rejection::Over(..)));
}

#[test]
fn what_was_carried_over_is_settled_from_the_start() {
    let profile = Arc::new(profile(SideEffects::None, 3, 1));
    let plan = planned((*profile).clone(), 1, 2);
    let carry = |cases: &[u32]| {
        let mut seeded = seeded(&plan, 0);
        let one = |number: &u32| CarriedResult {
            result: result(&profile, case(*number), attempt_id(100), true),
            pin: Some(pin(100)),
        };
        seeded.carried = cases.iter().map(one).collect();
        ChunkCommand::Seed { seeded: Arc::new(seeded), profile: profile.clone() }
    };
    let mut some = Court { chunk: Scene::default(), profile: profile.clone() };
    assert_eq!(types(&some.chunk.does(carry(&[1]))), ["seeded"]);
    some.lease();
    assert_eq!(some.allocate([0, 1]).iter().map(|one| one.execution).collect::<Vec<_>>(), [case(0)]);
    let events = some.chunk.does(some.settle_command(&[(0, 0, false)]));
    let ChunkEvent::Completed(end) = &events[1] else { panic!("{events:?}") };
    assert_eq!((end.tally.counts.scored, end.tally.target_calls), (2, 1), "a carried result is no call");
    let mut all = Scene::<Chunk>::default();
    assert_eq!(types(&all.does(carry(&[0, 1]))), ["seeded", "completed"]);
}

#[test]
fn a_result_carried_twice_or_from_elsewhere_is_not_allowed() {
    let plan = planned(profile(SideEffects::None, 3, 1), 1, 2);
    for cases in [vec![0, 0], vec![2]] {
        let mut seeded = seeded(&plan, 0);
        let one = |number: u32| CarriedResult {
            result: result(&plan.plan.profile, case(number), attempt_id(100), true),
            pin: None,
        };
        seeded.carried = cases.into_iter().map(one).collect();
        let event = ChunkEvent::Seeded(seeded);
        assert!(super::super::ChunkState::default().after(&event, InstantMs(0)).is_err());
    }
}

/// A chunk whose first execution is lost and whose second one passed.
fn quarantined() -> Court {
    let mut court = Court::open(2, SideEffects::Unsafe, 1);
    court.chunk.does(court.settle_command(&[(1, 1, true)]));
    let events = court.chunk.does(court.expire_command(fates(&[(0, Fate::Started)])));
    assert_eq!(types(&events), ["lease-expired", "quarantined"]);
    court
}

fn release(cases: &[u32]) -> ChunkCommand {
    ChunkCommand::ReleaseQuarantined { executions: cases.iter().map(|number| case(*number)).collect() }
}

#[test]
fn a_release_opens_a_chunk_again_and_its_next_end_counts_the_repeated_call() {
    let mut court = quarantined();
    assert_eq!(court.chunk.does(release(&[])), vec![]);
    assert!(matches!(court.chunk.refuses(release(&[1])), Rejection::NotNow(_)), "it does not wait");
    assert_eq!(types(&court.chunk.does(release(&[0, 0]))), ["requeued"]);
    assert!(matches!(court.chunk.refuses(release(&[0])), Rejection::NotNow(_)), "it waits no longer");
    court.lease();
    assert_eq!(court.chunk.state.term, TERM_2);
    let again = court.allocate([5]);
    assert_eq!((again[0].execution, again[0].number), (case(0), 2));
    let events = court.chunk.does(court.settle_command(&[(0, 5, true)]));
    let ChunkEvent::Completed(end) = &events[1] else { panic!("{events:?}") };
    assert_eq!((end.tally.target_calls, end.tally.calls_maybe_repeated, end.tally.counts.passed), (3, 1, 2));
}

#[test]
fn a_release_while_the_chunk_is_worked_on_is_refused() {
    let mut court = Court::open(2, SideEffects::Unsafe, 3);
    court.chunk.does(court.failure_command(vec![failed(case(0), 0, FailureClass::Timeout)]));
    assert!(matches!(court.chunk.refuses(release(&[0])), Rejection::NotNow(_)));
    court.chunk.does(court.cancel_command(fates(&[])));
    assert!(matches!(court.chunk.refuses(release(&[0])), Rejection::NotNow(_)), "nor when it ended otherwise");
}

#[test]
fn a_failed_attempt_that_a_person_let_go_again_still_counts_as_one() {
    let mut court = Court::open(1, SideEffects::Unsafe, 1);
    court.chunk.does(court.failure_command(vec![failed(case(0), 0, FailureClass::ServerError)]));
    court.chunk.does(release(&[0]));
    court.lease();
    assert_eq!(court.allocate([1])[0].key, 1, "a response was received: a new key");
    let events = court.chunk.does(court.failure_command(vec![failed(case(0), 1, FailureClass::Connect)]));
    assert_eq!(types(&events), ["executions-settled", "completed"]);
    assert_eq!(court.chunk.state.calls_maybe_repeated, 0, "how the first call ended is known");
}

#[test]
fn a_chunk_that_fails_counts_what_is_open_and_recorded_as_called_and_missing() {
    let mut court = Court::seeded(3, SideEffects::None, 3);
    for _ in 0..FAILURE_BUDGET {
        court.lease();
        court.chunk.does(court.fail_command(fates(&[])));
    }
    court.lease();
    court.allocate([0, 1, 2]);
    let known = [(0, Fate::Recorded), (1, Fate::Started), (2, Fate::NeverStarted)];
    let events = court.chunk.does(court.fail_command(fates(&known)));
    let ChunkEvent::Failed(end) = &events[1] else { panic!("{events:?}") };
    assert_eq!((end.tally.target_calls, end.tally.counts.attempted, end.tally.counts.missing), (2, 2, 3));
    assert_eq!(court.phase(), ChunkPhase::Ended(ChunkEnd::Failed));
}
