//! Requests in a line, for the tests of this package.

use crate::wit::{Answer, Case, Failure, Measurement, Outcome, RawBody, Report, Request, ToolCall};

/// What an evaluator is given.
pub struct Given(Request);

impl Given {
    fn answer(text: Option<&str>, structured: Option<&str>) -> Given {
        let case = Case {
            id: "case".into(),
            input: r#""question""#.into(),
            expected: None,
            context: None,
            task_type: None,
            group: None,
            tags: Vec::new(),
            metadata: "{}".into(),
        };
        let answer = Answer {
            text: text.map(str::to_owned),
            structured: structured.map(str::to_owned),
            tool_calls: Vec::new(),
            trace: None,
            refusal: None,
            finish_reason: None,
            usage: None,
            latency_ms: 0,
            raw: RawBody::Text(String::new()),
        };
        Given(Request { evaluator: String::new(), case, answer, config: "null".into(), replies: Vec::new() })
    }

    /// An answer that is a text.
    pub fn text(text: &str) -> Given {
        Given::answer(Some(text), None)
    }

    /// An answer that is a structure.
    pub fn structured(json: &str) -> Given {
        Given::answer(None, Some(json))
    }

    /// An answer with neither.
    pub fn nothing() -> Given {
        Given::answer(None, None)
    }

    /// An answer of tool calls.
    pub fn calls(calls: &[(&str, &str)]) -> Given {
        let mut given = Given::nothing();
        let call = |(name, arguments): &(&str, &str)| ToolCall {
            id: None,
            name: (*name).into(),
            arguments: (*arguments).into(),
            arguments_error: None,
        };
        given.0.answer.tool_calls = calls.iter().map(call).collect();
        given
    }

    /// The last call's arguments could not be parsed.
    pub fn unparsed(mut self, why: &str) -> Given {
        self.0.answer.tool_calls.last_mut().expect("a call").arguments_error = Some(why.into());
        self
    }

    /// The case's expected, as JSON.
    pub fn expected(mut self, json: &str) -> Given {
        self.0.case.expected = Some(json.into());
        self
    }

    /// The configuration, as JSON.
    pub fn config(mut self, json: &str) -> Given {
        self.0.config = json.into();
        self
    }

    /// How long the target took.
    pub fn latency_ms(mut self, latency_ms: u64) -> Given {
        self.0.answer.latency_ms = latency_ms;
        self
    }

    /// Examines.
    pub fn run(self, evaluate: fn(&Request) -> Result<Report, Failure>) -> Result<Report, Failure> {
        evaluate(&self.0)
    }
}

/// Whether it measured a yes; fails when it measured nothing of the kind, or gave no reason.
pub fn measured(result: Result<Report, Failure>) -> bool {
    let report = result.expect("a report");
    assert!(!report.findings.is_empty(), "a yes or no has its reason");
    match report.outcome {
        Outcome::Measured(Measurement::Binary(value)) => value,
        other => panic!("{other:?}"),
    }
}

/// The number it measured.
pub fn counted(result: Result<Report, Failure>) -> (f64, Option<String>) {
    match result.expect("a report").outcome {
        Outcome::Measured(Measurement::Number(quantity)) => (quantity.value, quantity.unit),
        other => panic!("{other:?}"),
    }
}

/// Why it abstained.
pub fn abstained(result: Result<Report, Failure>) -> String {
    match result.expect("a report").outcome {
        Outcome::Abstained(reason) => reason,
        other => panic!("{other:?}"),
    }
}

/// The first finding's message.
pub fn message(result: Result<Report, Failure>) -> String {
    result.expect("a report").findings.swap_remove(0).message
}
