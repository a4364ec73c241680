//! How texts are compared: `é` typed in one piece and in two is the same
//! letter (NFC), and case is ignored for every script that has case.

use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A text in the form in which it is compared.
pub fn comparable(text: &str, ignore_case: bool) -> Cow<'_, str> {
    let composed = composed(text);
    if ignore_case { Cow::Owned(fold(&composed)) } else { composed }
}

fn composed(text: &str) -> Cow<'_, str> {
    // Leaving out what is composed for certain can only make the check stricter.
    let in_question = text.chars().filter(|character| !is_composed(*character));
    if text.is_ascii() || is_nfc_quick(in_question) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// Letters that no normalization changes: all before the combining marks, common
/// Cyrillic, dashes and quotes, ideographs and Hangul. The table is asked for the rest.
fn is_composed(character: char) -> bool {
    matches!(character, '\0'..='\u{2FF}' | '\u{400}'..='\u{482}' | '\u{2010}'..='\u{2027}' | '\u{4E00}'..='\u{D7A3}')
}

/// Without case: by way of uppercase, so that `ß` is `ss` and `ς` is `σ`.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\0'..='\x7F' => folded.push(character.to_ascii_lowercase()),
            // Cyrillic, dashes and quotes, ideographs: common, and dear to look up.
            '\u{430}'..='\u{44F}' | '\u{2010}'..='\u{2027}' | '\u{4E00}'..='\u{9FFF}' => folded.push(character),
            _ => folded.extend(character.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_and_decomposed_letters_are_the_same() {
        assert_eq!(comparable("cafe\u{301}", false), comparable("café", false));
        assert_eq!(comparable("a\u{323}b\u{307}", false), comparable("\u{1EA1}\u{1E03}", false));
        assert_ne!(comparable("cafe", false), comparable("café", false));
    }

    #[test]
    fn shortcuts_agree_with_the_tables() {
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            let tables: String = text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
            assert_eq!(fold(&text), tables, "{character:?}");
            assert_eq!(composed(&text), text.nfc().collect::<String>(), "{character:?}");
        }
    }

    #[test]
    fn case_is_ignored_in_every_script() {
        for (one, other) in [("STRASSE", "straße"), ("ΟΔΟΣ", "οδος"), ("ПРИВЕТ", "привет"), ("ÉCOLE", "école")]
        {
            assert_eq!(comparable(one, true), comparable(other, true), "{one}");
        }
    }
}
