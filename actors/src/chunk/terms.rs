//! The end of a term: what it means for the attempts that were open under it.

use super::state::ChunkState;
use std::collections::BTreeMap;
use tribunal_schema::events::Unfinished;
use tribunal_schema::ids::AttemptId;
use tribunal_schema::profile::SideEffects;

/// What an open attempt's stream has recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing: it was allocated only.
    NeverStarted,
    /// It was started and has no end: the target may have served it.
    Started,
    /// It is answered, judged or failed: the next term adopts it.
    Recorded,
}

/// What the end of the term means for the open attempts. An attempt whose fate is
/// not given counts as started: what is not known is never assumed harmless.
pub(super) fn unfinished(
    state: &ChunkState,
    fates: &BTreeMap<AttemptId, Fate>,
    side_effects: SideEffects,
) -> Unfinished {
    let mut unfinished = Unfinished::default();
    for attempt in state.open_attempts() {
        let id = attempt.attempt;
        match (fates.get(&id).copied().unwrap_or(Fate::Started), side_effects) {
            (Fate::NeverStarted, _) => unfinished.unburnt.push(id),
            (Fate::Started, SideEffects::None | SideEffects::Idempotent) => unfinished.expired.push(id),
            (Fate::Started, SideEffects::Unsafe) => unfinished.lost.push(id),
            (Fate::Recorded, _) => {}
        }
    }
    unfinished
}
