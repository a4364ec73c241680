//! Ids. A run, attempt, command or event is a ULID; a chunk is its run and its
//! number; an execution is a case and a repeat of a run. What follows from
//! something recorded is derived from it, so that a repeated reaction has the
//! same id and is a duplicate instead of a second deed.

use crate::digest::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use ulid::Ulid;

macro_rules! ulid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String", extend("pattern" = "^[0-9A-HJKMNP-TV-Z]{26}$"))]
        pub struct $name(pub Ulid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.to_string()
            }
        }
        impl TryFrom<String> for $name {
            type Error = String;
            /// Strict: what is recorded has one spelling.
            fn try_from(text: String) -> Result<Self, String> {
                let id: $name = text.parse()?;
                if id.to_string() == text { Ok(id) } else { Err(format!("{text:?} is not written as an id is")) }
            }
        }
        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let upper = text.to_ascii_uppercase();
                Ulid::from_string(&upper)
                    .map($name)
                    .map_err(|_| format!("{text:?} is not an id of 26 letters and digits"))
            }
        }
    };
}

ulid_id!(
    /// One dataset put to one target under one profile.
    RunId
);
ulid_id!(
    /// One try at an execution.
    AttemptId
);
ulid_id!(
    /// A command: what caused an event. The same id means the same deed.
    CommandId
);
ulid_id!(
    /// An event.
    EventId
);
ulid_id!(
    /// One grant of a lease, unique even when a term were ever given twice.
    GrantId
);
ulid_id!(
    /// One start of one process; a restarted process is another incarnation.
    Incarnation
);
ulid_id!(
    /// One claim on a batch of the outbox.
    ClaimToken
);

/// The first 16 bytes of a digest over a namespace and its parts, as a ULID.
fn derived(namespace: &str, parts: &[&[u8]]) -> Ulid {
    let framed = parts.iter().flat_map(|part| [&b"\0"[..], *part]);
    let digest = Digest::of_parts(std::iter::once(namespace.as_bytes()).chain(framed));
    let mut first = [0u8; 16];
    first.copy_from_slice(&digest.bytes()[..16]);
    Ulid::from_bytes(first)
}

impl CommandId {
    /// The command that a policy makes of an event: the same event and label give the same command.
    pub fn derived(event: EventId, label: &str) -> CommandId {
        CommandId(derived("command", &[event.to_string().as_bytes(), label.as_bytes()]))
    }

    /// A command named by what it is about, for work that a supervisor may start twice.
    pub fn named(label: &str, parts: &[&str]) -> CommandId {
        let mut bytes: Vec<&[u8]> = vec![label.as_bytes()];
        bytes.extend(parts.iter().map(|part| part.as_bytes()));
        CommandId(derived("named", &bytes))
    }
}

impl EventId {
    /// The id of the `index`-th event that a command writes to a stream: writing
    /// the identical unit again gives the identical events.
    pub fn derived(command: CommandId, stream: &StreamId, index: usize) -> EventId {
        EventId(derived(
            "event",
            &[command.to_string().as_bytes(), stream.to_string().as_bytes(), index.to_string().as_bytes()],
        ))
    }
}

/// A chunk: a bounded range of a run's cases with all their repeats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct ChunkId {
    /// The run it belongs to.
    pub run: RunId,
    /// Its place in the run, from 0; chunks in this order hold the cases in dataset order.
    pub number: u32,
}

impl ChunkId {
    /// How many shards there are.
    pub const SHARDS: u32 = 128;

    /// The shard of the chunk, 0..=127: what placements are chosen by.
    pub const fn shard(self) -> u8 {
        (self.number % ChunkId::SHARDS) as u8
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:06}", self.run, self.number)
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<ChunkId> for String {
    fn from(id: ChunkId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for ChunkId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for ChunkId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a chunk id (a run id, a dash, a number)");
        let (run, number) = text.rsplit_once('-').ok_or_else(wrong)?;
        let id = ChunkId { run: run.parse().map_err(|_| wrong())?, number: number.parse().map_err(|_| wrong())? };
        // One chunk, one spelling: a stream id is compared as text.
        if id.to_string() == text { Ok(id) } else { Err(wrong()) }
    }
}

/// One case and one repeat of it within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionKey {
    /// The case's place in the dataset, from 0.
    pub case: u32,
    /// The repeat, from 0.
    pub repeat: u32,
}

impl fmt::Display for ExecutionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "case {} repeat {}", self.case, self.repeat)
    }
}

/// A stream of the journal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum StreamId {
    /// `run-<ulid>`
    Run(RunId),
    /// `chunk-<run>-<number>`
    Chunk(ChunkId),
    /// `attempt-<ulid>`
    Attempt(AttemptId),
    /// `operator-<ulid>`: what a person did, one stream a deed.
    Operator(CommandId),
}

impl StreamId {
    /// The stream's category: the word before the first dash.
    pub const fn category(&self) -> &'static str {
        match self {
            StreamId::Run(_) => "run",
            StreamId::Chunk(_) => "chunk",
            StreamId::Attempt(_) => "attempt",
            StreamId::Operator(_) => "operator",
        }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamId::Run(id) => write!(f, "run-{id}"),
            StreamId::Chunk(id) => write!(f, "chunk-{id}"),
            StreamId::Attempt(id) => write!(f, "attempt-{id}"),
            StreamId::Operator(id) => write!(f, "operator-{id}"),
        }
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<StreamId> for String {
    fn from(id: StreamId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for StreamId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for StreamId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a stream id (run-, chunk-, attempt- or operator- and an id)");
        let (category, id) = text.split_once('-').ok_or_else(wrong)?;
        match category {
            "run" => id.parse().map(StreamId::Run).map_err(|_| wrong()),
            "chunk" => id.parse().map(StreamId::Chunk).map_err(|_| wrong()),
            "attempt" => id.parse().map(StreamId::Attempt).map_err(|_| wrong()),
            "operator" => id.parse().map(StreamId::Operator).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_reads_back_what_it_writes() {
        let run = RunId(Ulid::from_parts(1, 2));
        let chunk = ChunkId { run, number: 130 };
        for stream in [
            StreamId::Run(run),
            StreamId::Chunk(chunk),
            StreamId::Attempt(AttemptId(Ulid::from_parts(3, 4))),
            StreamId::Operator(CommandId(Ulid::from_parts(5, 6))),
        ] {
            assert_eq!(stream.to_string().parse::<StreamId>(), Ok(stream));
        }
        assert_eq!(chunk.shard(), 2);
    }

    #[test]
    fn a_derived_command_is_the_same_for_the_same_event_and_another_for_another_label() {
        let event = EventId(Ulid::from_parts(7, 8));
        assert_eq!(CommandId::derived(event, "judge"), CommandId::derived(event, "judge"));
        assert_ne!(CommandId::derived(event, "judge"), CommandId::derived(event, "cancel"));
    }

    #[test]
    fn a_recorded_id_has_one_spelling() {
        let run = RunId(Ulid::from_parts(1_800_000_000_000, u128::MAX));
        let lower = run.to_string().to_lowercase();
        assert_eq!(lower.parse(), Ok(run), "a person may type it as they like");
        assert!(RunId::try_from(lower).is_err());
        assert!(format!("{run}-3").parse::<ChunkId>().is_err());
        assert!(format!("{run}-000003").parse::<ChunkId>().is_ok());
    }

    #[test]
    fn parts_of_a_name_are_kept_apart() {
        assert_ne!(CommandId::named("a", &["b", "c"]), CommandId::named("a", &["bc"]));
    }
}
