//! A child process and what it cost.
//!
//! CPU time and peak memory come from `wait4`, so they are the kernel's own
//! count for exactly this child. The kernel carries the peak of the parent over
//! into the child at the start, so a peak below the hammer's own few MiB
//! cannot be seen; the hammer keeps nothing in memory for that reason, and the
//! yardstick runs in a child as well.

use anyhow::{Context, bail};
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use wait4::Wait4;

/// What a child printed and what it cost.
#[derive(Debug)]
pub struct Cost {
    /// Its standard output.
    pub stdout: String,
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The most memory it held at once, in bytes.
    pub peak_rss_bytes: u64,
}

impl Cost {
    /// CPU time in both modes.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Runs a command to its end. Its output goes through files in `folder`: a full pipe would stop the clock of the
/// child and not ours. A status other than 0 is an error with the end of what it said.
pub fn run(command: &mut Command, folder: &Path) -> anyhow::Result<Cost> {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    command.stdout(File::create(&out)?).stderr(File::create(&err)?);
    let begun = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let used = child.wait4()?;
    let wall = begun.elapsed();
    let stdout = std::fs::read_to_string(&out)?;
    if !used.status.success() {
        let words = std::fs::read_to_string(&err)?;
        bail!("{:?} ended with {}:\n{}{}", command.get_program(), used.status, tail(&stdout), tail(&words));
    }
    let rusage = used.rusage;
    Ok(Cost { stdout, wall, user: rusage.utime, system: rusage.stime, peak_rss_bytes: rusage.maxrss })
}

/// The last lines of a text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].iter().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_charged_for_its_work_and_its_words_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let spin = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo done";
        let cost = run(Command::new("sh").args(["-c", spin]), folder.path()).expect("a shell");
        assert_eq!(cost.stdout, "done\n");
        assert!(cost.cpu() > Duration::ZERO && cost.peak_rss_bytes > 0);
    }

    #[test]
    fn a_child_that_fails_is_an_error_with_its_last_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"]), folder.path()).expect_err("it failed");
        assert!(error.to_string().contains("why") && error.to_string().contains('3'), "{error}");
    }
}
