//! A folder with a profile and a dataset, and the binary working on them.

use super::{Record, binary, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A folder with everything a run needs.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// A dataset of `cases` echoes named `c-0`, `c-1` and so on, and a profile for the target at
    /// `url`; `more` are further lines of YAML at the profile's top, and the target's in `target`.
    pub(crate) fn new(cases: usize, url: &str, target: &str, more: &str) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().expect("a folder") };
        bench.write_dataset(cases);
        bench.write_profile(url, target, more);
        bench
    }

    /// A bench without files yet, for an agent that needs its folder first.
    pub(crate) fn empty() -> Bench {
        Bench { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn write_dataset(&self, cases: usize) {
        let mut dataset = String::new();
        for case in 0..cases {
            writeln!(dataset, r#"{{"id":"c-{case}","input":"say {case}.","expected":"say {case}."}}"#).unwrap();
        }
        self.write("dataset.jsonl", &dataset);
    }

    pub(crate) fn write_profile(&self, url: &str, target: &str, more: &str) {
        let profile = format!(
            "profile: kill\n\
             target: {{ kind: chat, url: \"{url}\", model: mock, {target} }}\n\
             {more}\n\
             evaluators:\n  - use: std/contains\n\
             gate:\n  - {{ min_pass_rate: 0.9 }}\n"
        );
        self.write("profile.yaml", &profile);
    }

    /// Writes a file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("the folder can be written");
        path
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a store in the folder.
    pub(crate) fn store(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Starts `tribunal run` with the bench's files, and more flags.
    pub(crate) fn run(&self, store: &Path, flags: &[&str]) -> Tribunal {
        let mut command = Command::new(binary());
        command.arg("run").arg(self.path().join("profile.yaml"));
        command.arg("--dataset").arg(self.path().join("dataset.jsonl"));
        command.arg("--store").arg(store).args(["--json", "--no-progress"]).args(flags);
        Tribunal { child: command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts") }
    }
}

/// A running `tribunal`; killed when dropped.
pub(crate) struct Tribunal {
    child: Child,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// The last line of stdout, where that is JSON.
    pub(crate) report: Value,
    /// Everything on stderr.
    pub(crate) stderr: String,
}

impl Tribunal {
    /// Kills it as kill -9 does; one that has ended stays ended.
    pub(crate) fn kill(mut self) {
        // An error means that it has ended.
        let _ = self.child.kill();
        self.child.wait().expect("a killed process ends");
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the process runs");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal again and again until it ends: signals that come together count once.
    pub(crate) async fn end_signalled(self, signal: Signal) -> Ended {
        let pid = Pid::from_child(&self.child);
        let again = tokio::spawn(async move {
            // The child is not waited for while this runs, so its id is nobody else's.
            while kill_process(pid, signal).is_ok() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        let ended = self.end().await;
        again.abort();
        ended
    }

    /// Waits for its end. A run that hangs is killed and fails the test with what it said.
    pub(crate) async fn end(self) -> Ended {
        self.end_within(Duration::from_secs(240)).await
    }

    async fn end_within(mut self, patience: Duration) -> Ended {
        let mut stdout = self.child.stdout.take().expect("stdout is piped");
        let mut stderr = self.child.stderr.take().expect("stderr is piped");
        let said = tokio::task::spawn_blocking(move || read_all(&mut stdout));
        let told = tokio::task::spawn_blocking(move || read_all(&mut stderr));
        let begin = std::time::Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                break status;
            }
            if begin.elapsed() > patience {
                self.child.kill().expect("a hanging process can be killed");
                let stderr = told.await.expect("stderr is read");
                panic!("tribunal did not end; it said:\n{stderr}");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let stdout = said.await.expect("stdout is read");
        let report = stdout.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or(Value::Null);
        Ended { code: status.code(), report, stderr: told.await.expect("stderr is read") }
    }

    /// Waits until the store says something of its newest run.
    pub(crate) async fn until_recorded(&self, store: &Path, what: &str, is_so: impl Fn(&Record) -> bool) {
        until(what, async || Record::read(store).await.is_some_and(|record| is_so(&record))).await;
    }
}

impl Drop for Tribunal {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_all(source: &mut impl std::io::Read) -> String {
    let mut text = String::new();
    source.read_to_string(&mut text).expect("a child writes text");
    text
}
