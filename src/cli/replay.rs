//! `tribunal replay`: the proof of a run, without asking the agent again.
//!
//! `replay verify RUN` reads the store and changes nothing; it may run beside the
//! process that writes it. Exit code 0: proven. 2: not proven, and the first thing
//! that breaks is named. 4: consistent so far, and there is no verdict - the run
//! is still going, or was cancelled or failed. 1: the store cannot be read, or
//! there is no such run.

use super::store::{StoreArg, resolve_run};
use crate::replay::{Advance, verify_watched};
use std::io::{IsTerminal, Write};
use tribunal_actors::ports::journal::JournalReader;

/// Prove what was recorded
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ReplayCommand {
    /// Prove a run's verdict from its events, or name the first thing that breaks
    Verify(VerifyArgs),
}

/// What to verify.
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {
    /// The run, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Where the run is
    #[command(flatten)]
    pub store: StoreArg,
    /// Print the outcome as one JSON object
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
    /// Say nothing while it goes on
    #[arg(long, env = "TRIBUNAL_NO_PROGRESS")]
    pub no_progress: bool,
}

/// Executes the command; gives the exit code.
///
/// # Errors
/// When the store cannot be read or there is no such run.
pub async fn execute(command: ReplayCommand) -> anyhow::Result<u8> {
    match command {
        ReplayCommand::Verify(args) => {
            let reader = args.store.reader().await?;
            verify(&args, &*reader, &mut std::io::stdout()).await
        }
    }
}

/// Verifies a run; gives the exit code.
///
/// # Errors
/// When the journal cannot be read, there is no such run, or `out` cannot be written.
pub async fn verify(args: &VerifyArgs, reader: &dyn JournalReader, out: &mut dyn Write) -> anyhow::Result<u8> {
    let run = resolve_run(reader, &args.store, &args.run).await?;
    let shown = !args.no_progress && std::io::stderr().is_terminal();
    let verification = verify_watched(reader, run, &mut |advance| {
        if shown {
            tell(advance);
        }
    })
    .await?;
    if args.json {
        writeln!(out, "{}", verification.json())?;
    } else {
        writeln!(out, "{verification}")?;
    }
    Ok(verification.exit_code())
}

/// One line on a terminal, written over itself. That nobody can read it is no reason to stop.
fn tell(Advance { chunks, of, events }: Advance) {
    let end = if chunks == of { "\r\u{1b}[K" } else { "" };
    let _ = write!(std::io::stderr(), "\r\u{1b}[Kverifying: chunk {chunks} of {of}, {events} events{end}");
}
