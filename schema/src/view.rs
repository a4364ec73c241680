//! Views: rows that people read. They are written in the append's transaction,
//! follow from the events alone, can be rebuilt, and no decision reads them.
//!
//! The projections that make a [`ViewChange`] of an event are in
//! `tribunal-actors`, module `projection`. Applying the same changes in memory
//! ([`ViewFold`]) must give the rows that the database holds.

use crate::answer::FailureClass;
use crate::digest::Digest;
use crate::evaluation::{Finding, Outcome};
use crate::ids::{AttemptId, ChunkId, ExecutionKey, RunId};
use crate::score::{ExecutionOutcome, Verdict};
use crate::units::{InstantMs, LeaseTerm, ScorePpm};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Planned, not yet open.
    Creating,
    /// Open.
    Running,
    /// Paused.
    Paused,
    /// Asks no more; what is open is being cancelled.
    Halted,
    /// Over, with a verdict.
    Completed,
    /// Cancelled by a person.
    Cancelled,
    /// Could not be carried out.
    Failed,
    /// Over, its blobs and views given to retention.
    Retired,
}

/// Where a chunk stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkStatus {
    /// Claimable now or later.
    Ready,
    /// Held by a worker.
    Leased,
    /// Over: every execution settled.
    Completed,
    /// Over but for executions in quarantine.
    Quarantined,
    /// Over: could not be processed.
    Failed,
    /// Over with its run.
    Cancelled,
}

/// Where something in quarantine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuarantineStatus {
    /// Waits for a person.
    Waiting,
    /// A person released it.
    Released,
    /// A person gave it up.
    Discarded,
}

macro_rules! kebab_names {
    ($($name:ident { $($variant:ident = $text:literal),+ $(,)? })+) => {$(
        impl $name {
            /// The word as it is written in a view's column.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// The value of a word; `None` for any other.
            pub fn named(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)+ _ => None }
            }
        }
    )+};
}

kebab_names! {
    RunStatus { Creating = "creating", Running = "running", Paused = "paused", Halted = "halted", Completed = "completed", Cancelled = "cancelled", Failed = "failed", Retired = "retired" }
    ChunkStatus { Ready = "ready", Leased = "leased", Completed = "completed", Quarantined = "quarantined", Failed = "failed", Cancelled = "cancelled" }
    QuarantineStatus { Waiting = "waiting", Released = "released", Discarded = "discarded" }
}

/// A row of `runs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// Its team.
    pub team: String,
    /// The profile's name.
    pub profile: String,
    /// The profile's version.
    pub profile_version: String,
    /// The dataset's name.
    pub dataset: String,
    /// The plan's digest: equal for the same profile on the same cases.
    pub plan_digest: Digest,
    /// Cases.
    pub cases: u64,
    /// Cases times repeats.
    pub executions: u64,
    /// Where it stands.
    pub status: RunStatus,
    /// Why it is paused, halted, cancelled or failed.
    pub reason: Option<String>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// The mean score of the scored executions.
    pub score_ppm: Option<ScorePpm>,
    /// When it was planned.
    pub created_at: InstantMs,
    /// When it ended.
    pub ended_at: Option<InstantMs>,
}

/// A row of `chunks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRow {
    /// The chunk.
    pub chunk: ChunkId,
    /// Where it stands.
    pub status: ChunkStatus,
    /// The last term granted.
    pub term: LeaseTerm,
    /// How often it was recovered from a lost lease.
    pub recoveries: u32,
    /// Executions.
    pub executions: u64,
    /// Passed so far.
    pub passed: u64,
    /// Failed so far.
    pub failed: u64,
    /// Errored so far.
    pub errored: u64,
    /// Abstained so far.
    pub abstained: u64,
}

/// A row of `executions`: one that has its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRow {
    /// The run.
    pub run: RunId,
    /// Case and repeat.
    pub execution: ExecutionKey,
    /// The attempt that settled it.
    pub attempt: Option<AttemptId>,
    /// How it ended.
    pub outcome: ExecutionOutcome,
    /// Its score.
    pub score_ppm: Option<ScorePpm>,
    /// Why the target gave no answer.
    pub failure: Option<FailureClass>,
}

/// A row of `outcomes`: what a binding said of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeRow {
    /// The run.
    pub run: RunId,
    /// The attempt.
    pub attempt: AttemptId,
    /// The binding.
    pub binding: String,
    /// Its outcome.
    pub outcome: Outcome,
}

/// A row of `findings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRow {
    /// The run.
    pub run: RunId,
    /// The attempt.
    pub attempt: AttemptId,
    /// The binding.
    pub binding: String,
    /// The finding's place among the binding's, from 0.
    pub index: u32,
    /// What was found.
    pub finding: Finding,
}

/// A row of `quarantine`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineRow {
    /// The run.
    pub run: RunId,
    /// The chunk.
    pub chunk: ChunkId,
    /// Case and repeat.
    pub execution: ExecutionKey,
    /// The attempt whose end nobody knows.
    pub attempt: AttemptId,
    /// Why it is here.
    pub reason: String,
    /// Where it stands.
    pub status: QuarantineStatus,
    /// Since when.
    pub since: InstantMs,
}

/// One change of a view. Instants are not in it: the journal takes the one
/// instant of the append (`recorded_at` of its events).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewChange {
    /// Inserts into `runs`, status creating, `created_at` = now.
    RunPlanned {
        /// The run.
        run: RunId,
        /// Its team.
        team: String,
        /// The profile's name.
        profile: String,
        /// The profile's version.
        profile_version: String,
        /// The dataset's name.
        dataset: String,
        /// The plan's digest.
        plan_digest: Digest,
        /// Cases.
        cases: u64,
        /// Executions.
        executions: u64,
    },
    /// Sets status and reason of a run.
    RunStatus {
        /// The run.
        run: RunId,
        /// The new status.
        status: RunStatus,
        /// Why, where there is a reason to tell; replaces the last one also when absent.
        reason: Option<String>,
        /// Whether `ended_at` = now.
        ended: bool,
    },
    /// Sets verdict and score of a run.
    RunJudged {
        /// The run.
        run: RunId,
        /// The verdict.
        verdict: Verdict,
        /// The mean score.
        score_ppm: Option<ScorePpm>,
    },
    /// Inserts into `chunks`, status ready, all counts 0.
    ChunkSeeded {
        /// The chunk.
        chunk: ChunkId,
        /// Its executions.
        executions: u64,
    },
    /// Sets the status of a chunk, and its term where one was granted.
    ChunkStatus {
        /// The chunk.
        chunk: ChunkId,
        /// The new status.
        status: ChunkStatus,
        /// The granted term.
        term: Option<LeaseTerm>,
    },
    /// Adds one recovery to a chunk.
    ChunkRecovered {
        /// The chunk.
        chunk: ChunkId,
    },
    /// Inserts into `executions` (replacing an earlier result of the same execution) and adds
    /// one to the chunk's count of the outcome.
    ExecutionSettled {
        /// The chunk.
        chunk: ChunkId,
        /// The row.
        row: ExecutionRow,
    },
    /// Inserts into `outcomes`.
    Outcome(OutcomeRow),
    /// Inserts into `findings`; the same (run, attempt, binding, index) twice refuses the unit.
    Finding(FindingRow),
    /// Inserts into `quarantine`, status waiting, `since` = now.
    Quarantined {
        /// The run.
        run: RunId,
        /// The chunk.
        chunk: ChunkId,
        /// Case and repeat.
        execution: ExecutionKey,
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        reason: String,
    },
    /// Sets the status of everything waiting in quarantine for an execution.
    QuarantineStatus {
        /// The run.
        run: RunId,
        /// Case and repeat.
        execution: ExecutionKey,
        /// The new status.
        status: QuarantineStatus,
    },
}

/// The views of some runs in memory: what `replay verify` compares the database with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewFold {
    /// `runs`
    pub runs: BTreeMap<RunId, RunRow>,
    /// `chunks`
    pub chunks: BTreeMap<ChunkId, ChunkRow>,
    /// `executions`
    pub executions: BTreeMap<(RunId, ExecutionKey), ExecutionRow>,
    /// `outcomes`
    pub outcomes: BTreeMap<(AttemptId, String), OutcomeRow>,
    /// `findings`
    pub findings: BTreeMap<(AttemptId, String, u32), FindingRow>,
    /// `quarantine`
    pub quarantine: BTreeMap<(RunId, ExecutionKey, AttemptId), QuarantineRow>,
}

impl ViewFold {
    /// Applies one change at an instant. A change of a row that does not exist changes nothing.
    pub fn apply(&mut self, change: &ViewChange, at: InstantMs) {
        match change {
            ViewChange::RunPlanned { run, team, profile, profile_version, dataset, plan_digest, cases, executions } => {
                let row = RunRow {
                    run: *run,
                    team: team.clone(),
                    profile: profile.clone(),
                    profile_version: profile_version.clone(),
                    dataset: dataset.clone(),
                    plan_digest: *plan_digest,
                    cases: *cases,
                    executions: *executions,
                    status: RunStatus::Creating,
                    reason: None,
                    verdict: None,
                    score_ppm: None,
                    created_at: at,
                    ended_at: None,
                };
                self.runs.insert(*run, row);
            }
            ViewChange::RunStatus { run, status, reason, ended } => {
                if let Some(row) = self.runs.get_mut(run) {
                    row.status = *status;
                    row.reason.clone_from(reason);
                    if *ended {
                        row.ended_at = Some(at);
                    }
                }
            }
            ViewChange::RunJudged { run, verdict, score_ppm } => {
                if let Some(row) = self.runs.get_mut(run) {
                    row.verdict = Some(*verdict);
                    row.score_ppm = *score_ppm;
                }
            }
            ViewChange::ChunkSeeded { chunk, executions } => {
                let row = ChunkRow {
                    chunk: *chunk,
                    status: ChunkStatus::Ready,
                    term: LeaseTerm(0),
                    recoveries: 0,
                    executions: *executions,
                    passed: 0,
                    failed: 0,
                    errored: 0,
                    abstained: 0,
                };
                self.chunks.insert(*chunk, row);
            }
            ViewChange::ChunkStatus { chunk, status, term } => {
                if let Some(row) = self.chunks.get_mut(chunk) {
                    row.status = *status;
                    row.term = term.unwrap_or(row.term);
                }
            }
            ViewChange::ChunkRecovered { chunk } => {
                if let Some(row) = self.chunks.get_mut(chunk) {
                    row.recoveries += 1;
                }
            }
            ViewChange::ExecutionSettled { chunk, row } => {
                if let Some(counts) = self.chunks.get_mut(chunk) {
                    match row.outcome {
                        ExecutionOutcome::Passed => counts.passed += 1,
                        ExecutionOutcome::Failed => counts.failed += 1,
                        ExecutionOutcome::Errored => counts.errored += 1,
                        ExecutionOutcome::Abstained => counts.abstained += 1,
                    }
                }
                self.executions.insert((row.run, row.execution), row.clone());
            }
            ViewChange::Outcome(row) => {
                self.outcomes.insert((row.attempt, row.binding.clone()), row.clone());
            }
            ViewChange::Finding(row) => {
                self.findings.insert((row.attempt, row.binding.clone(), row.index), row.clone());
            }
            ViewChange::Quarantined { run, chunk, execution, attempt, reason } => {
                let row = QuarantineRow {
                    run: *run,
                    chunk: *chunk,
                    execution: *execution,
                    attempt: *attempt,
                    reason: reason.clone(),
                    status: QuarantineStatus::Waiting,
                    since: at,
                };
                self.quarantine.insert((*run, *execution, *attempt), row);
            }
            ViewChange::QuarantineStatus { run, execution, status } => {
                for row in self.quarantine.values_mut() {
                    if row.run == *run && row.execution == *execution && row.status == QuarantineStatus::Waiting {
                        row.status = *status;
                    }
                }
            }
        }
    }
}
