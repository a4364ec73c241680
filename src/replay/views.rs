//! The rows that people read, against a fold of the events, a chunk or an attempt
//! at a time. A row that should not be there is as wrong as one that is missing.

use super::verification::{Breach, Break, Stop};
use std::collections::BTreeMap;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::events::OperatorActed;
use tribunal_schema::ids::{AttemptId, ChunkId, ExecutionKey, RunId, StreamId};
use tribunal_schema::units::InstantMs;
use tribunal_schema::view::{ChunkRow, ExecutionRow, QuarantineRow, QuarantineStatus, ViewFold};

/// Rows a page.
const PAGE: u32 = 1000;

/// Compares what is expected with what the database holds, in the same order; gives how many rows.
fn compare<R: PartialEq + std::fmt::Debug>(
    stream: &StreamId,
    view: &str,
    expected: &[R],
    found: &[R],
) -> Result<u64, Break> {
    let different = expected.iter().zip(found).find(|(expected, found)| expected != found);
    let what = match different {
        Some((expected, found)) => format!("{view} has {found:?}, the events give {expected:?}"),
        None if expected.len() > found.len() => format!("{view} lacks {:?}", expected[found.len()]),
        None if expected.len() < found.len() => format!("{view} has a row of nothing: {:?}", found[expected.len()]),
        None => return Ok(expected.len() as u64),
    };
    Err(Break::new(stream, None, Breach::View, what))
}

/// The row of a run.
pub(super) async fn run(reader: &dyn JournalReader, run: RunId, fold: &ViewFold) -> Result<u64, Stop> {
    let found: Vec<_> = reader.run(run).await?.into_iter().collect();
    let expected: Vec<_> = fold.runs.get(&run).cloned().into_iter().collect();
    Ok(compare(&StreamId::Run(run), "runs", &expected, &found)?)
}

/// The rows of chunks, read once, and once more where a run is still being worked on.
pub(super) struct Chunks {
    rows: BTreeMap<ChunkId, ChunkRow>,
}

impl Chunks {
    pub async fn read(reader: &dyn JournalReader, run: RunId) -> Result<Chunks, Stop> {
        let rows = reader.chunks(run).await?;
        Ok(Chunks { rows: rows.into_iter().map(|row| (row.chunk, row)).collect() })
    }

    pub fn compare(&self, chunk: ChunkId, fold: &ViewFold) -> Result<u64, Break> {
        let found: Vec<_> = self.rows.get(&chunk).cloned().into_iter().collect();
        let expected: Vec<_> = fold.chunks.get(&chunk).cloned().into_iter().collect();
        compare(&StreamId::Chunk(chunk), "chunks", &expected, &found)
    }

    /// Rows of chunks that the plan does not have.
    pub fn strangers(&self, run: RunId, chunks: u32) -> Result<(), Break> {
        match self.rows.keys().find(|chunk| chunk.number >= chunks) {
            None => Ok(()),
            Some(stranger) => {
                let what = format!("chunks has a row of nothing: chunk {stranger}");
                Err(Break::new(&StreamId::Run(run), None, Breach::View, what))
            }
        }
    }
}

/// The rows of the executions of a chunk: those after a key and before a case.
pub(super) async fn executions(
    reader: &dyn JournalReader,
    chunk: ChunkId,
    mut after: Option<ExecutionKey>,
    end_case: u32,
    fold: &ViewFold,
) -> Result<u64, Stop> {
    let mut found: Vec<ExecutionRow> = vec![];
    loop {
        let page = reader.executions(chunk.run, after, None, PAGE).await?;
        let full = page.len() == PAGE as usize;
        let before = found.len();
        found.extend(page.into_iter().take_while(|row| row.execution.case < end_case));
        after = found.last().map(|row| row.execution).or(after);
        if !full || found.len() - before < PAGE as usize {
            break;
        }
    }
    let expected: Vec<_> = fold.executions.values().cloned().collect();
    Ok(compare(&StreamId::Chunk(chunk), "executions", &expected, &found)?)
}

/// That no execution has a row after the last chunk's.
pub(super) async fn no_more_executions(
    reader: &dyn JournalReader,
    run: RunId,
    after: Option<ExecutionKey>,
) -> Result<(), Stop> {
    let more = reader.executions(run, after, None, 1).await?;
    Ok(compare(&StreamId::Run(run), "executions", &[], &more).map(drop)?)
}

/// The outcomes and findings of an attempt.
pub(super) async fn attempt(reader: &dyn JournalReader, attempt: AttemptId, fold: &ViewFold) -> Result<u64, Stop> {
    let stream = StreamId::Attempt(attempt);
    let outcomes: Vec<_> = fold.outcomes.values().cloned().collect();
    let findings: Vec<_> = fold.findings.values().cloned().collect();
    let rows = compare(&stream, "outcomes", &outcomes, &reader.outcomes(attempt).await?)?;
    Ok(rows + compare(&stream, "findings", &findings, &reader.findings(attempt).await?)?)
}

/// A person's deed on what waits in quarantine.
pub(super) struct Deed {
    pub acted: OperatorActed,
    pub status: QuarantineStatus,
    pub at: InstantMs,
}

/// What waits in quarantine. Deeds settle what waited when they were done.
pub(super) async fn quarantine(
    reader: &dyn JournalReader,
    run: RunId,
    waiting: &BTreeMap<(RunId, ExecutionKey, AttemptId), QuarantineRow>,
    deeds: &[Deed],
) -> Result<u64, Stop> {
    let mut expected: Vec<QuarantineRow> = waiting.values().cloned().collect();
    for row in &mut expected {
        let deed = deeds.iter().find(|deed| deed.at >= row.since && deed.acted.executions.contains(&row.execution));
        if let Some(deed) = deed.filter(|_| row.status == QuarantineStatus::Waiting) {
            row.status = deed.status;
        }
    }
    let limit = u32::try_from(expected.len() + 1).unwrap_or(u32::MAX);
    let found = reader.quarantine(Some(run), limit).await?;
    Ok(compare(&StreamId::Run(run), "quarantine", &expected, &found)?)
}
