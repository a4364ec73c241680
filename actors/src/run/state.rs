//! What the events of a run add up to.

use crate::decider::Illegal;
use crate::mutant::{self, Mutant};
use crate::verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::events::{AcceptedChunk, ChunkEnd, RunEvent, RunHalted, RunJudged, RunPlanned};
use tribunal_schema::score::Tally;
use tribunal_schema::units::Version;

/// What the events of a run add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// The plan; `None` before the first event.
    pub planned: Option<Arc<RunPlanned>>,
    /// Where it stands.
    pub phase: RunPhase,
    /// Placements whose chunks exist.
    pub seeded: BTreeSet<String>,
    /// Whether a chunk was ever dispatched.
    pub started: bool,
    /// The chunks that ended, by number.
    pub accepted: BTreeMap<u32, Accepted>,
    /// Why it was halted.
    pub halted: Option<Arc<RunHalted>>,
    /// The verdict.
    pub judged: Option<Arc<RunJudged>>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunPhase {
    /// It does not exist.
    #[default]
    New,
    /// Planned; its chunks are being seeded.
    Creating,
    /// Open.
    Running,
    /// Paused.
    Paused,
    /// Asks no more; will be judged.
    Halted,
    /// Has its verdict, in the same unit as `Completed`.
    Judged,
    /// Over, with a verdict.
    Completed,
    /// Over, by a person.
    Cancelled,
    /// Over, could not be carried out.
    Failed,
}

impl RunPhase {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            RunPhase::New => "unknown",
            RunPhase::Creating => "creating",
            RunPhase::Running => "running",
            RunPhase::Paused => "paused",
            RunPhase::Halted => "halted",
            RunPhase::Judged => "judged",
            RunPhase::Completed => "completed",
            RunPhase::Cancelled => "cancelled",
            RunPhase::Failed => "failed",
        }
    }

    /// Whether nothing can change its outcome any more.
    pub const fn is_over(self) -> bool {
        matches!(self, RunPhase::Judged | RunPhase::Completed | RunPhase::Cancelled | RunPhase::Failed)
    }
}

/// A chunk's end as the run holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The version of the chunk's stream.
    pub version: Version,
    /// The pin.
    pub digest: Digest,
    /// How it ended.
    pub end: ChunkEnd,
    /// What it adds.
    pub tally: Tally,
    /// Whether it was reopened since: its next end replaces this one.
    pub reopened: bool,
}

impl RunState {
    /// Whether every chunk is in and there is no verdict yet.
    pub fn is_judgeable(&self) -> bool {
        let chunks = self.planned.as_ref().map_or(u32::MAX, |planned| planned.plan.chunks) as usize;
        let all_in = self.accepted.len() == chunks && self.accepted.values().all(|chunk| !chunk.reopened);
        all_in && matches!(self.phase, RunPhase::Running | RunPhase::Paused | RunPhase::Halted)
    }

    /// The sum of the accepted tallies.
    pub fn tally(&self) -> Tally {
        let mut total =
            self.planned.as_ref().map(|planned| verdict::tally::empty(&planned.plan.profile)).unwrap_or_default();
        for chunk in self.accepted.values() {
            if mutant::is_alive(Mutant::TallyNotAdditive) {
                total = chunk.tally.clone();
            } else {
                verdict::add(&mut total, &chunk.tally);
            }
        }
        total
    }

    /// Why it was halted, in words.
    pub fn halted_reason(&self) -> Option<&str> {
        self.halted.as_ref().map(|halted| halted.reason.as_str())
    }

    /// The state after an event.
    pub(super) fn after(mut self, event: &RunEvent) -> Result<RunState, Illegal> {
        let illegal = |phase: RunPhase| Err(Illegal::new(event, format!("the run is {}", phase.name())));
        let phase = self.phase;
        let open = matches!(phase, RunPhase::Running | RunPhase::Paused);
        match event {
            RunEvent::Planned(planned) if phase == RunPhase::New => {
                self.planned = Some(Arc::new(planned.clone()));
                self.phase = RunPhase::Creating;
            }
            RunEvent::PlacementSeeded(seeded) if phase == RunPhase::Creating => {
                self.seeded.insert(seeded.placement.clone());
            }
            RunEvent::Opened(_) if phase == RunPhase::Creating && self.is_seeded() => self.phase = RunPhase::Running,
            RunEvent::Started(_) if open && !self.started => self.started = true,
            RunEvent::ChunksAccepted(accepted) if open || phase == RunPhase::Halted => {
                for chunk in &accepted.chunks {
                    self.accept(chunk).map_err(|reason| Illegal::new(event, reason))?;
                }
            }
            RunEvent::ChunkReopened(reopened) if open || phase == RunPhase::Halted => {
                let Some(chunk) = self.accepted.get_mut(&reopened.chunk) else {
                    return Err(Illegal::new(event, format!("chunk {} has not ended", reopened.chunk)));
                };
                if chunk.end != ChunkEnd::Quarantined || chunk.reopened {
                    return Err(Illegal::new(
                        event,
                        format!("nothing of chunk {} waits in quarantine", reopened.chunk),
                    ));
                }
                chunk.reopened = true;
            }
            RunEvent::Paused(_) if phase == RunPhase::Running => self.phase = RunPhase::Paused,
            RunEvent::Resumed(_) if phase == RunPhase::Paused => self.phase = RunPhase::Running,
            RunEvent::Cancelled(_) if !phase.is_over() && phase != RunPhase::New => self.phase = RunPhase::Cancelled,
            RunEvent::Halted(halted) if open => {
                self.halted = Some(Arc::new(halted.clone()));
                self.phase = RunPhase::Halted;
            }
            RunEvent::Judged(judged) if self.is_judgeable() => {
                self.judged = Some(Arc::new(judged.clone()));
                self.phase = RunPhase::Judged;
            }
            RunEvent::Completed(_) if phase == RunPhase::Judged => self.phase = RunPhase::Completed,
            RunEvent::Failed(_) if phase == RunPhase::Creating || open => self.phase = RunPhase::Failed,
            RunEvent::Retired(_) if phase.is_over() => {}
            RunEvent::Planned(_)
            | RunEvent::PlacementSeeded(_)
            | RunEvent::Opened(_)
            | RunEvent::Started(_)
            | RunEvent::ChunksAccepted(_)
            | RunEvent::ChunkReopened(_)
            | RunEvent::Paused(_)
            | RunEvent::Resumed(_)
            | RunEvent::Cancelled(_)
            | RunEvent::Halted(_)
            | RunEvent::Judged(_)
            | RunEvent::Completed(_)
            | RunEvent::Failed(_)
            | RunEvent::Retired(_) => return illegal(phase),
        }
        Ok(self)
    }

    /// Whether the chunks of every placement exist.
    pub(super) fn is_seeded(&self) -> bool {
        let placements = self.planned.iter().flat_map(|planned| &planned.plan.placements);
        placements.into_iter().all(|placement| self.seeded.contains(placement))
    }

    fn accept(&mut self, chunk: &AcceptedChunk) -> Result<(), String> {
        let chunks = self.planned.as_ref().map_or(0, |planned| planned.plan.chunks);
        if chunk.chunk >= chunks {
            return Err(format!("the run has {chunks} chunks, not a chunk {}", chunk.chunk));
        }
        if let Some(known) = self.accepted.get(&chunk.chunk).filter(|known| known.version >= chunk.version) {
            return Err(format!("chunk {} at version {} after {}", chunk.chunk, chunk.version, known.version));
        }
        let accepted = Accepted {
            version: chunk.version,
            digest: chunk.digest,
            end: chunk.end,
            tally: chunk.tally.clone(),
            reopened: false,
        };
        self.accepted.insert(chunk.chunk, accepted);
        Ok(())
    }
}
