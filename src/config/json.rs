//! JSON, strictly as RFC 8259 has it, read into nodes with places.
//!
//! Our own reader, because the one of `serde_json` keeps the last of two equal
//! keys without a word and names no place for values. What it accepts and what
//! it makes of it is tested against `serde_json` on arbitrary texts.
//!
//! A wrong token ends the reading; repeated keys are noted and stepped over.

use super::limits::DEPTH_MAX;
use super::node::{Entry, Flaw, Kind, Node, excerpt, key_flaws};

/// Reads one value from a text that may hold nothing else; `end` is what the
/// end of the text is called (`the end of the line`).
pub fn read(text: &str, end: &'static str) -> Result<Node, Vec<Flaw>> {
    let mut reader = Reader::new(text, end);
    let node = reader.value().and_then(|node| reader.finish().map(|()| node));
    match node {
        Ok(node) if reader.flaws.is_empty() => Ok(node),
        Ok(_) => Err(reader.flaws),
        Err(fatal) => {
            reader.flaws.push(fatal);
            Err(reader.flaws)
        }
    }
}

/// A reader in the middle of a text.
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    end: &'static str,
    /// What is wrong but could be stepped over.
    pub flaws: Vec<Flaw>,
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of a text.
    pub fn new(text: &'a str, end: &'static str) -> Reader<'a> {
        Reader { text, at: 0, depth: 0, end, flaws: vec![] }
    }

    /// The offset of the next token.
    pub fn offset(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    /// The first byte of the next token; `None` at the end.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.byte()
    }

    /// Takes the next byte if it is this one.
    pub fn take(&mut self, wanted: u8) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    /// Refuses anything but the end of the text.
    pub fn finish(&mut self) -> Result<(), Flaw> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected(&format!("{} after the value", self.end))),
        }
    }

    /// Reads the next value.
    pub fn value(&mut self) -> Result<Node, Flaw> {
        let at = self.offset() as u32;
        let kind = match self.byte() {
            Some(b'{') => self.map()?,
            Some(b'[') => self.list()?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            _ => return Err(self.unexpected("a JSON value")),
        };
        Ok(Node { at, kind })
    }

    /// Reads a key and its colon.
    pub fn key(&mut self) -> Result<(u32, String), Flaw> {
        let at = self.offset() as u32;
        if self.byte() != Some(b'"') {
            return Err(self.unexpected("a key in double quotes"));
        }
        let key = self.string()?;
        if self.take(b':') { Ok((at, key)) } else { Err(self.unexpected("`:` after the key")) }
    }

    /// After an item: whether another follows. `close` ends the list or object.
    pub fn another(&mut self, close: u8) -> Result<bool, Flaw> {
        if self.take(close) {
            return Ok(false);
        }
        if !self.take(b',') {
            return Err(self.unexpected(&format!("`,` or `{}`", close as char)));
        }
        if self.peek() == Some(close) {
            let message = format!("found `{}` after a comma, expected another item", close as char);
            return Err(Flaw::new(self.at, message, "JSON allows no trailing comma: remove it"));
        }
        Ok(true)
    }

    fn map(&mut self) -> Result<Kind, Flaw> {
        self.descend()?;
        let mut entries = vec![];
        let mut more = !self.take(b'}');
        while more {
            let (at, key) = self.key()?;
            let node = self.value()?;
            entries.push(Entry { at, key, node });
            more = self.another(b'}')?;
        }
        self.depth -= 1;
        self.flaws.extend(key_flaws(&entries));
        Ok(Kind::Map(entries))
    }

    fn list(&mut self) -> Result<Kind, Flaw> {
        self.descend()?;
        let mut items = vec![];
        let mut more = !self.take(b']');
        while more {
            items.push(self.value()?);
            more = self.another(b']')?;
        }
        self.depth -= 1;
        Ok(Kind::List(items))
    }

    fn descend(&mut self) -> Result<(), Flaw> {
        if self.depth == DEPTH_MAX {
            return Err(Flaw::new(self.at, too_deep(), "flatten the value, or keep it as a text"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<String, Flaw> {
        let opened = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(control) => return Err(self.raw_control(control)),
                None => {
                    let message = format!("found {}, expected the closing quote of this text", self.end);
                    return Err(Flaw::new(opened, message, "close it with `\"`; a line break inside is written \\n"));
                }
            }
        }
    }

    fn raw_control(&self, control: u8) -> Flaw {
        let (name, written) = match control {
            b'\n' => ("a line break", "\\n".into()),
            b'\r' => ("a carriage return", "\\r".into()),
            b'\t' => ("a tab", "\\t".into()),
            _ => ("a control character", format!("\\u{control:04x}")),
        };
        Flaw::new(self.at, format!("found {name} inside a text, expected its escape"), format!("write it as {written}"))
    }

    fn escape(&mut self) -> Result<char, Flaw> {
        let at = self.at;
        let wrong = |message: &str| Flaw::new(at, message, "a backslash itself is written \\\\");
        self.at += 2;
        Ok(match self.text.as_bytes().get(at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(at),
            _ => return Err(wrong("found an unknown escape, expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u")),
        })
    }

    fn unicode(&mut self, at: usize) -> Result<char, Flaw> {
        let lone = || {
            let message = "found half of a surrogate pair, expected a whole character";
            Flaw::new(at, message, "write both halves, or U+FFFD where the character is lost")
        };
        let unit = self.hex4(at)?;
        if !(0xd800..0xe000).contains(&unit) {
            return char::from_u32(unit).ok_or_else(lone);
        }
        if unit >= 0xdc00 || self.text.as_bytes().get(self.at..self.at + 2) != Some(b"\\u") {
            return Err(lone());
        }
        self.at += 2;
        let low = self.hex4(self.at - 2)?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(lone());
        }
        char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).ok_or_else(lone)
    }

    fn hex4(&mut self, escape_at: usize) -> Result<u32, Flaw> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            return Err(Flaw::new(escape_at, "found a short \\u escape, expected four hex digits", ""));
        };
        self.at += 4;
        Ok(digits.iter().fold(0, |unit, digit| unit * 16 + (*digit as char).to_digit(16).unwrap_or(0)))
    }

    fn number(&mut self) -> Result<Kind, Flaw> {
        let start = self.at;
        let token = self.token();
        if !is_json_number(token) {
            return Err(self.unexpected("a JSON value"));
        }
        let number =
            token.parse().map_err(|error| Flaw::new(start, format!("found `{}`: {error}", excerpt(token)), ""))?;
        self.at += token.len();
        Ok(Kind::Number(number))
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind, Flaw> {
        if self.token() != word {
            return Err(self.unexpected("a JSON value"));
        }
        self.at += word.len();
        Ok(kind)
    }

    /// What stands here, up to the next delimiter.
    fn token(&self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '.' | '$' | '#'));
        &rest[..rest.find(ends).unwrap_or(rest.len())]
    }

    fn unexpected(&self, expected: &str) -> Flaw {
        let token = self.token();
        let found = match self.text[self.at..].chars().next() {
            None => self.end.into(),
            Some('\u{feff}') => "a byte order mark".into(),
            Some(first) if token.is_empty() => format!("`{first}`"),
            Some(_) => format!("`{}`", excerpt(token)),
        };
        Flaw::new(self.at, format!("found {found}, expected {expected}"), self.advice(token))
    }

    fn advice(&self, token: &str) -> &'static str {
        match token {
            "NaN" | "Infinity" | "-Infinity" | "+Infinity" | "nan" | "inf" | "-inf" => {
                "JSON has no NaN or Infinity: write null, leave the key out, or keep it as a text in quotes"
            }
            "True" | "False" | "None" => "this is Python, JSON writes true, false, null",
            "undefined" => "write null or leave the key out",
            _ if token.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) => {
                "if it is not a number, put it in double quotes; a number has no leading zero and digits on both sides of its point"
            }
            _ => match self.byte() {
                Some(b'\'') => "JSON texts and keys stand in double quotes",
                Some(b'/' | b'#') => "JSON has no comments: remove it",
                _ if self.text[..self.at].ends_with('\r') => {
                    "the lines end in CR alone: save the file with LF line ends"
                }
                _ => "",
            },
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let space = rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
        self.at += space.unwrap_or(rest.len());
    }
}

/// The words for a value that nests too deep.
pub fn too_deep() -> String {
    format!("found more than {DEPTH_MAX} levels of nesting, which is the limit")
}

/// Whether a text is a number as JSON writes it.
pub fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn refused(text: &str) -> Flaw {
        read(text, "the end of the line").expect_err(text).remove(0)
    }

    #[test]
    fn values_keep_every_digit() {
        for text in ["9007199254740993", "1.10", "-0", "1e400", "123456789012345678901234567890.5"] {
            let node = read(text, "the end").expect(text);
            assert_eq!(node.into_value(), serde_json::from_str::<Value>(text).expect(text));
        }
        assert_eq!(read("1.10", "").expect("a number").into_value().to_string(), "1.10");
    }

    #[test]
    fn refusals_name_offset_found_and_expected() {
        let cases = [
            ("{\"a\": oops}", 6, "found `oops`, expected a JSON value"),
            ("{\"a\":NaN}", 5, "found `NaN`, expected a JSON value"),
            ("{\"a\":-Infinity}", 5, "found `-Infinity`, expected a JSON value"),
            ("{\"a\":012}", 5, "found `012`, expected a JSON value"),
            ("{\"a\":1.}", 5, "found `1.`, expected a JSON value"),
            ("{\"a\":1", 6, "found the end of the line, expected `,` or `}`"),
            ("{\"a\":1,}", 7, "found `}` after a comma, expected another item"),
            ("{\"a\" 1}", 5, "found `1`, expected `:` after the key"),
            ("{a:1}", 1, "found `a`, expected a key in double quotes"),
            ("{\"a\":\"x", 5, "found the end of the line, expected the closing quote of this text"),
            ("[\"a\tb\"]", 3, "found a tab inside a text, expected its escape"),
            ("[\"a\u{0}b\"]", 3, "found a control character inside a text, expected its escape"),
            ("[\"\\ud800\"]", 2, "found half of a surrogate pair, expected a whole character"),
            ("[\"\\x\"]", 2, "found an unknown escape, expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"),
            ("{} {}", 3, "found `{`, expected the end of the line after the value"),
            ("", 0, "found the end of the line, expected a JSON value"),
        ];
        for (text, at, message) in cases {
            let flaw = refused(text);
            assert_eq!((flaw.at, flaw.message.as_str()), (at, message), "{text}");
        }
    }

    #[test]
    fn repeated_keys_are_all_named_however_deep() {
        let flaws = read(r#"{"a":{"b":1,"b":2},"a":3}"#, "").expect_err("twice");
        assert_eq!(flaws.iter().map(|flaw| flaw.at).collect::<Vec<_>>(), [12, 19]);
    }

    #[test]
    fn depth_is_refused_just_above_the_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEPTH_MAX), "").is_ok());
        let flaw = refused(&nested(DEPTH_MAX + 1));
        assert_eq!(
            (flaw.at, flaw.message.as_str()),
            (DEPTH_MAX, "found more than 100 levels of nesting, which is the limit")
        );
        refused(&"[".repeat(1_000_000));
    }

    #[test]
    fn keys_of_the_number_representation_are_refused() {
        assert!(refused(r#"{"$serde_json::private::Number":"x"}"#).message.contains("reserved"));
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json_on_json_like_texts(text in r#"([\[\]{},:" 0-9eE+.\-]|true|false|null|"[a-z\\]{0,3}"|\\u00e9|\\ud83d\\ude00|[\n\t]){0,24}"#) {
            match (read(&text, ""), serde_json::from_str::<Value>(&text)) {
                (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours.into_value(), theirs),
                (Err(flaws), Ok(_)) => prop_assert!(flaws.iter().all(|flaw| flaw.message.contains("twice")), "{:?}", flaws),
                (Ok(ours), Err(error)) => prop_assert!(false, "{:?} but {}", ours, error),
                (Err(_), Err(_)) => {}
            }
        }

        #[test]
        fn never_panics(text in ".{0,64}") {
            let _ = read(&text, "");
        }
    }
}
