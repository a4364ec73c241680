//! JSON and YAML: one document that is a list of cases, or an object that holds
//! one beside the dataset's name and version.
//!
//! Of JSON only one case at a time is a tree; YAML is a tree as a whole, which
//! its smaller limit pays for.

use super::super::json::Reader;
use super::super::node::{Flaw, Kind, Node, Text, excerpt};
use super::super::source;
use super::super::yaml;
use super::Gathering;
use super::row::{INPUT_NAMES, Origin};

/// The names a list of cases goes by.
const LIST_NAMES: [&str; 9] =
    ["cases", "data", "examples", "samples", "tests", "items", "rows", "questions", "instances"];

/// Reads a JSON document.
pub fn read_json(bytes: &[u8], gathering: &mut Gathering) {
    let Some(written) = whole_text(bytes, gathering) else { return };
    let text = Text::new(written, 1);
    let mut reader = Reader::new(written, "the end of the file");
    if reader.peek().is_none() {
        return;
    }
    let outcome = Document { text: &text, gathering, list_at: None, keys: vec![] }.json(&mut reader);
    let mut flaws = std::mem::take(&mut reader.flaws);
    flaws.extend(outcome.err());
    text.report(flaws, &mut gathering.inspection);
}

/// Reads a YAML document.
pub fn read_yaml(bytes: &[u8], gathering: &mut Gathering) {
    let Some(written) = whole_text(bytes, gathering) else { return };
    let text = Text::new(written, 1);
    match yaml::read(written) {
        Ok(node) => Document { text: &text, gathering, list_at: None, keys: vec![] }.yaml(node),
        Err(flaws) => text.report(flaws, &mut gathering.inspection),
    }
}

fn whole_text<'a>(bytes: &'a [u8], gathering: &mut Gathering) -> Option<&'a str> {
    match source::whole_text(gathering.inspection.file(), bytes) {
        Ok(text) => Some(text),
        Err(problems) => {
            problems.into_iter().for_each(|problem| gathering.inspection.add(problem));
            None
        }
    }
}

struct Document<'a, 't> {
    text: &'a Text<'t>,
    gathering: &'a mut Gathering,
    list_at: Option<usize>,
    keys: Vec<(u32, String)>,
}

impl Document<'_, '_> {
    fn json(mut self, reader: &mut Reader<'_>) -> Result<(), Flaw> {
        let start = reader.offset();
        if reader.peek() == Some(b'[') {
            self.json_list(reader)?;
        } else if reader.take(b'{') {
            let mut more = !reader.take(b'}');
            while more {
                let (at, key) = reader.key()?;
                if LIST_NAMES.contains(&key.as_str()) && reader.peek() == Some(b'[') {
                    self.begin_list(at, key);
                    self.json_list(reader)?;
                } else {
                    let node = reader.value()?;
                    self.beside(at, key, node);
                }
                more = reader.another(b'}')?;
            }
            self.end_object(start);
        } else {
            let node = reader.value()?;
            return Err(self.not_a_list(&node));
        }
        reader.finish().map_err(|mut flaw| {
            if self.text.text[flaw.at..].starts_with(['{', '[']) {
                flaw.hint = "this looks like JSON Lines: name the file .jsonl".into();
            }
            flaw
        })
    }

    fn json_list(&mut self, reader: &mut Reader<'_>) -> Result<(), Flaw> {
        reader.take(b'[');
        let mut more = !reader.take(b']');
        while more {
            let node = reader.value()?;
            let flaws = std::mem::take(&mut reader.flaws);
            if flaws.is_empty() {
                if !self.gathering.row(node, self.text, Origin::Object) {
                    return Ok(());
                }
            } else {
                self.text.report(flaws, &mut self.gathering.inspection);
            }
            more = reader.another(b']')?;
        }
        Ok(())
    }

    fn yaml(mut self, node: Node) {
        match node.kind {
            Kind::Null => {}
            Kind::List(items) => self.yaml_list(items),
            Kind::Map(entries) => {
                for entry in entries {
                    match entry.node.kind {
                        Kind::List(items) if LIST_NAMES.contains(&entry.key.as_str()) => {
                            self.begin_list(entry.at, entry.key);
                            self.yaml_list(items);
                        }
                        kind => self.beside(entry.at, entry.key, Node { at: entry.node.at, kind }),
                    }
                }
                self.end_object(node.at as usize);
            }
            Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
                let flaw = self.not_a_list(&node);
                self.text.report(vec![flaw], &mut self.gathering.inspection);
            }
        }
    }

    fn yaml_list(&mut self, items: Vec<Node>) {
        for item in items {
            if !self.gathering.row(item, self.text, Origin::Object) {
                return;
            }
        }
    }

    fn not_a_list(&self, node: &Node) -> Flaw {
        let message = format!("found {}, expected a list of cases or an object with `cases`", node.described());
        Flaw::new(node.at as usize, message, "write [ {\"input\": ...}, ... ] or {\"cases\": [ ... ]}")
    }

    fn begin_list(&mut self, at: u32, key: String) {
        if let Some(first) = self.list_at.replace(at as usize) {
            let line = self.text.line(first);
            let message = format!("found `{key}`, a second list of cases besides the one on line {line}");
            self.gathering.inspection.refuse(
                self.text.place(at as usize),
                message,
                "join them, or rename what is not a list of cases",
            );
        }
        self.keys.push((at, key));
    }

    /// A key beside the list of cases.
    fn beside(&mut self, at: u32, key: String, node: Node) {
        let place = self.text.place(at as usize);
        if self.keys.iter().any(|(_, earlier)| *earlier == key) {
            let message = format!("the key `{}` is written twice in one object: a value would be lost", excerpt(&key));
            self.gathering.inspection.refuse(place, message, "remove or rename one of the two");
        }
        match (key.as_str(), &node.kind) {
            ("name" | "dataset", Kind::Text(name)) if !name.trim().is_empty() => self.gathering.name = name.clone(),
            ("version", Kind::Text(version)) => self.gathering.version = Some(version.clone()),
            ("version", Kind::Number(version)) => self.gathering.version = Some(version.to_string()),
            _ => {}
        }
        self.keys.push((at, key));
    }

    fn end_object(&mut self, start: usize) {
        if self.list_at.is_some() {
            return self.warn_of_ignored();
        }
        let place = self.text.place(start);
        let message =
            format!("found an object without a list of cases, expected `cases` (or {})", LIST_NAMES[1..].join(", "));
        let one_case = self.keys.iter().any(|(_, key)| INPUT_NAMES.contains(&key.as_str()));
        let hint =
            if one_case { "this looks like one case: put it in a list, [ ... ]" } else { "write {\"cases\": [ ... ]}" };
        self.gathering.inspection.refuse(place, message, hint);
    }

    fn warn_of_ignored(&mut self) {
        const READ: [&str; 4] = ["name", "dataset", "version", "description"];
        for (at, key) in std::mem::take(&mut self.keys) {
            if !READ.contains(&key.as_str()) && !LIST_NAMES.contains(&key.as_str()) {
                let message = format!("`{}` beside the cases is not read", excerpt(&key));
                let hint = "what belongs to a case is written in the case";
                self.gathering.inspection.warn(self.text.place(at as usize), message, hint);
            }
        }
    }
}
