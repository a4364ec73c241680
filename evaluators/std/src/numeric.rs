//! `numeric-tolerance`: a number of the answer is near enough to the expected
//! one. The arithmetic is exact: 42.1 is within 0.1 of 42.

use crate::catalog::config;
use crate::decimal::Decimal;
use crate::expected::candidates;
use crate::finding::{abstain, no, nothing_expected, quoted, yes};
use crate::json::document;
use crate::path::Path;
use crate::wit::{Failure, Report, Request};
use serde::Deserialize;
use serde_json::{Number, Value, json};
use std::cmp::Ordering;

/// One line for a person.
pub const HELP: &str =
    "a number in the answer's text, or at a path of its JSON, is within abs or rel of the expected one";

/// JSON Schema of the configuration.
pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "value": {"type": "number", "description": "The expected number; the case's expected where it is not given."},
    "abs": {"type": "number", "minimum": 0, "description": "How far the number may be from the expected one."},
    "rel": {"type": "number", "minimum": 0, "description": "The same as a share of the expected one: 0.05 is five per cent. With abs, either is enough; with neither, the numbers must be equal."},
    "path": {"type": "string", "pattern": "^\\$", "description": "Where the number is in the answer's JSON; not given: it is looked for in the text."},
    "take": {"enum": ["last", "first"], "default": "last", "description": "Which number of a text counts; a text that is one number is that number."}
  }
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    value: Option<Number>,
    abs: Option<Number>,
    rel: Option<Number>,
    path: Option<String>,
    #[serde(default)]
    take: Take,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Take {
    #[default]
    Last,
    First,
}

/// How near is near enough.
struct Tolerance {
    abs: Option<Decimal>,
    rel: Option<Decimal>,
}

impl Tolerance {
    fn admits(&self, expected: &Decimal, got: &Decimal) -> bool {
        let distance = expected.distance(got);
        let within = |bound: &Decimal| distance.compare_magnitude(bound) != Ordering::Greater;
        got == expected
            || self.abs.as_ref().is_some_and(within)
            || self.rel.as_ref().is_some_and(|rel| within(&rel.product(expected)))
    }

    /// `42 ± 0.5`, `42 ± 5 %`.
    fn around(&self, expected: &Decimal) -> String {
        let percent = |rel: &Decimal| Decimal::parse("100").map(|hundred| format!("{} %", rel.product(&hundred)));
        let parts: Vec<String> =
            self.abs.as_ref().map(Decimal::to_string).into_iter().chain(self.rel.as_ref().and_then(percent)).collect();
        if parts.is_empty() { expected.to_string() } else { format!("{expected} ± {}", parts.join(" or ")) }
    }
}

/// The examination.
pub fn evaluate(request: &Request) -> Result<Report, Failure> {
    let config: Config = config(request)?;
    let tolerance = Tolerance { abs: bound("abs", config.abs)?, rel: bound("rel", config.rel)? };
    let path = config.path.as_deref().map(Path::parse).transpose().map_err(Failure::Configuration)?;
    let values = candidates(request, config.value.map(Value::Number))?;
    if values.is_empty() {
        return nothing_expected();
    }
    let Some(wanted) = values.iter().map(number_of).collect::<Option<Vec<Decimal>>>() else {
        return abstain("the case's expected is not a number, nor a text with one number in it");
    };
    let place = path.as_ref().map(|path| format!(" at {}", path.text())).unwrap_or_default();
    let around = wanted.iter().map(|wanted| tolerance.around(wanted)).collect::<Vec<_>>().join(" or ");
    let Some(got) = found(request, path.as_ref(), config.take) else {
        let message = format!("expected {around}, found no number{place}");
        return no(
            "missing-number",
            message,
            json!({ "expected": values, "answer": quoted(request.answer.text.as_deref()) }),
        );
    };
    let evidence =
        json!({ "expected": values, "got": got.to_string(), "answer": quoted(request.answer.text.as_deref()) });
    if wanted.iter().any(|wanted| tolerance.admits(wanted, &got)) {
        yes("within-tolerance", format!("{got}{place} is within {around}"), evidence)
    } else {
        no("outside-tolerance", format!("expected {around}, got {got}{place}"), evidence)
    }
}

fn bound(name: &str, number: Option<Number>) -> Result<Option<Decimal>, Failure> {
    let Some(number) = number else { return Ok(None) };
    match Decimal::parse(&number.to_string()) {
        Some(bound) if !bound.is_negative() => Ok(Some(bound)),
        Some(_) | None => Err(Failure::Configuration(format!("{name}: {number} is not a usable distance"))),
    }
}

/// The number that a value is, or that a text has.
fn number_of(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(number) => Decimal::parse(&number.to_string()),
        Value::String(text) => number_in(text, Take::Last),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn found(request: &Request, path: Option<&Path>, take: Take) -> Option<Decimal> {
    match path {
        Some(path) => number_of(path.find(&document(&request.answer).ok()?)?),
        None => number_in(request.answer.text.as_deref()?, take),
    }
}

/// The first or last number of a text: `-1,234.5`, `−3`, `$42.50`, `1e-3`; not the
/// digits of a word (`v2`, `GPT-4o`), nor of a version or date (`1.2.3`).
fn number_in(text: &str, take: Take) -> Option<Decimal> {
    let text = text.trim();
    if let Some(number) = Decimal::parse(text) {
        return Some(number);
    }
    let mut last = None;
    let mut at = 0;
    let mut before: [Option<char>; 2] = [None, None];
    while let Some(character) = text[at..].chars().next() {
        if !character.is_ascii_digit() {
            before = [before[1], Some(character)];
            at += character.len_utf8();
            continue;
        }
        let token = token(&text[at..]);
        if let Some(number) = token_number(token, before) {
            if take == Take::First {
                return Some(number);
            }
            last = Some(number);
        }
        at += token.len();
        before = [None, token.chars().last()];
    }
    last
}

/// Digits with everything that may belong to a number or make it none.
fn token(text: &str) -> &str {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while end < bytes.len() {
        let joins = match bytes[end] {
            b'0'..=b'9' => true,
            b'.' | b',' => digit(end + 1),
            b'e' | b'E' => digit(end + 1) || (matches!(bytes.get(end + 1), Some(b'+' | b'-')) && digit(end + 2)),
            b'+' | b'-' => matches!(bytes[end - 1], b'e' | b'E'),
            _ => false,
        };
        if !joins {
            break;
        }
        end += 1;
    }
    &text[..end]
}

fn token_number(token: &str, before: [Option<char>; 2]) -> Option<Decimal> {
    let is_word = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_letter = |character: Option<char>| is_word(character) && !character.is_some_and(|c| c.is_ascii_digit());
    if is_word(before[1]) || (before[1] == Some('-') && is_letter(before[0])) {
        return None;
    }
    let minus = |character: Option<char>| matches!(character, Some('-' | '−'));
    let currency = matches!(before[1], Some('$' | '€' | '£' | '¥' | '₹' | '₽'));
    // After a digit the dash is that of a range or date.
    let negative = (minus(before[1]) && !is_word(before[0])) || (currency && minus(before[0]));
    let leading = if before[1] == Some('.') && !is_word(before[0]) { "0." } else { "" };
    let sign = if negative { "-" } else { "" };
    Decimal::parse(&format!("{sign}{leading}{}", without_thousands(token)?))
}

/// Without the commas of thousands; `None` where a comma is none.
fn without_thousands(token: &str) -> Option<String> {
    if !token.contains(',') {
        return Some(token.into());
    }
    let whole = token.split(['.', 'e', 'E']).next().unwrap_or(token);
    let mut groups = whole.split(',');
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
    let grouped = first && groups.all(|group| group.len() == 3) && !token[whole.len()..].contains(',');
    grouped.then(|| token.replace(',', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Given, abstained, measured, message};

    #[test]
    fn the_last_number_of_a_text_counts() {
        for (text, number) in [
            ("42", "42"),
            ("3 items cost 42.50 dollars.", "42.5"),
            ("The answer is 42.", "42"),
            ("It is -7", "-7"),
            ("It is −7", "-7"),
            ("about $1,234,567.89!", "1234567.89"),
            ("a loss of -$5", "-5"),
            ("1e-3 m", "0.001"),
            ("5km", "5"),
            ("probability .5", "0.5"),
            ("10-20", "20"),
            ("use v2 or GPT-4o: 8", "8"),
            ("8, as of 1.2.3", "8"),
        ] {
            assert_eq!(number_in(text, Take::Last), Decimal::parse(number), "{text}");
        }
        assert_eq!(number_in("no number in v2", Take::Last), None);
        assert_eq!(number_in("first 1, then 2", Take::First), Decimal::parse("1"));
    }

    #[test]
    fn the_bounds_are_exact() {
        let with =
            |answer: &str, config: &str| measured(Given::text(answer).expected("42").config(config).run(evaluate));
        assert!(with("42.1", r#"{"abs":0.1}"#));
        assert!(!with("42.1000000000000000001", r#"{"abs":0.1}"#));
        assert!(with("39.9", r#"{"rel":0.05}"#));
        assert!(!with("39.899", r#"{"rel":0.05}"#));
        assert!(with("43", r#"{"rel":0.001,"abs":1}"#));
        assert!(with("42.0", "{}"));
        assert!(!with("42.01", "{}"));
        assert!(!with("-42", r#"{"abs":1}"#));
    }

    #[test]
    fn the_number_may_be_at_a_path() {
        let with =
            |answer: &str| Given::text(answer).config(r#"{"value":42,"abs":0.5,"path":"$.total"}"#).run(evaluate);
        assert!(measured(with(r#"{"total": 42.5}"#)));
        assert!(measured(with(r#"{"total": "42.5 EUR"}"#)));
        assert_eq!(message(with(r#"{"total": 43.1}"#)), "expected 42 ± 0.5, got 43.1 at $.total");
        assert_eq!(message(with("none")), "expected 42 ± 0.5, found no number at $.total");
    }

    #[test]
    fn the_case_may_expect_a_text_or_any_of_a_list() {
        assert!(measured(Given::text("18").expected(r##""so she has #### 18""##).run(evaluate)));
        assert!(measured(Given::text("18").expected("[17, 18]").run(evaluate)));
        assert!(abstained(Given::text("18").expected(r#""eighteen""#).run(evaluate)).contains("not a number"));
        assert!(abstained(Given::text("18").run(evaluate)).contains("no expected"));
    }

    #[test]
    fn a_percentage_is_shown_as_one() {
        let report = Given::text("50").config(r#"{"value":42,"rel":0.05}"#).run(evaluate);
        assert_eq!(message(report), "expected 42 ± 5 %, got 50");
    }
}
