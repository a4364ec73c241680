//! JSON: what of an answer is JSON, when two values are the same, and the
//! evaluators `is-json` and `json-path-equals`.

use crate::decimal::Decimal;
use crate::wit::Answer;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The JSON of an answer: its structured part, else its text.
pub fn document(answer: &Answer) -> Result<Value, String> {
    let text = source(answer)?;
    serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
}

fn source(answer: &Answer) -> Result<&str, String> {
    answer
        .structured
        .as_deref()
        .or(answer.text.as_deref())
        .ok_or_else(|| "it has neither text nor a structured part".into())
}

/// Whether two values are the same: numbers by value in any spelling (`1.0` is `1`,
/// every digit counts), objects in any order of keys.
pub fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => {
            let (one, two) = (one.to_string(), two.to_string());
            one == two || Decimal::parse(&one).is_some_and(|one| Decimal::parse(&two) == Some(one))
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len() && one.iter().all(|(key, one)| two.get(key).is_some_and(|two| same(one, two)))
        }
        (Value::Null | Value::Bool(_) | Value::String(_), _)
        | (Value::Number(_) | Value::Array(_) | Value::Object(_), _) => one == two,
    }
}

/// What kind of value it is, as JSON Schema names it.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// `is-json`: the answer is one JSON value and nothing else.
pub mod is_json {
    use super::{IgnoredAny, source};
    use crate::catalog::config;
    use crate::finding::{no, quoted, yes};
    use crate::wit::{Failure, Report, Request};
    use serde::Deserialize;
    use serde_json::json;

    /// One line for a person.
    pub const HELP: &str = "the answer is valid JSON, of a given type where one is asked for";

    /// JSON Schema of the configuration.
    pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "type": {"enum": ["object", "array", "string", "number", "boolean", "null"], "description": "The type that the value must have."},
    "allow_fence": {"type": "boolean", "default": false, "description": "Whether one Markdown code fence around the JSON is allowed."}
  }
}"#;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        r#type: Option<String>,
        #[serde(default)]
        allow_fence: bool,
    }

    /// The examination.
    pub fn evaluate(request: &Request) -> Result<Report, Failure> {
        let config: Config = config(request)?;
        let text = match source(&request.answer) {
            Ok(text) => text,
            Err(why) => return no("not-json", format!("the answer is not JSON: {why}"), json!(null)),
        };
        let json = if config.allow_fence { unfenced(text) } else { text };
        if let Err(error) = serde_json::from_str::<IgnoredAny>(json) {
            let evidence = json!({ "line": error.line(), "column": error.column(), "answer": quoted(Some(text)) });
            return no("not-json", format!("the answer is not JSON: {error}"), evidence);
        }
        let got = kind_of(json);
        match config.r#type {
            Some(wanted) if wanted != got => {
                let evidence = json!({ "expected": wanted, "got": got, "answer": quoted(Some(text)) });
                no("wrong-type", format!("expected JSON of type {wanted}, got {got}"), evidence)
            }
            Some(_) | None => yes("json", format!("the answer is JSON of type {got}"), json!({ "type": got })),
        }
    }

    /// The type of a text that is known to be JSON: its first character tells.
    fn kind_of(json: &str) -> &'static str {
        match json.trim_start().as_bytes().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            Some(_) | None => "number",
        }
    }

    /// What is within the one code fence that is the whole text, else the text.
    fn unfenced(text: &str) -> &str {
        let inner = text.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
        match inner.and_then(|inner| inner.split_once('\n')) {
            Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body,
            Some(_) | None => text,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::testing::{Given, measured, message};

        #[test]
        fn one_value_and_nothing_else_is_json() {
            for (answer, is_json) in [
                (r#" {"a": [1, 2]} "#, true),
                ("1e400", true),
                ("{\"a\": 1} trailing", false),
                ("{'a': 1}", false),
                ("NaN", false),
                ("", false),
            ] {
                assert_eq!(measured(Given::text(answer).run(evaluate)), is_json, "{answer}");
            }
            assert!(measured(Given::structured("[]").run(evaluate)));
            assert!(!measured(Given::nothing().run(evaluate)));
        }

        #[test]
        fn the_type_is_checked_when_asked_for() {
            assert!(measured(Given::text("[]").config(r#"{"type":"array"}"#).run(evaluate)));
            let wrong = Given::text("[]").config(r#"{"type":"object"}"#).run(evaluate);
            assert_eq!(message(wrong), "expected JSON of type object, got array");
        }

        #[test]
        fn a_fence_is_allowed_only_when_told_so() {
            let fenced = "```json\n{\"a\": 1}\n```\n";
            assert!(!measured(Given::text(fenced).run(evaluate)));
            assert!(measured(Given::text(fenced).config(r#"{"allow_fence":true}"#).run(evaluate)));
            assert!(measured(Given::text("{}").config(r#"{"allow_fence":true}"#).run(evaluate)));
            assert!(!measured(Given::text("Here: ```json\n{}\n```").config(r#"{"allow_fence":true}"#).run(evaluate)));
        }
    }
}

/// `json-path-equals`: one place of the answer's JSON has the expected value.
pub mod path_equals {
    use super::{document, kind, same};
    use crate::catalog::config;
    use crate::expected::{candidates, of_case};
    use crate::finding::{listed, no, nothing_expected, quoted, shown, yes};
    use crate::path::Path;
    use crate::wit::{Failure, Report, Request};
    use serde::Deserialize;
    use serde_json::{Value, json};

    /// One line for a person.
    pub const HELP: &str = "one place of the answer's JSON has the expected value; numbers are compared exactly";

    /// JSON Schema of the configuration.
    pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["path"],
  "properties": {
    "path": {"type": "string", "pattern": "^\\$", "description": "A path to one place: $.total, $['unit price'], $.items[0].id, $.items[-1]."},
    "value": {"description": "The value that must be there; the case's expected where it is not given."}
  }
}"#;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        path: String,
        #[serde(default, deserialize_with = "given")]
        value: Option<Value>,
    }

    /// A value that is given may be `null`, which is not the same as not given.
    fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }

    /// The examination.
    pub fn evaluate(request: &Request) -> Result<Report, Failure> {
        let config: Config = config(request)?;
        let path = Path::parse(&config.path).map_err(Failure::Configuration)?;
        let from_case = config.value.is_none();
        let mut wanted = candidates(request, config.value)?;
        if wanted.is_empty() {
            return nothing_expected();
        }
        let value = match document(&request.answer) {
            Ok(value) => value,
            Err(why) => {
                let evidence = json!({ "answer": quoted(request.answer.text.as_deref()) });
                return no("not-json", format!("the answer has nothing at {}: {why}", path.text()), evidence);
            }
        };
        let Some(got) = path.find(&value) else {
            let message = format!("expected {} at {}, but nothing is there", listed(&wanted, "or"), path.text());
            return no("missing-path", message, json!({ "path": path.text(), "expected": wanted }));
        };
        // A list that the case expects may also be meant as the value itself.
        if from_case && got.is_array() {
            wanted.extend(of_case(request)?.filter(Value::is_array));
        }
        let evidence = json!({ "path": path.text(), "expected": wanted, "got": got });
        if wanted.iter().any(|wanted| same(wanted, got)) {
            return yes("equal", format!("{} is {}", path.text(), shown(got)), evidence);
        }
        let kinds = match wanted.as_slice() {
            [one] if kind(one) != kind(got) => format!(" (type {} instead of {})", kind(got), kind(one)),
            _ => String::new(),
        };
        let message = format!("expected {}, got {} at {}{kinds}", listed(&wanted, "or"), shown(got), path.text());
        no("not-equal", message, evidence)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::testing::{Given, abstained, measured, message};

        #[test]
        fn numbers_are_compared_exactly_and_in_any_spelling() {
            let with = |answer: &str, value: &str| {
                measured(Given::text(answer).config(&format!(r#"{{"path":"$.n","value":{value}}}"#)).run(evaluate))
            };
            assert!(with(r#"{"n": 1.50}"#, "1.5"));
            assert!(with(r#"{"n": 9007199254740993}"#, "9007199254740993"));
            assert!(!with(r#"{"n": 9007199254740993}"#, "9007199254740992"));
            assert!(!with(r#"{"n": "1"}"#, "1"));
            assert!(with(r#"{"n": null}"#, "null"));
            assert!(!with(r#"{"n": 0}"#, "null"));
        }

        #[test]
        fn the_case_expects_one_value_or_any_of_a_list_or_the_list() {
            let with = |answer: &str, expected: &str| {
                measured(Given::text(answer).config(r#"{"path":"$.a"}"#).expected(expected).run(evaluate))
            };
            assert!(with(r#"{"a":"x"}"#, r#""x""#));
            assert!(with(r#"{"a":"y"}"#, r#"["x","y"]"#));
            assert!(with(r#"{"a":["x","y"]}"#, r#"["x","y"]"#));
            assert!(!with(r#"{"a":["y","x"]}"#, r#"["x","y"]"#));
            let none = Given::text("{}").config(r#"{"path":"$.a"}"#).run(evaluate);
            assert!(abstained(none).contains("no expected"));
        }

        #[test]
        fn a_no_says_what_was_there() {
            let with = |answer: &str| Given::text(answer).config(r#"{"path":"$.a","value":42}"#).run(evaluate);
            assert_eq!(message(with(r#"{"a":43}"#)), "expected 42, got 43 at $.a");
            let text = message(with(r#"{"a":"42"}"#));
            assert_eq!(text, r#"expected 42, got "42" at $.a (type string instead of number)"#);
            assert_eq!(message(with("{}")), "expected 42 at $.a, but nothing is there");
            assert!(message(with("plain words")).contains("not JSON"));
        }

        #[test]
        fn a_wrong_path_is_a_matter_of_configuration() {
            let result = Given::nothing().config(r#"{"path":"$..a"}"#).run(evaluate);
            assert!(matches!(result, Err(Failure::Configuration(_))));
        }
    }
}
