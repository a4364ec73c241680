//! A target that speaks OpenAI-compatible chat completions.

use super::answer::{Origin as BodyOrigin, read_answer};
use super::connect::{Connector, Origin};
use super::exchange::{Call, Reply, exchange};
use super::failure::{Fault, TargetSetupError, status_fault};
use super::headers::Headers;
use super::limits::Limits;
use super::pool::Pool;
use super::redact::Redactor;
use super::request::ChatBody;
use super::secrets::{SECRET_CHARS_MIN, SecretResolver, Secrets, Template};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use tribunal_actors::ports::target::{Answered, Ask, Permit, Target, TargetFailure};
use tribunal_schema::answer::{Answer, FailureClass};
use tribunal_schema::profile::{TargetConfig, TargetKind};
use tribunal_schema::units::DurationMs;
use url::Url;

/// An agent reached by OpenAI-compatible chat completions. Shared by all workers
/// of a process: its limits hold for all of them together.
pub struct ChatTarget {
    url: Template,
    /// The URL in messages: without user, password, query and secrets.
    shown: String,
    headers: Headers,
    body: ChatBody,
    resolver: SecretResolver,
    limits: Limits,
    pool: Pool,
    connector: Connector,
    redactor: Mutex<Arc<Redactor>>,
    timeout: DurationMs,
    body_bytes_max: u64,
}

impl ChatTarget {
    /// A target as a profile configures it. Checks everything that can be checked
    /// without secrets and without the network; the first mistake is the error.
    pub fn new(config: &TargetConfig, resolver: SecretResolver) -> Result<ChatTarget, TargetSetupError> {
        ChatTarget::connecting(config, resolver, Connector::default())
    }

    pub(super) fn connecting(
        config: &TargetConfig,
        resolver: SecretResolver,
        connector: Connector,
    ) -> Result<ChatTarget, TargetSetupError> {
        let body = match &config.kind {
            TargetKind::Chat { stream: true, .. } => return Err(TargetSetupError::Stream),
            TargetKind::Http { .. } => return Err(TargetSetupError::Kind { kind: "http" }),
            TargetKind::Chat { model, parameters, system, tools, stream: false } => {
                ChatBody::new(model, parameters, system.as_deref(), tools)?
            }
        };
        check_limits(config)?;
        let url = Template::parse(&config.url)?;
        let shown = shown_url(&config.url);
        if let Some(text) = url.literal() {
            read_url(text).map_err(|reason| TargetSetupError::Url { url: shown.clone(), reason })?;
        }
        Ok(ChatTarget {
            url,
            shown,
            headers: Headers::new(&config.headers)?,
            body,
            resolver,
            limits: Limits::new(config.max_in_flight, config.rate),
            pool: Pool::new(usize::try_from(config.max_in_flight).unwrap_or(usize::MAX)),
            connector,
            redactor: Mutex::new(Arc::new(Redactor::new(Secrets::default()))),
            timeout: config.timeout,
            body_bytes_max: config.max_response_bytes,
        })
    }

    /// Where the call goes and what it says. Nothing has left the machine yet.
    fn prepare(&self, ask: &Ask, used: &mut Secrets) -> Result<(Origin, Request<Full<Bytes>>), String> {
        let url = self.resolver.fill(&self.url, used)?;
        let (url, origin) = read_url(&url)?;
        if self.headers.need_secrets() || self.url.literal().is_none() {
            self.resolver.check_host(&origin.host.to_string(), origin.port)?;
        }
        let mut headers = self.headers.of(ask, &self.resolver, used)?;
        if !self.headers.sets(&HOST) {
            headers.insert(HOST, authority(&url)?);
        }
        if let Some(value) = basic_authorization(&url, used).filter(|_| !self.headers.sets(&AUTHORIZATION)) {
            headers.insert(AUTHORIZATION, value);
        }
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let request = Request::post(path).body(Full::new(self.body.of(&ask.case)));
        let mut request = request.map_err(|error| format!("the URL cannot be sent ({error})"))?;
        *request.headers_mut() = headers;
        Ok((origin, request))
    }

    /// Judges a response: status, content type, then the body.
    fn read(&self, reply: &Reply, redactor: &Redactor) -> Result<Answer, Fault> {
        if !reply.status.is_success() {
            let fault = status_fault(reply.status, &reply.headers, &reply.body, &self.shown, SystemTime::now());
            if let (429 | 503, Some(ms)) = (reply.status.as_u16(), fault.retry_after_ms) {
                self.limits.hold(Duration::from_millis(ms));
            }
            return Err(fault);
        }
        if let Some(fault) = reply.content_type_fault(&self.shown) {
            return Err(fault);
        }
        let from = BodyOrigin { status: reply.status, url: &self.shown, ended_by_close: reply.ended_by_close };
        read_answer(&redactor.body(&reply.body), &from)
    }

    /// The redactor of these secrets: made anew only when one of them changed.
    fn redactor(&self, used: Secrets) -> Arc<Redactor> {
        let mut last = self.redactor.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.masks(&used) {
            *last = Arc::new(Redactor::new(used));
        }
        Arc::clone(&last)
    }
}

#[async_trait]
impl Target for ChatTarget {
    async fn permit(&self) -> Permit {
        self.limits.permit().await
    }

    async fn ask(&self, ask: &Ask) -> Result<Answered, TargetFailure> {
        let start = Instant::now();
        let mut used = Secrets::default();
        let prepared = self.prepare(ask, &mut used);
        let redactor = self.redactor(used);
        let fail = |fault: Fault| fault.masked(&redactor, start.elapsed());
        let (origin, request) = prepared
            .map_err(|reason| fail(Fault::new(FailureClass::Configuration, format!("not called: {reason}"))))?;
        let call = Call {
            origin: &origin,
            url: &self.shown,
            request,
            timeout: self.timeout,
            deadline: start + self.timeout.duration(),
            body_bytes_max: self.body_bytes_max,
        };
        let mut reply = exchange(&self.pool, &self.connector, call).await.map_err(fail)?;
        redactor.headers(&mut reply.headers);
        let latency_ms = u64::try_from(reply.latency.as_millis()).unwrap_or(u64::MAX);
        let answer = self.read(&reply, &redactor).map_err(fail)?;
        Ok(Answered { answer, latency_ms })
    }
}

impl fmt::Debug for ChatTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTarget").field("url", &self.shown).field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn check_limits(config: &TargetConfig) -> Result<(), TargetSetupError> {
    let rate = config.rate.map(|rate| u64::from(rate.calls).min(rate.per.0));
    for (field, value) in [
        ("max_in_flight", u64::from(config.max_in_flight)),
        ("timeout", config.timeout.0),
        ("max_response", config.max_response_bytes),
        ("rate", rate.unwrap_or(1)),
    ] {
        if value == 0 {
            return Err(TargetSetupError::Limit { field });
        }
    }
    Ok(())
}

fn read_url(text: &str) -> Result<(Url, Origin), String> {
    let url = Url::parse(text).map_err(|error| format!("the URL is not one ({error})"))?;
    let origin = Origin::of(&url)?;
    Ok((url, origin))
}

/// The URL without user, password, query and fragment: where people write keys.
fn shown_url(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{path}")
}

fn authority(url: &Url) -> Result<HeaderValue, String> {
    let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
    HeaderValue::from_str(authority).map_err(|error| format!("the host cannot be sent ({error})"))
}

/// User and password of a URL as HTTP sends them; the password counts as a secret.
fn basic_authorization(url: &Url, used: &mut Secrets) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let user = percent_decoded(url.username());
    let password = percent_decoded(url.password().unwrap_or_default());
    let credentials = [user.as_slice(), b":", password.as_slice()].concat();
    if let Ok(password) = String::from_utf8(password)
        && password.chars().count() >= SECRET_CHARS_MIN
    {
        used.note("url", password);
    }
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(credentials))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..2).filter(|_| *first == b'%').and_then(|digits| hex::decode(digits).ok());
        match escaped {
            Some(byte) => {
                bytes.extend(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_a_key() {
        for (url, shown) in [
            ("http://127.0.0.1:8790/v1/chat/completions", "http://127.0.0.1:8790/v1/chat/completions"),
            ("https://user:pa@ss@host/p?key=1#f", "https://host/p"),
            ("https://host?key=a@b", "https://host"),
            ("https://host/a@b", "https://host/a@b"),
            ("${env:BASE}/v1", "${env:BASE}/v1"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }

    #[test]
    fn escapes_of_user_and_password_are_undone() {
        let mut used = Secrets::default();
        let url = Url::parse("http://us%3Aer:p%40ss@host/").unwrap();
        let value = basic_authorization(&url, &mut used).unwrap();
        assert_eq!(value, format!("Basic {}", STANDARD.encode("us:er:p@ss")).as_str());
        assert!(value.is_sensitive());
        assert_eq!(used.iter().collect::<Vec<_>>(), [("url", "p@ss")]);
        assert_eq!(basic_authorization(&Url::parse("http://host/").unwrap(), &mut used), None);
    }
}
