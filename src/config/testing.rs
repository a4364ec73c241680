//! What the tests of this room share: a catalog that knows a few evaluators,
//! and arbitrary JSON.

use super::profile::EvaluatorCatalog;
use proptest::prelude::*;
use serde_json::{Map, Value};
use tribunal_schema::Digest;
use tribunal_schema::profile::EvaluatorPin;

/// Knows the evaluators of `std`; refuses the configuration key `wrong`, and a
/// `pattern` that is not a text at its place.
pub struct TestCatalog;

const KNOWN: [&str; 8] = [
    "std/contains",
    "std/equals",
    "std/regex",
    "std/word-count",
    "std/tool-called",
    "std/tool-args-match",
    "std/latency",
    "std/json-path-equals",
];

impl EvaluatorCatalog for TestCatalog {
    fn resolve(&self, reference: &str) -> Result<EvaluatorPin, String> {
        if !KNOWN.contains(&reference) {
            return Err("std has no evaluator of that name".into());
        }
        let name = reference.trim_start_matches("std/").to_string();
        Ok(EvaluatorPin { reference: reference.into(), name, component: Digest::of(b"std") })
    }

    fn check(&self, _: &EvaluatorPin, config: &Value) -> Vec<String> {
        let mut sentences = vec![];
        if config.get("wrong").is_some() {
            sentences.push("unknown key `wrong`".into());
        }
        if config.get("pattern").is_some_and(|pattern| !pattern.is_string()) {
            sentences.push("/pattern: expected a text".into());
        }
        sentences
    }

    fn references(&self) -> Vec<String> {
        KNOWN.map(String::from).to_vec()
    }
}

/// Any text, with the characters that break readers.
pub fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z0-9 ,;:\"'\\\\\\[\\]{}#&*!|>%@`?~-]{0,12}",
        1 => "(\u{0}|\n|\r|\t|\u{2028}|\u{85}|\u{feff}|é|😀|x){1,6}",
        1 => Just("no".to_string()),
        1 => Just("1.10".to_string()),
    ]
}

/// Any JSON value whose numbers are spelled as the JSON reader spells them.
pub fn json_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof!["-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?", "[1-9]e[+-][1-9]"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| Value::Number(text.parse().expect("a JSON number"))),
        any_text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((any_text(), inner), 0..4).prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}
