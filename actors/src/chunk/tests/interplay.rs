//! Any commands in any order, by two workers of whom one is always stale.

use super::*;
use crate::decider::{Decider, Step};
use crate::testing::{failed, run_id};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::ids::{ChunkId, StreamId};
use tribunal_schema::units::Version;

const CASES: u32 = 4;
const ATTEMPTS_MAX: u32 = 2;

#[derive(Clone, Debug)]
enum Deed {
    Lease,
    Allocate(u8),
    Settle { attempt: u8, passes: bool },
    Fail { attempt: u8, class: FailureClass },
    Release(u16),
    Expire(u16),
    FailProcessing(u16),
    ReleaseQuarantined,
    Cancel(u16),
    Wait(u16),
}

/// Who asks: somebody with the current term, or with an older one.
fn deeds() -> impl Strategy<Value = Vec<(Deed, bool)>> {
    let class = prop_oneof![
        Just(FailureClass::Timeout),
        Just(FailureClass::ServerError),
        Just(FailureClass::Connect),
        Just(FailureClass::Parse)
    ];
    let deed = prop_oneof![
        6 => Just(Deed::Lease),
        6 => (1u8..5).prop_map(Deed::Allocate),
        8 => (any::<u8>(), any::<bool>()).prop_map(|(attempt, passes)| Deed::Settle { attempt, passes }),
        6 => (any::<u8>(), class).prop_map(|(attempt, class)| Deed::Fail { attempt, class }),
        3 => any::<u16>().prop_map(Deed::Release),
        3 => any::<u16>().prop_map(Deed::Expire),
        1 => any::<u16>().prop_map(Deed::FailProcessing),
        2 => Just(Deed::ReleaseQuarantined),
        1 => any::<u16>().prop_map(Deed::Cancel),
        3 => any::<u16>().prop_map(Deed::Wait),
    ];
    proptest::collection::vec((deed, prop::bool::weighted(0.2)), 1..80)
}

/// What a test knows beside the chunk: which attempts exist, and the fate each one has for good.
struct Play {
    court: Court,
    next: u64,
}

impl Play {
    fn fates(&self, dice: u16) -> BTreeMap<AttemptId, Fate> {
        let fate = |index: usize| match (dice >> (index % 8 * 2)) & 3 {
            0 => Fate::NeverStarted,
            1 => Fate::Recorded,
            _ => Fate::Started,
        };
        let open = self.court.chunk.state.open_attempts();
        open.iter().enumerate().map(|(index, one)| (one.attempt, fate(index))).collect()
    }

    /// One of the attempts that were ever given out, with its execution.
    fn some(&self, dice: u8) -> Option<(ExecutionKey, AttemptId)> {
        let given: Vec<_> = self
            .court
            .chunk
            .past
            .iter()
            .filter_map(|(event, _)| match event {
                ChunkEvent::AttemptsAllocated(event) => Some(event.attempts.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        let picked = given.get(usize::from(dice) % given.len().max(1))?;
        Some((picked.execution, picked.attempt))
    }

    fn command(&mut self, deed: &Deed, stale: bool) -> Option<ChunkCommand> {
        let court = &self.court;
        let mut command = match deed {
            Deed::Lease => {
                let back = u64::from(stale);
                court.lease_command(ReadySeq(court.chunk.state.ready_seq.0.saturating_sub(back)))
            }
            Deed::Allocate(count) => {
                let from = self.next;
                self.next += u64::from(*count);
                court.allocate_command(from..self.next)
            }
            Deed::Settle { attempt, passes } => {
                let (execution, attempt) = self.some(*attempt)?;
                let mut command = court.settle_command(&[(execution.case, 0, *passes)]);
                if let ChunkCommand::Settle { settled, .. } = &mut command {
                    settled[0].result.attempt = Some(attempt);
                }
                command
            }
            Deed::Fail { attempt, class } => {
                let (execution, attempt) = self.some(*attempt)?;
                court.failure_command(vec![super::super::FailedAttempt { attempt, ..failed(execution, 0, *class) }])
            }
            Deed::Release(dice) => court.release_command(self.fates(*dice)),
            Deed::Expire(dice) => court.expire_command(self.fates(*dice)),
            Deed::FailProcessing(dice) => court.fail_command(self.fates(*dice)),
            Deed::Cancel(dice) => court.cancel_command(self.fates(*dice)),
            Deed::ReleaseQuarantined => {
                let waits = |(key, one): (&ExecutionKey, &super::super::Execution)| {
                    matches!(one.stage, Stage::Quarantined { .. }).then_some(*key)
                };
                let executions = court.chunk.state.executions.iter().filter_map(waits).collect();
                ChunkCommand::ReleaseQuarantined { executions }
            }
            Deed::Wait(ms) => {
                self.court.wait(i64::from(*ms));
                return None;
            }
        };
        if stale {
            match &mut command {
                ChunkCommand::Allocate { term, .. }
                | ChunkCommand::Settle { term, .. }
                | ChunkCommand::RecordFailures { term, .. }
                | ChunkCommand::Release { term, .. }
                | ChunkCommand::Expire { term, .. }
                | ChunkCommand::FailProcessing { term, .. } => term.0 = term.0.saturating_sub(1),
                ChunkCommand::Seed { .. }
                | ChunkCommand::Dispatch { .. }
                | ChunkCommand::Lease { .. }
                | ChunkCommand::Cancel { .. }
                | ChunkCommand::ReleaseQuarantined { .. } => {}
            }
        }
        Some(command)
    }
}

/// What must hold after every step.
fn check(court: &Court) {
    let state = &court.chunk.state;
    assert_eq!(&court.chunk.replayed(), state, "a replay gives the same state");
    let pending = |stage: &Stage| matches!(stage, Stage::Pending { .. } | Stage::Open(_));
    let unsettled = state.executions.values().filter(|one| pending(&one.stage)).count() as u64;
    assert_eq!((state.unsettled, state.executions.len()), (unsettled, CASES as usize));
    let open: BTreeSet<_> = state.open_attempts().iter().map(|one| one.attempt).collect();
    assert_eq!(open, state.open.keys().copied().collect(), "an open attempt is one execution's");
    let settled = state.results().len() as u64;
    let tally = state.tally(&court.profile, &BTreeSet::new());
    assert!(tally.target_calls >= settled, "{} calls for {settled} results", tally.target_calls);
    assert!(tally.calls_maybe_repeated <= tally.target_calls);
    assert_eq!(tally.counts.executions, u64::from(CASES));
    assert_eq!(
        tally.counts.scored + tally.counts.errored + tally.counts.abstained + tally.counts.missing,
        u64::from(CASES)
    );
    assert!(tally.counts.attempted <= tally.target_calls);
}

/// No execution is settled twice, and each end has the tally of the state before it.
fn check_history(court: &Court) {
    let mut settled = BTreeSet::new();
    let mut failures: BTreeMap<ExecutionKey, u32> = BTreeMap::new();
    for (event, _) in &court.chunk.past {
        match event {
            ChunkEvent::ExecutionsSettled(event) => {
                for one in &event.settled {
                    assert!(settled.insert(one.result.execution), "{} was settled twice", one.result.execution);
                }
            }
            ChunkEvent::ExecutionsDeferred(event) => {
                for one in &event.deferred {
                    let count = failures.entry(one.execution).or_default();
                    *count += 1;
                    assert!(*count < ATTEMPTS_MAX, "{} is tried beyond attempts.max", one.execution);
                }
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_decided_is_allowed_and_nothing_is_settled_twice(
        deeds in deeds(),
        side_effects in prop_oneof![Just(SideEffects::None), Just(SideEffects::Unsafe)],
    ) {
        let mut play = Play { court: Court::seeded(CASES, side_effects, ATTEMPTS_MAX), next: 0 };
        for (deed, stale) in &deeds {
            let Some(command) = play.command(deed, *stale) else { continue };
            let before = play.court.chunk.state.clone();
            let asked = play.court.chunk.ask(&command);
            let of_worker = !matches!(deed, Deed::Cancel(_) | Deed::ReleaseQuarantined | Deed::Lease);
            if *stale && of_worker && before.term > LeaseTerm(0) {
                prop_assert!(asked.is_err(), "a stale worker was heard: {command:?}");
            }
            if asked.is_err() {
                prop_assert_eq!(&before, &play.court.chunk.state);
            }
            // Told again at once, results change nothing.
            if asked.is_ok_and(|events| !events.is_empty())
                && matches!(command, ChunkCommand::Settle { .. } | ChunkCommand::RecordFailures { .. })
            {
                let after = play.court.chunk.state.clone();
                if let Ok(again) = play.court.chunk.ask(&command) {
                    prop_assert_eq!(again, vec![]);
                }
                prop_assert_eq!(&after, &play.court.chunk.state);
            }
            check(&play.court);
        }
        check_history(&play.court);
    }

    #[test]
    fn a_chunk_that_is_left_alone_by_failures_ends_with_every_result(passes in proptest::collection::vec(any::<bool>(), 4)) {
        let mut court = Court::open(CASES, SideEffects::None, 1);
        for (number, passes) in (0u32..).zip(&passes) {
            court.chunk.does(court.settle_command(&[(number, u64::from(number), *passes)]));
        }
        let Some((ChunkEvent::Completed(end), _)) = court.chunk.past.last() else { panic!("it did not end") };
        prop_assert_eq!(end.tally.counts.passed as usize, passes.iter().filter(|passes| **passes).count());
    }
}

#[test]
fn rows_and_views_follow_from_every_event_without_a_panic() {
    let mut court = Court::open(2, SideEffects::Unsafe, 1);
    court.chunk.does(court.settle_command(&[(0, 0, true)]));
    court.chunk.does(court.expire_command(fates(&[(1, Fate::Started)])));
    let stream = StreamId::Chunk(ChunkId { run: run_id(), number: 0 });
    let mut before = super::super::ChunkState::default();
    let (mut rows, mut views) = (0, 0);
    for (version, (event, at)) in (1u64..).zip(&court.chunk.past) {
        let after = Chunk::evolve(before.clone(), event, *at).expect("it happened");
        let step = Step { stream: &stream, version: Version(version), before: &before, event, after: &after };
        rows += Chunk::rows(&step).len();
        views += Chunk::views(&step).len();
        before = after;
    }
    // Seeded: blob and offer. Leased: offer taken, lease. Expired: lease. Quarantined: no offer, word to the run.
    assert_eq!(rows, 2 + 2 + 1 + 2);
    // Seeded, leased, settled, lost and recovered, quarantined.
    assert_eq!(views, 1 + 1 + 1 + 2 + 1);
}
