//! The promises of the language, kept by machines: every event has a JSON
//! Schema and a golden payload, and what is written reads back unchanged.
//!
//! `golden` and `json_schemas` compare the committed files with what the code
//! says; `scripts/bless-schemas` writes them anew. `round_trips` tries payloads
//! that nobody wrote down; `audit_page` holds the page for auditors against the
//! envelope.

mod audit_page;
mod golden;
mod json_schemas;
mod round_trips;
mod samples;

use std::path::PathBuf;

/// A folder of the package.
fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Whether this run writes the files instead of comparing them.
fn blessing() -> bool {
    std::env::var_os("TRIBUNAL_BLESS").is_some_and(|value| value == "1")
}
