//! The attempt: one try at an execution, from the moment before the target is
//! called to the judgment of its answer.
//!
//! `started` is durable before the call and `answered` before the evaluation, so
//! that whoever comes after a crash knows what may have touched the world and
//! what need not be asked again. The attempt knows nothing of terms; the guard of
//! the append fences it, and a result that comes too late is recorded as `late`.

#[cfg(test)]
mod tests;

use crate::decider::{Decider, Illegal, Rejection, Step};
use crate::mutant::{self, Mutant};
use crate::ports::journal::Row;
use std::sync::Arc;
use tribunal_schema::events::{
    AttemptAnswered, AttemptCancelled, AttemptEvent, AttemptExpired, AttemptFailed, AttemptJudged, AttemptLate,
    AttemptStarted,
};
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::InstantMs;
use tribunal_schema::view::{FindingRow, OutcomeRow, ViewChange};

/// The decider of attempt streams.
#[derive(Clone, Copy, Debug)]
pub struct Attempt;

/// Where an attempt stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptState {
    /// How it was started; `None` before.
    pub started: Option<Arc<AttemptStarted>>,
    /// What became of it.
    pub phase: AttemptPhase,
}

/// What became of an attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AttemptPhase {
    /// Allocated at most; nothing is recorded.
    #[default]
    New,
    /// The target may have been called.
    Started,
    /// The answer is durable.
    Answered(Arc<AttemptAnswered>),
    /// The target failed.
    Failed(Arc<AttemptFailed>),
    /// The answer is judged.
    Judged(Arc<AttemptAnswered>, Arc<AttemptJudged>),
    /// The lease ended first.
    Expired,
    /// The run ended first.
    Cancelled,
}

/// What can be asked of an attempt.
#[derive(Clone, Debug)]
pub enum AttemptCommand {
    /// The target is about to be called.
    Start(AttemptStarted),
    /// The target answered.
    RecordAnswer(AttemptAnswered),
    /// The target failed.
    RecordFailure(AttemptFailed),
    /// The answer was judged.
    RecordJudgment(AttemptJudged),
    /// The lease ended.
    Expire(AttemptExpired),
    /// The run ended.
    Cancel(AttemptCancelled),
    /// A result came too late.
    RecordLate(AttemptLate),
}

impl AttemptPhase {
    /// The word for people.
    pub const fn name(&self) -> &'static str {
        match self {
            AttemptPhase::New => "not started",
            AttemptPhase::Started => "started",
            AttemptPhase::Answered(_) => "answered",
            AttemptPhase::Failed(_) => "failed",
            AttemptPhase::Judged(..) => "judged",
            AttemptPhase::Expired => "expired",
            AttemptPhase::Cancelled => "cancelled",
        }
    }
}

impl Decider for Attempt {
    type State = AttemptState;
    type Command = AttemptCommand;
    type Event = AttemptEvent;

    fn decide(state: &AttemptState, command: &AttemptCommand) -> Result<Vec<AttemptEvent>, Rejection> {
        let not_now = |wanted: &str| {
            Err(Rejection::NotNow(format!("the attempt is {} and cannot be {wanted}", state.phase.name())))
        };
        match (command, &state.phase) {
            (AttemptCommand::Start(start), AttemptPhase::New) => Ok(vec![AttemptEvent::Started(start.clone())]),
            (AttemptCommand::Start(_), AttemptPhase::Answered(_)) if mutant::is_alive(Mutant::AnsweredCalledAgain) => {
                Ok(vec![])
            }
            (AttemptCommand::Start(_), _) => not_now("started again"),

            (AttemptCommand::RecordAnswer(answer), AttemptPhase::Started) => {
                Ok(vec![AttemptEvent::Answered(answer.clone())])
            }
            (AttemptCommand::RecordAnswer(answer), AttemptPhase::Answered(known)) if **known == *answer => Ok(vec![]),
            (AttemptCommand::RecordAnswer(_), _) => not_now("answered"),

            (AttemptCommand::RecordFailure(failure), AttemptPhase::Started) => {
                Ok(vec![AttemptEvent::Failed(failure.clone())])
            }
            (AttemptCommand::RecordFailure(failure), AttemptPhase::Failed(known)) if **known == *failure => Ok(vec![]),
            (AttemptCommand::RecordFailure(_), _) => not_now("failed"),

            (AttemptCommand::RecordJudgment(judged), AttemptPhase::Answered(_)) => {
                Ok(vec![AttemptEvent::Judged(judged.clone())])
            }
            (AttemptCommand::RecordJudgment(judged), AttemptPhase::Judged(_, known)) if **known == *judged => {
                Ok(vec![])
            }
            (AttemptCommand::RecordJudgment(_), _) => not_now("judged"),

            (AttemptCommand::Expire(expired), AttemptPhase::Started) => {
                Ok(vec![AttemptEvent::Expired(expired.clone())])
            }
            (AttemptCommand::Expire(_), AttemptPhase::Expired) => Ok(vec![]),
            (AttemptCommand::Expire(_), _) => not_now("expired"),

            (AttemptCommand::Cancel(cancelled), AttemptPhase::Started) => {
                Ok(vec![AttemptEvent::Cancelled(cancelled.clone())])
            }
            (AttemptCommand::Cancel(_), AttemptPhase::Cancelled) => Ok(vec![]),
            (AttemptCommand::Cancel(_), _) => not_now("cancelled"),

            (AttemptCommand::RecordLate(_), AttemptPhase::New) => not_now("late"),
            (AttemptCommand::RecordLate(late), _) => Ok(vec![AttemptEvent::Late(late.clone())]),
        }
    }

    fn evolve(state: AttemptState, event: &AttemptEvent, _: InstantMs) -> Result<AttemptState, Illegal> {
        let phase = match (&state.phase, event) {
            (AttemptPhase::New, AttemptEvent::Started(started)) => {
                return Ok(AttemptState { started: Some(Arc::new(started.clone())), phase: AttemptPhase::Started });
            }
            (AttemptPhase::Started, AttemptEvent::Answered(answered)) => {
                AttemptPhase::Answered(Arc::new(answered.clone()))
            }
            (AttemptPhase::Started, AttemptEvent::Failed(failed)) => AttemptPhase::Failed(Arc::new(failed.clone())),
            (AttemptPhase::Answered(answered), AttemptEvent::Judged(judged)) => {
                AttemptPhase::Judged(answered.clone(), Arc::new(judged.clone()))
            }
            (AttemptPhase::Started, AttemptEvent::Expired(_)) => AttemptPhase::Expired,
            (AttemptPhase::Started, AttemptEvent::Cancelled(_)) => AttemptPhase::Cancelled,
            (phase, AttemptEvent::Late(_)) if *phase != AttemptPhase::New => phase.clone(),
            (phase, event) => return Err(Illegal::new(event, format!("the attempt is {}", phase.name()))),
        };
        Ok(AttemptState { started: state.started, phase })
    }

    fn rows(step: &Step<'_, Attempt>) -> Vec<Row> {
        let Some(run) = step.after.started.as_ref().map(|started| started.chunk.run) else { return vec![] };
        match step.event {
            AttemptEvent::Answered(answered) => vec![Row::BlobRef { digest: answered.answer, run }],
            AttemptEvent::Failed(failed) => {
                failed.body.iter().map(|digest| Row::BlobRef { digest: *digest, run }).collect()
            }
            AttemptEvent::Started(_)
            | AttemptEvent::Judged(_)
            | AttemptEvent::Expired(_)
            | AttemptEvent::Cancelled(_)
            | AttemptEvent::Late(_) => vec![],
        }
    }

    fn views(step: &Step<'_, Attempt>) -> Vec<ViewChange> {
        let AttemptEvent::Judged(judged) = step.event else { return vec![] };
        let (StreamId::Attempt(attempt), Some(started)) = (step.stream, &step.after.started) else { return vec![] };
        let (attempt, run) = (*attempt, started.chunk.run);
        let mut changes = Vec::with_capacity(judged.outcomes.len());
        for said in &judged.outcomes {
            changes.push(ViewChange::Outcome(OutcomeRow {
                run,
                attempt,
                binding: said.binding.clone(),
                outcome: said.outcome.clone(),
            }));
            changes.extend((0u32..).zip(&said.findings).map(|(index, finding)| {
                ViewChange::Finding(FindingRow {
                    run,
                    attempt,
                    binding: said.binding.clone(),
                    index,
                    finding: finding.clone(),
                })
            }));
        }
        changes
    }
}
