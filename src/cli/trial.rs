//! Conducting a run in this process: from the submission to the report, with
//! progress, and with an end in order when it is interrupted.

use super::store::StoreArg;
use crate::chance::SystemChance;
use crate::daemon::store::OpenStore;
use crate::daemon::submit::Submission;
use crate::daemon::{Process, Targets, load_run};
use crate::evaluator::{Catalog, ComponentSource};
use crate::report::progress::{Mode, Progress};
use crate::report::{Look, RunReport};
use async_trait::async_trait;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tribunal_actors::ports::chance::Chance;
use tribunal_actors::ports::journal::{Journal, JournalReader};
use tribunal_actors::shell::Settings;
use tribunal_schema::Digest;
use tribunal_schema::ids::RunId;
use tribunal_schema::profile::Profile;
use tribunal_schema::view::{RunRow, RunStatus};

/// The exit code of an interrupted command: 128 + SIGINT.
const INTERRUPTED: u8 = 130;
/// Failed cases that the report of a run shows.
const FAILED_CASES_SHOWN: usize = 10;
/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What is conducted.
pub struct Conduct {
    /// The store.
    pub opened: OpenStore,
    /// The evaluators.
    pub catalog: Arc<Catalog>,
    /// What to submit when nothing is resumed.
    pub submission: Option<Submission>,
    /// The run to carry on with.
    pub resumed: Option<RunId>,
    /// Where the store is, for what the report suggests.
    pub store: StoreArg,
    /// Whether the report is JSON.
    pub json: bool,
    /// Whether progress is shown.
    pub no_progress: bool,
}

/// How the wait for a run ended.
enum Ended {
    /// The run is over.
    Over,
    /// A person interrupted.
    Interrupted,
    /// A supervisor kept dying.
    Broken(&'static str),
}

/// Conducts a run; gives the exit code.
///
/// # Errors
/// When the store cannot be used.
pub async fn conduct(conduct: Conduct) -> anyhow::Result<u8> {
    let Conduct { opened, catalog, submission, resumed, store, json, no_progress } = conduct;
    let journal = opened.journal.clone();
    let Some(profile) = profile_of(&*journal, submission.as_ref(), resumed).await? else {
        anyhow::bail!("nothing to run");
    };
    let run = resumed.unwrap_or_else(|| RunId(SystemChance.ulid()));
    let over = journal.run(run).await?.as_ref().is_some_and(is_over);
    if !over {
        refuse_unusable_secrets(&profile)?;
    }
    let lanes = vec![profile.lane.clone()];
    let mut interrupts = Interrupts::listen()?;
    if resumed.is_some() {
        // Before anything works: an answer that is examined without its evaluators is errored.
        ensure_components(&*journal, &catalog, run).await?;
        eprintln_line(&if over { format!("run {run} has ended") } else { format!("carrying on with run {run}") });
    }
    let settings = settings(&profile);
    let mut process = Process::start(opened, catalog.clone(), settings, lanes, Some(run)).await?;
    match (resumed, submission) {
        (Some(_), _) => {}
        (None, Some(submission)) => submission.submit_as(run, &process.shell, &catalog).await?,
        (None, None) => anyhow::bail!("nothing to run"),
    }
    let mode = Mode::of_stderr(no_progress);
    let ended = watch(&*journal, run, &mut process, &mut interrupts, mode).await?;
    if matches!(ended, Ended::Interrupted) {
        eprintln_line("interrupted; calls in flight are finished, once more stops at once");
    }
    let wind_down = tokio::select! {
        () = process.wind_down() => Ok(()),
        () = interrupts.next() => Err(()),
    };
    if wind_down.is_err() {
        eprintln_line(&format!("stopped; {}", resume_with(run, &store)));
        std::process::exit(i32::from(INTERRUPTED));
    }
    match ended {
        Ended::Broken(name) => {
            anyhow::bail!("the supervisor {name:?} keeps dying; run {run} is unfinished, --resume carries on")
        }
        Ended::Interrupted => {
            eprintln_line(&format!("nothing is lost: {}", resume_with(run, &store)));
            Ok(INTERRUPTED)
        }
        Ended::Over => {
            let report = RunReport::read(&*journal, run, FAILED_CASES_SHOWN).await?;
            tell(&report, &store, json)?;
            Ok(report.exit_code())
        }
    }
}

fn resume_with(run: RunId, store: &StoreArg) -> String {
    format!("tribunal run --resume {run}{}", store.option())
}

fn settings(profile: &Profile) -> Settings {
    let in_flight = profile.target.max_in_flight as usize;
    let size = (profile.chunk_size * profile.repeats).max(1) as usize;
    // Enough chunks to keep every call in flight while others end, few enough to stay small.
    let chunk_permits = (in_flight * 2).div_ceil(size.min(128)).clamp(4, 64);
    Settings { chunk_permits, ..Settings::default() }
}

/// The profile of the run.
async fn profile_of(
    reader: &dyn JournalReader,
    submission: Option<&Submission>,
    resumed: Option<RunId>,
) -> anyhow::Result<Option<Profile>> {
    if let Some(run) = resumed {
        let live = load_run(reader, run).await?;
        return Ok(live.planned.map(|planned| planned.plan.profile.clone()));
    }
    Ok(submission.map(|submission| submission.profile.clone()))
}

/// A run that cannot make one call must not end in a verdict about the agent.
fn refuse_unusable_secrets(profile: &Profile) -> anyhow::Result<()> {
    let obstacles = Targets.obstacles(profile);
    anyhow::ensure!(obstacles.is_empty(), "the target was not called: {}", obstacles.join("; "));
    Ok(())
}

struct Components<'a>(&'a dyn JournalReader);

#[async_trait]
impl ComponentSource for Components<'_> {
    async fn component(&self, digest: Digest) -> std::io::Result<Option<Vec<u8>>> {
        self.0.blob(digest).await.map_err(std::io::Error::other)
    }
}

async fn ensure_components(journal: &dyn JournalReader, catalog: &Catalog, run: RunId) -> anyhow::Result<()> {
    let state = load_run(journal, run).await?;
    if let Some(planned) = &state.planned {
        catalog.ensure(&planned.plan.profile, &Components(journal)).await?;
    }
    Ok(())
}

/// Waits for the end of a run, showing how far it is.
async fn watch(
    journal: &dyn Journal,
    run: RunId,
    process: &mut Process,
    interrupts: &mut Interrupts,
    mode: Mode,
) -> anyhow::Result<Ended> {
    let hints = journal.hints();
    let mut progress: Option<Progress> = None;
    let ended = loop {
        let row = journal.run(run).await?;
        if let Some(row) = &row {
            let shown = progress.get_or_insert_with(|| Progress::new(mode, row.executions));
            shown.update(&journal.progress(run).await?);
        }
        if row.as_ref().is_some_and(is_over) {
            break Ended::Over;
        }
        tokio::select! {
            () = hints.run.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            () = interrupts.next() => break Ended::Interrupted,
            name = process.died() => break Ended::Broken(name),
        }
    };
    if let Some(progress) = progress {
        progress.finish();
    }
    Ok(ended)
}

const fn is_over(row: &RunRow) -> bool {
    match row.status {
        RunStatus::Completed | RunStatus::Cancelled | RunStatus::Failed | RunStatus::Retired => true,
        RunStatus::Creating | RunStatus::Running | RunStatus::Paused | RunStatus::Halted => false,
    }
}

/// Prints the report: for people, and as the last line of stdout when JSON is asked for.
pub fn tell(report: &RunReport, store: &StoreArg, json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", report.json())?;
    } else {
        report.write(&mut out, &Look::of_stdout().with_store(store.named()))?;
    }
    out.flush()?;
    Ok(())
}

fn eprintln_line(line: &str) {
    // Nobody may be reading; that is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Ctrl-C and SIGTERM.
struct Interrupts {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Interrupts {
    fn listen() -> std::io::Result<Interrupts> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Interrupts { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
