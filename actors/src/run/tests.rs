//! The run's decisions: accepted once, judged when all is in, over for good.

use super::*;
use crate::decider::Rejection;
use crate::testing::{Scene, by, planned, profile};
use crate::verdict::{self, Calls, CaseFacts};
use proptest::prelude::*;
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::ids::ExecutionKey;
use tribunal_schema::profile::SideEffects;
use tribunal_schema::score::Verdict;
use tribunal_schema::units::Version;

const CASES: u32 = 2;

fn plan(chunks: u32) -> RunPlanned {
    planned(profile(SideEffects::None, 1, 1), chunks, CASES)
}

fn seed() -> RunCommand {
    RunCommand::RecordSeeded { placement: "local".into(), chunks: 1 }
}

fn opened(chunks: u32) -> Scene<Run> {
    let mut run = Scene::default();
    run.does(RunCommand::Plan(Box::new(plan(chunks))));
    run.does(seed());
    run.does(RunCommand::Open);
    run
}

/// The end of a chunk of which `passes` cases pass.
fn end(chunk: u32, version: u64, end: ChunkEnd, passes: u32) -> AcceptedChunk {
    let profile = profile(SideEffects::None, 1, 1);
    let cases = chunk * CASES..(chunk + 1) * CASES;
    let facts: Vec<_> = cases.clone().map(|case| CaseFacts { case, group: 0, tags: &[] }).collect();
    let result = |case: u32| {
        let key = ExecutionKey { case, repeat: 0 };
        let passes = case - chunk * CASES < passes;
        (key, crate::testing::result(&profile, key, crate::testing::attempt_id(u64::from(case)), passes))
    };
    let calls = Calls { started: u64::from(CASES), ..Calls::default() };
    let tally = verdict::tally(&profile, &facts, &cases.map(result).collect(), calls);
    AcceptedChunk { chunk, version: Version(version), digest: Digest::of(&version.to_be_bytes()), end, tally }
}

fn accept(ends: &[AcceptedChunk]) -> RunCommand {
    RunCommand::AcceptChunks(ends.to_vec())
}

fn judge() -> RunCommand {
    RunCommand::Judge { result_digest: Digest::ZERO, root: Digest::of(b"root") }
}

fn halt() -> RunCommand {
    RunCommand::Halt { cause: HaltCause::CallsSpent, reason: "the budget of 3 calls is used up".into() }
}

fn reopen(chunk: u32) -> RunCommand {
    RunCommand::ReopenChunk { chunk, by: by() }
}

fn judged(run: &Scene<Run>) -> Verdict {
    run.state.judged.as_ref().expect("it is judged").judged.verdict
}

#[test]
fn a_plan_told_again_is_nothing_and_another_one_contradicts() {
    let mut run = opened(1);
    assert_eq!(run.does(RunCommand::Plan(Box::new(plan(1)))), vec![]);
    assert!(matches!(run.refuses(RunCommand::Plan(Box::new(plan(2)))), Rejection::Contradiction(_)));
}

#[test]
fn a_run_opens_only_when_its_chunks_exist() {
    let mut run = Scene::<Run>::default();
    assert_eq!(run.refuses(RunCommand::Open), Rejection::Unknown("the run"));
    run.does(RunCommand::Plan(Box::new(plan(1))));
    assert!(matches!(run.refuses(RunCommand::Open), Rejection::NotNow(_)));
    assert!(matches!(run.refuses(RunCommand::Start), Rejection::NotNow(_)));
    let opened = RunEvent::Opened(tribunal_schema::events::RunOpened { chunks: 1, cases: 2, executions: 2 });
    assert!(Run::evolve(run.state.clone(), &opened, InstantMs(0)).is_err(), "nor may a record say so");
    let elsewhere = RunCommand::RecordSeeded { placement: "elsewhere".into(), chunks: 1 };
    assert!(matches!(run.refuses(elsewhere), Rejection::Contradiction(_)));
    assert_eq!(run.does(seed()).len(), 1);
    assert_eq!(run.does(seed()), vec![]);
    assert_eq!(run.does(RunCommand::Open), vec![opened]);
    assert_eq!(run.does(RunCommand::Open), vec![]);
    assert_eq!(run.does(RunCommand::Start).len(), 1);
    assert_eq!(run.does(RunCommand::Start), vec![]);
}

#[test]
fn of_a_chunk_a_higher_version_replaces_and_the_same_or_a_lower_one_is_nothing() {
    let mut run = opened(2);
    run.does(accept(&[end(0, 10, ChunkEnd::Completed, 1)]));
    for known in [10, 9] {
        assert_eq!(run.does(accept(&[end(0, known, ChunkEnd::Completed, 2)])), vec![]);
    }
    assert_eq!(run.state.tally().counts.passed, 1);
    run.does(accept(&[end(0, 11, ChunkEnd::Completed, 2)]));
    assert_eq!((run.state.tally().counts.passed, run.state.tally().counts.executions), (2, 2));
    let batch = run.does(accept(&[end(1, 5, ChunkEnd::Completed, 0), end(1, 6, ChunkEnd::Completed, 1)]));
    let [RunEvent::ChunksAccepted(event)] = batch.as_slice() else { panic!("{batch:?}") };
    assert_eq!(event.chunks.iter().map(|chunk| chunk.version.0).collect::<Vec<_>>(), [6]);
}

#[test]
fn a_record_that_takes_a_chunk_back_or_from_elsewhere_is_not_allowed() {
    let mut run = opened(1);
    run.does(accept(&[end(0, 10, ChunkEnd::Completed, 1)]));
    for forged in [end(0, 10, ChunkEnd::Completed, 2), end(1, 11, ChunkEnd::Completed, 2)] {
        let event = RunEvent::ChunksAccepted(tribunal_schema::events::RunChunksAccepted { chunks: vec![forged] });
        assert!(Run::evolve(run.state.clone(), &event, InstantMs(0)).is_err());
    }
}

#[test]
fn a_chunk_that_the_plan_does_not_have_is_refused() {
    let mut run = opened(2);
    assert!(matches!(run.refuses(accept(&[end(2, 1, ChunkEnd::Completed, 1)])), Rejection::Contradiction(_)));
    assert_eq!(run.does(accept(&[end(1, 1, ChunkEnd::Completed, 1)])).len(), 1);
}

#[test]
fn a_run_is_judged_only_when_every_chunk_is_in() {
    let mut run = opened(2);
    assert!(matches!(run.refuses(judge()), Rejection::NotNow(_)));
    run.does(accept(&[end(0, 3, ChunkEnd::Completed, 2)]));
    assert!(matches!(run.refuses(judge()), Rejection::NotNow(_)));
    run.does(accept(&[end(1, 3, ChunkEnd::Completed, 0)]));
    assert_eq!(run.does(judge()).len(), 2);
    assert_eq!((run.state.phase, judged(&run)), (RunPhase::Completed, Verdict::Pass));
    assert_eq!(run.does(judge()), vec![]);
    assert_eq!(run.does(accept(&[end(0, 9, ChunkEnd::Completed, 0)])), vec![], "accepted as nothing");
}

#[test]
fn a_halted_run_never_passes() {
    let mut run = opened(1);
    run.does(halt());
    assert_eq!(run.does(halt()), vec![]);
    run.does(accept(&[end(0, 3, ChunkEnd::Cancelled, 2)]));
    run.does(judge());
    assert_eq!(judged(&run), Verdict::Inconclusive);
    let reasons = &run.state.judged.as_ref().expect("it is judged").judged.reasons;
    assert!(reasons.iter().any(|reason| reason.contains("budget of 3 calls")), "{reasons:?}");
}

#[test]
fn only_a_chunk_with_something_in_quarantine_is_opened_again_and_only_before_the_verdict() {
    let mut run = opened(2);
    assert!(matches!(run.refuses(reopen(0)), Rejection::NotNow(_)), "it has not ended");
    run.does(accept(&[end(0, 3, ChunkEnd::Quarantined, 1), end(1, 3, ChunkEnd::Completed, 1)]));
    assert!(matches!(run.refuses(reopen(1)), Rejection::NotNow(_)), "nothing waits there");
    assert_eq!(run.does(reopen(0)).len(), 1);
    assert_eq!(run.does(reopen(0)), vec![]);
    assert!(matches!(run.refuses(judge()), Rejection::NotNow(_)), "it is worked on again");
    assert_eq!(run.does(accept(&[end(0, 3, ChunkEnd::Quarantined, 1)])), vec![], "its old end is no news");
    run.does(accept(&[end(0, 7, ChunkEnd::Completed, 2)]));
    run.does(judge());
    assert!(matches!(run.refuses(reopen(0)), Rejection::Over(..)));
}

#[test]
fn cancelling_is_for_good_and_told_again_is_nothing() {
    for prepare in [vec![], vec![RunCommand::Pause(by())], vec![halt()]] {
        let mut run = opened(1);
        prepare.into_iter().for_each(|command| drop(run.does(command)));
        assert_eq!(run.does(RunCommand::Cancel(by())).len(), 1);
        assert_eq!(run.does(RunCommand::Cancel(by())), vec![]);
        assert_eq!(run.does(accept(&[end(0, 3, ChunkEnd::Completed, 2)])), vec![]);
        for refused in [judge(), RunCommand::Resume(by()), RunCommand::Pause(by()), reopen(0), RunCommand::Start] {
            assert!(matches!(run.refuses(refused), Rejection::NotNow(_)));
        }
    }
    let mut run = opened(0);
    run.does(judge());
    assert!(matches!(run.refuses(RunCommand::Cancel(by())), Rejection::NotNow(_)));
}

#[test]
fn a_pause_holds_until_it_is_taken_back() {
    let mut run = opened(1);
    assert_eq!(run.does(RunCommand::Resume(by())), vec![]);
    assert_eq!(run.does(RunCommand::Pause(by())).len(), 1);
    assert_eq!(run.does(RunCommand::Pause(by())), vec![]);
    assert_eq!(run.does(RunCommand::Resume(by())).len(), 1);
    assert_eq!(run.state.phase, RunPhase::Running);
}

#[test]
fn a_run_without_cases_is_inconclusive() {
    let mut run = opened(0);
    run.does(judge());
    assert_eq!(judged(&run), Verdict::Inconclusive);
}

proptest! {
    #[test]
    fn any_commands_in_any_order_replay_to_the_same_state(
        picks in proptest::collection::vec((0usize..11, 0u32..3, 1u64..6, 0u32..3), 0..60),
    ) {
        let mut run = Scene::<Run>::default();
        for (pick, chunk, version, passes) in picks {
            let how = if passes == 0 { ChunkEnd::Quarantined } else { ChunkEnd::Completed };
            let command = match pick {
                0 => RunCommand::Plan(Box::new(plan(2))),
                1 => seed(),
                2 => RunCommand::Open,
                3 => RunCommand::Start,
                4 | 5 => accept(&[end(chunk, version, how, passes)]),
                6 => reopen(chunk),
                7 => RunCommand::Pause(by()),
                8 => RunCommand::Resume(by()),
                9 if version == 5 => RunCommand::Cancel(by()),
                9 => halt(),
                _ => judge(),
            };
            let before = run.state.clone();
            if run.ask(&command).is_err() {
                prop_assert_eq!(&before, &run.state);
            }
            if before.phase.is_over() && before.phase != RunPhase::Judged {
                prop_assert_eq!(before.phase, run.state.phase, "what is over stays over");
            }
        }
        prop_assert_eq!(&run.replayed(), &run.state);
        let verdicts = run.past.iter().filter(|(event, _)| matches!(event, RunEvent::Judged(_))).count();
        prop_assert!(verdicts <= 1);
    }

    #[test]
    fn the_order_of_chunks_never_changes_the_verdict(order in Just(vec![0u32, 1, 2, 3]).prop_shuffle(), passes in proptest::collection::vec(0u32..3, 4)) {
        let told = |order: &[u32]| {
            let mut run = opened(4);
            for chunk in order {
                run.does(accept(&[end(*chunk, 3, ChunkEnd::Completed, passes[*chunk as usize])]));
            }
            run.does(judge());
            run.state.judged.expect("it is judged")
        };
        prop_assert_eq!(told(&order), told(&[0, 1, 2, 3]));
    }
}
