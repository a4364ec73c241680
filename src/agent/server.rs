//! The life of a call: read, logged, thought over, answered or mishandled.

use crate::agent::AgentError;
use crate::agent::answers::Answers;
use crate::agent::call::{Call, CallLog, Receipt};
use crate::agent::demo::DemoAgent;
use crate::agent::playbook::Playbook;
use crate::agent::reply::{ChatRequest, Reply};
use crate::agent::script::{Fault, Script};
use crate::agent::wire::{Link, WireFault, WireListener};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use futures::stream::{self, Stream, StreamExt};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The largest request that is read, in bytes: above any conversation, below any accident.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// What an agent is like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Rules that come before everything else.
    pub script: Script,
    /// Answers for the calls that no rule answers.
    pub answers: Option<Answers>,
    /// Whether the demo's support agent speaks where neither script nor answers do; otherwise the question is said back.
    pub demo: bool,
    /// How long each reply takes.
    pub latency: Duration,
    /// Up to this much more, by the call's attempt and arrival, evenly spread.
    pub jitter: Duration,
    /// The file that calls are logged to.
    pub log: Option<PathBuf>,
    /// Whether calls are kept in memory for [`Running::calls`]; not for millions of them.
    pub keep_calls: bool,
}

impl Default for Options {
    /// An echo on a free local port that keeps its calls.
    fn default() -> Options {
        Options {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            script: Script::default(),
            answers: None,
            demo: false,
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            log: None,
            keep_calls: true,
        }
    }
}

/// The built-in agents' server.
#[derive(Debug)]
pub struct MockAgent {
    playbook: Playbook,
    answers: Option<Answers>,
    demo: Option<DemoAgent>,
    latency: Duration,
    jitter: Duration,
    log: Arc<CallLog>,
    stopping: CancellationToken,
}

/// An agent that listens. Dropping it stops it without waiting; [`Running::stop`] waits.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, with the real port.
    pub addr: SocketAddr,
    log: Arc<CallLog>,
    stopping: CancellationToken,
    serving: Option<JoinHandle<()>>,
}

impl MockAgent {
    /// Starts an agent on the current tokio runtime; it listens when this returns.
    pub async fn start(options: Options) -> Result<Running, AgentError> {
        let address = options.listen;
        let unheard = |source| AgentError::Listen { address, source };
        let log = Arc::new(CallLog::open(options.log.as_deref(), options.keep_calls)?);
        let listener = TcpListener::bind(address).await.map_err(unheard)?;
        let addr = listener.local_addr().map_err(unheard)?;
        let stopping = CancellationToken::new();
        let agent = MockAgent {
            playbook: Playbook::new(options.script),
            answers: options.answers,
            demo: options.demo.then(DemoAgent::new),
            latency: options.latency,
            jitter: options.jitter,
            log: Arc::clone(&log),
            stopping: stopping.clone(),
        };
        let routes = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/healthz", get(|| async { "ok\n" }))
            .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
            .with_state(Arc::new(agent))
            .into_make_service_with_connect_info::<Link>();
        let stopped = stopping.clone().cancelled_owned();
        let server = axum::serve(WireListener(listener), routes).with_graceful_shutdown(stopped);
        let serving = tokio::spawn(async move {
            if let Err(error) = server.await {
                tracing::error!(%error, "agent stopped serving");
            }
        });
        Ok(Running { addr, log, stopping, serving: Some(serving) })
    }

    /// How long the reply to a call takes. The spread follows from the call, not from chance.
    fn latency_of(&self, call: &Call) -> Duration {
        let jitter_us = u64::try_from(self.jitter.as_micros()).unwrap_or(u64::MAX);
        if jitter_us == 0 {
            return self.latency;
        }
        let mut hasher = DefaultHasher::new();
        (&call.attempt, &call.case, call.repeat, call.at_ms).hash(&mut hasher);
        self.latency + Duration::from_micros(hasher.finish() % jitter_us)
    }

    /// What the agent says where its script does not.
    fn own_words(&self, call: &Call, request: &ChatRequest, input: &str) -> Reply {
        let told = self.answers.as_ref().and_then(|answers| answers.reply_to(&call.case, request));
        match (told, &self.demo) {
            (Some(reply), _) => reply.clone(),
            (None, Some(demo)) => demo.reply(request),
            (None, None) => Reply::text(input),
        }
    }
}

impl Running {
    /// `http://ADDRESS:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Where chats are completed, as a profile's target names it.
    pub fn chat_url(&self) -> String {
        format!("{}/v1/chat/completions", self.url())
    }

    /// The calls so far, in order of arrival; empty unless [`Options::keep_calls`].
    pub fn calls(&self) -> Vec<Call> {
        self.log.calls()
    }

    /// Stops listening, breaks hanging replies, lets running ones end and waits
    /// until the log has the end of every call.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        if let Some(serving) = self.serving.take() {
            // A panic in the server was printed when it happened; there is nothing left to stop.
            let _ = serving.await;
        }
        self.log.settled().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

async fn complete(
    State(agent): State<Arc<MockAgent>>,
    ConnectInfo(link): ConnectInfo<Link>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let call = Call::of(&headers, &body, agent.log.keeps());
    let receipt = match agent.log.arrived(call) {
        Ok(receipt) => receipt,
        Err(error) => return unlogged(&error),
    };
    let request = match serde_json::from_slice::<ChatRequest>(&body) {
        Ok(request) => request,
        Err(error) => return bad_request(&link, receipt, &error),
    };
    let input = request.last_user_text();
    let rule = agent.playbook.rule_for(receipt.call(), &input);
    let latency = rule.and_then(|rule| rule.latency).unwrap_or_else(|| agent.latency_of(receipt.call()));
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let scripted = rule.and_then(|rule| rule.reply.as_ref());
    let reply = match scripted {
        Some(reply) => reply.filled(&input, &receipt.call().case),
        None => agent.own_words(receipt.call(), &request, &input),
    };
    match rule.and_then(|rule| rule.fault.clone()) {
        None => well_behaved(&link, receipt, &reply, &request),
        Some(fault) => misbehave(&agent, &link, receipt, &reply, &request, fault).await,
    }
}

fn well_behaved(link: &Link, receipt: Receipt, reply: &Reply, request: &ChatRequest) -> Response {
    let (kind, body) = rendered(reply, request);
    respond(link, receipt, StatusCode::OK, kind, body.into())
}

fn rendered(reply: &Reply, request: &ChatRequest) -> (&'static str, String) {
    if request.stream {
        ("text/event-stream", reply.stream(request))
    } else {
        ("application/json", reply.completion(request))
    }
}

async fn misbehave(
    agent: &MockAgent,
    link: &Link,
    receipt: Receipt,
    reply: &Reply,
    request: &ChatRequest,
    fault: Fault,
) -> Response {
    let ok = |receipt, kind, body| respond(link, receipt, StatusCode::OK, kind, body);
    match fault {
        Fault::Hang => {
            agent.stopping.cancelled().await;
            broken(link, receipt, WireFault::Reset)
        }
        Fault::Reset => broken(link, receipt, WireFault::Reset),
        Fault::Close => broken(link, receipt, WireFault::Close),
        Fault::NotHttp => broken(link, receipt, WireFault::Instead(b"\x00\x16\x03 this is no HTTP\r\n\r\n".to_vec())),
        Fault::Html => ok(receipt, "text/html; charset=utf-8", Bytes::from_static(PAGE.as_bytes())),
        Fault::ErrorIn200 => {
            ok(receipt, "application/json", error_body("the model is overloaded", "overloaded").into())
        }
        Fault::Garbage => ok(receipt, "application/json", Bytes::from_static(b"{\"choices\": [\xff\xfe\x00 oops")),
        Fault::Empty => well_behaved(link, receipt, &Reply::text(""), request),
        Fault::Status { status, headers, body } => other_status(link, receipt, status, &headers, body),
        Fault::Truncate { after } => {
            link.order(WireFault::Cut(after));
            well_behaved(link, receipt, reply, request)
        }
        Fault::Drip { every } => {
            let (kind, body) = rendered(reply, request);
            drip(agent, link, receipt, kind, body.into(), every)
        }
    }
}

const PAGE: &str = "<!doctype html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>\n";

/// A call that cannot be logged is not served: a reply without its line would make the log a lie.
fn unlogged(error: &std::io::Error) -> Response {
    tracing::error!(%error, "call log not written, call refused");
    let body = error_body(&format!("the call log cannot be written: {error}"), "call_log");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

fn bad_request(link: &Link, receipt: Receipt, error: &serde_json::Error) -> Response {
    let body = error_body(&format!("not a chat request: {error}"), "invalid_request_error");
    respond(link, receipt, StatusCode::BAD_REQUEST, "application/json", body.into())
}

fn other_status(
    link: &Link,
    receipt: Receipt,
    status: u16,
    headers: &BTreeMap<String, String>,
    body: Option<String>,
) -> Response {
    let status = StatusCode::from_u16(status).expect("a script's status was checked to be within 200..=599");
    let body = body.unwrap_or_else(|| error_body(&format!("scripted status {status}"), "scripted"));
    let mut response = respond(link, receipt, status, "application/json", body.into());
    for (name, value) in headers {
        let name = HeaderName::try_from(name).expect("a script's header names were checked");
        response.headers_mut().insert(name, HeaderValue::try_from(value).expect("and its values"));
    }
    response
}

fn error_body(message: &str, kind: &str) -> String {
    serde_json::json!({ "error": { "message": message, "type": kind, "code": kind } }).to_string()
}

/// Orders a fault in place of any reply; the response returned is never seen.
fn broken(link: &Link, receipt: Receipt, fault: WireFault) -> Response {
    link.order(fault);
    link.hold(receipt);
    Response::new(Body::empty())
}

fn respond(link: &Link, receipt: Receipt, status: StatusCode, kind: &'static str, body: Bytes) -> Response {
    let length = body.len();
    let link_of_body = link.clone();
    let whole = stream::once(async move {
        link_of_body.body_given();
        body
    });
    send(link, receipt, status, kind, length, whole)
}

fn drip(
    agent: &MockAgent,
    link: &Link,
    receipt: Receipt,
    kind: &'static str,
    body: Bytes,
    every: Duration,
) -> Response {
    let length = body.len();
    let (link_of_body, stopping) = (link.clone(), agent.stopping.clone());
    let drops = stream::unfold(body, move |mut rest| {
        let (link, stopping) = (link_of_body.clone(), stopping.clone());
        async move {
            if rest.is_empty() {
                return None;
            }
            let stopped = tokio::time::timeout(every, stopping.cancelled()).await.is_ok();
            if stopped {
                link.order(WireFault::Close);
            }
            let drop = rest.split_to(1);
            if rest.is_empty() {
                link.body_given();
            }
            Some((drop, rest))
        }
    });
    send(link, receipt, StatusCode::OK, kind, length, drops)
}

/// Sends a body of a known length. The receipt goes with the connection: its end is noted there.
fn send(
    link: &Link,
    mut receipt: Receipt,
    status: StatusCode,
    kind: &'static str,
    length: usize,
    body: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    receipt.replying(status.as_u16());
    link.hold(receipt);
    if length == 0 {
        // Nobody asks an empty body for its last piece.
        link.body_given();
    }
    let mut response = Response::new(Body::from_stream(body.map(Ok::<Bytes, Infallible>)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}
