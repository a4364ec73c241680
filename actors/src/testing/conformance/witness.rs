//! The witness: a journal that hears all that a case says to another one, and
//! compares at the end what is there with what was answered.
//!
//! A case looks at its own subject only. What holds whatever the subject is, the
//! witness checks after every case: streams hold the events that were answered and no
//! others, in order and chained; the feed shows each of them once; heads and bodies are
//! theirs; and the views are the fold of the changes that were written. So a piece of a
//! refused unit that stays behind anywhere fails the case that left it.
//!
//! Views are folded in the order of the answers: tasks of one case that race must not
//! change the same row of a view, and a unit that sets an instant of a view has an event.

use crate::ports::journal::*;
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tribunal_schema::Digest;
use tribunal_schema::envelope::{RecordedEvent, chain};
use tribunal_schema::ids::{AttemptId, ChunkId, ClaimToken, EventId, ExecutionKey, Incarnation, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::{DurationMs, InstantMs, Version};
use tribunal_schema::view::{
    ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow, ViewChange, ViewFold,
};

/// Rows a page.
const PAGE: u32 = 500;

/// Hears all, and passes it on.
pub struct Witness {
    journal: Arc<dyn Journal>,
    heard: Mutex<Heard>,
}

/// What was said and answered.
#[derive(Default)]
struct Heard {
    /// Every event that was answered.
    events: BTreeMap<EventId, RecordedEvent>,
    /// Streams that somebody wanted to write to.
    streams: BTreeSet<StreamId>,
    /// Bodies that were kept.
    blobs: BTreeMap<Digest, Arc<[u8]>>,
    views: Views,
}

/// Views as they must be, and whose rows are to be looked for: also those of units that were refused.
#[derive(Default)]
pub struct Views {
    /// The fold of all that was written.
    pub fold: ViewFold,
    runs: BTreeSet<RunId>,
    attempts: BTreeSet<AttemptId>,
}

impl Witness {
    /// A witness of what is said to a fresh journal.
    pub fn of(journal: Arc<dyn Journal>) -> Arc<Witness> {
        Arc::new(Witness { journal, heard: Mutex::default() })
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares what is there with what was answered.
    ///
    /// # Panics
    /// When they differ.
    pub async fn testify(&self) {
        let heard = std::mem::take(&mut *self.heard());
        let journal = &*self.journal;
        for stream in &heard.streams {
            stream_is_as_answered(journal, stream, &heard).await;
        }
        feed_shows_each_event_once(journal, &heard).await;
        heads_are_those_of_the_streams(journal, &heard).await;
        heard.views.are_those_of(journal).await;
        for (digest, bytes) in &heard.blobs {
            assert!(journal.blob(*digest).await.unwrap().as_deref() == Some(bytes), "blob {digest} is kept");
        }
    }
}

impl Heard {
    fn note(&mut self, unit: AppendUnit, answer: &Result<Appended, AppendError>) {
        self.streams.extend(unit.appends.into_iter().map(|append| append.stream));
        self.views.look_at(&unit.views);
        let Ok(Appended { events }) = answer else { return };
        let known = events.iter().any(|event| self.events.contains_key(&event.id));
        self.events.extend(events.iter().map(|event| (event.id, event.clone())));
        if known {
            return;
        }
        let at = events.first().map_or(InstantMs(0), |event| event.recorded_at);
        unit.views.iter().for_each(|change| self.views.fold.apply(change, at));
        for row in unit.rows {
            if let Row::BlobPut { digest, bytes } = row {
                self.blobs.insert(digest, bytes);
            }
        }
    }

    /// The events of a stream, in order.
    fn events_of(&self, stream: &StreamId) -> Vec<&RecordedEvent> {
        let mut events: Vec<_> = self.events.values().filter(|event| event.stream == *stream).collect();
        events.sort_by_key(|event| event.version);
        events
    }
}

async fn stream_is_as_answered(journal: &dyn Journal, stream: &StreamId, heard: &Heard) {
    let mut stored: Vec<RecordedEvent> = vec![];
    loop {
        let after = stored.last().map_or(Version(0), |event| event.version);
        let page = journal.read_stream(stream, after, PAGE).await.unwrap();
        if page.is_empty() {
            break;
        }
        stored.extend(page);
    }
    let answered = heard.events_of(stream);
    let (held, told) = (stored.len(), answered.len());
    assert!(stored.iter().eq(answered), "{stream} holds {held} events, {told} were answered, or others");
    let mut before: Option<&RecordedEvent> = None;
    for event in &stored {
        let (version, digest, position) =
            before.map_or((0, Digest::ZERO, 0), |event| (event.version.0, event.digest, event.position));
        assert_eq!(event.version.0, version + 1, "versions of {stream} have no gap");
        assert!(event.position > position, "positions of {stream} follow its versions");
        // What is no JSON has no canonical text; its digest is believed.
        if let Ok(text) = event.canonical_text() {
            assert_eq!(event.digest, chain(digest, &text), "{stream} is chained at version {}", event.version);
        }
        before = Some(event);
    }
}

/// The whole feed, by pages.
async fn whole_feed(journal: &dyn Journal) -> Vec<RecordedEvent> {
    let (mut seen, mut after) = (vec![], None);
    loop {
        let page = journal.read_feed(&EventFilter::default(), after, false, PAGE).await.unwrap();
        let Some(last) = page.last() else { return seen };
        after = Some(last.position);
        seen.extend(page);
    }
}

/// On a server the feed may end before what others have open: it is waited for.
async fn feed_shows_each_event_once(journal: &dyn Journal, heard: &Heard) {
    let mut seen = whole_feed(journal).await;
    while seen.len() < heard.events.len() {
        tokio::task::yield_now().await;
        seen = whole_feed(journal).await;
    }
    seen.sort_by_key(|event| event.id);
    let (shown, told) = (seen.len(), heard.events.len());
    assert!(seen.iter().eq(heard.events.values()), "the feed shows {shown} events, {told} were answered, or others");
}

async fn heads_are_those_of_the_streams(journal: &dyn Journal, heard: &Heard) {
    let mut heads: BTreeMap<RunId, BTreeMap<String, StreamHead>> = BTreeMap::new();
    for stream in &heard.streams {
        for event in heard.events_of(stream) {
            let Some(run) = event.run else { continue };
            let head = StreamHead { stream: stream.clone(), version: event.version, digest: event.digest };
            heads.entry(run).or_default().insert(stream.to_string(), head);
        }
    }
    for (run, heads) in heads {
        let mut found: Vec<StreamHead> = vec![];
        loop {
            let after = found.last().map(|head| head.stream.clone());
            let page = journal.stream_heads(run, after.as_ref(), PAGE).await.unwrap();
            if page.is_empty() {
                break;
            }
            found.extend(page);
        }
        assert!(found.iter().eq(heads.values()), "the heads of {run} are not those of its streams");
    }
}

impl Views {
    /// Rows of whatever these changes name are looked for.
    pub fn look_at(&mut self, changes: &[ViewChange]) {
        for change in changes {
            let (run, attempt) = match change {
                ViewChange::RunPlanned { run, .. }
                | ViewChange::RunStatus { run, .. }
                | ViewChange::RunJudged { run, .. }
                | ViewChange::QuarantineStatus { run, .. } => (*run, None),
                ViewChange::ChunkSeeded { chunk, .. }
                | ViewChange::ChunkStatus { chunk, .. }
                | ViewChange::ChunkRecovered { chunk } => (chunk.run, None),
                ViewChange::ExecutionSettled { row, .. } => (row.run, row.attempt),
                ViewChange::Outcome(row) => (row.run, Some(row.attempt)),
                ViewChange::Finding(row) => (row.run, Some(row.attempt)),
                ViewChange::Quarantined { run, attempt, .. } => (*run, Some(*attempt)),
            };
            self.runs.insert(run);
            self.attempts.extend(attempt);
        }
    }

    /// Compares the rows that people read with the fold.
    ///
    /// # Panics
    /// When they differ.
    pub async fn are_those_of(&self, journal: &dyn Journal) {
        let fold = &self.fold;
        let mut runs: Vec<RunRow> = fold.runs.values().cloned().collect();
        runs.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.run)));
        assert_eq!(journal.runs(u32::MAX).await.unwrap(), runs);
        let quarantine: Vec<QuarantineRow> = fold.quarantine.values().cloned().collect();
        assert_eq!(journal.quarantine(None, u32::MAX).await.unwrap(), quarantine);
        for run in &self.runs {
            self.of_a_run(journal, *run).await;
        }
        for attempt in &self.attempts {
            let outcomes: Vec<_> = fold.outcomes.values().filter(|row| row.attempt == *attempt).cloned().collect();
            assert_eq!(journal.outcomes(*attempt).await.unwrap(), outcomes);
            let findings: Vec<_> = fold.findings.values().filter(|row| row.attempt == *attempt).cloned().collect();
            assert_eq!(journal.findings(*attempt).await.unwrap(), findings);
        }
    }

    async fn of_a_run(&self, journal: &dyn Journal, run: RunId) {
        let fold = &self.fold;
        assert_eq!(journal.run(run).await.unwrap().as_ref(), fold.runs.get(&run));
        let chunks: Vec<ChunkRow> = fold.chunks.values().filter(|row| row.chunk.run == run).cloned().collect();
        assert_eq!(journal.chunks(run).await.unwrap(), chunks);
        let sum = |of: fn(&ChunkRow) -> u64| chunks.iter().map(of).sum();
        let progress = Progress {
            executions: sum(|row| row.executions),
            passed: sum(|row| row.passed),
            failed: sum(|row| row.failed),
            errored: sum(|row| row.errored),
            abstained: sum(|row| row.abstained),
        };
        assert_eq!(journal.progress(run).await.unwrap(), progress);
        let executions: Vec<_> = fold.executions.values().filter(|row| row.run == run).cloned().collect();
        assert_eq!(journal.executions(run, None, None, u32::MAX).await.unwrap(), executions);
        let quarantine: Vec<_> = fold.quarantine.values().filter(|row| row.run == run).cloned().collect();
        assert_eq!(journal.quarantine(Some(run), u32::MAX).await.unwrap(), quarantine);
    }
}

/// A half of the port that is passed on as it is, but for what is given whole.
macro_rules! passed_on {
    ($port:ident { $($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)* } $($own:tt)*) => {
        #[async_trait]
        impl $port for Witness {
            $(async fn $name(&self, $($argument: $kind),*) -> Result<$answer, Failure> {
                self.journal.$name($($argument),*).await
            })*
            $($own)*
        }
    };
}

passed_on! {
    JournalReader {
        now() -> InstantMs;
        read_stream(stream: &StreamId, after: Version, limit: u32) -> Vec<RecordedEvent>;
        read_feed(filter: &EventFilter, after: Option<u64>, descending: bool, limit: u32) -> Vec<RecordedEvent>;
        stream_heads(run: RunId, after: Option<&StreamId>, limit: u32) -> Vec<StreamHead>;
        blob(digest: Digest) -> Option<Vec<u8>>;
        runs(limit: u32) -> Vec<RunRow>;
        run(run: RunId) -> Option<RunRow>;
        chunks(run: RunId) -> Vec<ChunkRow>;
        progress(run: RunId) -> Progress;
        executions(run: RunId, after: Option<ExecutionKey>, outcomes: Option<&[ExecutionOutcome]>, limit: u32)
            -> Vec<ExecutionRow>;
        outcomes(attempt: AttemptId) -> Vec<OutcomeRow>;
        findings(attempt: AttemptId) -> Vec<FindingRow>;
        quarantine(run: Option<RunId>, limit: u32) -> Vec<QuarantineRow>;
    }
}

passed_on! {
    Journal {
        ready_due(lane: &str, only: Option<RunId>, limit: u32) -> Vec<ReadyRow>;
        ready_lanes() -> Vec<String>;
        ready_outstanding(lane: &str, only: Option<RunId>) -> u32;
        ready_next_due() -> Option<InstantMs>;
        ready_unpublish(age: Option<DurationMs>, only: Option<RunId>) -> u64;
        outbox_claim(token: ClaimToken, window: DurationMs, only: Option<RunId>, limit: u32) -> Vec<OutboxRow>;
        outbox_confirm(token: ClaimToken, ids: &[u64]) -> u64;
        outbox_reschedule(token: ClaimToken, ids: &[u64], delay: DurationMs) -> u64;
        settlements(limit: u32) -> Vec<SettlementRow>;
        settlement_done(chunk: ChunkId, version: Version) -> ();
        intents(kind: IntentKind, limit: u32) -> Vec<Intent>;
        plan_rows(run: RunId, after: Option<ChunkId>, limit: u32) -> Vec<PlanRow>;
        leases_renew(holder: Incarnation, lease: DurationMs) -> Vec<Renewal>;
        leases_due(limit: u32) -> Vec<LeaseRow>;
        leases_revoke_dead(holder: Incarnation) -> u64;
        poison_put(body: &[u8], reason: &str) -> ();
    }

    async fn append(&self, unit: AppendUnit) -> Result<Appended, AppendError> {
        let answer = self.journal.append(unit.clone()).await;
        self.heard().note(unit, &answer);
        answer
    }

    fn hints(&self) -> Arc<Hints> {
        self.journal.hints()
    }

    async fn put_blob(&self, digest: Digest, bytes: Arc<[u8]>) -> Result<(), Failure> {
        self.journal.put_blob(digest, Arc::clone(&bytes)).await?;
        self.heard().blobs.insert(digest, bytes);
        Ok(())
    }
}
