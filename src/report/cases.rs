//! From a case's place to its id and back, by the first event of each chunk.

use super::gather::{ReportError, read};
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::events::{ChunkEvent, ChunkSeeded, RunPlan};
use tribunal_schema::ids::{ChunkId, RunId, StreamId};
use tribunal_schema::units::Version;

/// The ids of a run's cases, read as they are asked for.
pub struct CaseIds<'a> {
    reader: &'a dyn JournalReader,
    run: RunId,
    chunks: u32,
    chunk_size: u32,
    seeds: BTreeMap<u32, Option<Arc<ChunkSeeded>>>,
}

/// Where a case was found.
#[derive(Clone, Debug)]
pub struct FoundCase {
    /// Its place in the dataset, from 0.
    pub case: u32,
    /// Its chunk.
    pub chunk: ChunkId,
    /// What its chunk is made of.
    pub seeded: Arc<ChunkSeeded>,
}

impl<'a> CaseIds<'a> {
    /// The cases of a run with this plan.
    pub fn new(reader: &'a dyn JournalReader, run: RunId, plan: &RunPlan) -> CaseIds<'a> {
        CaseIds { reader, run, chunks: plan.chunks, chunk_size: plan.profile.chunk_size.max(1), seeds: BTreeMap::new() }
    }

    /// The id of a case and the index of its group; `None` while its chunk does not exist.
    pub async fn id(&mut self, case: u32) -> Result<Option<(String, u16)>, ReportError> {
        // Chunks hold the cases in order, so this is the chunk unless a plan was cut otherwise.
        let likely = case / self.chunk_size;
        let order = std::iter::once(likely).chain((0..self.chunks).filter(|number| *number != likely));
        for number in order {
            let Some(seeded) = self.seed(number).await? else { continue };
            if let Some(found) = case.checked_sub(seeded.first_case).and_then(|at| seeded.cases.get(at as usize)) {
                return Ok(Some((found.id.clone(), found.group)));
            }
        }
        Ok(None)
    }

    /// The case with an id.
    pub async fn find(&mut self, id: &str) -> Result<Option<FoundCase>, ReportError> {
        for number in 0..self.chunks {
            let Some(seeded) = self.seed(number).await? else { continue };
            if let Some(at) = (0u32..).zip(&seeded.cases).find_map(|(at, case)| (case.id == id).then_some(at)) {
                let chunk = ChunkId { run: self.run, number };
                return Ok(Some(FoundCase { case: seeded.first_case + at, chunk, seeded }));
            }
        }
        Ok(None)
    }

    /// Every id that was read so far.
    pub fn known(&self) -> impl Iterator<Item = &str> + Clone {
        self.seeds.values().flatten().flat_map(|seeded| seeded.cases.iter().map(|case| case.id.as_str()))
    }

    async fn seed(&mut self, number: u32) -> Result<Option<Arc<ChunkSeeded>>, ReportError> {
        if let Some(known) = self.seeds.get(&number) {
            return Ok(known.clone());
        }
        let stream = StreamId::Chunk(ChunkId { run: self.run, number });
        let first = self.reader.read_stream(&stream, Version(0), 1).await?;
        let seeded = match first.first().map(read::<ChunkEvent>).transpose()? {
            Some(ChunkEvent::Seeded(seeded)) => Some(Arc::new(seeded)),
            Some(_) | None => None,
        };
        self.seeds.insert(number, seeded.clone());
        Ok(seeded)
    }
}
