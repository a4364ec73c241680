//! The run: its plan, what it accepted of its chunks, and the verdict with the
//! root, the tally and the gate behind it.

use super::verification::{Breach, Break, Stop};
use super::walk::{Stride, Walk};
use std::collections::BTreeMap;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_actors::run::{Run, RunState};
use tribunal_actors::verdict::{Facts, gate};
use tribunal_schema::events::{AcceptedChunk, RunEvent, RunJudged, RunPlanned};
use tribunal_schema::ids::{RunId, StreamId};
use tribunal_schema::units::Version;
use tribunal_schema::view::ViewFold;

/// What a run's stream says, taken together.
#[derive(Default)]
pub(super) struct Account {
    /// What was accepted of each chunk, with the version of the run that accepted it.
    pub accepted: BTreeMap<u32, Vec<(Version, AcceptedChunk)>>,
    /// The version of `run.judged`.
    pub judged_at: Option<Version>,
    pub opened: bool,
    /// Whether retention may have taken blobs and views away.
    pub retired: bool,
}

/// Walks a run's stream.
pub(super) async fn walk(
    reader: &dyn JournalReader,
    run: RunId,
    fold: &mut ViewFold,
) -> Result<(Walk<Run>, Account), Stop> {
    let stream = StreamId::Run(run);
    let mut account = Account::default();
    let walk = Walk::<Run>::through(reader, run, stream.clone(), |stride| {
        account.note(&stride).map_err(|(breach, what)| Break::new(&stream, Some(stride.version), breach, what))?;
        stride.fold_into(&stream, fold);
        Ok(())
    })
    .await?;
    Ok((walk, account))
}

type Noted = Result<(), (Breach, String)>;

impl Account {
    fn note(&mut self, stride: &Stride<'_, Run>) -> Noted {
        match stride.event {
            RunEvent::Planned(planned) => digested(planned),
            RunEvent::Opened(opened) => {
                self.opened = true;
                let plan = stride.before.planned.as_ref().map(|planned| &planned.plan);
                let asked = plan.map(|plan| (plan.chunks, plan.cases, plan.executions()));
                if asked != Some((opened.chunks, opened.cases, opened.executions)) {
                    return Err((Breach::Promise, "it opens another number of chunks or cases than it planned".into()));
                }
                Ok(())
            }
            RunEvent::ChunksAccepted(event) => {
                for chunk in &event.chunks {
                    self.accepted.entry(chunk.chunk).or_default().push((stride.version, chunk.clone()));
                }
                Ok(())
            }
            RunEvent::Judged(judged) => {
                self.judged_at = Some(stride.version);
                follows(judged, stride)
            }
            RunEvent::Retired(_) => {
                self.retired = true;
                Ok(())
            }
            RunEvent::PlacementSeeded(_)
            | RunEvent::Started(_)
            | RunEvent::ChunkReopened(_)
            | RunEvent::Paused(_)
            | RunEvent::Resumed(_)
            | RunEvent::Cancelled(_)
            | RunEvent::Halted(_)
            | RunEvent::Completed(_)
            | RunEvent::Failed(_) => Ok(()),
        }
    }
}

fn digested(planned: &RunPlanned) -> Noted {
    let digest = planned.plan.digest();
    if digest != planned.plan_digest {
        let what = format!("it names plan {}, its plan is {}", planned.plan_digest.short(), digest.short());
        return Err((Breach::Promise, what));
    }
    Ok(())
}

/// Root, tally and verdict follow from what came before.
fn follows(judged: &RunJudged, stride: &Stride<'_, Run>) -> Noted {
    if judged.root != stride.before_digest {
        let what = format!(
            "the verdict names root {}, the stream before it has {}",
            judged.root.short(),
            stride.before_digest.short()
        );
        return Err((Breach::Root, what));
    }
    let state: &RunState = stride.before;
    let Some(planned) = &state.planned else { return Err((Breach::Verdict, "it has no plan".into())) };
    let tally = state.tally();
    if tally != judged.tally {
        return Err((Breach::Tally, "the run's tally is not the sum of its chunks'".into()));
    }
    let facts = Facts { cut_short: state.halted_reason(), filters: &planned.plan.filters };
    let again = gate(&planned.plan.profile, &tally, facts);
    if again.verdict != judged.judged.verdict {
        let what = format!("it says {}, the gate gives {}", judged.judged.verdict, again.verdict);
        return Err((Breach::Verdict, what));
    }
    if again != judged.judged {
        return Err((Breach::Verdict, "its reasons or conditions are not what the gate gives".into()));
    }
    Ok(())
}
