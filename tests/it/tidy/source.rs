//! A Rust file as the rules see it: its code without comments and without the
//! contents of its literals, its string literals, and its code without tests.
//!
//! This is a lexer and no parser: it knows comments (nested), strings (raw and
//! not), characters and lifetimes, and matches braces. That is enough for rules
//! about names, and it needs no crate.

/// One Rust file.
pub struct Source {
    /// From the root of the tree, with slashes.
    pub path: String,
    /// As it is on disk.
    pub text: String,
    /// With comments and the contents of literals blanked; offsets and lines are those of the text.
    pub code: String,
    /// `code` with every item under `#[cfg(test)]` blanked too.
    pub live: String,
    /// The contents of string literals outside of tests, with their lines.
    pub strings: Vec<(usize, String)>,
}

/// One breach of a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// `file:line`
    pub place: String,
    /// What is wrong there, and why it matters.
    pub why: String,
}

impl Problem {
    pub fn at(path: &str, line: usize, why: impl Into<String>) -> Problem {
        Problem { place: format!("{path}:{line}"), why: why.into() }
    }
}

impl Source {
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Source {
        let (path, text) = (path.into(), text.into());
        let (code, literals) = without_comments_and_literals(&text);
        let live = without_tests(&code);
        let strings = literals
            .into_iter()
            .filter(|(start, _)| !live[*start..=*start].trim().is_empty())
            .map(|(start, literal)| (line_of(&text, start), literal))
            .collect();
        Source { path, text, code, live, strings }
    }

    /// The file is nothing but tests.
    pub fn mark_as_tests(&mut self) {
        self.live = blanked(&self.live);
        self.strings.clear();
    }

    pub fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Every identifier of the live code with its line.
    pub fn words(&self) -> impl Iterator<Item = (usize, &str)> {
        self.live.lines().enumerate().flat_map(|(index, line)| words(line).map(move |word| (index + 1, word)))
    }
}

/// The line of an offset, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

fn blanked(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// A comment or literal: where it ends, and where its content is.
struct Token {
    end: usize,
    content: std::ops::Range<usize>,
    is_string: bool,
}

fn without_comments_and_literals(text: &str) -> (String, Vec<(usize, String)>) {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut literals = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(token) = token_at(bytes, at) else {
            code.push(bytes[at]);
            at += 1;
            continue;
        };
        code.extend(bytes[at..token.end].iter().zip(at..).map(|(byte, index)| {
            let keep = *byte == b'\n' || (token.is_string && !token.content.contains(&index));
            if keep { *byte } else { b' ' }
        }));
        if token.is_string {
            literals.push((at, text[token.content.clone()].to_string()));
        }
        at = token.end;
    }
    (String::from_utf8(code).expect("whole literals are blanked"), literals)
}

fn token_at(bytes: &[u8], at: usize) -> Option<Token> {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let end = rest.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
        return Some(Token { end, content: at..end, is_string: false });
    }
    if rest.starts_with(b"/*") {
        let end = end_of_block_comment(bytes, at);
        return Some(Token { end, content: at..end, is_string: false });
    }
    match rest[0] {
        b'"' => {
            let end = end_of_string(bytes, at + 1);
            Some(Token { end, content: at + 1..end.saturating_sub(1).max(at + 1), is_string: true })
        }
        b'r' if at == 0 || !is_word(bytes[at - 1]) || matches!(bytes[at - 1], b'b' | b'c') => raw_string(bytes, at),
        b'\'' => end_of_character(bytes, at).map(|end| Token { end, content: at..end, is_string: false }),
        _ => None,
    }
}

fn end_of_block_comment(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut index) = (0, at);
    while index < bytes.len() {
        if bytes[index..].starts_with(b"/*") {
            (depth, index) = (depth + 1, index + 2);
        } else if bytes[index..].starts_with(b"*/") {
            (depth, index) = (depth - 1, index + 2);
            if depth == 0 {
                break;
            }
        } else {
            index += 1;
        }
    }
    index.min(bytes.len())
}

fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn raw_string(bytes: &[u8], at: usize) -> Option<Token> {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let start = at + 2 + hashes;
    if bytes.get(start - 1) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let length = bytes[start..].windows(close.len()).position(|window| window == close)?;
    Some(Token { end: start + length + close.len(), content: start..start + length, is_string: true })
}

/// The end of a character literal; `None` for a lifetime.
fn end_of_character(bytes: &[u8], at: usize) -> Option<usize> {
    let first = *bytes.get(at + 1)?;
    if first == b'\\' {
        let close = bytes.get(at + 3..)?.iter().position(|byte| *byte == b'\'')?;
        return Some(at + 3 + close + 1);
    }
    let length = match first {
        0x00..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
    };
    (bytes.get(at + 1 + length) == Some(&b'\'')).then_some(at + length + 2)
}

/// The code with every item under a test attribute blanked.
fn without_tests(code: &str) -> String {
    let mut live = code.to_string();
    for marker in ["#[cfg(test)]", "#[cfg(all(test", "#[cfg(any(test", "#[test]"] {
        while let Some(start) = live.find(marker) {
            let end = end_of_item(live.as_bytes(), start);
            live.replace_range(start..end, &blanked(&code[start..end]));
        }
    }
    live
}

/// Where the item that begins at an attribute ends: at its `;` or its closing brace.
fn end_of_item(bytes: &[u8], start: usize) -> usize {
    let (mut round, mut curly) = (0i32, 0i32);
    for (index, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round -= 1,
            b'{' => curly += 1,
            b'}' => {
                curly -= 1;
                if curly == 0 && round == 0 {
                    return index + 1;
                }
            }
            b';' if curly == 0 && round == 0 => return index + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[test]
fn comments_and_literals_are_no_code() {
    let source = Source::new("a.rs", "let a = \"tokio\"; // tokio\n/* tokio /* tokio */ */ let b = r#\"tokio\"#;");
    assert!(!source.code.contains("tokio"));
    assert_eq!(source.strings, [(1, "tokio".to_string()), (2, "tokio".to_string())]);
}

#[test]
fn a_quote_in_a_character_opens_no_string_and_a_lifetime_is_no_character() {
    let source =
        Source::new("a.rs", "let q = '\"'; let e = '\\''; fn f<'a>(x: &'a str) { dbg(x) } let s = \"x\\\"y\";");
    assert!(source.code.contains("dbg(x)"));
    assert_eq!(source.strings, [(1, "x\\\"y".to_string())]);
}

#[test]
fn code_under_a_test_attribute_is_not_live() {
    let source = Source::new("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { \"SELECT 1\"; } }\nfn c() {}");
    assert_eq!(source.words().map(|(_, word)| word).collect::<Vec<_>>(), ["fn", "a", "fn", "c"]);
    assert!(source.strings.is_empty());
}
