//! `latency`: how long the target took, as it was recorded. Judging a stored
//! answer again gives the same number.

use crate::catalog::config;
use crate::finding::{no, number, yes};
use crate::wit::{Failure, Report, Request};
use serde::Deserialize;
use serde_json::json;

/// One line for a person.
pub const HELP: &str = "how long the target took: a number of milliseconds, or yes and no when max_ms is given";

/// JSON Schema of the configuration.
pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_ms": {"type": "integer", "minimum": 0, "description": "Makes it yes up to this many milliseconds, no above them."}
  }
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    max_ms: Option<u64>,
}

/// The examination.
pub fn evaluate(request: &Request) -> Result<Report, Failure> {
    let config: Config = config(request)?;
    let took = request.answer.latency_ms;
    match config.max_ms {
        None => number(took, "ms"),
        Some(max) if took <= max => yes(
            "in-time",
            format!("answered in {took} ms, at most {max} ms"),
            json!({ "latency_ms": took, "max_ms": max }),
        ),
        Some(max) => no(
            "too-slow",
            format!("expected at most {max} ms, took {took} ms"),
            json!({ "latency_ms": took, "max_ms": max }),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Given, counted, measured};

    #[test]
    fn it_is_a_number_unless_a_bound_is_given() {
        assert_eq!(counted(Given::text("x").latency_ms(431).run(evaluate)), (431.0, Some("ms".into())));
        assert!(measured(Given::text("x").latency_ms(431).config(r#"{"max_ms":431}"#).run(evaluate)));
        assert!(!measured(Given::text("x").latency_ms(432).config(r#"{"max_ms":431}"#).run(evaluate)));
    }
}
