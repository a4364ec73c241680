//! `regex`: the answer matches a pattern. The engine takes time in proportion
//! to the answer whatever the pattern is, and has no backreferences.

use crate::catalog::config;
use crate::expected::{as_text, candidates};
use crate::finding::{abstain, cut, no, nothing_expected, quoted, shown, yes};
use crate::wit::{Failure, Report, Request};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

/// One line for a person.
pub const HELP: &str = "the answer's text matches a regular expression (linear-time, Unicode, no backreferences)";

/// JSON Schema of the configuration.
pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "The expression; the case's expected where it is not given (any of a list)."},
    "ignore_case": {"type": "boolean", "default": false, "description": "Whether upper and lower case are the same, as (?i)."},
    "whole": {"type": "boolean", "default": false, "description": "Whether the whole text must match, not a part of it."}
  }
}"#;

/// The largest compiled expression, in bytes: compiling it must leave fuel for the answer.
const COMPILED_BYTES_MAX: usize = 2 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    pattern: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    whole: bool,
}

impl Config {
    fn compile(&self, pattern: &str) -> Result<Regex, String> {
        // Compiled as written first: wrapping must not turn a wrong pattern into a right one.
        let plain = self.build(pattern)?;
        if !self.whole {
            return Ok(plain);
        }
        // The second form is for a pattern of `(?x)` that ends in a comment.
        self.build(&format!(r"\A(?:{pattern})\z")).or_else(|_| self.build(&format!("\\A(?:{pattern}\n)\\z")))
    }

    fn build(&self, pattern: &str) -> Result<Regex, String> {
        let mut builder = RegexBuilder::new(pattern);
        builder.case_insensitive(self.ignore_case).size_limit(COMPILED_BYTES_MAX);
        builder
            .build()
            .map_err(|error| format!("{} is not a usable regular expression: {error}", shown(&pattern.into())))
    }
}

/// The examination.
pub fn evaluate(request: &Request) -> Result<Report, Failure> {
    let config: Config = config(request)?;
    if let Some(pattern) = &config.pattern {
        let regex = config.compile(pattern).map_err(Failure::Configuration)?;
        return report(request, &[(pattern.clone(), regex)]);
    }
    let values = candidates(request, None)?;
    if values.is_empty() {
        return nothing_expected();
    }
    let Some(patterns) = values.iter().map(as_text).collect::<Option<Vec<String>>>() else {
        return abstain("the case expects an object or a list of lists, not a regular expression");
    };
    let compile = |pattern: String| Ok((pattern.clone(), config.compile(&pattern)?));
    let compiled = patterns.into_iter().map(compile).collect::<Result<Vec<_>, String>>();
    report(request, &compiled.map_err(|error| Failure::Failed(format!("the case's expected: {error}")))?)
}

fn report(request: &Request, patterns: &[(String, Regex)]) -> Result<Report, Failure> {
    let text = request.answer.text.as_deref().unwrap_or_default();
    let hit = patterns.iter().find_map(|(pattern, regex)| Some((pattern, regex.find(text)?)));
    if let Some((pattern, found)) = hit {
        let at = text[..found.start()].chars().count();
        let matched = cut(found.as_str(), 80);
        let message = format!("{matched:?} at character {at} matches {pattern:?}");
        return yes("matched-pattern", message, json!({ "pattern": pattern, "matched": matched, "at_character": at }));
    }
    let wanted: Vec<Value> = patterns.iter().map(|(pattern, _)| pattern.as_str().into()).collect();
    let message = format!("the answer does not match {}", crate::finding::listed(&wanted, "or"));
    no("no-match", message, json!({ "patterns": wanted, "answer": quoted(request.answer.text.as_deref()) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Given, abstained, measured, message};

    #[test]
    fn a_part_matches_unless_the_whole_is_asked_for() {
        let with = |config: &str| Given::text("Thank you").config(config).run(evaluate);
        assert!(measured(with(r#"{"pattern":"(?i)please|thank"}"#)));
        assert!(!measured(with(r#"{"pattern":"thank"}"#)));
        assert!(!measured(with(r#"{"pattern":"Thank","whole":true}"#)));
        assert!(measured(with(r#"{"pattern":"x|thank.*|y","whole":true,"ignore_case":true}"#)));
        assert!(measured(with(r#"{"pattern":"(?x) Thank .* # politely","whole":true}"#)));
    }

    #[test]
    fn classes_know_unicode() {
        assert!(measured(Given::text("Привет").config(r#"{"pattern":"^\\p{Cyrillic}+$"}"#).run(evaluate)));
        assert!(measured(Given::text("naïve").config(r#"{"pattern":"^\\w+$"}"#).run(evaluate)));
    }

    #[test]
    fn a_wrong_pattern_is_a_matter_of_configuration_even_without_an_answer() {
        for pattern in [r#"{"pattern":"(a"}"#, r#"{"pattern":"a)|(b","whole":true}"#, r#"{"pattern":"(a)\\1"}"#] {
            let result = Given::nothing().config(pattern).run(evaluate);
            assert!(matches!(result, Err(Failure::Configuration(_))), "{pattern}");
        }
    }

    #[test]
    fn the_pattern_may_come_from_the_case() {
        assert!(measured(Given::text("b").expected(r#"["^a$","^b$"]"#).run(evaluate)));
        assert!(abstained(Given::text("b").run(evaluate)).contains("no expected"));
        assert!(matches!(Given::text("b").expected(r#""(""#).run(evaluate), Err(Failure::Failed(_))));
    }

    #[test]
    fn a_match_is_shown_with_its_place_in_characters() {
        let report = Given::text("é, bitte").config(r#"{"pattern":"bitte"}"#).run(evaluate);
        assert_eq!(message(report), r#""bitte" at character 3 matches "bitte""#);
    }
}
