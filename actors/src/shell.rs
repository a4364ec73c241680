//! What supervisors and workers share: the directory, the identity of this
//! process, and the numbers of DESIGN section 6.

use crate::aggregate::{CommandError, Directory, Done, Execute, Head, Live, UnitBuilder, append_settled, load};
use crate::attempt::{Attempt, AttemptCommand, AttemptPhase};
use crate::chunk::{Chunk, ChunkCommand, ChunkState, Fate};
use crate::decider::{Decider, Rejection};
use crate::ports::chance::Chance;
use crate::ports::journal::{AppendError, AppendUnit, Failure, Guard, Journal, Row};
use crate::run::{Run, RunCommand};
use futures::{StreamExt, TryStreamExt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use tribunal_schema::envelope::Origin;
use tribunal_schema::events::{AttemptCancelled, AttemptExpired, ChunkEvent};
use tribunal_schema::ids::{AttemptId, ChunkId, CommandId, Incarnation, RunId, StreamId};
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm};

/// Conflicts in a row that are borne when a term is closed beside its actors.
const CONFLICTS_MAX: u32 = 16;
/// Attempt streams that are read at once when a term is closed.
const LOADS_AT_ONCE: usize = 8;

/// The numbers that an installation may set; the defaults are DESIGN's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a lease lasts without renewal.
    pub lease: DurationMs,
    /// How often leases are renewed.
    pub heartbeat: DurationMs,
    /// How long a chunk is worked on at a stretch.
    pub slice: DurationMs,
    /// Recoveries without progress that a chunk bears.
    pub recovery_limit: u32,
    /// Failures of the worker that a chunk bears.
    pub failure_budget: u32,
    /// Chunks that are worked on at once by this process.
    pub chunk_permits: usize,
    /// Messages the outbox publishes at once.
    pub outbox_batch: u32,
    /// How long a claimed message is hidden from others.
    pub outbox_window: DurationMs,
    /// How long supervisors wait when nothing wakes them.
    pub tick: DurationMs,
    /// How long a published offer may stay unclaimed before it is published again; doubles each time.
    pub ready_age: DurationMs,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            lease: DurationMs::from_secs(60),
            heartbeat: DurationMs::from_secs(15),
            slice: DurationMs::from_secs(600),
            recovery_limit: 3,
            failure_budget: 8,
            chunk_permits: 4,
            outbox_batch: 1000,
            outbox_window: DurationMs::from_secs(60),
            tick: DurationMs::from_secs(5),
            ready_age: DurationMs::from_secs(60),
        }
    }
}

/// What supervisors and workers share.
#[derive(Clone)]
pub struct Shell {
    /// Finds the actors.
    pub directory: Directory,
    /// Ids and noise.
    pub chance: Arc<dyn Chance>,
    /// This start of this process.
    pub holder: Incarnation,
    /// The team whose runs these are.
    pub team: Arc<str>,
    /// The numbers.
    pub settings: Arc<Settings>,
    /// The one run this process works on, where it should leave the others alone.
    pub focus: Arc<OnceLock<RunId>>,
}

impl Shell {
    /// The journal.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        self.directory.journal()
    }

    /// Works on one run only from now on.
    pub fn focus_on(&self, run: RunId) {
        if self.focus.set(run).is_err() {
            tracing::warn!(%run, "this process works on another run already");
        }
    }

    /// A command id that nobody has used.
    pub fn fresh(&self) -> CommandId {
        CommandId(self.chance.ulid())
    }

    /// Who asks, about which run.
    pub fn origin(&self, command: CommandId, run: RunId) -> Origin {
        Origin { command, run: Some(run), team: self.team.to_string(), causation: None }
    }

    /// Carries out a command on a run.
    pub async fn ask_run(&self, run: RunId, command: RunCommand) -> Result<Done<Run>, CommandError> {
        self.directory.run(run).execute(Execute::new(self.origin(self.fresh(), run), command)).await
    }

    /// Carries out a command on a run that must not have moved since it was looked at.
    pub async fn ask_run_at(&self, run: RunId, head: Head, command: RunCommand) -> Result<Done<Run>, CommandError> {
        let request = Execute { expect: Some(head), ..Execute::new(self.origin(self.fresh(), run), command) };
        self.directory.run(run).execute(request).await
    }

    /// Carries out a command on a chunk.
    pub async fn ask_chunk(
        &self,
        chunk: ChunkId,
        guard: Option<Guard>,
        command: ChunkCommand,
    ) -> Result<Done<Chunk>, CommandError> {
        let mut request = Execute::new(self.origin(self.fresh(), chunk.run), command);
        request.guards.extend(guard);
        self.directory.chunk(chunk).execute(request).await
    }

    /// Writes rows without events.
    pub async fn write_rows(&self, run: RunId, rows: Vec<Row>) -> Result<(), CommandError> {
        let unit = UnitBuilder::new(self.origin(self.fresh(), run)).rows(rows).build();
        settled(append_settled(&**self.journal(), unit).await)
    }

    /// Appends a unit of several streams. Gives `false` on a conflict: load and decide again.
    pub async fn append(&self, unit: AppendUnit) -> Result<bool, CommandError> {
        match append_settled(&**self.journal(), unit).await {
            Err(AppendError::Conflict { .. }) => Ok(false),
            other => settled(other).map(|()| true),
        }
    }

    /// Closes a chunk's term together with its open attempts, in one unit: those that were
    /// started and have no end are expired or cancelled with it. `command` is made from the
    /// state and from what the attempts' streams have recorded.
    pub async fn close_term(
        &self,
        chunk: ChunkId,
        guards: Vec<Guard>,
        command: impl Fn(&ChunkState, BTreeMap<AttemptId, Fate>, InstantMs) -> ChunkCommand,
    ) -> Result<Vec<ChunkEvent>, CommandError> {
        let journal = self.journal().clone();
        let stream = StreamId::Chunk(chunk);
        let id = self.fresh();
        for _ in 0..CONFLICTS_MAX {
            let live = load::<Chunk>(&*journal, &stream).await?;
            let attempts = self.open_attempts(&live.state).await?;
            let fates = attempts.iter().map(|(attempt, live)| (*attempt, fate(&live.state.phase))).collect();
            let now = journal.now().await?;
            let events = Chunk::decide(&live.state, &command(&live.state, fates, now))?;
            if events.is_empty() {
                return Ok(events);
            }
            let unit = closing_unit(self.origin(id, chunk.run), guards.clone(), &stream, &live, &attempts, &events)?;
            if self.append(unit).await? {
                self.directory.forget_chunk(chunk);
                for attempt in attempts.keys() {
                    self.directory.forget_attempt(*attempt);
                }
                return Ok(events);
            }
        }
        Err(Failure::new(format!("{stream} is too contended")).into())
    }

    /// The streams of a chunk's open attempts.
    async fn open_attempts(&self, state: &ChunkState) -> Result<BTreeMap<AttemptId, Live<Attempt>>, CommandError> {
        let loads = state.open_attempts().into_iter().map(|open| async move {
            let live = load::<Attempt>(&**self.journal(), &StreamId::Attempt(open.attempt)).await?;
            Ok((open.attempt, live))
        });
        futures::stream::iter(loads).buffered(LOADS_AT_ONCE).try_collect().await
    }
}

/// What an attempt's stream says of its end.
fn fate(phase: &AttemptPhase) -> Fate {
    match phase {
        AttemptPhase::New => Fate::NeverStarted,
        AttemptPhase::Started => Fate::Started,
        AttemptPhase::Answered(_)
        | AttemptPhase::Failed(_)
        | AttemptPhase::Judged(..)
        | AttemptPhase::Expired
        | AttemptPhase::Cancelled => Fate::Recorded,
    }
}

/// The chunk's events, and the end of each attempt that they end.
fn closing_unit(
    origin: Origin,
    guards: Vec<Guard>,
    stream: &StreamId,
    live: &Live<Chunk>,
    attempts: &BTreeMap<AttemptId, Live<Attempt>>,
    events: &[ChunkEvent],
) -> Result<AppendUnit, CommandError> {
    let ends = attempt_ends(events);
    // What the decision rests on and the unit does not write must not have moved: an attempt
    // that was seen as never started may be starting now.
    let written: BTreeSet<AttemptId> = ends.iter().map(|(attempt, _)| *attempt).collect();
    let rests_on = attempts
        .iter()
        .filter(|(attempt, _)| !written.contains(attempt))
        .map(|(attempt, live)| Guard::Attempt { attempt: *attempt, version: live.head.version })
        .collect();
    let unit = UnitBuilder::new(origin).guards(guards).guards(rests_on);
    let mut unit = unit.stream::<Chunk>(stream, live, events)?;
    for (attempt, command) in ends {
        let live =
            attempts.get(&attempt).ok_or_else(|| CommandError::Bug(format!("attempt {attempt} was not loaded")))?;
        let ends = Attempt::decide(&live.state, &command)?;
        if !ends.is_empty() {
            unit = unit.stream::<Attempt>(&StreamId::Attempt(attempt), live, &ends)?;
        }
    }
    Ok(unit.build())
}

fn attempt_ends(events: &[ChunkEvent]) -> Vec<(AttemptId, AttemptCommand)> {
    let expire = |term: LeaseTerm, lost: bool| {
        move |id: &AttemptId| (*id, AttemptCommand::Expire(AttemptExpired { term, lost }))
    };
    let unfinished = |term, unfinished: &tribunal_schema::events::Unfinished| {
        let expired = unfinished.expired.iter().map(expire(term, false));
        expired.chain(unfinished.lost.iter().map(expire(term, true))).collect::<Vec<_>>()
    };
    let mut ends = vec![];
    for event in events {
        match event {
            ChunkEvent::Released(event) => ends.extend(unfinished(event.term, &event.unfinished)),
            ChunkEvent::LeaseExpired(event) => ends.extend(unfinished(event.term, &event.unfinished)),
            ChunkEvent::ProcessingFailed(event) => ends.extend(unfinished(event.term, &event.unfinished)),
            ChunkEvent::Cancelled(event) => ends.extend(
                event
                    .in_flight
                    .iter()
                    .map(|id| (*id, AttemptCommand::Cancel(AttemptCancelled { reason: event.cause.reason.clone() }))),
            ),
            ChunkEvent::Seeded(_)
            | ChunkEvent::Dispatched(_)
            | ChunkEvent::Leased(_)
            | ChunkEvent::AttemptsAllocated(_)
            | ChunkEvent::ExecutionsSettled(_)
            | ChunkEvent::ExecutionsDeferred(_)
            | ChunkEvent::ExecutionsQuarantined(_)
            | ChunkEvent::Requeued(_)
            | ChunkEvent::Quarantined(_)
            | ChunkEvent::Completed(_)
            | ChunkEvent::Failed(_) => {}
        }
    }
    ends
}

fn settled(outcome: Result<crate::ports::journal::Appended, AppendError>) -> Result<(), CommandError> {
    match outcome {
        Ok(_) => Ok(()),
        Err(AppendError::Conflict { stream, .. }) => {
            Err(Rejection::NotNow(format!("somebody else wrote to {stream}")).into())
        }
        Err(AppendError::Refused(refusal)) => Err(refusal.into()),
        Err(AppendError::Invalid(reason)) => Err(CommandError::Bug(reason)),
        Err(AppendError::Unavailable(failure)) => Err(failure.into()),
    }
}
