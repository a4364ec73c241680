//! `equals`: the answer is exactly what is expected.

use crate::catalog::config;
use crate::expected::{as_text, candidates};
use crate::finding::{listed, no, nothing_expected, quoted, yes};
use crate::json::{document, same};
use crate::text::comparable;
use crate::wit::{Failure, Report, Request};
use serde::Deserialize;
use serde_json::{Value, json};

/// One line for a person.
pub const HELP: &str = "the answer is the expected text or JSON value, white space around it aside";

/// JSON Schema of the configuration.
pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "value": {"description": "What the answer must be; the case's expected where it is not given. A text is compared as text, anything else as JSON."},
    "ignore_case": {"type": "boolean", "default": false, "description": "Whether upper and lower case are the same."},
    "trim": {"type": "boolean", "default": true, "description": "Whether white space at both ends is left out of the comparison."}
  }
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    value: Option<Value>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default = "yes_by_default")]
    trim: bool,
}

impl Config {
    /// A text in the form in which it is compared.
    fn form(&self, text: &str) -> String {
        comparable(if self.trim { text.trim() } else { text }, self.ignore_case).into_owned()
    }
}

fn yes_by_default() -> bool {
    true
}

/// The examination.
pub fn evaluate(request: &Request) -> Result<Report, Failure> {
    let config: Config = config(request)?;
    let wanted = candidates(request, config.value.clone())?;
    if wanted.is_empty() {
        return nothing_expected();
    }
    let got = Got::of(request, &config, &wanted);
    match wanted.iter().find(|value| got.is(value, &config)) {
        Some(value) => yes(
            "equal",
            format!("the answer is {}", listed(std::slice::from_ref(value), "or")),
            json!({ "equals": value }),
        ),
        None => {
            let got = quoted(request.answer.text.as_deref().or(request.answer.structured.as_deref()));
            let message = format!("expected {}, got {}", listed(&wanted, "or"), described(&got));
            no("not-equal", message, json!({ "expected": wanted, "got": got }))
        }
    }
}

fn described(got: &Value) -> String {
    if got.is_null() { "an answer without text".into() } else { crate::finding::shown(got) }
}

/// The answer in the forms in which it is compared, made once for all candidates.
struct Got {
    text: Option<String>,
    document: Option<Value>,
}

impl Got {
    fn of(request: &Request, config: &Config, wanted: &[Value]) -> Got {
        let text = request.answer.text.as_deref().filter(|_| wanted.iter().any(|value| as_text(value).is_some()));
        let is_document = wanted.iter().any(|value| !value.is_string());
        Got {
            text: text.map(|text| config.form(text)),
            document: is_document.then(|| document(&request.answer).ok()).flatten(),
        }
    }

    fn is(&self, wanted: &Value, config: &Config) -> bool {
        let as_texts =
            as_text(wanted).zip(self.text.as_ref()).is_some_and(|(wanted, got)| config.form(&wanted) == *got);
        as_texts || (!wanted.is_string() && self.document.as_ref().is_some_and(|got| same(got, wanted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Given, abstained, measured};

    #[test]
    fn the_case_expects_one_text_or_any_of_a_list() {
        let with = |answer: &str| Given::text(answer).expected(r#"["Paris", "paris, France"]"#).run(evaluate);
        assert!(measured(with("Paris\n")));
        assert!(measured(with("paris, France")));
        assert!(!measured(with("paris")));
        assert!(abstained(Given::text("Paris").run(evaluate)).contains("no expected"));
    }

    #[test]
    fn white_space_and_case_count_when_told_so() {
        assert!(!measured(Given::text("Paris\n").config(r#"{"value":"Paris","trim":false}"#).run(evaluate)));
        assert!(measured(Given::text("PARIS").config(r#"{"value":"Paris","ignore_case":true}"#).run(evaluate)));
    }

    #[test]
    fn values_other_than_text_are_compared_as_json() {
        assert!(measured(Given::text(" {\"b\": 1.0, \"a\": 2}").config(r#"{"value":{"a":2,"b":1}}"#).run(evaluate)));
        assert!(measured(Given::text("42").expected("42").run(evaluate)));
        assert!(!measured(Given::text("9007199254740993").expected("9007199254740992").run(evaluate)));
        assert!(measured(Given::structured("[1]").config(r#"{"value":[1]}"#).run(evaluate)));
    }

    #[test]
    fn an_answer_without_text_is_not_equal_to_anything() {
        let report = Given::nothing().expected(r#""Paris""#).run(evaluate).expect("a report");
        assert_eq!(report.findings[0].message, r#"expected "Paris", got an answer without text"#);
    }
}
