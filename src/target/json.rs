//! Reading JSON as targets write it: with a byte order mark, with half an emoji.
//!
//! Numbers keep every digit and texts every character, NUL included. A lone
//! surrogate escape (`\ud83d` without its other half: what a model leaves when it
//! runs out of tokens within an emoji) is no character; it is read as U+FFFD, and
//! the raw body, which is kept beside the answer, still shows what came.

use serde_json::Value;

/// Why bytes are not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotJson {
    /// In words.
    pub(super) why: String,
    /// Whether they are the beginning of JSON that ends too early.
    pub(super) cut: bool,
}

/// The JSON value that the bytes are.
pub(super) fn read(bytes: &[u8]) -> Result<Value, NotJson> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| NotJson {
        why: format!("invalid UTF-8 after {} bytes", error.valid_up_to()),
        cut: error.error_len().is_none(),
    })?;
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mended = mend_surrogates(text).and_then(|mended| serde_json::from_str(&mended).ok());
    mended.ok_or_else(|| NotJson { why: error.to_string(), cut: error.is_eof() })
}

/// The text with `\ufffd` for every lone surrogate escape; `None` if it has none.
fn mend_surrogates(text: &str) -> Option<String> {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                found = true;
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The escaped character must not be taken for a backslash of its own.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    found.then_some(mended)
}

/// The code unit of a `\uXXXX` escape at the beginning of the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(json: &str) -> String {
        read(json.as_bytes()).unwrap().as_str().unwrap().to_owned()
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_value() {
        assert_eq!(read(b"\xef\xbb\xbf[1]").unwrap(), serde_json::json!([1]));
    }

    #[test]
    fn nul_and_pairs_are_kept_and_lone_surrogates_become_replacement_characters() {
        assert_eq!(text(r#""a\u0000b""#), "a\0b");
        assert_eq!(text(r#""\ud83d\ude00""#), "\u{1f600}");
        assert_eq!(text(r#""x\ud83d""#), "x\u{fffd}");
        assert_eq!(text(r#""\ude00x""#), "\u{fffd}x");
        assert_eq!(text(r#""\ud83d\ud83d\ude00""#), "\u{fffd}\u{1f600}");
        assert_eq!(text(r#""\ud83d\n\\ud83d""#), "\u{fffd}\n\\ud83d");
    }

    #[test]
    fn digits_are_kept() {
        assert_eq!(read(b"[1.10,9007199254740993]").unwrap().to_string(), "[1.10,9007199254740993]");
    }

    #[test]
    fn what_ends_early_is_told_from_what_is_wrong() {
        for (json, cut) in [("{\"a\":", true), ("", true), ("{\"a\"}", false), ("<html>", false)] {
            assert_eq!(read(json.as_bytes()).unwrap_err().cut, cut, "{json}");
        }
        assert!(read(b"\"\xff\"").unwrap_err().why.contains("invalid UTF-8 after 1 bytes"));
        assert!(read(b"\"\xc3").unwrap_err().cut);
    }

    proptest! {
        #[test]
        fn mending_never_panics_and_leaves_well_formed_text_alone(text in "(\\\\|u|d8|dc|00|\u{e9}|\"|[a-f0-9]){0,40}") {
            if let Some(mended) = mend_surrogates(&text) {
                prop_assert_eq!(mend_surrogates(&mended), None);
            }
            let json = Value::from(text.clone()).to_string();
            prop_assert_eq!(mend_surrogates(&json), None);
        }
    }
}
