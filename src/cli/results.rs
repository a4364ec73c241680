//! `tribunal results RUN`: the report again, with its executions; or everything of one case.
//!
//! Without `--case` it ends with the code of the run's verdict, as `tribunal run`
//! did: one verdict, wherever it is asked for.

use super::store::{StoreArg, resolve_run};
use crate::config::near::near;
use crate::report::{CaseIds, CaseReport, Cell, Look, ReportError, RunReport, Style, Table, text::escaped};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::io::Write;
use tribunal_actors::aggregate::load;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_actors::run::Run;
use tribunal_schema::ids::{ExecutionKey, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::view::ExecutionRow;

/// Executions a page.
const PAGE: u32 = 1000;

/// Shows the results of a run; exits like the run: 0 pass, 2 fail, 3 inconclusive, 4 no verdict
#[derive(Clone, Debug, Args)]
pub struct ResultsArgs {
    /// The run's id, or `latest`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The store.
    #[command(flatten)]
    pub store: StoreArg,
    /// Show everything of one case
    #[arg(long = "case", value_name = "ID", env = "TRIBUNAL_CASE")]
    pub case: Option<String>,
    /// List only executions that ended so
    #[arg(long, value_enum, value_delimiter = ',', env = "TRIBUNAL_OUTCOME")]
    pub outcome: Vec<OutcomeArg>,
    /// List at most this many executions, and describe at most this many that did not pass
    #[arg(long, value_name = "N", env = "TRIBUNAL_LIMIT")]
    pub limit: Option<u32>,
    /// Write one JSON object to stdout
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
}

/// How an execution ended, on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutcomeArg {
    /// Passed
    Passed,
    /// Failed
    Failed,
    /// Errored
    Errored,
    /// Abstained
    Abstained,
}

impl OutcomeArg {
    const fn outcome(self) -> ExecutionOutcome {
        match self {
            OutcomeArg::Passed => ExecutionOutcome::Passed,
            OutcomeArg::Failed => ExecutionOutcome::Failed,
            OutcomeArg::Errored => ExecutionOutcome::Errored,
            OutcomeArg::Abstained => ExecutionOutcome::Abstained,
        }
    }
}

/// Runs the command on stdout.
///
/// # Errors
/// When there is no such run or case, or the journal cannot be read.
pub async fn execute(args: &ResultsArgs, reader: &dyn JournalReader) -> Result<u8> {
    let look = Look::of_stdout().with_store(args.store.named());
    write(args, reader, &look, &mut std::io::stdout()).await
}

pub(super) async fn write(
    args: &ResultsArgs,
    reader: &dyn JournalReader,
    look: &Look,
    out: &mut (dyn Write + Send),
) -> Result<u8> {
    let run = resolve_run(reader, &args.store, &args.run).await?;
    match &args.case {
        Some(case) => one_case(args, reader, look, out, run, case).await,
        None => whole_run(args, reader, look, out, run).await,
    }
}

async fn one_case(
    args: &ResultsArgs,
    reader: &dyn JournalReader,
    look: &Look,
    out: &mut (dyn Write + Send),
    run: RunId,
    case: &str,
) -> Result<u8> {
    let state = load::<Run>(reader, &StreamId::Run(run)).await?.state;
    let planned = state.planned.ok_or(ReportError::Unknown(run))?;
    let mut ids = CaseIds::new(reader, run, &planned.plan);
    let Some(found) = ids.find(case).await? else {
        let hint = near(case, ids.known()).map(|id| format!("; did you mean {:?}?", escaped(id))).unwrap_or_default();
        bail!("no case {case:?} in run {run}{hint}");
    };
    let report = CaseReport::read(reader, run, &planned.plan.profile, &found).await?;
    if args.json {
        writeln!(out, "{}", report.json())?;
    } else {
        report.write(out, look)?;
    }
    Ok(0)
}

async fn whole_run(
    args: &ResultsArgs,
    reader: &dyn JournalReader,
    look: &Look,
    out: &mut (dyn Write + Send),
    run: RunId,
) -> Result<u8> {
    let described = args.limit.unwrap_or(10) as usize;
    let report = RunReport::read(reader, run, described).await?;
    let limit = args.limit.unwrap_or(100) as usize;
    let (rows, more) = executions(reader, run, &report, args, limit).await?;
    if args.json {
        let mut object = report.json();
        object["executions"] = rows.iter().map(|(id, row)| row_json(id, row)).collect();
        object["executions_more"] = Value::from(more);
        writeln!(out, "{object}")?;
    } else {
        report.write(out, look)?;
        write_rows(out, look, &rows, more, limit)?;
    }
    Ok(report.exit_code())
}

/// Executions with their cases' ids, and whether there are more.
async fn executions(
    reader: &dyn JournalReader,
    run: RunId,
    report: &RunReport,
    args: &ResultsArgs,
    limit: usize,
) -> Result<(Vec<(String, ExecutionRow)>, bool)> {
    let state = load::<Run>(reader, &StreamId::Run(run)).await?.state;
    let planned = state.planned.ok_or(ReportError::Unknown(report.run))?;
    let mut ids = CaseIds::new(reader, run, &planned.plan);
    let wanted: Vec<ExecutionOutcome> = args.outcome.iter().map(|outcome| outcome.outcome()).collect();
    let filter = (!wanted.is_empty()).then_some(wanted.as_slice());
    let mut rows: Vec<(String, ExecutionRow)> = vec![];
    let mut after: Option<ExecutionKey> = None;
    loop {
        let page = reader.executions(run, after, filter, PAGE).await?;
        let full = page.len() == PAGE as usize;
        for row in page {
            if rows.len() == limit {
                return Ok((rows, true));
            }
            after = Some(row.execution);
            let id = ids.id(row.execution.case).await?.map_or_else(|| row.execution.to_string(), |(id, _)| id);
            rows.push((id, row));
        }
        if !full {
            return Ok((rows, false));
        }
    }
}

fn row_json(id: &str, row: &ExecutionRow) -> Value {
    json!({
        "case_id": id,
        "case": row.execution.case,
        "repeat": row.execution.repeat,
        "outcome": row.outcome,
        "score_ppm": row.score_ppm,
        "failure": row.failure,
        "attempt": row.attempt,
    })
}

fn write_rows(
    out: &mut dyn Write,
    look: &Look,
    rows: &[(String, ExecutionRow)],
    more: bool,
    limit: usize,
) -> std::io::Result<()> {
    look.title(out, "Executions")?;
    if rows.is_empty() {
        return writeln!(out, "  none");
    }
    let mut table = Table::new(&["~case", ">repeat", "outcome", ">score", "no answer"]);
    for (id, row) in rows {
        let style = match row.outcome {
            ExecutionOutcome::Passed => Style::Good,
            ExecutionOutcome::Failed => Style::Bad,
            ExecutionOutcome::Errored | ExecutionOutcome::Abstained => Style::Doubt,
        };
        table.row(vec![
            escaped(id).into(),
            row.execution.repeat.to_string().into(),
            Cell::styled(row.outcome.name(), style),
            row.score_ppm.map_or_else(|| "-".into(), |score| score.to_string()).into(),
            row.failure.map(|class| class.name()).unwrap_or_default().into(),
        ]);
    }
    table.write(out, look)?;
    if more { writeln!(out, "  ... more than {limit}: --limit N shows more") } else { Ok(()) }
}
