//! An attempt: is it what its chunk says of it, was it made and judged under
//! terms its chunk had, and does its judgment follow from what was measured.

use super::chunk::{Ending, Told};
use super::verification::{Breach, Break, Stop};
use super::walk::Walk;
use tribunal_actors::attempt::{Attempt, AttemptPhase, AttemptState};
use tribunal_actors::ports::journal::JournalReader;
use tribunal_actors::verdict::{judge, outcome_of};
use tribunal_schema::Digest;
use tribunal_schema::evaluation::{Outcome, Report, Said};
use tribunal_schema::events::{AttemptEvent, AttemptJudged, AttemptPin, AttemptStarted};
use tribunal_schema::ids::{AttemptId, ChunkId, StreamId};
use tribunal_schema::profile::Group;
use tribunal_schema::score::{ExecutionOutcome, Judgment};
use tribunal_schema::units::{LeaseTerm, Version};
use tribunal_schema::view::ViewFold;

/// What is known of an attempt before its stream is read.
pub(super) struct Expected<'a> {
    pub chunk: ChunkId,
    pub chunk_stream: &'a StreamId,
    pub told: &'a Told,
    pub group: &'a Group,
    /// The last term that the chunk granted.
    pub term: LeaseTerm,
}

/// An attempt whose stream was read.
pub(super) struct Read {
    pub walk: Walk<Attempt>,
    /// Blobs it names, with their sizes where it says them, and where it names them.
    pub blobs: Vec<(Digest, Option<u64>, Version)>,
}

impl Read {
    /// Whether the target was called and somebody recorded how that ended.
    pub fn has_record(&self) -> bool {
        matches!(self.walk.state.phase, AttemptPhase::Answered(_) | AttemptPhase::Judged(..) | AttemptPhase::Failed(_))
    }
}

/// Reads an attempt's stream and puts it to what its chunk says.
pub(super) async fn check(
    reader: &dyn JournalReader,
    expected: &Expected<'_>,
    fold: &mut ViewFold,
) -> Result<Read, Stop> {
    let attempt: AttemptId = expected.told.allocated.attempt;
    let stream = StreamId::Attempt(attempt);
    let pin = expected.told.pin();
    let (mut pinned, mut blobs) = (None, vec![]);
    let walk = Walk::<Attempt>::through(reader, expected.chunk.run, stream.clone(), |stride| {
        let broken = |breach, what: String| Break::new(&stream, Some(stride.version), breach, what);
        if pin.is_some_and(|pin| pin.version == stride.version) {
            pinned = Some((stride.digest, stride.after.clone()));
        }
        match stride.event {
            AttemptEvent::Started(started) => {
                expected.started(started).map_err(|what| broken(Breach::Promise, what))?;
            }
            AttemptEvent::Judged(judged) => {
                follows(judged, expected.group).map_err(|what| broken(Breach::Judgment, what))?;
            }
            AttemptEvent::Answered(answered) => blobs.push((answered.answer, Some(answered.bytes), stride.version)),
            AttemptEvent::Failed(failed) => blobs.extend(failed.body.map(|body| (body, None, stride.version))),
            AttemptEvent::Expired(expired) => {
                if !matches!(&expected.told.ending, Ending::Expired { term, lost } if (*term, *lost) == (expired.term, expired.lost)) {
                    return Err(broken(Breach::Promise, "it expired otherwise than its chunk says".into()));
                }
            }
            AttemptEvent::Cancelled(_) | AttemptEvent::Late(_) => {}
        }
        stride.fold_into(&stream, fold);
        Ok(())
    })
    .await?;
    let said = |breach, what: String| Break::new(expected.chunk_stream, Some(expected.told.version), breach, what);
    if let Some(pin) = pin {
        held(&stream, pin, walk.version, pinned.as_ref().map(|(digest, _)| *digest))
            .map_err(|what| said(Breach::Pin, what))?;
    }
    let state = pinned.map_or_else(|| walk.state.clone(), |(_, state)| state);
    expected.ended(&state).map_err(|what| said(Breach::Promise, format!("{stream}: {what}")))?;
    Ok(Read { walk, blobs })
}

impl Told {
    /// The pin of the attempt's stream, where the chunk has one.
    pub fn pin(&self) -> Option<AttemptPin> {
        match &self.ending {
            Ending::Settled { pin, .. } | Ending::Failed { pin, .. } => Some(*pin),
            Ending::Open | Ending::Unburnt | Ending::Expired { .. } | Ending::Cancelled => None,
        }
    }
}

/// The stream has the pinned digest at the pinned version.
fn held(stream: &StreamId, pin: AttemptPin, head: Version, digest: Option<Digest>) -> Result<(), String> {
    match digest {
        Some(digest) if digest == pin.digest => Ok(()),
        Some(digest) => Err(format!(
            "it pins {stream} version {} as {}, the chain there is {}",
            pin.version,
            pin.digest.short(),
            digest.short()
        )),
        None if head == Version(0) => Err(format!("it pins {stream} version {}, and {stream} is gone", pin.version)),
        None => Err(format!("it pins {stream} version {}, and {stream} ends at version {head}", pin.version)),
    }
}

impl Expected<'_> {
    /// It was started as it was allocated, under a term that its chunk had.
    fn started(&self, started: &AttemptStarted) -> Result<(), String> {
        let allocated = &self.told.allocated;
        if started.chunk != self.chunk || started.execution != allocated.execution {
            return Err(format!(
                "it tries {} of chunk {}, and was given out for another",
                started.execution, started.chunk
            ));
        }
        if started.number != allocated.number {
            return Err(format!(
                "it calls itself attempt {}, and was given out as {}",
                started.number, allocated.number
            ));
        }
        self.live(started.term, self.term)
    }

    /// A term from the one it was given out under to the one that ended it.
    fn live(&self, term: LeaseTerm, until: LeaseTerm) -> Result<(), String> {
        if term < self.told.term || term > until {
            return Err(format!("it was recorded under term {term}, outside of {} to {until}", self.told.term));
        }
        Ok(())
    }

    /// It ended as its chunk says.
    fn ended(&self, state: &AttemptState) -> Result<(), String> {
        match (&self.told.ending, &state.phase) {
            (Ending::Open, _) => Ok(()),
            (Ending::Unburnt, AttemptPhase::New) => Ok(()),
            (Ending::Unburnt, _) => Err("it went back as never started, and was started".into()),
            (Ending::Settled { term, result, .. }, AttemptPhase::Judged(answered, judged)) => {
                self.live(answered.term, *term)?;
                self.live(judged.term, *term)?;
                if result.failure.is_some() || judged.judgment != result.judgment {
                    return Err("it was judged otherwise than it was settled".into());
                }
                Ok(())
            }
            (Ending::Settled { term, result, .. }, AttemptPhase::Failed(failed)) => {
                self.live(failed.term, *term)?;
                let nothing = Judgment { outcome: ExecutionOutcome::Errored, score_ppm: None, dimensions: Vec::new() };
                if result.failure != Some(failed.class) || result.judgment != nothing {
                    return Err(format!("it failed ({}) and was settled otherwise", failed.class));
                }
                Ok(())
            }
            (Ending::Failed { term, class, response_received, .. }, AttemptPhase::Failed(failed)) => {
                self.live(failed.term, *term)?;
                let received_alike = response_received.is_none_or(|received| received == failed.response_received);
                if *class != failed.class || !received_alike {
                    return Err(format!("it failed ({}) otherwise than its chunk says ({class})", failed.class));
                }
                Ok(())
            }
            (Ending::Expired { .. }, AttemptPhase::Expired) | (Ending::Cancelled, AttemptPhase::Cancelled) => Ok(()),
            (Ending::Settled { .. }, phase) => Err(format!("it was settled, and is {}", phase.name())),
            (Ending::Failed { class, .. }, phase) => Err(format!("it failed ({class}), and is {}", phase.name())),
            (Ending::Expired { lost, .. }, phase) => {
                Err(format!("it {}, and is {}", if *lost { "was lost" } else { "expired" }, phase.name()))
            }
            (Ending::Cancelled, phase) => Err(format!("it was cancelled in flight, and is {}", phase.name())),
        }
    }
}

/// The judgment follows from the outcomes, and each score from its measurement.
fn follows(judged: &AttemptJudged, group: &Group) -> Result<(), String> {
    let bindings = group.bindings.iter().map(|binding| binding.id.as_str());
    if !bindings.eq(judged.outcomes.iter().map(|said| said.binding.as_str())) {
        return Err(format!("its outcomes are not those of the bindings of group {}", group.name));
    }
    for (binding, said) in group.bindings.iter().zip(&judged.outcomes) {
        let Outcome::Measured { measurement, .. } = &said.outcome else { continue };
        let report = Report { said: Said::Measured(measurement.clone()), findings: vec![] };
        if outcome_of(binding, Ok(&report)) != said.outcome {
            return Err(format!("the score of binding {} does not follow from what it measured", binding.id));
        }
    }
    let outcomes: Vec<Outcome> = judged.outcomes.iter().map(|said| said.outcome.clone()).collect();
    if judge(group, &outcomes) != judged.judgment {
        return Err("its judgment does not follow from its outcomes".into());
    }
    Ok(())
}
