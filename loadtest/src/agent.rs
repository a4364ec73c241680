//! The agent that is asked: `tribunal mock-agent` in a process of its own, so
//! that its CPU time is nobody else's.

use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running agent; dropping it ends it.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    /// Where chats are completed.
    pub chat_url: String,
}

impl Agent {
    /// Starts an agent that says each question back after this many milliseconds.
    pub fn start(binary: &Path, latency_ms: u64) -> anyhow::Result<Agent> {
        let mut child = Command::new(binary)
            .args(["mock-agent", "--listen", "127.0.0.1:0", "--latency", &format!("{latency_ms}ms")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        let stdout = child.stdout.take().context("the agent has no output")?;
        let mut agent = Agent { child, chat_url: String::new() };
        let mut first = String::new();
        BufReader::new(stdout).read_line(&mut first)?;
        let Some(url) = first.trim().strip_prefix("listening on ") else {
            bail!("the agent began with {first:?} instead of its address");
        };
        agent.chat_url = format!("{url}/v1/chat/completions");
        Ok(agent)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
