//! `tribunal run`: one dataset, one profile, one verdict, in this process.

use super::catalog;
use super::input::{Input, Narrowing, prepare};
use super::store::{StoreArg, resolve_run};
use super::trial::{Conduct, conduct};
use std::io::Write;
use std::path::PathBuf;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::Digest;
use tribunal_schema::ids::RunId;
use tribunal_schema::view::{RunRow, RunStatus};

/// How many runs are looked through for one that can be resumed.
const RUNS_MAX: u32 = 1000;

/// Put an agent on trial
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// The profile: who is on trial, who judges, and what is good enough
    #[arg(value_name = "PROFILE", required_unless_present = "resume")]
    pub profile: Option<PathBuf>,
    /// The cases: .jsonl, .json, .yaml or .csv
    #[arg(long, value_name = "FILE", env = "TRIBUNAL_DATASET")]
    pub dataset: Option<PathBuf>,
    /// Where the journal is
    #[command(flatten)]
    pub store: StoreArg,
    /// Carry on with an unfinished run: RUN, or the last one of the same profile and dataset
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "latest")]
    pub resume: Option<String>,
    /// What narrows the dataset
    #[command(flatten)]
    pub narrowing: Narrowing,
    /// End stdout with the report as one JSON object on one line
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
    /// Show no progress
    #[arg(long, env = "TRIBUNAL_NO_PROGRESS")]
    pub no_progress: bool,
}

/// Runs, and gives the exit code of the verdict.
///
/// # Errors
/// When the input is wrong or the store cannot be used.
pub async fn execute(args: RunArgs) -> anyhow::Result<u8> {
    let catalog = catalog::open().await?;
    let prepared = match (&args.profile, &args.dataset) {
        (Some(profile), Some(dataset)) => {
            let input = Input {
                profile: profile.clone(),
                dataset: dataset.clone(),
                narrowing: args.narrowing.clone(),
                target_url: None,
            };
            Some(prepare(catalog.clone(), input).await?)
        }
        (Some(_), None) if args.resume.is_none() => {
            anyhow::bail!("which cases? name the dataset: --dataset FILE (.jsonl, .json, .yaml or .csv)")
        }
        (_, _) => None,
    };
    let opened = args.store.journal().await?;
    let journal = &*opened.journal;
    let wanted = prepared.as_ref().map(|prepared| prepared.submission.plan().digest());
    let resumed = match &args.resume {
        Some(text) => resumable(journal, &args.store, text, wanted).await?,
        None => {
            hint_at_unfinished(journal, wanted).await?;
            None
        }
    };
    if args.resume.is_some() && resumed.is_none() && prepared.is_none() {
        anyhow::bail!("no unfinished run in store {}: nothing to resume", args.store.address);
    }
    for warning in prepared.iter().flat_map(|prepared| &prepared.warnings) {
        writeln!(std::io::stderr(), "{warning}")?;
    }
    let submission = prepared.map(|prepared| prepared.submission);
    conduct(Conduct {
        opened,
        catalog,
        submission,
        resumed,
        store: args.store,
        json: args.json,
        no_progress: args.no_progress,
    })
    .await
}

/// The run to carry on with. Without a match there is none; a named run of another plan is refused.
async fn resumable(
    reader: &dyn JournalReader,
    store: &StoreArg,
    text: &str,
    wanted: Option<Digest>,
) -> anyhow::Result<Option<RunId>> {
    if text != "latest" {
        let run = resolve_run(reader, store, text).await?;
        let row = reader.run(run).await?;
        if row.is_some_and(|row| wanted.is_some_and(|wanted| wanted != row.plan_digest)) {
            anyhow::bail!("run {run} was planned with another profile or dataset; leave them out to carry on with it");
        }
        return Ok(Some(run));
    }
    let runs = reader.runs(RUNS_MAX).await?;
    let same = |row: &&RunRow| wanted.is_none_or(|wanted| row.plan_digest == wanted);
    // Never one that has ended: its verdict is about the agent of that day.
    Ok(runs.iter().filter(same).find(|row| is_unfinished(row.status)).map(|row| row.run))
}

async fn hint_at_unfinished(reader: &dyn JournalReader, wanted: Option<Digest>) -> anyhow::Result<()> {
    let runs = reader.runs(RUNS_MAX).await?;
    let same = runs.iter().find(|row| Some(row.plan_digest) == wanted && is_unfinished(row.status));
    if let Some(row) = same {
        tracing::warn!("run {} of the same profile and dataset is unfinished; --resume carries on with it", row.run);
    }
    Ok(())
}

const fn is_unfinished(status: RunStatus) -> bool {
    match status {
        RunStatus::Creating | RunStatus::Running | RunStatus::Paused | RunStatus::Halted => true,
        RunStatus::Completed | RunStatus::Cancelled | RunStatus::Failed | RunStatus::Retired => false,
    }
}
