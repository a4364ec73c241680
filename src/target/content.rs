//! The message of a chat completion: its text, refusal and tool calls.
//!
//! Lenient where servers differ and nothing is lost (parts, legacy calls,
//! arguments as an object), strict where a guess would put words in the agent's
//! mouth: an error here is the class `shape`.

use super::json;
use serde_json::{Map, Value};
use tribunal_schema::answer::ToolCall;

/// What a message says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) text: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Vec<ToolCall>,
}

impl Content {
    /// Reads a message; an error says what has the wrong type.
    pub(super) fn read(message: &Map<String, Value>) -> Result<Content, String> {
        let mut content = Content::default();
        content.read_text(message.get("content"))?;
        match message.get("refusal") {
            None | Some(Value::Null) => {}
            Some(Value::String(words)) => add(&mut content.refusal, words),
            Some(other) => return Err(format!("`message.refusal` is {}, not a text", kind(other))),
        }
        match message.get("tool_calls") {
            None | Some(Value::Null) => {}
            Some(Value::Array(calls)) => {
                content.tool_calls = calls.iter().enumerate().map(tool_call).collect::<Result<_, _>>()?;
            }
            Some(other) => return Err(format!("`message.tool_calls` is {}, not a list", kind(other))),
        }
        // The form before `tool_calls`; a server that sends both means one call.
        if let Some(call @ Value::Object(_)) = message.get("function_call")
            && content.tool_calls.is_empty()
        {
            content.tool_calls.push(function(None, call, "message.function_call")?);
        }
        Ok(content)
    }

    /// Whether there is nothing to judge. A text of spaces is a text.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_none() && self.refusal.is_none() && self.tool_calls.is_empty()
    }

    fn read_text(&mut self, content: Option<&Value>) -> Result<(), String> {
        match content {
            None | Some(Value::Null) => Ok(()),
            Some(Value::String(text)) => {
                add(&mut self.text, text);
                Ok(())
            }
            Some(Value::Array(parts)) => parts.iter().enumerate().try_for_each(|part| self.read_part(part)),
            Some(other) => Err(format!("`message.content` is {}, not a text or a list of parts", kind(other))),
        }
    }

    /// Texts are joined as they come; images, sounds and thoughts are in the raw body only.
    fn read_part(&mut self, (index, part): (usize, &Value)) -> Result<(), String> {
        let (slot, words) = match (part, part.get("type").and_then(Value::as_str)) {
            (Value::String(text), _) => (&mut self.text, Some(text.as_str())),
            (Value::Object(part), Some("text" | "output_text")) => {
                (&mut self.text, part.get("text").and_then(Value::as_str))
            }
            (Value::Object(part), Some("refusal")) => (&mut self.refusal, part.get("refusal").and_then(Value::as_str)),
            (Value::Object(_), Some(_)) => return Ok(()),
            (other, _) => return Err(format!("`message.content[{index}]` is {} without a type", kind(other))),
        };
        let words = words.ok_or_else(|| format!("`message.content[{index}]` has no text"))?;
        add(slot, words);
        Ok(())
    }
}

/// Adds to a text; the empty text is none.
fn add(slot: &mut Option<String>, text: &str) {
    if !text.is_empty() {
        slot.get_or_insert_default().push_str(text);
    }
}

fn tool_call((index, call): (usize, &Value)) -> Result<ToolCall, String> {
    let place = format!("message.tool_calls[{index}]");
    let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
    if let Some(custom) = call.get("custom") {
        let arguments = custom.get("input").cloned().unwrap_or_default();
        return Ok(ToolCall { id, name: name(custom, &place)?, arguments, arguments_error: None });
    }
    match call.get("function") {
        Some(called) => function(id, called, &place),
        None => Err(format!("`{place}` has no function")),
    }
}

fn function(id: Option<String>, called: &Value, place: &str) -> Result<ToolCall, String> {
    let name = name(called, place)?;
    let (arguments, arguments_error) = match called.get("arguments") {
        None | Some(Value::Null) => (Value::Object(Map::new()), None),
        Some(Value::String(text)) => arguments(text),
        Some(other) => (other.clone(), None),
    };
    Ok(ToolCall { id, name, arguments, arguments_error })
}

fn name(called: &Value, place: &str) -> Result<String, String> {
    let name = called.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| format!("`{place}` has no function name"))
}

/// Arguments are JSON in a text. An empty text is what servers send for a call
/// without arguments; a text that is not JSON is kept as it came.
fn arguments(text: &str) -> (Value, Option<String>) {
    if text.trim().is_empty() {
        return (Value::Object(Map::new()), None);
    }
    match json::read(text.as_bytes()) {
        Ok(value) => (value, None),
        Err(error) => (Value::from(text), Some(format!("not JSON: {}", error.why))),
    }
}

/// A value's type in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(message: Value) -> Result<Content, String> {
        Content::read(message.as_object().unwrap())
    }

    #[test]
    fn text_parts_are_joined_and_others_left_to_the_raw_body() {
        let content = read(json!({"content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, "b",
            {"type": "refusal", "refusal": "no"}, {"type": "image_url", "image_url": {}}
        ]}));
        let content = content.unwrap();
        assert_eq!((content.text.as_deref(), content.refusal.as_deref()), (Some("ab"), Some("no")));
    }

    #[test]
    fn no_content_beside_a_tool_call_is_no_text() {
        for content in [json!(null), json!(""), json!([])] {
            let call = json!({"id": "c1", "function": {"name": "find", "arguments": "{\"n\":1.10}"}});
            let content = read(json!({"content": content, "tool_calls": [call]})).unwrap();
            assert_eq!(content.text, None);
            assert!(!content.is_empty());
            assert_eq!(content.tool_calls[0].arguments.to_string(), r#"{"n":1.10}"#);
            assert_eq!(content.tool_calls[0].id.as_deref(), Some("c1"));
        }
    }

    #[test]
    fn broken_arguments_are_kept_with_the_reason() {
        let call = json!({"function": {"name": "find", "arguments": "{\"n\":"}});
        let call = read(json!({"tool_calls": [call]})).unwrap().tool_calls.remove(0);
        assert_eq!(call.arguments, json!("{\"n\":"));
        assert!(call.arguments_error.unwrap().starts_with("not JSON: EOF"));
    }

    #[test]
    fn arguments_come_as_object_as_nothing_and_in_the_legacy_form() {
        for (called, arguments) in [
            (json!({"name": "f", "arguments": {"a": 1}}), json!({"a": 1})),
            (json!({"name": "f", "arguments": ""}), json!({})),
            (json!({"name": "f"}), json!({})),
        ] {
            let new = read(json!({"tool_calls": [{"type": "function", "function": called}]})).unwrap();
            let legacy = read(json!({"content": null, "function_call": called})).unwrap();
            assert_eq!(new.tool_calls[0].arguments, arguments);
            assert_eq!(legacy.tool_calls, new.tool_calls);
        }
        let custom = json!({"type": "custom", "custom": {"name": "sql", "input": "SELECT"}});
        assert_eq!(read(json!({"tool_calls": [custom]})).unwrap().tool_calls[0].arguments, json!("SELECT"));
    }

    #[test]
    fn wrong_types_are_named() {
        for (message, words) in [
            (json!({"content": 7}), "`message.content` is a number"),
            (json!({"content": [7]}), "`message.content[0]` is a number"),
            (json!({"content": [{"type": "text"}]}), "has no text"),
            (json!({"refusal": []}), "`message.refusal` is a list"),
            (json!({"tool_calls": {}}), "`message.tool_calls` is an object"),
            (json!({"tool_calls": [{}]}), "`message.tool_calls[0]` has no function"),
            (json!({"tool_calls": [{"function": {"name": ""}}]}), "has no function name"),
        ] {
            let error = read(message).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn spaces_are_a_text_and_nothing_is_none() {
        assert!(!read(json!({"content": " "})).unwrap().is_empty());
        assert!(read(json!({"content": ""})).unwrap().is_empty());
        assert!(!read(json!({"refusal": "I can't."})).unwrap().is_empty());
    }
}
