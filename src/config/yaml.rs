//! YAML 1.2, read into nodes with places.
//!
//! Built on the events of `granit-parser`, because a typed reader would turn
//! `1.10` into `1.1` on the way. What a plain word means is decided in one
//! place, [`plain`]: only what YAML 1.2 calls null, true, false or a number is
//! one, so that `no`, `012` and `2024-01-02` stay the texts they look like.
//!
//! Deliberately not read: merge keys (`<<`, YAML 1.1), tags outside the core
//! schema, keys that are not words, a second document. Aliases are copied, up
//! to [`ALIAS_BYTES_MAX`] in all, which disarms "billion laughs".

use super::json::{is_json_number, too_deep};
use super::limits::{self, ALIAS_BYTES_MAX, DEPTH_MAX};
use super::node::{Entry, Flaw, Kind, Node, excerpt, key_flaws};
use granit_parser::{Event, Parser, ScalarStyle, Tag, options};
use std::collections::HashMap;

/// Two more levels than a case has: the document's object and its list.
const LEVELS_MAX: usize = DEPTH_MAX + 2;

/// Reads a text that holds one document; nothing at all is `Null`.
pub fn read(text: &str) -> Result<Node, Vec<Flaw>> {
    let options = options! {
        emit_comments: false,
        flow_nesting_limit: LEVELS_MAX + 1,
        block_nesting_limit: LEVELS_MAX + 1,
        simple_key_max_lookahead: 4096,
    };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let step = match event {
            Ok((event, span)) => builder.event(event, span.start.byte_offset().unwrap_or(0)),
            Err(error) => Err(unreadable(&error)),
        };
        if let Err(fatal) = step {
            builder.flaws.push(fatal);
            break;
        }
    }
    match builder.flaws.is_empty() {
        true => Ok(builder.document.unwrap_or(Node { at: 0, kind: Kind::Null })),
        false => Err(builder.flaws),
    }
}

fn unreadable(error: &granit_parser::ScanError) -> Flaw {
    let at = error.marker().byte_offset().unwrap_or(0);
    let words = error.info().to_string();
    if words.contains("nest") || words.contains("recursion") {
        return Flaw::new(at, too_deep(), "flatten the value, or keep it as a text");
    }
    const ADVICE: [(&str, &str); 5] = [
        ("tab", "YAML is indented with spaces only"),
        ("mapping values are not allowed", "a text that holds `: ` stands in quotes"),
        ("unknown anchor", "a text that begins with `*` stands in quotes"),
        ("unclosed", "close it; a text that begins with a quote or bracket stands in quotes"),
        ("block collection", "entries of one list or map are indented equally"),
    ];
    let hint = ADVICE.iter().find(|(part, _)| words.contains(part)).map_or("", |(_, hint)| hint);
    Flaw::new(at, format!("not YAML: {words}"), hint)
}

/// What a plain (unquoted) scalar means in YAML 1.2's core schema; numbers are
/// brought to JSON's spelling where they differ (`0xff`, `+1`, `.5`).
/// A decimal with a leading zero is a text: it is an account number, not 12.
pub fn plain(text: &str) -> Result<Kind, &'static str> {
    let number = |text: &str| text.parse().map(Kind::Number).map_err(|_| "a number that JSON cannot hold");
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Kind::Null),
        "true" | "True" | "TRUE" => return Ok(Kind::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Kind::Bool(false)),
        _ if is_json_number(text) => return number(text),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err("not a number that JSON has");
    }
    let radix = |digits: &str, radix| u128::from_str_radix(digits, radix).map(|value| value.to_string());
    for (prefix, base) in [("0x", 16), ("0o", 8)] {
        let digits = text.strip_prefix(prefix).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some(Ok(decimal)) = digits.filter(|digits| !digits.is_empty()).map(|digits| radix(digits, base)) {
            return number(&decimal);
        }
    }
    match respelled(text, unsigned) {
        Some(json) => number(&json),
        None => Ok(Kind::Text(text.into())),
    }
}

/// `+1`, `.5` and `5.` as JSON writes them; `None` for what is no number.
fn respelled(text: &str, unsigned: &str) -> Option<String> {
    let sign = if text.starts_with('-') { "-" } else { "" };
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => unsigned.split_at(at),
        None => (unsigned, ""),
    };
    let mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => format!("0.{fraction}"),
        Some((whole, "")) => format!("{whole}.0"),
        _ => mantissa.into(),
    };
    Some(format!("{sign}{mantissa}{exponent}")).filter(|json| is_json_number(json))
}

enum Open {
    List { at: u32, anchor: usize, items: Vec<Node> },
    Map { at: u32, anchor: usize, entries: Vec<Entry>, key: Option<(u32, String)> },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    copied: usize,
    documents: usize,
    document: Option<Node>,
    flaws: Vec<Flaw>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, at: usize) -> Result<(), Flaw> {
        match event {
            Event::DocumentStart(..) => self.begin(at),
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_deref(), at),
            Event::SequenceStart(_, anchor, tag) => {
                self.collection(at, tag.as_deref(), "seq")?;
                self.open.push(Open::List { at: at as u32, anchor, items: vec![] });
                Ok(())
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection(at, tag.as_deref(), "map")?;
                self.open.push(Open::Map { at: at as u32, anchor, entries: vec![], key: None });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor, at),
            // Stream marks and comments carry no value; the enum is open to more of their kind.
            _ => Ok(()),
        }
    }

    fn begin(&mut self, at: usize) -> Result<(), Flaw> {
        self.documents += 1;
        if self.documents > 1 {
            return Err(Flaw::new(
                at,
                "found a second document, expected one",
                "put everything into one document: remove the `---`",
            ));
        }
        Ok(())
    }

    fn collection(&mut self, at: usize, tag: Option<&Tag>, core: &str) -> Result<(), Flaw> {
        self.word_key_wanted(at)?;
        if self.open.len() >= LEVELS_MAX {
            return Err(Flaw::new(at, too_deep(), "flatten the value, or keep it as a text"));
        }
        match tag {
            Some(tag) if tag.core_suffix() != Some(core) && !is_bare(tag) => Err(unknown_tag(tag, at)),
            _ => Ok(()),
        }
    }

    fn word_key_wanted(&self, at: usize) -> Result<(), Flaw> {
        match self.open.last() {
            Some(Open::Map { key: None, .. }) => Err(Flaw::new(
                at,
                "found a list, map or alias as a key, expected a word",
                "quote the key if it is a text",
            )),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        at: usize,
    ) -> Result<(), Flaw> {
        if let Some(Open::Map { key: key @ None, .. }) = self.open.last_mut() {
            if text == "<<" && style == ScalarStyle::Plain {
                let message = "found a merge key `<<`, which YAML 1.2 does not have";
                self.flaws.push(Flaw::new(at, message, "write the keys out"));
            }
            *key = Some((at as u32, text.into()));
            return Ok(());
        }
        let kind = match tag {
            None if style == ScalarStyle::Plain => plain(text),
            None => Ok(Kind::Text(text.into())),
            Some(tag) if is_bare(tag) => Ok(Kind::Text(text.into())),
            Some(tag) => match tag.core_suffix() {
                Some("str") => Ok(Kind::Text(text.into())),
                Some("null" | "bool" | "int" | "float") => plain(text),
                _ => return Err(unknown_tag(tag, at)),
            },
        };
        let kind = kind.unwrap_or_else(|reason| {
            let message = format!("found `{}`, {reason}", excerpt(text));
            self.flaws.push(Flaw::new(
                at,
                message,
                "write null, leave the key out, or put it in quotes to keep it as a text",
            ));
            Kind::Null
        });
        self.place(Node { at: at as u32, kind }, anchor)
    }

    fn close(&mut self) -> Result<(), Flaw> {
        match self.open.pop() {
            Some(Open::List { at, anchor, items }) => self.place(Node { at, kind: Kind::List(items) }, anchor),
            Some(Open::Map { at, anchor, entries, .. }) => {
                self.flaws.extend(key_flaws(&entries));
                self.place(Node { at, kind: Kind::Map(entries) }, anchor)
            }
            None => Ok(()),
        }
    }

    /// Puts a finished node where it belongs, and aside when it has an anchor.
    fn place(&mut self, node: Node, anchor: usize) -> Result<(), Flaw> {
        if anchor > 0 {
            let copy = self.copy(&node, node.at as usize)?;
            self.anchors.insert(anchor, copy);
        }
        match self.open.last_mut() {
            None => self.document = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => {
                if let Some((at, key)) = key.take() {
                    entries.push(Entry { at, key, node });
                }
            }
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: usize) -> Result<(), Flaw> {
        self.word_key_wanted(at)?;
        let Some(original) = self.anchors.remove(&anchor) else {
            return Err(Flaw::new(at, "found an alias inside the value it stands for", "write the value out"));
        };
        if self.open.len() + height(&original) > LEVELS_MAX {
            return Err(Flaw::new(at, too_deep(), "flatten the value, or keep it as a text"));
        }
        let mut copy = self.copy(&original, at)?;
        self.anchors.insert(anchor, original);
        copy.at = at as u32;
        self.place(copy, 0)
    }

    fn copy(&mut self, node: &Node, at: usize) -> Result<Node, Flaw> {
        self.copied = self.copied.saturating_add(size(node));
        if self.copied > ALIAS_BYTES_MAX {
            let limit = limits::bytes(ALIAS_BYTES_MAX as u64);
            let message =
                format!("found anchors and aliases that grow the document by more than {limit}, which is the limit");
            return Err(Flaw::new(at, message, "write the values out"));
        }
        Ok(node.clone())
    }
}

/// Whether a tag is the lone `!`, which says "a text, whatever it looks like".
fn is_bare(tag: &Tag) -> bool {
    tag.original() == "!"
}

fn unknown_tag(tag: &Tag, at: usize) -> Flaw {
    Flaw::new(at, format!("found the tag `{}`, which has no meaning here", excerpt(&tag.original())), "remove the tag")
}

fn size(node: &Node) -> usize {
    const NODE: usize = size_of::<Entry>();
    NODE + match &node.kind {
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => 0,
        Kind::Text(text) => text.len(),
        Kind::List(items) => items.iter().map(size).sum(),
        Kind::Map(entries) => entries.iter().map(|entry| entry.key.len() + size(&entry.node)).sum(),
    }
}

fn height(node: &Node) -> usize {
    match &node.kind {
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => 0,
        Kind::List(items) => 1 + items.iter().map(height).max().unwrap_or(0),
        Kind::Map(entries) => 1 + entries.iter().map(|entry| height(&entry.node)).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn json(text: &str) -> String {
        read(text).expect(text).into_value().to_string()
    }

    fn refused(text: &str) -> Flaw {
        read(text).expect_err(text).remove(0)
    }

    #[test]
    fn only_what_yaml_1_2_calls_so_is_a_number_a_truth_or_nothing() {
        let list = "[no, yes, on, off, y, 012, 2024-01-02, 1_000, 12:30, 1.2.3, 0x, ., +, '1', \"true\"]";
        let texts = json(list);
        assert_eq!(texts.matches('"').count(), 30, "every one is a text: {texts}");
        assert_eq!(
            json("[1.10, 0, -7, 1e3, 9007199254740993, true, False, ~, null, ]"),
            "[1.10,0,-7,1e+3,9007199254740993,true,false,null,null]"
        );
        assert_eq!(json("[0xff, 0o17, +1, .5, -.5, 5., 1.e3]"), "[255,15,1,0.5,-0.5,5.0,1.0e+3]");
        assert_eq!(refused("a: .nan").at, 3);
        assert_eq!(refused("a: -.inf").at, 3);
    }

    #[test]
    fn tags_of_the_core_schema_are_honoured_and_others_refused() {
        assert_eq!(json("[!!str 12, !!int 12, ! 12]"), r#"["12",12,"12"]"#);
        assert_eq!(refused("a: !ruby/object x").message, "found the tag `!ruby/object`, which has no meaning here");
    }

    #[test]
    fn aliases_are_copied_and_bombs_refused() {
        assert_eq!(json("a: &x [1, 2]\nb: *x\n"), r#"{"a":[1,2],"b":[1,2]}"#);
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for level in 1..=9 {
            let row = [format!("*a{}", level - 1).as_str(); 9].join(",");
            bomb += &format!("a{level}: &a{level} [{row}]\n");
        }
        assert!(refused(&bomb).message.contains("16 MiB"), "{:?}", refused(&bomb));
        assert!(refused("a: &x [*x]").message.contains("inside the value"));
    }

    #[test]
    fn depth_is_refused_just_above_the_limit_also_through_aliases() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(LEVELS_MAX)).is_ok());
        assert!(refused(&nested(LEVELS_MAX + 1)).message.contains("100 levels"));
        assert!(refused(&nested(5_000)).message.contains("100 levels"));
        let half = format!("a: &x {}\nb: {}*x{}\n", nested(60), "[".repeat(60), "]".repeat(60));
        assert!(refused(&half).message.contains("100 levels"));
    }

    #[test]
    fn keys_are_words_written_once() {
        assert_eq!(json("1: a\ntrue: b\n"), r#"{"1":"a","true":"b"}"#);
        assert_eq!(refused("a: 1\nb: 2\na: 3\n").at, 10);
        assert!(refused("? [1]\n: x\n").message.contains("as a key"));
        assert!(refused("a: &b {x: 1}\nc:\n  <<: *b\n").message.contains("merge key"));
    }

    #[test]
    fn broken_yaml_is_named_with_its_place_and_what_to_do() {
        for (text, at, hint) in [
            ("a:\n\t- b\n", 4, "spaces only"),
            ("a: b: c\n", 4, "stands in quotes"),
            ("a: *nope\n", 3, "begins with `*`"),
            ("a: \"x\n", 3, "close it"),
            ("- a: x\n b: y\n", 8, "indented equally"),
        ] {
            let flaw = refused(text);
            assert!(flaw.message.starts_with("not YAML: "), "{flaw:?}");
            assert_eq!((flaw.at, flaw.hint.contains(hint)), (at, true), "{text:?}: {flaw:?}");
        }
    }

    #[test]
    fn one_document_is_read_and_a_second_refused() {
        assert_eq!(json(""), "null");
        assert_eq!(json("# only a comment\n"), "null");
        assert_eq!(json("---\na: 1\n...\n"), r#"{"a":1}"#);
        assert!(refused("a: 1\n---\nb: 2\n").message.contains("second document"));
    }

    proptest! {
        #[test]
        fn reads_json_as_json(value in crate::config::testing::json_value()) {
            prop_assert_eq!(read(&value.to_string()).map(Node::into_value), Ok(value));
        }

        #[test]
        fn never_panics(text in r"([\[\]{},:&*!|>'\x22#%@`?\-\n\t ]|[a-c]|<<|---|!!|\PC){0,48}") {
            let _ = read(&text);
        }
    }
}
