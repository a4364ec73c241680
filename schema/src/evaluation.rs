//! Evaluation: what an evaluator is asked, what it reports, and what the host
//! makes of it. The WIT of the same words is `schema/wit/evaluator.wit`.

use crate::json::{Decimal, JsonText};
use crate::units::ScorePpm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an evaluator measured. It never scores: the host maps a measurement to a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measurement {
    /// Yes or no.
    Binary(bool),
    /// A number, with the unit it is in when it has one (`ms`, `words`).
    Number {
        /// The value.
        value: Decimal,
        /// Its unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// One of a set of labels.
    Label(String),
}

/// What a binding said of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It measured, and the host scored the measurement.
    Measured {
        /// What it measured.
        measurement: Measurement,
        /// The score, after mapping and `not`.
        score_ppm: ScorePpm,
        /// Whether the score reaches the binding's `pass_at`.
        passed: bool,
    },
    /// It had nothing to say.
    Abstained {
        /// Why.
        reason: String,
    },
    /// It failed.
    Errored {
        /// What kind of failure.
        class: EvaluationErrorClass,
        /// In words.
        message: String,
    },
}

/// Why an evaluator has no outcome of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationErrorClass {
    /// It used up its fuel: the repeatable budget, final.
    Fuel,
    /// It ran past its wall-clock limit: the safety net, another try may pass.
    Deadline,
    /// It asked for more memory than it may have.
    Memory,
    /// It asked for more table elements or instances than it may have.
    Resources,
    /// It used up its stack.
    Stack,
    /// It trapped.
    Trap,
    /// It logged more than it may.
    LogFlood,
    /// It returned a failure of its own.
    Failed,
    /// It rejected its configuration.
    Configuration,
    /// What it returned breaks the contract (wrong JSON, too many findings, a label or number outside its domain).
    Contract,
    /// It could not be instantiated, or is not an evaluator component.
    Component,
    /// It asked a judge, and no judge is configured or the judge failed.
    Judge,
}

impl EvaluationErrorClass {
    /// The class as it is written in events and reports.
    pub const fn name(self) -> &'static str {
        match self {
            EvaluationErrorClass::Fuel => "fuel",
            EvaluationErrorClass::Deadline => "deadline",
            EvaluationErrorClass::Memory => "memory",
            EvaluationErrorClass::Resources => "resources",
            EvaluationErrorClass::Stack => "stack",
            EvaluationErrorClass::Trap => "trap",
            EvaluationErrorClass::LogFlood => "log-flood",
            EvaluationErrorClass::Failed => "failed",
            EvaluationErrorClass::Configuration => "configuration",
            EvaluationErrorClass::Contract => "contract",
            EvaluationErrorClass::Component => "component",
            EvaluationErrorClass::Judge => "judge",
        }
    }
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Worth a look.
    Warning,
    /// Why something did not pass.
    Error,
}

/// One observation of an evaluator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How grave it is.
    pub severity: Severity,
    /// A short stable word: `missing-text`, `wrong-argument`.
    pub category: String,
    /// A sentence for a person.
    pub message: String,
    /// What it rests on, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<JsonText>,
}

/// A question that an evaluator has for a judge model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The evaluator's name for the question, unique among those of one call.
    pub id: String,
    /// What the judge is told first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The question.
    pub prompt: String,
}

/// What a judge model replied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionReply {
    /// The question's id.
    pub id: String,
    /// The reply's text.
    pub text: String,
}

/// What an evaluator returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its word on the answer.
    pub said: Said,
    /// Its observations, in its order.
    pub findings: Vec<Finding>,
}

/// An evaluator's word on an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It measured.
    Measured(Measurement),
    /// It has nothing to say, and why.
    Abstained(String),
    /// It wants a judge's replies first.
    Ask(Vec<Question>),
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", .class.name())]
pub struct EvaluationError {
    /// The kind.
    pub class: EvaluationErrorClass,
    /// In words.
    pub message: String,
}

/// What a component says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The component's name: `std`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its evaluators.
    pub evaluators: Vec<EvaluatorDescription>,
}

/// One evaluator of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluatorDescription {
    /// Its name within the component: `contains`.
    pub name: String,
    /// One line for a person.
    pub help: String,
    /// A JSON Schema of its configuration.
    pub config_schema: JsonText,
    /// What it may measure, at least one; anything else it returns is errored.
    pub measures: Vec<Domain>,
}

/// Something that an evaluator may measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// Yes or no.
    Binary,
    /// A number within bounds; an open side has none.
    Number {
        /// The lowest value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lowest: Option<Decimal>,
        /// The highest value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        highest: Option<Decimal>,
        /// The unit that the number is in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// One of these labels.
    Labels(Vec<String>),
}

impl Domain {
    /// Whether a measurement is within this domain.
    pub fn holds(&self, measurement: &Measurement) -> bool {
        match (self, measurement) {
            (Domain::Binary, Measurement::Binary(_)) => true,
            (Domain::Number { lowest, highest, unit: domain_unit }, Measurement::Number { value, unit }) => {
                domain_unit == unit
                    && lowest.is_none_or(|lowest| *value >= lowest)
                    && highest.is_none_or(|highest| *value <= highest)
            }
            (Domain::Labels(labels), Measurement::Label(label)) => labels.contains(label),
            (Domain::Binary | Domain::Number { .. } | Domain::Labels(_), _) => false,
        }
    }
}
