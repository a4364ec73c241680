//! The yardstick: a plain HTTP loop. As many calls in flight as the run has,
//! the same question, nothing kept, nothing judged, nothing durable. What
//! Tribunal adds is the distance to this.

use anyhow::{Context, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Ask an agent in a plain HTTP loop and print the wall time as JSON.
#[derive(Args, Clone, Debug)]
pub struct RawArgs {
    /// Where chats are completed.
    pub url: String,
    /// How many calls to make.
    #[arg(long, env = "TRIBUNAL_LOADTEST_CALLS", default_value_t = 1000)]
    pub calls: u64,
    /// How many of them at once.
    #[arg(long, env = "TRIBUNAL_LOADTEST_IN_FLIGHT", default_value_t = 100)]
    pub in_flight: u64,
}

/// What the loop prints.
#[derive(Debug, Deserialize, Serialize)]
pub struct RawResult {
    /// Calls that were answered with 200 and the question.
    pub calls: u64,
    /// From the first call to the last answer, without the start of the process.
    pub wall_us: u64,
}

/// Makes the calls and prints [`RawResult`].
pub fn execute(args: &RawArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(calls(args))?;
    writeln!(std::io::stdout(), "{}", serde_json::to_string(&result)?)?;
    Ok(())
}

async fn calls(args: &RawArgs) -> anyhow::Result<RawResult> {
    // The client wants a TLS provider even for a URL that needs none; a second install is harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build()?;
    let next = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let callers: Vec<_> = (0..args.in_flight)
        .map(|_| tokio::spawn(caller(client.clone(), args.url.clone(), args.calls, Arc::clone(&next))))
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok(RawResult { calls: args.calls, wall_us: u64::try_from(begun.elapsed().as_micros())? })
}

async fn caller(client: reqwest::Client, url: String, calls: u64, next: Arc<AtomicU64>) -> anyhow::Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= calls {
            return Ok(());
        }
        let question = question(number);
        let body = serde_json::json!({ "model": "mock", "messages": [{ "role": "user", "content": question }] });
        let request = client.post(&url).header("content-type", "application/json").body(body.to_string());
        let response = request.send().await.with_context(|| format!("call {number}"))?;
        let status = response.status();
        let body = response.bytes().await.with_context(|| format!("answer {number}"))?;
        let answer: serde_json::Value = serde_json::from_slice(&body)?;
        if !status.is_success() || answer["choices"][0]["message"]["content"] != question.as_str() {
            bail!("call {number} was answered with {status} and another text");
        }
    }
}

/// The question of a call or case: short, and different each time.
pub fn question(number: u64) -> String {
    format!("Please repeat the word number-{number} and nothing else.")
}
