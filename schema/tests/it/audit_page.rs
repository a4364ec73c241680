//! The page for auditors says what the code does: its example was computed by
//! other tools than ours, and must come out the same here.

use serde_json::Value;
use std::path::PathBuf;
use tribunal_schema::digest::Digest;
use tribunal_schema::envelope::{RecordedEvent, chain};
use tribunal_schema::ids::{EventId, RunId};
use tribunal_schema::units::{InstantMs, Version};

/// The lines of the page's example: canonical text and digest in turn.
fn example() -> Vec<(String, String)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/audit.md");
    let page = std::fs::read_to_string(path).expect("docs/audit.md exists");
    let section = page.split("\n## An example\n").nth(1).expect("the page has an example");
    let block = section.split("```").nth(1).expect("the example is a block");
    let lines: Vec<&str> = block.lines().filter(|line| !line.is_empty()).collect();
    lines.chunks(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
}

fn text_of(event: &Value, key: &str) -> String {
    event[key].as_str().unwrap_or_else(|| panic!("{key} is a text")).to_string()
}

/// A line of the page as the journal would hold it.
fn recorded(event: &Value) -> RecordedEvent {
    let id = |key: &str| text_of(event, key).parse::<EventId>().expect("an id");
    RecordedEvent {
        position: 1,
        stream: text_of(event, "stream").parse().expect("a stream"),
        version: Version(event["version"].as_u64().expect("a version")),
        id: id("id"),
        command: text_of(event, "command").parse().expect("an id"),
        event_type: text_of(event, "type"),
        type_version: 1,
        run: Some(text_of(event, "run").parse::<RunId>().expect("an id")),
        team: text_of(event, "team"),
        payload: event["payload"].to_string(),
        causation: event["causation"].as_str().map(|_| id("causation")),
        recorded_at: InstantMs(0),
        digest: Digest::ZERO,
    }
}

#[test]
fn the_example_of_the_audit_page_is_what_the_journal_would_record() {
    let example = example();
    assert_eq!(example.len(), 2, "the example shows one event and its successor");
    let mut previous = Digest::ZERO;
    for (line, digest) in example {
        let event: Value = serde_json::from_str(&line).expect("JSON");
        let text = recorded(&event).canonical_text().expect("canonical");
        assert_eq!(text, line);
        previous = chain(previous, &text);
        assert_eq!(previous.to_string(), digest);
    }
}
