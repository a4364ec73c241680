//! The executions that did not pass, with what is needed to see why.

use super::answer::beginning;
use super::cases::CaseIds;
use super::gather::ReportError;
use tribunal_actors::aggregate::load;
use tribunal_actors::attempt::{Attempt, AttemptPhase};
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::Digest;
use tribunal_schema::answer::{Answer, FailureClass};
use tribunal_schema::evaluation::{Finding, Outcome};
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId, StreamId};
use tribunal_schema::profile::{Group, Profile};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::ScorePpm;
use tribunal_schema::view::ExecutionRow;

/// Characters of an answer that are kept.
const ANSWER_CHARS: usize = 400;

/// An execution that did not pass.
#[derive(Clone, Debug, PartialEq)]
pub struct NotPassed {
    /// The case's id.
    pub case_id: String,
    /// Which execution.
    pub execution: ExecutionKey,
    /// The group's name.
    pub group: String,
    /// How it ended.
    pub outcome: ExecutionOutcome,
    /// Its score, where it has one.
    pub score_ppm: Option<ScorePpm>,
    /// Why the target gave no answer, and its message where an attempt recorded one.
    pub failure: Option<(FailureClass, Option<String>)>,
    /// How many attempts were started, where the last one says.
    pub attempts: Option<u32>,
    /// The bindings that did not pass.
    pub bindings: Vec<BindingNote>,
    /// The beginning of the answer, not escaped.
    pub answer: Option<String>,
}

/// What a binding that did not pass said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingNote {
    /// The binding.
    pub binding: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether the execution's result rests on it; others are shown only.
    pub counts: bool,
    /// The score from which it passes.
    pub pass_at: Option<ScorePpm>,
    /// What it found.
    pub findings: Vec<Finding>,
}

/// The first executions that did not pass: failed ones, then errored, then abstained.
pub(super) async fn gather(
    reader: &dyn JournalReader,
    run: RunId,
    profile: &Profile,
    ids: &mut CaseIds<'_>,
    max: usize,
) -> Result<Vec<NotPassed>, ReportError> {
    let mut found = vec![];
    for outcome in [ExecutionOutcome::Failed, ExecutionOutcome::Errored, ExecutionOutcome::Abstained] {
        let left = u32::try_from(max - found.len()).unwrap_or(u32::MAX);
        if left == 0 {
            break;
        }
        for row in reader.executions(run, None, Some(&[outcome]), left).await? {
            found.push(one(reader, profile, ids, row).await?);
        }
    }
    Ok(found)
}

async fn one(
    reader: &dyn JournalReader,
    profile: &Profile,
    ids: &mut CaseIds<'_>,
    row: ExecutionRow,
) -> Result<NotPassed, ReportError> {
    let known = ids.id(row.execution.case).await?;
    let group = known.as_ref().and_then(|(_, group)| profile.groups.get(usize::from(*group)));
    let mut noted = NotPassed {
        case_id: known.as_ref().map_or_else(|| row.execution.to_string(), |(id, _)| id.clone()),
        execution: row.execution,
        group: group.map(|group| group.name.clone()).unwrap_or_default(),
        outcome: row.outcome,
        score_ppm: row.score_ppm,
        failure: row.failure.map(|class| (class, None)),
        attempts: None,
        bindings: vec![],
        answer: None,
    };
    if let Some(attempt) = row.attempt {
        let state = load::<Attempt>(reader, &StreamId::Attempt(attempt)).await?.state;
        noted.attempts = state.started.as_ref().map(|started| started.number);
        match state.phase {
            AttemptPhase::Failed(failed) => {
                noted.failure = Some((row.failure.unwrap_or(failed.class), Some(failed.message.clone())));
            }
            AttemptPhase::Answered(answered) | AttemptPhase::Judged(answered, _) => {
                noted.answer = answer(reader, answered.answer).await?.map(|answer| beginning(&answer, ANSWER_CHARS));
            }
            AttemptPhase::New | AttemptPhase::Started | AttemptPhase::Expired | AttemptPhase::Cancelled => {}
        }
        noted.bindings = bindings(reader, attempt, group).await?;
    }
    Ok(noted)
}

/// The answer behind a digest; `None` where it was not kept.
pub(super) async fn answer(reader: &dyn JournalReader, digest: Digest) -> Result<Option<Answer>, ReportError> {
    Ok(reader.blob(digest).await?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

async fn bindings(
    reader: &dyn JournalReader,
    attempt: AttemptId,
    group: Option<&Group>,
) -> Result<Vec<BindingNote>, ReportError> {
    let mut findings = reader.findings(attempt).await?;
    let mut notes = vec![];
    for row in reader.outcomes(attempt).await? {
        if matches!(row.outcome, Outcome::Measured { passed: true, .. }) {
            continue;
        }
        let binding = group.and_then(|group| group.bindings.iter().find(|binding| binding.id == row.binding));
        let (of_this, others) = findings.into_iter().partition(|finding| finding.binding == row.binding);
        findings = others;
        let of_this: Vec<tribunal_schema::view::FindingRow> = of_this;
        notes.push(BindingNote {
            counts: binding.is_none_or(|binding| binding.required || binding.blocking),
            pass_at: binding.map(|binding| binding.pass_at),
            findings: of_this.into_iter().map(|row| row.finding).collect(),
            binding: row.binding,
            outcome: row.outcome,
        });
    }
    // In the profile's order: the first binding is the one its author thought of first.
    let place = |id: &str| group.and_then(|group| group.bindings.iter().position(|binding| binding.id == id));
    notes.sort_by_key(|note| (!note.counts, place(&note.binding)));
    Ok(notes)
}
