//! What the command `tribunal evaluator` shows, as values: the list of
//! evaluators, one of them, and a try of one on an answer. No printing here.

use super::catalog::Catalog;
use super::config::ConfigProblem;
use super::examine::{self, Subject};
use super::reference::ReferenceError;
use super::sandbox::LogLine;
use super::standard;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use tribunal_schema::answer::{Answer, RawBody};
use tribunal_schema::case::Case;
use tribunal_schema::evaluation::{Description, EvaluationError, EvaluatorDescription, Report};
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::EvaluatorPin;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The reference leads to no evaluator.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The component can't be used.
    #[error("{reference} can't be used: {error}")]
    Component {
        /// As it was written.
        reference: String,
        /// Why.
        error: EvaluationError,
    },
    /// The configuration is wrong.
    #[error("the configuration is wrong:{}", lines(.0))]
    Config(Vec<ConfigProblem>),
    /// The case or the answer can't be read.
    #[error("{what} can't be read: {why}")]
    Subject {
        /// `the case` or `the answer`.
        what: &'static str,
        /// Why.
        why: String,
    },
}

fn lines(problems: &[ConfigProblem]) -> String {
    let line = |problem: &ConfigProblem| match problem.pointer.as_str() {
        "" => format!("\n  {}", problem.message),
        pointer => format!("\n  {pointer}: {}", problem.message),
    };
    problems.iter().map(line).collect()
}

/// What the standard component says of itself.
pub fn list(catalog: &Catalog) -> Description {
    let standard = catalog.component(&standard::DIGEST).and_then(Result::ok);
    standard.expect("a catalog opens with the standard component").description.clone()
}

/// One evaluator.
///
/// # Errors
/// When the reference leads to none that can be used.
pub async fn show(
    catalog: &Catalog,
    reference: &str,
    base: &Path,
) -> Result<(EvaluatorPin, EvaluatorDescription), InspectError> {
    let resolution = catalog.resolve(reference, base).await?;
    let unusable = |error| InspectError::Component { reference: reference.into(), error };
    Ok((resolution.pin, resolution.evaluator.map_err(unusable)?))
}

/// What a try of an evaluator came to.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What was tried.
    pub pin: EvaluatorPin,
    /// The report, or why there is none.
    pub result: Result<Report, EvaluationError>,
    /// The fuel it used.
    pub fuel: u64,
    /// What it logged.
    pub log: Vec<LogLine>,
}

/// Tries an evaluator on a case and an answer.
///
/// # Errors
/// When the reference or the configuration is wrong. What the evaluator comes to is in [`Tried`].
pub async fn test(
    catalog: &Catalog,
    reference: &str,
    base: &Path,
    config: JsonText,
    case: Case,
    answer: Answer,
    latency_ms: u64,
) -> Result<Tried, InspectError> {
    let (pin, _) = show(catalog, reference, base).await?;
    let problems = catalog.check_config(&pin, &config).await;
    if !problems.is_empty() {
        return Err(InspectError::Config(problems));
    }
    let unusable = |error| InspectError::Component { reference: reference.into(), error };
    let loaded = catalog.loaded(&pin).map_err(unusable)?;
    let (sandbox, permit) = (Arc::clone(catalog.sandbox()), catalog.sandbox().permit().await);
    let tried = pin.clone();
    let called = spawn_blocking(move || {
        let subject = Subject::of(&case, &answer, latency_ms);
        examine::one(&sandbox, &permit, &loaded, &tried, &subject, &config, &[])
    });
    let called = called.await.expect("an examination does not panic");
    Ok(Tried { pin, result: called.result, fuel: called.fuel, log: called.log })
}

/// A case from JSON, for a try: everything may be left out.
///
/// # Errors
/// When it is not an object, or a member has the wrong type.
pub fn case(json: &str) -> Result<Case, InspectError> {
    let why = |error: serde_json::Error| InspectError::Subject { what: "the case", why: error.to_string() };
    let mut members: Map<String, Value> = serde_json::from_str(json).map_err(why)?;
    members.entry("id").or_insert_with(|| "test".into());
    members.entry("input").or_insert_with(|| "".into());
    serde_json::from_value(Value::Object(members)).map_err(why)
}

/// An answer that is a text.
pub fn text_answer(text: &str) -> Answer {
    Answer {
        text: Some(text.into()),
        structured: None,
        tool_calls: Vec::new(),
        refusal: None,
        finish_reason: None,
        usage: None,
        raw: RawBody::Text(text.into()),
    }
}

/// An answer from JSON: `text`, `structured`, `tool_calls` and so on, each of which may be left out.
///
/// # Errors
/// When it is not an object, or a member has the wrong type.
pub fn json_answer(json: &str) -> Result<Answer, InspectError> {
    let why = |error: serde_json::Error| InspectError::Subject { what: "the answer", why: error.to_string() };
    let mut members: Map<String, Value> = serde_json::from_str(json).map_err(why)?;
    members.entry("raw").or_insert_with(|| serde_json::json!({ "text": json }));
    serde_json::from_value(Value::Object(members)).map_err(why)
}
