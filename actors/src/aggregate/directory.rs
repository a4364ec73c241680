//! The directory: finds the actor of a stream, starts it on demand, revives one
//! that died, and forgets those that are not needed. Callers hold handles with
//! async methods and never see an actor.
//!
//! All actors run on one arbiter. Their handlers only decide and wait: I/O, Wasm
//! and HTTP run elsewhere.

use super::actor::{Aggregate, Look};
use super::execute::{CommandError, Done, Execute};
use super::live::Live;
use crate::attempt::Attempt;
use crate::chunk::Chunk;
use crate::decider::Decider;
use crate::ports::journal::{Failure, Journal};
use crate::run::Run;
use actix::{Actor, Addr, ArbiterHandle};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tribunal_schema::ids::{AttemptId, ChunkId, RunId, StreamId};

/// Actors of one category that are kept at most; the longest unused quarter goes first.
/// An attempt's actor takes about a kilobyte.
const KEPT_MAX: usize = 8192;

/// Finds or starts the actors of a journal.
#[derive(Clone)]
pub struct Directory {
    journal: Arc<dyn Journal>,
    arbiter: ArbiterHandle,
    runs: Arc<Mutex<Shelf<Run>>>,
    chunks: Arc<Mutex<Shelf<Chunk>>>,
    attempts: Arc<Mutex<Shelf<Attempt>>>,
}

struct Shelf<D: Decider> {
    actors: HashMap<StreamId, (Addr<Aggregate<D>>, u64)>,
    uses: u64,
}

impl<D: Decider> Default for Shelf<D> {
    fn default() -> Shelf<D> {
        Shelf { actors: HashMap::new(), uses: 0 }
    }
}

impl Directory {
    /// A directory whose actors run on the current arbiter.
    ///
    /// # Panics
    /// Outside of an actix system.
    pub fn here(journal: Arc<dyn Journal>) -> Directory {
        Directory {
            journal,
            arbiter: actix::Arbiter::current(),
            runs: Arc::default(),
            chunks: Arc::default(),
            attempts: Arc::default(),
        }
    }

    /// The journal the actors write.
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.journal
    }

    /// A run.
    pub fn run(&self, id: RunId) -> Handle<Run> {
        self.handle(&self.runs, StreamId::Run(id))
    }

    /// A chunk.
    pub fn chunk(&self, id: ChunkId) -> Handle<Chunk> {
        self.handle(&self.chunks, StreamId::Chunk(id))
    }

    /// An attempt.
    pub fn attempt(&self, id: AttemptId) -> Handle<Attempt> {
        self.handle(&self.attempts, StreamId::Attempt(id))
    }

    /// Lets an attempt's actor go: nothing more is expected of it.
    pub fn forget_attempt(&self, id: AttemptId) {
        shelf(&self.attempts).actors.remove(&StreamId::Attempt(id));
    }

    /// Lets a chunk's actor go: it ended, or somebody wrote beside it.
    pub fn forget_chunk(&self, id: ChunkId) {
        shelf(&self.chunks).actors.remove(&StreamId::Chunk(id));
    }

    fn handle<D: Decider>(&self, actors: &Arc<Mutex<Shelf<D>>>, stream: StreamId) -> Handle<D> {
        Handle { directory: self.clone(), actors: actors.clone(), stream }
    }
}

fn shelf<D: Decider>(actors: &Mutex<Shelf<D>>) -> std::sync::MutexGuard<'_, Shelf<D>> {
    actors.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream that can be asked.
pub struct Handle<D: Decider> {
    directory: Directory,
    actors: Arc<Mutex<Shelf<D>>>,
    stream: StreamId,
}

impl<D: Decider> Handle<D> {
    /// Carries out a command. Dropping the future does not undo what was sent.
    pub async fn execute(&self, request: Execute<D>) -> Result<Done<D>, CommandError> {
        // A second try revives an actor that died with the first one; the same
        // command id makes it harmless where the first one was written.
        for _ in 0..2 {
            if let Ok(answer) = self.actor().send(request.clone()).await {
                return answer;
            }
        }
        Err(Failure::new(format!("the actor of {} keeps dying", self.stream)).into())
    }

    /// The state as of now.
    pub async fn look(&self) -> Result<Live<D>, CommandError> {
        for _ in 0..2 {
            if let Ok(answer) = self.actor().send(Look::new()).await {
                return answer;
            }
        }
        Err(Failure::new(format!("the actor of {} keeps dying", self.stream)).into())
    }

    fn actor(&self) -> Addr<Aggregate<D>> {
        let mut shelf = shelf(&self.actors);
        shelf.uses += 1;
        let now = shelf.uses;
        if let Some((actor, used)) = shelf.actors.get_mut(&self.stream)
            && actor.connected()
        {
            *used = now;
            return actor.clone();
        }
        shelf.make_room();
        let aggregate = Aggregate::<D>::new(self.directory.journal.clone(), self.stream.clone());
        let actor = Aggregate::start_in_arbiter(&self.directory.arbiter, move |_| aggregate);
        shelf.actors.insert(self.stream.clone(), (actor.clone(), now));
        actor
    }
}

impl<D: Decider> Shelf<D> {
    fn make_room(&mut self) {
        if self.actors.len() < KEPT_MAX {
            return;
        }
        let mut uses: Vec<u64> = self.actors.values().map(|(_, used)| *used).collect();
        uses.sort_unstable();
        let oldest_kept = uses[uses.len() / 4];
        self.actors.retain(|_, (_, used)| *used >= oldest_kept);
    }
}
