//! One chunk under one lease: claim, adopt, allocate in waves, settle in batches,
//! and leave in one of four ways - ended, released, failed, or fenced off.

use super::docket::{Docket, Dockets, RunAdapters};
use super::trial::{Finished, Trial, pin};
use crate::aggregate::{CommandError, Live, load};
use crate::attempt::{Attempt, AttemptPhase};
use crate::chunk::{Chunk, ChunkCommand, ChunkPhase, ChunkState, FailedAttempt, Stage};
use crate::mutant::{self, Mutant};
use crate::ports::journal::{Guard, JournalReader};
use crate::shell::Shell;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tribunal_schema::answer::Answer;
use tribunal_schema::case::{Case, CasePage};
use tribunal_schema::events::{AllocatedAttempt, ChunkEvent, ReleaseReason, SettledExecution};
use tribunal_schema::ids::{AttemptId, ChunkId, GrantId, StreamId};
use tribunal_schema::units::{DurationMs, LeaseTerm, ReadySeq};

/// Attempts allocated at once, and how few running ones call for the next wave.
const WAVE: usize = 128;
const WAVE_LOW: usize = 64;

/// What tells a chunk's work to end early.
#[derive(Clone, Default)]
pub(super) struct Signals {
    /// Start nothing more, finish what runs, give the chunk back.
    pub(super) wind_down: CancellationToken,
    /// The lease is gone: drop everything.
    pub(super) fenced: CancellationToken,
}

/// What a worker needs to process chunks.
#[derive(Clone)]
pub(super) struct Bench {
    pub(super) shell: Shell,
    pub(super) adapters: RunAdapters,
    pub(super) dockets: Arc<Dockets>,
}

/// A chunk that this process holds.
pub(super) struct Held {
    bench: Bench,
    docket: Arc<Docket>,
    chunk: ChunkId,
    pub(super) term: LeaseTerm,
    guard: Guard,
    cases: Vec<Arc<Case>>,
    first_case: u32,
    running: JoinSet<()>,
    sender: mpsc::Sender<Finished>,
    finished: mpsc::Receiver<Finished>,
}

impl Bench {
    /// Claims a chunk. Refused when the offer is superseded or somebody holds it.
    pub(super) async fn claim(&self, chunk: ChunkId, ready_seq: ReadySeq) -> Result<Held, CommandError> {
        let docket = self.dockets.open(&self.shell, &self.adapters, chunk.run).await?;
        let settings = &self.shell.settings;
        let grant = GrantId(self.shell.chance.ulid());
        let hard_deadline = DurationMs(settings.slice.0 + docket.profile.target.timeout.0 + settings.lease.0);
        let command =
            ChunkCommand::Lease { ready_seq, grant, holder: self.shell.holder, lease: settings.lease, hard_deadline };
        let done = self.shell.ask_chunk(chunk, None, command).await?;
        let term = match done.events.first() {
            Some(ChunkEvent::Leased(leased)) => leased.term,
            Some(_) | None => return Err(CommandError::Bug(format!("the claim of chunk {chunk} gave no lease"))),
        };
        let (sender, finished) = mpsc::channel(WAVE * 2);
        Ok(Held {
            bench: self.clone(),
            docket,
            chunk,
            term,
            guard: Guard::Lease { chunk, term, grant },
            cases: vec![],
            first_case: 0,
            running: JoinSet::new(),
            sender,
            finished,
        })
    }
}

impl Bench {
    /// Ends a term of this process that no task works under any more, as a failure of the worker.
    pub(super) async fn give_up(&self, chunk: ChunkId, term: LeaseTerm) -> Result<(), CommandError> {
        let docket = self.dockets.open(&self.shell, &self.adapters, chunk.run).await?;
        let failure_budget = self.shell.settings.failure_budget;
        let fail = |_: &_, fates, _| ChunkCommand::FailProcessing {
            term,
            fates,
            message: "its task ended without giving it back".into(),
            failure_budget,
            profile: docket.profile.clone(),
        };
        self.shell.close_term(chunk, vec![], fail).await.map(drop)
    }
}

/// Why the work on a chunk stopped before it ended.
enum Leave {
    /// The chunk ended.
    Ended,
    /// Give it back.
    Release(ReleaseReason),
    /// The worker cannot go on.
    Fail(String),
    /// Another term has it, or it is over.
    Fenced,
}

impl Held {
    /// Works until the chunk ends or has to be left, and leaves it.
    pub(super) async fn work(mut self, signals: &Signals) {
        let leave = tokio::select! {
            biased;
            () = signals.fenced.cancelled() => Ok(Leave::Fenced),
            leave = self.work_through(signals) => leave,
        };
        let leave = leave.unwrap_or_else(|error| leave_of(&error));
        self.running.shutdown().await;
        if let Err(error) = self.leave(leave).await {
            tracing::warn!(chunk = %self.chunk, term = %self.term, %error, "chunk could not be left; its lease will expire");
        }
        self.bench.shell.directory.forget_chunk(self.chunk);
    }

    async fn work_through(&mut self, signals: &Signals) -> Result<Leave, CommandError> {
        let live = self.look().await?;
        self.read_cases(&live.state).await?;
        let slice = tokio::time::sleep(self.bench.shell.settings.slice.duration());
        tokio::pin!(slice);
        let mut winding_down = false;
        // Also cancelled when the slice is over: what still waits for a permit then might not end within the grant.
        let stop = signals.wind_down.child_token();
        self.adopt(&live.state, &stop).await?;
        loop {
            if slice.is_elapsed() {
                stop.cancel();
            }
            winding_down |= stop.is_cancelled() || self.docket.is_halting();
            if !winding_down && self.running.len() <= WAVE_LOW {
                self.allocate(&stop).await?;
            }
            if self.running.is_empty() && self.finished.is_empty() {
                return self.idle(signals, slice.is_elapsed()).await;
            }
            let mut batch = Vec::with_capacity(WAVE);
            let mut died = None;
            tokio::select! {
                biased;
                _ = self.finished.recv_many(&mut batch, WAVE) => {}
                Some(ended) = self.running.join_next(), if !self.running.is_empty() => died = ended.err(),
                () = signals.wind_down.cancelled(), if !winding_down => {}
                () = &mut slice, if !winding_down && !slice.is_elapsed() => {}
            }
            while let Some(ended) = self.running.try_join_next() {
                died = died.or(ended.err());
            }
            if let Some(death) = died {
                return Ok(Leave::Fail(format!("an attempt's task died: {death}")));
            }
            if self.record(batch).await? {
                return Ok(Leave::Ended);
            }
        }
    }

    /// Nothing runs and nothing could be allocated: the chunk waits, or is to be left.
    async fn idle(&self, signals: &Signals, slice_over: bool) -> Result<Leave, CommandError> {
        let state = self.look().await?.state;
        if matches!(state.phase, ChunkPhase::Ended(_)) {
            return Ok(Leave::Ended);
        }
        Ok(Leave::Release(if signals.wind_down.is_cancelled() || self.docket.is_halting() {
            ReleaseReason::Shutdown
        } else if slice_over {
            ReleaseReason::Slice
        } else {
            ReleaseReason::RetryWait
        }))
    }

    async fn look(&self) -> Result<Live<Chunk>, CommandError> {
        self.bench.shell.directory.chunk(self.chunk).look().await
    }

    /// Reads the content of the chunk's cases.
    async fn read_cases(&mut self, state: &ChunkState) -> Result<(), CommandError> {
        let bug = |words: String| CommandError::Bug(format!("chunk {}: {words}", self.chunk));
        let seeded = state.seeded.clone().ok_or_else(|| bug("it was never seeded".into()))?;
        let bytes = self.bench.shell.journal().blob(seeded.page).await?;
        let bytes = bytes.ok_or_else(|| bug(format!("its page {} is missing", seeded.page)))?;
        let page: CasePage = serde_json::from_slice(&bytes).map_err(|error| bug(format!("its page: {error}")))?;
        if page.cases.len() != seeded.cases.len() {
            return Err(bug(format!("its page has {} cases, not {}", page.cases.len(), seeded.cases.len())));
        }
        self.first_case = seeded.first_case;
        self.cases = page.cases.into_iter().map(Arc::new).collect();
        Ok(())
    }

    fn trial(&self, state: &ChunkState, attempt: AllocatedAttempt) -> Result<Trial, CommandError> {
        let key = attempt.execution;
        let case = key.case.checked_sub(self.first_case).and_then(|index| self.cases.get(index as usize));
        let (Some(case), Some(group)) = (case, state.group(key.case)) else {
            return Err(CommandError::Bug(format!("chunk {} has no {key}", self.chunk)));
        };
        Ok(Trial {
            shell: self.bench.shell.clone(),
            docket: self.docket.clone(),
            chunk: self.chunk,
            term: self.term,
            guard: self.guard,
            attempt,
            group,
            case: case.clone(),
        })
    }

    /// Takes over what earlier terms left: an answered attempt is judged, a judged or
    /// failed one is settled; none is asked again.
    async fn adopt(&mut self, state: &ChunkState, stop: &CancellationToken) -> Result<(), CommandError> {
        for open in state.open_attempts() {
            let reader: &dyn JournalReader = &**self.bench.shell.journal();
            let live = load::<Attempt>(reader, &StreamId::Attempt(open.attempt)).await?;
            let trial = self.trial(state, open)?;
            let sender = self.sender.clone();
            match live.state.phase.clone() {
                AttemptPhase::Answered(_) if mutant::is_alive(Mutant::AnsweredCalledAgain) => {
                    let stop = stop.clone();
                    self.running.spawn(async move { send(&sender, trial.run(stop).await).await });
                }
                AttemptPhase::Answered(answered) => {
                    let answer = self.answer(answered.answer).await?;
                    let latency = answered.latency.0;
                    self.running.spawn(async move {
                        send(&sender, trial.examine(Arc::new(answer), latency).await).await;
                    });
                }
                AttemptPhase::Judged(_, judged) => {
                    let settled = trial.settled(judged.judgment.clone(), live.head);
                    self.record(vec![Finished::Settled(settled)]).await?;
                }
                AttemptPhase::Failed(failed) => {
                    let failed = FailedAttempt {
                        attempt: open.attempt,
                        execution: open.execution,
                        class: failed.class,
                        retry_after: failed.retry_after,
                        response_received: failed.response_received,
                        pin: pin(live.head),
                        jitter_ppm: self.bench.shell.chance.ppm(),
                    };
                    self.record(vec![Finished::Failed(failed)]).await?;
                }
                AttemptPhase::New => {
                    let stop = stop.clone();
                    self.running.spawn(async move { send(&sender, trial.run(stop).await).await });
                }
                AttemptPhase::Started | AttemptPhase::Expired | AttemptPhase::Cancelled => {
                    return Err(CommandError::Bug(format!("attempt {} was left open by its term", open.attempt)));
                }
            }
        }
        Ok(())
    }

    async fn answer(&self, digest: tribunal_schema::Digest) -> Result<Answer, CommandError> {
        let bytes = self.bench.shell.journal().blob(digest).await?;
        let bytes = bytes.ok_or_else(|| CommandError::Bug(format!("answer {digest} is missing")))?;
        serde_json::from_slice(&bytes).map_err(|error| CommandError::Bug(format!("answer {digest}: {error}")))
    }

    /// Allocates a wave and starts its trials.
    async fn allocate(&mut self, stop: &CancellationToken) -> Result<(), CommandError> {
        let state = self.look().await?.state;
        let pending = state.executions.values().filter(|one| matches!(one.stage, Stage::Pending { .. })).count();
        let wanted = pending.min(WAVE - self.running.len().min(WAVE));
        if wanted == 0 {
            return Ok(());
        }
        let now = self.bench.shell.journal().now().await?;
        let ids: Vec<AttemptId> = (0..wanted).map(|_| AttemptId(self.bench.shell.chance.ulid())).collect();
        let command = ChunkCommand::Allocate { term: self.term, ids, now };
        let done = self.bench.shell.ask_chunk(self.chunk, Some(self.guard), command).await?;
        for event in &done.events {
            let ChunkEvent::AttemptsAllocated(allocated) = event else { continue };
            for attempt in &allocated.attempts {
                let trial = self.trial(&state, *attempt)?;
                let (sender, stop) = (self.sender.clone(), stop.clone());
                self.running.spawn(async move { send(&sender, trial.run(stop).await).await });
            }
        }
        Ok(())
    }

    /// Records what came back; `true` when that ended the chunk.
    async fn record(&mut self, batch: Vec<Finished>) -> Result<bool, CommandError> {
        let (mut settled, mut failures) = (Vec::<SettledExecution>::new(), vec![]);
        let mut broken = None;
        for one in batch {
            match one {
                Finished::Settled(one) => settled.push(one),
                Finished::Failed(one) => failures.push(one),
                Finished::NotStarted => {}
                Finished::Broken(error) => broken = broken.or(Some(error)),
            }
        }
        let gone: Vec<AttemptId> =
            settled.iter().filter_map(|one| one.result.attempt).chain(failures.iter().map(|one| one.attempt)).collect();
        let (term, profile) = (self.term, self.docket.profile.clone());
        let mut commands = vec![];
        if !settled.is_empty() {
            commands.push(ChunkCommand::Settle { term, settled, profile: profile.clone() });
        }
        if !failures.is_empty() {
            commands.push(ChunkCommand::RecordFailures { term, failures, profile });
        }
        let mut ended = false;
        for command in commands {
            let done = self.bench.shell.ask_chunk(self.chunk, Some(self.guard), command).await?;
            ended |=
                done.events.iter().any(|event| matches!(event, ChunkEvent::Completed(_) | ChunkEvent::Quarantined(_)));
        }
        for attempt in gone {
            self.bench.shell.directory.forget_attempt(attempt);
        }
        match broken {
            Some(error) if !ended => Err(error),
            Some(_) | None => Ok(ended),
        }
    }

    async fn leave(&self, leave: Leave) -> Result<(), CommandError> {
        let shell = &self.bench.shell;
        let (term, profile) = (self.term, self.docket.profile.clone());
        match leave {
            Leave::Ended | Leave::Fenced => Ok(()),
            Leave::Release(reason) => {
                let release =
                    |_: &_, fates, now| ChunkCommand::Release { term, reason, fates, profile: profile.clone(), now };
                shell.close_term(self.chunk, vec![self.guard], release).await.map(drop)
            }
            Leave::Fail(message) => {
                tracing::error!(chunk = %self.chunk, message, "chunk could not be processed");
                let failure_budget = shell.settings.failure_budget;
                let fail = |_: &_, fates, _| ChunkCommand::FailProcessing {
                    term,
                    fates,
                    message: message.clone(),
                    failure_budget,
                    profile: profile.clone(),
                };
                shell.close_term(self.chunk, vec![self.guard], fail).await.map(drop)
            }
        }
    }
}

async fn send(sender: &mpsc::Sender<Finished>, finished: Finished) {
    // The receiver goes only after every task was shut down.
    let _ = sender.send(finished).await;
}

/// How to leave a chunk after an error.
fn leave_of(error: &CommandError) -> Leave {
    match error {
        CommandError::Refused(_) | CommandError::Rejected(_) => Leave::Fenced,
        CommandError::Failed(_) | CommandError::Quarantined { .. } | CommandError::Bug(_) => {
            Leave::Fail(error.to_string())
        }
    }
}
