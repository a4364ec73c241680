//! Supervisors: what keeps the work going, each a small duty over a bounded page.
//!
//! A duty does its page, then waits for a hint or a tick. Everything it does is
//! idempotent, because it may be done twice: by a restarted supervisor, or by
//! another process. A duty that fails is tried again with a growing wait; a
//! supervisor that dies is restarted, and three deaths in a minute end the process.

mod actor;
mod creation;
mod dispatch;
mod intents;
mod leases;
mod outbox;
mod ready_sweep;
mod settlement;

pub use actor::{Supervisors, start};
#[cfg(feature = "testing")]
pub(crate) use intents::result_digest;

use crate::aggregate::CommandError;
use async_trait::async_trait;

/// Whether there is more to do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The page was full, or something new was made possible.
    AtOnce,
    /// Wait for a hint or a tick.
    Later,
}

/// One page of judging, for tests that need no supervisor around it.
#[cfg(all(test, feature = "testing"))]
pub(crate) async fn judge_once(shell: &crate::shell::Shell) -> Result<Again, CommandError> {
    intents::Judging::new(shell.clone()).run_once().await
}

/// A supervisor's work.
#[async_trait]
pub(crate) trait Duty: Send + Sync + 'static {
    /// Its name in logs.
    fn name(&self) -> &'static str;

    /// One bounded page of work.
    async fn run_once(&self) -> Result<Again, CommandError>;

    /// Waits for a reason to run again; may wait for ever, a tick comes anyway.
    async fn hint(&self);
}

/// Whether a command's failure concerns that one thing only, so that the page goes on.
/// Rules and refusals are of the thing; the world's failures are of the page.
pub(crate) fn concerns_one(error: &CommandError) -> bool {
    match error {
        CommandError::Rejected(_) | CommandError::Refused(_) | CommandError::Quarantined { .. } => true,
        CommandError::Failed(_) | CommandError::Bug(_) => false,
    }
}
