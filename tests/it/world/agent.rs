//! The mock agent in a process of its own, and its call log: the ground truth.

use super::binary;
use serde::Deserialize;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// An agent that listens; killed when dropped.
pub(crate) struct Agent {
    child: Child,
    address: String,
    log: PathBuf,
}

/// One line of the log.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Call {
    pub(crate) event: String,
    pub(crate) at_ms: u64,
    pub(crate) run: String,
    pub(crate) case: String,
    pub(crate) repeat: u32,
    pub(crate) attempt: String,
    pub(crate) attempt_number: u32,
    pub(crate) idempotency_key: String,
}

impl Agent {
    /// Starts an agent on a free port. `flags` are those of `mock-agent`; the log is `calls.jsonl` in the folder.
    pub(crate) fn start(folder: &Path, flags: &[&str]) -> Agent {
        Agent::listen(folder, "127.0.0.1:0", flags)
    }

    fn listen(folder: &Path, address: &str, flags: &[&str]) -> Agent {
        let log = folder.join("calls.jsonl");
        let mut child = Command::new(binary())
            .args(["mock-agent", "--listen", address, "--log"])
            .arg(&log)
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the agent says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_string();
        Agent { child, address, log }
    }

    /// Where chats are completed.
    pub(crate) fn chat_url(&self) -> String {
        format!("http://{}/v1/chat/completions", self.address)
    }

    /// Kills the agent as kill -9 does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the agent runs");
        self.child.wait().expect("a killed process ends");
    }

    /// A new process at the address of the killed one.
    pub(crate) fn restart(&mut self, flags: &[&str]) {
        let folder = self.log.parent().expect("the log is in a folder").to_path_buf();
        *self = Agent::listen(&folder, &self.address.clone(), flags);
    }

    /// The calls so far, in order of arrival.
    pub(crate) fn calls(&self) -> Vec<Call> {
        calls(&self.log)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The whole lines of a log that are calls; the last one may still be being written.
pub(crate) fn calls(log: &Path) -> Vec<Call> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(|line| serde_json::from_str::<Call>(line).expect("a line of the call log"));
    lines.filter(|call| call.event == "call").collect()
}
