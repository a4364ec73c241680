//! What a person wants to know of a database before trusting a journal to it.

use super::address::PostgresAddress;
use super::columns;
use super::error::OpenError;
use super::link::Link;
use super::queues;
use super::schema::{self, SchemaState};
use std::time::{SystemTime, UNIX_EPOCH};
use tribunal_actors::ports::journal::Failure;
use tribunal_schema::sql::postgres as sql;

/// The oldest transaction that holds the feed back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The server's process that has it open; 0 for a prepared transaction, which has none.
    pub pid: i32,
    /// For how long, in milliseconds; `None` when the role may not know it of another one's session.
    pub lag_ms: Option<i64>,
    /// What it calls itself.
    pub application: String,
}

/// What was found out about a database.
#[derive(Clone, Debug)]
pub struct Doctor {
    /// The database, without a password.
    pub address: PostgresAddress,
    /// What it holds.
    pub schema: SchemaState,
    /// The server's version.
    pub server: String,
    /// The role and the database that this process is connected as and to.
    pub role: String,
    /// The name of the database.
    pub database: String,
    /// Settings under which a commit would not be durable: name and value.
    pub unsafe_settings: Vec<(&'static str, String)>,
    /// Whether the role may append and read; `None` without a journal.
    pub can_write: Option<bool>,
    /// Whether only the triggers keep the role from changing what is recorded.
    pub could_change_events: Option<bool>,
    /// How far this machine's clock is ahead of the database's, in milliseconds.
    pub clock_ahead_ms: i64,
    /// What holds the feed back now.
    pub horizon: Option<Horizon>,
}

/// What holds the feed back now.
pub(super) async fn horizon(link: &Link) -> Result<Option<Horizon>, Failure> {
    let Some(row) = link.row(sql::HORIZON, &[]).await? else { return Ok(None) };
    Ok(Some(Horizon {
        pid: columns::plain(&row, 0)?,
        lag_ms: columns::plain(&row, 1)?,
        application: columns::plain(&row, 2)?,
    }))
}

impl Doctor {
    /// Looks at a database; changes nothing.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn examine(address: &PostgresAddress) -> Result<Doctor, OpenError> {
        let link = Link::new(address)?;
        let schema = schema::state(&link).await?;
        let found = Doctor::look(&link, schema).await;
        found.map_err(|failure| OpenError::Unreachable { address: address.clone(), reason: failure.message })
    }

    async fn look(link: &Link, schema: SchemaState) -> Result<Doctor, Failure> {
        let server = link.row(sql::DOCTOR_SERVER, &[]).await?.ok_or_else(|| Failure::new("no answer"))?;
        let setting = |index| columns::plain::<String>(&server, index);
        let mut unsafe_settings = vec![];
        for (index, name) in [(1, "fsync"), (2, "synchronous_commit"), (3, "full_page_writes")] {
            let value = setting(index)?;
            // `local` and more are as durable as this server alone can be.
            if value == "off" {
                unsafe_settings.push((name, value));
            }
        }
        let rights = match schema {
            SchemaState::Current(_) => link.row(sql::DOCTOR_RIGHTS, &[]).await?,
            SchemaState::Missing | SchemaState::Older(_) | SchemaState::Newer(_) => None,
        };
        let right = |index| rights.as_ref().map(|row| columns::plain::<bool>(row, index)).transpose();
        let can_write = right(0)?.zip(right(1)?).map(|(insert, select)| insert && select);
        let here = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock_ahead_ms = i64::try_from(here.as_millis()).unwrap_or(i64::MAX) - queues::now(link).await?.0;
        Ok(Doctor {
            address: link.address().clone(),
            schema,
            server: setting(0)?,
            role: setting(4)?,
            database: setting(5)?,
            unsafe_settings,
            can_write,
            could_change_events: right(2)?,
            clock_ahead_ms,
            horizon: horizon(link).await?,
        })
    }
}
