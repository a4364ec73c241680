//! The attempt's decisions: one way forward, and each result once.

use super::*;
use crate::decider::Rejection;
use crate::testing::{Scene, answered, attempt_id, failed, judged, profile, run_id};
use proptest::prelude::*;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::LateResult;
use tribunal_schema::ids::{ChunkId, ExecutionKey};
use tribunal_schema::profile::SideEffects;
use tribunal_schema::units::LeaseTerm;

const TERM: LeaseTerm = LeaseTerm(1);

fn start() -> AttemptCommand {
    AttemptCommand::Start(AttemptStarted {
        chunk: ChunkId { run: run_id(), number: 0 },
        execution: ExecutionKey { case: 0, repeat: 0 },
        number: 1,
        term: TERM,
        idempotency_key: "key".into(),
    })
}

fn answer() -> AttemptCommand {
    AttemptCommand::RecordAnswer(answered(TERM, b"yes"))
}

fn failure() -> AttemptCommand {
    AttemptCommand::RecordFailure(failed(ExecutionKey { case: 0, repeat: 0 }, 1, FailureClass::Timeout).recorded(TERM))
}

fn judgment() -> AttemptCommand {
    AttemptCommand::RecordJudgment(judged(&profile(SideEffects::None, 1, 1), TERM, true))
}

fn expire() -> AttemptCommand {
    AttemptCommand::Expire(AttemptExpired { term: TERM, lost: false })
}

fn cancel() -> AttemptCommand {
    AttemptCommand::Cancel(AttemptCancelled { reason: "because".into() })
}

fn late() -> AttemptCommand {
    AttemptCommand::RecordLate(AttemptLate {
        term: TERM,
        result: LateResult::Answered,
        refusal: "the lease is over".into(),
        answer: None,
    })
}

fn all() -> [AttemptCommand; 7] {
    [start(), answer(), failure(), judgment(), expire(), cancel(), late()]
}

/// The attempt after some commands.
fn after(commands: &[AttemptCommand]) -> Scene<Attempt> {
    let mut attempt = Scene::default();
    commands.iter().for_each(|command| drop(attempt.does(command.clone())));
    attempt
}

#[test]
fn each_phase_grants_what_follows_and_refuses_the_rest() {
    // Per phase, in the order of `all`: granted (1), known already (0), refused (-).
    for (past, wanted) in [
        (vec![], "1------"),
        (vec![start()], "-11-111"),
        (vec![start(), answer()], "-0-1--1"),
        (vec![start(), failure()], "--0---1"),
        (vec![start(), answer(), judgment()], "---0--1"),
        (vec![start(), expire()], "----0-1"),
        (vec![start(), cancel()], "-----01"),
    ] {
        let seen: String = all()
            .iter()
            .map(|command| match after(&past).ask(command) {
                Ok(events) if events.is_empty() => '0',
                Ok(_) => '1',
                Err(Rejection::NotNow(_)) => '-',
                Err(other) => panic!("{other}"),
            })
            .collect();
        assert_eq!(seen, wanted, "after {past:?}");
    }
}

#[test]
fn a_result_told_again_with_another_content_is_refused() {
    let other = AttemptCommand::RecordAnswer(answered(TERM, b"no"));
    assert!(matches!(after(&[start(), answer()]).refuses(other), Rejection::NotNow(_)));
    let other = AttemptCommand::RecordJudgment(judged(&profile(SideEffects::None, 1, 1), TERM, false));
    assert!(matches!(after(&[start(), answer(), judgment()]).refuses(other), Rejection::NotNow(_)));
}

#[test]
fn a_late_result_changes_nothing_else() {
    for past in [vec![start()], vec![start(), expire()], vec![start(), answer(), judgment()]] {
        let mut attempt = after(&past);
        let before = attempt.state.clone();
        assert_eq!(attempt.does(late()).len(), 1);
        assert_eq!(attempt.state, before);
    }
}

#[test]
fn only_a_judgment_is_shown_and_only_bodies_are_kept() {
    let attempt = after(&[start(), answer(), judgment()]);
    let (mut before, mut views, mut rows) = (AttemptState::default(), vec![], vec![]);
    let stream = StreamId::Attempt(attempt_id(1));
    for (version, (event, at)) in (1u64..).zip(&attempt.past) {
        let after = Attempt::evolve(before.clone(), event, *at).expect("it happened");
        let version = tribunal_schema::units::Version(version);
        let step = Step { stream: &stream, version, before: &before, event, after: &after };
        views.push(Attempt::views(&step).len());
        rows.push(Attempt::rows(&step).len());
        before = after;
    }
    assert_eq!((views, rows), (vec![0, 0, 1], vec![0, 1, 0]));
}

proptest! {
    #[test]
    fn any_commands_lead_to_one_end_that_a_replay_reaches_too(picks in proptest::collection::vec(0usize..7, 0..30)) {
        let mut attempt = Scene::<Attempt>::default();
        for pick in picks {
            let _ = attempt.ask(&all()[pick]);
        }
        prop_assert_eq!(&attempt.replayed(), &attempt.state);
        let count = |wanted: fn(&AttemptEvent) -> bool| attempt.past.iter().filter(|(event, _)| wanted(event)).count();
        prop_assert!(count(|event| matches!(event, AttemptEvent::Started(_))) <= 1);
        let ends = count(|event| {
            matches!(
                event,
                AttemptEvent::Failed(_) | AttemptEvent::Judged(_) | AttemptEvent::Expired(_) | AttemptEvent::Cancelled(_)
            )
        });
        prop_assert!(ends <= 1);
    }
}
