//! Masking: no secret that a call used leaves the adapter, in whatever form the
//! target sends it back.
//!
//! Every response is searched for each secret as it is, percent-encoded, in
//! base64 at any alignment (so also inside `Basic` credentials), in hex, and as
//! JSON escapes it. JSON is searched a second time after it was read, because JSON
//! can write any character as `\uXXXX`; and a text within it that is JSON itself
//! (the arguments of a tool call) likewise. What is found becomes `[secret NAME]`.
//! A target that enciphers a secret or cuts it in pieces is beyond this.

use super::json;
use super::secrets::Secrets;
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use hyper::header::{HeaderMap, HeaderValue};
use serde_json::Value;
use std::borrow::Cow;

/// The shortest piece of base64 that is searched for: shorter ones occur by chance.
const BASE64_CHARS_MIN: usize = 5;
/// How deep JSON is looked for within texts of JSON.
const NESTED_JSON_MAX: u8 = 3;

/// Masks the secrets of one call. Without secrets it costs nothing.
#[derive(Clone)]
pub(super) struct Redactor {
    secrets: Secrets,
    search: Option<AhoCorasick>,
    masks: Vec<String>,
}

impl Redactor {
    /// A redactor of these secrets.
    pub(super) fn new(secrets: Secrets) -> Redactor {
        let mut patterns = Vec::new();
        let mut masks = Vec::new();
        for (name, value) in secrets.iter() {
            for form in forms(value) {
                patterns.push(form);
                masks.push(format!("[secret {name}]"));
            }
        }
        let search = (!patterns.is_empty()).then(|| {
            let builder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
            builder.expect("a few short patterns are within every limit of the automaton")
        });
        Redactor { secrets, search, masks }
    }

    /// Whether it masks exactly these secrets, so that it can be used again.
    pub(super) fn masks(&self, secrets: &Secrets) -> bool {
        self.secrets == *secrets
    }

    /// A text without secrets.
    pub(super) fn text(&self, text: String) -> String {
        match &self.search {
            Some(search) if search.is_match(&text) => search.replace_all(&text, &self.masks),
            Some(_) | None => text,
        }
    }

    /// A body without secrets: as it came, unless one was in it.
    pub(super) fn body<'a>(&self, body: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(search) = &self.search else { return Cow::Borrowed(body) };
        let masked = match search.is_match(body) {
            true => Cow::Owned(search.replace_all_bytes(body, &self.masks)),
            false => Cow::Borrowed(body),
        };
        // Without a backslash nothing can be hidden by an escape.
        if !masked.contains(&b'\\') {
            return masked;
        }
        let Ok(mut value) = json::read(&masked) else { return masked };
        if self.value(&mut value, 0) { Cow::Owned(value.to_string().into_bytes()) } else { masked }
    }

    /// Masks the values of headers, before anything quotes or cuts them.
    pub(super) fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            if let Cow::Owned(masked) = self.body(value.as_bytes()) {
                *value = HeaderValue::from_bytes(&masked).unwrap_or_else(|_| HeaderValue::from_static("[secret]"));
            }
        }
    }

    /// Masks within a JSON value; whether anything was found.
    fn value(&self, value: &mut Value, depth: u8) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => self.string(text, depth),
            Value::Array(items) => items.iter_mut().fold(false, |found, item| self.value(item, depth) | found),
            Value::Object(fields) => {
                let mut found = false;
                if fields.keys().any(|key| self.has(key)) {
                    let old = std::mem::take(fields);
                    fields.extend(old.into_iter().map(|(key, item)| (self.text(key), item)));
                    found = true;
                }
                fields.values_mut().fold(found, |found, item| self.value(item, depth) | found)
            }
        }
    }

    fn string(&self, text: &mut String, depth: u8) -> bool {
        let mut found = false;
        if self.has(text) {
            *text = self.text(std::mem::take(text));
            found = true;
        }
        if depth < NESTED_JSON_MAX
            && text.contains('\\')
            && let Ok(mut inner) = json::read(text.as_bytes())
            && self.value(&mut inner, depth + 1)
        {
            *text = inner.to_string();
            found = true;
        }
        found
    }

    fn has(&self, text: &str) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_match(text))
    }
}

/// The ways a value is commonly written.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let bytes = value.as_bytes();
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let in_url = |byte: u8| byte.is_ascii_graphic() && !b"\"<>`{}|^\\".contains(&byte);
    let json = Value::from(value).to_string();
    let json = &json[1..json.len() - 1];
    let percent = percent_encoded(bytes, unreserved);
    let mut forms = vec![
        value.to_owned(),
        lowercase_escapes(&percent),
        percent,
        percent_encoded(bytes, in_url),
        json.to_owned(),
        json.replace('/', "\\/"),
        hex::encode(bytes),
        hex::encode_upper(bytes),
    ];
    for before in 0..3 {
        forms.extend(
            base64_core(bytes, before)
                .filter(|core| core.len() >= BASE64_CHARS_MIN)
                .into_iter()
                .flat_map(|core| [core.replace('-', "+").replace('_', "/"), core]),
        );
    }
    forms.sort();
    forms.dedup();
    forms.into_iter().map(String::into_bytes).collect()
}

/// `%2F` as `%2f`; nothing else changes.
fn lowercase_escapes(percent: &str) -> String {
    let mut parts = percent.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (escape, rest) = part.split_at(2);
        text.extend(["%", &escape.to_ascii_lowercase(), rest]);
    }
    text
}

/// The part of a base64 text (URL alphabet) that is the same whatever surrounds
/// the bytes, when `before` bytes (0..=2) stand before them in their group of three.
fn base64_core(bytes: &[u8], before: usize) -> Option<String> {
    let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
    let encoded = URL_SAFE.encode(&padded);
    let first = [0, 2, 3][before];
    let last = padded.len() * 8 / 6;
    encoded.get(first..last).map(str::to_owned)
}

/// Standard base64 with padding, as bodies that are not text are kept.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// `%XX` for every byte that is not kept.
pub(super) fn percent_encoded(bytes: &[u8], keep: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if keep(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "s3cr3t/+ \"caf\u{e9}\"";

    fn redactor() -> Redactor {
        let mut secrets = Secrets::default();
        secrets.note("TOKEN", VALUE.into());
        Redactor::new(secrets)
    }

    fn masked(body: &str) -> String {
        String::from_utf8(redactor().body(body.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn every_written_form_of_a_secret_is_masked() {
        let percent = percent_encoded(VALUE.as_bytes(), |byte| byte.is_ascii_alphanumeric());
        for form in [VALUE, &percent, &lowercase_escapes(&percent), &hex::encode(VALUE), "s3cr3t/+%20%22caf%C3%A9%22"] {
            assert_eq!(masked(&format!("before {form} after")), "before [secret TOKEN] after", "{form}");
        }
    }

    #[test]
    fn base64_is_masked_at_every_alignment() {
        for before in ["", "u", "us", "use", "user:"] {
            let body = STANDARD.encode(format!("{before}{VALUE}tail"));
            let left = masked(&body);
            assert!(left.contains("[secret TOKEN]"), "{before}: {left}");
        }
    }

    #[test]
    fn json_escapes_do_not_hide_a_secret() {
        let escaped: String = VALUE.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
        assert_eq!(masked(&format!(r#"{{"a":"x {escaped}"}}"#)), r#"{"a":"x [secret TOKEN]"}"#);
        assert_eq!(masked(&format!(r#"{{"{escaped}":1.10}}"#)), r#"{"[secret TOKEN]":1.10}"#);
    }

    #[test]
    fn json_within_json_does_not_hide_a_secret() {
        let escaped: String = VALUE.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
        let arguments = format!(r#"{{"key":"{escaped}"}}"#);
        let body = serde_json::json!({ "arguments": arguments }).to_string();
        assert_eq!(masked(&body), r#"{"arguments":"{\"key\":\"[secret TOKEN]\"}"}"#);
    }

    #[test]
    fn a_body_without_a_secret_is_left_as_it_came() {
        let body = br#"{ "a" : "\u0041", "n": 1.10 }"#;
        assert!(matches!(redactor().body(body), Cow::Borrowed(same) if same == body));
        assert_eq!(Redactor::new(Secrets::default()).text("plain".into()), "plain");
    }
}
