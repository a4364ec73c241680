//! A trial: one attempt, from the permit to the judgment.
//!
//! The permit is held from before `started` is appended until `answered` or
//! `failed` is durable, so that what may have touched the world and is not
//! recorded never exceeds the calls in flight.

use super::docket::{Docket, tokens_of};
use crate::aggregate::{CommandError, Done, Execute, Head};
use crate::attempt::{Attempt, AttemptCommand};
use crate::chunk::FailedAttempt;
use crate::ports::evaluator::{Examination, Examined};
use crate::ports::journal::{Guard, Row};
use crate::ports::target::{Answered, Ask, TargetFailure};
use crate::shell::Shell;
use crate::verdict::{judge, outcome_of};
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::answer::Answer;
use tribunal_schema::case::Case;
use tribunal_schema::events::{
    AllocatedAttempt, AttemptAnswered, AttemptFailed, AttemptJudged, AttemptLate, AttemptPin, AttemptStarted,
    BindingOutcome, HaltCause, LateResult, SettledExecution,
};
use tribunal_schema::ids::ChunkId;
use tribunal_schema::score::{ExecutionResult, Judgment};
use tribunal_schema::units::{DurationMs, LeaseTerm};

/// Blobs above this are kept before the unit that names them.
const BLOB_INLINE_MAX: usize = 1 << 20;

/// What a trial came to.
#[derive(Debug)]
pub(super) enum Finished {
    /// The execution has its result.
    Settled(SettledExecution),
    /// The attempt failed; the chunk decides what becomes of the execution.
    Failed(FailedAttempt),
    /// Nothing was started: the worker stops, or the budget is used up.
    NotStarted,
    /// The lease is gone, or the world failed: nothing more can be recorded under this term.
    Broken(CommandError),
}

/// One attempt and what it needs.
pub(super) struct Trial {
    pub(super) shell: Shell,
    pub(super) docket: Arc<Docket>,
    pub(super) chunk: ChunkId,
    pub(super) term: LeaseTerm,
    pub(super) guard: Guard,
    pub(super) attempt: AllocatedAttempt,
    pub(super) group: u16,
    pub(super) case: Arc<Case>,
}

impl Trial {
    /// Makes the attempt. `stop` is looked at once more when the permit is there.
    pub(super) async fn run(self, stop: tokio_util::sync::CancellationToken) -> Finished {
        let permit = tokio::select! {
            biased;
            () = stop.cancelled() => return Finished::NotStarted,
            permit = self.docket.target.permit() => permit,
        };
        let pass = tokio::select! {
            biased;
            () = stop.cancelled() => return Finished::NotStarted,
            () = self.docket.halted() => return Finished::NotStarted,
            pass = self.docket.pass() => pass,
        };
        if stop.is_cancelled() || self.docket.is_halting() {
            return Finished::NotStarted;
        }
        if let Err((cause, reason)) = self.docket.reserve_call() {
            self.docket.halt(&self.shell, cause, reason).await;
            return Finished::NotStarted;
        }
        if let Err(error) = self.start().await {
            return Finished::Broken(error);
        }
        let ask = Ask {
            run: self.docket.run,
            execution: self.attempt.execution,
            attempt: self.attempt.attempt,
            number: self.attempt.number,
            case: self.case.clone(),
            idempotency_key: self.idempotency_key(),
        };
        match self.docket.target.ask(&ask).await {
            Ok(answered) => {
                self.docket.answered(answered.answer.usage.map_or(0, tokens_of));
                drop(pass);
                let recorded = self.record_answer(&answered).await;
                drop(permit);
                match recorded {
                    Ok(()) => self.examine(Arc::new(answered.answer), answered.latency_ms).await,
                    Err(error) => Finished::Broken(error),
                }
            }
            Err(failure) => {
                let recorded = self.record_failure(&failure).await;
                drop(permit);
                if let Some(reason) = self.docket.failed(pass, &failure) {
                    self.docket.halt(&self.shell, HaltCause::TargetFailing, reason).await;
                }
                recorded
            }
        }
    }

    fn idempotency_key(&self) -> String {
        let AllocatedAttempt { execution, key, .. } = self.attempt;
        format!("{}-{}-{}-{key}", self.docket.run, execution.case, execution.repeat)
    }

    async fn ask(&self, command: AttemptCommand, rows: Vec<Row>) -> Result<Done<Attempt>, CommandError> {
        let origin = self.shell.origin(self.shell.fresh(), self.docket.run);
        let request = Execute::new(origin, command).guarded(self.guard).with_rows(rows);
        self.shell.directory.attempt(self.attempt.attempt).execute(request).await
    }

    async fn start(&self) -> Result<(), CommandError> {
        let started = AttemptStarted {
            chunk: self.chunk,
            execution: self.attempt.execution,
            number: self.attempt.number,
            term: self.term,
            idempotency_key: self.idempotency_key(),
        };
        self.ask(AttemptCommand::Start(started), vec![]).await.map(drop)
    }

    async fn record_answer(&self, answered: &Answered) -> Result<(), CommandError> {
        let bytes = serde_json::to_vec(&answered.answer)
            .map_err(|error| CommandError::Bug(format!("an answer has no JSON form: {error}")))?;
        let digest = Digest::of(&bytes);
        let event = AttemptAnswered {
            term: self.term,
            answer: digest,
            bytes: bytes.len() as u64,
            latency: DurationMs(answered.latency_ms),
            finish_reason: answered.answer.finish_reason.clone(),
            usage: answered.answer.usage,
        };
        let rows = self.blob_rows(digest, bytes).await?;
        match self.ask(AttemptCommand::RecordAnswer(event), rows).await {
            Ok(_) => Ok(()),
            Err(error) => {
                self.record_late(LateResult::Answered, Some(digest), &error).await;
                Err(error)
            }
        }
    }

    /// The row that keeps a blob; a large one is kept first, durably.
    async fn blob_rows(&self, digest: Digest, bytes: Vec<u8>) -> Result<Vec<Row>, CommandError> {
        let bytes: Arc<[u8]> = bytes.into();
        if bytes.len() <= BLOB_INLINE_MAX {
            return Ok(vec![Row::BlobPut { digest, bytes }]);
        }
        self.shell.journal().put_blob(digest, bytes).await?;
        Ok(vec![])
    }

    async fn record_failure(&self, failure: &TargetFailure) -> Finished {
        let body = failure.body.as_ref().and_then(|body| serde_json::to_vec(body).ok());
        let rows = body.map(|bytes| (Digest::of(&bytes), bytes));
        let event = AttemptFailed {
            term: self.term,
            class: failure.class,
            message: failure.message.clone(),
            status: failure.status,
            retry_after: failure.retry_after_ms.map(DurationMs),
            response_received: failure.response_received,
            latency: DurationMs(failure.latency_ms),
            body: rows.as_ref().map(|(digest, _)| *digest),
        };
        let blobs = rows.into_iter().map(|(digest, bytes)| Row::BlobPut { digest, bytes: bytes.into() }).collect();
        match self.ask(AttemptCommand::RecordFailure(event), blobs).await {
            Ok(done) => Finished::Failed(self.failed_attempt(failure, done.head)),
            Err(error) => {
                self.record_late(LateResult::Failed, None, &error).await;
                Finished::Broken(error)
            }
        }
    }

    fn failed_attempt(&self, failure: &TargetFailure, head: Head) -> FailedAttempt {
        FailedAttempt {
            attempt: self.attempt.attempt,
            execution: self.attempt.execution,
            class: failure.class,
            retry_after: failure.retry_after_ms.map(DurationMs),
            response_received: failure.response_received,
            pin: pin(head),
            jitter_ppm: self.shell.chance.ppm(),
        }
    }

    /// Examines an answer that is durable, and records what follows. Also where an
    /// earlier term left one behind.
    pub(super) async fn examine(&self, answer: Arc<Answer>, latency_ms: u64) -> Finished {
        let examination = Examination {
            profile: self.docket.profile.clone(),
            group: self.group,
            case: self.case.clone(),
            answer,
            latency_ms,
            replies: vec![],
        };
        let examined = self.docket.evaluators.examine(examination).await;
        let Some(group) = self.docket.profile.groups.get(usize::from(self.group)) else {
            return Finished::Broken(CommandError::Bug(format!("the profile has no group {}", self.group)));
        };
        let keep_evidence = self.docket.profile.persist.evidence;
        let outcomes: Vec<BindingOutcome> = group
            .bindings
            .iter()
            .zip(examined)
            .map(|(binding, examined)| binding_outcome(binding, examined, keep_evidence))
            .collect();
        let said: Vec<_> = outcomes.iter().map(|one| one.outcome.clone()).collect();
        let judgment = judge(group, &said);
        let event = AttemptJudged { term: self.term, outcomes, judgment: judgment.clone() };
        match self.ask(AttemptCommand::RecordJudgment(event), vec![]).await {
            Ok(done) => Finished::Settled(self.settled(judgment, done.head)),
            Err(error) => {
                self.record_late(LateResult::Judged, None, &error).await;
                Finished::Broken(error)
            }
        }
    }

    /// The settlement of a judged attempt.
    pub(super) fn settled(&self, judgment: Judgment, head: Head) -> SettledExecution {
        SettledExecution {
            result: ExecutionResult {
                execution: self.attempt.execution,
                attempt: Some(self.attempt.attempt),
                judgment,
                failure: None,
            },
            pin: pin(head),
        }
    }

    /// Keeps for the record what a guard refused; never scored.
    async fn record_late(&self, result: LateResult, answer: Option<Digest>, error: &CommandError) {
        let CommandError::Refused(refusal) = error else { return };
        let late = AttemptLate { term: self.term, result, refusal: refusal.to_string(), answer };
        let origin = self.shell.origin(self.shell.fresh(), self.docket.run);
        let request = Execute::new(origin, AttemptCommand::RecordLate(late));
        if let Err(error) = self.shell.directory.attempt(self.attempt.attempt).execute(request).await {
            tracing::warn!(attempt = %self.attempt.attempt, %error, "late result could not be recorded");
        }
    }
}

/// A stream's head as a pin.
pub(super) fn pin(head: Head) -> AttemptPin {
    AttemptPin { version: head.version, digest: head.digest }
}

fn binding_outcome(
    binding: &tribunal_schema::profile::Binding,
    examined: Examined,
    keep_evidence: bool,
) -> BindingOutcome {
    let outcome = outcome_of(binding, examined.result.as_ref());
    let mut findings = examined.result.map(|report| report.findings).unwrap_or_default();
    if !keep_evidence {
        findings.iter_mut().for_each(|finding| finding.evidence = None);
    }
    BindingOutcome { binding: binding.id.clone(), outcome, fuel: examined.fuel, findings }
}
