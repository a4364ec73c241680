//! The world of one play: the shared tables, the processes, the person, and time.

use super::broker::{PluggedBroker, Queues};
use super::invariants;
use super::nemesis::{Blow, Dice, Faults, Nemesis, Point};
use super::plug::{Plug, PluggedChance, PluggedJournal};
use super::scenario::{Deed, Scenario, Trial};
use super::target::{Call, Judges, Targets};
use crate::aggregate::{CommandError, Directory, load};
use crate::chunk::{Chunk, ChunkCommand, ChunkPhase};
use crate::ports::chance::Chance;
use crate::ports::journal::{PlanRow, Row};
use crate::run::RunCommand;
use crate::shell::{Settings, Shell};
use crate::supervise::{self, Supervisors};
use crate::testing::journal::MemoryJournal;
use crate::testing::plot;
use crate::worker::{self, RunAdapters, Worker};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tribunal_schema::Digest;
use tribunal_schema::events::{ChunkEvent, DomainEvent, SettledExecution};
use tribunal_schema::ids::{AttemptId, ChunkId, Incarnation, RunId, StreamId};
use tribunal_schema::units::DurationMs;
use tribunal_schema::view::{QuarantineStatus, RunStatus};
use ulid::Ulid;

/// Virtual time in which every run must have ended, faults and their waits included.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// Virtual time after which no fault strikes any more.
const PEACE_AFTER: Duration = Duration::from_secs(240);
/// How often it is looked whether everything is over.
const LOOK: Duration = Duration::from_millis(500);

/// How often the confused worker comes, and how many times.
const CONFUSED_EVERY: Duration = Duration::from_millis(700);
const CONFUSED_MAX: u32 = 30;

/// How one play went.
pub struct Played {
    /// Whether all invariants held.
    pub ending: Result<(), String>,
    /// The faults that struck: number and words.
    pub struck: Vec<(u32, String)>,
    /// What came of each run.
    pub results: BTreeMap<RunId, invariants::Result>,
    /// The digest of everything that was recorded: equal for equal schedules.
    pub trace: Digest,
}

/// What all processes share.
pub(super) struct World {
    seed: u64,
    begun: Instant,
    nemesis: Mutex<Nemesis>,
    dice: Mutex<(Dice, u64)>,
    calls: Mutex<Vec<Call>>,
    /// Promises that were seen to be broken while it was played.
    broken: Mutex<Vec<String>>,
    pub(super) journal: MemoryJournal,
    queues: Queues,
    deaths: mpsc::UnboundedSender<usize>,
}

impl World {
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn now_ms(&self) -> u128 {
        self.begun.elapsed().as_millis()
    }

    pub(super) fn strike(&self, point: Point, place: usize) -> Option<Blow> {
        if self.begun.elapsed() > PEACE_AFTER {
            return None;
        }
        let mut nemesis = self.nemesis.lock().unwrap_or_else(PoisonError::into_inner);
        nemesis.strike(point, place, self.now_ms())
    }

    pub(super) fn note_call(&self, call: Call) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    pub(super) fn note_broken(&self, what: String) {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// What is committed from now on stays out of the feed for a while, as behind an open transaction.
    pub(super) fn hold_feed(self: &Arc<Self>, time: Duration) {
        self.journal.open();
        let world = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            world.journal.close();
        });
    }

    /// Whether the broker confirmed a message.
    pub(super) fn is_confirmed(&self, message: u64) -> bool {
        self.queues.is_confirmed(&message.to_string())
    }

    pub(super) fn ulid(&self) -> Ulid {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        dice.1 += 1;
        let count = dice.1;
        Ulid::from_parts(1_000_000 + count, u128::from(dice.0.roll()))
    }

    pub(super) fn ppm(&self) -> u32 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).0.below(1_000_001) as u32
    }

    pub(super) fn died(&self, plug: &Plug) {
        self.journal.died(plug.holder);
        self.queues.gone(plug.number);
        // Nobody listens when the simulation ends.
        let _ = self.deaths.send(plug.place);
    }
}

/// A process that runs, until it is unplugged.
struct Process {
    plug: Arc<Plug>,
    _supervisors: Supervisors,
    _worker: Worker,
}

/// Ids for what is done from outside.
struct OutsideChance(Arc<World>);

impl Chance for OutsideChance {
    fn ulid(&self) -> Ulid {
        self.0.ulid()
    }

    fn ppm(&self) -> u32 {
        self.0.ppm()
    }
}

/// Plays a scenario in virtual time on this thread.
///
/// # Panics
/// When no runtime can be made.
pub fn play(scenario: &Scenario, faults: Faults) -> Played {
    let system = actix::System::with_tokio_rt(|| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("a runtime for one thread")
    });
    system.block_on(play_here(scenario, faults))
}

async fn play_here(scenario: &Scenario, faults: Faults) -> Played {
    let (deaths, mut died) = mpsc::unbounded_channel();
    let in_peace = faults.are_none();
    let world = Arc::new(World {
        seed: scenario.seed,
        begun: Instant::now(),
        nemesis: Mutex::new(Nemesis::of(scenario.seed, faults)),
        dice: Mutex::new((Dice::of(scenario.seed, 3), 0)),
        calls: Mutex::default(),
        broken: Mutex::default(),
        journal: MemoryJournal::new(),
        queues: Queues::default(),
        deaths,
    });
    let outside = outside(&world);
    let mut ending = submit(&outside, &scenario.trials).await.map_err(|error| format!("submitting: {error}"));
    if !in_peace {
        people(&outside, scenario);
        confused_worker(&world, &outside, scenario);
    }
    let mut processes: Vec<Option<Process>> = vec![];
    let mut number = 0;
    for place in 0..scenario.processes {
        number += 1;
        processes.push(Some(start(&world, place, number)));
    }
    let mut dice = Dice::of(scenario.seed, 4);
    let (revivals, mut revive) = mpsc::unbounded_channel();
    while ending.is_ok() && !is_over(&world) {
        tokio::select! {
            biased;
            Some(place) = died.recv() => {
                processes[place] = None;
                let (revivals, pause) = (revivals.clone(), Duration::from_millis(dice.between(50, 15_000)));
                tokio::spawn(async move {
                    tokio::time::sleep(pause).await;
                    let _ = revivals.send(place);
                });
            }
            Some(place) = revive.recv() => {
                number += 1;
                processes[place] = Some(start(&world, place, number));
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        if world.begun.elapsed() > PATIENCE {
            ending = Err(invariants::unfinished(&world.journal.tables()));
        }
    }
    processes.iter().flatten().for_each(|process| process.plug.unplug());
    world.queues.clear();
    // What was just started begins, and stays silent.
    tokio::time::sleep(LOOK).await;
    finish(&world, scenario, ending).await
}

async fn finish(world: &Arc<World>, scenario: &Scenario, ending: Result<(), String>) -> Played {
    let struck = world.nemesis.lock().unwrap_or_else(PoisonError::into_inner).struck.clone();
    let calls = world.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let broken = world.broken.lock().unwrap_or_else(PoisonError::into_inner).first().cloned();
    let ending = match ending.and(broken.map_or(Ok(()), Err)) {
        Ok(()) => invariants::check(&world.journal, &calls, scenario, struck.len()).await,
        Err(what) => Err(what),
    };
    let results = invariants::results(&world.journal, scenario).await;
    let tables = world.journal.tables();
    let text: String = tables.events.iter().map(|event| event.digest.to_string()).collect();
    Played { ending, struck, results, trace: Digest::of(text.as_bytes()) }
}

/// Whether every run is over and nothing is left to be done.
fn is_over(world: &World) -> bool {
    let tables = world.journal.tables();
    let ended = tables.views.runs.values().all(|row| match row.status {
        RunStatus::Completed | RunStatus::Cancelled | RunStatus::Failed | RunStatus::Retired => true,
        RunStatus::Creating | RunStatus::Running | RunStatus::Paused | RunStatus::Halted => false,
    });
    ended && invariants::leftovers(&tables).is_none()
}

/// What is done from outside, where nothing strikes.
fn outside(world: &Arc<World>) -> Shell {
    let chance = Arc::new(OutsideChance(world.clone()));
    let holder = Incarnation(world.ulid());
    shell(Directory::here(Arc::new(world.journal.beside())), chance, holder)
}

fn shell(directory: Directory, chance: Arc<dyn Chance>, holder: Incarnation) -> Shell {
    let settings = Settings {
        lease: DurationMs::from_secs(10),
        heartbeat: DurationMs(2_500),
        slice: DurationMs::from_secs(60),
        chunk_permits: 2,
        outbox_window: DurationMs::from_secs(10),
        ready_age: DurationMs::from_secs(20),
        ..Settings::default()
    };
    Shell { directory, chance, holder, team: "sim".into(), settings: Arc::new(settings), focus: Arc::default() }
}

/// Starts a process in a place.
fn start(world: &Arc<World>, place: usize, number: u64) -> Process {
    let holder = Incarnation(world.ulid());
    world.journal.lives(holder);
    let plug = Arc::new(Plug::new(world.clone(), place, number, holder));
    let journal = PluggedJournal { plug: plug.clone(), journal: world.journal.beside() };
    let chance = Arc::new(PluggedChance(plug.clone()));
    let shell = shell(Directory::here(Arc::new(journal)), chance, holder);
    // Some know at once who is dead; the others wait until leases run out.
    if number.is_multiple_of(2) {
        let shell = shell.clone();
        tokio::spawn(async move { shell.journal().leases_revoke_dead(holder).await });
    }
    let broker = Arc::new(PluggedBroker { plug: plug.clone(), queues: world.queues.clone() });
    let adapters = RunAdapters { targets: Arc::new(Targets(plug.clone())), evaluators: Arc::new(Judges(plug.clone())) };
    let supervisors = supervise::start(&shell, broker.clone());
    let worker = worker::start(&shell, broker, adapters, vec!["default".into()]);
    Process { plug, _supervisors: supervisors, _worker: worker }
}

/// Submits the runs: rows first, then the plan.
async fn submit(outside: &Shell, trials: &[Trial]) -> Result<(), CommandError> {
    for trial in trials {
        let planned = plot::planned(trial.profile.clone(), trial.chunks, trial.cases);
        for number in 0..trial.chunks {
            let bytes: Arc<[u8]> = plot::page(number, trial.cases).into();
            let chunk = ChunkId { run: trial.run, number };
            let mut seeded = plot::seeded(&planned, number);
            seeded.chunk = chunk;
            let seeded = ChunkEvent::Seeded(seeded).encode().payload;
            let rows =
                vec![Row::BlobPut { digest: Digest::of(&bytes), bytes }, Row::PlanPut(PlanRow { chunk, seeded })];
            outside.write_rows(trial.run, rows).await?;
        }
        outside.ask_run(trial.run, RunCommand::Plan(Box::new(planned))).await?;
    }
    Ok(())
}

/// A worker that has lost its way: again and again it settles what is settled, and what is not its to
/// settle, under whatever term is live. Nothing of that may be recorded.
fn confused_worker(world: &Arc<World>, outside: &Shell, scenario: &Scenario) {
    let (world, shell, trials) = (world.clone(), outside.clone(), scenario.trials.clone());
    tokio::spawn(async move {
        for _ in 0..CONFUSED_MAX {
            tokio::time::sleep(CONFUSED_EVERY).await;
            for trial in &trials {
                for number in 0..trial.chunks {
                    confuse(&world, &shell, trial, ChunkId { run: trial.run, number }).await;
                }
            }
        }
    });
}

async fn confuse(world: &World, shell: &Shell, trial: &Trial, chunk: ChunkId) {
    let Ok(live) = load::<Chunk>(&world.journal, &StreamId::Chunk(chunk)).await else { return };
    if live.state.phase != ChunkPhase::Leased {
        return;
    }
    let profile = &trial.profile;
    let known = live.state.results().into_values().filter_map(|result| {
        let pin = plot::pin(1);
        result.attempt.is_some().then(|| SettledExecution { result: result.clone(), pin })
    });
    let foreign = live.state.open_attempts().into_iter().map(|open| {
        let result = plot::result(profile, open.execution, AttemptId(world.ulid()), true);
        SettledExecution { result, pin: plot::pin(2) }
    });
    for one in known.chain(foreign).collect::<Vec<_>>() {
        let execution = one.result.execution;
        let settled = vec![one];
        let settle = ChunkCommand::Settle { term: live.state.term, settled, profile: Arc::new(profile.clone()) };
        if shell.ask_chunk(chunk, None, settle).await.is_ok_and(|done| !done.events.is_empty()) {
            world.note_broken(format!("{execution} of chunk {chunk} was settled by a worker that had no right to"));
        }
    }
}

/// What people do, each at its time.
fn people(outside: &Shell, scenario: &Scenario) {
    for trial in &scenario.trials {
        let Some((when, deed)) = trial.deed else { continue };
        let (shell, run) = (outside.clone(), trial.run);
        tokio::spawn(async move {
            tokio::time::sleep(when).await;
            // What comes too late is refused, and that is right.
            drop(act(&shell, run, deed).await);
        });
    }
}

async fn act(shell: &Shell, run: RunId, deed: Deed) -> Result<(), CommandError> {
    match deed {
        Deed::Cancel => shell.ask_run(run, RunCommand::Cancel(plot::by())).await.map(drop),
        Deed::Pause(pause) => {
            shell.ask_run(run, RunCommand::Pause(plot::by())).await?;
            tokio::time::sleep(pause).await;
            shell.ask_run(run, RunCommand::Resume(plot::by())).await.map(drop)
        }
        Deed::Release => {
            let waiting = shell.journal().quarantine(Some(run), 100).await?;
            for row in waiting.iter().filter(|row| row.status == QuarantineStatus::Waiting) {
                let reopen = RunCommand::ReopenChunk { chunk: row.chunk.number, by: plot::by() };
                shell.ask_run(run, reopen).await?;
                let release = ChunkCommand::ReleaseQuarantined { executions: vec![row.execution] };
                shell.ask_chunk(row.chunk, None, release).await?;
            }
            Ok(())
        }
    }
}
