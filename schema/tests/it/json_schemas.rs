//! JSON Schemas: the shape of every payload for those who do not read Rust.

use crate::{blessing, folder, samples};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use tribunal_schema::events::{AttemptEvent, ChunkEvent, DomainEvent, OperatorEvent, RunEvent};

/// File name and text of every schema, as the code says them.
fn generated() -> BTreeMap<String, String> {
    let all = [RunEvent::schemas(), ChunkEvent::schemas(), AttemptEvent::schemas(), OperatorEvent::schemas()].concat();
    let files = all.into_iter().map(|(event_type, version, schema)| {
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        (format!("{event_type}.v{version}.json"), format!("{text}\n"))
    });
    files.collect()
}

fn committed_names() -> BTreeSet<String> {
    let entries = fs::read_dir(folder("json")).expect("schema/json exists");
    let names = entries.map(|entry| entry.expect("a folder entry").file_name().into_string().expect("UTF-8"));
    names.filter(|name| name.ends_with(".json")).collect()
}

fn committed(name: &str) -> Value {
    let text =
        fs::read_to_string(folder("json").join(name)).unwrap_or_else(|error| panic!("schema/json/{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("schema/json/{name}: {error}"))
}

fn validator(name: &str) -> Validator {
    jsonschema::validator_for(&committed(name)).unwrap_or_else(|error| panic!("schema/json/{name}: {error}"))
}

#[test]
fn the_committed_schemas_are_what_the_code_says() {
    let generated = generated();
    if blessing() {
        for (name, text) in &generated {
            fs::write(folder("json").join(name), text).expect("schema/json is writable");
        }
    }
    for (name, text) in &generated {
        let held = fs::read_to_string(folder("json").join(name)).unwrap_or_default();
        assert_eq!(&held, text, "schema/json/{name} is not what the code says: run scripts/bless-schemas");
    }
}

#[test]
fn every_committed_schema_belongs_to_an_event_and_a_golden_payload() {
    let current = generated();
    for name in committed_names() {
        assert!(folder("golden").join(&name).exists(), "schema/json/{name} has no golden payload");
        let newer = current.keys().any(|known| {
            known.rsplit_once(".v").map(|(event, _)| event) == name.rsplit_once(".v").map(|(event, _)| event)
        });
        assert!(newer, "schema/json/{name} is of no known event");
    }
}

#[test]
fn every_golden_payload_is_valid_by_its_schema() {
    for name in committed_names() {
        let text = fs::read_to_string(folder("golden").join(&name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let payload: Value = serde_json::from_str(&text).expect("JSON");
        if let Err(error) = validator(&name).validate(&payload) {
            panic!("schema/golden/{name}: {error} at {}", error.instance_path());
        }
    }
}

#[test]
fn a_schema_refuses_a_missing_field_a_strange_field_and_a_float() {
    for sample in samples::all() {
        let name = format!("{}.v{}.json", sample.event_type, sample.type_version);
        let validator = validator(&name);
        let payload: Value = serde_json::from_str(&sample.payload).expect("JSON");
        let mut strange = payload.clone();
        strange["strange"] = json!(1);
        assert!(!validator.is_valid(&strange), "{name} takes a field that nobody knows");
        for field in required(&name) {
            let mut poorer = payload.clone();
            poorer.as_object_mut().expect("a payload is an object").remove(&field);
            assert!(!validator.is_valid(&poorer), "{name} takes a payload without {field}");
        }
        for (field, value) in payload.as_object().expect("a payload is an object") {
            if value.is_u64() {
                let mut floating = payload.clone();
                floating[field] = json!(0.5);
                assert!(!validator.is_valid(&floating), "{name} takes a float as {field}");
            }
        }
    }
}

fn required(name: &str) -> Vec<String> {
    let schema = committed(name);
    let fields = schema["required"].as_array().cloned().unwrap_or_default();
    fields.into_iter().filter_map(|field| field.as_str().map(String::from)).collect()
}
