//! The body of a chat request.
//!
//! - A text is one user message; a list of objects with a `role` is sent as it is;
//!   any other JSON is sent as its text in one user message.
//! - The profile's system message comes first, unless the case begins with a
//!   system (or developer) message of its own: the case knows better, and many
//!   servers refuse two.
//! - Numbers keep every digit they were written with.

use super::failure::TargetSetupError;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tribunal_schema::case::Case;
use tribunal_schema::json::JsonText;

/// What the adapter itself sets, and parameters may not.
const OWN_FIELDS: [&str; 3] = ["model", "messages", "tools"];

/// Everything of a request's body but the case, as text.
#[derive(Debug)]
pub(super) struct ChatBody {
    before: String,
    system: Option<String>,
    after: String,
}

impl ChatBody {
    /// The parts of a target's configuration that each request repeats.
    pub(super) fn new(
        model: &str,
        parameters: &JsonText,
        system: Option<&str>,
        tools: &JsonText,
    ) -> Result<ChatBody, TargetSetupError> {
        let mut after = String::from("]");
        for (key, value) in read_parameters(parameters)? {
            after.push_str(&format!(",{}:{value}", Value::from(key)));
        }
        match tools.value() {
            Value::Null => {}
            Value::Array(tools) if tools.is_empty() => {}
            Value::Array(tools) => after.push_str(&format!(",\"tools\":{}", Value::from(tools))),
            _ => return Err(TargetSetupError::Body { field: "tools", reason: "must be a list".into() }),
        }
        after.push('}');
        Ok(ChatBody {
            before: format!("{{\"model\":{},\"messages\":[", Value::from(model)),
            system: system.map(|text| json!({"role": "system", "content": text}).to_string()),
            after,
        })
    }

    /// The body for a case.
    pub(super) fn of(&self, case: &Case) -> Bytes {
        let mut body = self.before.clone();
        let mut separator = "";
        let mut push = |message: &str| {
            body.push_str(separator);
            body.push_str(message);
            separator = ",";
        };
        let messages = messages(&case.input);
        let own_system = messages.is_some_and(|messages| messages.first().is_some_and(is_system));
        if let Some(system) = self.system.as_ref().filter(|_| !own_system) {
            push(system);
        }
        match (messages, &case.input) {
            (Some(messages), _) => messages.iter().for_each(|message| push(&message.to_string())),
            (None, Value::String(text)) => push(&user(text)),
            (None, other) => push(&user(&other.to_string())),
        }
        body.push_str(&self.after);
        Bytes::from(body)
    }
}

fn read_parameters(parameters: &JsonText) -> Result<Map<String, Value>, TargetSetupError> {
    let wrong = |reason: String| TargetSetupError::Body { field: "parameters", reason };
    let parameters = match parameters.value() {
        Value::Null => Map::new(),
        Value::Object(parameters) => parameters,
        _ => return Err(wrong("must be an object".into())),
    };
    if let Some(field) = OWN_FIELDS.iter().find(|field| parameters.contains_key(**field)) {
        return Err(wrong(format!("may not set `{field}`: it has a place of its own in the profile")));
    }
    match parameters.get("stream") {
        None | Some(Value::Bool(false)) => Ok(parameters),
        Some(_) => Err(TargetSetupError::Stream),
    }
}

/// The input as a list of messages, if it is one.
fn messages(input: &Value) -> Option<&Vec<Value>> {
    let messages = input.as_array().filter(|messages| !messages.is_empty())?;
    messages.iter().all(|message| message.get("role").is_some_and(Value::is_string)).then_some(messages)
}

fn is_system(message: &Value) -> bool {
    matches!(message.get("role").and_then(Value::as_str), Some("system" | "developer"))
}

fn user(text: &str) -> String {
    json!({"role": "user", "content": text}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> JsonText {
        JsonText::try_from(json.to_owned()).unwrap()
    }

    fn sent(parameters: &str, system: Option<&str>, tools: &str, input: &str) -> String {
        let body = ChatBody::new("m \"1\"", &text(parameters), system, &text(tools)).unwrap();
        let case: Case = serde_json::from_str(&format!(r#"{{"id":"c","input":{input}}}"#)).unwrap();
        String::from_utf8(body.of(&case).to_vec()).unwrap()
    }

    #[test]
    fn a_text_is_one_user_message_after_the_system_message() {
        assert_eq!(
            sent(r#"{"temperature":0.10,"seed":9007199254740993}"#, Some("be kind"), "[]", r#""hi""#),
            r#"{"model":"m \"1\"","messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}],"temperature":0.10,"seed":9007199254740993}"#
        );
    }

    #[test]
    fn messages_are_sent_as_they_are() {
        let messages =
            r#"[{"role":"user","content":[{"type":"text","text":"a"}],"n":1.10},{"role":"assistant","content":null}]"#;
        assert_eq!(sent("{}", None, "null", messages), format!(r#"{{"model":"m \"1\"","messages":{messages}}}"#));
    }

    #[test]
    fn a_system_message_of_the_case_replaces_the_profiles() {
        for role in ["system", "developer"] {
            let messages = format!(r#"[{{"role":"{role}","content":"own"}}]"#);
            assert!(!sent("{}", Some("profile"), "[]", &messages).contains("profile"));
        }
        let later = r#"[{"role":"user","content":"a"},{"role":"system","content":"own"}]"#;
        assert!(sent("{}", Some("profile"), "[]", later).contains("profile"));
    }

    #[test]
    fn any_other_json_is_its_text_in_a_user_message() {
        for (input, content) in [
            (r#"{"a":1.10}"#, r#""{\"a\":1.10}""#),
            ("[]", r#""[]""#),
            (r#"[{"role":"user"},7]"#, r#""[{\"role\":\"user\"},7]""#),
            ("7", r#""7""#),
        ] {
            let wanted = format!(r#""messages":[{{"role":"user","content":{content}}}]"#);
            assert!(sent("{}", None, "[]", input).contains(&wanted), "{input}");
        }
    }

    #[test]
    fn tools_are_sent_when_there_are_any() {
        assert!(sent("{}", None, r#"[{"type":"function"}]"#, "1").ends_with(r#"],"tools":[{"type":"function"}]}"#));
    }

    #[test]
    fn parameters_that_take_what_is_not_theirs_are_refused() {
        for parameters in [r#"{"messages":[]}"#, r#"{"model":"x"}"#, r#"{"tools":[]}"#, "[]", r#"{"stream":true}"#] {
            assert!(ChatBody::new("m", &text(parameters), None, &text("[]")).is_err(), "{parameters}");
        }
        assert!(ChatBody::new("m", &text(r#"{"stream":false}"#), None, &text("[]")).is_ok());
        assert!(ChatBody::new("m", &text("{}"), None, &text("{}")).is_err());
    }
}
