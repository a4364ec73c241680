//! The five steps: locate or load, decide, append, evolve, answer.

use super::live::{Head, Live, catch_up};
use super::unit::UnitBuilder;
use crate::decider::{Decider, Rejection};
use crate::ports::journal::{AppendError, AppendUnit, Appended, Failure, Guard, Journal, Refusal, Row};
use std::time::Duration;
use tribunal_schema::envelope::Origin;
use tribunal_schema::ids::StreamId;

/// Conflicts in a row that are borne: each one means that somebody else made progress.
const CONFLICTS_MAX: u32 = 16;
/// Tries at an append whose outcome is unknown, 50 ms doubling to 2 s: about a minute.
const UNKNOWN_MAX: u32 = 35;

/// A command and what goes with it.
#[derive(Clone, Debug)]
pub struct Execute<D: Decider> {
    /// What is asked.
    pub command: D::Command,
    /// Who asks, and about what.
    pub origin: Origin,
    /// What must hold when it is written.
    pub guards: Vec<Guard>,
    /// Rows that belong to it and do not follow from its events: blobs.
    pub rows: Vec<Row>,
    /// Where the stream must stand, for a command that rests on it.
    pub expect: Option<Head>,
}

impl<D: Decider> Execute<D> {
    /// A command without guards.
    pub fn new(origin: Origin, command: D::Command) -> Execute<D> {
        Execute { command, origin, guards: vec![], rows: vec![], expect: None }
    }

    /// The same under a guard.
    pub fn guarded(mut self, guard: Guard) -> Execute<D> {
        self.guards.push(guard);
        self
    }

    /// The same with rows.
    pub fn with_rows(mut self, rows: Vec<Row>) -> Execute<D> {
        self.rows.extend(rows);
        self
    }
}

/// A command that was carried out.
#[derive(Clone, Debug)]
pub struct Done<D: Decider> {
    /// What happened; empty when it was so already.
    pub events: Vec<D::Event>,
    /// Where the stream stands now.
    pub head: Head,
}

/// Why a command was not carried out.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommandError {
    /// A rule said no.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// A guard or row said no when it was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The world said no; another try may succeed.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// The stream holds what no decision made; nothing is decided on it any more.
    #[error("stream {stream} is quarantined: {reason}")]
    Quarantined {
        /// The stream.
        stream: StreamId,
        /// What is wrong.
        reason: String,
    },
    /// We are wrong.
    #[error("bug: {0}")]
    Bug(String),
}

/// Appends a unit, and appends the identical unit again while its outcome is unknown.
pub async fn append_settled(journal: &dyn Journal, unit: AppendUnit) -> Result<Appended, AppendError> {
    let mut tries = 0;
    loop {
        match journal.append(unit.clone()).await {
            Err(AppendError::Unavailable(failure)) if tries < UNKNOWN_MAX => {
                tracing::warn!(tries, %failure, "append without an answer, trying the identical unit again");
                tokio::time::sleep(Duration::from_millis(50 << tries.min(5)).min(Duration::from_secs(2))).await;
                tries += 1;
            }
            settled => return settled,
        }
    }
}

/// Carries out a command on a stream. Gives back the state where it is still good to keep.
pub(super) async fn execute<D: Decider>(
    journal: &dyn Journal,
    stream: &StreamId,
    mut kept: Option<Live<D>>,
    request: Execute<D>,
) -> (Option<Live<D>>, Result<Done<D>, CommandError>) {
    let mut looks = kept.is_none();
    for _ in 0..CONFLICTS_MAX {
        let mut live = kept.take().unwrap_or_default();
        if looks {
            live = match catch_up::<D>(journal, stream, live).await {
                Ok(live) => live,
                Err(error) => return (None, Err(error)),
            };
        }
        match attempt_once(journal, stream, live, &request).await {
            // Another process may have moved the stream since this one looked. Where nothing is
            // appended, nothing would notice: the answer is not given before the stream was looked at again.
            Outcome::Idle(live, _) if !looks => (kept, looks) = (Some(live), true),
            Outcome::Idle(live, answer) => return (Some(live), answer),
            Outcome::Answer(live, answer) => return (live, answer),
            Outcome::Conflict => looks = true,
        }
    }
    (None, Err(CommandError::Failed(Failure::new(format!("{stream} is too contended")))))
}

enum Outcome<D: Decider> {
    /// Nothing was to be written: so it is already, or a rule says no.
    Idle(Live<D>, Result<Done<D>, CommandError>),
    Answer(Option<Live<D>>, Result<Done<D>, CommandError>),
    Conflict,
}

async fn attempt_once<D: Decider>(
    journal: &dyn Journal,
    stream: &StreamId,
    live: Live<D>,
    request: &Execute<D>,
) -> Outcome<D> {
    if request.expect.is_some_and(|expected| expected != live.head) {
        let moved = Rejection::NotNow(format!("{stream} has moved on to version {}", live.head.version));
        return Outcome::Idle(live, Err(moved.into()));
    }
    let events = match D::decide(&live.state, &request.command) {
        Ok(events) => events,
        Err(rejection) => return Outcome::Idle(live, Err(rejection.into())),
    };
    if events.is_empty() {
        let head = live.head;
        return Outcome::Idle(live, Ok(Done { events, head }));
    }
    let unit = UnitBuilder::new(request.origin.clone())
        .guards(request.guards.clone())
        .rows(request.rows.clone())
        .stream::<D>(stream, &live, &events);
    let unit = match unit {
        Ok(builder) => builder.build(),
        Err(error) => return Outcome::Answer(None, Err(error)),
    };
    match append_settled(journal, unit).await {
        Ok(appended) => Outcome::from(evolve(live, &appended)),
        Err(AppendError::Conflict { .. }) => Outcome::Conflict,
        // What refused it may have moved the stream as well.
        Err(AppendError::Refused(refusal)) => Outcome::Answer(None, Err(refusal.into())),
        Err(AppendError::Invalid(reason)) => Outcome::Answer(Some(live), Err(CommandError::Bug(reason))),
        Err(AppendError::Unavailable(failure)) => Outcome::Answer(None, Err(failure.into())),
    }
}

impl<D: Decider> From<Result<(Live<D>, Done<D>), CommandError>> for Outcome<D> {
    fn from(result: Result<(Live<D>, Done<D>), CommandError>) -> Outcome<D> {
        match result {
            Ok((live, done)) => Outcome::Answer(Some(live), Ok(done)),
            Err(error) => Outcome::Answer(None, Err(error)),
        }
    }
}

fn evolve<D: Decider>(mut live: Live<D>, appended: &Appended) -> Result<(Live<D>, Done<D>), CommandError> {
    let mut events = Vec::with_capacity(appended.events.len());
    for recorded in &appended.events {
        let (next, event) = live.apply(recorded)?;
        live = next;
        events.push(event);
    }
    let head = live.head;
    Ok((live, Done { events, head }))
}
