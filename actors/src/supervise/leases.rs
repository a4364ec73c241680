//! Leases: expires those whose time is over, each in one unit with its attempts
//! and the chunk's new ready row.

use super::{Again, Duty, concerns_one};
use crate::aggregate::CommandError;
use crate::chunk::ChunkCommand;
use crate::mutant::{self, Mutant};
use crate::ports::journal::{LeaseRow, Row};
use crate::shell::Shell;
use async_trait::async_trait;
use std::sync::Arc;

const PAGE: u32 = 64;

/// Expires leases.
pub(super) struct Leases {
    shell: Shell,
}

impl Leases {
    pub(super) fn new(shell: Shell) -> Leases {
        Leases { shell }
    }

    async fn expire(&self, lease: &LeaseRow) -> Result<(), CommandError> {
        let run = self.shell.directory.run(lease.chunk.run).look().await?;
        let Some(planned) = &run.state.planned else {
            return Err(CommandError::Bug(format!("chunk {} has no run", lease.chunk)));
        };
        let profile = Arc::new(planned.plan.profile.clone());
        let (term, recovery_limit) = (lease.term, self.shell.settings.recovery_limit);
        let expire = |_: &_, fates, _| ChunkCommand::Expire { term, fates, profile: profile.clone(), recovery_limit };
        if mutant::is_alive(Mutant::ExpiryInTwoSteps) {
            self.shell.write_rows(lease.chunk.run, vec![Row::LeaseExpire { chunk: lease.chunk, term }]).await?;
        }
        self.shell.close_term(lease.chunk, vec![], expire).await?;
        tracing::info!(chunk = %lease.chunk, %term, holder = %lease.holder, "lease expired");
        Ok(())
    }
}

#[async_trait]
impl Duty for Leases {
    fn name(&self) -> &'static str {
        "leases"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        let due = self.shell.journal().leases_due(PAGE).await?;
        let mut expired = 0;
        for lease in &due {
            match self.expire(lease).await {
                Ok(()) => expired += 1,
                Err(error) if concerns_one(&error) => {
                    tracing::warn!(chunk = %lease.chunk, %error, "lease could not be expired");
                }
                Err(error) => return Err(error),
            }
        }
        // A full page of which nothing could be expired would come back at once.
        Ok(if due.len() == PAGE as usize && expired > 0 { Again::AtOnce } else { Again::Later })
    }

    async fn hint(&self) {
        self.shell.journal().hints().lease.notified().await;
    }
}
