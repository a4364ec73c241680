//! One stream from its first event to its last: the versions, the ids, the
//! chain, and whether each event is allowed where it stands.

use super::verification::{Breach, Break, Stop};
use tribunal_actors::decider::{Decider, Step};
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::Digest;
use tribunal_schema::codec::decode;
use tribunal_schema::envelope::{RecordedEvent, chain};
use tribunal_schema::ids::{CommandId, EventId, RunId, StreamId};
use tribunal_schema::units::{InstantMs, Version};
use tribunal_schema::view::ViewFold;

/// Events a page.
const PAGE: u32 = 1000;

/// A stream as far as it was walked.
pub(super) struct Walk<D: Decider> {
    pub stream: StreamId,
    pub state: D::State,
    pub version: Version,
    pub digest: Digest,
    run: RunId,
    /// The command of the last event, and how many events in a row it has.
    command: Option<(CommandId, usize)>,
}

/// One event between two states, as it was recorded.
pub(super) struct Stride<'a, D: Decider> {
    pub before: &'a D::State,
    pub event: &'a D::Event,
    pub after: &'a D::State,
    pub version: Version,
    pub before_digest: Digest,
    pub digest: Digest,
    pub at: InstantMs,
}

impl<D: Decider> Stride<'_, D> {
    /// Folds what the views make of this event.
    pub fn fold_into(&self, stream: &StreamId, fold: &mut ViewFold) {
        let step = Step { stream, version: self.version, before: self.before, event: self.event, after: self.after };
        for change in D::views(&step) {
            fold.apply(&change, self.at);
        }
    }
}

impl<D: Decider> Walk<D> {
    /// Walks a stream to its end and shows every step to `look`, which may refuse it.
    /// A stream that does not exist has no steps.
    pub async fn through(
        reader: &dyn JournalReader,
        run: RunId,
        stream: StreamId,
        mut look: impl FnMut(Stride<'_, D>) -> Result<(), Break>,
    ) -> Result<Walk<D>, Stop> {
        let state = D::State::default();
        let mut walk = Walk { stream, state, version: Version(0), digest: Digest::ZERO, run, command: None };
        loop {
            let page = reader.read_stream(&walk.stream, walk.version, PAGE).await?;
            let full = page.len() == PAGE as usize;
            for recorded in &page {
                walk.step(recorded, &mut look)?;
            }
            if !full {
                return Ok(walk);
            }
        }
    }

    /// Whether somebody has written to the stream since it was walked.
    pub async fn has_moved(&self, reader: &dyn JournalReader) -> Result<bool, Stop> {
        Ok(!reader.read_stream(&self.stream, self.version, 1).await?.is_empty())
    }

    /// The stream must reach its head as it was when the verification began.
    pub fn reaches(&self, version: Version, digest: Digest) -> Result<(), Break> {
        if self.version < version {
            let what = format!("it ends at version {}, and its head was {version}", self.version);
            return Err(Break::new(&self.stream, None, Breach::Missing, what));
        }
        if self.version == version && self.digest != digest {
            let what = format!("its head says digest {}, the chain gives {}", digest.short(), self.digest.short());
            return Err(Break::new(&self.stream, Some(version), Breach::Chain, what));
        }
        Ok(())
    }

    fn step(
        &mut self,
        recorded: &RecordedEvent,
        look: &mut impl FnMut(Stride<'_, D>) -> Result<(), Break>,
    ) -> Result<(), Break> {
        let stream = self.stream.clone();
        let version = self.version.next();
        let broken = |breach, what: String| Break::new(&stream, Some(version), breach, what);
        if recorded.version != version {
            return Err(broken(
                Breach::Sequence,
                format!("version {} follows version {}", recorded.version, self.version),
            ));
        }
        self.identify(recorded).map_err(|what| broken(Breach::Identity, what))?;
        let text = recorded.canonical_text().map_err(|error| broken(Breach::Unreadable, error.to_string()))?;
        let digest = chain(self.digest, &text);
        if digest != recorded.digest {
            let what = format!(
                "{} has digest {}, the chain gives {}: it, or something before it, was changed",
                recorded.event_type,
                recorded.digest.short(),
                digest.short()
            );
            return Err(broken(Breach::Chain, what));
        }
        let event: D::Event = decode(recorded).map_err(|error| broken(Breach::Unreadable, error.to_string()))?;
        let after = D::evolve(self.state.clone(), &event, recorded.recorded_at)
            .map_err(|illegal| broken(Breach::Illegal, illegal.to_string()))?;
        look(Stride {
            before: &self.state,
            event: &event,
            after: &after,
            version,
            before_digest: self.digest,
            digest,
            at: recorded.recorded_at,
        })?;
        (self.state, self.version, self.digest) = (after, version, digest);
        Ok(())
    }

    /// An event's id follows from its command, its stream and its place among the command's events.
    fn identify(&mut self, recorded: &RecordedEvent) -> Result<(), String> {
        if recorded.stream != self.stream {
            return Err(format!("it was recorded for {}", recorded.stream));
        }
        if recorded.run != Some(self.run) {
            return Err(format!("it was recorded for another run than {}", self.run));
        }
        let index = match self.command {
            Some((command, index)) if command == recorded.command => index + 1,
            Some(_) | None => 0,
        };
        self.command = Some((recorded.command, index));
        let id = EventId::derived(recorded.command, &self.stream, index);
        if recorded.id != id {
            return Err(format!("its id is {}, its command gives {id}", recorded.id));
        }
        Ok(())
    }
}
