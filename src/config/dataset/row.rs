//! One row becomes one case, by the field names people already have.
//!
//! Two names of one field in a row (`question` and `prompt`) are refused unless
//! their values are equal: to guess which one was meant is to judge an agent by
//! a question nobody asked. Nothing (`null`, an empty CSV cell) counts as absent.

use super::super::json;
use super::super::limits::NAME_BYTES_MAX;
use super::super::near::near;
use super::super::node::{Entry, Kind, Node, Text, excerpt};
use super::super::problem::Inspection;
use serde_json::{Map, Value};
use tribunal_schema::case::Case;

/// Where a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A JSON or YAML object: values have types.
    Object,
    /// A CSV record: every value is a text, and lists and objects are written as JSON in it.
    Record,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Id,
    Input,
    Expected,
    Context,
    TaskType,
    Group,
    Tags,
    Metadata,
}

/// The names an input goes by.
pub const INPUT_NAMES: [&str; 4] = ["input", "question", "prompt", "messages"];

/// Every field and the names it goes by; what has none of these names joins the metadata.
const FIELDS: [(Field, &[&str]); 8] = [
    (Field::Id, &["id", "case_id", "question_id", "task_id"]),
    (Field::Input, &INPUT_NAMES),
    (Field::Expected, &["expected", "expected_output", "ideal", "target", "reference", "answer", "ground_truth"]),
    (Field::Context, &["context"]),
    (Field::TaskType, &["task_type"]),
    (Field::Group, &["group"]),
    (Field::Tags, &["tags"]),
    (Field::Metadata, &["metadata"]),
];

const SHAPE: &str = r#"a case is an object like {"id": "a", "input": "the question", "expected": "the answer"}; only the input is needed"#;

/// The case of a row and the offset of its id, where it has one; without one,
/// the case's id is empty. `None` when the row is refused.
pub fn case(node: Node, text: &Text<'_>, origin: Origin, inspection: &mut Inspection) -> Option<(Case, Option<usize>)> {
    let at = node.at as usize;
    let Kind::Map(entries) = node.kind else {
        inspection.refuse(text.place(at), format!("found {}, expected a case", node.described()), SHAPE);
        return None;
    };
    let mut row = Row { text, origin, inspection, refused: false, fields: Default::default(), rest: vec![] };
    row.sort(entries);
    row.case(at)
}

struct Row<'a, 't> {
    text: &'a Text<'t>,
    origin: Origin,
    inspection: &'a mut Inspection,
    refused: bool,
    fields: [Option<Entry>; FIELDS.len()],
    rest: Vec<Entry>,
}

impl Row<'_, '_> {
    fn sort(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            let empty_cell = self.origin == Origin::Record && entry.node.kind == Kind::Text(String::new());
            let field = FIELDS.iter().position(|(_, names)| names.contains(&entry.key.as_str()));
            match field {
                _ if empty_cell => {}
                None => self.rest.push(entry),
                Some(_) if entry.node.is_null() => {}
                Some(field) => self.settle(field, entry),
            }
        }
    }

    fn settle(&mut self, field: usize, entry: Entry) {
        let Some(first) = &self.fields[field] else {
            self.fields[field] = Some(entry);
            return;
        };
        if first.node.value() == entry.node.value() {
            return;
        }
        let canonical = FIELDS[field].1[0];
        let message = format!(
            "found both `{}` and `{}` with different values, and both are names of the {canonical}",
            first.key, entry.key
        );
        self.refuse(entry.at, message, "keep one of the two; what is not the case's own belongs under `metadata`");
    }

    fn refuse(&mut self, at: u32, message: impl Into<String>, hint: impl Into<String>) {
        self.refused = true;
        self.inspection.refuse(self.text.place(at as usize), message, hint);
    }

    fn take(&mut self, field: Field) -> Option<Entry> {
        let index = FIELDS.iter().position(|(listed, _)| *listed == field)?;
        self.fields[index].take()
    }

    fn case(mut self, at: usize) -> Option<(Case, Option<usize>)> {
        // First of all fields: its refusal lists the others.
        let input = self.input(at);
        let id = self.take(Field::Id);
        let id_at = id.as_ref().map(|entry| entry.at as usize);
        let case = Case {
            id: self.name(id).unwrap_or_default(),
            input: input.unwrap_or_default(),
            expected: self.expected(),
            context: self.take(Field::Context).map(|entry| entry.node.into_value()),
            task_type: self.take_name(Field::TaskType),
            group: self.take_name(Field::Group),
            tags: self.tags(),
            metadata: self.metadata(),
        };
        (!self.refused).then_some((case, id_at))
    }

    fn input(&mut self, at: usize) -> Option<Value> {
        let Some(entry) = self.take(Field::Input) else {
            let (message, hint) = self.without_input();
            self.refuse(at as u32, message, hint);
            return None;
        };
        let at = entry.at;
        if entry.node.kind == Kind::Text(String::new()) {
            self.inspection.warn(self.text.place(at as usize), "the input is an empty text", "");
        }
        if entry.key != "messages" {
            return Some(entry.node.into_value());
        }
        let messages = self.structured(entry)?;
        let is_message = |item: &Value| item.get("role").is_some_and(Value::is_string);
        match messages.as_array() {
            Some(items) if !items.is_empty() && items.iter().all(is_message) => Some(messages),
            _ => {
                let hint = r#"write them as [{"role": "user", "content": "..."}]"#;
                self.refuse(at, "the messages are not a list of objects that each have a `role`", hint);
                None
            }
        }
    }

    fn without_input(&self) -> (String, String) {
        let keys: Vec<&str> = self.fields.iter().flatten().chain(&self.rest).map(|entry| entry.key.as_str()).collect();
        let found = match keys.len() {
            0 => "found no field with a value".into(),
            1..=8 => format!("found only {}", keys.join(", ")),
            count => format!("found {} and {} more", keys[..8].join(", "), count - 8),
        };
        let message = format!("the case has no input: {found}, expected one of {}", INPUT_NAMES.join(", "));
        let slip = self.rest.iter().find_map(|entry| Some((&entry.key, near(&entry.key, INPUT_NAMES)?)));
        match slip {
            Some((key, meant)) => (message, format!("did you mean `{meant}` by `{key}`?")),
            None => (message, SHAPE.into()),
        }
    }

    fn expected(&mut self) -> Option<Value> {
        let entry = self.take(Field::Expected)?;
        if entry.node.kind == Kind::List(vec![]) {
            let place = self.text.place(entry.at as usize);
            self.inspection.warn(place, "the list of right answers is empty", "leave the key out where there is none");
        }
        Some(entry.node.into_value())
    }

    fn take_name(&mut self, field: Field) -> Option<String> {
        let entry = self.take(field);
        self.name(entry)
    }

    /// An id, task type or group: a text or a number as it is written.
    fn name(&mut self, entry: Option<Entry>) -> Option<String> {
        let Entry { at, key, node } = entry?;
        let described = node.described();
        let name = match node.kind {
            Kind::Text(text) => text,
            Kind::Number(number) => number.to_string(),
            Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => {
                self.refuse(at, format!("found {described} as `{key}`, expected a text or a number"), "");
                return None;
            }
        };
        match name_flaw(&name) {
            None => Some(name),
            Some(flaw) => {
                self.refuse(at, format!("the `{key}` {:?} {flaw}", excerpt(&name)), "");
                None
            }
        }
    }

    fn tags(&mut self) -> Vec<String> {
        let Some(Entry { at, key, node }) = self.take(Field::Tags) else { return vec![] };
        let written = match node.kind {
            Kind::Text(text) if self.origin == Origin::Record && text.trim_start().starts_with('[') => {
                let node = Node { at, kind: Kind::Text(text) };
                self.structured(Entry { at, key, node }).unwrap_or_default()
            }
            kind => Node { at, kind }.into_value(),
        };
        let tag = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let tags: Option<Vec<String>> = match &written {
            Value::String(text) => Some(split_tags(text)),
            Value::Array(items) => items.iter().map(tag).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        };
        let Some(mut tags) = tags else {
            let hint = "write [\"smoke\", \"refund\"], or a text with commas or spaces between the tags";
            self.refuse(at, "the tags are not a list of texts", hint);
            return vec![];
        };
        if let Some((tag, flaw)) = tags.iter().find_map(|tag| Some((tag, name_flaw(tag)?))) {
            let message = format!("the tag {:?} {flaw}", excerpt(tag));
            self.refuse(at, message, "");
        }
        tags.sort_unstable();
        tags.dedup();
        tags
    }

    fn metadata(&mut self) -> Map<String, Value> {
        let mut metadata = Map::new();
        if let Some(entry) = self.take(Field::Metadata) {
            let at = entry.at;
            match self.structured(entry) {
                Some(Value::Object(map)) => metadata = map,
                Some(_) => self.refuse(at, "the metadata is not an object", "write {\"key\": \"value\"}"),
                None => {}
            }
        }
        for Entry { at, key, node } in std::mem::take(&mut self.rest) {
            let value = node.into_value();
            if metadata.get(&key).is_some_and(|there| *there != value) {
                let message = format!("the key `{}` is also in `metadata` with another value", excerpt(&key));
                self.refuse(at, message, "remove or rename one of the two");
            }
            metadata.insert(key, value);
        }
        metadata
    }

    /// A value that must be a list or an object: in a CSV record it is written as JSON.
    fn structured(&mut self, entry: Entry) -> Option<Value> {
        let Entry { at, key, node } = entry;
        let Kind::Text(written) = &node.kind else { return Some(node.into_value()) };
        if self.origin == Origin::Object {
            return Some(node.into_value());
        }
        match json::read(written, "the end of the cell") {
            Ok(parsed) => Some(parsed.into_value()),
            Err(flaws) => {
                let flaw = flaws.first().map_or("not JSON", |flaw| flaw.message.as_str());
                self.refuse(
                    at,
                    format!("the cell of `{key}` is not JSON: {flaw}"),
                    "write it as JSON inside the quotes",
                );
                None
            }
        }
    }
}

/// Tags in one text: between commas where there is one, else between spaces.
fn split_tags(text: &str) -> Vec<String> {
    let separator = |c: char| if text.contains(',') { c == ',' } else { c.is_whitespace() };
    text.split(separator).map(str::trim).filter(|tag| !tag.is_empty()).map(String::from).collect()
}

/// What is wrong with a name that other things refer to.
fn name_flaw(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("is empty, expected at least one character".into())
    } else if name.len() > NAME_BYTES_MAX {
        Some(format!("has {} bytes, the limit is {NAME_BYTES_MAX}", name.len()))
    } else if name.chars().any(char::is_control) {
        Some("holds a control character".into())
    } else {
        None
    }
}
