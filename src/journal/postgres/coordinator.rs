//! The coordinator: what waits is written in one transaction, as often as needed.
//!
//! A batch is closed before its transaction begins, and nothing slow happens
//! between the first lock and COMMIT: one round trip for locks, clock and heads, one
//! for all statements, one for COMMIT. A batch that met another process in a version,
//! in a deadlock or in a dead connection is written again as a whole; one with a
//! unit that the database refuses is written without it.

use super::error::{Refused, Stop};
use super::link::{Link, TRIES_MAX, pause, retire, timely};
use super::plan::Ground;
use super::statements::{Statement, execute_all};
use super::unit::Writing;
use super::{columns, place};
use crate::journal::shape;
use deadpool_postgres::Object;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_postgres::types::ToSql;
use tribunal_actors::mutant::Mutant;
use tribunal_actors::ports::journal::{AppendError, AppendUnit, Appended, Failure, Hints, Refusal};
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::sql::postgres as sql;

/// Units of one transaction: the gain of a larger one is small [measured], the wait of its first is not.
const BATCH_UNITS_MAX: usize = 256;
/// Bytes of one transaction, so that a statement ends well within its time.
const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Units that may wait; beyond it the callers do.
const QUEUE_UNITS_MAX: usize = 2048;
/// Bytes that may wait or be written, so that large bodies do not fill the memory.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a unit weighs beside its bodies.
const UNIT_BYTES: usize = 512;
/// Times in a row that a batch may be overtaken by other processes.
const OVERTAKEN_MAX: u32 = 32;
/// The foreign key of what a run refers to.
const REFERRED: &str = "referred_blobs_exist";

type Answer = Result<Appended, AppendError>;

/// A unit that waits.
struct Job {
    unit: AppendUnit,
    bytes: usize,
    reply: oneshot::Sender<Answer>,
    _weight: OwnedSemaphorePermit,
}

impl Job {
    fn answer(self, answer: Answer) {
        // The caller may have gone; what is written stays written.
        drop(self.reply.send(answer));
    }
}

/// The handle of the writing task; what waits is written after it was dropped, and the task ends.
pub(super) struct Coordinator {
    queue: mpsc::Sender<Job>,
    weight: Arc<Semaphore>,
}

impl Coordinator {
    /// Starts the task on the current runtime.
    pub(super) fn start(link: Link, epoch: i64, hints: Arc<Hints>, mutant: Option<Mutant>) -> Coordinator {
        let (queue, jobs) = mpsc::channel(QUEUE_UNITS_MAX);
        tokio::spawn(Writer { link, epoch, hints, mutant }.work(jobs));
        Coordinator { queue, weight: Arc::new(Semaphore::new(QUEUE_BYTES_MAX)) }
    }

    /// Writes a unit and gives its answer after the commit. Dropping the future undoes nothing.
    pub(super) async fn append(&self, unit: AppendUnit) -> Answer {
        let gone = || AppendError::Unavailable(Failure::new("the writer of the journal has ended"));
        let bytes = (shape::weight(&unit) + UNIT_BYTES).min(QUEUE_BYTES_MAX);
        let weight = u32::try_from(bytes).expect("64 MiB fit 32 bits");
        let permit = Arc::clone(&self.weight).acquire_many_owned(weight).await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        self.queue.send(Job { unit, bytes, reply, _weight: permit }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

struct Writer {
    link: Link,
    epoch: i64,
    hints: Arc<Hints>,
    mutant: Option<Mutant>,
}

/// What became of a unit in a transaction.
enum Outcome {
    /// It was there already.
    Written(Vec<RecordedEvent>),
    /// A rule refuses it.
    Refused(AppendError),
    /// It rests on a unit of the same batch, and is looked at after that one.
    Waits,
    /// These of the batch's events are its.
    Included(Range<usize>),
}

/// Why a batch was not written.
enum Trouble {
    /// Another try may succeed.
    Again(String),
    /// Another process wrote to one of its streams.
    Overtaken,
    /// This unit is refused by the database.
    Guilty(usize, AppendError),
    /// Some unit is.
    Suspect(Refused),
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Trouble {
        match stop {
            Stop::Again(reason) => Trouble::Again(reason),
            Stop::Overtaken => Trouble::Overtaken,
            Stop::Refused(refused) => Trouble::Suspect(refused),
        }
    }
}

impl Writer {
    async fn work(self, mut jobs: mpsc::Receiver<Job>) {
        let mut waiting = VecDeque::new();
        let mut arrived = Vec::with_capacity(BATCH_UNITS_MAX);
        loop {
            if waiting.is_empty() && jobs.recv_many(&mut arrived, BATCH_UNITS_MAX).await == 0 {
                return;
            }
            waiting.extend(arrived.drain(..));
            while waiting.len() < BATCH_UNITS_MAX
                && let Ok(job) = jobs.try_recv()
            {
                waiting.push_back(job);
            }
            let batch = next_batch(&mut waiting);
            for job in self.write(batch).await.into_iter().rev() {
                waiting.push_front(job);
            }
        }
    }

    /// Writes and answers a batch; gives back what must wait for the next.
    async fn write(&self, batch: Vec<Job>) -> Vec<Job> {
        let mut waits = Vec::new();
        let mut batches = vec![batch];
        while let Some(mut batch) = batches.pop() {
            let (mut tries, mut overtaken) = (0, 0);
            while !batch.is_empty() {
                match self.transaction(&batch).await {
                    Ok((outcomes, events)) => {
                        waits.extend(finish(std::mem::take(&mut batch), outcomes, &events));
                    }
                    Err(Trouble::Guilty(index, error)) => batch.remove(index).answer(Err(error)),
                    Err(Trouble::Suspect(refused)) if batch.len() == 1 => {
                        tracing::warn!(reason = refused.message, "the database refuses a unit");
                        let refused = AppendError::Invalid(refused.message);
                        batch.drain(..).for_each(|job| job.answer(Err(refused.clone())));
                    }
                    Err(Trouble::Suspect(_)) => {
                        // The first half is written first: later units may stand behind it.
                        batches.push(batch.split_off(batch.len() / 2));
                    }
                    Err(Trouble::Overtaken) if overtaken < OVERTAKEN_MAX => overtaken += 1,
                    Err(Trouble::Again(reason)) if tries < TRIES_MAX => {
                        tries += 1;
                        tracing::debug!(reason, tries, units = batch.len(), "a transaction is tried again");
                        pause(tries).await;
                    }
                    Err(trouble) => {
                        let reason = match trouble {
                            Trouble::Again(reason) => reason,
                            _ => "other processes keep writing to the same streams".into(),
                        };
                        tracing::warn!(reason, units = batch.len(), "a transaction failed");
                        let failure = || AppendError::Unavailable(Failure::new(reason.clone()));
                        batch.drain(..).for_each(|job| job.answer(Err(failure())));
                    }
                }
            }
        }
        waits
    }

    /// One transaction on one connection. A connection in doubt is closed, and with it what it began.
    async fn transaction(&self, batch: &[Job]) -> Result<(Vec<Outcome>, Vec<RecordedEvent>), Trouble> {
        let connection = self.link.connection().await?;
        match self.write_on(&connection, batch).await {
            Ok((outcomes, writing)) => {
                writing.touched.tell(&self.hints);
                Ok((outcomes, writing.events))
            }
            Err(trouble) => {
                let is_sound = !matches!(trouble, Trouble::Again(_));
                let rolled_back =
                    is_sound && matches!(timely(connection.batch_execute(sql::TRANSACTION_ROLLBACK)).await, Ok(Ok(())));
                if !rolled_back {
                    retire(connection);
                }
                Err(trouble)
            }
        }
    }

    async fn write_on(&self, connection: &Object, batch: &[Job]) -> Result<(Vec<Outcome>, Writing), Trouble> {
        let units = batch.iter().map(|job| &job.unit);
        let ground = timely(Ground::survey(connection, units, self.mutant)).await??;
        let mut writing = Writing::on(ground, self.mutant);
        let mut outcomes = Vec::with_capacity(batch.len());
        for (index, job) in batch.iter().enumerate() {
            outcomes.push(self.place(connection, &mut writing, index, &job.unit).await?);
        }
        self.flush(connection, &mut writing).await?;
        timely(connection.batch_execute(sql::TRANSACTION_COMMIT)).await?.map_err(Stop::from)?;
        Ok((outcomes, writing))
    }

    /// Puts one unit into the batch, or says why not.
    async fn place(
        &self,
        connection: &Object,
        writing: &mut Writing,
        index: usize,
        unit: &AppendUnit,
    ) -> Result<Outcome, Trouble> {
        if place::waits(&writing.ground, unit) {
            return Ok(Outcome::Waits);
        }
        let found = timely(place::find(connection, &writing.ground, unit, self.mutant)).await??;
        Ok(match found {
            place::Found::Written(events) => Outcome::Written(events),
            place::Found::Refused(error) => Outcome::Refused(error),
            place::Found::Fresh => match writing.add(index, unit) {
                Ok(events) => Outcome::Included(events),
                Err(error) => Outcome::Refused(error),
            },
        })
    }

    /// Sends everything that is to be written.
    async fn flush(&self, connection: &Object, writing: &mut Writing) -> Result<(), Trouble> {
        self.insert_events(connection, writing).await?;
        if !writing.blobs.is_empty() {
            let digests: Vec<&[u8]> = writing.blobs.keys().map(|digest| digest.bytes().as_slice()).collect();
            let bytes: Vec<&[u8]> = writing.blobs.values().map(AsRef::as_ref).collect();
            let put = timely(connection.prepare_cached(sql::BLOBS_PUT)).await?.map_err(Stop::from)?;
            let values: [&(dyn ToSql + Sync); 3] = [&digests, &bytes, &writing.ground.now.0];
            timely(connection.execute(&put, &values)).await?.map_err(Stop::from)?;
        }
        // References to blobs come first and in one order: equal answers of two processes would else wait in a circle.
        // Everything else is about a stream, and whoever writes the same one has been waited for with the events.
        writing.statements.sort_by_key(|(_, statement)| (statement.refers_to.is_none(), statement.refers_to));
        let statements: Vec<&Statement> = writing.statements.iter().map(|(_, statement)| statement).collect();
        let answers = timely(execute_all(connection, &statements)).await??;
        for ((index, statement), answer) in writing.statements.iter().zip(answers) {
            judge(*index, statement, answer)?;
        }
        Ok(())
    }

    /// All events in one statement; their positions come back.
    async fn insert_events(&self, connection: &Object, writing: &mut Writing) -> Result<(), Trouble> {
        if writing.events.is_empty() {
            return Ok(());
        }
        let insert = timely(connection.prepare_cached(sql::EVENTS_INSERT)).await?.map_err(Stop::from)?;
        let rows = {
            let events = &writing.events;
            let text = |of: fn(&RecordedEvent) -> String| events.iter().map(of).collect::<Vec<String>>();
            let some = |of: fn(&RecordedEvent) -> Option<String>| events.iter().map(of).collect::<Vec<_>>();
            let number = |of: fn(&RecordedEvent) -> u64| {
                events.iter().map(|event| i64::try_from(of(event)).unwrap_or(i64::MAX)).collect::<Vec<i64>>()
            };
            let streams = text(|event| event.stream.to_string());
            let categories: Vec<&str> = events.iter().map(|event| event.stream.category()).collect();
            let versions = number(|event| event.version.0);
            let (ids, commands) = (text(|event| event.id.to_string()), text(|event| event.command.to_string()));
            let types: Vec<&str> = events.iter().map(|event| event.event_type.as_str()).collect();
            let type_versions = number(|event| u64::from(event.type_version));
            let runs = some(|event| event.run.map(|run| run.to_string()));
            let teams = text(|event| columns::kept(&event.team).into_owned());
            let payloads: Vec<&str> = events.iter().map(|event| event.payload.as_str()).collect();
            let causations = some(|event| event.causation.map(|id| id.to_string()));
            let digests: Vec<&[u8]> = events.iter().map(|event| event.digest.bytes().as_slice()).collect();
            let values: [&(dyn ToSql + Sync); 14] = [
                &self.epoch,
                &writing.ground.now.0,
                &streams,
                &categories,
                &versions,
                &ids,
                &commands,
                &types,
                &type_versions,
                &runs,
                &teams,
                &payloads,
                &causations,
                &digests,
            ];
            timely(connection.query(&insert, &values)).await?.map_err(Stop::from)?
        };
        place::number(&mut writing.events, &rows).map_err(|failure| Trouble::Again(failure.message))
    }
}

/// A batch of what waits: at least one unit, within the limits.
fn next_batch(waiting: &mut VecDeque<Job>) -> Vec<Job> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(job) = waiting.front() {
        if !batch.is_empty() && (batch.len() >= BATCH_UNITS_MAX || bytes + job.bytes > BATCH_BYTES_MAX) {
            break;
        }
        bytes += job.bytes;
        batch.extend(waiting.pop_front());
    }
    batch
}

/// Answers what was settled by a commit; gives back what waits.
fn finish(batch: Vec<Job>, outcomes: Vec<Outcome>, events: &[RecordedEvent]) -> Vec<Job> {
    let mut waits = Vec::new();
    for (job, outcome) in batch.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Written(events) => job.answer(Ok(Appended { events })),
            Outcome::Refused(error) => job.answer(Err(error)),
            Outcome::Waits => waits.push(job),
            Outcome::Included(range) => job.answer(Ok(Appended { events: events[range].to_vec() })),
        }
    }
    waits
}

/// What the answer of one statement says of its unit.
fn judge(index: usize, statement: &Statement, answer: Result<u64, Stop>) -> Result<(), Trouble> {
    let refused = match answer {
        Ok(0) => match &statement.must_change {
            Some(reason) => return Err(Trouble::Guilty(index, AppendError::Invalid(reason.clone()))),
            None => return Ok(()),
        },
        Ok(_) => return Ok(()),
        Err(Stop::Refused(refused)) => refused,
        Err(stop) => return Err(stop.into()),
    };
    Err(Trouble::Guilty(
        index,
        match (statement.refers_to, refused.constraint.as_deref()) {
            (Some((digest, _)), Some(REFERRED)) => Refusal::MissingBlob(digest).into(),
            _ => AppendError::Invalid(refused.message),
        },
    ))
}
