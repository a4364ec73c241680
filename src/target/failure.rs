//! Failures in words for people: what came, from where, and how it begins.

use super::redact::{Redactor, base64};
use super::retry_after::{RetryAfter, retry_after};
use hyper::{HeaderMap, StatusCode};
use serde_json::Value;
use std::time::{Duration, SystemTime};
use tribunal_actors::ports::target::TargetFailure;
use tribunal_schema::answer::{FailureClass, RawBody};
use tribunal_schema::units::DurationMs;

/// How much of a body a failure keeps.
const BODY_BYTES_KEPT: usize = 4096;
/// How long a message is, without its quote.
const MESSAGE_CHARS: usize = 600;
/// How much of a body a message quotes.
const QUOTE_CHARS: usize = 200;

/// Why a target cannot be set up: a mistake in its configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetSetupError {
    /// The kind is not one this build speaks.
    #[error("a target of kind {kind} is not supported yet; this version speaks kind chat")]
    Kind {
        /// The kind's name.
        kind: &'static str,
    },
    /// A stream was asked for.
    #[error("`stream: true` is not supported yet; leave it out to get each answer as one response")]
    Stream,
    /// A reference is not `${env:NAME}`.
    #[error("`{text}` is not a reference to a secret; write ${{env:NAME}}")]
    Reference {
        /// The text from `${` on.
        text: String,
    },
    /// The URL cannot be used.
    #[error("the URL `{url}` cannot be used: {reason}")]
    Url {
        /// The URL without user and password.
        url: String,
        /// Why.
        reason: String,
    },
    /// A header cannot be sent.
    #[error("the header `{name}` cannot be sent: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// Parameters or tools have the wrong shape, or set what is not theirs.
    #[error("`{field}` of the target {reason}")]
    Body {
        /// `parameters` or `tools`.
        field: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A limit that lets nothing through.
    #[error("`{field}` of the target must be at least 1")]
    Limit {
        /// The setting.
        field: &'static str,
    },
}

/// A failure on its way out: not yet masked, not yet timed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) class: FailureClass,
    pub(super) message: String,
    pub(super) status: Option<StatusCode>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) response_received: bool,
    pub(super) body: Option<Vec<u8>>,
}

impl Fault {
    /// A failure before any part of a response.
    pub(super) fn new(class: FailureClass, message: impl Into<String>) -> Fault {
        let message = message.into();
        Fault { class, message, status: None, retry_after_ms: None, response_received: false, body: None }
    }

    /// A failure after the head of a response.
    pub(super) fn after_head(class: FailureClass, status: StatusCode, message: impl Into<String>) -> Fault {
        Fault { status: Some(status), response_received: true, ..Fault::new(class, message) }
    }

    /// The same, with the body that came; the message will end by quoting it.
    pub(super) fn with_body(self, body: impl Into<Vec<u8>>) -> Fault {
        Fault { body: Some(body.into()), ..self }
    }

    /// The failure as the port has it: timed, capped, and without a secret. Texts
    /// are masked before they are cut: half a secret would not be recognised.
    pub(super) fn masked(self, redactor: &Redactor, elapsed: Duration) -> TargetFailure {
        let body = self.body.map(|body| redactor.body(&body).into_owned());
        let mut message = cut(&redactor.text(self.message), MESSAGE_CHARS);
        if let Some(body) = body.as_ref().filter(|body| !body.is_empty()) {
            message.push_str(": ");
            message.push_str(&quote(body));
        }
        TargetFailure {
            class: self.class,
            message,
            status: self.status.map(|status| status.as_u16()),
            retry_after_ms: self.retry_after_ms,
            response_received: self.response_received,
            body: body.map(|body| beginning(&body)),
            latency_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// The class of a status that is not 2xx.
pub(super) fn class_of(status: StatusCode) -> FailureClass {
    match status.as_u16() {
        429 => FailureClass::RateLimited,
        300..=399 => FailureClass::Redirect,
        400..=499 => FailureClass::ClientError,
        500..=599 => FailureClass::ServerError,
        _ => FailureClass::Status,
    }
}

/// The failure that a status is: `500 Internal Server Error from http://...: "boom"`.
pub(super) fn status_fault(status: StatusCode, headers: &HeaderMap, body: &[u8], url: &str, now: SystemTime) -> Fault {
    let class = class_of(status);
    let mut message = format!("{} from {url}", named(status));
    if class == FailureClass::Redirect
        && let Some(place) = headers.get("location")
    {
        let place = String::from_utf8_lossy(place.as_bytes());
        message.push_str(&format!(" (to {place:?}, not followed: credentials stay here)"));
    }
    let wait = retry_after(headers, now);
    match &wait {
        RetryAfter::Absent => {}
        RetryAfter::Wait(ms) => message.push_str(&format!(" (asks to wait {})", DurationMs(*ms))),
        RetryAfter::Unusable(value) => message.push_str(&format!(" (its Retry-After {value:?} is not a time to wait)")),
    }
    Fault { retry_after_ms: wait.ms(), ..Fault::after_head(class, status, message).with_body(body) }
}

/// `404 Not Found`, or the bare number where it has no name.
pub(super) fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => format!("status {}", status.as_u16()),
    }
}

/// The beginning of a body as a quoted line. Of a JSON error only its message.
fn quote(body: &[u8]) -> String {
    let told = serde_json::from_slice::<Value>(body).ok().as_ref().and_then(error_words).map(str::to_owned);
    let text = told.unwrap_or_else(|| String::from_utf8_lossy(&body[..body.len().min(BODY_BYTES_KEPT)]).into_owned());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted = cut(&words, QUOTE_CHARS);
    format!("{quoted:?}")
}

/// At most so many characters; three dots say that there were more.
fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The words of an error in the shapes that targets use.
pub(super) fn error_words(body: &Value) -> Option<&str> {
    let error = body.get("error").unwrap_or(body);
    let told = [Some(error), error.get("message"), error.get("detail"), body.get("message"), body.get("detail")];
    told.into_iter().flatten().find_map(Value::as_str).filter(|words| !words.trim().is_empty())
}

/// A body as it is kept: text where it is UTF-8.
pub(super) fn raw(body: &[u8]) -> RawBody {
    match std::str::from_utf8(body) {
        Ok(text) => RawBody::Text(text.to_owned()),
        Err(_) => RawBody::Base64(base64(body)),
    }
}

/// The first bytes of a body, never cut within a character.
fn beginning(body: &[u8]) -> RawBody {
    let kept = &body[..body.len().min(BODY_BYTES_KEPT)];
    match std::str::from_utf8(kept) {
        // Only the cut itself can end in the middle of a character.
        Err(error) if error.error_len().is_none() && kept.len() < body.len() => raw(&kept[..error.valid_up_to()]),
        Ok(_) | Err(_) => raw(kept),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_class_at_its_boundary() {
        for (status, class) in [
            (199, FailureClass::Status),
            (300, FailureClass::Redirect),
            (399, FailureClass::Redirect),
            (400, FailureClass::ClientError),
            (428, FailureClass::ClientError),
            (429, FailureClass::RateLimited),
            (430, FailureClass::ClientError),
            (499, FailureClass::ClientError),
            (500, FailureClass::ServerError),
            (599, FailureClass::ServerError),
            (600, FailureClass::Status),
        ] {
            assert_eq!(class_of(StatusCode::from_u16(status).unwrap()), class, "{status}");
        }
    }

    #[test]
    fn a_quote_is_one_short_line_and_of_a_json_error_its_message() {
        assert_eq!(quote(b"a\n\n  b\0"), "\"a b\\0\"");
        assert_eq!(quote(br#"{"error":{"message":"no such model","code":7}}"#), "\"no such model\"");
        assert_eq!(quote(br#"{"detail":"Not authenticated"}"#), "\"Not authenticated\"");
        assert_eq!(quote(br#"{"error":{"code":7}}"#), r#""{\"error\":{\"code\":7}}""#);
        assert_eq!(quote("\u{e9}".repeat(QUOTE_CHARS).as_bytes()), format!("{:?}", "\u{e9}".repeat(QUOTE_CHARS)));
        assert!(quote("\u{e9}".repeat(QUOTE_CHARS + 1).as_bytes()).ends_with("...\""));
    }

    #[test]
    fn a_secret_across_a_cut_is_masked_as_a_whole() {
        let mut secrets = super::super::secrets::Secrets::default();
        secrets.note("TOKEN", "canary-4711".into());
        let redactor = Redactor::new(secrets);
        for (before, cut_at) in [(MESSAGE_CHARS - 3, false), (QUOTE_CHARS - 3, true), (BODY_BYTES_KEPT - 3, true)] {
            let text = format!("{}canary-4711", "x".repeat(before));
            let fault =
                Fault::new(FailureClass::Parse, if cut_at { "" } else { text.as_str() }).with_body(text.clone());
            let failure = fault.masked(&redactor, Duration::ZERO);
            assert!(!format!("{failure:?}").contains("can"), "{failure:?}");
        }
    }

    #[test]
    fn a_kept_body_is_cut_between_characters() {
        let body = format!("{}\u{e9}", "x".repeat(BODY_BYTES_KEPT - 1));
        assert_eq!(beginning(body.as_bytes()), RawBody::Text("x".repeat(BODY_BYTES_KEPT - 1)));
        assert_eq!(beginning(b"a\xff"), RawBody::Base64("Yf8=".into()));
    }
}
