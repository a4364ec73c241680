//! Wire messages: what travels through a broker. A message is a hint with an
//! address; the truth is in the journal.

use crate::ids::ChunkId;
use crate::units::ReadySeq;
use serde::{Deserialize, Serialize};

/// A chunk may be claimed. Routing key `run.chunk.ready.<lane>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkReady {
    /// The version of this message's shape: 1.
    pub version: u32,
    /// The chunk.
    pub chunk: ChunkId,
    /// The ready row it offers; any other one supersedes the message.
    pub ready_seq: ReadySeq,
}

impl ChunkReady {
    /// The current version of the shape.
    pub const VERSION: u32 = 1;

    /// The routing key of a lane.
    pub fn routing_key(lane: &str) -> String {
        format!("run.chunk.ready.{lane}")
    }

    /// The message of its bytes, or why it is none.
    pub fn parse(body: &[u8]) -> Result<ChunkReady, String> {
        let message: ChunkReady = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if message.version != ChunkReady::VERSION {
            return Err(format!("chunk-ready message of version {}, this build reads 1", message.version));
        }
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_another_version_or_shape_is_refused() {
        let good = r#"{"version":1,"chunk":"01ARZ3NDEKTSV4RRFFQ69G5FAV-000003","ready_seq":2}"#;
        assert!(ChunkReady::parse(good.as_bytes()).is_ok());
        assert!(ChunkReady::parse(good.replace("\"version\":1", "\"version\":2").as_bytes()).is_err());
        assert!(ChunkReady::parse(b"\xff").is_err());
    }
}
