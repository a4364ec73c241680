//! A follow-up run: the same plan again, with every result of the earlier run
//! carried over except those of the executions that a person let out of
//! quarantine. It is linked to the run it follows and has a verdict of its own.

use super::submit::Submission;
use std::collections::BTreeSet;
use tribunal_actors::aggregate::{CommandError, load};
use tribunal_actors::chunk::{Chunk, ChunkState, Stage};
use tribunal_actors::decider::Rejection;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_actors::run::RunState;
use tribunal_schema::case::CasePage;
use tribunal_schema::events::CarriedResult;
use tribunal_schema::ids::{ChunkId, ExecutionKey, RunId, StreamId};

/// What is submitted to try `released` again and carry everything else.
///
/// # Errors
/// When the run does not exist, or its blobs are gone.
pub async fn follow_up(
    reader: &dyn JournalReader,
    run: RunId,
    state: &RunState,
    released: &BTreeSet<ExecutionKey>,
) -> Result<Submission, CommandError> {
    let planned = state.planned.as_ref().ok_or(Rejection::Unknown("the run"))?;
    let (mut cases, mut groups, mut carried) = (vec![], vec![], vec![]);
    for number in 0..planned.plan.chunks {
        let chunk = load::<Chunk>(reader, &StreamId::Chunk(ChunkId { run, number })).await?.state;
        let Some(seeded) = chunk.seeded.clone() else { continue };
        let missing = || CommandError::Bug(format!("the cases of chunk {number} are not kept any more"));
        let bytes = reader.blob(seeded.page).await?.ok_or_else(missing)?;
        let page: CasePage = serde_json::from_slice(&bytes).map_err(|error| CommandError::Bug(error.to_string()))?;
        cases.extend(page.cases);
        groups.extend(seeded.cases.iter().map(|case| case.group));
        carried.extend(results(&chunk).into_iter().filter(|one| !released.contains(&one.result.execution)));
    }
    Ok(Submission {
        profile: planned.plan.profile.clone(),
        dataset: planned.plan.dataset.clone(),
        filters: planned.plan.filters.clone(),
        cases,
        groups,
        carried,
        follows: Some(run),
    })
}

/// Every result of a chunk with its pin; one in quarantine counts as errored and has none.
fn results(chunk: &ChunkState) -> Vec<CarriedResult> {
    let pin = |key: &ExecutionKey| match chunk.executions.get(key).map(|execution| &execution.stage) {
        Some(Stage::Settled(_, pin)) => *pin,
        Some(Stage::Pending { .. } | Stage::Open(_) | Stage::Quarantined { .. }) | None => None,
    };
    chunk.results().into_iter().map(|(key, result)| CarriedResult { result, pin: pin(&key) }).collect()
}
