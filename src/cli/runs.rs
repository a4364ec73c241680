//! `tribunal runs`: what is in the store.

use super::store::StoreArg;
use crate::report::{Cell, Look, Style, Table, instant, rfc3339, text::escaped};
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::score::Verdict;
use tribunal_schema::view::RunRow;

/// Lists the runs of a store, the newest first
#[derive(Clone, Debug, Args)]
pub struct RunsArgs {
    /// The store.
    #[command(flatten)]
    pub store: StoreArg,
    /// At most this many runs
    #[arg(long, value_name = "N", env = "TRIBUNAL_LIMIT", default_value_t = 20)]
    pub limit: u32,
    /// Write one JSON object to stdout
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
}

/// Runs the command on stdout.
///
/// # Errors
/// When the journal cannot be read or stdout not be written.
pub async fn execute(args: &RunsArgs, reader: &dyn JournalReader) -> Result<u8> {
    write(args, reader, &Look::of_stdout(), &mut std::io::stdout(), &mut std::io::stderr()).await
}

pub(super) async fn write(
    args: &RunsArgs,
    reader: &dyn JournalReader,
    look: &Look,
    out: &mut (dyn Write + Send),
    people: &mut (dyn Write + Send),
) -> Result<u8> {
    let rows = reader.runs(args.limit).await?;
    if args.json {
        writeln!(out, "{}", json!({"runs": rows.iter().map(row_json).collect::<Vec<_>>()}))?;
    } else if rows.is_empty() {
        writeln!(people, "no runs in store {}", escaped(&args.store.address.to_string()))?;
    } else {
        let mut table = Table::new(&["run", "planned (UTC)", "~profile", "~dataset", "result", ">score"]);
        for row in &rows {
            table.row(cells(row));
        }
        table.write(out, look)?;
    }
    Ok(0)
}

fn cells(row: &RunRow) -> Vec<Cell> {
    // The verdict where there is one; else the status says why there is none.
    let (result, style) = match row.verdict {
        Some(Verdict::Pass) => ("pass", Style::Good),
        Some(Verdict::Fail) => ("fail", Style::Bad),
        Some(Verdict::Inconclusive) => ("inconclusive", Style::Doubt),
        None => (row.status.name(), Style::Plain),
    };
    vec![
        row.run.to_string().into(),
        instant(row.created_at).chars().take("2026-11-30 21:45".len()).collect::<String>().into(),
        format!("{} {}", escaped(&row.profile), escaped(&row.profile_version)).into(),
        escaped(&row.dataset).into(),
        Cell::styled(result, style),
        row.score_ppm.map_or_else(|| "-".into(), |score| score.to_string()).into(),
    ]
}

fn row_json(row: &RunRow) -> Value {
    json!({
        "run": row.run,
        "created_at": rfc3339(row.created_at),
        "ended_at": row.ended_at.map(rfc3339),
        "profile": row.profile,
        "profile_version": row.profile_version,
        "dataset": row.dataset,
        "cases": row.cases,
        "executions": row.executions,
        "status": row.status,
        "reason": row.reason,
        "verdict": row.verdict,
        "score_ppm": row.score_ppm,
    })
}
