//! A state in memory, and how it is loaded: by replaying its stream.

use super::execute::CommandError;
use crate::decider::Decider;
use crate::ports::journal::JournalReader;
use tribunal_schema::Digest;
use tribunal_schema::codec::decode;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::Version;

/// Events a page when a stream is loaded.
const PAGE: u32 = 1000;

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its version; 0 = it does not exist.
    pub version: Version,
    /// Its digest; zeros where it does not exist.
    pub digest: Digest,
}

/// What the events of a stream add up to.
#[derive(Clone, Debug)]
pub struct Live<D: Decider> {
    /// The state.
    pub state: D::State,
    /// Where the stream stands.
    pub head: Head,
}

impl<D: Decider> Default for Live<D> {
    fn default() -> Live<D> {
        Live { state: D::State::default(), head: Head { version: Version(0), digest: Digest::ZERO } }
    }
}

impl<D: Decider> Live<D> {
    /// The state after one more recorded event. An event that cannot be read, comes out of
    /// turn or is not allowed quarantines the stream: nothing is decided on it any more.
    pub fn apply(self, recorded: &RecordedEvent) -> Result<(Live<D>, D::Event), CommandError> {
        let quarantined = |reason: String| CommandError::Quarantined { stream: recorded.stream.clone(), reason };
        if recorded.version != self.head.version.next() {
            return Err(quarantined(format!("version {} follows {}", recorded.version, self.head.version)));
        }
        let event: D::Event = decode(recorded).map_err(|error| quarantined(error.to_string()))?;
        let state = D::evolve(self.state, &event, recorded.recorded_at)
            .map_err(|illegal| quarantined(format!("version {}: {illegal}", recorded.version)))?;
        Ok((Live { state, head: Head { version: recorded.version, digest: recorded.digest } }, event))
    }
}

/// Loads a stream.
pub async fn load<D: Decider>(journal: &dyn JournalReader, stream: &StreamId) -> Result<Live<D>, CommandError> {
    catch_up(journal, stream, Live::default()).await
}

/// A state with what was written to its stream since.
pub(super) async fn catch_up<D: Decider>(
    journal: &dyn JournalReader,
    stream: &StreamId,
    mut live: Live<D>,
) -> Result<Live<D>, CommandError> {
    loop {
        let page = journal.read_stream(stream, live.head.version, PAGE).await?;
        let full = page.len() == PAGE as usize;
        for recorded in &page {
            live = live.apply(recorded)?.0;
        }
        if !full {
            return Ok(live);
        }
    }
}
