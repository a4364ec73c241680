//! `tribunal demo`: the main job against a built-in agent, with nothing to configure.

use super::catalog;
use super::input::{Input, Narrowing, prepare};
use super::store::StoreArg;
use super::trial::{Conduct, conduct};
use crate::agent::{MockAgent, Options, demo};
use std::io::Write;

/// See a trial of a built-in support agent
#[derive(Clone, Debug, clap::Args)]
pub struct DemoArgs {
    /// End stdout with the report as one JSON object on one line
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
    /// Show no progress
    #[arg(long, env = "TRIBUNAL_NO_PROGRESS")]
    pub no_progress: bool,
    /// Where the journal is
    #[command(flatten)]
    pub store: StoreArg,
}

/// Runs the demo; gives the exit code of its verdict.
///
/// # Errors
/// When the store cannot be used.
pub async fn execute(args: DemoArgs) -> anyhow::Result<u8> {
    let files = tempfile::Builder::new().prefix("tribunal-demo-").tempdir()?;
    let (profile, dataset) = (files.path().join("profile.yaml"), files.path().join("dataset.jsonl"));
    std::fs::write(&profile, demo::PROFILE)?;
    std::fs::write(&dataset, demo::DATASET)?;
    let agent = MockAgent::start(Options { demo: true, keep_calls: false, ..Options::default() }).await?;
    writeln!(std::io::stderr(), "a built-in support agent answers on {}", agent.url())?;
    let catalog = catalog::open().await?;
    let narrowing = Narrowing::default();
    let input = Input { profile, dataset, narrowing, target_url: Some(agent.chat_url()) };
    let prepared = prepare(catalog.clone(), input).await?;
    let opened = args.store.journal().await?;
    let code = conduct(Conduct {
        opened,
        catalog,
        submission: Some(prepared.submission),
        resumed: None,
        store: args.store,
        json: args.json,
        no_progress: args.no_progress,
    })
    .await;
    agent.stop().await;
    code
}
