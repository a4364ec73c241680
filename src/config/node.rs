//! A tree of values that remember where they were written. JSON, YAML and CSV
//! are all read into it, so that one reader of cases and one of profiles can
//! name the place of whatever they refuse.
//!
//! A place is kept as a byte offset, four bytes a node; [`Text`] turns it into
//! line and column only when somebody has to be told.

use super::problem::{Inspection, Place};
use serde_json::{Map, Number, Value};
use std::cell::Cell;

/// A value and the byte offset at which it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Byte offset in its [`Text`].
    pub at: u32,
    /// The value.
    pub kind: Kind,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number, every digit kept.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values in the order they were written.
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Byte offset of the key.
    pub at: u32,
    /// The key.
    pub key: String,
    /// The value.
    pub node: Node,
}

/// What is wrong at an offset, before anyone asked which line that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Byte offset.
    pub at: usize,
    /// What was found and what was expected.
    pub message: String,
    /// What to do; empty for nothing.
    pub hint: String,
}

impl Flaw {
    /// A flaw.
    pub fn new(at: usize, message: impl Into<String>, hint: impl Into<String>) -> Flaw {
        Flaw { at, message: message.into(), hint: hint.into() }
    }
}

impl Node {
    /// The value in words: `the text "x"`, `a list`.
    pub fn described(&self) -> String {
        match &self.kind {
            Kind::Null => "nothing".into(),
            Kind::Bool(value) => format!("`{value}`"),
            Kind::Number(number) => format!("the number {}", excerpt(&number.to_string())),
            Kind::Text(text) => format!("the text {:?}", excerpt(text)),
            Kind::List(_) => "a list".into(),
            Kind::Map(_) => "a map".into(),
        }
    }

    /// The value without places; what it was made of is moved, not copied.
    pub fn into_value(self) -> Value {
        match self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(value),
            Kind::Number(number) => Value::Number(number),
            Kind::Text(text) => Value::String(text),
            Kind::List(items) => Value::Array(items.into_iter().map(Node::into_value).collect()),
            Kind::Map(entries) => {
                let pairs = entries.into_iter().map(|entry| (entry.key, entry.node.into_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// The value without places, of a tree that is still needed.
    pub fn value(&self) -> Value {
        self.clone().into_value()
    }

    /// Whether there is nothing.
    pub fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }
}

/// The beginning of a text, short enough for one line.
pub fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}

/// What is wrong with the keys of a map: written twice, so that a value would
/// be lost, or one that the JSON reader keeps for itself, so that the value
/// would come back as another.
pub fn key_flaws(entries: &[Entry]) -> Vec<Flaw> {
    let mut flaws: Vec<Flaw> = entries.iter().filter(|entry| is_reserved(&entry.key)).map(reserved).collect();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| (&entries[*a].key, a).cmp(&(&entries[*b].key, b)));
    for pair in order.windows(2) {
        let second = &entries[pair[1]];
        if entries[pair[0]].key == second.key {
            let message =
                format!("the key `{}` is written twice in one object: a value would be lost", excerpt(&second.key));
            flaws.push(Flaw::new(second.at as usize, message, "remove or rename one of the two"));
        }
    }
    flaws
}

fn is_reserved(key: &str) -> bool {
    key.starts_with("$serde_json::private::")
}

fn reserved(entry: &Entry) -> Flaw {
    let message = format!("the key `{}` is reserved", excerpt(&entry.key));
    Flaw::new(entry.at as usize, message, "rename it")
}

/// A text and how to say where in it something is.
pub struct Text<'a> {
    /// The text.
    pub text: &'a str,
    line_first: u32,
    line_starts: Vec<u32>,
    /// The place asked for last, as start of its line, offset and column: places are
    /// mostly asked for in order, and a file of a hundred megabytes may be one line.
    last: Cell<(usize, usize, u32)>,
}

impl<'a> Text<'a> {
    /// A text whose first line has the number `line_first`. Lines end in LF, CR LF or CR.
    pub fn new(text: &'a str, line_first: u32) -> Text<'a> {
        Text { text, line_first, line_starts: line_starts(text.as_bytes()).collect(), last: Cell::new((0, 0, 1)) }
    }

    /// The line of an offset.
    pub fn line(&self, at: usize) -> u32 {
        self.line_first.saturating_add(self.breaks_before(at) as u32)
    }

    /// Line and column of an offset.
    pub fn place(&self, at: usize) -> Place {
        let breaks = self.breaks_before(at);
        let start = if breaks == 0 { 0 } else { self.line_starts[breaks - 1] as usize };
        let end = at.min(self.text.len()).max(start);
        let (from, column) = match self.last.get() {
            (last_start, last_at, column) if last_start == start && last_at <= end => (last_at, column),
            _ => (start, 1),
        };
        let begins_character = |byte: &&u8| (**byte & 0xc0) != 0x80;
        let passed = self.text.as_bytes()[from..end].iter().filter(begins_character).count();
        let column = column + passed as u32;
        self.last.set((start, end, column));
        Place::new(self.line(at), column)
    }

    fn breaks_before(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start as usize <= at)
    }

    /// Notes flaws as problems.
    pub fn report(&self, flaws: Vec<Flaw>, inspection: &mut Inspection) {
        for flaw in flaws {
            inspection.refuse(self.place(flaw.at), flaw.message, flaw.hint);
        }
    }
}

/// The offsets at which the second and later lines begin.
pub fn line_starts(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let ends = |at: &usize| bytes[*at] == b'\n' || (bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
    (0..bytes.len()).filter(ends).map(|at| at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_of_every_ending_and_characters() {
        let text = Text::new("a\r\nbé?\rc\nd", 5);
        assert_eq!(text.place(0), Place::new(5, 1));
        assert_eq!(text.place(3), Place::new(6, 1));
        assert_eq!(text.place(6), Place::new(6, 3), "é is one character of two bytes");
        assert_eq!(text.place(8), Place::new(7, 1));
        assert_eq!(text.place(10), Place::new(8, 1));
        assert_eq!(text.place(11), Place::new(8, 2), "the end is a place too");
        assert_eq!(text.line(11), 8);
        assert_eq!(text.place(4), Place::new(6, 2), "also after a later one");
    }
}
