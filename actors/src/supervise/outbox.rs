//! The outbox: publishes what was written to be published. A batch is claimed
//! with a token and a window, published with nothing locked, and deleted where the
//! broker confirmed it and the token still holds; the rest is given back.

use super::{Again, Duty};
use crate::aggregate::CommandError;
use crate::mutant::{self, Mutant};
use crate::ports::broker::{Broker, Publication};
use crate::shell::Shell;
use async_trait::async_trait;
use std::sync::Arc;
use tribunal_schema::ids::ClaimToken;
use tribunal_schema::units::DurationMs;

/// Publishes the outbox.
pub(super) struct Outbox {
    shell: Shell,
    broker: Arc<dyn Broker>,
}

impl Outbox {
    pub(super) fn new(shell: Shell, broker: Arc<dyn Broker>) -> Outbox {
        Outbox { shell, broker }
    }
}

#[async_trait]
impl Duty for Outbox {
    fn name(&self) -> &'static str {
        "outbox"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        let journal = self.shell.journal();
        let settings = &self.shell.settings;
        let token = ClaimToken(self.shell.chance.ulid());
        let only = self.shell.focus.get().copied();
        let batch = journal.outbox_claim(token, settings.outbox_window, only, settings.outbox_batch).await?;
        if batch.is_empty() {
            return Ok(Again::Later);
        }
        let publications = batch
            .iter()
            .map(|row| Publication {
                message_id: row.id.to_string(),
                routing_key: row.message.routing_key.clone(),
                body: row.message.body.clone(),
            })
            .collect();
        if mutant::is_alive(Mutant::OutboxDeletedBeforeConfirm) {
            let ids: Vec<u64> = batch.iter().map(|row| row.id).collect();
            journal.outbox_confirm(token, &ids).await?;
        }
        let confirms = self.broker.publish(publications).await;
        let confirmed = |wanted: bool| {
            let answer = confirms.iter().copied().chain(std::iter::repeat(false));
            batch.iter().zip(answer).filter(|(_, answer)| *answer == wanted).map(|(row, _)| row.id).collect::<Vec<_>>()
        };
        journal.outbox_confirm(token, &confirmed(true)).await?;
        let refused = confirmed(false);
        if !refused.is_empty() {
            let attempts = batch.iter().map(|row| row.attempts).max().unwrap_or(1);
            let delay = DurationMs(100u64 << attempts.min(9));
            tracing::warn!(messages = refused.len(), %delay, "the broker did not confirm, trying again");
            journal.outbox_reschedule(token, &refused, delay).await?;
            return Ok(Again::Later);
        }
        Ok(Again::AtOnce)
    }

    async fn hint(&self) {
        self.shell.journal().hints().outbox.notified().await;
    }
}
