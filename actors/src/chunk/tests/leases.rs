//! Offers, terms, releases, expiries and failures of the worker.

use super::*;
use crate::decider::{Decider, Rejection};
use crate::testing::by;
use tribunal_schema::events::{ChunkEnd, ChunkLeaseExpired, ChunkReleased, ChunkRequeued, Unfinished};
use tribunal_schema::units::DurationMs;

#[test]
fn a_seed_told_again_is_nothing_and_other_content_contradicts() {
    let mut court = Court::seeded(2, SideEffects::None, 3);
    let plan = planned(profile(SideEffects::None, 3, 1), 1, 2);
    let seed = |seeded| ChunkCommand::Seed { seeded: Arc::new(seeded), profile: court.profile.clone() };
    let (same, mut other) = (seeded(&plan, 0), seeded(&plan, 0));
    other.cases.pop();
    let (same, other) = (seed(same), seed(other));
    assert_eq!(court.chunk.does(same), vec![]);
    assert!(matches!(court.chunk.refuses(other), Rejection::Contradiction(_)));
}

#[test]
fn a_claim_must_name_the_ready_number() {
    let mut court = Court::seeded(1, SideEffects::None, 3);
    for wrong in [0, 2] {
        let superseded = Rejection::Superseded { claimed: wrong, current: 1 };
        assert_eq!(court.chunk.refuses(court.lease_command(ReadySeq(wrong))), superseded);
        assert_eq!(court.chunk.refuses(ChunkCommand::Dispatch { ready_seq: ReadySeq(wrong) }), superseded);
    }
    assert_eq!(types(&court.chunk.does(ChunkCommand::Dispatch { ready_seq: ReadySeq(1) })), ["dispatched"]);
    assert_eq!(types(&court.chunk.does(court.lease_command(ReadySeq(1)))), ["leased"]);
    assert!(matches!(court.chunk.refuses(court.lease_command(ReadySeq(1))), Rejection::Superseded { .. }));
}

#[test]
fn each_grant_raises_the_term_by_one() {
    let mut court = Court::seeded(1, SideEffects::None, 3);
    for term in 1..4 {
        court.lease();
        assert_eq!((court.chunk.state.term, court.phase()), (LeaseTerm(term), ChunkPhase::Leased));
        court.chunk.does(court.release_command(fates(&[])));
        assert_eq!(court.chunk.state.ready_seq, ReadySeq(term + 1));
    }
}

#[test]
fn a_command_of_another_term_is_refused_before_and_after() {
    let mut court = Court::open(2, SideEffects::None, 3);
    court.chunk.does(court.release_command(fates(&[(0, Fate::Recorded), (1, Fate::Recorded)])));
    let commands = |court: &Court, term| {
        let mut commands = vec![
            court.allocate_command([9]),
            court.settle_command(&[(0, 0, true)]),
            court.failure_command(vec![]),
            court.release_command(fates(&[])),
            court.expire_command(fates(&[])),
            court.fail_command(fates(&[])),
        ];
        for command in &mut commands {
            match command {
                ChunkCommand::Allocate { term: t, .. }
                | ChunkCommand::Settle { term: t, .. }
                | ChunkCommand::RecordFailures { term: t, .. }
                | ChunkCommand::Release { term: t, .. }
                | ChunkCommand::Expire { term: t, .. }
                | ChunkCommand::FailProcessing { term: t, .. } => *t = term,
                other => panic!("{other:?} names no term"),
            }
        }
        commands
    };
    for command in commands(&court, TERM_1) {
        assert_eq!(court.chunk.refuses(command), Rejection::StaleTerm { claimed: 1, current: 1 }, "nobody holds it");
    }
    court.lease();
    for wrong in [1, 3] {
        for command in commands(&court, LeaseTerm(wrong)) {
            assert_eq!(court.chunk.refuses(command), Rejection::StaleTerm { claimed: wrong, current: 2 });
        }
    }
    for command in commands(&court, TERM_2) {
        assert!(Chunk::decide(&court.chunk.state, &command).is_ok(), "{command:?}");
    }
}

#[test]
fn a_chunk_that_does_not_exist_refuses_everything_but_its_seed() {
    let court = Court::seeded(1, SideEffects::None, 3);
    let mut nothing = Scene::<Chunk>::default();
    for command in [court.lease_command(ReadySeq(1)), court.allocate_command([1]), court.cancel_command(fates(&[]))] {
        assert_eq!(nothing.refuses(command), Rejection::Unknown("the chunk"));
    }
}

#[test]
fn the_end_of_a_term_gives_back_what_never_started_and_burns_what_did() {
    let mut court = Court::open(4, SideEffects::Idempotent, 3);
    let known = [(0, Fate::NeverStarted), (1, Fate::Started), (2, Fate::Recorded)];
    let events = court.chunk.does(court.expire_command(fates(&known)));
    assert_eq!(types(&events), ["lease-expired", "requeued"]);
    let ChunkEvent::LeaseExpired(ChunkLeaseExpired { unfinished, recoveries_without_progress, .. }) = &events[0] else {
        panic!("{events:?}")
    };
    // The fourth one's fate is not given: what is not known is never assumed harmless.
    let wanted = Unfinished { unburnt: vec![attempt_id(0)], expired: vec![attempt_id(1), attempt_id(3)], lost: vec![] };
    assert_eq!((unfinished, *recoveries_without_progress), (&wanted, 1));
    let state = &court.chunk.state;
    assert_eq!((state.calls, state.calls_maybe_repeated), (2, 2));
    assert!(matches!(court.stage(2), Stage::Open(open) if open.attempt == attempt_id(2)), "never given back");
    court.lease();
    let again = court.allocate([10, 11, 12, 13]);
    let numbers: Vec<_> = again.iter().map(|one| (one.execution.case, one.number, one.key)).collect();
    assert_eq!(numbers, [(0, 1, 0), (1, 2, 0), (3, 2, 0)], "number kept where unburnt, key kept everywhere");
}

#[test]
fn a_lost_call_of_an_unsafe_target_waits_for_a_person() {
    let mut court = Court::open(2, SideEffects::Unsafe, 3);
    court.chunk.does(court.expire_command(fates(&[(0, Fate::Started), (1, Fate::NeverStarted)])));
    assert_eq!(*court.stage(0), Stage::Quarantined { attempt: attempt_id(0), lost: true });
    assert_eq!((court.chunk.state.calls, court.chunk.state.calls_maybe_repeated), (1, 0));
    court.wait(DAY.0 as i64);
    court.lease();
    assert_eq!(court.allocate([10, 11]).len(), 1, "it is never pending again by itself");
    let events = court.chunk.does(court.settle_command(&[(1, 10, true)]));
    assert_eq!(types(&events), ["executions-settled", "quarantined"]);
    let ChunkEvent::Quarantined(end) = &events[1] else { panic!("{events:?}") };
    assert_eq!(end.executions, [case(0)]);
    assert_eq!((end.tally.counts.errored, end.tally.counts.missing, end.tally.target_calls), (1, 0, 2));
}

#[test]
fn a_chunk_fails_one_recovery_after_the_limit() {
    let mut court = Court::seeded(1, SideEffects::None, 3);
    for recovery in 1..=RECOVERY_LIMIT {
        court.lease();
        let events = court.chunk.does(court.expire_command(fates(&[])));
        assert_eq!(types(&events), ["lease-expired", "requeued"], "recovery {recovery}");
    }
    court.lease();
    let events = court.chunk.does(court.expire_command(fates(&[])));
    assert_eq!(types(&events), ["lease-expired", "failed"]);
    let ChunkEvent::Failed(end) = &events[1] else { panic!("{events:?}") };
    assert_eq!((end.tally.counts.missing, end.tally.counts.attempted), (1, 0));
    assert!(end.reason.contains("4 times in a row"), "{}", end.reason);
    assert_eq!(court.phase(), ChunkPhase::Ended(ChunkEnd::Failed));
}

#[test]
fn a_settled_execution_clears_the_recoveries_and_a_deferred_one_does_not() {
    let mut court = Court::seeded(3, SideEffects::None, 3);
    for _ in 0..RECOVERY_LIMIT {
        court.lease();
        court.chunk.does(court.expire_command(fates(&[])));
    }
    court.lease();
    court.allocate([0, 1, 2]);
    let timeout = crate::testing::failed(case(1), 1, tribunal_schema::answer::FailureClass::Timeout);
    court.chunk.does(court.failure_command(vec![timeout]));
    assert_eq!(court.chunk.state.recoveries_without_progress, RECOVERY_LIMIT);
    court.chunk.does(court.settle_command(&[(0, 0, true)]));
    assert_eq!(court.chunk.state.recoveries_without_progress, 0);
    let events = court.chunk.does(court.expire_command(fates(&[(2, Fate::NeverStarted)])));
    assert_eq!(types(&events), ["lease-expired", "requeued"]);
}

#[test]
fn a_release_is_no_recovery_and_comes_back_at_once_where_something_was_open() {
    let mut court = Court::open(1, SideEffects::None, 3);
    let events = court.chunk.does(court.release_command(fates(&[(0, Fate::NeverStarted)])));
    let [ChunkEvent::Released(ChunkReleased { due_in, .. })] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((*due_in, court.chunk.state.recoveries_without_progress), (DurationMs(0), 0));
}

#[test]
fn a_release_with_only_waits_comes_back_when_the_first_is_due() {
    let mut court = Court::open(2, SideEffects::None, 3);
    let class = tribunal_schema::answer::FailureClass::Timeout;
    court.chunk.does(court.failure_command(vec![crate::testing::failed(case(0), 0, class)]));
    court.wait(1000);
    court.chunk.does(court.failure_command(vec![crate::testing::failed(case(1), 1, class)]));
    court.wait(500);
    let events = court.chunk.does(court.release_command(fates(&[])));
    let [ChunkEvent::Released(ChunkReleased { due_in, .. })] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(*due_in, DurationMs(3500));
}

#[test]
fn a_worker_may_fail_as_often_as_the_budget_says_and_waits_longer_each_time() {
    let mut court = Court::seeded(1, SideEffects::None, 3);
    for (count, wait) in [(1, 1000), (2, 2000)] {
        court.lease();
        let events = court.chunk.does(court.fail_command(fates(&[])));
        let [ChunkEvent::ProcessingFailed(failed), ChunkEvent::Requeued(ChunkRequeued { due_in, .. })] =
            events.as_slice()
        else {
            panic!("{events:?}")
        };
        assert_eq!((failed.count, *due_in), (count, DurationMs(wait)));
    }
    court.lease();
    let events = court.chunk.does(court.fail_command(fates(&[])));
    assert_eq!(types(&events), ["processing-failed", "failed"]);
}

#[test]
fn a_forged_count_or_ready_number_is_not_allowed_on_replay() {
    let mut court = Court::leased(1, SideEffects::None, 3);
    let state = court.chunk.state.clone();
    for event in court.chunk.does(court.expire_command(fates(&[]))) {
        let forged = match event {
            ChunkEvent::LeaseExpired(event) => {
                ChunkEvent::LeaseExpired(ChunkLeaseExpired { recoveries_without_progress: 0, ..event })
            }
            ChunkEvent::Requeued(event) => ChunkEvent::Requeued(ChunkRequeued { ready_seq: ReadySeq(1), ..event }),
            other => panic!("{other:?}"),
        };
        let expired = ChunkEvent::LeaseExpired(ChunkLeaseExpired {
            term: TERM_1,
            unfinished: Unfinished::default(),
            recoveries_without_progress: 1,
        });
        let before = match &forged {
            ChunkEvent::Requeued(_) => Chunk::evolve(state.clone(), &expired, InstantMs(0)).expect("legal"),
            _ => state.clone(),
        };
        assert!(Chunk::evolve(before, &forged, InstantMs(0)).is_err(), "{forged:?}");
    }
}

#[test]
fn cancelling_ends_a_chunk_in_every_phase_and_told_again_is_nothing() {
    let ready = Court::seeded(2, SideEffects::None, 3);
    let leased = Court::open(2, SideEffects::None, 3);
    let mut waiting = Court::open(2, SideEffects::None, 3);
    waiting.chunk.does(waiting.release_command(fates(&[(0, Fate::NeverStarted), (1, Fate::Started)])));
    for mut court in [ready, leased, waiting] {
        let command = court.cancel_command(fates(&[(0, Fate::NeverStarted), (1, Fate::Started)]));
        assert_eq!(types(&court.chunk.does(command.clone())), ["cancelled"]);
        assert_eq!(court.phase(), ChunkPhase::Ended(ChunkEnd::Cancelled));
        assert_eq!(court.chunk.does(command), vec![]);
        assert!(matches!(court.chunk.refuses(court.lease_command(ReadySeq(1))), Rejection::Over(..)));
    }
}

#[test]
fn a_cancelled_chunk_counts_the_calls_that_were_made_and_no_others() {
    let mut court = Court::open(4, SideEffects::None, 3);
    let known = [(0, Fate::NeverStarted), (1, Fate::Started), (2, Fate::Recorded)];
    let events = court.chunk.does(court.cancel_command(fates(&known)));
    let [ChunkEvent::Cancelled(end)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(end.in_flight, [attempt_id(1), attempt_id(3)], "a fate that is not given counts as started");
    assert_eq!((end.tally.target_calls, end.tally.counts.attempted, end.tally.counts.missing), (3, 3, 4));
    assert_eq!(end.cause, by());
}
