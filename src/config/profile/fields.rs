//! Typed readers of single values. Each notes what it found, what it expected
//! and what to do, at the value's own place, and returns `None`; the caller
//! goes on with a default, so that one reading finds every problem.

use super::super::limits::NAME_BYTES_MAX;
use super::super::near;
use super::super::node::{Entry, Kind, Node, Text, excerpt};
use super::super::problem::Inspection;
use super::EvaluatorCatalog;
use super::units;
use std::ops::RangeInclusive;
use tribunal_schema::json::Decimal;
use tribunal_schema::profile::Rate;
use tribunal_schema::units::{DurationMs, ScorePpm};

/// A profile while it is read.
pub struct Reading<'a> {
    pub text: &'a Text<'a>,
    pub inspection: Inspection,
    pub catalog: &'a dyn EvaluatorCatalog,
}

/// A map whose keys are all known.
#[derive(Clone, Copy)]
pub struct Fields<'n> {
    pub at: u32,
    entries: &'n [Entry],
}

/// A key with its value.
#[derive(Clone, Copy)]
pub struct Field<'n> {
    pub key: &'n str,
    pub node: &'n Node,
}

impl<'n> Fields<'n> {
    /// A key's value; nothing (`null`) counts as absent.
    pub fn get(&self, key: &str) -> Option<Field<'n>> {
        let entry = self.entries.iter().find(|entry| entry.key == key && !entry.node.is_null())?;
        Some(Field { key: &entry.key, node: &entry.node })
    }

    /// All keys and values.
    pub fn all(&self) -> impl Iterator<Item = (u32, Field<'n>)> + use<'n> {
        self.entries.iter().map(|entry| (entry.at, Field { key: &entry.key, node: &entry.node }))
    }
}

impl Reading<'_> {
    /// Notes a problem at an offset.
    pub fn refuse(&mut self, at: u32, message: impl Into<String>, hint: impl Into<String>) {
        self.inspection.refuse(self.text.place(at as usize), message, hint);
    }

    /// Notes a warning at an offset.
    pub fn warn(&mut self, at: u32, message: impl Into<String>, hint: impl Into<String>) {
        self.inspection.warn(self.text.place(at as usize), message, hint);
    }

    /// The line of an offset.
    pub fn line(&self, at: u32) -> u32 {
        self.text.line(at as usize)
    }

    fn mistyped<T>(&mut self, field: Field<'_>, expected: &str, hint: &str) -> Option<T> {
        let message = format!("`{}`: found {}, expected {expected}", field.key, field.node.described());
        self.refuse(field.node.at, message, hint);
        None
    }

    /// A map with these keys and no others.
    pub fn map<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<Fields<'n>> {
        let Kind::Map(entries) = &node.kind else {
            return self.mistyped(Field { key: what, node }, "a map of keys and values", "");
        };
        let fields = Fields { at: node.at, entries };
        for (at, field) in fields.all().filter(|(_, field)| !known.contains(&field.key)) {
            let message = format!("unknown key `{}` in `{what}`", excerpt(field.key));
            self.refuse(at, message, near::hint(field.key, known.iter().copied()));
        }
        Some(fields)
    }

    /// A map with any keys.
    pub fn open_map<'n>(&mut self, field: Field<'n>) -> Option<Fields<'n>> {
        match &field.node.kind {
            Kind::Map(entries) => Some(Fields { at: field.node.at, entries }),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
                self.mistyped(field, "a map of keys and values", "")
            }
        }
    }

    /// A key that must be there.
    pub fn required<'n>(&mut self, fields: &Fields<'n>, key: &str) -> Option<Field<'n>> {
        let field = fields.get(key);
        if field.is_none() {
            self.refuse(fields.at, format!("the key `{key}` is missing"), format!("add `{key}:`"));
        }
        field
    }

    /// A list.
    pub fn list<'n>(&mut self, field: Field<'n>) -> Option<&'n [Node]> {
        match &field.node.kind {
            Kind::List(items) => Some(items),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
                self.mistyped(field, "a list", "write one entry a line, each after `- `")
            }
        }
    }

    /// A text.
    pub fn text(&mut self, field: Field<'_>) -> Option<String> {
        match &field.node.kind {
            Kind::Text(text) => Some(text.clone()),
            Kind::Bool(_) | Kind::Number(_) => self.mistyped(field, "a text", "put it in quotes to make it a text"),
            Kind::Null | Kind::List(_) | Kind::Map(_) => self.mistyped(field, "a text", ""),
        }
    }

    /// A text that other things refer to: not empty, on one line, not long.
    pub fn name(&mut self, field: Field<'_>) -> Option<String> {
        let name = self.text(field)?;
        let flaw = if name.trim().is_empty() {
            "is empty, expected at least one character".into()
        } else if name.len() > NAME_BYTES_MAX {
            format!("has {} bytes, the limit is {NAME_BYTES_MAX}", name.len())
        } else if name.chars().any(char::is_control) {
            "holds a control character".into()
        } else {
            return Some(name);
        };
        self.refuse(field.node.at, format!("`{}`: {:?} {flaw}", field.key, excerpt(&name)), "");
        None
    }

    /// A version: a text, or a number as it is written.
    pub fn version(&mut self, field: Field<'_>) -> Option<String> {
        match &field.node.kind {
            Kind::Number(number) => Some(number.to_string()),
            Kind::Text(_) => self.name(field),
            Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => self.mistyped(field, "a version", ""),
        }
    }

    /// A list of names.
    pub fn names(&mut self, field: Field<'_>) -> Vec<String> {
        let Some(items) = self.list(field) else { return vec![] };
        items.iter().filter_map(|node| self.name(Field { key: field.key, node })).collect()
    }

    /// true or false.
    pub fn boolean(&mut self, field: Field<'_>) -> Option<bool> {
        match &field.node.kind {
            Kind::Bool(value) => Some(*value),
            Kind::Null | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
                self.mistyped(field, "true or false", "YAML 1.2 has no yes and no: write true or false, without quotes")
            }
        }
    }

    /// A whole number within a range.
    pub fn integer(&mut self, field: Field<'_>, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let value = match &field.node.kind {
            Kind::Number(number) => number.to_string().parse::<u64>().ok(),
            Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
        };
        match value.filter(|value| range.contains(value)) {
            Some(value) => Some(value),
            None => self.mistyped(field, &expected, ""),
        }
    }

    /// A plain decimal number.
    pub fn decimal(&mut self, field: Field<'_>) -> Option<Decimal> {
        let value = match &field.node.kind {
            Kind::Number(number) => number.to_string().parse().ok(),
            Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
        };
        value.or_else(|| self.mistyped(field, "a number", "write it with digits and a point, for example 0.9"))
    }

    /// A share from 0 to 1 with at most six decimals.
    pub fn share(&mut self, field: Field<'_>) -> Option<ScorePpm> {
        const HINT: &str = "95 % is written 0.95";
        let value = match field.node.kind {
            Kind::Number(_) => self.decimal(field)?,
            Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
                return self.mistyped(field, "a number from 0 to 1", HINT);
            }
        };
        match u32::try_from(value.billionths() / 1_000).ok().and_then(ScorePpm::new) {
            Some(share) if value.billionths() >= 0 && value.billionths() % 1_000 == 0 && self.is_short(field) => {
                Some(share)
            }
            Some(_) if value.billionths() >= 0 => self.mistyped(field, "a number with at most six decimals", ""),
            _ => self.mistyped(field, "a number from 0 to 1", HINT),
        }
    }

    /// Whether no digit was rounded away when the decimal was read.
    fn is_short(&self, field: Field<'_>) -> bool {
        match &field.node.kind {
            Kind::Number(number) => number.to_string().split_once('.').is_none_or(|(_, fraction)| fraction.len() <= 9),
            Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => false,
        }
    }

    /// A weight in millionths, above 0 and at most 1000.
    pub fn weight(&mut self, field: Field<'_>) -> Option<u64> {
        let ppm = self.decimal(field)?.billionths() / 1_000;
        match u64::try_from(ppm) {
            Ok(ppm) if (1..=1_000_000_000).contains(&ppm) => Some(ppm),
            _ => self.mistyped(
                field,
                "a weight above 0 and at most 1000",
                "to show an evaluator without counting it, write required: false",
            ),
        }
    }

    /// A duration within a range.
    pub fn duration(&mut self, field: Field<'_>, range: RangeInclusive<DurationMs>) -> Option<DurationMs> {
        const HINT: &str = "write a number and ms, s, m or h: 200ms, 30s, 10m";
        let parsed = match &field.node.kind {
            Kind::Text(text) => units::duration(text),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => None,
        };
        match parsed {
            Some(duration) if range.contains(&duration) => Some(duration),
            Some(_) => self.mistyped(field, &format!("a duration from {} to {}", range.start(), range.end()), ""),
            None => self.mistyped(field, "a duration", HINT),
        }
    }

    /// A size in bytes within a range.
    pub fn size(&mut self, field: Field<'_>, range: RangeInclusive<u64>) -> Option<u64> {
        let parsed = match &field.node.kind {
            Kind::Text(text) => units::size(text),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => None,
        };
        match parsed {
            Some(size) if range.contains(&size) => Some(size),
            Some(_) => {
                let (low, high) = (*range.start(), *range.end());
                let bytes = super::super::limits::bytes;
                self.mistyped(field, &format!("a size from {} to {}", bytes(low), bytes(high)), "")
            }
            None => self.mistyped(field, "a size", "write a number and B, KiB, MiB or GiB: 8MiB"),
        }
    }

    /// A rate.
    pub fn rate(&mut self, field: Field<'_>) -> Option<Rate> {
        let parsed = match &field.node.kind {
            Kind::Text(text) => units::rate(text),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => None,
        };
        parsed.or_else(|| {
            self.mistyped(
                field,
                "a rate of at least 1 and at most 1000000 calls",
                "write calls per s, min or h: 200/s, 60/min",
            )
        })
    }

    /// One of a set of words.
    pub fn choice<T: Clone>(&mut self, field: Field<'_>, choices: &[(&str, T)]) -> Option<T> {
        let word = self.text(field)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word) {
            return Some(value.clone());
        }
        let message = format!("`{}`: found {:?}, which is not one of its words", field.key, excerpt(&word));
        self.refuse(field.node.at, message, near::hint(&word, choices.iter().map(|(name, _)| *name)));
        None
    }
}
