//! The chunk's decisions: what each command causes, and where it is refused.

mod attempts;
mod ends;
mod interplay;
mod leases;

use super::{Chunk, ChunkCommand, ChunkPhase, Fate, Stage};
use crate::testing::{DAY, GRANT, HOLDER, Scene, attempt_id, planned, profile, seeded};
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_schema::events::{AllocatedAttempt, ChunkEvent, ReleaseReason};
use tribunal_schema::ids::{AttemptId, ExecutionKey};
use tribunal_schema::profile::{Profile, SideEffects};
use tribunal_schema::units::{InstantMs, LeaseTerm, ReadySeq};

pub(super) const RECOVERY_LIMIT: u32 = 3;
pub(super) const FAILURE_BUDGET: u32 = 2;

/// A chunk of some cases that was just seeded, and its profile.
pub(super) struct Court {
    pub chunk: Scene<Chunk>,
    pub profile: Arc<Profile>,
}

pub(super) fn case(case: u32) -> ExecutionKey {
    ExecutionKey { case, repeat: 0 }
}

pub(super) const TERM_1: LeaseTerm = LeaseTerm(1);
pub(super) const TERM_2: LeaseTerm = LeaseTerm(2);

impl Court {
    pub fn seeded(cases: u32, side_effects: SideEffects, attempts_max: u32) -> Court {
        let profile = profile(side_effects, attempts_max, 1);
        let seeded = seeded(&planned(profile.clone(), 1, cases), 0);
        let mut court = Court { chunk: Scene::default(), profile: Arc::new(profile) };
        court.chunk.does(ChunkCommand::Seed { seeded: Arc::new(seeded), profile: court.profile.clone() });
        court
    }

    /// The same under its first lease.
    pub fn leased(cases: u32, side_effects: SideEffects, attempts_max: u32) -> Court {
        let mut court = Court::seeded(cases, side_effects, attempts_max);
        court.lease();
        court
    }

    /// The same with every execution under an attempt, numbered from 0.
    pub fn open(cases: u32, side_effects: SideEffects, attempts_max: u32) -> Court {
        let mut court = Court::leased(cases, side_effects, attempts_max);
        court.allocate(0..u64::from(cases));
        court
    }

    pub fn lease_command(&self, ready_seq: ReadySeq) -> ChunkCommand {
        ChunkCommand::Lease { ready_seq, grant: GRANT, holder: HOLDER, lease: DAY, hard_deadline: DAY }
    }

    pub fn lease(&mut self) {
        let command = self.lease_command(self.chunk.state.ready_seq);
        self.chunk.does(command);
    }

    pub fn allocate_command(&self, ids: impl IntoIterator<Item = u64>) -> ChunkCommand {
        let ids = ids.into_iter().map(attempt_id).collect();
        ChunkCommand::Allocate { term: self.chunk.state.term, ids, now: self.chunk.now }
    }

    pub fn allocate(&mut self, ids: impl IntoIterator<Item = u64>) -> Vec<AllocatedAttempt> {
        let command = self.allocate_command(ids);
        match self.chunk.does(command).as_slice() {
            [] => vec![],
            [ChunkEvent::AttemptsAllocated(event)] => event.attempts.clone(),
            other => panic!("an allocation gave {other:?}"),
        }
    }

    pub fn release_command(&self, fates: BTreeMap<AttemptId, Fate>) -> ChunkCommand {
        let (term, profile, now) = (self.chunk.state.term, self.profile.clone(), self.chunk.now);
        ChunkCommand::Release { term, reason: ReleaseReason::Slice, fates, profile, now }
    }

    pub fn expire_command(&self, fates: BTreeMap<AttemptId, Fate>) -> ChunkCommand {
        let (term, profile) = (self.chunk.state.term, self.profile.clone());
        ChunkCommand::Expire { term, fates, profile, recovery_limit: RECOVERY_LIMIT }
    }

    pub fn fail_command(&self, fates: BTreeMap<AttemptId, Fate>) -> ChunkCommand {
        let (term, profile) = (self.chunk.state.term, self.profile.clone());
        let message = "the page is torn".into();
        ChunkCommand::FailProcessing { term, fates, message, failure_budget: FAILURE_BUDGET, profile }
    }

    pub fn cancel_command(&self, fates: BTreeMap<AttemptId, Fate>) -> ChunkCommand {
        ChunkCommand::Cancel { cause: crate::testing::by(), fates, profile: self.profile.clone() }
    }

    pub fn settle_command(&self, settled: &[(u32, u64, bool)]) -> ChunkCommand {
        let one = |(number, attempt, passes): &(u32, u64, bool)| {
            crate::testing::settled(&self.profile, case(*number), *attempt, *passes)
        };
        let settled = settled.iter().map(one).collect();
        ChunkCommand::Settle { term: self.chunk.state.term, settled, profile: self.profile.clone() }
    }

    pub fn failure_command(&self, failures: Vec<super::FailedAttempt>) -> ChunkCommand {
        ChunkCommand::RecordFailures { term: self.chunk.state.term, failures, profile: self.profile.clone() }
    }

    pub fn stage(&self, number: u32) -> &Stage {
        &self.chunk.state.executions[&case(number)].stage
    }

    pub fn phase(&self) -> ChunkPhase {
        self.chunk.state.phase
    }

    pub fn wait(&mut self, ms: i64) {
        self.chunk.now = InstantMs(self.chunk.now.0 + ms);
    }
}

/// Fates of attempts by number.
pub(super) fn fates(of: &[(u64, Fate)]) -> BTreeMap<AttemptId, Fate> {
    of.iter().map(|(attempt, fate)| (attempt_id(*attempt), *fate)).collect()
}

/// The types of events, without the category.
pub(super) fn types(events: &[ChunkEvent]) -> Vec<&'static str> {
    use tribunal_schema::events::DomainEvent;
    events.iter().map(|event| event.event_type().trim_start_matches("chunk.")).collect()
}
