//! Creation: from plan rows to an open run. Each page of chunks is one idempotent
//! unit, so a crash anywhere leaves a run that is still creating and goes on here.

use super::{Again, Duty, concerns_one};
use crate::aggregate::{CommandError, Live, UnitBuilder};
use crate::chunk::{Chunk, ChunkCommand};
use crate::decider::{Decider, Rejection};
use crate::ports::journal::{IntentKind, PlanRow, Row};
use crate::run::{RunCommand, RunPhase};
use crate::shell::Shell;
use async_trait::async_trait;
use std::sync::Arc;
use tribunal_schema::codec::decode_payload;
use tribunal_schema::events::{ChunkEvent, ChunkSeeded, RunPlanned};
use tribunal_schema::ids::{CommandId, RunId, StreamId};

/// Chunks seeded in one unit.
const PAGE: u32 = 32;

/// Seeds and opens runs.
pub(super) struct Creation {
    shell: Shell,
}

impl Creation {
    pub(super) fn new(shell: Shell) -> Creation {
        Creation { shell }
    }

    async fn create(&self, run: RunId) -> Result<(), CommandError> {
        let live = self.shell.directory.run(run).look().await?;
        let Some(planned) = live.state.planned.clone() else {
            return Err(Rejection::Unknown("the run").into());
        };
        if live.state.phase != RunPhase::Creating {
            let done = Row::IntentDone { run, kind: IntentKind::Create };
            return self.shell.write_rows(run, vec![done]).await;
        }
        // Whoever opens the run takes its plan rows away. What looks wrong then is wrong only if
        // the run still stands where it was seen to be created.
        let fail = |reason: String| async move {
            self.shell.ask_run_at(run, live.head, RunCommand::Fail(reason)).await.map(drop)
        };
        let seeded = match self.seed(run, &planned).await {
            Err(CommandError::Rejected(rejection)) => return fail(rejection.to_string()).await,
            seeded => seeded?,
        };
        if seeded != planned.plan.chunks {
            return fail(format!("{seeded} plan rows were found for {} chunks", planned.plan.chunks)).await;
        }
        for placement in &planned.plan.placements {
            let command = RunCommand::RecordSeeded { placement: placement.clone(), chunks: seeded };
            self.shell.ask_run(run, command).await?;
        }
        self.shell.ask_run(run, RunCommand::Open).await?;
        tracing::info!(%run, chunks = seeded, "run opened");
        Ok(())
    }

    /// Seeds every plan row; gives how many there were.
    async fn seed(&self, run: RunId, planned: &RunPlanned) -> Result<u32, CommandError> {
        let profile = Arc::new(planned.plan.profile.clone());
        let (mut after, mut seeded) = (None, 0u32);
        loop {
            let page = self.shell.journal().plan_rows(run, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(seeded) };
            after = Some(last.chunk);
            seeded += u32::try_from(page.len()).expect("a page is bounded");
            self.seed_page(run, &page, planned, &profile).await?;
        }
    }

    async fn seed_page(
        &self,
        run: RunId,
        page: &[PlanRow],
        planned: &RunPlanned,
        profile: &Arc<tribunal_schema::profile::Profile>,
    ) -> Result<(), CommandError> {
        // The same page under the same id: a repetition is a duplicate.
        let first = page.first().map(|row| row.chunk.to_string()).unwrap_or_default();
        let id = CommandId::named("seed", &[&first]);
        let mut unit = UnitBuilder::new(self.shell.origin(id, run));
        let mut anything = false;
        for row in page {
            let seeded = seeded_of(row, planned)?;
            let stream = StreamId::Chunk(row.chunk);
            let live: Live<Chunk> = crate::aggregate::load(&**self.shell.journal(), &stream).await?;
            let command = ChunkCommand::Seed { seeded: Arc::new(seeded), profile: profile.clone() };
            let events = Chunk::decide(&live.state, &command)?;
            if !events.is_empty() {
                unit = unit.stream::<Chunk>(&stream, &live, &events)?;
                anything = true;
            }
        }
        if anything && !self.shell.append(unit.build()).await? {
            return Err(CommandError::Failed(crate::ports::journal::Failure::new(format!(
                "somebody else seeds run {run} at the same time"
            ))));
        }
        Ok(())
    }
}

fn seeded_of(row: &PlanRow, planned: &RunPlanned) -> Result<ChunkSeeded, CommandError> {
    let contradiction = |reason: String| CommandError::Rejected(Rejection::Contradiction(reason));
    let event = decode_payload::<ChunkEvent>("chunk.seeded", 1, &row.seeded)
        .map_err(|error| contradiction(format!("plan row {}: {error}", row.chunk)))?;
    match event {
        ChunkEvent::Seeded(seeded) if seeded.chunk == row.chunk && seeded.plan_digest == planned.plan_digest => {
            Ok(seeded)
        }
        other => Err(contradiction(format!("plan row {} belongs to another plan: {other:?}", row.chunk))),
    }
}

#[async_trait]
impl Duty for Creation {
    fn name(&self) -> &'static str {
        "creation"
    }

    async fn run_once(&self) -> Result<Again, CommandError> {
        for intent in self.shell.journal().intents(IntentKind::Create, 16).await? {
            match self.create(intent.run).await {
                Err(error) if concerns_one(&error) => {
                    tracing::warn!(run = %intent.run, %error, "run could not be created");
                }
                done => done?,
            }
        }
        Ok(Again::Later)
    }

    async fn hint(&self) {
        self.shell.journal().hints().create.notified().await;
    }
}
