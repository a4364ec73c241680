//! Text from outside on a terminal: made harmless, cut and wrapped.
//!
//! Case ids, answers, error messages and reasons were written by strangers. An
//! escape sequence in one of them could clear the screen, a bidirectional control
//! could make a fail read as a pass, a line feed could forge a line of the report.
//! Everything of theirs passes through [`escaped`] before it is shown; nothing
//! here is for JSON, which escapes by its own rules.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Whether a character could do more on a terminal than be seen.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text on one line, with every control, line break, bidirectional and
/// invisible character written as its escape (`\n`, `\u{1b}`).
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_unsafe(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// The lines of a text, each escaped; a tab becomes four spaces.
pub fn escaped_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| escaped(&line.replace('\t', "    ")).into_owned())
}

/// How many columns a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text if it fits, else its beginning and `…`, in at most `width` columns.
pub fn fit(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let end = end_within(text, width.saturating_sub(1));
    Cow::Owned(format!("{}…", &text[..end]))
}

/// The text with spaces up to a width.
pub fn padded(text: &str, width: usize, right: bool) -> String {
    let space = " ".repeat(width.saturating_sub(columns(text)));
    if right { format!("{space}{text}") } else { format!("{text}{space}") }
}

/// The byte at which the longest beginning ends that takes at most `width` columns.
fn end_within(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            return at;
        }
    }
    text.len()
}

/// The text in lines of at most `width` columns, broken between words; a word
/// that is longer than a line is broken within. At least one line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(8);
    let mut lines = vec![];
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word = word;
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        while columns(word) > width {
            let (head, tail) = word.split_at(end_within(word, width));
            lines.push(head.to_string());
            word = tail;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// A word for a POSIX shell, quoted where it must be: what a report offers to copy
/// holds ids that a stranger chose.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    let safe = escaped(word);
    if !safe.is_empty() && !safe.starts_with('-') && safe.chars().all(plain) {
        return safe.into_owned();
    }
    format!("'{}'", safe.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_act_on_a_terminal_is_shown_and_does_nothing() {
        assert_eq!(escaped("a\u{1b}[2Jb\u{7}\u{9b}31m"), "a\\u{1b}[2Jb\\u{7}\\u{9b}31m");
        assert_eq!(escaped("one\r\ntwo\tthree"), "one\\r\\ntwo\\tthree");
        assert_eq!(escaped("pass\u{202e}liaf\u{2066}\u{200b}\u{feff}"), "pass\\u{202e}liaf\\u{2066}\\u{200b}\\u{feff}");
        assert_eq!(escaped("\u{e0041}"), "\\u{e0041}");
    }

    #[test]
    fn what_people_write_is_left_alone() {
        for text in ["Grüße, 東京 – שלום", "👩‍👩‍👧 ok", "C:\\path 'quoted'"] {
            assert!(matches!(escaped(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn width_is_counted_in_columns_and_not_in_letters() {
        assert_eq!(fit("東京東京", 8), "東京東京");
        assert_eq!(fit("東京東京", 7), "東京東…");
        assert_eq!(fit("東京東京", 6), "東京…");
        assert_eq!(padded("東", 4, true), "  東");
        assert_eq!(padded("é", 3, false), "é  ");
    }

    #[test]
    fn lines_break_between_words_and_within_a_word_only_if_it_is_longer_than_a_line() {
        assert_eq!(wrapped("aaa bbb ccc ddd", 8), ["aaa bbb", "ccc ddd"]);
        assert_eq!(wrapped("xx aaaaaaaaaaaaaaaaaaa b", 8), ["xx", "aaaaaaaa", "aaaaaaaa", "aaa b"]);
        assert_eq!(wrapped("", 8), [""]);
    }

    #[test]
    fn a_word_to_copy_into_a_shell_stays_one_word() {
        assert_eq!(shell_word("refund-7"), "refund-7");
        assert_eq!(shell_word("a b; rm -rf ~"), "'a b; rm -rf ~'");
        assert_eq!(shell_word("it's $(x)"), "'it'\\''s $(x)'");
        assert_eq!(shell_word("--force"), "'--force'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a\nb"), "'a\\nb'");
    }
}
