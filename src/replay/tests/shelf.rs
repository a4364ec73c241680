//! A journal on a shelf: what a reader needs, written as an adapter would write it.

use async_trait::async_trait;
use std::collections::BTreeMap;
use tribunal_actors::decider::{Decider, Step};
use tribunal_actors::ports::journal::{EventFilter, Failure, JournalReader, Progress, StreamHead};
use tribunal_actors::testing::run_id;
use tribunal_schema::Digest;
use tribunal_schema::codec::decode;
use tribunal_schema::envelope::{RecordedEvent, chain};
use tribunal_schema::events::{DomainEvent, RunEvent};
use tribunal_schema::ids::{AttemptId, CommandId, EventId, ExecutionKey, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::{InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow, ViewFold};
use ulid::Ulid;

/// Everything in memory, open to be tampered with.
#[derive(Clone, Default)]
pub struct Shelf {
    pub streams: BTreeMap<StreamId, Vec<RecordedEvent>>,
    pub blobs: BTreeMap<Digest, Vec<u8>>,
    pub views: ViewFold,
    clock: i64,
    commands: u128,
}

impl Shelf {
    /// Asks a decider and records what it decides, with its views; gives what happened.
    pub fn ask<D: Decider>(&mut self, stream: &StreamId, command: &D::Command) -> Vec<D::Event> {
        let mut state = self.state::<D>(stream);
        let decided = D::decide(&state, command).unwrap_or_else(|no| panic!("{command:?}: {no}"));
        self.commands += 1;
        self.clock += 7;
        let (at, command) = (InstantMs(self.clock), CommandId(Ulid::from_parts(9, self.commands)));
        for (index, event) in decided.iter().enumerate() {
            let version = Version(self.streams.get(stream).map_or(0, |events| events.len() as u64) + 1);
            let after = D::evolve(state.clone(), event, at).expect("it was decided");
            let step = Step { stream, version, before: &state, event, after: &after };
            D::views(&step).iter().for_each(|change| self.views.apply(change, at));
            let new = event.encode();
            self.push(RecordedEvent {
                position: 0,
                stream: stream.clone(),
                version,
                id: EventId::derived(command, stream, index),
                command,
                event_type: new.event_type.into(),
                type_version: new.type_version,
                run: Some(run_id()),
                team: "default".into(),
                payload: new.payload,
                causation: None,
                recorded_at: at,
                digest: Digest::ZERO,
            });
            state = after;
        }
        decided
    }

    fn push(&mut self, event: RecordedEvent) {
        let stream = event.stream.clone();
        self.streams.entry(stream.clone()).or_default().push(event);
        self.rechain(&stream);
    }

    /// Computes the digests of a stream again, as somebody with the code would.
    pub fn rechain(&mut self, stream: &StreamId) {
        let mut digest = Digest::ZERO;
        for event in self.streams.get_mut(stream).expect("it exists") {
            digest = chain(digest, &event.canonical_text().expect("canonical"));
            event.digest = digest;
        }
    }

    /// What a stream adds up to.
    pub fn state<D: Decider>(&self, stream: &StreamId) -> D::State {
        let events = self.streams.get(stream).map(Vec::as_slice).unwrap_or_default();
        events.iter().fold(D::State::default(), |state, recorded| {
            let event: D::Event = decode(recorded).expect("it can be read");
            D::evolve(state, &event, recorded.recorded_at).expect("it is allowed")
        })
    }

    /// Where a stream stands.
    pub fn head(&self, stream: &StreamId) -> (Version, Digest) {
        let last = self.streams.get(stream).and_then(|events| events.last());
        last.map_or((Version(0), Digest::ZERO), |event| (event.version, event.digest))
    }

    pub fn now(&self) -> InstantMs {
        InstantMs(self.clock)
    }

    pub fn wait(&mut self, ms: i64) {
        self.clock += ms;
    }

    pub fn events(&self) -> usize {
        self.streams.values().map(Vec::len).sum()
    }

    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The root that the verdict names.
    pub fn root(&self) -> Option<Digest> {
        self.streams[&StreamId::Run(run_id())].iter().find_map(|recorded| match decode(recorded).ok()? {
            RunEvent::Judged(judged) => Some(judged.root),
            _ => None,
        })
    }
}

fn unused<T>() -> Result<T, Failure> {
    Err(Failure::new("a verification does not need this"))
}

#[async_trait]
impl JournalReader for Shelf {
    async fn now(&self) -> Result<InstantMs, Failure> {
        Ok(InstantMs(self.clock))
    }

    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure> {
        let events = self.streams.get(stream).map(Vec::as_slice).unwrap_or_default();
        Ok(events.iter().filter(|event| event.version > after).take(limit as usize).cloned().collect())
    }

    async fn read_feed(&self, _: &EventFilter, _: Option<u64>, _: bool, _: u32) -> Result<Vec<RecordedEvent>, Failure> {
        unused()
    }

    async fn stream_heads(&self, run: RunId, after: Option<&StreamId>, limit: u32) -> Result<Vec<StreamHead>, Failure> {
        let mut named: Vec<_> = self
            .streams
            .iter()
            .filter(|(_, events)| events.iter().any(|event| event.run == Some(run)))
            .map(|(stream, events)| (stream.to_string(), stream, events))
            .filter(|(name, _, _)| after.is_none_or(|after| *name > after.to_string()))
            .collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        let head = |(_, stream, events): (String, &StreamId, &Vec<RecordedEvent>)| {
            let last = events.last().expect("a stream has events");
            StreamHead { stream: stream.clone(), version: last.version, digest: last.digest }
        };
        Ok(named.into_iter().take(limit as usize).map(head).collect())
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.blobs.get(&digest).cloned())
    }

    async fn runs(&self, _: u32) -> Result<Vec<RunRow>, Failure> {
        unused()
    }

    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure> {
        Ok(self.views.runs.get(&run).cloned())
    }

    async fn chunks(&self, run: RunId) -> Result<Vec<ChunkRow>, Failure> {
        Ok(self.views.chunks.values().filter(|row| row.chunk.run == run).cloned().collect())
    }

    async fn progress(&self, _: RunId) -> Result<Progress, Failure> {
        unused()
    }

    async fn executions(
        &self,
        run: RunId,
        after: Option<ExecutionKey>,
        _: Option<&[ExecutionOutcome]>,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, Failure> {
        let rows = self.views.executions.values().filter(|row| row.run == run);
        let rows = rows.filter(|row| after.is_none_or(|after| row.execution > after));
        Ok(rows.take(limit as usize).cloned().collect())
    }

    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure> {
        Ok(self.views.outcomes.values().filter(|row| row.attempt == attempt).cloned().collect())
    }

    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure> {
        Ok(self.views.findings.values().filter(|row| row.attempt == attempt).cloned().collect())
    }

    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure> {
        let rows = self.views.quarantine.values().filter(|row| run.is_none_or(|run| row.run == run));
        Ok(rows.take(limit as usize).cloned().collect())
    }
}
