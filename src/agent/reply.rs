//! Requests and replies in the OpenAI chat form, whole or as a stream of events.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;

/// The parts of a chat request that an agent here looks at; the rest is left alone.
#[derive(Clone, Debug, Deserialize)]
pub struct ChatRequest {
    /// The model asked for; repeated in the reply.
    #[serde(default)]
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Whether the reply is wanted as a stream of events.
    #[serde(default)]
    pub stream: bool,
}

/// One message of a conversation.
#[derive(Clone, Debug, Deserialize)]
pub struct Message {
    /// `system`, `user`, `assistant`, `tool`.
    pub role: String,
    /// A text, a list of parts, or nothing beside tool calls.
    #[serde(default)]
    pub content: Value,
    /// For `tool` messages: the tool that was called, if the caller says.
    #[serde(default)]
    pub name: Option<String>,
}

impl Message {
    /// The text of the message: its content, or its text parts one after another.
    pub fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
        }
    }
}

impl ChatRequest {
    /// The text of the last user message; empty when there is none.
    pub fn last_user_text(&self) -> String {
        self.messages.iter().rfind(|message| message.role == "user").map(Message::text).unwrap_or_default()
    }
}

/// What an agent says. The default says nothing at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The text.
    pub text: Option<String>,
    /// Tool calls, in order.
    pub tool_calls: Vec<ReplyCall>,
    /// `None`: `tool_calls` or `stop`, by what is said.
    pub finish_reason: Option<String>,
    /// `None`: words counted.
    pub usage: Option<ReplyUsage>,
    /// What it refuses to do, in its words.
    pub refusal: Option<String>,
    /// The whole body, instead of all of the above.
    pub body: Option<String>,
}

/// A tool call of a reply.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyCall {
    /// The tool's name.
    pub name: String,
    /// Sent as JSON text; a text is sent as it is, so that broken arguments can be scripted.
    #[serde(default)]
    pub arguments: Value,
}

/// Token counts of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyUsage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyFields {
    text: Option<String>,
    #[serde(default)]
    tool_calls: Vec<ReplyCall>,
    finish_reason: Option<String>,
    usage: Option<ReplyUsage>,
    refusal: Option<String>,
    body: Option<String>,
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Reply, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Reply;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a map of text, tool_calls, finish_reason, usage, refusal, body")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Reply, E> {
                Ok(Reply::text(text))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Reply, A::Error> {
                let ReplyFields { text, tool_calls, finish_reason, usage, refusal, body } =
                    ReplyFields::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Reply { text, tool_calls, finish_reason, usage, refusal, body })
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl Reply {
    /// A plain text.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply { text: Some(text.into()), ..Reply::default() }
    }

    /// A single tool call.
    pub fn call(name: &str, arguments: Value) -> Reply {
        Reply { tool_calls: vec![ReplyCall { name: name.to_string(), arguments }], ..Reply::default() }
    }

    /// The same with `${input}` and `${case}` replaced in its texts.
    pub(crate) fn filled(&self, input: &str, case: &str) -> Reply {
        let fill = |text: &String| fill(text, input, case);
        Reply {
            text: self.text.as_ref().map(fill),
            refusal: self.refusal.as_ref().map(fill),
            body: self.body.as_ref().map(fill),
            ..self.clone()
        }
    }

    fn finish(&self) -> &str {
        match &self.finish_reason {
            Some(reason) => reason,
            None if self.tool_calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }

    fn usage_of(&self, request: &ChatRequest) -> Value {
        let words = |text: &str| text.split_whitespace().count() as u64;
        let usage = self.usage.unwrap_or_else(|| ReplyUsage {
            input_tokens: request.messages.iter().map(|message| words(&message.text())).sum(),
            output_tokens: self.text.as_deref().map_or(0, words),
        });
        json!({
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens.saturating_add(usage.output_tokens),
        })
    }

    fn wire_calls(&self) -> Vec<Value> {
        let wire = |(index, call): (usize, &ReplyCall)| {
            let arguments = match &call.arguments {
                Value::String(text) => text.clone(),
                Value::Null => "{}".to_string(),
                other => other.to_string(),
            };
            json!({
                "index": index, "id": format!("call_{}", index + 1), "type": "function",
                "function": { "name": call.name, "arguments": arguments },
            })
        };
        self.tool_calls.iter().enumerate().map(wire).collect()
    }

    /// The message of the reply, as a completion's `message` or a stream's only `delta`.
    fn message(&self) -> Map<String, Value> {
        let mut message = Map::new();
        message.insert("role".into(), "assistant".into());
        message.insert("content".into(), self.text.clone().map_or(Value::Null, Value::String));
        if let Some(refusal) = &self.refusal {
            message.insert("refusal".into(), Value::String(refusal.clone()));
        }
        if !self.tool_calls.is_empty() {
            message.insert("tool_calls".into(), Value::Array(self.wire_calls()));
        }
        message
    }

    /// The body of a completion.
    pub fn completion(&self, request: &ChatRequest) -> String {
        if let Some(body) = &self.body {
            return body.clone();
        }
        json!({
            "id": "chatcmpl-mock", "object": "chat.completion", "model": request.model,
            "choices": [{ "index": 0, "message": self.message(), "finish_reason": self.finish() }],
            "usage": self.usage_of(request),
        })
        .to_string()
    }

    /// The body of a stream of server-sent events: the text word by word, the tool calls, the end.
    pub fn stream(&self, request: &ChatRequest) -> String {
        if let Some(body) = &self.body {
            return body.clone();
        }
        let chunk = |delta: Value, finish: Value| {
            let chunk = json!({
                "id": "chatcmpl-mock", "object": "chat.completion.chunk", "model": request.model,
                "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
            });
            format!("data: {chunk}\n\n")
        };
        let mut first = self.message();
        let words = first.insert("content".into(), Value::Null);
        let mut events = chunk(Value::Object(first), Value::Null);
        for word in words.as_ref().and_then(Value::as_str).unwrap_or_default().split_inclusive(' ') {
            events += &chunk(json!({ "content": word }), Value::Null);
        }
        events += &chunk(json!({}), self.finish().into());
        let usage = json!({
            "id": "chatcmpl-mock", "object": "chat.completion.chunk", "model": request.model,
            "choices": [], "usage": self.usage_of(request),
        });
        events += &format!("data: {usage}\n\ndata: [DONE]\n\n");
        events
    }
}

/// Replaces the placeholders in one pass, so that a question that spells one is not filled itself.
fn fill(text: &str, input: &str, case: &str) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = [("${input}", input), ("${case}", case)].into_iter().find(|(name, _)| rest.starts_with(name));
        let (length, value) = known.map_or((2, &rest[..2]), |(name, value)| (name.len(), value));
        filled.push_str(value);
        rest = &rest[length..];
    }
    filled.push_str(rest);
    filled
}
