//! The replay scenario: events a second that `replay verify` proves, on a folder
//! and on a server, next to what the server copies out of the same table.

use crate::agent::Agent;
use crate::append::migrate;
use crate::embedded::run_cases;
use crate::postgres::{Database, psql, said};
use crate::{binary, note};
use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Measure `tribunal replay verify`: events a second, beside COPY OUT of the same events.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// A server to measure on as well: an address whose role may make databases.
    #[arg(long, env = "TRIBUNAL_LOADTEST_POSTGRES", value_name = "URL", hide_env_values = true)]
    pub postgres: Option<String>,
    /// Cases of the run that is proven.
    #[arg(long, env = "TRIBUNAL_LOADTEST_CASES", default_value_t = 10_000)]
    pub cases: u64,
    /// One JSON object on stdout instead of the table.
    #[arg(long, env = "TRIBUNAL_LOADTEST_JSON")]
    pub json: bool,
    /// The binary to measure [default: this workspace's release build].
    #[arg(long, env = "TRIBUNAL_LOADTEST_BINARY", value_name = "PATH")]
    pub binary: Option<PathBuf>,
    /// Where the folder's store is written.
    #[arg(long, env = "TRIBUNAL_LOADTEST_FOLDER", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// What `replay verify --json` says, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Proof {
    proof: String,
    events: u64,
}

#[derive(Debug, Serialize)]
struct Line {
    journal: &'static str,
    run_cases_per_second: f64,
    events: u64,
    verify_events_per_second: f64,
    copied_rows_per_second: Option<f64>,
}

/// Measures, and prints the report.
pub fn execute(args: &ReplayArgs) -> anyhow::Result<()> {
    let binary = binary::find(args.binary.as_deref())?;
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::Builder::new().prefix("tribunal-loadtest-").tempdir_in(&folder)?;
    let agent = Agent::start(&binary, 0)?;
    let store = scratch.path().join("store").display().to_string();
    note("SQLite");
    let mut lines = vec![measure(&binary, &agent, scratch.path(), "SQLite", &store, args.cases)?];
    if let Some(admin) = &args.postgres {
        note("Postgres");
        let database = Database::create(admin, "replay")?;
        migrate(&binary, &database.url())?;
        let mut line = measure(&binary, &agent, scratch.path(), "Postgres", &database.url(), args.cases)?;
        let begun = Instant::now();
        psql(&database.url(), "COPY tribunal.events TO STDOUT")?;
        line.copied_rows_per_second = Some(line.events as f64 / begun.elapsed().as_secs_f64());
        lines.push(line);
    }
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&lines)?)?;
        return Ok(());
    }
    writeln!(out, "journal   run cases/s    events  verify events/s  COPY OUT rows/s")?;
    for one in lines {
        let copied = one.copied_rows_per_second.map_or_else(|| "-".into(), |rows| format!("{rows:.0}"));
        let (journal, cases, events, verified) =
            (one.journal, one.run_cases_per_second, one.events, one.verify_events_per_second);
        writeln!(out, "{journal:<8}  {cases:>11.0}  {events:>8}  {verified:>15.0}  {copied:>15}")?;
    }
    Ok(())
}

fn measure(
    binary: &Path,
    agent: &Agent,
    folder: &Path,
    journal: &'static str,
    store: &str,
    cases: u64,
) -> anyhow::Result<Line> {
    let ran = run_cases(binary, agent, folder, store, cases)?;
    let begun = Instant::now();
    let verify = ["replay", "verify", "latest", "--json", "--no-progress", "--store", store];
    let printed = said("tribunal replay verify", Command::new(binary).args(verify).output()?)?;
    let took = begun.elapsed().as_secs_f64();
    let proof: Proof = serde_json::from_str(printed.lines().last().unwrap_or_default())
        .with_context(|| format!("verify printed no object: {printed:?}"))?;
    anyhow::ensure!(proof.proof == "proven", "the run is {}", proof.proof);
    Ok(Line {
        journal,
        run_cases_per_second: cases as f64 / ran.as_secs_f64(),
        events: proof.events,
        verify_events_per_second: proof.events as f64 / took,
        copied_rows_per_second: None,
    })
}
