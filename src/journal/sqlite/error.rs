//! What can go wrong: when a store is opened, and inside a transaction.

use rusqlite::ErrorCode;
use std::path::PathBuf;
use tribunal_actors::ports::journal::{AppendError, Refusal};

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another handle of this one, writes it.
    #[error("store {} is being written by {holder}", .store.display())]
    Held {
        /// The store.
        store: PathBuf,
        /// Who, in words.
        holder: String,
    },
    /// There is nothing to read.
    #[error("there is no store at {}", .store.display())]
    Missing {
        /// Where it was looked for.
        store: PathBuf,
    },
    /// A newer Tribunal wrote it.
    #[error("store {} has schema {found}, this build knows up to {known}: use a newer tribunal", .store.display())]
    Newer {
        /// The store.
        store: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this build knows.
        known: u32,
    },
    /// An older Tribunal wrote it, and a reader may not migrate it.
    #[error("store {} has schema {found}, this build reads {known}: open it for writing once to migrate it", .store.display())]
    Older {
        /// The store.
        store: PathBuf,
        /// Its schema.
        found: u32,
        /// The schema that this build reads.
        known: u32,
    },
    /// The file is a database of something else, or none.
    #[error("{} is not a journal of tribunal", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file of the store cannot be used.
    #[error("{} cannot be used for a store", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The database says no.
    #[error("the database {} cannot be used", .path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

/// Why an operation inside a transaction stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// It alone is rolled back; what else is in the transaction is written.
    Unit(AppendError),
    /// The database failed: the transaction is over, and everything in it.
    Database(rusqlite::Error),
}

impl Stop {
    /// A unit that can never be written.
    pub(super) fn invalid(reason: impl Into<String>) -> Stop {
        Stop::Unit(AppendError::Invalid(reason.into()))
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Stop {
        match is_about_the_unit(&error) {
            true => Stop::invalid(error.to_string()),
            false => Stop::Database(error),
        }
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Unit(AppendError::Refused(refusal))
    }
}

/// Whether the error would come back for this unit alone, whatever state the disk is in.
fn is_about_the_unit(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig | ErrorCode::Unknown
        ),
        // Everything else is made on this side of the database: a value that has no column form.
        _ => true,
    }
}
