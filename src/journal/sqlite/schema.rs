//! The schema of a store: connections as the journal needs them, and migrations.
//!
//! Migrations go forward only. The writer applies what is missing under its
//! lock, each in a transaction with its row in `schema_version`, so that a kill
//! in between leaves an older schema and never half of one. A newer schema is
//! refused by everybody: an old build would read it wrong.

use super::JOURNAL_FILE;
use super::columns;
use super::error::OpenError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tribunal_schema::sql::sqlite as sql;

/// How long a statement waits for a lock that only a checkpoint, a recovery or an outsider can hold.
const BUSY: Duration = Duration::from_secs(10);
/// The writer's page cache in KiB: enough for the hot pages of every index.
const WRITER_CACHE_KIB: i64 = 16 * 1024;
/// A reader's page cache in KiB.
const READER_CACHE_KIB: i64 = 4 * 1024;
/// Pages of the log after which it is copied back: 16 MiB, so that a page that many commits touch is copied once.
const CHECKPOINT_PAGES: i64 = 4096;
/// What a log may keep of its size after it was copied back.
const LOG_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// More than all statements there are, so that none is ever prepared twice.
const STATEMENTS_CACHED: usize = 128;

/// The newest schema that this build knows.
pub(super) const KNOWN: u32 = sql::MIGRATIONS.len() as u32;

/// The writer's connection, migrated. The caller holds the store's lock.
pub(super) fn open_writer(store: &Path, pages_max: Option<u32>) -> Result<Connection, OpenError> {
    let path = store.join(JOURNAL_FILE);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = |source| database_error(&path, source);
    let mut connection = Connection::open_with_flags(&path, flags).map_err(database)?;
    connection.busy_timeout(BUSY).map_err(database)?;
    refuse_foreign(&connection, &path)?;
    tune_writer(&connection).map_err(database)?;
    if let Some(pages_max) = pages_max {
        connection.pragma_update_and_check(None, "max_page_count", pages_max, |_| Ok(())).map_err(database)?;
    }
    let found = schema_version(&connection).map_err(database)?;
    refuse_newer(store, found)?;
    migrate(&mut connection, found).map_err(database)?;
    Ok(connection)
}

/// A reader's connection of an existing store with this build's schema.
pub(super) fn open_reader(store: &Path) -> Result<Connection, OpenError> {
    let path = store.join(JOURNAL_FILE);
    if !path.exists() {
        return Err(OpenError::Missing { store: store.to_path_buf() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = |source| database_error(&path, source);
    let connection = Connection::open_with_flags(&path, flags).map_err(database)?;
    connection.busy_timeout(BUSY).map_err(database)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.pragma_update(None, "query_only", true).map_err(database)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB).map_err(database)?;
    refuse_foreign(&connection, &path)?;
    let found = schema_version(&connection).map_err(database)?;
    refuse_newer(store, found)?;
    let known = KNOWN;
    if found < known {
        return Err(OpenError::Older { store: store.to_path_buf(), found, known });
    }
    Ok(connection)
}

/// Every commit is on the disk before it is told, and every constraint is kept.
fn tune_writer(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_MAX, |_| Ok(()))
}

/// Refuses a file that holds tables and no schema version: it is somebody else's.
fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let database = |source| database_error(path, source);
    let versioned: bool = connection.query_row(sql::SCHEMA_VERSION_EXISTS, [], |row| row.get(0)).map_err(database)?;
    let tables: bool = connection.query_row(sql::TABLES_EXIST, [], |row| row.get(0)).map_err(database)?;
    if tables && !versioned {
        return Err(OpenError::Foreign { path: path.to_path_buf() });
    }
    Ok(())
}

/// The schema's version; 0 = there is none yet.
fn schema_version(connection: &Connection) -> rusqlite::Result<u32> {
    let exists: bool = connection.query_row(sql::SCHEMA_VERSION_EXISTS, [], |row| row.get(0))?;
    if !exists {
        return Ok(0);
    }
    connection.query_row(sql::SCHEMA_VERSION_READ, [], |row| row.get(0))
}

fn refuse_newer(store: &Path, found: u32) -> Result<(), OpenError> {
    let known = KNOWN;
    if found > known {
        return Err(OpenError::Newer { store: store.to_path_buf(), found, known });
    }
    Ok(())
}

fn migrate(connection: &mut Connection, found: u32) -> rusqlite::Result<()> {
    for migration in sql::MIGRATIONS.iter().filter(|migration| migration.version > found) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql::SCHEMA_VERSION_CREATE)?;
        transaction.execute_batch(migration.sql)?;
        let applied_at = columns::now(&transaction)?;
        transaction.execute(sql::SCHEMA_VERSION_INSERT, (migration.version, applied_at.0))?;
        transaction.commit()?;
    }
    Ok(())
}

fn database_error(path: &Path, source: rusqlite::Error) -> OpenError {
    let path: PathBuf = path.to_path_buf();
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::Foreign { path },
        _ => OpenError::Database { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_fits_the_newest_schema() {
        let mut connection = Connection::open_in_memory().expect("memory");
        migrate(&mut connection, 0).expect("migrations");
        for (file, statement) in sql::STATEMENTS {
            let prepared = connection.prepare(statement);
            assert!(prepared.is_ok(), "{file}: {prepared:?}");
        }
    }

    #[test]
    fn migrations_are_numbered_from_one_without_gaps() {
        let versions: Vec<u32> = sql::MIGRATIONS.iter().map(|migration| migration.version).collect();
        assert_eq!(versions, (1..=KNOWN).collect::<Vec<u32>>());
    }
}
