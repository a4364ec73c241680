//! `tribunal quarantine`: where work waits for a person.
//!
//! A call of an unsafe target whose end nobody knows is never made again by
//! itself. A person looks at it, and either lets it be made again or gives it up;
//! both are recorded with who and why.

use super::store::{StoreArg, resolve_run};
use crate::chance::SystemChance;
use crate::daemon::store::OpenStore;
use crate::daemon::{TEAM, follow_up::follow_up, load_run};
use crate::evaluator::{Catalog, Options};
use serde_json::json;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use tribunal_actors::aggregate::{Directory, UnitBuilder, load};
use tribunal_actors::attempt::Attempt;
use tribunal_actors::chunk::{Chunk, ChunkCommand, ChunkState};
use tribunal_actors::decider::Decider;
use tribunal_actors::operator::{Act, Operator, QUARANTINE_DISCARD, QUARANTINE_RELEASE};
use tribunal_actors::ports::journal::JournalReader;
use tribunal_actors::run::RunCommand;
use tribunal_actors::shell::{Settings, Shell};
use tribunal_schema::events::{Intervention, OperatorActed};
use tribunal_schema::ids::{ChunkId, ExecutionKey, RunId, StreamId};
use tribunal_schema::view::{QuarantineRow, QuarantineStatus};

/// Rows that are looked at, at most.
const ROWS_MAX: u32 = 100_000;

/// See and decide on what waits for a person
#[derive(Clone, Debug, clap::Subcommand)]
pub enum QuarantineCommand {
    /// List what waits
    List(ListArgs),
    /// Show what is known of one execution
    Show(ShowArgs),
    /// Let executions be tried again
    Release(DecideArgs),
    /// Give executions up; they stay without a result
    Discard(DecideArgs),
}

/// What to list.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    /// Of this run only
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Also what was released or discarded
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    store: StoreArg,
    /// One JSON object per line
    #[arg(long, env = "TRIBUNAL_JSON")]
    json: bool,
}

/// What to show.
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The run, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// The case's id; without one, everything of the run
    #[arg(value_name = "CASE")]
    case: Option<String>,
    #[command(flatten)]
    store: StoreArg,
    /// One JSON object per line
    #[arg(long, env = "TRIBUNAL_JSON")]
    json: bool,
}

/// What to decide on, and why.
#[derive(Clone, Debug, clap::Args)]
pub struct DecideArgs {
    /// The run, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// The case's id; may be repeated. Without one, everything of the run that waits
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who; the login name when left out
    #[arg(long, value_name = "NAME", env = "USER", default_value = "unknown")]
    by: String,
    /// Really do it; without, only say what would be done
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    store: StoreArg,
    /// Print the outcome as one JSON object
    #[arg(long, env = "TRIBUNAL_JSON")]
    json: bool,
}

/// One execution in quarantine, with its case's id.
struct Waiting {
    row: QuarantineRow,
    case: String,
}

/// Executes the command; gives the exit code.
///
/// # Errors
/// When the store cannot be used or nothing fits.
pub async fn execute(command: QuarantineCommand) -> anyhow::Result<u8> {
    match command {
        QuarantineCommand::List(args) => list(args).await,
        QuarantineCommand::Show(args) => show(args).await,
        QuarantineCommand::Release(args) => decide(args, QUARANTINE_RELEASE).await,
        QuarantineCommand::Discard(args) => decide(args, QUARANTINE_DISCARD).await,
    }
}

async fn waiting(reader: &dyn JournalReader, run: Option<RunId>, all: bool) -> anyhow::Result<Vec<Waiting>> {
    let rows = reader.quarantine(run, ROWS_MAX).await?;
    let mut chunks: BTreeMap<ChunkId, ChunkState> = BTreeMap::new();
    let mut waiting = vec![];
    for row in rows.into_iter().filter(|row| all || row.status == QuarantineStatus::Waiting) {
        let chunk = match chunks.entry(row.chunk) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(load::<Chunk>(reader, &StreamId::Chunk(row.chunk)).await?.state),
        };
        let case = chunk.case_id(row.execution.case).unwrap_or("?").to_string();
        waiting.push(Waiting { row, case });
    }
    Ok(waiting)
}

fn as_json(waiting: &Waiting) -> serde_json::Value {
    let Waiting { row, case } = waiting;
    json!({
        "run": row.run, "case": case, "repeat": row.execution.repeat, "attempt": row.attempt,
        "status": row.status, "reason": row.reason, "since_ms": row.since,
    })
}

async fn list(args: ListArgs) -> anyhow::Result<u8> {
    let reader = args.store.reader().await?;
    let run = match &args.run {
        Some(text) => Some(resolve_run(&*reader, &args.store, text).await?),
        None => None,
    };
    let waiting = waiting(&*reader, run, args.all).await?;
    let mut out = std::io::stdout().lock();
    for one in &waiting {
        if args.json {
            writeln!(out, "{}", as_json(one))?;
        } else {
            let Waiting { row, case } = one;
            let case = crate::report::text::escaped(case);
            writeln!(
                out,
                "{}  {case}  repeat {}  {}  {}",
                row.run,
                row.execution.repeat,
                row.status.name(),
                row.reason
            )?;
        }
    }
    if waiting.is_empty() {
        writeln!(std::io::stderr(), "nothing waits in quarantine")?;
    }
    Ok(0)
}

async fn show(args: ShowArgs) -> anyhow::Result<u8> {
    let reader = args.store.reader().await?;
    let run = resolve_run(&*reader, &args.store, &args.run).await?;
    let wanted = |one: &Waiting| args.case.as_ref().is_none_or(|case| one.case == *case);
    let found: Vec<Waiting> = waiting(&*reader, Some(run), true).await?.into_iter().filter(wanted).collect();
    anyhow::ensure!(!found.is_empty(), "nothing that fits was ever in quarantine for run {run}");
    let mut out = std::io::stdout().lock();
    for one in &found {
        let attempt = load::<Attempt>(&*reader, &StreamId::Attempt(one.row.attempt)).await?.state;
        if args.json {
            let mut shown = as_json(one);
            shown["started"] = json!(attempt.started.as_deref());
            writeln!(out, "{shown}")?;
            continue;
        }
        let Waiting { row, case } = one;
        writeln!(out, "case     {} repeat {}", crate::report::text::escaped(case), row.execution.repeat)?;
        writeln!(out, "status   {}", row.status.name())?;
        writeln!(out, "reason   {}", row.reason)?;
        writeln!(out, "attempt  {}", row.attempt)?;
        if let Some(started) = &attempt.started {
            writeln!(out, "sent     attempt {} with Idempotency-Key {}", started.number, started.idempotency_key)?;
        }
        writeln!(out, "history  tribunal events --stream attempt-{}{}", row.attempt, args.store.option())?;
    }
    Ok(0)
}

async fn decide(args: DecideArgs, action: &'static str) -> anyhow::Result<u8> {
    let OpenStore { journal, holder } = args.store.journal().await?;
    let run = resolve_run(&*journal, &args.store, &args.run).await?;
    let all = waiting(&*journal, Some(run), false).await?;
    let chosen: Vec<&Waiting> =
        all.iter().filter(|one| args.cases.is_empty() || args.cases.contains(&one.case)).collect();
    if let Some(stranger) = args.cases.iter().find(|id| !all.iter().any(|one| one.case == **id)) {
        anyhow::bail!(
            "case {stranger} of run {run} does not wait in quarantine; `tribunal quarantine list` shows what does"
        );
    }
    anyhow::ensure!(!chosen.is_empty(), "nothing of run {run} waits in quarantine");
    if !args.yes {
        for one in &chosen {
            writeln!(std::io::stderr(), "{}  repeat {}  {}", one.case, one.row.execution.repeat, one.row.reason)?;
        }
        anyhow::bail!("{} executions would be touched; add --yes to do it", chosen.len());
    }
    let shell = Shell {
        directory: Directory::here(journal.clone()),
        chance: Arc::new(SystemChance),
        holder,
        team: TEAM.into(),
        settings: Arc::new(Settings::default()),
        focus: Arc::default(),
    };
    let executions: BTreeSet<ExecutionKey> = chosen.iter().map(|one| one.row.execution).collect();
    let follow =
        if action == QUARANTINE_RELEASE { release(&shell, run, &args, &chosen, &executions).await? } else { None };
    record(&shell, run, &args, action, &executions).await?;
    tell(&args, run, action, executions.len(), follow)?;
    Ok(0)
}

/// Lets executions be tried again: in their run while it has no verdict, else in a run that follows it.
async fn release(
    shell: &Shell,
    run: RunId,
    args: &DecideArgs,
    chosen: &[&Waiting],
    executions: &BTreeSet<ExecutionKey>,
) -> anyhow::Result<Option<RunId>> {
    let state = load_run(&**shell.journal(), run).await?;
    if state.phase.is_over() {
        let catalog = Catalog::open(Options::default()).await?;
        let submission = follow_up(&**shell.journal(), run, &state, executions).await?;
        return Ok(Some(submission.submit(shell, &catalog).await?));
    }
    let mut by_chunk: BTreeMap<ChunkId, Vec<ExecutionKey>> = BTreeMap::new();
    for one in chosen {
        by_chunk.entry(one.row.chunk).or_default().push(one.row.execution);
    }
    for (chunk, executions) in by_chunk {
        let by = Intervention { by: args.by.clone(), reason: args.reason.clone() };
        shell.ask_run(run, RunCommand::ReopenChunk { chunk: chunk.number, by }).await?;
        shell.ask_chunk(chunk, None, ChunkCommand::ReleaseQuarantined { executions }).await?;
    }
    Ok(None)
}

async fn record(
    shell: &Shell,
    run: RunId,
    args: &DecideArgs,
    action: &str,
    executions: &BTreeSet<ExecutionKey>,
) -> anyhow::Result<()> {
    let deed = OperatorActed {
        by: args.by.clone(),
        action: action.into(),
        run: Some(run),
        executions: executions.iter().copied().collect(),
        reason: args.reason.clone(),
        changed: executions.len() as u64,
    };
    let id = shell.fresh();
    let stream = StreamId::Operator(id);
    let live = load::<Operator>(&**shell.journal(), &stream).await?;
    let events = Operator::decide(&live.state, &Act(deed))?;
    let unit = UnitBuilder::new(shell.origin(id, run)).stream::<Operator>(&stream, &live, &events)?.build();
    anyhow::ensure!(shell.append(unit).await?, "somebody else recorded the same deed");
    Ok(())
}

fn tell(args: &DecideArgs, run: RunId, action: &str, changed: usize, follow: Option<RunId>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", json!({ "run": run, "action": action, "changed": changed, "follow_up": follow }))?;
        return Ok(());
    }
    writeln!(out, "{action}: {changed} executions of run {run}")?;
    let next = match (action == QUARANTINE_RELEASE, follow) {
        (true, Some(follow)) => {
            writeln!(out, "run {follow} follows it and carries every other result")?;
            Some(follow)
        }
        (true, None) => Some(run),
        (false, _) => None,
    };
    if let Some(next) = next {
        writeln!(out, "carry on: tribunal run --resume {next}{}", args.store.option())?;
    }
    Ok(())
}
