//! The headers of a call: the profile's, and those that say which call it is.

use super::failure::TargetSetupError;
use super::redact::percent_encoded;
use super::secrets::{SecretResolver, Secrets, Template};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use std::collections::BTreeMap;
use tribunal_actors::ports::target::Ask;
use tribunal_schema::digest::Digest;
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId};

/// How long the encoded id of a case is at most: servers refuse long headers.
const CASE_CHARS_MAX: usize = 512;
/// What the adapter sets for each call, and what HTTP itself sets.
const OWN: [&str; 12] = [
    "idempotency-key",
    "x-tribunal-run",
    "x-tribunal-case",
    "x-tribunal-repeat",
    "x-tribunal-attempt",
    "x-tribunal-attempt-number",
    "traceparent",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "upgrade",
];

/// The headers of a target: what is the same for each call is made once.
#[derive(Debug)]
pub(super) struct Headers {
    fixed: HeaderMap,
    secret: Vec<(HeaderName, Template)>,
}

impl Headers {
    /// Checks the profile's headers. Values are marked sensitive: one may well be a
    /// password that was written out.
    pub(super) fn new(headers: &BTreeMap<String, String>) -> Result<Headers, TargetSetupError> {
        let mut fixed = HeaderMap::new();
        fixed.insert(ACCEPT, HeaderValue::from_static("application/json"));
        fixed.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        fixed.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        fixed.insert(USER_AGENT, HeaderValue::from_static(concat!("tribunal/", env!("CARGO_PKG_VERSION"))));
        let mut secret = Vec::new();
        for (name, text) in headers {
            let wrong = |reason: &str| TargetSetupError::Header { name: name.clone(), reason: reason.into() };
            let parsed: HeaderName = name.parse().map_err(|_| wrong("its name is not one that HTTP allows"))?;
            if OWN.contains(&parsed.as_str()) {
                return Err(wrong("it is set by Tribunal itself"));
            }
            let template = Template::parse(text)?;
            match template.literal() {
                Some(text) => {
                    let mut value = HeaderValue::from_str(text).map_err(|_| wrong(UNSENDABLE))?;
                    value.set_sensitive(true);
                    fixed.insert(parsed, value);
                }
                None => secret.push((parsed, template)),
            }
        }
        Ok(Headers { fixed, secret })
    }

    /// Whether the profile sets this header.
    pub(super) fn sets(&self, name: &HeaderName) -> bool {
        self.fixed.contains_key(name) || self.secret.iter().any(|(own, _)| own == name)
    }

    /// Whether any value needs a secret.
    pub(super) fn need_secrets(&self) -> bool {
        !self.secret.is_empty()
    }

    /// The headers of one call; an error in words names header and secret.
    pub(super) fn of(&self, ask: &Ask, resolver: &SecretResolver, used: &mut Secrets) -> Result<HeaderMap, String> {
        let mut headers = self.fixed.clone();
        for (name, template) in &self.secret {
            let text = resolver.fill(template, used)?;
            let mut value =
                HeaderValue::from_str(&text).map_err(|_| format!("the header {name} ({template}): {UNSENDABLE}"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let ExecutionKey { repeat, .. } = ask.execution;
        for (name, text) in [
            ("idempotency-key", ascii(&ask.idempotency_key)),
            ("x-tribunal-run", ask.run.to_string()),
            ("x-tribunal-case", case_header(&ask.case.id)),
            ("x-tribunal-repeat", repeat.to_string()),
            ("x-tribunal-attempt", ask.attempt.to_string()),
            ("x-tribunal-attempt-number", ask.number.to_string()),
            ("traceparent", traceparent(ask.run, ask.execution, ask.attempt)),
        ] {
            let value = HeaderValue::try_from(text).expect("visible ASCII is a header value");
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }
}

const UNSENDABLE: &str = "its value holds a line break or another character that no header can carry";

/// Visible ASCII; everything else, and `%` itself, as `%XX` of its UTF-8.
fn ascii(text: &str) -> String {
    percent_encoded(text.as_bytes(), |byte| byte.is_ascii_graphic() && byte != b'%')
}

/// The case's id as [`ascii`], cut between escapes.
fn case_header(id: &str) -> String {
    let mut text = ascii(id);
    if text.len() > CASE_CHARS_MAX {
        let end = (CASE_CHARS_MAX - 2..=CASE_CHARS_MAX).find(|end| !cuts_escape(&text, *end));
        text.truncate(end.unwrap_or(CASE_CHARS_MAX));
    }
    text
}

fn cuts_escape(text: &str, end: usize) -> bool {
    text.as_bytes()[end - 2..end].contains(&b'%')
}

/// W3C trace context: one trace per execution, one span per attempt, the same
/// whenever they are computed.
fn traceparent(run: RunId, execution: ExecutionKey, attempt: AttemptId) -> String {
    let execution = [execution.case.to_be_bytes(), execution.repeat.to_be_bytes()].concat();
    let trace = Digest::of_parts([&b"trace"[..], &run.0.to_bytes(), &execution]);
    let span = Digest::of_parts([&b"span"[..], &attempt.0.to_bytes()]);
    // All zeros would be invalid; a digest that begins so does not occur.
    format!("00-{}-{}-01", hex::encode(&trace.bytes()[..16]), hex::encode(&span.bytes()[..8]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulid::Ulid;

    #[test]
    fn a_trace_belongs_to_an_execution_and_a_span_to_an_attempt() {
        let run = RunId(Ulid::from_parts(1, 2));
        let key = |case, repeat| ExecutionKey { case, repeat };
        let attempt = |number| AttemptId(Ulid::from_parts(3, number));
        let first = traceparent(run, key(1, 0), attempt(1));
        assert_eq!(first.split('-').map(str::len).collect::<Vec<_>>(), [2, 32, 16, 2]);
        assert_eq!(first, traceparent(run, key(1, 0), attempt(1)));
        let again = traceparent(run, key(1, 0), attempt(2));
        assert_eq!(first[..36], again[..36]);
        assert_ne!(first[36..], again[36..]);
        assert_ne!(first[..36], traceparent(run, key(0, 1), attempt(1))[..36]);
    }

    #[test]
    fn any_case_id_fits_in_a_header() {
        assert_eq!(case_header("a b%\u{e9}\n/x"), "a%20b%25%C3%A9%0A/x");
        for before in 0..3 {
            let text = case_header(&format!("{}{}", "x".repeat(before), "\u{e9}".repeat(600)));
            assert!(text.len() <= CASE_CHARS_MAX && text.len() > CASE_CHARS_MAX - 3);
            assert_eq!((text.len() - before) % 3, 0, "cut between escapes");
        }
        assert_eq!(case_header(&"x".repeat(600)), "x".repeat(CASE_CHARS_MAX - 2));
    }

    #[test]
    fn headers_that_cannot_be_sent_are_refused_at_setup() {
        for (name, value) in [("a b", "x"), ("", "x"), ("x", "a\nb"), ("X-Tribunal-Run", "x"), ("Content-Length", "1")]
        {
            assert!(Headers::new(&BTreeMap::from([(name.into(), value.into())])).is_err(), "{name}");
        }
        let own = Headers::new(&BTreeMap::from([("User-Agent".into(), "mine".into())])).unwrap();
        assert_eq!(own.fixed[USER_AGENT], "mine");
    }
}
