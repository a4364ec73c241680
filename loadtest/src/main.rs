//! # The hammer
//!
//! Measures Tribunal from outside: it starts the release binary as a user
//! would, speaks HTTP to the agent like a stranger, and puts next to each
//! figure what a plain HTTP loop reaches on the same agent, on the same machine,
//! in the same minute. It shares no code with what it measures, so it cannot
//! share a mistake with it either.
//!
//! It measures and never judges: no figure here fails a build. What it does
//! refuse is to report a run that was not right; see [`embedded`].
//!
//! Read [`embedded`], [`append`] and [`replay`] for the scenarios, [`child`] for how CPU and memory are
//! taken, [`raw`] for the yardstick, README.md for the method.

mod agent;
mod append;
mod binary;
mod child;
mod embedded;
mod postgres;
mod raw;
mod replay;
mod report;

use clap::{Parser, Subcommand};

/// Measure Tribunal from outside, with a yardstick in the same run.
#[derive(Debug, Parser)]
#[command(name = "tribunal-loadtest", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Embedded(embedded::EmbeddedArgs),
    Append(append::AppendArgs),
    Replay(replay::ReplayArgs),
    Raw(raw::RawArgs),
}

/// Progress is for people; a closed stderr is no reason to stop measuring.
fn note(words: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "measuring: {words}");
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Embedded(args) => embedded::execute(&args),
        Command::Append(args) => append::execute(&args),
        Command::Replay(args) => replay::execute(&args),
        Command::Raw(args) => raw::execute(&args),
    }
}
