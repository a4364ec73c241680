//! What can go wrong: when a database is opened, and inside a transaction.

use super::address::PostgresAddress;
use tokio_postgres::error::SqlState;
use tribunal_actors::ports::journal::Failure;

/// Why a database cannot be used as a journal.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nobody answers, or refuses.
    #[error("the database {address} cannot be reached: {reason}")]
    Unreachable {
        /// Where it was looked for.
        address: PostgresAddress,
        /// Why, without a password.
        reason: String,
    },
    /// There is no journal in it.
    #[error("the database {address} holds no journal; `tribunal migrate --store {address}` makes one")]
    Missing {
        /// The database.
        address: PostgresAddress,
    },
    /// A newer Tribunal migrated it.
    #[error("the database {address} has schema {found}, this build knows up to {known}: use a newer tribunal")]
    Newer {
        /// The database.
        address: PostgresAddress,
        /// Its schema.
        found: u32,
        /// The newest schema that this build knows.
        known: u32,
    },
    /// An older Tribunal migrated it.
    #[error(
        "the database {address} has schema {found}, this build needs {known}; `tribunal migrate --store {address}` brings it there"
    )]
    Older {
        /// The database.
        address: PostgresAddress,
        /// Its schema.
        found: u32,
        /// The schema that this build needs.
        known: u32,
    },
}

/// Why a statement has no answer.
#[derive(Debug)]
pub(super) enum Stop {
    /// Another try may succeed: the connection went, the server restarts, two transactions met.
    Again(String),
    /// Two writers met in one version of a stream: who looks again sees who was first.
    Overtaken,
    /// It will be refused whenever it comes.
    Refused(Refused),
}

/// What the database refuses.
#[derive(Debug)]
pub(super) struct Refused {
    /// In words.
    pub(super) message: String,
    /// The constraint that says no, where one does.
    pub(super) constraint: Option<String>,
}

/// The constraint that keeps versions unique.
const VERSIONS: &str = "stream_versions_are_unique";

impl From<tokio_postgres::Error> for Stop {
    fn from(error: tokio_postgres::Error) -> Stop {
        let Some(database) = error.as_db_error() else {
            return match error.is_closed() || is_io(&error) {
                true => Stop::Again(words(&error)),
                // A value that has no form on the wire: it will have none next time.
                false => Stop::Refused(Refused { message: words(&error), constraint: None }),
            };
        };
        let constraint = database.constraint().map(str::to_owned);
        if constraint.as_deref() == Some(VERSIONS) {
            return Stop::Overtaken;
        }
        match is_passing(database.code()) {
            true => Stop::Again(words(&error)),
            false => Stop::Refused(Refused { message: words(&error), constraint }),
        }
    }
}

impl Stop {
    pub(super) fn words(self) -> String {
        match self {
            Stop::Again(words) => words,
            Stop::Overtaken => "another process wrote to the stream".into(),
            Stop::Refused(refused) => refused.message,
        }
    }

    pub(super) fn failure(self) -> Failure {
        Failure::new(self.words())
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.is::<std::io::Error>() {
            return true;
        }
        source = cause.source();
    }
    // A connection that ended within a message has no cause of its own.
    error.to_string().contains("connection")
}

/// States that are not about the statement: classes 08, 53, 57 and 58, deadlocks, lock timeouts.
fn is_passing(state: &SqlState) -> bool {
    let class = state.code().get(..2).unwrap_or_default();
    matches!(class, "08" | "53" | "57" | "58" | "40")
        || *state == SqlState::LOCK_NOT_AVAILABLE
        || *state == SqlState::IN_FAILED_SQL_TRANSACTION
        || *state == SqlState::READ_ONLY_SQL_TRANSACTION
        || *state == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
}

/// An error with its causes, in one line.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    if let Some(database) = error.as_db_error() {
        return match database.detail() {
            Some(detail) => format!("{} ({detail})", database.message()),
            None => database.message().to_owned(),
        };
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    if text.contains("does not support TLS") {
        text.push_str("; `sslmode=disable` in the address speaks to it in the clear");
    }
    text
}
