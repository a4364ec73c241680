//! Reading the tables in memory: the port's reading half.

use super::port::MemoryJournal;
use crate::mutant::{self, Mutant};
use crate::ports::journal::*;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId, StreamId};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::{InstantMs, Version};
use tribunal_schema::view::{ChunkRow, ExecutionRow, FindingRow, OutcomeRow, QuarantineRow, RunRow};

/// No more rows than are asked for.
pub(super) fn limited<T>(rows: impl Iterator<Item = T>, limit: u32) -> Vec<T> {
    rows.take(limit as usize).collect()
}

fn matches(event: &RecordedEvent, filter: &EventFilter) -> bool {
    let of_type = |wanted: &String| match wanted.strip_suffix('*') {
        Some(prefix) => event.event_type.starts_with(prefix),
        None => event.event_type == *wanted,
    };
    filter.run.is_none_or(|run| event.run == Some(run))
        && filter.stream.as_ref().is_none_or(|stream| event.stream == *stream)
        && filter.category.as_ref().is_none_or(|category| event.stream.category() == category)
        && filter.event_type.as_ref().is_none_or(of_type)
        && filter.since.is_none_or(|since| event.recorded_at >= since)
        && filter.until.is_none_or(|until| event.recorded_at < until)
}

#[async_trait]
impl JournalReader for MemoryJournal {
    async fn now(&self) -> Result<InstantMs, Failure> {
        Ok(self.instant())
    }

    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure> {
        let tables = self.tables();
        let events = tables.streams.get(stream).into_iter().flatten();
        Ok(limited(events.filter(|event| event.version > after).map(|event| (**event).clone()), limit))
    }

    async fn read_feed(
        &self,
        filter: &EventFilter,
        after: Option<u64>,
        descending: bool,
        limit: u32,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        let tables = self.tables();
        let horizon = match mutant::is_alive(Mutant::FeedWithoutHorizon) {
            true => None,
            false => tables.horizon(),
        };
        let shown = |event: &&Arc<RecordedEvent>| {
            horizon.is_none_or(|horizon| event.position < horizon) && matches(event, filter)
        };
        let copied = |event: &Arc<RecordedEvent>| (**event).clone();
        Ok(match descending {
            false => {
                let behind = |event: &&Arc<RecordedEvent>| after.is_none_or(|after| event.position > after);
                limited(tables.events.iter().filter(shown).filter(behind).map(copied), limit)
            }
            true => {
                let before = |event: &&Arc<RecordedEvent>| after.is_none_or(|after| event.position < after);
                limited(tables.events.iter().rev().filter(shown).filter(before).map(copied), limit)
            }
        })
    }

    async fn stream_heads(&self, run: RunId, after: Option<&StreamId>, limit: u32) -> Result<Vec<StreamHead>, Failure> {
        let tables = self.tables();
        // By the text, as databases order them.
        let mut heads: BTreeMap<String, StreamHead> = BTreeMap::new();
        for (stream, events) in &tables.streams {
            if let Some(last) = events.iter().rfind(|event| event.run == Some(run)) {
                let head = StreamHead { stream: stream.clone(), version: last.version, digest: last.digest };
                heads.insert(stream.to_string(), head);
            }
        }
        let after = after.map(StreamId::to_string).unwrap_or_default();
        Ok(limited(heads.into_iter().filter(|(text, _)| *text > after).map(|(_, head)| head), limit))
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.tables().blobs.get(&digest).map(|bytes| bytes.to_vec()))
    }

    async fn runs(&self, limit: u32) -> Result<Vec<RunRow>, Failure> {
        let mut runs: Vec<RunRow> = self.tables().views.runs.values().cloned().collect();
        runs.sort_by_key(|row| std::cmp::Reverse((row.created_at, row.run)));
        Ok(limited(runs.into_iter(), limit))
    }

    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure> {
        Ok(self.tables().views.runs.get(&run).cloned())
    }

    async fn chunks(&self, run: RunId) -> Result<Vec<ChunkRow>, Failure> {
        Ok(self.tables().views.chunks.values().filter(|row| row.chunk.run == run).cloned().collect())
    }

    async fn progress(&self, run: RunId) -> Result<Progress, Failure> {
        let mut progress = Progress::default();
        for row in self.tables().views.chunks.values().filter(|row| row.chunk.run == run) {
            progress.executions += row.executions;
            progress.passed += row.passed;
            progress.failed += row.failed;
            progress.errored += row.errored;
            progress.abstained += row.abstained;
        }
        Ok(progress)
    }

    async fn executions(
        &self,
        run: RunId,
        after: Option<ExecutionKey>,
        outcomes: Option<&[ExecutionOutcome]>,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, Failure> {
        let tables = self.tables();
        let rows = tables.views.executions.iter().filter(|((of, key), row)| {
            *of == run
                && after.is_none_or(|after| *key > after)
                && outcomes.is_none_or(|outcomes| outcomes.contains(&row.outcome))
        });
        Ok(limited(rows.map(|(_, row)| row.clone()), limit))
    }

    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure> {
        Ok(self.tables().views.outcomes.values().filter(|row| row.attempt == attempt).cloned().collect())
    }

    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure> {
        Ok(self.tables().views.findings.values().filter(|row| row.attempt == attempt).cloned().collect())
    }

    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure> {
        let tables = self.tables();
        let rows = tables.views.quarantine.values().filter(|row| run.is_none_or(|run| row.run == run));
        Ok(limited(rows.cloned(), limit))
    }
}
