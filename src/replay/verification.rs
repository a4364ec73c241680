//! What a verification came to, for people and for machines.

use serde::Serialize;
use std::fmt;
use tribunal_actors::ports::journal::Failure;
use tribunal_schema::Digest;
use tribunal_schema::ids::{RunId, StreamId};
use tribunal_schema::score::Verdict;
use tribunal_schema::units::Version;

/// Unpinned tails that are listed one by one; beyond them they are only counted.
const LISTED_MAX: usize = 100;

/// What a verification came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The run.
    pub run: RunId,
    /// The word.
    pub proof: Proof,
    /// Where the run stands: `completed`, `running`, ...
    pub phase: &'static str,
    /// The verdict that the run recorded; proven only if the proof says so.
    pub verdict: Option<Verdict>,
    /// The root that the verdict names: with it, nobody can change what it covers unseen.
    pub root: Option<Digest>,
    /// The digest over the results, recomputed.
    pub result_digest: Option<Digest>,
    /// What was looked at.
    pub seen: Seen,
    /// What no pin covers.
    pub unpinned: Unpinned,
}

/// The word on a run's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Everything holds, and the verdict follows from it.
    Proven,
    /// Something does not hold: the first such thing.
    Broken(Break),
    /// Everything holds so far, and there is no verdict.
    NoVerdict,
}

/// The first thing that breaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Break {
    /// Where: the stream.
    pub stream: StreamId,
    /// Where in it; absent where it is about the stream as a whole.
    pub version: Option<Version>,
    /// Which promise.
    pub breach: Breach,
    /// In words.
    pub what: String,
}

/// A promise that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breach {
    /// A stream that must exist does not, or ends before its head.
    Missing,
    /// A version is left out, repeated or out of order.
    Sequence,
    /// An event's id, stream or run is not what its command and place give.
    Identity,
    /// A digest is not the chain's.
    Chain,
    /// An event cannot be read.
    Unreadable,
    /// An event is not allowed in its state.
    Illegal,
    /// A pin names another digest than the stream has.
    Pin,
    /// The root is not the digest of what came before the verdict.
    Root,
    /// A stream belongs to the run and to nothing in it.
    Stranger,
    /// A chunk and its attempt, plan or cases say different things.
    Promise,
    /// A judgment does not follow from what was measured.
    Judgment,
    /// A tally is not the sum of what it counts.
    Tally,
    /// The verdict does not follow from the tally and the gate.
    Verdict,
    /// The digest of the results is not the results'.
    ResultDigest,
    /// A blob is missing or has other bytes.
    Blob,
    /// A row that people read is not what the events add up to.
    View,
}

impl Breach {
    /// The promise in words.
    pub const fn words(self) -> &'static str {
        match self {
            Breach::Missing => "something is missing",
            Breach::Sequence => "versions have no gaps",
            Breach::Identity => "an event's identity follows from its command and place",
            Breach::Chain => "the digest chain holds",
            Breach::Unreadable => "every event can be read",
            Breach::Illegal => "every event is allowed where it stands",
            Breach::Pin => "pins hold",
            Breach::Root => "the root covers what the verdict rests on",
            Breach::Stranger => "every stream belongs to something",
            Breach::Promise => "streams agree with each other",
            Breach::Judgment => "judgments follow from measurements",
            Breach::Tally => "tallies add up",
            Breach::Verdict => "the verdict follows from the gate",
            Breach::ResultDigest => "the result digest is the results'",
            Breach::Blob => "blobs are what their digests say",
            Breach::View => "views are a fold of the events",
        }
    }
}

impl Break {
    pub(super) fn new(stream: &StreamId, version: Option<Version>, breach: Breach, what: impl Into<String>) -> Break {
        Break { stream: stream.clone(), version, breach, what: what.into() }
    }
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stream)?;
        if let Some(version) = self.version {
            write!(f, " version {version}")?;
        }
        write!(f, ": {} (promised: {})", self.what, self.breach.words())
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Streams, read from their first event to their last.
    pub streams: u64,
    /// Events.
    pub events: u64,
    /// Blobs whose bytes were digested.
    pub blobs: u64,
    /// Rows of views that were compared.
    pub rows: u64,
    /// Streams that were written to while they were read: their views were not compared.
    pub moving: u64,
}

/// What no pin covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unpinned {
    /// Streams with events that no pin covers.
    pub streams: u64,
    /// Those events.
    pub events: u64,
    /// The first hundred of them.
    pub listed: Vec<UnpinnedTail>,
}

/// Events of one stream that no pin covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnpinnedTail {
    /// The stream.
    pub stream: StreamId,
    /// The first version that is not covered.
    pub from: Version,
    /// How many events.
    pub events: u64,
}

impl Unpinned {
    /// Notes what comes after a pinned version; nothing where the pin is the head.
    pub(super) fn tail(&mut self, stream: &StreamId, pinned: Version, head: Version) {
        let events = head.0.saturating_sub(pinned.0);
        if events == 0 {
            return;
        }
        self.streams += 1;
        self.events += events;
        if self.listed.len() < LISTED_MAX {
            self.listed.push(UnpinnedTail { stream: stream.clone(), from: pinned.next(), events });
        }
    }
}

/// Why a verification stopped.
#[derive(Debug)]
pub(super) enum Stop {
    Broken(Break),
    Failed(Failure),
}

impl From<Break> for Stop {
    fn from(broken: Break) -> Stop {
        Stop::Broken(broken)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

impl Verification {
    /// 0 proven, 2 not proven, 4 consistent and without a verdict.
    pub const fn exit_code(&self) -> u8 {
        match self.proof {
            Proof::Proven => 0,
            Proof::Broken(_) => 2,
            Proof::NoVerdict => 4,
        }
    }

    /// One JSON object: `run, proof (proven | not-proven | no-verdict), first_break, phase,
    /// verdict, root, result_digest, streams, events, blobs, rows, moving, unpinned`.
    pub fn json(&self) -> serde_json::Value {
        let (word, first_break) = match &self.proof {
            Proof::Proven => ("proven", None),
            Proof::Broken(broken) => ("not-proven", Some(broken)),
            Proof::NoVerdict => ("no-verdict", None),
        };
        serde_json::json!({
            "run": self.run, "proof": word, "first_break": first_break, "phase": self.phase,
            "verdict": self.verdict, "root": self.root, "result_digest": self.result_digest,
            "streams": self.seen.streams, "events": self.seen.events, "blobs": self.seen.blobs,
            "rows": self.seen.rows, "moving": self.seen.moving, "unpinned": self.unpinned,
        })
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { streams, events, blobs, rows, moving } = self.seen;
        match &self.proof {
            Proof::Proven => writeln!(f, "run {}: proven", self.run)?,
            Proof::Broken(broken) => writeln!(f, "run {}: NOT PROVEN\n  first      {broken}", self.run)?,
            Proof::NoVerdict => {
                writeln!(f, "run {}: consistent so far, no verdict (the run is {})", self.run, self.phase)?;
            }
        }
        match (&self.proof, self.verdict) {
            (Proof::Broken(_), Some(verdict)) => writeln!(f, "  verdict    {verdict}, as recorded; do not rely on it")?,
            (Proof::Proven | Proof::NoVerdict, Some(verdict)) => writeln!(f, "  verdict    {verdict}")?,
            (_, None) => {}
        }
        if let Some(root) = self.root {
            writeln!(f, "  root       {root}")?;
        }
        if let Some(digest) = self.result_digest {
            writeln!(f, "  results    {digest}")?;
        }
        writeln!(f, "  looked at  {streams} streams, {events} events, {blobs} blobs, {rows} rows of views")?;
        if moving > 0 {
            writeln!(f, "  moving     {moving} streams were written to meanwhile; their views were not compared")?;
        }
        write!(f, "  unpinned   {} events in {} streams", self.unpinned.events, self.unpinned.streams)?;
        for tail in &self.unpinned.listed {
            write!(f, "\n             {} from version {}: {}", tail.stream, tail.from, tail.events)?;
        }
        let more = self.unpinned.streams.saturating_sub(self.unpinned.listed.len() as u64);
        if more > 0 {
            write!(f, "\n             and {more} more streams")?;
        }
        Ok(())
    }
}
