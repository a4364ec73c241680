//! What is sent, and what is refused before anything is.

use super::super::{Allowed, TargetSetupError};
use super::server::Server;
use super::*;
use tribunal_schema::profile::Rate;

#[tokio::test]
async fn a_request_says_which_call_it_is() {
    let mut server = Server::answering(json_response(completion("hi"))).await;
    let mut config = config(&server.url());
    config.url.push_str("?v=1#part");
    config.headers =
        BTreeMap::from([("X-Plain".into(), "one".into()), ("authorization".into(), "Bearer ${env:TOKEN}".into())]);
    target(&config).ask(&ask()).await.unwrap();
    let request = server.request().await;
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("POST /v1/chat/completions?v=1 HTTP/1.1"));
    let headers: BTreeMap<&str, &str> = lines.filter_map(|line| line.split_once(": ")).collect();
    let address = server.address.to_string();
    let token = format!("Bearer {CANARY}");
    for (name, value) in [
        ("host", address.as_str()),
        ("x-plain", "one"),
        ("authorization", token.as_str()),
        ("accept", "application/json"),
        ("accept-encoding", "identity"),
        ("content-type", "application/json"),
        ("user-agent", concat!("tribunal/", env!("CARGO_PKG_VERSION"))),
        ("idempotency-key", "key-1"),
        ("x-tribunal-run", "00000000010000000000000001"),
        ("x-tribunal-case", "caf%C3%A9%201"),
        ("x-tribunal-repeat", "2"),
        ("x-tribunal-attempt", "00000000020000000000000002"),
        ("x-tribunal-attempt-number", "3"),
    ] {
        assert_eq!(headers.get(name), Some(&value), "{name}");
    }
    assert!(headers["traceparent"].starts_with("00-"));
    assert_eq!(body, r#"{"model":"mock","messages":[{"role":"user","content":"hi"}],"temperature":0}"#);
}

#[tokio::test]
async fn user_and_password_of_a_url_are_sent_as_basic_credentials() {
    let mut server = Server::answering(json_response(completion("hi"))).await;
    let url = server.url().replace("http://", "http://me:pass@");
    target(&config(&url)).ask(&ask()).await.unwrap();
    assert!(server.request().await.contains("authorization: Basic bWU6cGFzcw==\r\n"));
}

fn setup_error(change: impl FnOnce(&mut TargetConfig)) -> String {
    let mut config = config("http://127.0.0.1:1/v1");
    change(&mut config);
    let resolver = SecretResolver::new(SecretPolicy { names: Allowed::Any, hosts: Allowed::Any }, |_| None);
    ChatTarget::new(&config, resolver).map(drop).unwrap_err().to_string()
}

#[test]
fn what_is_not_supported_yet_says_so() {
    let stream = setup_error(|config| match &mut config.kind {
        TargetKind::Chat { stream, .. } => *stream = true,
        TargetKind::Http { .. } => unreachable!("the fixture is a chat target"),
    });
    assert_eq!(stream, TargetSetupError::Stream.to_string());
    let http = setup_error(|config| {
        config.kind = TargetKind::Http { method: "POST".into(), body: JsonText::default(), answer: BTreeMap::new() };
    });
    assert!(http.contains("kind http is not supported yet"), "{http}");
}

#[test]
fn mistakes_of_a_configuration_are_named_before_any_call() {
    for (error, words) in [
        (
            setup_error(|config| config.url = "ftp://me:pass@host/x?key=1".into()),
            "`ftp://host/x` cannot be used: its scheme is `ftp`",
        ),
        (setup_error(|config| config.url = "127.0.0.1/v1".into()), "the URL is not one"),
        (setup_error(|config| config.url = "http://h/${env:}".into()), "write ${env:NAME}"),
        (setup_error(|config| drop(config.headers.insert("a b".into(), "x".into()))), "header `a b`"),
        (setup_error(|config| config.max_in_flight = 0), "`max_in_flight`"),
        (setup_error(|config| config.timeout = DurationMs(0)), "`timeout`"),
        (setup_error(|config| config.max_response_bytes = 0), "`max_response`"),
        (setup_error(|config| config.rate = Some(Rate { calls: 0, per: DurationMs(1) })), "`rate`"),
        (setup_error(|config| config.rate = Some(Rate { calls: 1, per: DurationMs(0) })), "`rate`"),
    ] {
        assert!(error.contains(words), "{error}");
    }
}
