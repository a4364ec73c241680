//! The configuration of a binding, checked before the target is called: by the
//! evaluator's JSON Schema, with all that is wrong at once, and then by a trial
//! on an empty answer, because a schema cannot tell a wrong regular expression.

use jsonschema::{PatternOptions, Validator};
use tribunal_schema::evaluation::EvaluatorDescription;
use tribunal_schema::json::JsonText;

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigProblem {
    /// Where, as a JSON pointer within `with:`; empty for the whole.
    pub pointer: String,
    /// What, in a sentence.
    pub message: String,
}

/// A compiled schema.
pub struct Schema(Validator);

impl Schema {
    /// Compiles the schema of an evaluator. Patterns run on a linear-time engine:
    /// they are a stranger's too.
    pub(super) fn compile(evaluator: &EvaluatorDescription) -> Result<Schema, String> {
        let schema = evaluator.config_schema.value();
        let validator = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map_err(|error| format!("the configuration schema of {} is no JSON Schema: {error}", evaluator.name))?;
        Ok(Schema(validator))
    }

    /// All that is wrong with a configuration, in the schema's order; `null` is as `{}`.
    pub fn check(&self, config: &JsonText) -> Vec<ConfigProblem> {
        let value = config.value();
        let value = if value.is_null() { serde_json::json!({}) } else { value };
        let problem = |error: jsonschema::ValidationError<'_>| ConfigProblem {
            pointer: error.instance_path().to_string(),
            message: error.to_string(),
        };
        self.0.iter_errors(&value).map(problem).collect()
    }
}
