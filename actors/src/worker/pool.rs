//! The pool: consumes offers, claims their chunks, keeps the leases alive, and
//! winds down in order.

use super::docket::{Dockets, RunAdapters};
use super::process::{Bench, Signals};
use crate::aggregate::CommandError;
use crate::ports::broker::{Broker, Delivery};
use crate::ports::journal::{Desired, Renewal};
use crate::shell::Shell;
use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tribunal_schema::ids::ChunkId;
use tribunal_schema::units::LeaseTerm;
use tribunal_schema::wire::ChunkReady;

/// A running worker.
pub struct Worker {
    wind_down: CancellationToken,
    gone: oneshot::Receiver<()>,
}

impl Worker {
    /// Takes no more chunks, lets attempts in flight finish, gives chunks back, and waits for all that.
    pub async fn wind_down(self) {
        self.wind_down.cancel();
        // An error means that the actor is gone already.
        let _ = self.gone.await;
    }
}

/// Starts a worker on the current arbiter for some lanes; its work runs on the tokio pool.
/// One for each incarnation: a lease of its holder that it knows no task for is given up.
///
/// # Panics
/// Outside of an actix system.
pub fn start(shell: &Shell, broker: Arc<dyn Broker>, adapters: RunAdapters, lanes: Vec<String>) -> Worker {
    let wind_down = CancellationToken::new();
    let (done, gone) = oneshot::channel();
    let pool = Pool {
        bench: Bench { shell: shell.clone(), adapters, dockets: Arc::new(Dockets::default()) },
        broker,
        lanes,
        held: Arc::default(),
        serving: Arc::default(),
        wind_down: wind_down.clone(),
    };
    WorkerActor { pool: Arc::new(pool), done: Some(done) }.start();
    Worker { wind_down, gone }
}

/// The actor that owns the pool's tasks and restarts a loop that died.
struct WorkerActor {
    pool: Arc<Pool>,
    done: Option<oneshot::Sender<()>>,
}

impl Actor for WorkerActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        self.watch(context);
    }
}

impl WorkerActor {
    fn watch(&mut self, context: &mut Context<Self>) {
        let pool = self.pool.clone();
        let work = tokio::spawn(async move { pool.run().await });
        context.spawn(work.into_actor(self).map(|ended, this, context| match ended {
            Ok(()) => {
                this.done.take().map(|done| done.send(()));
                context.stop();
            }
            // Its runtime is going, and so are we.
            Err(death) if death.is_cancelled() => context.stop(),
            Err(death) => {
                tracing::error!(%death, "worker died and is started again; its leases expire or are renewed");
                this.watch(context);
            }
        }));
    }
}

type HeldChunks = Arc<Mutex<BTreeMap<ChunkId, (LeaseTerm, Signals)>>>;

/// The chunks that some task deals with, from before the claim until after the end; how many tasks.
type Serving = Arc<Mutex<BTreeMap<ChunkId, usize>>>;

/// Takes a chunk out of what is served when its task ends, in whatever way.
struct Served {
    serving: Serving,
    chunk: ChunkId,
}

impl Served {
    fn new(serving: &Serving, chunk: ChunkId) -> Served {
        *serving.lock().unwrap_or_else(PoisonError::into_inner).entry(chunk).or_default() += 1;
        Served { serving: serving.clone(), chunk }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tasks) = serving.get_mut(&self.chunk) {
            *tasks -= 1;
            if *tasks == 0 {
                serving.remove(&self.chunk);
            }
        }
    }
}

struct Pool {
    bench: Bench,
    broker: Arc<dyn Broker>,
    lanes: Vec<String>,
    held: HeldChunks,
    serving: Serving,
    wind_down: CancellationToken,
}

impl Pool {
    /// Consumes until told to wind down, then waits for what runs.
    async fn run(self: &Arc<Self>) {
        let mut consumers = JoinSet::new();
        for lane in &self.lanes {
            let (pool, lane) = (self.clone(), lane.clone());
            consumers.spawn(async move { pool.consume(&lane).await });
        }
        let beating = CancellationToken::new();
        let heart = tokio::spawn(self.clone().heart(beating.clone()));
        while consumers.join_next().await.is_some() {}
        beating.cancel();
        if let Err(death) = heart.await {
            tracing::error!(%death, "heartbeat died");
        }
    }

    async fn consume(self: &Arc<Self>, lane: &str) {
        let permits = self.bench.shell.settings.chunk_permits;
        let mut working = JoinSet::new();
        while !self.wind_down.is_cancelled() {
            let mut deliveries = self.broker.consume(lane, permits).await;
            loop {
                tokio::select! {
                    biased;
                    () = self.wind_down.cancelled() => break,
                    Some(ended) = working.join_next(), if !working.is_empty() => {
                        if let Err(death) = ended {
                            tracing::error!(%death, "chunk task died; its lease will expire");
                        }
                    }
                    delivery = deliveries.recv() => match delivery {
                        Some(delivery) => {
                            let pool = self.clone();
                            working.spawn(async move { pool.serve(delivery).await });
                        }
                        None => break,
                    },
                }
            }
        }
        self.signal_all();
        while working.join_next().await.is_some() {}
    }

    /// One delivery: held unacked while the chunk is worked on.
    async fn serve(self: Arc<Self>, delivery: Delivery) {
        let offer = match ChunkReady::parse(&delivery.body) {
            Ok(offer) => offer,
            Err(reason) => return self.set_aside(delivery, &reason).await,
        };
        let _served = Served::new(&self.serving, offer.chunk);
        match self.bench.claim(offer.chunk, offer.ready_seq).await {
            Ok(held) => {
                let signals = Signals::default();
                self.hold(offer.chunk, held.term, &signals);
                if self.wind_down.is_cancelled() {
                    signals.wind_down.cancel();
                }
                held.work(&signals).await;
                self.let_go(offer.chunk);
                delivery.acker.ack();
            }
            // Its ready row or its expiry owns the chunk; this message is of no more use.
            Err(error @ (CommandError::Rejected(_) | CommandError::Refused(_))) => {
                tracing::debug!(chunk = %offer.chunk, %error, "offer was not taken");
                delivery.acker.ack();
            }
            Err(error) => {
                tracing::error!(chunk = %offer.chunk, %error, "chunk could not be claimed");
                // The journal is away or the chunk is broken: not at once again.
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                delivery.acker.requeue();
            }
        }
    }

    /// A message that cannot be understood is kept with its bytes.
    async fn set_aside(&self, delivery: Delivery, reason: &str) {
        tracing::error!(reason, bytes = delivery.body.len(), "message cannot be understood and goes to quarantine");
        match self.bench.shell.journal().poison_put(&delivery.body, reason).await {
            Ok(()) => delivery.acker.ack(),
            Err(_) => delivery.acker.requeue(),
        }
    }

    fn hold(&self, chunk: ChunkId, term: LeaseTerm, signals: &Signals) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(chunk, (term, signals.clone()));
    }

    fn let_go(&self, chunk: ChunkId) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&chunk);
    }

    fn signal_all(&self) {
        for (_, signals) in self.held.lock().unwrap_or_else(PoisonError::into_inner).values() {
            signals.wind_down.cancel();
        }
    }

    /// Renews every lease at each beat; the answer says what was lost, paused or stopped.
    async fn heart(self: Arc<Self>, stop: CancellationToken) {
        let settings = self.bench.shell.settings.clone();
        let hints = self.bench.shell.journal().hints();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = hints.desired.notified() => {}
                () = tokio::time::sleep(settings.heartbeat.duration()) => {}
            }
            let held_before: Vec<(ChunkId, LeaseTerm)> = {
                let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                held.iter().map(|(chunk, (term, _))| (*chunk, *term)).collect()
            };
            match self.bench.shell.journal().leases_renew(self.bench.shell.holder, settings.lease).await {
                Ok(renewals) => {
                    self.heed(&held_before, &renewals);
                    self.give_up_orphans(&renewals).await;
                }
                Err(error) => tracing::warn!(%error, "leases could not be renewed"),
            }
        }
    }

    /// A lease that no task stands behind (its task died, or could not say good-bye) would be
    /// renewed until its hard deadline: it is given up now. A task that took the chunk since
    /// has another term, and this is refused.
    async fn give_up_orphans(&self, renewals: &[Renewal]) {
        for renewal in renewals {
            if self.serving.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&renewal.chunk) {
                continue;
            }
            self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&renewal.chunk);
            tracing::error!(chunk = %renewal.chunk, term = %renewal.term, "lease without a task is given up");
            if let Err(error) = self.bench.give_up(renewal.chunk, renewal.term).await {
                tracing::warn!(chunk = %renewal.chunk, %error, "lease without a task could not be given up");
            }
        }
    }

    fn heed(&self, held_before: &[(ChunkId, LeaseTerm)], renewals: &[Renewal]) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let by_chunk: BTreeMap<ChunkId, &Renewal> = renewals.iter().map(|renewal| (renewal.chunk, renewal)).collect();
        for (chunk, before) in held_before {
            let Some((term, signals)) = held.get(chunk) else { continue };
            // Another grant since the question was asked is not what the answer is about.
            if term != before {
                continue;
            }
            match by_chunk.get(chunk).filter(|renewal| renewal.term == *term).map(|renewal| renewal.desired) {
                None => {
                    tracing::warn!(%chunk, %term, "lease is gone");
                    signals.fenced.cancel();
                }
                Some(Desired::Paused) => signals.wind_down.cancel(),
                Some(Desired::Stopped) => signals.fenced.cancel(),
                Some(Desired::Running) => {}
            }
        }
    }
}
