//! Where a journal is, and how it is opened: a folder of this machine for one
//! process at a time, or a database that many share.

use crate::chance::SystemChance;
use crate::journal::sqlite::{OpenError, SqliteJournal, SqliteReader};
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use tribunal_actors::ports::chance::Chance;
use tribunal_actors::ports::journal::{Journal, JournalReader};
use tribunal_schema::ids::Incarnation;

/// Where a store is. Shown without the password that a URL may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAddress {
    /// A folder with an SQLite journal.
    Folder(PathBuf),
}

/// A store that is open for writing, under the name of this start of this process.
pub struct OpenStore {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// This start of this process: the holder of its leases.
    pub holder: Incarnation,
}

impl StoreAddress {
    /// Opens the store for reading; nothing of it is changed.
    ///
    /// # Errors
    /// In words that say what to do.
    pub async fn reader(&self) -> Result<Arc<dyn JournalReader>, OpenError> {
        match self {
            StoreAddress::Folder(folder) => Ok(Arc::new(SqliteReader::open(folder)?)),
        }
    }

    /// Opens the store for writing; a folder is made where there is none.
    ///
    /// # Errors
    /// In words that say what to do.
    pub async fn journal(&self) -> Result<OpenStore, OpenError> {
        let holder = Incarnation(SystemChance.ulid());
        match self {
            StoreAddress::Folder(folder) => Ok(OpenStore { journal: Arc::new(SqliteJournal::open(folder)?), holder }),
        }
    }
}

impl FromStr for StoreAddress {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<StoreAddress, Infallible> {
        Ok(StoreAddress::Folder(text.into()))
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAddress::Folder(folder) => folder.display().fmt(f),
        }
    }
}
