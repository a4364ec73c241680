//! The append coordinator: one thread, one connection, one transaction for all
//! that waits.
//!
//! It takes the first job that comes, adds what else is waiting (bounded by
//! count; the bytes that wait are bounded by permits), and writes them in one
//! transaction, each in a savepoint. A job that stops is rolled back alone. When
//! the database itself fails inside a transaction, each job is tried once more
//! in a transaction of its own, so that the one that is too large for the disk
//! does not take the others with it; when the COMMIT fails, the outcome of all is
//! unknown, and they are told so. Nobody is answered before the commit.
//!
//! There is no waiting for more: while one transaction syncs the disk, the
//! next batch gathers by itself.

use super::columns;
use super::error::Stop;
use super::lock::StoreLock;
use crate::journal::touched::Touched;
use rusqlite::Connection;
use std::cell::Cell;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tribunal_actors::ports::journal::{AppendError, Failure, Hints};
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::InstantMs;

/// Jobs of one transaction: the gain of a larger one is small [measured], the wait of its first is not.
const BATCH_JOBS_MAX: usize = 512;
/// Jobs that may wait; beyond it the callers do.
const QUEUE_JOBS_MAX: usize = 2048;
/// Bytes that may wait or be written, so that large bodies do not fill the memory.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a job weighs beside its bodies.
const JOB_BYTES: usize = 512;

/// The transaction that a job works in.
pub(super) struct Transaction<'a> {
    /// The connection.
    pub(super) connection: &'a Connection,
    /// The one instant of everything in it.
    pub(super) now: InstantMs,
    touched: Cell<Touched>,
}

impl Transaction<'_> {
    /// Notes that something changed that somebody may wait for.
    pub(super) fn touch(&self, what: Touched) {
        self.touched.set(self.touched.get().and(what));
    }
}

/// Something to be done in a transaction, answered after its commit.
trait Job: Send {
    /// Does it, perhaps for the second time after a rollback. `false` = it stopped and must be undone.
    fn run(&mut self, transaction: &Transaction<'_>) -> Result<bool, rusqlite::Error>;
    /// Answers: what `run` gave, or why nobody knows.
    fn answer(self: Box<Self>, committed: Result<(), Failure>);
}

struct Task<T, F> {
    work: F,
    result: Option<Result<T, AppendError>>,
    reply: oneshot::Sender<Result<T, AppendError>>,
    _weight: OwnedSemaphorePermit,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: Fn(&Transaction<'_>) -> Result<T, Stop> + Send,
{
    fn run(&mut self, transaction: &Transaction<'_>) -> Result<bool, rusqlite::Error> {
        let (kept, result) = match (self.work)(transaction) {
            Ok(value) => (true, Ok(value)),
            Err(Stop::Unit(error)) => (false, Err(error)),
            Err(Stop::Database(error)) => return Err(error),
        };
        self.result = Some(result);
        Ok(kept)
    }

    fn answer(self: Box<Self>, committed: Result<(), Failure>) {
        let answer = match (committed, self.result) {
            // A refusal was read in the transaction and is true whatever became of the commit.
            (_, Some(Err(error))) => Err(error),
            (Ok(()), Some(Ok(value))) => Ok(value),
            (Ok(()), None) => Err(AppendError::Unavailable(Failure::new("the writer skipped the unit"))),
            (Err(failure), _) => Err(AppendError::Unavailable(failure)),
        };
        // The caller may have gone; what is written stays written.
        drop(self.reply.send(answer));
    }
}

/// The handle of the writing thread; dropping it writes what waits and ends it.
pub(super) struct Coordinator {
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    weight: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
}

impl Coordinator {
    /// Starts the thread. It owns connection and lock, and lets go of them in this order.
    pub(super) fn start(connection: Connection, lock: StoreLock, hints: Arc<Hints>) -> std::io::Result<Coordinator> {
        let (queue, jobs) = mpsc::channel(QUEUE_JOBS_MAX);
        let writer = Writer { connection, hints, _lock: lock };
        let thread = std::thread::Builder::new().name("journal-writer".into()).spawn(move || writer.work(jobs))?;
        let weight = Arc::new(Semaphore::new(QUEUE_BYTES_MAX));
        Ok(Coordinator { queue: Some(queue), weight, thread: Some(thread) })
    }

    /// Does `work` in a transaction and gives its answer after the commit. `work` may be done
    /// again after a rollback. Dropping the future once it waits for the answer undoes nothing.
    pub(super) async fn run<T, F>(&self, bytes: usize, work: F) -> Result<T, AppendError>
    where
        T: Send + 'static,
        F: Fn(&Transaction<'_>) -> Result<T, Stop> + Send + 'static,
    {
        let gone = || AppendError::Unavailable(Failure::new("the writer of the journal has ended"));
        let weight = u32::try_from((bytes + JOB_BYTES).min(QUEUE_BYTES_MAX)).expect("64 MiB fit 32 bits");
        let permit = Arc::clone(&self.weight).acquire_many_owned(weight).await.map_err(|_| gone())?;
        let (reply, answer) = oneshot::channel();
        let task = Task { work, result: None, reply, _weight: permit };
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(Box::new(task)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's writer panicked");
        }
    }
}

struct Writer {
    // Dropped before the lock: the next writer must find a closed database.
    connection: Connection,
    hints: Arc<Hints>,
    _lock: StoreLock,
}

/// Where a transaction failed.
enum Broken {
    /// Before COMMIT: nothing of it was written.
    Inside(rusqlite::Error),
    /// In COMMIT: nobody knows.
    Commit(rusqlite::Error),
}

impl Writer {
    fn work(self, mut jobs: mpsc::Receiver<Box<dyn Job>>) {
        let mut batch = Vec::with_capacity(BATCH_JOBS_MAX);
        while jobs.blocking_recv_many(&mut batch, BATCH_JOBS_MAX) > 0 {
            self.write(&mut batch);
        }
    }

    /// Writes and answers a batch.
    fn write(&self, batch: &mut Vec<Box<dyn Job>>) {
        match self.transaction(batch) {
            Ok(touched) => self.finish(batch.drain(..), touched),
            Err(Broken::Inside(error)) if batch.len() > 1 => {
                tracing::warn!(%error, units = batch.len(), "transaction failed, its units are tried one by one");
                for job in batch.drain(..) {
                    self.write(&mut vec![job]);
                }
            }
            Err(Broken::Inside(error) | Broken::Commit(error)) => {
                tracing::warn!(%error, units = batch.len(), "transaction failed");
                for job in batch.drain(..) {
                    job.answer(Err(Failure::new(error.to_string())));
                }
            }
        }
    }

    fn finish(&self, jobs: impl Iterator<Item = Box<dyn Job>>, touched: Touched) {
        for job in jobs {
            job.answer(Ok(()));
        }
        touched.tell(&self.hints);
    }

    fn transaction(&self, batch: &mut [Box<dyn Job>]) -> Result<Touched, Broken> {
        let ran = self.run_all(batch).map_err(Broken::Inside);
        let committed =
            ran.and_then(|touched| self.execute(sql::TRANSACTION_COMMIT).map(|()| touched).map_err(Broken::Commit));
        if committed.is_err() && !self.connection.is_autocommit() {
            // When this fails too, the next BEGIN does, and says so.
            if let Err(error) = self.execute(sql::TRANSACTION_ROLLBACK) {
                tracing::error!(%error, "a failed transaction cannot be rolled back");
            }
        }
        committed
    }

    fn run_all(&self, batch: &mut [Box<dyn Job>]) -> rusqlite::Result<Touched> {
        self.execute(sql::TRANSACTION_BEGIN)?;
        let now = columns::now(&self.connection)?;
        let transaction = Transaction { connection: &self.connection, now, touched: Cell::default() };
        for job in batch {
            let before = transaction.touched.get();
            self.execute(sql::UNIT_BEGIN)?;
            if !job.run(&transaction)? {
                self.execute(sql::UNIT_UNDO)?;
                transaction.touched.set(before);
            }
            self.execute(sql::UNIT_KEEP)?;
        }
        Ok(transaction.touched.get())
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([]).map(drop)
    }
}
