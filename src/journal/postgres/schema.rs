//! The schema: what a database holds, and how it gets what it should.
//!
//! Migrations go forward only and are asked for: a process that finds another
//! schema than its own refuses to work. Several may migrate at once; an
//! advisory lock lets one do it, and the others find it done.

use super::address::PostgresAddress;
use super::error::{OpenError, Stop};
use super::link::{Link, timely};
use tokio_postgres::Client;
use tribunal_schema::sql::postgres as sql;

/// What a database holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// No journal.
    Missing,
    /// The schema of an older build.
    Older(u32),
    /// This build's.
    Current(u32),
    /// The schema of a newer build.
    Newer(u32),
}

/// What a migration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The schema before it; 0 = none.
    pub from: u32,
    /// The schema after it.
    pub to: u32,
}

/// The newest schema that this build knows.
pub(super) fn known_version() -> u32 {
    sql::MIGRATIONS.last().map_or(0, |migration| migration.version)
}

/// Brings a database to this build's schema.
///
/// # Errors
/// When it cannot be reached or changed, or has a newer schema.
pub async fn migrate(address: &PostgresAddress) -> Result<Migrated, OpenError> {
    let link = Link::new(address)?;
    let unreachable = |stop: Stop| OpenError::Unreachable { address: address.clone(), reason: stop.words() };
    let mut session = link.session().await.map_err(unreachable)?;
    let known = known_version();
    match migrate_in(&mut session).await.map_err(unreachable)? {
        from if from > known => Err(OpenError::Newer { address: address.clone(), found: from, known }),
        from => Ok(Migrated { from, to: known }),
    }
}

/// Applies what is missing, in one transaction; gives the version before it.
async fn migrate_in(session: &mut Client) -> Result<u32, Stop> {
    let transaction = timely(session.transaction()).await??;
    timely(transaction.batch_execute(sql::SCHEMA_LOCK)).await??;
    timely(transaction.batch_execute(sql::SCHEMA_CREATE)).await??;
    timely(transaction.batch_execute(sql::SCHEMA_VERSION_CREATE)).await??;
    let from = timely(transaction.query_one(sql::SCHEMA_VERSION_READ, &[])).await??;
    let from = version(from.try_get(0)?);
    for migration in sql::MIGRATIONS.iter().filter(|migration| migration.version > from) {
        timely(transaction.batch_execute(migration.sql)).await??;
        timely(transaction.execute(sql::SCHEMA_VERSION_INSERT, &[&i64::from(migration.version)])).await??;
    }
    timely(transaction.commit()).await??;
    Ok(from)
}

/// What the database of a link holds.
pub(super) async fn state(link: &Link) -> Result<SchemaState, OpenError> {
    let unreachable = |reason: String| OpenError::Unreachable { address: link.address().clone(), reason };
    let exists = link.row(sql::SCHEMA_VERSION_EXISTS, &[]).await.map_err(|failure| unreachable(failure.message))?;
    if !exists.is_some_and(|row| row.get(0)) {
        return Ok(SchemaState::Missing);
    }
    let found = link.row(sql::SCHEMA_VERSION_READ, &[]).await.map_err(|failure| unreachable(failure.message))?;
    let (found, known) = (found.map_or(0, |row| version(row.get(0))), known_version());
    Ok(match found {
        0 => SchemaState::Missing,
        found if found < known => SchemaState::Older(found),
        found if found > known => SchemaState::Newer(found),
        found => SchemaState::Current(found),
    })
}

/// Refuses a database that has not this build's schema.
pub(super) async fn require_current(link: &Link) -> Result<(), OpenError> {
    let (address, known) = (link.address().clone(), known_version());
    match state(link).await? {
        SchemaState::Current(_) => Ok(()),
        SchemaState::Missing => Err(OpenError::Missing { address }),
        SchemaState::Older(found) => Err(OpenError::Older { address, found, known }),
        SchemaState::Newer(found) => Err(OpenError::Newer { address, found, known }),
    }
}

/// A version of its column; one that fits nothing is newer than everything.
fn version(found: i64) -> u32 {
    u32::try_from(found).unwrap_or(u32::MAX)
}
