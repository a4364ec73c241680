//! Settlement: tells runs how their chunks ended. The row goes away only after
//! the run has recorded it; told twice, the run accepts it as known.

use super::{Again, Duty, concerns_one};
use crate::aggregate::CommandError;
use crate::ports::journal::SettlementRow;
use crate::run::RunCommand;
use crate::shell::Shell;
use async_trait::async_trait;
use std::collections::BTreeMap;
use tribunal_schema::events::AcceptedChunk;
use tribunal_schema::ids::RunId;

/// Chunks a page, and so at most in one `run.chunks-accepted`.
const PAGE: u32 = 200;

/// Tells runs how their chunks ended.
pub(super) struct Settlement {
    shell: Shell,
}

impl Settlement {
    pub(super) fn new(shell: Shell) -> Settlement {
        Settlement { shell }
    }

    async fn accept(&self, run: RunId, rows: &[SettlementRow]) -> Result<(), CommandError> {
        let chunks = rows
            .iter()
            .map(|row| AcceptedChunk {
                chunk: row.settlement.chunk.number,
                version: row.settlement.version,
                digest: row.digest,
                end: row.settlement.end,
                tally: row.settlement.tally.clone(),
            })
            .collect();
        self.shell.ask_run(run, RunCommand::AcceptChunks(chunks)).await?;
        for row in rows {
            self.shell.journal().settlement_done(row.settlement.chunk, row.settlement.version).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Duty for Settlement {
    fn name(&self) -> &'static str {
        "settlement"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        let page = self.shell.journal().settlements(PAGE).await?;
        let full = page.len() == PAGE as usize;
        let mut by_run: BTreeMap<RunId, Vec<SettlementRow>> = BTreeMap::new();
        for row in page {
            by_run.entry(row.settlement.chunk.run).or_default().push(row);
        }
        let mut accepted = false;
        for (run, rows) in &by_run {
            match self.accept(*run, rows).await {
                Ok(()) => accepted = true,
                Err(error) if concerns_one(&error) => tracing::warn!(%run, %error, "settlement was not accepted"),
                Err(error) => return Err(error),
            }
        }
        Ok(if full && accepted { Again::AtOnce } else { Again::Later })
    }

    async fn hint(&self) {
        self.shell.journal().hints().settlement.notified().await;
    }
}
