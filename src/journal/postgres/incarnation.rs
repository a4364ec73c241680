//! The name of a living process: an advisory lock that its session holds.
//!
//! Whoever can take the lock of a name knows that its process is dead. The session
//! is looked after by a task: when it breaks, another one takes the lock again. In
//! between somebody may end the leases of this process, which its term then tells it.

use super::link::{Link, pause, timely};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use tribunal_schema::ids::Incarnation;
use tribunal_schema::sql::postgres as sql;

/// How often the session is spoken to, so that a connection that died in silence is noticed.
const LOOK: Duration = Duration::from_secs(5);

/// A name that is held until this is dropped.
pub(super) struct HeldName {
    task: JoinHandle<()>,
}

impl HeldName {
    /// Takes the name and keeps it.
    pub(super) async fn hold(link: Link, holder: Incarnation) -> HeldName {
        let first = take(&link, holder).await;
        HeldName { task: tokio::spawn(keep(link, holder, first)) }
    }
}

impl Drop for HeldName {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(link: &Link, holder: Incarnation) -> Option<Client> {
    let session = link.session().await.ok()?;
    let taken = timely(session.query_one(sql::INCARNATION_LOCK, &[&holder.to_string()])).await.ok()?.ok()?;
    taken.get::<_, bool>(0).then_some(session)
}

async fn keep(link: Link, holder: Incarnation, mut session: Option<Client>) {
    let mut tries = 0;
    loop {
        match &session {
            Some(held) => {
                tokio::time::sleep(LOOK).await;
                if !matches!(timely(held.simple_query("")).await, Ok(Ok(_))) {
                    tracing::warn!(%holder, "the session that names this process broke and is made again");
                    session = None;
                }
            }
            None => {
                session = take(&link, holder).await;
                tries = if session.is_some() { 0 } else { tries + 1 };
                if session.is_none() {
                    pause(tries).await;
                }
            }
        }
    }
}
