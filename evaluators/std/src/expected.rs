//! What a right answer is: the configuration's value, else the case's
//! `expected`. A list in the case means that any of its entries will do; a
//! value in the configuration is meant as it is written.

use crate::wit::{Failure, Request};
use serde_json::Value;

/// What will do, in order; empty where nothing is expected.
pub fn candidates(request: &Request, configured: Option<Value>) -> Result<Vec<Value>, Failure> {
    if let Some(value) = configured {
        return Ok(vec![value]);
    }
    Ok(match of_case(request)? {
        Some(Value::Array(entries)) => entries,
        Some(value) => vec![value],
        None => Vec::new(),
    })
}

/// The case's `expected`; `null` is none.
pub fn of_case(request: &Request) -> Result<Option<Value>, Failure> {
    let Some(text) = &request.case.expected else { return Ok(None) };
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Failure::Failed(format!("the case's expected cannot be read: {error}")))?;
    Ok((!value.is_null()).then_some(value))
}

/// A value as the text an answer would hold: text as it is, numbers and truth
/// values as they are written; `None` for lists, objects and null.
pub fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
