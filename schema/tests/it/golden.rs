//! Golden payloads: what was written once must read for ever.
//!
//! A golden file is the canonical text of one payload and its line feed. It
//! never changes: a bless run writes the files that are missing and touches no
//! other.

use crate::{blessing, folder, samples};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use tribunal_schema::canonical::canonical_value;
use tribunal_schema::codec::decode_payload;
use tribunal_schema::envelope::NewEvent;
use tribunal_schema::events::{AttemptEvent, ChunkEvent, DomainEvent, OperatorEvent, RunEvent};

/// One golden file.
struct Golden {
    event_type: String,
    type_version: u32,
    payload: String,
}

fn file_name(event_type: &str, type_version: u32) -> String {
    format!("{event_type}.v{type_version}.json")
}

fn golden_files() -> Vec<Golden> {
    let entries = fs::read_dir(folder("golden")).expect("schema/golden exists");
    let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.expect("a folder entry").path()).collect();
    let json = paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a file name in UTF-8");
        let (event_type, version) = stem.rsplit_once(".v").expect("a golden file is named <type>.v<version>.json");
        let text = fs::read_to_string(&path).expect("a readable golden file");
        let payload = text.strip_suffix('\n').expect("a golden file ends with one line feed");
        Golden {
            event_type: event_type.into(),
            type_version: version.parse().expect("a version is a number"),
            payload: payload.into(),
        }
    })
    .collect()
}

/// The types of every category with their current versions.
fn known_types() -> Vec<(&'static str, u32)> {
    [RunEvent::TYPES, ChunkEvent::TYPES, AttemptEvent::TYPES, OperatorEvent::TYPES].concat()
}

/// A payload decoded by its category and encoded again, in the current version.
fn reencode(event_type: &str, type_version: u32, payload: &str) -> Result<NewEvent, String> {
    fn through<E: DomainEvent>(event_type: &str, type_version: u32, payload: &str) -> Result<NewEvent, String> {
        let event: E = decode_payload(event_type, type_version, payload).map_err(|error| error.to_string())?;
        Ok(event.encode())
    }
    match event_type.split_once('.').map(|(category, _)| category) {
        Some("run") => through::<RunEvent>(event_type, type_version, payload),
        Some("chunk") => through::<ChunkEvent>(event_type, type_version, payload),
        Some("attempt") => through::<AttemptEvent>(event_type, type_version, payload),
        Some("operator") => through::<OperatorEvent>(event_type, type_version, payload),
        other => Err(format!("no category {other:?}")),
    }
}

#[test]
fn every_event_version_ever_written_has_a_golden_payload() {
    if blessing() {
        bless_missing();
    }
    let found: BTreeSet<(String, u32)> =
        golden_files().into_iter().map(|golden| (golden.event_type, golden.type_version)).collect();
    for (event_type, current) in known_types() {
        for version in 1..=current {
            assert!(
                found.contains(&(event_type.into(), version)),
                "schema/golden/{} is missing: add a sample in schema/tests/it/samples and run scripts/bless-schemas",
                file_name(event_type, version)
            );
        }
    }
    for (event_type, version) in found {
        let known = known_types().into_iter().any(|(known, current)| known == event_type && version <= current);
        assert!(known, "schema/golden/{} is of no known event", file_name(&event_type, version));
    }
}

/// Writes the golden files that do not exist; an existing one is never touched.
fn bless_missing() {
    for sample in samples::all() {
        let path = folder("golden").join(file_name(sample.event_type, sample.type_version));
        if !path.exists() {
            fs::write(&path, format!("{}\n", sample.payload)).expect("schema/golden is writable");
        }
    }
}

#[test]
fn a_golden_payload_reads_and_is_written_again_to_the_byte() {
    for Golden { event_type, type_version, payload } in golden_files() {
        let name = file_name(&event_type, type_version);
        let again = reencode(&event_type, type_version, &payload).unwrap_or_else(|error| panic!("{name}: {error}"));
        if again.type_version == type_version {
            assert_eq!(again.payload, payload, "{name}: the payload's shape changed; add a version and an upcaster");
        }
    }
}

#[test]
fn a_golden_payload_is_canonical_text() {
    for Golden { event_type, type_version, payload } in golden_files() {
        let value = serde_json::from_str(&payload).expect("JSON");
        let canonical = canonical_value(&value).expect("integers and strings only");
        assert_eq!(canonical, payload, "{}", file_name(&event_type, type_version));
    }
}

#[test]
fn the_samples_still_say_what_the_golden_files_hold() {
    let golden = golden_files();
    for sample in samples::all() {
        let name = file_name(sample.event_type, sample.type_version);
        let held = golden
            .iter()
            .find(|golden| golden.event_type == sample.event_type && golden.type_version == sample.type_version)
            .unwrap_or_else(|| panic!("{name} is missing: run scripts/bless-schemas"));
        assert_eq!(held.payload, sample.payload, "{name}: golden files never change; see schema/golden/README.md");
    }
}

#[test]
fn a_payload_with_a_field_that_nobody_knows_is_refused() {
    for Golden { event_type, type_version, payload } in golden_files() {
        let strange = if payload == "{}" { r#"{"z":1}"#.into() } else { payload.replacen('{', r#"{"_z":1,"#, 1) };
        assert!(reencode(&event_type, type_version, &strange).is_err(), "{}", file_name(&event_type, type_version));
    }
}
