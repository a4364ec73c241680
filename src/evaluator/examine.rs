//! The examination of one answer by all bindings of its group: one permit, one
//! hop to a blocking thread, one reading of case and answer, and then a fresh
//! store per binding, one after the other.

use super::bindings::wit;
use super::component::Loaded;
use super::report;
use super::sandbox::{Called, LogLine, Permit, Sandbox};
use serde_json::Value;
use std::sync::Arc;
use tribunal_actors::ports::evaluator::{Examination, Examined};
use tribunal_schema::answer::{Answer, RawBody};
use tribunal_schema::case::Case;
use tribunal_schema::evaluation::{EvaluationError, EvaluationErrorClass, QuestionReply, Report};
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::{Binding, EvaluatorPin};

/// The component of each binding, or why there is none.
pub type Components = Vec<Result<Arc<Loaded>, EvaluationError>>;

/// The bindings that examine an answer.
///
/// # Panics
/// When the examination names a group that its profile does not have.
pub fn bindings(examination: &Examination) -> &[Binding] {
    let group = examination.profile.groups.get(usize::from(examination.group));
    &group.expect("an examination names a group of its profile").bindings
}

/// Examines with every binding, in order. Blocks.
pub fn all(sandbox: &Sandbox, permit: &Permit, examination: &Examination, components: &Components) -> Vec<Examined> {
    let subject = Subject::of(&examination.case, &examination.answer, examination.latency_ms);
    let with = |(index, (binding, component)): (usize, (&Binding, &Result<Arc<Loaded>, EvaluationError>))| {
        let replies = examination.replies.get(index).map(Vec::as_slice).unwrap_or_default();
        let component = match component {
            Ok(component) => component,
            Err(error) => return Examined { result: Err(error.clone()), fuel: 0 },
        };
        let called = one(sandbox, permit, component, &binding.evaluator, &subject, &binding.config, replies);
        for LogLine { level, message } in &called.log {
            tracing::debug!(case = %examination.case.id, binding = %binding.id, level, message, "evaluator said");
        }
        Examined { result: called.result, fuel: called.fuel }
    };
    bindings(examination).iter().zip(components).enumerate().map(with).collect()
}

/// Examines with one evaluator. Blocks.
pub fn one(
    sandbox: &Sandbox,
    permit: &Permit,
    component: &Loaded,
    pin: &EvaluatorPin,
    subject: &Subject<'_>,
    config: &JsonText,
    replies: &[QuestionReply],
) -> Called<Report> {
    let Some(description) = component.evaluator(&pin.name) else {
        let message = format!("component {} has no evaluator {:?}", pin.component.short(), pin.name);
        let error = EvaluationError { class: EvaluationErrorClass::Component, message };
        return Called { result: Err(error), fuel: 0, log: Vec::new() };
    };
    let calls = subject.calls();
    let replies: Vec<wit::Reply<'_>> =
        replies.iter().map(|reply| wit::Reply { id: &reply.id, text: &reply.text }).collect();
    let request = subject.request(&pin.name, config.text(), &calls, &replies);
    let called = sandbox.call(permit, component.pre(), |evaluator, store| evaluator.call_evaluate(store, request));
    let limits = sandbox.limits();
    let result = called.result.and_then(|answered| match answered {
        Ok(report) => report::accept(report, &description.measures, limits),
        Err(failure) => Err(report::failure(failure, limits)),
    });
    Called { result, fuel: called.fuel, log: called.log }
}

/// A case and an answer with their JSON written out once, for all bindings.
pub struct Subject<'a> {
    case: &'a Case,
    answer: &'a Answer,
    latency_ms: u64,
    input: String,
    expected: Option<String>,
    context: Option<String>,
    metadata: String,
    tags: Vec<&'a str>,
    structured: Option<String>,
    arguments: Vec<String>,
}

impl<'a> Subject<'a> {
    /// Writes out a case and an answer.
    pub fn of(case: &'a Case, answer: &'a Answer, latency_ms: u64) -> Subject<'a> {
        let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        Subject {
            case,
            answer,
            latency_ms,
            input: case.input.to_string(),
            expected: text(&case.expected),
            context: text(&case.context),
            metadata: serde_json::to_string(&case.metadata).expect("a map of JSON values is JSON"),
            tags: case.tags.iter().map(String::as_str).collect(),
            structured: text(&answer.structured),
            arguments: answer.tool_calls.iter().map(|call| call.arguments.to_string()).collect(),
        }
    }

    fn calls(&self) -> Vec<wit::ToolCall<'_>> {
        let mut calls = Vec::with_capacity(self.arguments.len());
        for (call, arguments) in self.answer.tool_calls.iter().zip(&self.arguments) {
            let (id, arguments_error) = (call.id.as_deref(), call.arguments_error.as_deref());
            calls.push(wit::ToolCall { id, name: &call.name, arguments, arguments_error });
        }
        calls
    }

    fn request<'r>(
        &'r self,
        evaluator: &'r str,
        config: &'r str,
        tool_calls: &'r [wit::ToolCall<'r>],
        replies: &'r [wit::Reply<'r>],
    ) -> wit::Request<'r> {
        let (case, answer) = (self.case, self.answer);
        let usage = answer
            .usage
            .map(|usage| wit::Usage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens });
        wit::Request {
            evaluator,
            case: wit::Case {
                id: &case.id,
                input: &self.input,
                expected: self.expected.as_deref(),
                context: self.context.as_deref(),
                task_type: case.task_type.as_deref(),
                group: case.group.as_deref(),
                tags: &self.tags,
                metadata: &self.metadata,
            },
            answer: wit::Answer {
                text: answer.text.as_deref(),
                structured: self.structured.as_deref(),
                tool_calls,
                // No target kind reports its steps yet.
                trace: None,
                refusal: answer.refusal.as_deref(),
                finish_reason: answer.finish_reason.as_deref(),
                usage,
                latency_ms: self.latency_ms,
                raw: match &answer.raw {
                    RawBody::Text(text) => wit::RawBody::Text(text),
                    RawBody::Base64(text) => wit::RawBody::Base64(text),
                },
            },
            config,
            replies,
        }
    }
}
