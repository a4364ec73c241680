//! Canonical bytes: the one way to write a payload, so that a digest computed
//! here, in a database dump and in an auditor's script is the same.
//!
//! Rules: JSON, object keys sorted by their bytes, no white space, no number
//! but integers, strings escaped as `serde_json` does (the shortest form: only
//! `"`, `\` and control characters).

use serde::Serialize;
use serde_json::Value;

/// Why something has no canonical bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// A number with a fraction or an exponent.
    #[error("the number {0} is not an integer: events carry integers and strings only")]
    NotAnInteger(String),
    /// Something that has no JSON form.
    #[error("no JSON form: {0}")]
    NoJson(String),
}

/// The canonical text of a serialisable payload.
pub fn canonical_text<T: Serialize>(payload: &T) -> Result<String, CanonicalError> {
    let value = serde_json::to_value(payload).map_err(|error| CanonicalError::NoJson(error.to_string()))?;
    canonical_value(&value)
}

/// The canonical text of a JSON value.
pub fn canonical_value(value: &Value) -> Result<String, CanonicalError> {
    let mut text = String::with_capacity(256);
    write_value(value, &mut text)?;
    Ok(text)
}

fn write_value(value: &Value, out: &mut String) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => {
            let text = number.to_string();
            if text == "-0" || text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) {
                return Err(CanonicalError::NotAnInteger(text));
            }
            out.push_str(&text);
        }
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(item, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_string(text: &str, out: &mut String) {
    let quoted = serde_json::to_string(text).expect("a string always has a JSON form");
    out.push_str(&quoted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({"b": 1, "a": {"z": [1, {"y": null, "x": true}], "é": "ü\u{0}"}});
        assert_eq!(
            canonical_value(&value).expect("canonical"),
            r#"{"a":{"z":[1,{"x":true,"y":null}],"é":"ü\u0000"},"b":1}"#
        );
    }

    #[test]
    fn a_float_has_no_canonical_bytes() {
        assert_eq!(canonical_value(&json!({"a": 1.5})), Err(CanonicalError::NotAnInteger("1.5".into())));
    }

    proptest! {
        #[test]
        fn canonical_text_reads_back_and_is_a_fixed_point(keys in proptest::collection::btree_map(".*", any::<i64>(), 0..8)) {
            let value = json!(keys);
            let text = canonical_value(&value).expect("canonical");
            let again: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert_eq!(canonical_value(&again).expect("canonical"), text);
        }
    }
}
