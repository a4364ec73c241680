//! A bench: a folder with a profile, a dataset and a store, an agent that listens,
//! and the binary that puts it on trial.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tribunal::agent::{Call, MockAgent, Options, Running, Script};
use tribunal::journal::sqlite::SqliteReader;
use tribunal_actors::ports::journal::{EventFilter, JournalReader};
use tribunal_schema::codec::decode;
use tribunal_schema::events::{AttemptEvent, AttemptFailed};
use tribunal_schema::ids::RunId;
use tribunal_schema::view::{ExecutionRow, OutcomeRow};

/// Far beyond any run of these tests: a command that takes longer hangs.
const HANGS: Duration = Duration::from_secs(180);

/// A profile's gate and evaluator where a test does not care.
pub(crate) const SAYS_IT: &str = "evaluators: [{ use: std/contains }]\ngate: [{ min_pass_rate: 0.95 }]\n";

/// A folder and an agent.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    agent: Running,
}

impl Bench {
    /// With an agent that follows a script, and says the question back where it has no rule.
    pub(crate) async fn new(script: &str) -> Bench {
        let script = Script::parse(script, "script.yaml").expect("a script");
        Bench::with_agent(Options { script, ..Options::default() }).await
    }

    /// With an agent of any kind.
    pub(crate) async fn with_agent(options: Options) -> Bench {
        let agent = MockAgent::start(options).await.expect("an agent");
        Bench { folder: tempfile::tempdir().expect("a folder"), agent }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the folder.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    /// Writes `profile.yaml`: the agent with more of `target`, and `rest` below it.
    pub(crate) fn profile(&self, target: &str, rest: &str) {
        let url = self.agent.chat_url();
        let text = format!("profile: bench\ntarget: {{ kind: chat, url: \"{url}\", model: mock{target} }}\n{rest}");
        self.write("profile.yaml", text);
    }

    /// Writes `cases.jsonl`.
    pub(crate) fn cases(&self, lines: &[&str]) {
        self.write("cases.jsonl", lines.join("\n"));
    }

    /// Writes `cases.jsonl` with this many cases `c0`, `c1` and so on that an echo answers rightly.
    pub(crate) fn echo_cases(&self, count: usize) {
        let lines: Vec<String> =
            (0..count).map(|n| format!(r#"{{"id":"c{n}","input":"say {n}","expected":"{n}"}}"#)).collect();
        self.write("cases.jsonl", lines.join("\n"));
    }

    /// Runs `profile.yaml` on `cases.jsonl` with `--json` and these flags.
    pub(crate) async fn run(&self, flags: &[&str]) -> Ended {
        self.run_with(flags, &[]).await
    }

    /// The same with variables in the environment.
    pub(crate) async fn run_with(&self, flags: &[&str], variables: &[(&str, &str)]) -> Ended {
        let arguments = [&["run", "profile.yaml", "--dataset", "cases.jsonl", "--json"], flags].concat();
        tribunal(self.folder.path(), &arguments, variables).await
    }

    /// The agent's calls so far, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.agent.calls()
    }

    /// The store, to read.
    pub(crate) fn store(&self) -> SqliteReader {
        SqliteReader::open(&self.path(".tribunal")).expect("a store")
    }

    /// The journal's `attempt.failed` of a run, in order.
    pub(crate) async fn failures(&self, run: RunId) -> Vec<AttemptFailed> {
        let filter =
            EventFilter { run: Some(run), event_type: Some("attempt.failed".into()), ..EventFilter::default() };
        let events = self.store().read_feed(&filter, None, false, 1000).await.expect("events");
        let failed = |event: &_| match decode::<AttemptEvent>(event) {
            Ok(AttemptEvent::Failed(failed)) => failed,
            other => panic!("{other:?} is no attempt.failed"),
        };
        events.iter().map(failed).collect()
    }

    /// The rows of a run's executions.
    pub(crate) async fn executions(&self, run: RunId) -> Vec<ExecutionRow> {
        self.store().executions(run, None, None, 1000).await.expect("executions")
    }

    /// What the bindings said of the attempt that settled the only execution.
    pub(crate) async fn outcomes(&self, execution: &ExecutionRow) -> Vec<OutcomeRow> {
        self.store().outcomes(execution.attempt.expect("an attempt")).await.expect("outcomes")
    }
}

/// What a command said, and its code.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The last line of stdout, which `--json` promises to be one object.
    pub(crate) fn json(&self) -> Value {
        let line = self.stdout.lines().last().unwrap_or_else(|| panic!("nothing on stdout: {self:?}"));
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The run's id.
    pub(crate) fn run(&self) -> RunId {
        self.json()["run"].as_str().expect("a run").parse().expect("a run's id")
    }

    /// Its verdict.
    pub(crate) fn verdict(&self) -> String {
        self.json()["verdict"].as_str().unwrap_or_default().to_owned()
    }

    /// A number of its counts.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.json()["counts"][name].as_u64().unwrap_or_else(|| panic!("no count {name}: {self:?}"))
    }

    /// Its reasons in one text.
    pub(crate) fn reasons(&self) -> String {
        self.json()["reasons"].to_string()
    }
}

/// Runs the binary in a folder, with nothing of this process's `TRIBUNAL_*`.
pub(crate) async fn tribunal(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_tribunal"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TRIBUNAL_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).current_dir(folder).envs(variables.iter().copied());
    command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"));
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(HANGS, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{arguments:?} hangs")).expect("the binary runs");
    Ended {
        code: output.status.code().unwrap_or_else(|| panic!("{arguments:?} died of {}", output.status)),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}
