//! What must hold after every play, whatever struck.

use super::scenario::Scenario;
use super::target::Call;
use super::world::Played;
use crate::aggregate::load;
use crate::attempt::Attempt;
use crate::chunk::Chunk;
use crate::decider::{Decider, Step};
use crate::ports::journal::JournalReader;
use crate::run::Run;
use crate::supervise::result_digest;
use crate::testing::journal::{MemoryJournal, Tables};
use crate::verdict::{Facts, gate};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_schema::Digest;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::codec::decode;
use tribunal_schema::envelope::{RecordedEvent, chain};
use tribunal_schema::events::{AttemptEvent, ChunkEnd, ChunkEvent};
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId, StreamId};
use tribunal_schema::profile::SideEffects;
use tribunal_schema::units::InstantMs;
use tribunal_schema::view::ViewFold;

/// What came of a run, as far as faults may not change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Result {
    /// Its phase.
    pub phase: &'static str,
    /// The verdict in words, and the counts.
    pub verdict: String,
    /// Over all results in case order.
    pub results: Option<Digest>,
    /// Executions that were put into quarantine.
    pub quarantined: BTreeSet<ExecutionKey>,
    /// Chunks that ended at a recovery limit or a failure budget.
    pub given_up: usize,
    /// Whether a person changed what would have come of it.
    pub interfered: bool,
}

type Held = std::result::Result<(), String>;

/// What is left to be done, in words; `None` when nothing is.
pub fn leftovers(tables: &Tables) -> Option<String> {
    let left = [
        ("ready", tables.ready.len()),
        ("leases", tables.leases.len()),
        ("outbox", tables.outbox.len()),
        ("settlements", tables.settlements.len()),
        ("intents", tables.intents.len()),
        ("plan rows", tables.plan_rows.len()),
    ];
    let left: Vec<String> =
        left.into_iter().filter(|(_, rows)| *rows > 0).map(|(table, rows)| format!("{rows} {table}")).collect();
    (!left.is_empty()).then(|| left.join(", "))
}

/// Why it is not over, in words.
pub fn unfinished(tables: &Tables) -> String {
    let runs: Vec<String> = tables.views.runs.values().map(|row| format!("{} is {:?}", row.run, row.status)).collect();
    let chunks: Vec<String> =
        tables.views.chunks.values().map(|row| format!("{} {:?} term {}", row.chunk, row.status, row.term)).collect();
    let left = leftovers(tables).unwrap_or_else(|| "nothing".into());
    let left = format!("{left} {:?} {:?} {:?}", tables.ready, tables.outbox, tables.leases);
    format!("it never ends: {}; left: {left}; chunks: {}", runs.join(", "), chunks.join(", "))
}

/// Checks everything that one play must keep.
pub(super) async fn check(journal: &MemoryJournal, calls: &[Call], scenario: &Scenario, faults: usize) -> Held {
    let tables = journal.tables().clone();
    streams_are_chained(&tables)?;
    replay_gives_the_views(&tables)?;
    calls_are_as_recorded(&tables, calls, scenario, faults)?;
    for trial in &scenario.trials {
        verdict_follows(journal, trial.run).await?;
    }
    Ok(())
}

/// Versions without gaps, and each digest the chain's.
fn streams_are_chained(tables: &Tables) -> Held {
    for (stream, events) in &tables.streams {
        let mut digest = Digest::ZERO;
        for (index, event) in events.iter().enumerate() {
            let text = event.canonical_text().map_err(|error| format!("{stream}: {error}"))?;
            digest = chain(digest, &text);
            if event.version.0 != index as u64 + 1 || event.digest != digest {
                return Err(format!("{stream} is broken at version {}", event.version));
            }
        }
    }
    Ok(())
}

/// Every event is allowed where it stands, and the views are what the events make of them.
fn replay_gives_the_views(tables: &Tables) -> Held {
    let mut fold = ViewFold::default();
    for (stream, events) in &tables.streams {
        match stream {
            StreamId::Run(_) => replay::<Run>(stream, events, &mut fold)?,
            StreamId::Chunk(_) => replay::<Chunk>(stream, events, &mut fold)?,
            StreamId::Attempt(_) => replay::<Attempt>(stream, events, &mut fold)?,
            StreamId::Operator(_) => {}
        }
    }
    match fold == tables.views {
        true => Ok(()),
        false => Err("the views are not the fold of the events".into()),
    }
}

fn replay<D: Decider>(stream: &StreamId, events: &[std::sync::Arc<RecordedEvent>], fold: &mut ViewFold) -> Held {
    let mut before = D::State::default();
    for recorded in events {
        let event: D::Event = decode(recorded).map_err(|error| format!("{stream}: {error}"))?;
        let after = D::evolve(before.clone(), &event, recorded.recorded_at)
            .map_err(|illegal| format!("{stream} version {}: {illegal}", recorded.version))?;
        let step = Step { stream, version: recorded.version, before: &before, event: &event, after: &after };
        for change in D::views(&step) {
            fold.apply(&change, recorded.recorded_at);
        }
        before = after;
    }
    Ok(())
}

/// What the attempts' streams say of one execution.
#[derive(Default)]
struct Told {
    answered_at: Option<InstantMs>,
    answers: u32,
    /// Failures that prove that nothing ran.
    harmless: u32,
    recorded: u32,
}

/// The agent's own calls against what was recorded.
fn calls_are_as_recorded(tables: &Tables, calls: &[Call], scenario: &Scenario, faults: usize) -> Held {
    let mut of_attempt: BTreeMap<AttemptId, (RunId, ExecutionKey)> = BTreeMap::new();
    let mut told: BTreeMap<(RunId, ExecutionKey), Told> = BTreeMap::new();
    let mut started: BTreeMap<AttemptId, InstantMs> = BTreeMap::new();
    for call in calls {
        if of_attempt.insert(call.attempt, (call.run, call.execution)).is_some() {
            return Err(format!("attempt {} was called twice", call.attempt));
        }
    }
    for (stream, events) in &tables.streams {
        let StreamId::Attempt(attempt) = stream else { continue };
        let mut key = None;
        for recorded in events {
            let event: AttemptEvent = decode(recorded).map_err(|error| format!("{stream}: {error}"))?;
            match event {
                AttemptEvent::Started(event) => {
                    key = Some((event.chunk.run, event.execution));
                    started.insert(*attempt, recorded.recorded_at);
                }
                AttemptEvent::Answered(_) => {
                    let told = told.entry(key.ok_or("an answer without a start")?).or_default();
                    (told.answered_at, told.answers) = (Some(recorded.recorded_at), told.answers + 1);
                    told.recorded += 1;
                }
                AttemptEvent::Failed(event) => {
                    let told = told.entry(key.ok_or("a failure without a start")?).or_default();
                    told.harmless += u32::from(event.class == FailureClass::Connect);
                    told.recorded += 1;
                }
                AttemptEvent::Judged(_)
                | AttemptEvent::Expired(_)
                | AttemptEvent::Cancelled(_)
                | AttemptEvent::Late(_) => {}
            }
        }
    }
    let released = releases(tables)?;
    let mut made: BTreeMap<(RunId, ExecutionKey), u32> = BTreeMap::new();
    for call in calls {
        let key = (call.run, call.execution);
        let Some(started) = started.get(&call.attempt) else {
            return Err(format!("attempt {} was called and never started", call.attempt));
        };
        *made.entry(key).or_default() += 1;
        // A process that stood still may make a call late whose attempt has expired meanwhile; but
        // nobody starts one for an execution that has its answer.
        if told.get(&key).and_then(|told| told.answered_at).is_some_and(|answered| *started > answered) {
            return Err(format!("{} was tried again after its answer was recorded", call.execution));
        }
    }
    for (key, told) in &told {
        if told.answers > 1 {
            return Err(format!("{} was answered {} times", key.1, told.answers));
        }
    }
    let unsafe_runs: BTreeSet<RunId> = scenario
        .trials
        .iter()
        .filter(|trial| trial.profile.target.side_effects == SideEffects::Unsafe)
        .map(|trial| trial.run)
        .collect();
    for (key, calls) in made.iter().filter(|(key, _)| unsafe_runs.contains(&key.0)) {
        let harmless = told.get(key).map_or(0, |told| told.harmless);
        let allowed = 1 + harmless + released.get(key).copied().unwrap_or(0);
        if *calls > allowed {
            return Err(format!("{} of an unsafe target was called {calls} times, {allowed} are allowed", key.1));
        }
    }
    let recorded: u32 = told.values().map(|told| told.recorded).sum();
    let in_flight = scenario.trials.iter().map(|trial| trial.profile.target.max_in_flight as usize).sum::<usize>();
    let unexplained = calls.len().saturating_sub(recorded as usize);
    let cancelled = scenario.trials.iter().filter(|trial| trial.deed.is_some()).count();
    let most = (faults + cancelled) * in_flight * scenario.processes;
    if unexplained > most {
        return Err(format!("{unexplained} calls came to nothing, {most} at most are explained by {faults} faults"));
    }
    Ok(())
}

/// How often each execution was let out of quarantine.
fn releases(tables: &Tables) -> std::result::Result<BTreeMap<(RunId, ExecutionKey), u32>, String> {
    let mut released = BTreeMap::new();
    for (stream, events) in &tables.streams {
        let StreamId::Chunk(chunk) = stream else { continue };
        for recorded in events {
            if let ChunkEvent::Requeued(event) = decode(recorded).map_err(|error| format!("{stream}: {error}"))? {
                for execution in event.released {
                    *released.entry((chunk.run, execution)).or_default() += 1;
                }
            }
        }
    }
    Ok(released)
}

/// Tally, verdict and digest follow from what was recorded.
async fn verdict_follows(journal: &MemoryJournal, run: RunId) -> Held {
    let state = load::<Run>(journal, &StreamId::Run(run)).await.map_err(|error| error.to_string())?.state;
    let (Some(planned), Some(judged)) = (&state.planned, &state.judged) else { return Ok(()) };
    let digest = result_digest(journal, run, &state).await.map_err(|error| error.to_string())?;
    if digest != judged.result_digest {
        return Err(format!("run {run} names result digest {}, its chunks have {digest}", judged.result_digest));
    }
    let mut executions = 0;
    for number in 0..planned.plan.chunks {
        let stream = StreamId::Chunk(tribunal_schema::ids::ChunkId { run, number });
        let chunk = load::<Chunk>(journal, &stream).await.map_err(|error| error.to_string())?.state;
        executions += chunk.executions.len() as u64;
    }
    let counts = &judged.tally.counts;
    if counts.executions != executions || counts.executions != planned.plan.executions() {
        return Err(format!("run {run} counts {} executions of {executions}", counts.executions));
    }
    let parts = counts.scored + counts.errored + counts.abstained + counts.missing;
    if parts != counts.executions || counts.passed + counts.failed != counts.scored {
        return Err(format!("the counts of run {run} do not add up: {counts:?}"));
    }
    let facts = Facts { cut_short: state.halted_reason(), filters: &planned.plan.filters };
    match gate(&planned.plan.profile, &judged.tally, facts) == judged.judged {
        true => Ok(()),
        false => Err(format!("the verdict of run {run} is not what the gate gives")),
    }
}

/// What came of each run.
pub(super) async fn results(journal: &MemoryJournal, scenario: &Scenario) -> BTreeMap<RunId, Result> {
    let mut results = BTreeMap::new();
    for trial in &scenario.trials {
        let run = trial.run;
        let Ok(live) = load::<Run>(journal, &StreamId::Run(run)).await else { continue };
        let state = live.state;
        let ended_as = |end: ChunkEnd| state.accepted.values().filter(|chunk| chunk.end == end).count();
        let rows = journal.quarantine(Some(run), 1_000).await.unwrap_or_default();
        let judged = state.judged.as_ref();
        let was_released = releases(&journal.tables()).is_ok_and(|released| released.keys().any(|(of, _)| *of == run));
        results.insert(
            run,
            Result {
                phase: state.phase.name(),
                verdict: judged
                    .map_or_else(String::new, |judged| format!("{} {:?}", judged.judged.verdict, judged.tally.counts)),
                results: judged.map(|judged| judged.result_digest),
                quarantined: rows.iter().map(|row| row.execution).collect(),
                given_up: ended_as(ChunkEnd::Failed),
                interfered: was_released || state.phase.name() == "cancelled" || state.halted_reason().is_some(),
            },
        );
    }
    results
}

/// Faults change nothing of what came of a run, unless it is recorded why.
pub(super) fn equal_results(peace: &Played, war: &Played) -> Held {
    for (run, wanted) in &peace.results {
        let Some(found) = war.results.get(run) else { return Err(format!("run {run} is gone")) };
        let excused =
            found.given_up > 0 || found.interfered || wanted.interfered || found.quarantined != wanted.quarantined;
        if !excused && found != wanted {
            return Err(format!("run {run} came to {found:?}, in peace to {wanted:?}"));
        }
    }
    Ok(())
}
