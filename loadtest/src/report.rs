//! The report: a table for people, JSON for machines. All from the same
//! numbers, so that they cannot disagree.

use crate::child::Cost;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Everything that was measured, and where.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The binary that was measured.
    pub binary: String,
    /// Where its stores were written.
    pub folder: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// In the order of measuring.
    pub measurements: Vec<Measurement>,
}

/// One run and its yardstick.
#[derive(Debug, Serialize)]
pub struct Measurement {
    /// Cases judged.
    pub cases: u64,
    /// Calls in flight at once.
    pub in_flight: u64,
    /// The agent's latency.
    pub latency_ms: u64,
    /// Of the process, start and verdict included.
    pub wall_ms: f64,
    /// Cases over wall time.
    pub cases_per_second: f64,
    /// CPU of the process, both modes, over the cases.
    pub cpu_ms_per_case: f64,
    /// CPU in user mode.
    pub cpu_user_ms: f64,
    /// CPU in the kernel.
    pub cpu_system_ms: f64,
    /// The most memory the process held at once.
    pub peak_rss_bytes: u64,
    /// What a plain loop reached on the same agent right before.
    pub yardstick: Yardstick,
    /// Cases a second over the yardstick's calls a second.
    pub share_of_yardstick: f64,
}

/// What a plain HTTP loop reached.
#[derive(Debug, Serialize)]
pub struct Yardstick {
    /// Calls made.
    pub calls: u64,
    /// From the first call to the last answer.
    pub wall_ms: f64,
    /// Calls over wall time.
    pub calls_per_second: f64,
    /// CPU of its process over the calls.
    pub cpu_ms_per_call: f64,
    /// The most memory it held at once.
    pub peak_rss_bytes: u64,
}

impl Report {
    /// A report with nothing measured yet.
    pub fn begin(binary: &Path, folder: &Path) -> Report {
        Report {
            binary: binary.display().to_string(),
            folder: folder.display().to_string(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            measurements: Vec::new(),
        }
    }
}

impl Yardstick {
    /// The figures of a loop that took `wall` for its calls.
    pub fn new(calls: u64, wall: Duration, cost: &Cost) -> Yardstick {
        Yardstick {
            calls,
            wall_ms: ms(wall),
            calls_per_second: rate(calls, wall),
            cpu_ms_per_call: ms(cost.cpu()) / calls as f64,
            peak_rss_bytes: cost.peak_rss_bytes,
        }
    }
}

impl Measurement {
    /// The figures of a run.
    pub fn new(cases: u64, in_flight: u64, latency_ms: u64, cost: &Cost, yardstick: Yardstick) -> Measurement {
        let cases_per_second = rate(cases, cost.wall);
        Measurement {
            cases,
            in_flight,
            latency_ms,
            wall_ms: ms(cost.wall),
            cases_per_second,
            cpu_ms_per_case: ms(cost.cpu()) / cases as f64,
            cpu_user_ms: ms(cost.user),
            cpu_system_ms: ms(cost.system),
            peak_rss_bytes: cost.peak_rss_bytes,
            share_of_yardstick: cases_per_second / yardstick.calls_per_second,
            yardstick,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {} cores, stores in {}\n", self.binary, self.cores, self.folder)?;
        writeln!(
            f,
            "{:>8}  {:>7}  {:>9}  {:>8}  {:>7}  {:>11}  {:>8}  {:>10}  {:>12}  {:>5}",
            "cases",
            "latency",
            "in flight",
            "wall",
            "cases/s",
            "CPU ms/case",
            "peak MiB",
            "raw call/s",
            "raw ms/call",
            "share"
        )?;
        for row in &self.measurements {
            writeln!(
                f,
                "{:>8}  {:>4} ms  {:>9}  {:>6.2} s  {:>7.0}  {:>11.3}  {:>8.0}  {:>10.0}  {:>12.3}  {:>4.0}%",
                row.cases,
                row.latency_ms,
                row.in_flight,
                row.wall_ms / 1000.0,
                row.cases_per_second,
                row.cpu_ms_per_case,
                mib(row.peak_rss_bytes),
                row.yardstick.calls_per_second,
                row.yardstick.cpu_ms_per_call,
                row.share_of_yardstick * 100.0,
            )?;
        }
        Ok(())
    }
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

fn rate(count: u64, wall: Duration) -> f64 {
    count as f64 / wall.as_secs_f64().max(f64::EPSILON)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1u32 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(wall_ms: u64, cpu_ms: u64) -> Cost {
        Cost {
            stdout: String::new(),
            wall: Duration::from_millis(wall_ms),
            user: Duration::from_millis(cpu_ms / 2),
            system: Duration::from_millis(cpu_ms / 2),
            peak_rss_bytes: 64 << 20,
        }
    }

    #[test]
    fn table_and_json_say_the_same() {
        let yardstick = Yardstick::new(500, Duration::from_millis(100), &cost(120, 50));
        let mut report = Report::begin(Path::new("tribunal"), Path::new("tmp"));
        report.measurements.push(Measurement::new(1000, 100, 0, &cost(500, 800), yardstick));
        let table = report.to_string();
        let row: Vec<&str> = table.lines().last().expect("a row").split_whitespace().collect();
        assert_eq!(row, ["1000", "0", "ms", "100", "0.50", "s", "2000", "0.800", "64", "5000", "0.100", "40%"]);
        let json = serde_json::to_value(&report).expect("JSON");
        assert_eq!(json["measurements"][0]["cases_per_second"].as_f64(), Some(2000.0));
        assert_eq!(json["measurements"][0]["share_of_yardstick"].as_f64(), Some(0.4));
        assert_eq!(json["measurements"][0]["yardstick"]["cpu_ms_per_call"].as_f64(), Some(0.1));
    }
}
