//! One exchange: a request out, a response in, within a deadline and a size.
//!
//! What can go wrong between the first byte sent and the last byte read is told
//! apart here: nothing came (reset), the head was cut (reset, but a response had
//! begun), the body was cut (truncated), time ran out (timeout), too much came
//! (too-large), or something came that is not HTTP (parse).

use super::connect::{Connector, Origin, io_words};
use super::failure::{Fault, named};
use super::pool::{Line, Pool};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::TrySendError;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use hyper::{HeaderMap, Request, StatusCode};
use std::error::Error as _;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::units::DurationMs;

/// How much of a body is read that explains a failure and is not an answer.
const EXPLANATION_BYTES: u64 = 16 * 1024;
/// How long such a body may take; the failure is certain already.
const EXPLANATION_MAX: Duration = Duration::from_secs(2);

/// A call as it is put on the wire.
pub(super) struct Call<'a> {
    pub(super) origin: &'a Origin,
    /// The URL as it is shown.
    pub(super) url: &'a str,
    pub(super) request: Request<Full<Bytes>>,
    pub(super) timeout: DurationMs,
    pub(super) deadline: Instant,
    pub(super) body_bytes_max: u64,
}

/// A response that was read as far as it is of use: whole when its status is 2xx
/// and its content type is JSON or absent, else its beginning.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Whether only the end of the connection said where the body ends.
    pub(super) ended_by_close: bool,
    /// From the first byte sent to the last byte read.
    pub(super) latency: Duration,
}

impl Reply {
    /// The failure of a 2xx response whose headers say that it is no JSON.
    pub(super) fn content_type_fault(&self, url: &str) -> Option<Fault> {
        let why = unreadable(&self.headers)?;
        let message = format!("{} from {url} with {why}", named(self.status));
        Some(Fault::after_head(FailureClass::ContentType, self.status, message).with_body(self.body.clone()))
    }
}

/// Makes the call. Connects anew unless an idle connection is provably alive; a
/// call that provably was not sent on one is sent on another.
pub(super) async fn exchange(pool: &Pool, connector: &Connector, call: Call<'_>) -> Result<Reply, Fault> {
    let Call { origin, url, mut request, timeout, deadline, body_bytes_max } = call;
    let (line, sent_at, response) = loop {
        let mut line = match pool.take(origin).await {
            Some(line) => line,
            None => connect(connector, origin, deadline).await?,
        };
        line.watch.begin();
        let sent_at = Instant::now();
        match timeout_at(deadline, line.sender.try_send_request(request)).await {
            Ok(Ok(response)) => break (line, sent_at, response),
            Ok(Err(mut error)) => match error.take_message() {
                Some(unsent) if line.reused => request = unsent,
                Some(_) | None => return Err(lost(&error, &line, origin, url)),
            },
            Err(_) => return Err(late(timeout, 0, line.watch.has_status_line(), None)),
        }
    };
    let (head, body) = response.into_parts();
    let mut reader = Reader { url, status: head.status, timeout, body: Vec::new() };
    let ended_by_close = ends_by_close(&head.headers);
    let whole = if head.status.is_success() && unreadable(&head.headers).is_none() {
        reader.read(body, body_bytes_max, deadline).await?;
        true
    } else {
        reader.explain(body, deadline).await
    };
    if whole {
        pool.give_back(line);
    }
    Ok(Reply {
        status: head.status,
        headers: head.headers,
        body: reader.body,
        ended_by_close,
        latency: sent_at.elapsed(),
    })
}

async fn connect(connector: &Connector, origin: &Origin, deadline: Instant) -> Result<Line, Fault> {
    let (wire, socket) = connector.connect(origin, deadline).await?;
    let opened = Line::open(origin.clone(), wire, socket).await;
    opened.map_err(|error| Fault::new(FailureClass::Connect, format!("no connection to {origin} ({error})")))
}

/// No complete head came back.
fn lost<T>(error: &TrySendError<T>, line: &Line, origin: &Origin, url: &str) -> Fault {
    let bytes = line.watch.bytes();
    let error = error.error();
    if error.is_parse() {
        let beginning = line.watch.beginning();
        let tls = matches!(beginning.as_slice(), [0x15, 3, ..]);
        let hint = if tls { "; it speaks TLS: is it https:// ?" } else { "" };
        let message = format!("what came from {url} is not HTTP ({error}{hint})");
        return Fault { response_received: true, ..Fault::new(FailureClass::Parse, message).with_body(beginning) };
    }
    let how = match error.source().and_then(|source| source.downcast_ref::<std::io::Error>()) {
        Some(io) => format!("failed ({})", io_words(io)),
        None => "was closed".into(),
    };
    let when = match bytes {
        0 => "before a response began".into(),
        _ => format!("within the head of the response, after {bytes} bytes"),
    };
    let message = format!("the connection to {origin} {how} {when}");
    Fault { response_received: line.watch.has_status_line(), ..Fault::new(FailureClass::Reset, message) }
}

fn late(timeout: DurationMs, body_bytes: usize, response_received: bool, status: Option<StatusCode>) -> Fault {
    let message = format!("no complete answer within {timeout} ({body_bytes} bytes of body received)");
    Fault { status, response_received, ..Fault::new(FailureClass::Timeout, message) }
}

/// Reads a body; what was read stays when reading fails.
struct Reader<'a> {
    url: &'a str,
    status: StatusCode,
    timeout: DurationMs,
    body: Vec<u8>,
}

impl Reader<'_> {
    /// Reads the body of an answer to its end.
    async fn read(&mut self, body: Incoming, bytes_max: u64, deadline: Instant) -> Result<(), Fault> {
        let announced = body.size_hint().exact();
        if let Some(bytes) = announced.filter(|bytes| *bytes > bytes_max) {
            return Err(self.too_large(&format!("announces a body of {bytes} bytes"), bytes_max));
        }
        match timeout_at(deadline, self.fill(body, bytes_max)).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(self.too_large("sends a body that goes on", bytes_max)),
            Ok(Err(error)) => Err(self.truncated(&error, announced)),
            Err(_) => Err(late(self.timeout, self.body.len(), true, Some(self.status)).with_body(self.taken())),
        }
    }

    /// Reads the beginning of a body that explains a failure; whether that was all of it.
    async fn explain(&mut self, body: Incoming, deadline: Instant) -> bool {
        let deadline = deadline.min(Instant::now() + EXPLANATION_MAX);
        matches!(timeout_at(deadline, self.fill(body, EXPLANATION_BYTES)).await, Ok(Ok(true)))
    }

    /// Whether the end was reached within `bytes_max`.
    async fn fill(&mut self, mut body: Incoming, bytes_max: u64) -> hyper::Result<bool> {
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame?.into_data() else { continue };
            let room = usize::try_from(bytes_max).unwrap_or(usize::MAX) - self.body.len();
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn too_large(&mut self, what: &str, bytes_max: u64) -> Fault {
        let message = format!("{} {what} beyond the limit of {bytes_max} bytes", self.url);
        Fault::after_head(FailureClass::TooLarge, self.status, message).with_body(self.taken())
    }

    fn truncated(&mut self, error: &hyper::Error, announced: Option<u64>) -> Fault {
        let of = announced.map(|bytes| format!(" of {bytes}")).unwrap_or_default();
        let why = match error.source() {
            Some(source) => format!(" ({source})"),
            None => String::new(),
        };
        let received = self.body.len();
        let message = format!("the body from {} broke off after {received}{of} bytes{why}", self.url);
        Fault::after_head(FailureClass::Truncated, self.status, message).with_body(self.taken())
    }

    /// What was read: enough of it to show.
    fn taken(&mut self) -> Vec<u8> {
        self.body.truncate(usize::try_from(EXPLANATION_BYTES).expect("a few kilobytes"));
        std::mem::take(&mut self.body)
    }
}

/// Why a body cannot be JSON by its headers; `None` if it can. A missing content
/// type says nothing, so the body itself decides.
fn unreadable(headers: &HeaderMap) -> Option<String> {
    let shown = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    if let Some(encoding) =
        headers.get(CONTENT_ENCODING).filter(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
    {
        return Some(format!("content encoding {:?}, which was not asked for", shown(encoding)));
    }
    let kind = shown(headers.get(CONTENT_TYPE)?);
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let json = matches!(essence.as_str(), "application/json" | "text/json") || essence.ends_with("+json");
    (!json).then(|| format!("content type {kind:?} instead of application/json"))
}

fn ends_by_close(headers: &HeaderMap) -> bool {
    !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_what_says_so_or_says_nothing() {
        for (kind, json) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/problem+json", true),
            ("text/json", true),
            ("text/html; charset=utf-8", false),
            ("text/plain", false),
            ("application/jsonp", false),
            ("text/event-stream", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
            assert_eq!(unreadable(&headers).is_none(), json, "{kind}");
        }
        assert_eq!(unreadable(&HeaderMap::new()), None);
    }

    #[test]
    fn a_compressed_body_is_not_read_as_text() {
        let headers = |encoding: &str| HeaderMap::from_iter([(CONTENT_ENCODING, encoding.parse().unwrap())]);
        assert_eq!(unreadable(&headers("Identity")), None);
        assert!(unreadable(&headers("gzip")).is_some_and(|why| why.contains("gzip")));
    }
}
