//! `word-count`: how many words the answer has. A word is a run of characters
//! between white space that has a letter or digit in it; in Chinese and
//! Japanese, which are written without spaces, each character counts as one,
//! as word processors count. Thai, Lao and Khmer are counted by their spaces.

use crate::catalog::config;
use crate::finding::{no, number, yes};
use crate::wit::{Failure, Report, Request};
use serde::Deserialize;
use serde_json::json;

/// One line for a person.
pub const HELP: &str = "how many words the answer has: a number, or yes and no when min or max is given";

/// JSON Schema of the configuration.
pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "min": {"type": "integer", "minimum": 0, "description": "The fewest words that are a yes."},
    "max": {"type": "integer", "minimum": 0, "description": "The most words that are a yes."}
  }
}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    min: Option<u64>,
    max: Option<u64>,
}

/// The examination.
pub fn evaluate(request: &Request) -> Result<Report, Failure> {
    let config: Config = config(request)?;
    let wanted = match (config.min, config.max) {
        (Some(min), Some(max)) if min > max => {
            return Err(Failure::Configuration(format!("min {min} is above max {max}: no answer could do")));
        }
        (Some(min), Some(max)) => format!("{min} to {max} words"),
        (Some(min), None) => format!("at least {min} words"),
        (None, Some(max)) => format!("at most {max} words"),
        (None, None) => return number(words(request.answer.text.as_deref().unwrap_or_default()), "words"),
    };
    let count = words(request.answer.text.as_deref().unwrap_or_default());
    let evidence = json!({ "words": count, "min": config.min, "max": config.max });
    if config.min.is_some_and(|min| count < min) {
        no("too-short", format!("expected {wanted}, got {count}"), evidence)
    } else if config.max.is_some_and(|max| count > max) {
        no("too-long", format!("expected {wanted}, got {count}"), evidence)
    } else {
        yes("length", format!("the answer has {count} words, expected {wanted}"), evidence)
    }
}

/// How many words a text has.
pub fn words(text: &str) -> u64 {
    let mut count = 0;
    let mut in_word = false;
    for character in text.chars() {
        if stands_alone(character) {
            count += 1;
            in_word = false;
        } else if character.is_whitespace() {
            in_word = false;
        } else if !in_word && character.is_alphanumeric() {
            count += 1;
            in_word = true;
        }
    }
    count
}

/// Whether a character is a word by itself: Han, Hiragana, Katakana.
fn stands_alone(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9D}'
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Given, counted, measured, message};

    #[test]
    fn words_are_counted_as_people_count_them() {
        for (text, count) in [
            ("", 0),
            (" - , \n", 0),
            ("one", 1),
            ("don't stop – state-of-the-art!", 3),
            ("3.14 is pi", 3),
            ("два слова", 2),
            ("日本語です", 5),
            ("Rust は良い 言語", 6),
            ("한국어 문장", 2),
            ("a\u{a0}b", 2),
        ] {
            assert_eq!(words(text), count, "{text:?}");
        }
    }

    #[test]
    fn bounds_hold_at_their_edges() {
        let with = |config: &str| Given::text("one two three").config(config).run(evaluate);
        assert_eq!(counted(with("{}")), (3.0, Some("words".into())));
        assert_eq!(counted(with("null")), (3.0, Some("words".into())));
        for (config, passes) in [
            (r#"{"max":3}"#, true),
            (r#"{"max":2}"#, false),
            (r#"{"min":3}"#, true),
            (r#"{"min":4}"#, false),
            (r#"{"min":3,"max":3}"#, true),
        ] {
            assert_eq!(measured(with(config)), passes, "{config}");
        }
        assert_eq!(message(with(r#"{"max":2}"#)), "expected at most 2 words, got 3");
        assert!(matches!(with(r#"{"min":4,"max":3}"#), Err(Failure::Configuration(_))));
    }
}
