//! What the events of a chunk add up to.

use crate::decider::Illegal;
use crate::mutant::{self, Mutant};
use crate::verdict::{self, Calls, CaseFacts};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::{
    AllocatedAttempt, AttemptPin, ChunkEnd, ChunkEvent, ChunkSeeded, DeferredExecution, QuarantinedAttempt,
    SettledExecution, Unfinished,
};
use tribunal_schema::ids::{AttemptId, ExecutionKey};
use tribunal_schema::profile::Profile;
use tribunal_schema::score::{ExecutionOutcome, ExecutionResult, Judgment, Tally};
use tribunal_schema::units::{InstantMs, LeaseTerm, ReadySeq};

/// What the events of a chunk add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChunkState {
    /// What it is made of; `None` before the first event.
    pub seeded: Option<Arc<ChunkSeeded>>,
    /// Where it stands.
    pub phase: ChunkPhase,
    /// The last term granted.
    pub term: LeaseTerm,
    /// The number a claim must name.
    pub ready_seq: ReadySeq,
    /// Its executions; all of them, from the first event on.
    pub executions: BTreeMap<ExecutionKey, Execution>,
    /// Which execution an open attempt tries.
    pub open: BTreeMap<AttemptId, ExecutionKey>,
    /// How many executions are neither settled nor in quarantine.
    pub unsettled: u64,
    /// Recoveries since an execution was last settled.
    pub recoveries_without_progress: u32,
    /// Failures of workers, in all.
    pub processing_failures: u32,
    /// Attempts that were started and are known to be over.
    pub calls: u64,
    /// Started attempts whose end nobody recorded and whose execution may be tried again.
    pub calls_maybe_repeated: u64,
}

/// Where a chunk stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkPhase {
    /// It does not exist.
    #[default]
    New,
    /// It may be claimed.
    Ready,
    /// A worker holds it.
    Leased,
    /// Its term has ended, and the same unit says what comes next.
    Closed,
    /// It is over.
    Ended(ChunkEnd),
}

/// One execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Where it stands.
    pub stage: Stage,
    /// Attempts that were burnt: started, as far as anybody knows.
    pub attempts: u32,
    /// Answered or failed attempts; `attempts.max` bounds them.
    pub failures: u32,
    /// The number of its idempotency key.
    pub key: u32,
    /// The attempt whose failure last put it off: told again, it is known.
    pub deferred: Option<AttemptId>,
}

/// Where an execution stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// To be tried, not before an instant.
    Pending {
        /// Not before.
        due_at: InstantMs,
    },
    /// Its current attempt.
    Open(AllocatedAttempt),
    /// Its result.
    Settled(ExecutionResult, Option<AttemptPin>),
    /// Waits for a person.
    Quarantined {
        /// The attempt that brought it here.
        attempt: AttemptId,
        /// Whether nobody recorded how the call ended.
        lost: bool,
    },
}

impl ChunkState {
    /// The execution that an open attempt tries.
    pub fn execution_of(&self, attempt: AttemptId) -> Option<ExecutionKey> {
        self.open.get(&attempt).copied()
    }

    /// Open attempts, in order of their executions.
    pub fn open_attempts(&self) -> Vec<AllocatedAttempt> {
        let open = self.executions.values().filter_map(|execution| match &execution.stage {
            Stage::Open(attempt) => Some(*attempt),
            Stage::Pending { .. } | Stage::Settled(..) | Stage::Quarantined { .. } => None,
        });
        open.collect()
    }

    /// The earliest instant at which a pending execution may be tried.
    pub fn next_due(&self) -> Option<InstantMs> {
        let due = self.executions.values().filter_map(|execution| match &execution.stage {
            Stage::Pending { due_at } => Some(*due_at),
            Stage::Open(_) | Stage::Settled(..) | Stage::Quarantined { .. } => None,
        });
        due.min()
    }

    /// The results, with executions in quarantine as errored: nobody knows what the target did.
    pub fn results(&self) -> BTreeMap<ExecutionKey, ExecutionResult> {
        let result = |(key, execution): (&ExecutionKey, &Execution)| match &execution.stage {
            Stage::Settled(result, _) => Some((*key, result.clone())),
            Stage::Quarantined { attempt, .. } => Some((*key, lost_result(*key, *attempt))),
            Stage::Pending { .. } | Stage::Open(_) => None,
        };
        self.executions.iter().filter_map(result).collect()
    }

    /// What the chunk adds to its run, if it ended now; `called` are the open attempts that were started.
    pub fn tally(&self, profile: &Profile, called: &BTreeSet<AttemptId>) -> Tally {
        let Some(seeded) = &self.seeded else { return verdict::tally::empty(profile) };
        let facts: Vec<CaseFacts<'_>> = (seeded.first_case..)
            .zip(&seeded.cases)
            .map(|(case, one)| CaseFacts { case, group: one.group, tags: &one.tags })
            .collect();
        // An open attempt that was never started is no try; the ones before it were.
        let tried = |execution: &&Execution| match &execution.stage {
            Stage::Pending { .. } => execution.attempts > 0,
            Stage::Open(open) => execution.attempts > 1 || called.contains(&open.attempt),
            Stage::Settled(..) | Stage::Quarantined { .. } => false,
        };
        let calls = Calls {
            started: self.calls + called.len() as u64,
            maybe_repeated: self.calls_maybe_repeated,
            attempted_missing: self.executions.values().filter(tried).count() as u64,
        };
        verdict::tally(profile, &facts, &self.results(), calls)
    }

    /// The id of a case of this chunk.
    pub fn case_id(&self, case: u32) -> Option<&str> {
        let seeded = self.seeded.as_ref()?;
        let index = case.checked_sub(seeded.first_case)?;
        seeded.cases.get(index as usize).map(|case| case.id.as_str())
    }

    /// The group of a case of this chunk.
    pub fn group(&self, case: u32) -> Option<u16> {
        let seeded = self.seeded.as_ref()?;
        let index = case.checked_sub(seeded.first_case)?;
        seeded.cases.get(index as usize).map(|case| case.group)
    }

    /// The state after an event that was recorded at an instant.
    pub(super) fn after(mut self, event: &ChunkEvent, at: InstantMs) -> Result<ChunkState, Illegal> {
        let illegal = |reason: String| Err(Illegal::new(event, reason));
        let phase = self.phase;
        let wrong_phase = || illegal(format!("the chunk is {phase:?}"));
        match event {
            ChunkEvent::Seeded(seeded) => {
                if phase != ChunkPhase::New {
                    return wrong_phase();
                }
                self.seed(seeded).map_err(|reason| Illegal::new(event, reason))?;
            }
            ChunkEvent::Dispatched(dispatched) => {
                if phase != ChunkPhase::Ready || dispatched.ready_seq != self.ready_seq {
                    return illegal(format!("ready number {} at {phase:?}", self.ready_seq.0));
                }
            }
            ChunkEvent::Leased(leased) => {
                if phase != ChunkPhase::Ready || leased.term.0 != self.term.0 + 1 {
                    return illegal(format!("term {} after {} at {phase:?}", leased.term, self.term));
                }
                self.phase = ChunkPhase::Leased;
                self.term = leased.term;
            }
            ChunkEvent::AttemptsAllocated(allocated) => {
                self.under(event, allocated.term)?;
                for attempt in &allocated.attempts {
                    self.allocate(attempt).map_err(|reason| Illegal::new(event, reason))?;
                }
            }
            ChunkEvent::ExecutionsSettled(settled) => {
                self.under(event, settled.term)?;
                for one in &settled.settled {
                    self.settle(one).map_err(|reason| Illegal::new(event, reason))?;
                }
            }
            ChunkEvent::ExecutionsDeferred(deferred) => {
                self.under(event, deferred.term)?;
                for one in &deferred.deferred {
                    self.defer(one, at).map_err(|reason| Illegal::new(event, reason))?;
                }
            }
            ChunkEvent::ExecutionsQuarantined(quarantined) => {
                self.under(event, quarantined.term)?;
                for one in &quarantined.attempts {
                    self.record_unsafe(one).map_err(|reason| Illegal::new(event, reason))?;
                }
            }
            ChunkEvent::Released(released) => {
                self.under(event, released.term)?;
                self.close(&released.unfinished).map_err(|reason| Illegal::new(event, reason))?;
                self.offer(released.ready_seq).map_err(|reason| Illegal::new(event, reason))?;
            }
            ChunkEvent::LeaseExpired(expired) => {
                self.under(event, expired.term)?;
                self.close(&expired.unfinished).map_err(|reason| Illegal::new(event, reason))?;
                if expired.recoveries_without_progress != self.recoveries_without_progress + 1 {
                    return illegal(format!(
                        "recovery {} without progress after {}",
                        expired.recoveries_without_progress, self.recoveries_without_progress
                    ));
                }
                self.recoveries_without_progress = expired.recoveries_without_progress;
            }
            ChunkEvent::ProcessingFailed(failed) => {
                self.under(event, failed.term)?;
                self.close(&failed.unfinished).map_err(|reason| Illegal::new(event, reason))?;
                if failed.count != self.processing_failures + 1 {
                    return illegal(format!("processing failure {} after {}", failed.count, self.processing_failures));
                }
                self.processing_failures = failed.count;
            }
            ChunkEvent::Requeued(requeued) => {
                let reopened = phase == ChunkPhase::Ended(ChunkEnd::Quarantined) && !requeued.released.is_empty();
                let requeued_after_term = phase == ChunkPhase::Closed && requeued.released.is_empty();
                if !requeued_after_term && !reopened {
                    return wrong_phase();
                }
                for key in &requeued.released {
                    self.release(*key).map_err(|reason| Illegal::new(event, reason))?;
                }
                self.offer(requeued.ready_seq).map_err(|reason| Illegal::new(event, reason))?;
            }
            ChunkEvent::Completed(_) | ChunkEvent::Quarantined(_) => {
                let waiting = self.executions.values().any(|one| matches!(one.stage, Stage::Quarantined { .. }));
                let wanted = matches!(event, ChunkEvent::Quarantined(_));
                let open = matches!(phase, ChunkPhase::Ready | ChunkPhase::Leased | ChunkPhase::Closed);
                if !open || self.unsettled > 0 || waiting != wanted {
                    return illegal(format!("{} executions are unsettled at {phase:?}", self.unsettled));
                }
                self.phase = ChunkPhase::Ended(if wanted { ChunkEnd::Quarantined } else { ChunkEnd::Completed });
            }
            ChunkEvent::Failed(_) => {
                if phase != ChunkPhase::Closed {
                    return wrong_phase();
                }
                self.phase = ChunkPhase::Ended(ChunkEnd::Failed);
            }
            ChunkEvent::Cancelled(cancelled) => {
                if matches!(phase, ChunkPhase::New | ChunkPhase::Ended(_)) {
                    return wrong_phase();
                }
                let in_flight: BTreeSet<&AttemptId> = cancelled.in_flight.iter().collect();
                let all_open = in_flight.iter().all(|attempt| self.open.contains_key(attempt));
                if !all_open || in_flight.len() != cancelled.in_flight.len() {
                    return illegal("an attempt in flight is not open".into());
                }
                self.calls += cancelled.in_flight.len() as u64;
                for attempt in &cancelled.in_flight {
                    self.give_back(*attempt, false);
                }
                self.phase = ChunkPhase::Ended(ChunkEnd::Cancelled);
            }
        }
        Ok(self)
    }

    fn seed(&mut self, seeded: &ChunkSeeded) -> Result<(), String> {
        let fresh = Execution {
            stage: Stage::Pending { due_at: InstantMs(0) },
            attempts: 0,
            failures: 0,
            key: 0,
            deferred: None,
        };
        for (case, _) in (seeded.first_case..).zip(&seeded.cases) {
            for repeat in 0..seeded.repeats {
                self.executions.insert(ExecutionKey { case, repeat }, fresh.clone());
            }
        }
        self.unsettled = self.executions.len() as u64;
        for carried in &seeded.carried {
            let key = carried.result.execution;
            match self.executions.get_mut(&key) {
                Some(execution) if matches!(execution.stage, Stage::Pending { .. }) => {
                    execution.stage = Stage::Settled(carried.result.clone(), carried.pin);
                    self.unsettled -= 1;
                }
                Some(_) => return Err(format!("{key} is carried twice")),
                None => return Err(format!("{key} is carried and not of this chunk")),
            }
        }
        self.seeded = Some(Arc::new(seeded.clone()));
        self.phase = ChunkPhase::Ready;
        self.ready_seq = seeded.ready_seq;
        Ok(())
    }

    fn offer(&mut self, ready_seq: ReadySeq) -> Result<(), String> {
        if ready_seq.0 != self.ready_seq.0 + 1 {
            return Err(format!("ready number {} after {}", ready_seq.0, self.ready_seq.0));
        }
        self.phase = ChunkPhase::Ready;
        self.ready_seq = ready_seq;
        Ok(())
    }

    fn under(&self, event: &ChunkEvent, term: LeaseTerm) -> Result<(), Illegal> {
        if self.phase == ChunkPhase::Leased && self.term == term {
            return Ok(());
        }
        Err(Illegal::new(event, format!("term {term}, while the chunk is {:?} at term {}", self.phase, self.term)))
    }

    /// The execution, when the attempt is its current one.
    fn current(&mut self, key: ExecutionKey, attempt: AttemptId) -> Result<&mut Execution, String> {
        match self.executions.get_mut(&key) {
            Some(execution) if matches!(&execution.stage, Stage::Open(open) if open.attempt == attempt) => {
                Ok(execution)
            }
            // The decision and the fold both check it; a mutant is blind in both.
            Some(execution) if mutant::is_alive(Mutant::NoCurrentAttemptCheck) => Ok(execution),
            Some(execution)
                if mutant::is_alive(Mutant::SettledTwice) && matches!(execution.stage, Stage::Settled(..)) =>
            {
                Ok(execution)
            }
            Some(_) => Err(format!("attempt {attempt} is not the current one of {key}")),
            None => Err(format!("{key} is not of this chunk")),
        }
    }

    /// Whether the execution was due is the decision's business: instants are not
    /// digested, and a clock that was set back must not make a record illegal.
    fn allocate(&mut self, attempt: &AllocatedAttempt) -> Result<(), String> {
        let key = attempt.execution;
        if let Some(other) = self.open.get(&attempt.attempt) {
            return Err(format!("attempt {} is open for {other}", attempt.attempt));
        }
        let execution = self.executions.get_mut(&key).ok_or_else(|| format!("{key} is not of this chunk"))?;
        if !matches!(execution.stage, Stage::Pending { .. }) {
            return Err(format!("{key} is not pending"));
        }
        if attempt.number != execution.attempts + 1 || attempt.key != execution.key {
            return Err(format!("{key}: attempt {} with key {} is out of turn", attempt.number, attempt.key));
        }
        execution.attempts += 1;
        execution.stage = Stage::Open(*attempt);
        self.open.insert(attempt.attempt, key);
        Ok(())
    }

    fn settle(&mut self, one: &SettledExecution) -> Result<(), String> {
        let attempt = one.result.attempt.ok_or("a settled execution names its attempt")?;
        let execution = self.current(one.result.execution, attempt)?;
        execution.failures += 1;
        execution.stage = Stage::Settled(one.result.clone(), Some(one.pin));
        self.open.remove(&attempt);
        self.unsettled -= 1;
        self.calls += 1;
        self.recoveries_without_progress = 0;
        Ok(())
    }

    fn defer(&mut self, one: &DeferredExecution, at: InstantMs) -> Result<(), String> {
        let execution = self.current(one.execution, one.attempt)?;
        execution.failures += 1;
        execution.key += u32::from(one.response_received);
        execution.stage = Stage::Pending { due_at: InstantMs(at.0.saturating_add_unsigned(one.retry_after.0)) };
        execution.deferred = Some(one.attempt);
        self.open.remove(&one.attempt);
        self.calls += 1;
        Ok(())
    }

    /// A failed attempt of an unsafe target: its execution waits for a person.
    fn record_unsafe(&mut self, one: &QuarantinedAttempt) -> Result<(), String> {
        let execution = self.current(one.execution, one.attempt)?;
        execution.failures += 1;
        execution.key += u32::from(one.class.implies_response());
        self.calls += 1;
        self.quarantine(one.attempt, one.execution, false);
        Ok(())
    }

    fn quarantine(&mut self, attempt: AttemptId, key: ExecutionKey, lost: bool) {
        if let Some(execution) = self.executions.get_mut(&key) {
            execution.stage = Stage::Quarantined { attempt, lost };
            self.unsettled -= 1;
        }
        self.open.remove(&attempt);
    }

    /// Lets an execution out of quarantine; a lost call may now be made once more.
    fn release(&mut self, key: ExecutionKey) -> Result<(), String> {
        let execution = self.executions.get_mut(&key).ok_or_else(|| format!("{key} is not of this chunk"))?;
        let Stage::Quarantined { lost, .. } = execution.stage else {
            return Err(format!("{key} is not in quarantine"));
        };
        execution.stage = Stage::Pending { due_at: InstantMs(0) };
        self.unsettled += 1;
        self.calls_maybe_repeated += u64::from(lost);
        Ok(())
    }

    /// Ends the term: what was never started goes back unburnt, what may have been served counts.
    fn close(&mut self, unfinished: &Unfinished) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for attempt in unfinished.unburnt.iter().chain(&unfinished.expired).chain(&unfinished.lost) {
            if !seen.insert(*attempt) || !self.open.contains_key(attempt) {
                return Err(format!("attempt {attempt} is not open"));
            }
        }
        for attempt in &unfinished.unburnt {
            self.give_back(*attempt, true);
        }
        for attempt in &unfinished.expired {
            self.give_back(*attempt, false);
            self.calls += 1;
            self.calls_maybe_repeated += 1;
        }
        for attempt in &unfinished.lost {
            self.calls += 1;
            if let Some(key) = self.execution_of(*attempt) {
                self.quarantine(*attempt, key, true);
            }
        }
        self.phase = ChunkPhase::Closed;
        Ok(())
    }

    fn give_back(&mut self, attempt: AttemptId, unburnt: bool) {
        let execution = self.open.remove(&attempt).and_then(|key| self.executions.get_mut(&key));
        if let Some(execution) = execution {
            execution.attempts -= u32::from(unburnt);
            execution.stage = Stage::Pending { due_at: InstantMs(0) };
        }
    }
}

/// The result of an execution whose call was lost: errored, because nobody knows what the target did.
fn lost_result(execution: ExecutionKey, attempt: AttemptId) -> ExecutionResult {
    ExecutionResult {
        execution,
        attempt: Some(attempt),
        judgment: Judgment { outcome: ExecutionOutcome::Errored, score_ppm: None, dimensions: vec![] },
        failure: Some(FailureClass::Lost),
    }
}
