//! The table of evaluators: name, help, configuration, what is measured, and
//! the function. Everything that is said of an evaluator is said here once.

use crate::wit::{Description, Domain, EvaluatorDescription, Failure, Interval, Report, Request};
use crate::{contains, equals, json, latency, numeric, pattern, tools, words};
use serde::de::DeserializeOwned;

/// One evaluator.
pub struct Evaluator {
    /// Its name after `std/`.
    pub name: &'static str,
    /// One line for a person.
    pub help: &'static str,
    /// JSON Schema of its configuration.
    pub config_schema: &'static str,
    /// The unit of the number it measures, beside or instead of yes and no.
    pub number_unit: Option<&'static str>,
    /// Whether it measures yes or no.
    pub binary: bool,
    /// The examination.
    pub evaluate: fn(&Request) -> Result<Report, Failure>,
}

const fn binary(
    name: &'static str,
    help: &'static str,
    config_schema: &'static str,
    evaluate: fn(&Request) -> Result<Report, Failure>,
) -> Evaluator {
    Evaluator { name, help, config_schema, number_unit: None, binary: true, evaluate }
}

/// Every evaluator, in the order it is listed.
pub const ALL: [Evaluator; 10] = [
    binary("equals", equals::HELP, equals::CONFIG_SCHEMA, equals::evaluate),
    binary("contains", contains::HELP, contains::CONFIG_SCHEMA, contains::evaluate),
    binary("regex", pattern::HELP, pattern::CONFIG_SCHEMA, pattern::evaluate),
    binary("is-json", json::is_json::HELP, json::is_json::CONFIG_SCHEMA, json::is_json::evaluate),
    binary("json-path-equals", json::path_equals::HELP, json::path_equals::CONFIG_SCHEMA, json::path_equals::evaluate),
    binary("numeric-tolerance", numeric::HELP, numeric::CONFIG_SCHEMA, numeric::evaluate),
    binary("tool-called", tools::called::HELP, tools::called::CONFIG_SCHEMA, tools::called::evaluate),
    binary("tool-args-match", tools::args::HELP, tools::args::CONFIG_SCHEMA, tools::args::evaluate),
    Evaluator {
        name: "word-count",
        help: words::HELP,
        config_schema: words::CONFIG_SCHEMA,
        number_unit: Some("words"),
        binary: true,
        evaluate: words::evaluate,
    },
    Evaluator {
        name: "latency",
        help: latency::HELP,
        config_schema: latency::CONFIG_SCHEMA,
        number_unit: Some("ms"),
        binary: true,
        evaluate: latency::evaluate,
    },
];

/// What the component says of itself.
pub fn describe() -> Description {
    let evaluators = ALL.iter().map(|evaluator| EvaluatorDescription {
        name: evaluator.name.into(),
        help: evaluator.help.into(),
        config_schema: evaluator.config_schema.into(),
        measures: domains(evaluator),
    });
    Description { name: "std".into(), version: env!("CARGO_PKG_VERSION").into(), evaluators: evaluators.collect() }
}

fn domains(evaluator: &Evaluator) -> Vec<Domain> {
    let number = evaluator
        .number_unit
        .map(|unit| Domain::Number(Interval { lowest: Some(0.0), highest: None, unit: Some(unit.into()) }));
    evaluator.binary.then_some(Domain::Binary).into_iter().chain(number).collect()
}

/// Examines with the evaluator that the request names.
pub fn evaluate(request: &Request) -> Result<Report, Failure> {
    match ALL.iter().find(|evaluator| evaluator.name == request.evaluator) {
        Some(evaluator) => (evaluator.evaluate)(request),
        None => Err(Failure::Failed(format!("std has no evaluator {:?}", request.evaluator))),
    }
}

/// The binding's configuration; what was not given (`null`) is as `{}`.
pub fn config<C: DeserializeOwned>(request: &Request) -> Result<C, Failure> {
    let text = if request.config.trim() == "null" { "{}" } else { &request.config };
    serde_json::from_str(text).map_err(|error| Failure::Configuration(error.to_string()))
}
