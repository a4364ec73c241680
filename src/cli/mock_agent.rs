//! `tribunal mock-agent`: an agent to put on trial when there is none at hand.

use crate::agent::{Answers, MockAgent, Options, Script};
use anyhow::Context as _;
use clap::Args;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run a scriptable agent that speaks OpenAI's chat form, until Ctrl-C.
///
/// Without a script or answers it says each question back. The first line of
/// stdout is the address it listens on.
#[derive(Args, Clone, Debug)]
pub struct MockAgentArgs {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, env = "TRIBUNAL_MOCK_LISTEN", default_value = "127.0.0.1:8790", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// YAML rules of who gets which reply or fault; the first that matches counts.
    #[arg(long, env = "TRIBUNAL_MOCK_SCRIPT", value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// A JSONL dataset whose expected values are the answers of its cases.
    #[arg(long, env = "TRIBUNAL_MOCK_ANSWERS", value_name = "FILE")]
    pub answers: Option<PathBuf>,
    /// The field of the dataset that holds the answer [default: the first of expected, expected_output, ideal, target,
    /// reference, answer, ground_truth].
    #[arg(long, env = "TRIBUNAL_MOCK_ANSWERS_FIELD", value_name = "NAME", requires = "answers")]
    pub answers_field: Option<String>,
    /// Be the support agent of the demo instead of saying the question back.
    #[arg(long, env = "TRIBUNAL_MOCK_DEMO")]
    pub demo: bool,
    /// How long each reply takes.
    #[arg(long, env = "TRIBUNAL_MOCK_LATENCY", default_value = "0ms", value_parser = humantime::parse_duration)]
    pub latency: Duration,
    /// Up to this much more, different for each call.
    #[arg(long, env = "TRIBUNAL_MOCK_JITTER", default_value = "0ms", value_parser = humantime::parse_duration)]
    pub jitter: Duration,
    /// Append one JSON line for each call received and one for its end.
    #[arg(long, env = "TRIBUNAL_MOCK_LOG", value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Runs the agent until Ctrl-C; 0 when it was stopped so.
///
/// # Errors
/// A file that cannot be read or understood, an address that is taken.
pub async fn execute(args: MockAgentArgs) -> anyhow::Result<ExitCode> {
    let script = args.script.as_deref().map(Script::read).transpose()?.unwrap_or_default();
    let field = args.answers_field.as_deref();
    let answers = args.answers.as_deref().map(|path| Answers::read(path, field)).transpose()?;
    let options = Options {
        listen: args.listen,
        script,
        answers,
        demo: args.demo,
        latency: args.latency,
        jitter: args.jitter,
        log: args.log,
        keep_calls: false,
    };
    let agent = MockAgent::start(options).await?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "listening on {}", agent.url()).and_then(|()| stdout.flush()).context("cannot write to stdout")?;
    drop(stdout);
    tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    agent.stop().await;
    Ok(ExitCode::SUCCESS)
}
