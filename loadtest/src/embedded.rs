//! The embedded scenario: `tribunal run` on a folder, nothing else installed.
//!
//! For each number of cases and each latency of the agent: first the yardstick
//! on the agent, then the run on the same agent with as many calls in flight. A
//! run counts only if it was right: verdict pass, every case scored, exactly
//! one call a case. A fast wrong run is not a figure.

use crate::agent::Agent;
use crate::raw::{RawResult, question};
use crate::report::{Measurement, Report, Yardstick};
use crate::{binary, child, note};
use anyhow::{Context, bail, ensure};
use clap::Args;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Calls of the yardstick at most: enough for a steady rate, few enough to wait for.
const YARDSTICK_CALLS_MAX: u64 = 20_000;

/// Measure `tribunal run` against the built-in agent: cases a second, CPU a case, peak memory.
#[derive(Args, Clone, Debug)]
pub struct EmbeddedArgs {
    /// How many cases; one measurement each, at each latency.
    #[arg(long, env = "TRIBUNAL_LOADTEST_CASES", value_delimiter = ',', default_value = "1000,10000")]
    pub cases: Vec<u64>,
    /// The agent's latencies in milliseconds.
    #[arg(long, env = "TRIBUNAL_LOADTEST_LATENCY_MS", value_delimiter = ',', default_value = "0,100")]
    pub latency_ms: Vec<u64>,
    /// Calls in flight.
    #[arg(long, env = "TRIBUNAL_LOADTEST_IN_FLIGHT", default_value_t = 100)]
    pub in_flight: u64,
    /// A few hundred cases only: to see that it works.
    #[arg(long, env = "TRIBUNAL_LOADTEST_QUICK", conflicts_with = "cases")]
    pub quick: bool,
    /// One JSON object on stdout instead of the table.
    #[arg(long, env = "TRIBUNAL_LOADTEST_JSON")]
    pub json: bool,
    /// The binary to measure [default: this workspace's release build].
    #[arg(long, env = "TRIBUNAL_LOADTEST_BINARY", value_name = "PATH")]
    pub binary: Option<PathBuf>,
    /// Where stores are written: on the disk that matters [default: the system's temporary folder].
    #[arg(long, env = "TRIBUNAL_LOADTEST_FOLDER", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Measures, and prints the report.
pub fn execute(args: &EmbeddedArgs) -> anyhow::Result<()> {
    let binary = binary::find(args.binary.as_deref())?;
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let sizes = if args.quick { vec![300] } else { args.cases.clone() };
    let mut report = Report::begin(&binary, &folder);
    for &latency_ms in &args.latency_ms {
        let agent = Agent::start(&binary, latency_ms)?;
        for &cases in &sizes {
            ensure!(cases > 0 && args.in_flight > 0, "there must be at least one case and one call in flight");
            note(&format!("{cases} cases, agent at {latency_ms} ms, {} in flight", args.in_flight));
            let scratch = tempfile::Builder::new().prefix("tribunal-loadtest-").tempdir_in(&folder)?;
            let bench = Bench { binary: &binary, agent: &agent, folder: scratch.path(), in_flight: args.in_flight };
            let yardstick = bench.yardstick(cases.min(YARDSTICK_CALLS_MAX))?;
            report.measurements.push(bench.run(cases, latency_ms, yardstick)?);
        }
    }
    let mut stdout = std::io::stdout().lock();
    if args.json {
        writeln!(stdout, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(stdout, "{report}")?;
    }
    Ok(())
}

/// One agent, one folder, one binary.
struct Bench<'a> {
    binary: &'a Path,
    agent: &'a Agent,
    folder: &'a Path,
    in_flight: u64,
}

/// What `tribunal run --json` says at its end, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Summary {
    verdict: String,
    counts: BTreeMap<String, u64>,
    target_calls: u64,
}

impl Bench<'_> {
    fn yardstick(&self, calls: u64) -> anyhow::Result<Yardstick> {
        let hammer = std::env::current_exe().context("the hammer does not know where it is")?;
        let mut command = Command::new(hammer);
        command.args(["raw", &self.agent.chat_url, "--calls", &calls.to_string()]);
        command.args(["--in-flight", &self.in_flight.to_string()]);
        let cost = child::run(&mut command, self.folder)?;
        let result: RawResult = serde_json::from_str(cost.stdout.trim()).context("the raw loop printed no result")?;
        Ok(Yardstick::new(result.calls, Duration::from_micros(result.wall_us), &cost))
    }

    fn run(&self, cases: u64, latency_ms: u64, yardstick: Yardstick) -> anyhow::Result<Measurement> {
        let (dataset, profile) = (self.folder.join("dataset.jsonl"), self.folder.join("profile.yaml"));
        write_dataset(&dataset, cases)?;
        std::fs::write(&profile, profile_text(&self.agent.chat_url, self.in_flight))?;
        let mut command = Command::new(self.binary);
        command.arg("run").arg(&profile).arg("--dataset").arg(&dataset);
        command.arg("--store").arg(self.folder.join("store")).args(["--json", "--no-progress"]);
        let cost = child::run(&mut command, self.folder)?;
        check(&cost.stdout, cases)?;
        Ok(Measurement::new(cases, self.in_flight, latency_ms, &cost, yardstick))
    }
}

/// One run on any store that was right; how long it took.
pub(crate) fn run_cases(
    binary: &Path,
    agent: &Agent,
    folder: &Path,
    store: &str,
    cases: u64,
) -> anyhow::Result<Duration> {
    let (dataset, profile) = (folder.join("dataset.jsonl"), folder.join("profile.yaml"));
    write_dataset(&dataset, cases)?;
    std::fs::write(&profile, profile_text(&agent.chat_url, 100))?;
    let mut command = Command::new(binary);
    command.arg("run").arg(&profile).arg("--dataset").arg(&dataset);
    command.args(["--store", store, "--json", "--no-progress"]);
    let cost = child::run(&mut command, folder)?;
    check(&cost.stdout, cases)?;
    Ok(cost.wall)
}

/// Refuses a run that was not right.
fn check(stdout: &str, cases: u64) -> anyhow::Result<()> {
    let last = stdout.lines().last().unwrap_or_default();
    let summary: Summary =
        serde_json::from_str(last).with_context(|| format!("the run's last line is no summary: {last:?}"))?;
    if summary.verdict != "pass" {
        bail!("the verdict is {}, not pass: {last}", summary.verdict);
    }
    for part in ["cases", "scored", "passed"] {
        let count = summary.counts.get(part).copied();
        ensure!(count == Some(cases), "{part} is {count:?} of {cases}: {last}");
    }
    ensure!(summary.target_calls == cases, "{} calls for {cases} cases: {last}", summary.target_calls);
    Ok(())
}

fn write_dataset(path: &Path, cases: u64) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for number in 0..cases {
        let input = question(number);
        writeln!(file, r#"{{"id":"case-{number:07}","input":"{input}","expected":"number-{number}"}}"#)?;
    }
    file.into_inner()?.sync_all()
}

fn profile_text(url: &str, in_flight: u64) -> String {
    format!(
        r#"profile: loadtest
target: {{ kind: chat, url: "{url}", model: mock, timeout: 60s, max_in_flight: {in_flight} }}
evaluators:
  - use: std/contains
gate:
  - {{ min_pass_rate: 1.0 }}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str =
        r#"{"verdict":"pass","counts":{"cases":5,"scored":5,"passed":5,"missing":0},"target_calls":5,"reasons":[]}"#;

    #[test]
    fn a_run_that_was_right_is_a_figure() {
        check(&format!("something else\n{RIGHT}\n"), 5).expect("it was right");
    }

    #[test]
    fn a_run_that_was_not_right_is_no_figure() {
        for (part, instead) in [
            ("pass\"", "fail\""),
            ("\"scored\":5", "\"scored\":4"),
            ("\"cases\":5", "\"cases\":6"),
            ("\"passed\":5", "\"pissed\":5"),
            ("\"target_calls\":5", "\"target_calls\":6"),
        ] {
            let wrong = RIGHT.replace(part, instead);
            assert_ne!(wrong, RIGHT);
            assert!(check(&wrong, 5).is_err(), "{wrong}");
        }
        assert!(check("", 5).is_err());
    }

    #[test]
    fn the_dataset_has_as_many_cases_as_were_asked_for_and_each_is_json() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("d.jsonl");
        write_dataset(&path, 12).expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        let rows: Vec<serde_json::Value> = text.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
        assert_eq!(rows.len(), 12);
        let (input, expected) = (rows[11]["input"].as_str(), rows[11]["expected"].as_str());
        assert!(input.expect("a text").contains(expected.expect("a text")), "an echo is a right answer");
    }
}
