//! `contains`: the answer has certain texts in it.

use crate::catalog::config;
use crate::expected::{as_text, candidates};
use crate::finding::{abstain, listed, no, nothing_expected, quoted, yes};
use crate::text::comparable;
use crate::wit::{Failure, Report, Request};
use serde::Deserialize;
use serde_json::{Value, json};

/// One line for a person.
pub const HELP: &str = "the answer contains the expected text, any of several, or all of several";

/// JSON Schema of the configuration.
pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "value": {"type": "string", "minLength": 1, "description": "The text; the case's expected where neither this nor any nor all is given."},
    "any": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}, "description": "One of these texts is enough."},
    "all": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}, "description": "Each of these texts is needed."},
    "ignore_case": {"type": "boolean", "default": false, "description": "Whether upper and lower case are the same."}
  }
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    value: Option<String>,
    any: Option<Vec<String>>,
    all: Option<Vec<String>>,
    #[serde(default)]
    ignore_case: bool,
}

/// The examination.
pub fn evaluate(request: &Request) -> Result<Report, Failure> {
    let config: Config = config(request)?;
    let ignore_case = config.ignore_case;
    match wanted(request, config)? {
        Wanted::Texts { any, all } => report(request.answer.text.as_deref(), &any, &all, ignore_case),
        Wanted::Nothing(abstention) => abstention,
    }
}

/// What is looked for.
enum Wanted {
    Texts { any: Vec<String>, all: Vec<String> },
    Nothing(Result<Report, Failure>),
}

fn wanted(request: &Request, config: Config) -> Result<Wanted, Failure> {
    let configured = config.any.is_some() || config.all.is_some() || config.value.is_some();
    let all: Vec<String> = config.all.into_iter().flatten().chain(config.value).collect();
    let any = if configured {
        config.any.unwrap_or_default()
    } else {
        let values = candidates(request, None)?;
        if values.is_empty() {
            return Ok(Wanted::Nothing(nothing_expected()));
        }
        match values.iter().map(as_text).collect() {
            Some(texts) => texts,
            None => {
                return Ok(Wanted::Nothing(abstain(
                    "the case expects an object or a list, not a text that an answer could contain",
                )));
            }
        }
    };
    if all.iter().chain(&any).any(String::is_empty) {
        return Ok(Wanted::Nothing(abstain("an empty text is in every answer: there is nothing to look for")));
    }
    Ok(Wanted::Texts { any, all })
}

fn report(answer: Option<&str>, any: &[String], all: &[String], ignore_case: bool) -> Result<Report, Failure> {
    let haystack = comparable(answer.unwrap_or_default(), ignore_case);
    let found = |text: &&String| haystack.contains(&*comparable(text, ignore_case));
    let values = |texts: Vec<&String>| texts.into_iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();

    let missing = values(all.iter().filter(|text| !found(text)).collect());
    let hit = any.iter().find(found);
    if !missing.is_empty() {
        let message = format!("the answer does not contain {}", listed(&missing, "and"));
        return no("missing-text", message, json!({ "missing": missing, "answer": quoted(answer) }));
    }
    if hit.is_none() && !any.is_empty() {
        let wanted = values(any.iter().collect());
        let which = if wanted.len() == 1 { "" } else { "any of " };
        let message = format!("the answer does not contain {which}{}", listed(&wanted, "or"));
        return no("missing-text", message, json!({ "missing": wanted, "answer": quoted(answer) }));
    }
    let contained = values(all.iter().chain(hit).collect());
    yes(
        "contained-text",
        format!("the answer contains {}", listed(&contained, "and")),
        json!({ "contains": contained }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Given, abstained, measured, message};

    #[test]
    fn any_needs_one_and_all_need_each() {
        let with = |config: &str| Given::text("Paris is in France").config(config).run(evaluate);
        assert!(measured(with(r#"{"any":["Rome","Paris"]}"#)));
        assert!(!measured(with(r#"{"all":["Rome","Paris"]}"#)));
        assert!(measured(with(r#"{"all":["France","Paris"],"any":["is"]}"#)));
        assert!(!measured(with(r#"{"value":"Rome","any":["Paris"]}"#)));
        assert_eq!(
            message(with(r#"{"all":["Rome","Paris","Bonn"]}"#)),
            r#"the answer does not contain "Rome" and "Bonn""#
        );
    }

    #[test]
    fn the_expected_of_the_case_is_a_text_a_number_or_any_of_a_list() {
        assert!(measured(Given::text("It is 42.").expected("42").run(evaluate)));
        assert!(measured(Given::text("Ja, Rom.").expected(r#"["Roma", "Rom"]"#).run(evaluate)));
        assert!(abstained(Given::text("x").expected(r#"{"a":1}"#).run(evaluate)).contains("object"));
        assert!(abstained(Given::text("x").run(evaluate)).contains("no expected"));
        assert!(abstained(Given::text("x").expected(r#""""#).run(evaluate)).contains("empty"));
        assert!(abstained(Given::text("x").expected("[]").run(evaluate)).contains("no expected"));
    }

    #[test]
    fn case_is_ignored_in_every_script_when_told_so() {
        let config = r#"{"ignore_case":true}"#;
        assert!(measured(Given::text("Die STRASSE").expected(r#""straße""#).config(config).run(evaluate)));
        assert!(!measured(Given::text("Die STRASSE").expected(r#""straße""#).run(evaluate)));
    }

    #[test]
    fn a_pure_tool_call_contains_no_text() {
        assert!(!measured(Given::nothing().expected(r#""x""#).run(evaluate)));
    }
}
