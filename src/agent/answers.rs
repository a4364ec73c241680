//! Answers from a dataset: an agent that is right because it was told.
//!
//! For each row the answer is what the row expects: a text as it is, the first
//! of a list, tool calls as tool calls, any other JSON as its text. A call is
//! recognised by its case id, or else by its conversation.

use crate::agent::AgentError;
use crate::agent::reply::{ChatRequest, Message, Reply, ReplyCall};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;

const IDS: [&str; 4] = ["id", "case_id", "question_id", "task_id"];
const INPUTS: [&str; 4] = ["input", "question", "prompt", "messages"];
const ANSWERS: [&str; 7] = ["expected", "expected_output", "ideal", "target", "reference", "answer", "ground_truth"];

/// What to answer to which case or conversation.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    by_case: HashMap<String, Reply>,
    by_talk: HashMap<String, Reply>,
}

impl Answers {
    /// Reads a JSONL dataset. `field` names the field of the answer; without it the
    /// first of the usual names counts. A row without id and input, or without an answer, is refused.
    pub fn read(path: &Path, field: Option<&str>) -> Result<Answers, AgentError> {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| AgentError::Unreadable { path: shown.clone(), source })?;
        Answers::parse(&text, field).map_err(|(line, message)| AgentError::Answers { path: shown, line, message })
    }

    fn parse(text: &str, field: Option<&str>) -> Result<Answers, (usize, String)> {
        let mut answers = Answers::default();
        let rows = text.trim_start_matches('\u{feff}').split('\n').enumerate();
        for (index, row) in rows.filter(|(_, row)| !row.trim().is_empty()) {
            answers.add(row, field).map_err(|message| (index + 1, message))?;
        }
        Ok(answers)
    }

    fn add(&mut self, row: &str, field: Option<&str>) -> Result<(), String> {
        let row: Map<String, Value> =
            serde_json::from_str(row).map_err(|error| format!("not a JSON object: {error}"))?;
        let first = |names: &[&str]| names.iter().find_map(|name| row.get(*name));
        let expected = match field {
            Some(field) => row.get(field).ok_or_else(|| format!("the row has no field {field:?}"))?,
            None => first(&ANSWERS).ok_or_else(|| format!("the row has none of {}", ANSWERS.join(", ")))?,
        };
        let (id, input) = (first(&IDS), first(&INPUTS));
        if id.is_none() && input.is_none() {
            return Err(format!("the row has neither {} nor {}", IDS.join(", "), INPUTS.join(", ")));
        }
        let reply = reply_of(expected);
        if let Some(id) = id {
            self.by_case.insert(id.as_str().map_or_else(|| id.to_string(), str::to_string), reply.clone());
        }
        if let Some(talk) = input.and_then(talk_of_input) {
            self.by_talk.insert(talk, reply);
        }
        Ok(())
    }

    /// The answer to a call, by its case, else by its conversation with or without a system message in front.
    pub(crate) fn reply_to(&self, case: &str, request: &ChatRequest) -> Option<&Reply> {
        if let Some(reply) = self.by_case.get(case) {
            return Some(reply);
        }
        let messages = request.messages.as_slice();
        let told = |messages: &[Message]| self.by_talk.get(&talk_of(messages));
        told(messages).or_else(|| {
            let (first, rest) = messages.split_first()?;
            (first.role == "system").then(|| told(rest)).flatten()
        })
    }
}

fn reply_of(expected: &Value) -> Reply {
    match expected {
        Value::String(text) => Reply::text(text),
        Value::Array(ideals) => ideals.first().map(reply_of).unwrap_or_default(),
        Value::Object(map) => {
            let calls = map.get("tool_calls").and_then(|calls| Vec::<ReplyCall>::deserialize(calls).ok());
            calls.map_or_else(
                || Reply::text(expected.to_string()),
                |tool_calls| Reply { tool_calls, ..Reply::default() },
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Reply::text(expected.to_string()),
    }
}

/// A conversation as one text; `None` for inputs that are neither a text nor messages.
fn talk_of_input(input: &Value) -> Option<String> {
    match input {
        Value::String(text) => Some(turn("user", text)),
        Value::Array(_) => Vec::<Message>::deserialize(input).ok().map(|messages| talk_of(&messages)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn talk_of(messages: &[Message]) -> String {
    messages.iter().map(|message| turn(&message.role, &message.text())).collect()
}

fn turn(role: &str, text: &str) -> String {
    format!("{role}\u{1f}{text}\u{1e}")
}
