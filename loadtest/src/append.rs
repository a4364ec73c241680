//! The append scenario: events a second that a journal takes, durably, by writers
//! times events of a unit - on a folder, and on a server next to pgbench that inserts rows
//! of the same shape with as many clients on the same server.

use crate::postgres::{Database, program, psql, said};
use crate::{binary, note};
use anyhow::{Context, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Measure the journal alone: events a second, by writers and events of a unit, beside pgbench.
#[derive(Args, Clone, Debug)]
pub struct AppendArgs {
    /// A server to measure on as well: an address whose role may make databases.
    #[arg(long, env = "TRIBUNAL_LOADTEST_POSTGRES", value_name = "URL", hide_env_values = true)]
    pub postgres: Option<String>,
    /// Writers at once.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64")]
    pub writers: Vec<u32>,
    /// Events of a unit.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100")]
    pub events: Vec<u32>,
    /// How long each measurement takes.
    #[arg(long, default_value_t = 3)]
    pub seconds: u64,
    /// One JSON object on stdout instead of the table.
    #[arg(long, env = "TRIBUNAL_LOADTEST_JSON")]
    pub json: bool,
    /// The binary to measure [default: this workspace's release build].
    #[arg(long, env = "TRIBUNAL_LOADTEST_BINARY", value_name = "PATH")]
    pub binary: Option<PathBuf>,
    /// Where the folder's store is written: on the disk that matters [default: the system's temporary folder].
    #[arg(long, env = "TRIBUNAL_LOADTEST_FOLDER", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// What `tribunal measure append` prints for each measurement.
#[derive(Clone, Debug, Deserialize)]
struct Measured {
    writers: u32,
    events_per_unit: u32,
    events: u64,
    wall_us: u64,
    median_us: u64,
    p99_us: u64,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Line {
    journal: &'static str,
    writers: u32,
    events_per_unit: u32,
    events_per_second: f64,
    median_ms: f64,
    p99_ms: f64,
    /// What pgbench reached with rows of the same shape; nothing where there is no server.
    pgbench_rows_per_second: Option<f64>,
    share: Option<f64>,
}

/// Measures, and prints the report.
pub fn execute(args: &AppendArgs) -> anyhow::Result<()> {
    let binary = binary::find(args.binary.as_deref())?;
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::Builder::new().prefix("tribunal-loadtest-").tempdir_in(&folder)?;
    let store = scratch.path().join("store").display().to_string();
    note("SQLite");
    let mut lines: Vec<Line> = measure(&binary, &store, args)?.iter().map(|one| line("SQLite", one, None)).collect();
    if let Some(admin) = &args.postgres {
        note("Postgres");
        let database = Database::create(admin, "append")?;
        migrate(&binary, &database.url())?;
        let measured = measure(&binary, &database.url(), args)?;
        for one in &measured {
            note(&format!("pgbench, {} clients, {} rows", one.writers, one.events_per_unit));
            let rows = pgbench(&database.url(), scratch.path(), one, args.seconds)?;
            lines.push(line("Postgres", one, Some(rows)));
        }
    }
    print(&lines, args.json)
}

fn print(lines: &[Line], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(lines)?)?;
        return Ok(());
    }
    writeln!(out, "journal   writers  events/unit  events/s  median ms   p99 ms  pgbench rows/s  share")?;
    for one in lines {
        let (rows, share) = match (one.pgbench_rows_per_second, one.share) {
            (Some(rows), Some(share)) => (format!("{rows:.0}"), format!("{:.0}%", share * 100.0)),
            _ => ("-".into(), "-".into()),
        };
        writeln!(
            out,
            "{:<8}  {:>7}  {:>11}  {:>8.0}  {:>9.2}  {:>7.2}  {:>14}  {:>5}",
            one.journal,
            one.writers,
            one.events_per_unit,
            one.events_per_second,
            one.median_ms,
            one.p99_ms,
            rows,
            share
        )?;
    }
    Ok(())
}

fn line(journal: &'static str, one: &Measured, pgbench: Option<f64>) -> Line {
    let events_per_second = one.events as f64 / (one.wall_us as f64 / 1e6);
    Line {
        journal,
        writers: one.writers,
        events_per_unit: one.events_per_unit,
        events_per_second,
        median_ms: one.median_us as f64 / 1e3,
        p99_ms: one.p99_us as f64 / 1e3,
        pgbench_rows_per_second: pgbench,
        share: pgbench.map(|rows| events_per_second / rows),
    }
}

pub(crate) fn migrate(binary: &Path, store: &str) -> anyhow::Result<()> {
    said("tribunal migrate", Command::new(binary).args(["migrate", "--store", store]).output()?).map(drop)
}

fn measure(binary: &Path, store: &str, args: &AppendArgs) -> anyhow::Result<Vec<Measured>> {
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut command = Command::new(binary);
    command.args(["measure", "append", "--store", store, "--seconds", &args.seconds.to_string()]);
    command.args(["--writers", &list(&args.writers), "--events", &list(&args.events)]);
    let printed = said("tribunal measure", command.output()?)?;
    let lines = printed.lines().map(|line| serde_json::from_str(line).with_context(|| format!("{line:?}")));
    lines.collect()
}

/// Rows a second that pgbench inserts into a table of the same columns and indexes.
fn pgbench(url: &str, folder: &Path, one: &Measured, seconds: u64) -> anyhow::Result<f64> {
    psql(url, include_str!("../sql/yardstick_table.sql"))?;
    let script = folder.join("yardstick.sql");
    std::fs::write(&script, include_str!("../sql/yardstick_insert.sql"))?;
    let mut command = program("pgbench")?;
    command.args(["-n", "-M", "prepared", "-j", "2", "-c", &one.writers.to_string(), "-T", &seconds.to_string()]);
    command.args(["-D", &format!("rows={}", one.events_per_unit), "-f"]);
    let printed = said("pgbench", command.arg(&script).arg(url).output()?)?;
    let tps =
        printed.lines().find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse::<f64>().ok());
    let tps = tps.with_context(|| format!("pgbench said no rate: {printed}"))?;
    ensure!(tps > 0.0, "pgbench wrote nothing");
    Ok(tps * f64::from(one.events_per_unit))
}
