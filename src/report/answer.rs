//! An answer in a few words.

use tribunal_schema::answer::{Answer, ToolCall};

/// The beginning of what the target said, at most `chars` characters, not escaped:
/// its text, else its refusal, its structured answer or its tool calls.
pub(super) fn beginning(answer: &Answer, chars: usize) -> String {
    let text = answer.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let calls = || answer.tool_calls.iter().map(call).collect::<Vec<_>>().join(", ");
    let words = match (text, &answer.refusal, &answer.structured) {
        (Some(text), _, _) => text.to_string(),
        (None, Some(refusal), _) => format!("(refused) {refusal}"),
        (None, None, Some(structured)) => structured.to_string(),
        (None, None, None) if !answer.tool_calls.is_empty() => format!("(calls) {}", calls()),
        (None, None, None) => "(nothing)".into(),
    };
    words.chars().take(chars).collect()
}

/// `refund({"order":7})`
pub(super) fn call(call: &ToolCall) -> String {
    format!("{}({})", call.name, call.arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tribunal_schema::answer::RawBody;

    #[test]
    fn the_first_thing_that_the_target_said_is_shown() {
        let nothing = Answer {
            text: None,
            structured: None,
            tool_calls: vec![],
            refusal: None,
            finish_reason: None,
            usage: None,
            raw: RawBody::Text(String::new()),
        };
        assert_eq!(beginning(&nothing, 99), "(nothing)");
        let call = ToolCall { id: None, name: "refund".into(), arguments: json!({"order": 7}), arguments_error: None };
        let calls = Answer { tool_calls: vec![call], text: Some("  ".into()), ..nothing };
        assert_eq!(beginning(&calls, 99), r#"(calls) refund({"order":7})"#);
        let structured = Answer { structured: Some(json!([1])), ..calls };
        assert_eq!(beginning(&structured, 99), "[1]");
        let refusal = Answer { refusal: Some("no".into()), ..structured };
        assert_eq!(beginning(&refusal, 99), "(refused) no");
        let text = Answer { text: Some("ünïcode".into()), ..refusal };
        assert_eq!(beginning(&text, 3), "ünï");
    }
}
