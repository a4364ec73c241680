//! A chunk: what its stream says of its executions, its attempts and its ends.
//!
//! The stream is walked first; what it says of each attempt is kept and put to
//! the attempt's own stream afterwards (`attempt`), one attempt at a time.

use super::verification::{Breach, Break, Stop};
use super::walk::{Stride, Walk};
use std::collections::{BTreeMap, BTreeSet};
use tribunal_actors::chunk::{Chunk, ChunkState};
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::Digest;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::{
    AcceptedChunk, AllocatedAttempt, AttemptPin, ChunkEnd, ChunkEvent, ChunkSeeded, RunPlanned, Unfinished,
};
use tribunal_schema::ids::{AttemptId, ChunkId, StreamId};
use tribunal_schema::profile::Profile;
use tribunal_schema::score::{ExecutionResult, Tally};
use tribunal_schema::units::{LeaseTerm, Version};
use tribunal_schema::view::ViewFold;

/// What a chunk says of one of its attempts.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub allocated: AllocatedAttempt,
    pub term: LeaseTerm,
    /// The version of the chunk's stream that says how it ended; of the allocation where none does.
    pub version: Version,
    pub ending: Ending,
}

/// How an attempt ended for its chunk.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Open,
    Settled { term: LeaseTerm, result: ExecutionResult, pin: AttemptPin },
    Failed { term: LeaseTerm, class: FailureClass, response_received: Option<bool>, pin: AttemptPin },
    Unburnt,
    Expired { term: LeaseTerm, lost: bool },
    Cancelled,
}

/// An end of a chunk.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub digest: Digest,
    pub end: ChunkEnd,
    pub tally: Tally,
}

/// What a chunk's stream says, taken together.
#[derive(Default)]
pub(super) struct Account {
    pub attempts: BTreeMap<AttemptId, Told>,
    pub ends: BTreeMap<Version, End>,
    /// The state at the version that the run accepted last: what its results are.
    pub accepted_state: Option<ChunkState>,
    /// A cancelled end: its tally rests on which of the open attempts were started.
    cancelled: Option<(Version, ChunkState, BTreeSet<AttemptId>, Tally)>,
}

/// Walks a chunk's stream.
pub(super) async fn walk(
    reader: &dyn JournalReader,
    chunk: ChunkId,
    planned: &RunPlanned,
    accepted: &[AcceptedChunk],
    fold: &mut ViewFold,
) -> Result<(Walk<Chunk>, Account), Stop> {
    let stream = StreamId::Chunk(chunk);
    let last_accepted = accepted.iter().map(|one| one.version).max();
    let mut account = Account::default();
    let profile = &planned.plan.profile;
    let walk = Walk::<Chunk>::through(reader, chunk.run, stream.clone(), |stride| {
        let said = |breach, what: String| Break::new(&stream, Some(stride.version), breach, what);
        if let ChunkEvent::Seeded(seeded) = stride.event {
            belongs(seeded, chunk, planned).map_err(|what| said(Breach::Promise, what))?;
        }
        account.note(&stride, profile).map_err(|(breach, what)| said(breach, what))?;
        if last_accepted == Some(stride.version) {
            account.accepted_state = Some(stride.after.clone());
        }
        stride.fold_into(&stream, fold);
        Ok(())
    })
    .await?;
    Ok((walk, account))
}

/// The chunk is the one its stream names, of the run's plan.
fn belongs(seeded: &ChunkSeeded, chunk: ChunkId, planned: &RunPlanned) -> Result<(), String> {
    if seeded.chunk != chunk {
        return Err(format!("it was seeded as chunk {}", seeded.chunk));
    }
    if seeded.plan_digest != planned.plan_digest {
        return Err(format!("it belongs to plan {}, not to the run's", seeded.plan_digest.short()));
    }
    if seeded.repeats != planned.plan.profile.repeats {
        return Err(format!("it has {} repeats, the plan {}", seeded.repeats, planned.plan.profile.repeats));
    }
    Ok(())
}

type Noted = Result<(), (Breach, String)>;

impl Account {
    fn note(&mut self, stride: &Stride<'_, Chunk>, profile: &Profile) -> Noted {
        let version = stride.version;
        match stride.event {
            ChunkEvent::AttemptsAllocated(event) => {
                for allocated in &event.attempts {
                    let told = Told { allocated: *allocated, term: event.term, version, ending: Ending::Open };
                    if self.attempts.insert(allocated.attempt, told).is_some() {
                        return Err((Breach::Promise, format!("attempt {} was given out twice", allocated.attempt)));
                    }
                }
            }
            ChunkEvent::ExecutionsSettled(event) => {
                for one in &event.settled {
                    let Some(attempt) = one.result.attempt else { continue };
                    let (term, result) = (event.term, one.result.clone());
                    self.ended(attempt, version, Ending::Settled { term, result, pin: one.pin });
                }
            }
            ChunkEvent::ExecutionsDeferred(event) => {
                for one in &event.deferred {
                    let response_received = Some(one.response_received);
                    let (term, class, pin) = (event.term, one.class, one.pin);
                    self.ended(one.attempt, version, Ending::Failed { term, class, response_received, pin });
                }
            }
            ChunkEvent::ExecutionsQuarantined(event) => {
                for one in &event.attempts {
                    let (term, class, pin) = (event.term, one.class, one.pin);
                    self.ended(one.attempt, version, Ending::Failed { term, class, response_received: None, pin });
                }
            }
            ChunkEvent::Released(event) => self.closed(version, event.term, &event.unfinished),
            ChunkEvent::LeaseExpired(event) => self.closed(version, event.term, &event.unfinished),
            ChunkEvent::ProcessingFailed(event) => self.closed(version, event.term, &event.unfinished),
            ChunkEvent::Completed(event) => self.end(stride, profile, ChunkEnd::Completed, &event.tally)?,
            ChunkEvent::Quarantined(event) => self.end(stride, profile, ChunkEnd::Quarantined, &event.tally)?,
            ChunkEvent::Failed(event) => self.end(stride, profile, ChunkEnd::Failed, &event.tally)?,
            ChunkEvent::Cancelled(event) => {
                self.end(stride, profile, ChunkEnd::Cancelled, &event.tally)?;
                let in_flight: BTreeSet<AttemptId> = event.in_flight.iter().copied().collect();
                for attempt in &in_flight {
                    self.ended(*attempt, version, Ending::Cancelled);
                }
                self.cancelled = Some((version, stride.before.clone(), in_flight, event.tally.clone()));
            }
            ChunkEvent::Seeded(_) | ChunkEvent::Dispatched(_) | ChunkEvent::Leased(_) | ChunkEvent::Requeued(_) => {}
        }
        Ok(())
    }

    fn ended(&mut self, attempt: AttemptId, version: Version, ending: Ending) {
        if let Some(told) = self.attempts.get_mut(&attempt) {
            (told.version, told.ending) = (version, ending);
        }
    }

    fn closed(&mut self, version: Version, term: LeaseTerm, unfinished: &Unfinished) {
        for attempt in &unfinished.unburnt {
            self.ended(*attempt, version, Ending::Unburnt);
        }
        for (attempts, lost) in [(&unfinished.expired, false), (&unfinished.lost, true)] {
            for attempt in attempts {
                self.ended(*attempt, version, Ending::Expired { term, lost });
            }
        }
    }

    /// An end: its tally is what the results add up to.
    fn end(&mut self, stride: &Stride<'_, Chunk>, profile: &Profile, end: ChunkEnd, tally: &Tally) -> Noted {
        let called: Option<BTreeSet<AttemptId>> = match end {
            ChunkEnd::Completed | ChunkEnd::Quarantined => Some(BTreeSet::new()),
            // What is open then has a record, and nobody adopts it any more.
            ChunkEnd::Failed => Some(stride.before.open.keys().copied().collect()),
            // Known only from the attempts' own streams.
            ChunkEnd::Cancelled => None,
        };
        if called.is_some_and(|called| stride.before.tally(profile, &called) != *tally) {
            return Err((Breach::Tally, "the chunk's tally is not what its results add up to".into()));
        }
        self.ends.insert(stride.version, End { digest: stride.digest, end, tally: tally.clone() });
        Ok(())
    }

    /// The tally of a cancelled end, once it is known which of its open attempts had a record.
    pub fn check_cancelled(
        &self,
        stream: &StreamId,
        profile: &Profile,
        recorded: &BTreeSet<AttemptId>,
    ) -> Result<(), Break> {
        let Some((version, before, in_flight, tally)) = &self.cancelled else { return Ok(()) };
        let had_record = before.open.keys().filter(|attempt| recorded.contains(attempt));
        let called: BTreeSet<AttemptId> = in_flight.iter().chain(had_record).copied().collect();
        if before.tally(profile, &called) != *tally {
            let what = "the cancelled chunk's tally is not what its results and open attempts add up to";
            return Err(Break::new(stream, Some(*version), Breach::Tally, what));
        }
        Ok(())
    }

    /// What the run accepted of this chunk is what the chunk recorded.
    pub fn check_accepted(
        &self,
        run: &StreamId,
        chunk: &StreamId,
        accepted: &[(Version, AcceptedChunk)],
    ) -> Result<(), Break> {
        for (at, one) in accepted {
            let broken = |breach, what: String| Err(Break::new(run, Some(*at), breach, what));
            let Some(end) = self.ends.get(&one.version) else {
                let what = format!("it accepts the end of {chunk} at version {}, where {chunk} has none", one.version);
                return broken(Breach::Pin, what);
            };
            if end.digest != one.digest {
                let what = format!(
                    "it pins {chunk} version {} as {}, the chain there is {}",
                    one.version,
                    one.digest.short(),
                    end.digest.short()
                );
                return broken(Breach::Pin, what);
            }
            if end.end != one.end || end.tally != one.tally {
                let what = format!("what it accepts of {chunk} is not what {chunk} version {} says", one.version);
                return broken(Breach::Tally, what);
            }
        }
        Ok(())
    }
}
