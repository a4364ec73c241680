//! Intents: the reactions to a run's events that take more than one unit.
//! Cancelling goes through every chunk; judging reads every chunk's results.

use super::{Again, Duty, concerns_one};
use crate::aggregate::{CommandError, load};
use crate::chunk::{Chunk, ChunkCommand};
use crate::decider::Rejection;
use crate::ports::journal::{IntentKind, JournalReader, Row};
use crate::run::{RunCommand, RunState};
use crate::shell::Shell;
use crate::verdict::ResultDigest;
use async_trait::async_trait;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::events::Intervention;
use tribunal_schema::ids::{ChunkId, RunId, StreamId};

const PAGE: u32 = 16;

/// Cancels the open chunks of runs that ask no more.
pub(super) struct CancelFanOut {
    shell: Shell,
}

impl CancelFanOut {
    pub(super) fn new(shell: Shell) -> CancelFanOut {
        CancelFanOut { shell }
    }

    async fn cancel(&self, run: RunId) -> Result<(), CommandError> {
        let live = self.shell.directory.run(run).look().await?;
        let Some(planned) = &live.state.planned else { return Err(Rejection::Unknown("the run").into()) };
        let profile = Arc::new(planned.plan.profile.clone());
        let cause = cause(&live.state);
        for number in 0..planned.plan.chunks {
            let cancel =
                |_: &_, fates, _| ChunkCommand::Cancel { cause: cause.clone(), fates, profile: profile.clone() };
            match self.shell.close_term(ChunkId { run, number }, vec![], cancel).await {
                // A run that was stopped while it was created has chunks that do not exist.
                Err(CommandError::Rejected(Rejection::Unknown(_))) => {}
                other => drop(other?),
            }
        }
        self.shell.write_rows(run, vec![Row::IntentDone { run, kind: IntentKind::Cancel }]).await
    }
}

fn cause(state: &RunState) -> Intervention {
    let reason = match state.halted_reason() {
        Some(reason) => reason.to_string(),
        None => format!("the run is {}", state.phase.name()),
    };
    Intervention { by: "tribunal".into(), reason }
}

#[async_trait]
impl Duty for CancelFanOut {
    fn name(&self) -> &'static str {
        "cancel"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        for intent in self.shell.journal().intents(IntentKind::Cancel, PAGE).await? {
            match self.cancel(intent.run).await {
                Err(error) if concerns_one(&error) => {
                    tracing::warn!(run = %intent.run, %error, "run was not cancelled")
                }
                done => done?,
            }
        }
        Ok(Again::Later)
    }

    async fn hint(&self) {
        self.shell.journal().hints().cancel.notified().await;
    }
}

/// Judges runs whose chunks are all in.
pub(super) struct Judging {
    shell: Shell,
}

impl Judging {
    pub(super) fn new(shell: Shell) -> Judging {
        Judging { shell }
    }

    async fn judge(&self, run: RunId) -> Result<(), CommandError> {
        let live = self.shell.directory.run(run).look().await?;
        // Also when it was cancelled between its last chunk's end and its verdict.
        if live.state.phase.is_over() {
            return self.shell.write_rows(run, vec![Row::IntentDone { run, kind: IntentKind::Judge }]).await;
        }
        let result_digest = result_digest(&**self.shell.journal(), run, &live.state).await?;
        let command = RunCommand::Judge { result_digest, root: live.head.digest };
        self.shell.ask_run_at(run, live.head, command).await?;
        tracing::info!(%run, "run judged");
        Ok(())
    }
}

/// The digest over the results of a run in case order, read from its chunks' streams.
pub async fn result_digest(journal: &dyn JournalReader, run: RunId, state: &RunState) -> Result<Digest, CommandError> {
    let chunks = state.planned.as_ref().map_or(0, |planned| planned.plan.chunks);
    let mut digest = ResultDigest::default();
    for number in 0..chunks {
        let chunk = load::<Chunk>(journal, &StreamId::Chunk(ChunkId { run, number })).await?.state;
        let results = chunk.results();
        for key in chunk.executions.keys() {
            let id = chunk.case_id(key.case).unwrap_or_default();
            let judgment = results.get(key).map(|result| &result.judgment);
            digest.record(*key, id, judgment).map_err(|error| CommandError::Bug(error.to_string()))?;
        }
    }
    Ok(digest.finish())
}

#[async_trait]
impl Duty for Judging {
    fn name(&self) -> &'static str {
        "judging"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        for intent in self.shell.journal().intents(IntentKind::Judge, PAGE).await? {
            match self.judge(intent.run).await {
                Err(error) if concerns_one(&error) => tracing::warn!(run = %intent.run, %error, "run was not judged"),
                done => done?,
            }
        }
        Ok(Again::Later)
    }

    async fn hint(&self) {
        self.shell.journal().hints().judge.notified().await;
    }
}
