//! Dispatch: hands ready chunks to the outbox, no more than the workers can take,
//! round-robin by run so that a small run does not wait behind a large one.

use super::{Again, Duty, concerns_one};
use crate::aggregate::CommandError;
use crate::chunk::ChunkCommand;
use crate::ports::journal::ReadyRow;
use crate::run::RunCommand;
use crate::shell::Shell;
use async_trait::async_trait;
use std::collections::HashSet;
use std::time::Duration;
use tokio::sync::Mutex;
use tribunal_schema::ids::RunId;

/// Runs whose start this process remembers; asking again is harmless.
const STARTED_MAX: usize = 1024;

/// Hands ready chunks to the outbox.
pub(super) struct Dispatch {
    shell: Shell,
    started: Mutex<HashSet<RunId>>,
}

impl Dispatch {
    pub(super) fn new(shell: Shell) -> Dispatch {
        Dispatch { shell, started: Mutex::default() }
    }

    /// The most that may be published and unclaimed: twice what the workers can take.
    fn room(&self) -> u32 {
        u32::try_from(self.shell.settings.chunk_permits * 2).unwrap_or(u32::MAX)
    }

    async fn dispatch(&self, row: &ReadyRow) -> Result<(), CommandError> {
        let run = row.chunk.run;
        if !self.started.lock().await.contains(&run) {
            self.shell.ask_run(run, RunCommand::Start).await?;
            let mut started = self.started.lock().await;
            if started.len() >= STARTED_MAX {
                started.clear();
            }
            started.insert(run);
        }
        self.shell.ask_chunk(row.chunk, None, ChunkCommand::Dispatch { ready_seq: row.ready_seq }).await?;
        Ok(())
    }
}

#[async_trait]
impl Duty for Dispatch {
    fn name(&self) -> &'static str {
        "dispatch"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        let only = self.shell.focus.get().copied();
        for lane in self.shell.journal().ready_lanes().await? {
            let outstanding = self.shell.journal().ready_outstanding(&lane, only).await?;
            let room = self.room().saturating_sub(outstanding);
            if room == 0 {
                continue;
            }
            for row in self.shell.journal().ready_due(&lane, only, room).await? {
                match self.dispatch(&row).await {
                    Err(error) if concerns_one(&error) => {
                        tracing::warn!(chunk = %row.chunk, %error, "chunk could not be dispatched");
                    }
                    done => done?,
                }
            }
        }
        Ok(Again::Later)
    }

    /// A ready row, or the instant at which the next one is due.
    async fn hint(&self) {
        let journal = self.shell.journal();
        let hints = journal.hints();
        let next = async {
            let due = journal.ready_next_due().await.ok().flatten();
            let now = journal.now().await.ok();
            match (due, now) {
                (Some(due), Some(now)) => {
                    let wait = u64::try_from(due.0 - now.0).unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(wait.max(1))).await;
                }
                (Some(_) | None, _) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = hints.ready.notified() => {}
            () = next => {}
        }
    }
}
