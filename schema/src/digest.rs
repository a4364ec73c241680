//! SHA-256 digests, written as 64 lowercase hex digits everywhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^[0-9a-f]{64}$"))]
pub struct Digest([u8; 32]);

impl Digest {
    /// What a chain starts from: 32 zero bytes.
    pub const ZERO: Digest = Digest([0; 32]);

    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// The digest of several byte strings one after the other, without separators.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    /// The 32 bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest from its 32 bytes; `None` for any other length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Digest> {
        Some(Digest(bytes.try_into().ok()?))
    }

    /// The first twelve hex digits, for people.
    pub fn short(&self) -> String {
        hex::encode(&self.0[..6])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = String;
    fn try_from(text: String) -> Result<Digest, String> {
        text.parse()
    }
}

impl std::str::FromStr for Digest {
    type Err = String;
    fn from_str(text: &str) -> Result<Digest, String> {
        if text.len() != 64 || text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(format!("{text:?} is not 64 lowercase hex digits"));
        }
        let bytes = hex::decode(text).map_err(|_| format!("{text:?} is not 64 lowercase hex digits"))?;
        Digest::from_bytes(&bytes).ok_or_else(|| format!("{text:?} is not 64 lowercase hex digits"))
    }
}

/// A digest under construction, for what is too large or too scattered to hold at once.
#[derive(Clone, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything added.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
