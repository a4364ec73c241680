//! The ready sweep: offers that stay unclaimed are published again, so that no
//! message is ever load-bearing.

use super::{Again, Duty};
use crate::aggregate::CommandError;
use crate::shell::Shell;
use async_trait::async_trait;

/// Makes old publications due again.
pub(super) struct ReadySweep {
    shell: Shell,
}

impl ReadySweep {
    pub(super) fn new(shell: Shell) -> ReadySweep {
        ReadySweep { shell }
    }
}

#[async_trait]
impl Duty for ReadySweep {
    fn name(&self) -> &'static str {
        "ready sweep"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        let journal = self.shell.journal();
        let again =
            journal.ready_unpublish(Some(self.shell.settings.ready_age), self.shell.focus.get().copied()).await?;
        if again > 0 {
            tracing::info!(chunks = again, "offers stayed unclaimed and are published again");
            journal.hints().ready.notify_one();
        }
        Ok(Again::Later)
    }

    async fn hint(&self) {
        std::future::pending().await
    }
}
