//! A run, gathered from the journal.

use super::cases::CaseIds;
use super::not_passed::{self, NotPassed};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_actors::aggregate::{CommandError, load};
use tribunal_actors::chunk::Chunk;
use tribunal_actors::ports::journal::{Failure, JournalReader};
use tribunal_actors::run::{Run, RunPhase, mean_score};
use tribunal_actors::verdict::{self, ScorecardRow, scorecard};
use tribunal_schema::Digest;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::codec::{DecodeError, decode};
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::events::{DomainEvent, RunPlan};
use tribunal_schema::ids::{ChunkId, RunId, StreamId};
use tribunal_schema::profile::Profile;
use tribunal_schema::score::{ConditionResult, Counts, Tally, Verdict};
use tribunal_schema::units::{InstantMs, ScorePpm};
use tribunal_schema::view::{QuarantineRow, QuarantineStatus, RunStatus};

/// Rows of quarantine that are counted; beyond, the report says "at least".
const QUARANTINE_MAX: u32 = 10_000;
/// Rows of quarantine that are shown.
const QUARANTINE_SHOWN: usize = 5;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such run.
    #[error("run {0} does not exist")]
    Unknown(RunId),
    /// The journal could not be read; another try may succeed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// A stream holds what no decision made.
    #[error(transparent)]
    Unsound(#[from] CommandError),
    /// An event cannot be read by this version of Tribunal.
    #[error("{stream}, version {version}: {reason}")]
    Unreadable {
        /// The stream.
        stream: StreamId,
        /// The event's version.
        version: u64,
        /// Why.
        reason: DecodeError,
    },
}

/// An event in its type.
pub(super) fn read<E: DomainEvent>(recorded: &RecordedEvent) -> Result<E, ReportError> {
    decode(recorded).map_err(|reason| ReportError::Unreadable {
        stream: recorded.stream.clone(),
        version: recorded.version.0,
        reason,
    })
}

/// What there is to say of a run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The run.
    pub run: RunId,
    /// The profile that it follows.
    pub profile: Profile,
    /// The dataset's name.
    pub dataset: String,
    /// What was left out of the dataset, in words.
    pub filters: Vec<String>,
    /// The host of the target, without credentials.
    pub target: String,
    /// Where the run stands.
    pub status: RunStatus,
    /// When it was planned.
    pub created_at: Option<InstantMs>,
    /// When it ended.
    pub ended_at: Option<InstantMs>,
    /// The verdict; without one all numbers are as they stand now.
    pub verdict: Option<Verdict>,
    /// Why: of the verdict, else of the status.
    pub reasons: Vec<String>,
    /// The gate's conditions; empty without a verdict.
    pub conditions: Vec<ConditionResult>,
    /// How many of what.
    pub counts: Counts,
    /// The mean of the scored executions.
    pub score_ppm: Option<ScorePpm>,
    /// Executions without an answer, by why.
    pub errors: BTreeMap<FailureClass, u64>,
    /// Executions that an evaluator errored.
    pub evaluator_errors: u64,
    /// Calls of the target that are known to be over.
    pub target_calls: u64,
    /// Calls whose end nobody recorded.
    pub calls_maybe_repeated: u64,
    /// One row per group and dimension.
    pub scorecard: Vec<ScorecardRow>,
    /// Over the results in case order; only with a verdict.
    pub result_digest: Option<Digest>,
    /// The root that the verdict rests on; without one the head of the run's stream.
    pub journal_root: Digest,
    /// Executions that wait for a person.
    pub quarantined: u64,
    /// The first of them, with their cases' ids.
    pub quarantine: Vec<(String, QuarantineRow)>,
    /// The first executions that did not pass: failed ones, then errored, then abstained.
    pub not_passed: Vec<NotPassed>,
}

impl RunReport {
    /// Gathers a run, with at most `max_not_passed` of the executions that did not pass.
    ///
    /// # Errors
    /// [`ReportError::Unknown`] when there is no such run.
    pub async fn read(reader: &dyn JournalReader, run: RunId, max_not_passed: usize) -> Result<RunReport, ReportError> {
        let live = load::<Run>(reader, &StreamId::Run(run)).await?;
        let state = &live.state;
        let plan = &state.planned.as_ref().ok_or(ReportError::Unknown(run))?.plan;
        let row = reader.run(run).await?;
        let judged = state.judged.as_deref();
        let tally = match judged {
            Some(judged) => judged.tally.clone(),
            None => tally_so_far(reader, run, plan).await?,
        };
        let status = row.as_ref().map_or_else(|| status_of(state.phase), |row| row.status);
        let mut ids = CaseIds::new(reader, run, plan);
        let (quarantined, quarantine) = quarantine(reader, run, &mut ids).await?;
        let not_passed = not_passed::gather(reader, run, &plan.profile, &mut ids, max_not_passed).await?;
        Ok(RunReport {
            run,
            dataset: plan.dataset.clone(),
            filters: plan.filters.clone(),
            target: host(&plan.profile.target.url).to_string(),
            status,
            created_at: row.as_ref().map(|row| row.created_at),
            ended_at: row.as_ref().and_then(|row| row.ended_at),
            verdict: judged.map(|judged| judged.judged.verdict),
            reasons: match judged {
                Some(judged) => judged.judged.reasons.clone(),
                None => row.as_ref().and_then(|row| row.reason.clone()).into_iter().collect(),
            },
            conditions: judged.map(|judged| judged.judged.conditions.clone()).unwrap_or_default(),
            counts: tally.counts,
            score_ppm: mean_score(tally.score_ppm_sum, tally.counts.scored),
            errors: tally.failures.clone(),
            evaluator_errors: tally.evaluator_errors,
            target_calls: tally.target_calls,
            calls_maybe_repeated: tally.calls_maybe_repeated,
            scorecard: scorecard(&plan.profile, &tally),
            result_digest: judged.map(|judged| judged.result_digest),
            journal_root: judged.map_or(live.head.digest, |judged| judged.root),
            quarantined,
            quarantine,
            not_passed,
            profile: plan.profile.clone(),
        })
    }

    /// Whether the run can go on.
    pub fn is_resumable(&self) -> bool {
        self.verdict.is_none()
            && match self.status {
                RunStatus::Creating | RunStatus::Running | RunStatus::Paused | RunStatus::Halted => true,
                RunStatus::Completed | RunStatus::Cancelled | RunStatus::Failed | RunStatus::Retired => false,
            }
    }

    /// The exit code of a command that ends with this run.
    pub fn exit_code(&self) -> u8 {
        super::exit_code(self.status, self.verdict)
    }
}

const fn status_of(phase: RunPhase) -> RunStatus {
    match phase {
        RunPhase::New | RunPhase::Creating => RunStatus::Creating,
        RunPhase::Running => RunStatus::Running,
        RunPhase::Paused => RunStatus::Paused,
        RunPhase::Halted => RunStatus::Halted,
        RunPhase::Judged | RunPhase::Completed => RunStatus::Completed,
        RunPhase::Cancelled => RunStatus::Cancelled,
        RunPhase::Failed => RunStatus::Failed,
    }
}

/// What is settled so far, from the chunks themselves; everything else is missing.
/// Holds one chunk at a time.
async fn tally_so_far(reader: &dyn JournalReader, run: RunId, plan: &RunPlan) -> Result<Tally, ReportError> {
    let mut total = verdict::tally::empty(&plan.profile);
    for number in 0..plan.chunks {
        let stream = StreamId::Chunk(ChunkId { run, number });
        let chunk = load::<Chunk>(reader, &stream).await?;
        verdict::add(&mut total, &chunk.state.tally(&plan.profile, &BTreeSet::new()));
    }
    let counts = &mut total.counts;
    counts.cases = u64::from(plan.cases);
    counts.executions = plan.executions();
    counts.missing = counts.executions.saturating_sub(counts.scored + counts.errored + counts.abstained);
    Ok(total)
}

async fn quarantine(
    reader: &dyn JournalReader,
    run: RunId,
    ids: &mut CaseIds<'_>,
) -> Result<(u64, Vec<(String, QuarantineRow)>), ReportError> {
    let mut rows = reader.quarantine(Some(run), QUARANTINE_MAX).await?;
    rows.retain(|row| row.status == QuarantineStatus::Waiting);
    let count = rows.len() as u64;
    let mut shown = vec![];
    for row in rows.into_iter().take(QUARANTINE_SHOWN) {
        let id = ids.id(row.execution.case).await?.map_or_else(|| row.execution.to_string(), |(id, _)| id);
        shown.push((id, row));
    }
    Ok((count, shown))
}

/// The host and port of an address, without user and password. An address may hold
/// `${env:NAME}` references, so it is no URL yet and is taken apart by hand.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn the_host_of_an_address_has_no_credentials() {
        for (url, shown) in [
            ("https://user:pass@agent.example:8443/v1?key=x", "agent.example:8443"),
            ("http://agent.example", "agent.example"),
            ("http://${env:AGENT_HOST}/v1", "${env:AGENT_HOST}"),
            ("https://a@b@c/", "c"),
            ("https://[::1]:80#x@y", "[::1]:80"),
        ] {
            assert_eq!(host(url), shown, "{url}");
        }
    }
}
