//! Where a journal is, and how it is opened: a folder of this machine for one
//! process at a time, or a database that many share.

use crate::chance::SystemChance;
use crate::journal::postgres::{self, AddressError, PostgresAddress, PostgresJournal, PostgresReader};
use crate::journal::sqlite::{self, SqliteJournal, SqliteReader};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use tribunal_actors::ports::chance::Chance;
use tribunal_actors::ports::journal::{Journal, JournalReader};
use tribunal_schema::ids::Incarnation;

/// The variable that holds a database's password where its URL does not, as every Postgres client reads it.
const PASSWORD: &str = "PGPASSWORD";

/// Where a store is. Shown without the password that a URL may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// A folder with an SQLite journal.
    Folder(PathBuf),
    /// A Postgres database.
    Postgres(PostgresAddress),
}

/// A store that is open for writing, under the name of this start of this process.
pub struct OpenStore {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// This start of this process: the holder of its leases.
    pub holder: Incarnation,
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot.
    #[error(transparent)]
    Folder(#[from] sqlite::OpenError),
    /// The database cannot.
    #[error(transparent)]
    Postgres(#[from] postgres::OpenError),
}

impl StoreAddress {
    /// Opens the store for reading; nothing of it is changed.
    ///
    /// # Errors
    /// In words that say what to do.
    pub async fn reader(&self) -> Result<Arc<dyn JournalReader>, OpenError> {
        match self {
            StoreAddress::Folder(folder) => Ok(Arc::new(SqliteReader::open(folder)?)),
            StoreAddress::Postgres(address) => Ok(Arc::new(PostgresReader::open(address).await?)),
        }
    }

    /// Opens the store for writing. A folder is made where there is none; a database must have been migrated.
    ///
    /// # Errors
    /// In words that say what to do.
    pub async fn journal(&self) -> Result<OpenStore, OpenError> {
        let holder = Incarnation(SystemChance.ulid());
        let journal: Arc<dyn Journal> = match self {
            StoreAddress::Folder(folder) => Arc::new(SqliteJournal::open(folder)?),
            StoreAddress::Postgres(address) => Arc::new(PostgresJournal::open(address, holder).await?),
        };
        Ok(OpenStore { journal, holder })
    }
}

impl FromStr for StoreAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<StoreAddress, AddressError> {
        if !PostgresAddress::is_meant(text) {
            return Ok(StoreAddress::Folder(text.into()));
        }
        let address: PostgresAddress = text.parse()?;
        Ok(StoreAddress::Postgres(match std::env::var(PASSWORD) {
            Ok(password) if !address.has_password() => address.with_password(&password),
            Ok(_) | Err(_) => address,
        }))
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAddress::Folder(folder) => folder.display().fmt(f),
            StoreAddress::Postgres(address) => address.fmt(f),
        }
    }
}
