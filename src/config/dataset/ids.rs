//! Ids: unique in a dataset, and the same on every machine.
//!
//! A case without one is named after its content, so that it keeps its name
//! when rows are added before it or the file changes its form. Equal rows are
//! different cases (somebody weighted them), told apart by an ordinal.
//!
//! The canonical form is that of `tribunal_schema::canonical`, but for numbers:
//! an event has integers only, a case keeps whatever its author wrote.

use super::super::node::excerpt;
use super::super::problem::{Inspection, Place};
use serde_json::Value;
use std::collections::HashMap;
use tribunal_schema::Digest;
use tribunal_schema::case::Case;
use tribunal_schema::digest::Digester;

/// Hex digits of the content's digest in a made id: 64 bits, so that even a
/// million different cases share one with a chance of 1 in 37 million - and
/// then the dataset is refused, not confused.
const ID_DIGITS: usize = 16;

/// Gives ids to cases without one, and notes equal ids. Returns how many were given.
pub fn settle(cases: &mut [Case], places: &[Place], inspection: &mut Inspection) -> usize {
    let mut equal: HashMap<Digest, (usize, u32)> = HashMap::new();
    let mut generated = 0;
    for (index, case) in cases.iter_mut().enumerate().filter(|(_, case)| case.id.is_empty()) {
        generated += 1;
        let digest = content_digest(case);
        case.id = format!("c-{}", &digest.to_string()[..ID_DIGITS]);
        let (first, ordinal) = equal.entry(digest).or_insert((index, 0));
        *ordinal += 1;
        if *ordinal > 1 {
            case.id = format!("{}-{ordinal}", case.id);
            let message =
                format!("equal to the case on line {}, counted as another case `{}`", places[*first].line, case.id);
            inspection.warn(places[index], message, "give the cases ids, or remove one of them");
        }
    }
    refuse_equal(cases, places, inspection);
    generated
}

fn refuse_equal(cases: &[Case], places: &[Place], inspection: &mut Inspection) {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(cases.len());
    for (index, case) in cases.iter().enumerate() {
        if let Some(earlier) = first.get(case.id.as_str()) {
            let (line, line_first) = (places[index].line, places[*earlier].line);
            let message = format!(
                "the id `{}` on line {line} is already the id of the case on line {line_first}, expected unique ids",
                excerpt(&case.id)
            );
            inspection.refuse(places[index], message, "rename one of the two, or leave the ids out to have them made");
        } else {
            first.insert(&case.id, index);
        }
    }
}

/// The digest of a case's content, without its id.
pub fn content_digest(case: &Case) -> Digest {
    let mut bytes = vec![];
    write_case(case, false, &mut bytes);
    Digest::of(&bytes)
}

/// A case as canonical JSON: keys sorted at every level, no spaces, numbers as they are.
pub fn canonical_case(case: &Case) -> Vec<u8> {
    let mut bytes = vec![];
    write_case(case, true, &mut bytes);
    bytes
}

/// The digest over all cases in order.
pub fn dataset_digest(cases: &[Case]) -> Digest {
    let mut digester = Digester::default();
    let mut bytes = vec![];
    for case in cases {
        bytes.clear();
        write_case(case, true, &mut bytes);
        bytes.push(b'\n');
        digester.update(&bytes);
    }
    digester.finish()
}

fn write_case(case: &Case, with_id: bool, out: &mut Vec<u8>) {
    let mut object = ObjectWriter { out, first: true };
    object.optional("context", case.context.as_ref());
    object.optional("expected", case.expected.as_ref());
    object.optional_text("group", case.group.as_deref());
    object.optional_text("id", with_id.then_some(case.id.as_str()));
    object.optional("input", Some(&case.input));
    if !case.metadata.is_empty() {
        object.key("metadata");
        write_map(case.metadata.iter(), object.out);
    }
    if !case.tags.is_empty() {
        object.key("tags");
        write_list(case.tags.iter(), object.out, |tag, out| write_text(tag, out));
    }
    object.optional_text("task_type", case.task_type.as_deref());
    object.end();
}

struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl ObjectWriter<'_> {
    fn key(&mut self, key: &str) {
        self.out.push(if self.first { b'{' } else { b',' });
        self.first = false;
        write_text(key, self.out);
        self.out.push(b':');
    }

    fn optional(&mut self, key: &str, value: Option<&Value>) {
        if let Some(value) = value {
            self.key(key);
            write_value(value, self.out);
        }
    }

    fn optional_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.key(key);
            write_text(text, self.out);
        }
    }

    fn end(self) {
        self.out.extend_from_slice(if self.first { b"{}" } else { b"}" });
    }
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => write_list(items.iter(), out, write_value),
        Value::Object(map) => write_map(map.iter(), out),
    }
}

fn write_map<'a>(pairs: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable_by_key(|(key, _)| *key);
    let mut object = ObjectWriter { out, first: true };
    for (key, value) in pairs {
        object.optional(key, Some(value));
    }
    object.end();
}

fn write_list<T>(items: impl Iterator<Item = T>, out: &mut Vec<u8>, write: impl Fn(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a text is written to memory without failing");
}
