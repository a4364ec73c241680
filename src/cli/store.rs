//! The store that a command reads, and the run it is about.

use crate::daemon::store::{OpenStore, StoreAddress};
use crate::report::text::escaped;
use clap::Args;
use std::sync::Arc;
use tribunal_actors::ports::journal::{Failure, JournalReader};
use tribunal_schema::ids::RunId;

/// Where a store is when nobody says.
pub const DEFAULT_STORE: &str = ".tribunal";

/// `--store STORE`.
#[derive(Clone, Debug, Args)]
pub struct StoreArg {
    /// The journal: a folder, or postgres://USER@HOST:PORT/DATABASE (a password may come as PGPASSWORD)
    #[arg(long = "store", value_name = "STORE", env = "TRIBUNAL_STORE", hide_env_values = true, default_value = DEFAULT_STORE)]
    pub address: StoreAddress,
}

impl StoreArg {
    /// What commands that a report offers must name; `None` for the default store.
    pub fn named(&self) -> Option<String> {
        Some(self.address.to_string()).filter(|address| address != DEFAULT_STORE)
    }

    /// Opens the store for reading.
    pub async fn reader(&self) -> anyhow::Result<Arc<dyn JournalReader>> {
        Ok(self.address.reader().await?)
    }

    /// Opens the store for writing.
    pub async fn journal(&self) -> anyhow::Result<OpenStore> {
        Ok(self.address.journal().await?)
    }

    /// The option to repeat in an offered command, with a space before it.
    pub fn option(&self) -> String {
        self.named().map(|store| format!(" --store {}", crate::report::text::shell_word(&store))).unwrap_or_default()
    }
}

/// Why no run was found.
#[derive(Debug, thiserror::Error)]
pub enum NoRun {
    /// The text is no id.
    #[error("{text:?} is no run id (26 letters and digits) and not `latest`; `tribunal runs{option}` lists the runs")]
    NoId {
        /// What was given.
        text: String,
        /// The option that names the store.
        option: String,
    },
    /// There is no such run.
    #[error("no run {run} in store {store}; `tribunal runs{option}` lists them")]
    Unknown {
        /// The run.
        run: RunId,
        /// The store.
        store: String,
        /// The option that names the store.
        option: String,
    },
    /// There is no run at all.
    #[error("no run in store {store} yet; `tribunal run PROFILE --dataset FILE{option}` makes one")]
    Empty {
        /// The store.
        store: String,
        /// The option that names the store.
        option: String,
    },
    /// The journal could not be read.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// The run that a person means: an id in any case, or `latest`.
///
/// # Errors
/// Says what to do when there is no such run.
pub async fn resolve_run(reader: &dyn JournalReader, store: &StoreArg, text: &str) -> Result<RunId, NoRun> {
    let named = || escaped(&store.address.to_string()).into_owned();
    if text.eq_ignore_ascii_case("latest") {
        let newest = reader.runs(1).await?;
        let newest = newest.first().map(|row| row.run);
        return newest.ok_or_else(|| NoRun::Empty { store: named(), option: store.option() });
    }
    let run: RunId = text.trim().parse().map_err(|_| NoRun::NoId { text: text.into(), option: store.option() })?;
    match reader.run(run).await? {
        Some(_) => Ok(run),
        None => Err(NoRun::Unknown { run, store: named(), option: store.option() }),
    }
}
