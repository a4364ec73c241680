//! Links to a database: a bounded pool of connections with the settings that the
//! journal needs, and a deadline on every wait.

use super::address::PostgresAddress;
use super::error::{OpenError, Stop, words};
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use rand::RngExt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;
use tribunal_actors::ports::journal::Failure;

/// Connections of one pool. A process that writes has two: one for units, heartbeats and supervisors, one for readers.
const CONNECTIONS_MAX: usize = 6;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a caller waits for a free connection.
const QUEUE: Duration = Duration::from_secs(10);
/// How long one statement may take, as the server counts. The largest are pages of a thousand rows.
const STATEMENT_MS: u32 = 20_000;
/// How long a statement waits for a lock; a holder that dies is gone long before.
const LOCK_MS: u32 = 10_000;
/// How long a transaction may lie idle: ours never do, except when their process has been stopped.
const IDLE_MS: u32 = 15_000;
/// How long the client waits for an answer; longer than the server may take, so that its word comes first.
const ANSWER: Duration = Duration::from_secs(30);
/// How long bytes may go unacknowledged before a connection counts as dead.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
/// When the server looks whether a silent client is still there, and gives up, in seconds: 10 + 3 x 5. A machine that
/// lost its power would else hold its locks and its name for hours.
const SILENCE: &str = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";
/// Tries of a statement while a database is being opened: whoever mistyped an address hears of it in 3 s.
const TRIES_OPENING_MAX: u32 = 5;
/// Tries of a batch, and of a statement of an open journal: about two minutes, in which a server restarts and recovers; one
/// with many databases syncs all their files first. All that is asked of a journal is as patient as the units are; an
/// actor that cannot load dies of a failure as of a bug.
pub(super) const TRIES_MAX: u32 = 55;
/// The try at which a person is told, about 5 s after the first.
const TRIES_TOLD: u32 = 7;
/// The wait before the second try; it doubles.
const PAUSE_MS: u64 = 50;

/// The connections of one process to one database.
#[derive(Clone)]
pub(super) struct Link {
    address: PostgresAddress,
    pool: Pool,
    tries_max: u32,
}

impl Link {
    /// Connections are made when they are needed.
    pub(super) fn new(address: &PostgresAddress) -> Result<Link, OpenError> {
        let unreachable = |reason: String| OpenError::Unreachable { address: address.clone(), reason };
        let tls = tls().map_err(unreachable)?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(settings(address), tls, recycling);
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS_MAX)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(QUEUE))
            .create_timeout(Some(CONNECT))
            .recycle_timeout(Some(CONNECT))
            .build()
            .map_err(|error| unreachable(error.to_string()))?;
        Ok(Link { address: address.clone(), pool, tries_max: TRIES_OPENING_MAX })
    }

    /// As patient as an open journal must be.
    #[must_use]
    pub(super) fn patient(mut self) -> Link {
        self.tries_max = TRIES_MAX;
        self
    }

    pub(super) fn address(&self) -> &PostgresAddress {
        &self.address
    }

    /// A connection of the pool. One that failed must be [`retired`](retire).
    pub(super) async fn connection(&self) -> Result<Object, Stop> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => Stop::Again(words(&error)),
            other => Stop::Again(other.to_string()),
        })
    }

    /// A connection outside of the pool, with the same settings: for a session that means something.
    pub(super) async fn session(&self) -> Result<Client, Stop> {
        let tls = tls().map_err(Stop::Again)?;
        let connecting = settings(&self.address);
        let (client, connection) = timely(connecting.connect(tls)).await??;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = words(&error), "a session of the database ended");
            }
        });
        Ok(client)
    }

    /// All rows of a statement that may be given twice; passing troubles are tried again.
    pub(super) async fn rows(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        let mut tries = 0;
        loop {
            match self.rows_once(statement, values).await {
                Ok(rows) => return Ok(rows),
                Err(Stop::Again(reason)) if tries < self.tries_max => {
                    tries += 1;
                    tracing::debug!(reason, tries, "a statement is tried again");
                    pause(tries).await;
                }
                Err(stop) => return Err(stop.failure()),
            }
        }
    }

    /// The first row.
    pub(super) async fn row(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, Failure> {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    async fn rows_once(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Stop> {
        let connection = self.connection().await?;
        let asked = timely(async {
            let prepared = connection.prepare_cached(statement).await?;
            connection.query(&prepared, values).await
        });
        let rows = asked.await.and_then(|rows| rows.map_err(Stop::from));
        if let Err(Stop::Again(_)) = rows {
            retire(connection);
        }
        rows
    }

    /// How many rows a statement that may be given twice has changed.
    pub(super) async fn execute(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<u64, Failure> {
        let mut tries = 0;
        loop {
            match self.execute_once(statement, values).await {
                Ok(changed) => return Ok(changed),
                Err(Stop::Again(reason)) if tries < self.tries_max => {
                    tries += 1;
                    tracing::debug!(reason, tries, "a statement is tried again");
                    pause(tries).await;
                }
                Err(stop) => return Err(stop.failure()),
            }
        }
    }

    async fn execute_once(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<u64, Stop> {
        let connection = self.connection().await?;
        let asked = timely(async {
            let prepared = connection.prepare_cached(statement).await?;
            connection.execute(&prepared, values).await
        });
        let changed = asked.await.and_then(|changed| changed.map_err(Stop::from));
        if let Err(Stop::Again(_)) = changed {
            retire(connection);
        }
        changed
    }
}

/// Takes a connection out of its pool and closes it.
pub(super) fn retire(connection: Object) {
    drop(Object::take(connection));
}

/// Waits for an answer, but not for ever.
pub(super) async fn timely<T>(answer: impl Future<Output = T>) -> Result<T, Stop> {
    tokio::time::timeout(ANSWER, answer)
        .await
        .map_err(|_| Stop::Again(format!("the database did not answer within {} s", ANSWER.as_secs())))
}

/// Waits before the next try: longer each time, and not as long as everybody else.
pub(super) async fn pause(tries: u32) {
    if tries == TRIES_TOLD {
        tracing::warn!("the database does not answer, and is waited for");
    }
    let longest = PAUSE_MS << tries.min(6);
    let wait = rand::rng().random_range(longest / 2..=longest);
    tokio::time::sleep(Duration::from_millis(wait)).await;
}

fn settings(address: &PostgresAddress) -> Config {
    let mut config = address.config();
    let own = format!(
        "-c search_path=tribunal,pg_catalog -c statement_timeout={STATEMENT_MS} -c lock_timeout={LOCK_MS} \
         -c idle_in_transaction_session_timeout={IDLE_MS} -c default_transaction_isolation=read\\ committed {SILENCE}"
    );
    let options = config.get_options().map_or_else(|| own.clone(), |theirs| format!("{theirs} {own}"));
    config.options(options);
    config.connect_timeout(CONNECT).keepalives(true).keepalives_idle(UNACKNOWLEDGED).tcp_user_timeout(UNACKNOWLEDGED);
    if config.get_application_name().is_none() {
        config.application_name("tribunal");
    }
    config
}

/// TLS that trusts what this machine trusts.
fn tls() -> Result<MakeRustlsConnect, String> {
    let mut roots = rustls::RootCertStore::empty();
    // One that cannot be read is one that is not trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
