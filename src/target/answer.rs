//! From the body of a 2xx response to an answer, or to the first check that it fails:
//! parse (or truncated), error-in-body, shape, empty.
//!
//! The error is looked for before the shape, because a body that carries an error
//! seldom has the shape of an answer and the error is what people need to see.
//! A refusal and an answer cut by the token limit are answers: judging them is the
//! evaluators' business.

use super::content::{Content, kind};
use super::failure::{Fault, named, raw};
use super::json;
use hyper::StatusCode;
use serde_json::{Map, Value};
use tribunal_schema::answer::{Answer, FailureClass, Usage};

/// Where a body came from.
pub(super) struct Origin<'a> {
    pub(super) status: StatusCode,
    /// The URL as it is shown.
    pub(super) url: &'a str,
    /// Whether only the end of the connection said where the body ends.
    pub(super) ended_by_close: bool,
}

impl Origin<'_> {
    fn fault(&self, class: FailureClass, message: String, body: &[u8]) -> Fault {
        Fault::after_head(class, self.status, message).with_body(body)
    }
}

/// Reads the body of a chat completion.
pub(super) fn read_answer(body: &[u8], from: &Origin<'_>) -> Result<Answer, Fault> {
    let url = from.url;
    if body.is_empty() {
        let message = format!("{} from {url} with an empty body", named(from.status));
        return Err(from.fault(FailureClass::Empty, message, body));
    }
    let value = json::read(body).map_err(|error| match error.cut && from.ended_by_close {
        true => {
            let message = format!("the body from {url} broke off after {} bytes ({})", body.len(), error.why);
            from.fault(FailureClass::Truncated, message, body)
        }
        false => from.fault(FailureClass::Parse, format!("no JSON from {url} ({})", error.why), body),
    })?;
    if has_error(&value) {
        let message = format!("{} from {url} with an error in the body", named(from.status));
        return Err(from.fault(FailureClass::ErrorInBody, message, body));
    }
    let shape = |why: String| from.fault(FailureClass::Shape, format!("no chat completion from {url}: {why}"), body);
    let choice = first_choice(&value).map_err(shape)?;
    let content = message(choice).and_then(Content::read).map_err(shape)?;
    let finish_reason = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    if content.is_empty() {
        let reason = finish_reason.map(|reason| format!(" (finish_reason {reason:?})")).unwrap_or_default();
        let message = format!("an answer from {url} with neither text nor tool call{reason}");
        return Err(from.fault(FailureClass::Empty, message, body));
    }
    Ok(Answer {
        text: content.text,
        structured: None,
        tool_calls: content.tool_calls,
        refusal: content.refusal,
        finish_reason,
        usage: usage(value.get("usage")),
        raw: raw(body),
    })
}

/// An error under a 2xx status: a non-empty `error` at the top or in the first
/// choice, or an object that calls itself one. `"error": null` and `false` are none.
fn has_error(value: &Value) -> bool {
    let choice = value.get("choices").and_then(|choices| choices.get(0));
    let told = [value.get("error"), choice.and_then(|choice| choice.get("error"))];
    let is_told = |error: &Value| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    };
    told.into_iter().flatten().any(is_told) || value.get("object").and_then(Value::as_str) == Some("error")
}

fn first_choice(value: &Value) -> Result<&Map<String, Value>, String> {
    let Value::Object(body) = value else { return Err(format!("it is {}, not an object", kind(value))) };
    match body.get("choices") {
        None | Some(Value::Null) => Err("it has no `choices`".into()),
        Some(Value::Array(choices)) => match choices.first() {
            None => Err("its `choices` are empty".into()),
            Some(Value::Object(choice)) => Ok(choice),
            Some(other) => Err(format!("`choices[0]` is {}, not an object", kind(other))),
        },
        Some(other) => Err(format!("`choices` is {}, not a list", kind(other))),
    }
}

fn message(choice: &Map<String, Value>) -> Result<&Map<String, Value>, String> {
    match choice.get("message") {
        None | Some(Value::Null) => Err("`choices[0]` has no `message`".into()),
        Some(Value::Object(message)) => Ok(message),
        Some(other) => Err(format!("`choices[0].message` is {}, not an object", kind(other))),
    }
}

/// Token counts, under either of their names. What is missing or no count is unknown.
fn usage(usage: Option<&Value>) -> Option<Usage> {
    let count = |names: [&str; 2]| names.iter().find_map(|name| usage?.get(name)?.as_u64());
    let usage = Usage {
        input_tokens: count(["prompt_tokens", "input_tokens"]),
        output_tokens: count(["completion_tokens", "output_tokens"]),
    };
    (usage.input_tokens.is_some() || usage.output_tokens.is_some()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tribunal_schema::answer::RawBody;

    const FROM: Origin<'_> = Origin { status: StatusCode::OK, url: "http://agent/", ended_by_close: false };

    fn read(body: Value) -> Result<Answer, Fault> {
        read_answer(body.to_string().as_bytes(), &FROM)
    }

    fn completion(message: Value) -> Value {
        json!({"choices": [{"message": message, "finish_reason": "stop"}]})
    }

    #[test]
    fn an_answer_keeps_what_the_target_said() {
        let mut body = completion(json!({"content": "hi\0", "refusal": null}));
        body["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 0});
        body["error"] = json!(null);
        let answer = read(body.clone()).unwrap();
        assert_eq!(answer.text.as_deref(), Some("hi\0"));
        assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
        assert_eq!(answer.usage, Some(Usage { input_tokens: Some(3), output_tokens: Some(0) }));
        assert_eq!(answer.raw, RawBody::Text(body.to_string()));
    }

    #[test]
    fn unknown_usage_is_none_and_never_zero() {
        for usage in [json!(null), json!({}), json!({"prompt_tokens": -1}), json!({"prompt_tokens": "3"}), json!(7)] {
            let mut body = completion(json!({"content": "hi"}));
            body["usage"] = usage;
            assert_eq!(read(body).unwrap().usage, None);
        }
        assert_eq!(read(completion(json!({"content": "hi"}))).unwrap().usage, None);
    }

    #[test]
    fn a_refusal_and_a_cut_answer_are_answers() {
        let refused = read(completion(json!({"content": null, "refusal": "I can't."}))).unwrap();
        assert_eq!((refused.text, refused.refusal.as_deref()), (None, Some("I can't.")));
        let cut = json!({"choices": [{"message": {"content": "Once"}, "finish_reason": "length"}]});
        assert_eq!(read(cut).unwrap().finish_reason.as_deref(), Some("length"));
    }

    #[test]
    fn each_failing_check_has_its_class_and_words() {
        use FailureClass::{Empty, ErrorInBody, Shape};
        for (body, class, words) in [
            (json!([]), Shape, "it is a list"),
            (json!({}), Shape, "no `choices`"),
            (json!({"choices": []}), Shape, "are empty"),
            (json!({"choices": {}}), Shape, "`choices` is an object"),
            (json!({"choices": [1]}), Shape, "`choices[0]` is a number"),
            (json!({"choices": [{"text": "legacy"}]}), Shape, "no `message`"),
            (json!({"choices": [{"message": "hi"}]}), Shape, "`choices[0].message` is a text"),
            (completion(json!({"content": 1})), Shape, "`message.content` is a number"),
            (completion(json!({"content": ""})), Empty, "finish_reason \"stop\""),
            (json!({"error": {"message": "quota"}}), ErrorInBody, "error in the body"),
            (json!({"error": "quota", "choices": []}), ErrorInBody, "error in the body"),
            (json!({"object": "error", "message": "quota"}), ErrorInBody, "error in the body"),
            (json!({"choices": [{"error": {"code": 502}}]}), ErrorInBody, "error in the body"),
        ] {
            let fault = read(body).unwrap_err();
            assert_eq!(fault.class, class, "{}", fault.message);
            assert!(fault.message.contains(words), "{}", fault.message);
            assert!(fault.response_received);
        }
        for none in [json!(null), json!(false), json!(""), json!({})] {
            let mut body = completion(json!({"content": "hi"}));
            body["error"] = none;
            assert!(read(body).is_ok());
        }
    }

    #[test]
    fn a_body_cut_by_the_end_of_the_connection_is_truncated_and_otherwise_unparsable() {
        let class =
            |ended_by_close, body: &[u8]| read_answer(body, &Origin { ended_by_close, ..FROM }).unwrap_err().class;
        assert_eq!(class(true, b"{\"choices\":["), FailureClass::Truncated);
        assert_eq!(class(false, b"{\"choices\":["), FailureClass::Parse);
        assert_eq!(class(true, b"<html>"), FailureClass::Parse);
        assert_eq!(class(true, b""), FailureClass::Empty);
    }
}
