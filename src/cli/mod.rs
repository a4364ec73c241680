//! The command line: one door to everything.
//!
//! Data goes to stdout, words for people to stderr. Exit codes are the same for
//! every command: 0 pass, proven or valid; 1 usage, configuration or tool error;
//! 2 gate failed or not proven; 3 inconclusive; 4 incomplete or cancelled; 130
//! interrupted.

mod catalog;
mod database;
mod demo;
pub mod evaluator;
mod events;
mod input;
mod measure;
pub mod mock_agent;
mod quarantine;
#[cfg(test)]
mod reading_tests;
mod replay;
mod results;
mod run;
mod runs;
mod store;
mod trial;
pub mod validate;

use crate::evaluator::{COMPILE_SUBCOMMAND, Catalog, compile_child_main};
use clap::{Parser, Subcommand};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// Puts AI agents on trial before they ship, and proves the verdict.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    /// Say more (-v: what happens, -vv: everything)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Put an agent on trial
    Run(run::RunArgs),
    /// See a trial of a built-in support agent
    Demo(demo::DemoArgs),
    /// List runs
    Runs(runs::RunsArgs),
    /// See what came of a run, or everything of one case
    Results(results::ResultsArgs),
    /// List events of the journal
    Events(events::EventsArgs),
    /// Prove a run from what was recorded
    #[command(subcommand)]
    Replay(replay::ReplayCommand),
    /// See and decide on what waits for a person
    #[command(subcommand)]
    Quarantine(quarantine::QuarantineCommand),
    /// Check profiles
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Check datasets
    #[command(subcommand)]
    Dataset(DatasetCommand),
    /// Bring a store to this version's schema
    Migrate(database::DatabaseArgs),
    /// See whether a store can be trusted with a journal
    Doctor(database::DatabaseArgs),
    /// List, show and try evaluators
    Evaluator(evaluator::EvaluatorArgs),
    /// Measure a store
    #[command(subcommand, hide = true)]
    Measure(measure::MeasureCommand),
    /// Be an agent that does as it is told, for tests
    MockAgent(mock_agent::MockAgentArgs),
}

#[derive(Debug, Subcommand)]
enum ProfileCommand {
    /// Say everything that is wrong with profiles
    Validate(validate::ProfileValidate),
}

#[derive(Debug, Subcommand)]
enum DatasetCommand {
    /// Say everything that is wrong with datasets
    Validate(validate::DatasetValidate),
}

/// The exit code of usage, configuration and tool errors.
const WRONG: u8 = 1;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args();
    if arguments.nth(1).as_deref() == Some(COMPILE_SUBCOMMAND) {
        return compile_child_main(arguments);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody may be reading; the code says it all the same.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(WRONG) } else { ExitCode::SUCCESS };
        }
    };
    log_to_stderr(cli.verbose);
    let system = actix::System::with_tokio_rt(|| {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .expect("the operating system gives threads and timers to a starting process")
    });
    match system.block_on(execute(cli.command)) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(WRONG)
        }
    }
}

async fn execute(command: Command) -> anyhow::Result<ExitCode> {
    let code = match command {
        Command::Run(args) => run::execute(args).await?,
        Command::Demo(args) => demo::execute(args).await?,
        Command::Profile(ProfileCommand::Validate(args)) => {
            let catalog = catalog::open().await?;
            tokio::task::spawn_blocking(move || validate_profiles(&catalog, &args)).await??
        }
        Command::Dataset(DatasetCommand::Validate(args)) => {
            let profile = args.profile.clone().unwrap_or_default();
            let catalog = catalog::ProfileCatalog::of(catalog::open().await?, &profile);
            tokio::task::spawn_blocking(move || args.execute(&catalog, &mut std::io::stdout(), &mut std::io::stderr()))
                .await??
        }
        Command::Runs(args) => runs::execute(&args, &*args.store.reader().await?).await?,
        Command::Results(args) => results::execute(&args, &*args.store.reader().await?).await?,
        Command::Events(args) => events::execute(&args, &*args.store.reader().await?).await?,
        Command::Replay(command) => replay::execute(command).await?,
        Command::Quarantine(command) => quarantine::execute(command).await?,
        Command::Migrate(args) => database::migrate(&args).await?,
        Command::Doctor(args) => database::doctor(&args).await?,
        Command::Measure(command) => measure::execute(command).await?,
        Command::Evaluator(args) => return evaluator::execute(args).await,
        Command::MockAgent(args) => return mock_agent::execute(args).await,
    };
    Ok(ExitCode::from(code))
}

/// Each profile with the evaluators as its folder sees them.
fn validate_profiles(catalog: &Arc<Catalog>, args: &validate::ProfileValidate) -> std::io::Result<u8> {
    let mut code = 0;
    for file in &args.files {
        let one = validate::ProfileValidate { files: vec![file.clone()], json: args.json };
        let catalog = catalog::ProfileCatalog::of(catalog.clone(), file);
        code = code.max(one.execute(&catalog, &mut std::io::stdout(), &mut std::io::stderr())?);
    }
    Ok(code)
}

fn log_to_stderr(verbose: u8) {
    let default = match verbose {
        0 => "tribunal=warn,tribunal_actors=warn,error",
        1 => "tribunal=info,tribunal_actors=info,warn",
        _ => "tribunal=debug,tribunal_actors=debug,info",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_env("TRIBUNAL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(crate::report::progress::log_writer)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .compact()
        .init();
}
