//! Reports in few words: what people read when something did not pass. A yes
//! carries an `info` finding with what it rests on, because under `not: true`
//! the yes is the failure and needs its reason too.

use crate::wit::{Failure, Finding, Measurement, Outcome, Quantity, Report, Severity};
use serde_json::Value;

/// Characters of a value that a message shows.
const SHOWN_CHARS: usize = 80;
/// Characters of an answer that evidence quotes.
const QUOTED_CHARS: usize = 300;

/// Characters of a message.
const MESSAGE_CHARS: usize = 500;
/// Entries of a list or object that evidence shows, and how deep.
const EVIDENCE_ENTRIES: usize = 10;
const EVIDENCE_DEPTH: usize = 3;

/// One observation. Message and evidence are cut to what a person reads, so
/// that no answer and no case makes a finding that the host refuses.
pub fn finding(severity: Severity, category: &str, message: String, evidence: Value) -> Finding {
    let evidence = (!evidence.is_null()).then(|| bounded(evidence, EVIDENCE_DEPTH).to_string());
    Finding { severity, category: category.into(), message: cut(&message, MESSAGE_CHARS), evidence }
}

/// A value with its long texts and lists cut; a cut is marked by `…`.
fn bounded(value: Value, depth: usize) -> Value {
    let mark = || Value::from("…");
    match value {
        Value::String(text) => Value::String(cut(&text, QUOTED_CHARS)),
        Value::Number(number) if number.as_str().len() > QUOTED_CHARS => cut(number.as_str(), QUOTED_CHARS).into(),
        Value::Array(entries) if depth > 0 => {
            let more = (entries.len() > EVIDENCE_ENTRIES).then(mark);
            let kept = entries.into_iter().take(EVIDENCE_ENTRIES).map(|entry| bounded(entry, depth - 1));
            kept.chain(more).collect()
        }
        Value::Object(entries) if depth > 0 => {
            let more = (entries.len() > EVIDENCE_ENTRIES).then(|| ("…".to_owned(), mark()));
            let kept = entries.into_iter().take(EVIDENCE_ENTRIES);
            Value::Object(
                kept.map(|(key, entry)| (cut(&key, SHOWN_CHARS), bounded(entry, depth - 1))).chain(more).collect(),
            )
        }
        Value::Array(_) | Value::Object(_) => shown(&value).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// A yes and what it rests on.
pub fn yes(category: &str, message: String, evidence: Value) -> Result<Report, Failure> {
    binary(true, vec![finding(Severity::Info, category, message, evidence)])
}

/// A no and why.
pub fn no(category: &str, message: String, evidence: Value) -> Result<Report, Failure> {
    binary(false, vec![finding(Severity::Error, category, message, evidence)])
}

/// A yes or no with its findings.
pub fn binary(value: bool, findings: Vec<Finding>) -> Result<Report, Failure> {
    Ok(Report { outcome: Outcome::Measured(Measurement::Binary(value)), findings })
}

/// A number.
pub fn number(value: u64, unit: &str) -> Result<Report, Failure> {
    let quantity = Quantity { value: value as f64, unit: Some(unit.into()) };
    Ok(Report { outcome: Outcome::Measured(Measurement::Number(quantity)), findings: Vec::new() })
}

/// Nothing to say, and why.
pub fn abstain(reason: &str) -> Result<Report, Failure> {
    Ok(Report { outcome: Outcome::Abstained(reason.into()), findings: Vec::new() })
}

/// The abstention of all that compare.
pub fn nothing_expected() -> Result<Report, Failure> {
    abstain("the case has no expected, and the configuration names none")
}

/// A value as a message shows it: compact JSON, cut.
pub fn shown(value: &Value) -> String {
    cut(&value.to_string(), SHOWN_CHARS)
}

/// Some values as a message lists them: `"a", "b" or "c"`.
pub fn listed(values: &[Value], last: &str) -> String {
    match values {
        [] => "nothing".into(),
        [one] => shown(one),
        [first @ .., end] => {
            let first: Vec<String> = first.iter().take(5).map(shown).collect();
            let more = if values.len() > 6 { format!(" ({} in all)", values.len()) } else { String::new() };
            format!("{} {last} {}{more}", first.join(", "), shown(end))
        }
    }
}

/// The beginning of an answer, for evidence; `null` where there is none.
pub fn quoted(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::String(cut(text, QUOTED_CHARS)))
}

/// At most `chars` characters; a cut is marked.
pub fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_only_when_it_is_longer() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü!", 3), "äöü…");
    }

    #[test]
    fn evidence_of_any_value_is_small() {
        let long = "é".repeat(10_000);
        let number: Value = serde_json::from_str(&"9".repeat(10_000)).expect("a number");
        let deep = (0..100).fold(Value::from(1), |inner, _| serde_json::json!({ "a": inner }));
        let wide: Value = vec![serde_json::json!({ &long: &long, "deep": deep, "number": number }); 30].into();
        let found = finding(Severity::Error, "category", long, serde_json::json!({ "got": wide, "expected": wide }));
        assert!(found.message.len() < 2_000);
        assert!(found.evidence.expect("evidence").len() < 64_000);
    }

    #[test]
    fn values_are_listed_as_people_list_them() {
        let values = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>();
        assert_eq!(listed(&values(&["a"]), "or"), r#""a""#);
        assert_eq!(listed(&values(&["a", "b", "c"]), "or"), r#""a", "b" or "c""#);
    }
}
