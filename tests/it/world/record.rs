//! What a store says of its newest run, read as any reader would while others write.

use std::collections::BTreeMap;
use std::path::Path;
use tribunal::daemon::store::StoreAddress;
use tribunal_actors::ports::journal::{EventFilter, JournalReader};
use tribunal_schema::codec::decode;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::events::{AttemptEvent, AttemptStarted};
use tribunal_schema::ids::{ExecutionKey, RunId, StreamId};
use tribunal_schema::units::InstantMs;
use tribunal_schema::view::{QuarantineRow, RunRow};

/// Events a page.
const PAGE: u32 = 5000;

/// The newest run and all its events, in order.
pub(crate) struct Record {
    pub(crate) run: RunRow,
    pub(crate) events: Vec<RecordedEvent>,
    pub(crate) quarantine: Vec<QuarantineRow>,
}

/// One attempt as its stream tells it.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub(crate) execution: ExecutionKey,
    pub(crate) number: u32,
    pub(crate) started_at: InstantMs,
    pub(crate) answered: bool,
    pub(crate) failed: bool,
    pub(crate) expired: bool,
}

impl Record {
    /// The newest run of a store, a folder or an address as the command line takes it; `None` while there is none.
    pub(crate) async fn read(store: &Path) -> Option<Record> {
        let address: StoreAddress = store.to_str()?.parse().expect("a store");
        let reader = address.reader().await.ok()?;
        let run = reader.runs(1).await.expect("runs can be read").pop()?;
        let events = events(&*reader, run.run).await;
        let quarantine = reader.quarantine(Some(run.run), 1000).await.expect("the quarantine can be read");
        Some(Record { run, events, quarantine })
    }

    /// Events of a type.
    pub(crate) fn of_type<'a>(&'a self, event_type: &'a str) -> impl Iterator<Item = &'a RecordedEvent> {
        self.events.iter().filter(move |event| event.event_type == event_type)
    }

    pub(crate) fn count(&self, event_type: &str) -> usize {
        self.of_type(event_type).count()
    }

    /// All attempts that were started, by id.
    pub(crate) fn attempts(&self) -> BTreeMap<String, Tried> {
        let mut attempts = BTreeMap::new();
        for event in &self.events {
            let StreamId::Attempt(id) = event.stream else { continue };
            match decode::<AttemptEvent>(event).expect("events can be read") {
                AttemptEvent::Started(started) => {
                    attempts.insert(id.to_string(), tried(&started, event.recorded_at));
                }
                told => note(attempts.get_mut(&id.to_string()).expect("started comes first"), &told),
            }
        }
        attempts
    }
}

fn tried(started: &AttemptStarted, started_at: InstantMs) -> Tried {
    let (execution, number) = (started.execution, started.number);
    Tried { execution, number, started_at, answered: false, failed: false, expired: false }
}

fn note(tried: &mut Tried, told: &AttemptEvent) {
    match told {
        AttemptEvent::Answered(_) => tried.answered = true,
        AttemptEvent::Failed(_) => tried.failed = true,
        AttemptEvent::Expired(_) | AttemptEvent::Cancelled(_) => tried.expired = true,
        AttemptEvent::Started(_) | AttemptEvent::Judged(_) | AttemptEvent::Late(_) => {}
    }
}

async fn events(reader: &dyn JournalReader, run: RunId) -> Vec<RecordedEvent> {
    let filter = EventFilter { run: Some(run), ..EventFilter::default() };
    let mut events = vec![];
    loop {
        let after = events.last().map(|event: &RecordedEvent| event.position);
        let page = reader.read_feed(&filter, after, false, PAGE).await.expect("events can be read");
        if page.is_empty() {
            // The feed goes by transactions; a stream's own order is that of its positions.
            events.sort_by_key(|event| event.position);
            return events;
        }
        events.extend(page);
    }
}
