//! `tribunal measure`: how fast a store takes events, through the same journal
//! that a run writes to. Hidden: it is the load test's door, and what it writes can
//! never be taken out again, so it insists on an empty store.

use super::store::StoreArg;
use crate::chance::SystemChance;
use crate::daemon::store::OpenStore;
use anyhow::{Context, ensure};
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tribunal_actors::ports::chance::Chance;
use tribunal_actors::ports::journal::{AppendUnit, EventFilter, Expected, Journal, StreamAppend};
use tribunal_schema::envelope::{NewEvent, Origin};
use tribunal_schema::ids::{AttemptId, CommandId, StreamId};
use tribunal_schema::units::Version;

/// The size of an event's payload: about what an outcome of a case takes.
const PAYLOAD_BYTES: usize = 400;

/// What to measure.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum MeasureCommand {
    /// Events a second that the store takes, durably
    Append(AppendArgs),
}

/// How to write.
#[derive(Clone, Debug, clap::Args)]
pub struct AppendArgs {
    /// Writers at once; one measurement each
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,8,64")]
    pub writers: Vec<u32>,
    /// Events of a unit; one measurement each
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,10,100")]
    pub events: Vec<u32>,
    /// How long each measurement writes
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub seconds: u64,
    /// An empty store
    #[command(flatten)]
    pub store: StoreArg,
}

/// One measurement.
#[derive(Debug, Serialize)]
struct Measured {
    writers: u32,
    events_per_unit: u32,
    units: u64,
    events: u64,
    wall_us: u64,
    /// Of a unit, from the call to the answer.
    median_us: u64,
    p99_us: u64,
}

/// Measures, and prints one JSON object a measurement.
///
/// # Errors
/// When the store cannot be used or holds events already.
pub async fn execute(command: MeasureCommand) -> anyhow::Result<u8> {
    let MeasureCommand::Append(args) = command;
    let OpenStore { journal, .. } = args.store.journal().await?;
    let found = journal.read_feed(&EventFilter::default(), None, false, 1).await?;
    ensure!(found.is_empty(), "store {} holds events; name an empty one, they stay there for ever", args.store.address);
    for &writers in &args.writers {
        for &events in &args.events {
            ensure!(writers > 0 && events > 0, "there must be a writer and an event");
            let measured = append(&journal, writers, events, Duration::from_secs(args.seconds)).await?;
            writeln!(std::io::stdout(), "{}", serde_json::to_string(&measured)?)?;
        }
    }
    Ok(0)
}

async fn append(journal: &Arc<dyn Journal>, writers: u32, events: u32, time: Duration) -> anyhow::Result<Measured> {
    let begun = Instant::now();
    let mut writing = JoinSet::new();
    for _ in 0..writers {
        writing.spawn(write(journal.clone(), events, begun + time));
    }
    let mut took_us = vec![];
    while let Some(written) = writing.join_next().await {
        took_us.extend(written.context("a writer died")??);
    }
    let wall_us = micros(begun.elapsed());
    took_us.sort_unstable();
    let at = |share: usize| took_us.get(took_us.len() * share / 100).copied().unwrap_or_default();
    let units = took_us.len() as u64;
    let events_written = units * u64::from(events);
    Ok(Measured {
        writers,
        events_per_unit: events,
        units,
        events: events_written,
        wall_us,
        median_us: at(50),
        p99_us: at(99),
    })
}

/// One writer on a stream of its own, one unit after the other; how long each took.
async fn write(journal: Arc<dyn Journal>, events: u32, until: Instant) -> anyhow::Result<Vec<u64>> {
    let stream = StreamId::Attempt(AttemptId(SystemChance.ulid()));
    let event = NewEvent {
        event_type: "attempt.cancelled",
        type_version: 1,
        payload: format!(r#"{{"reason":"{}"}}"#, "x".repeat(PAYLOAD_BYTES)),
    };
    let (mut version, mut took_us) = (Version(0), vec![]);
    while Instant::now() < until {
        let unit = AppendUnit {
            origin: Origin {
                command: CommandId(SystemChance.ulid()),
                run: None,
                team: "measure".into(),
                causation: None,
            },
            appends: vec![StreamAppend {
                stream: stream.clone(),
                expected: Expected::Version(version),
                events: vec![event.clone(); events as usize],
            }],
            guards: vec![],
            rows: vec![],
            views: vec![],
        };
        let begun = Instant::now();
        journal.append(unit).await?;
        took_us.push(micros(begun.elapsed()));
        version = Version(version.0 + u64::from(events));
    }
    Ok(took_us)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
