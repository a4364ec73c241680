//! From the name to the last byte: what the network may do.

use super::super::connect::Connector;
use super::server::{Seen, Server, Step};
use super::*;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tribunal_schema::answer::FailureClass;

async fn failure_at(url: &str) -> TargetFailure {
    target(&config(url)).ask(&ask()).await.unwrap_err()
}

/// Before any response: nothing was received, nothing is known of a status.
fn assert_no_response(failure: &TargetFailure, class: FailureClass, words: &str) {
    assert_eq!(failure.class, class, "{}", failure.message);
    assert!(failure.message.contains(words), "{}", failure.message);
    assert!(!failure.response_received && failure.status.is_none() && failure.body.is_none(), "{failure:?}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_dns() {
    let failure = failure_at("http://nonexistent.invalid/v1").await;
    assert_no_response(&failure, FailureClass::Dns, "nonexistent.invalid d");
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_connect() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let failure = failure_at(&format!("http://{address}/v1")).await;
    assert_no_response(&failure, FailureClass::Connect, &format!("no connection to {address} (connection refused)"));
}

#[tokio::test]
async fn tls_to_a_plain_port_is_tls() {
    let server =
        Server::start(vec![vec![Step::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".into()), Step::AwaitClose]]).await;
    let failure = failure_at(&format!("https://{}/v1", server.address)).await;
    assert_no_response(&failure, FailureClass::Tls, "does not speak TLS; is it http:// ?");
}

#[tokio::test]
async fn plain_http_to_a_tls_port_is_said_to_be_that() {
    let server = Server::answering(b"\x15\x03\x01\x00\x02\x02\x16").await;
    let failure = call(&server).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Parse);
    assert!(failure.message.contains("it speaks TLS: is it https:// ?"), "{}", failure.message);
}

/// A TLS server with a certificate of its own that answers one request.
async fn tls_server() -> (u16, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth().with_single_cert(vec![certificate.clone()], key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        if let Ok(mut stream) = acceptor.accept(stream).await {
            drop(stream.read(&mut [0; 4096]).await);
            drop(stream.write_all(&json_response(completion("hi"))).await);
            drop(stream.read(&mut [0; 4096]).await);
        }
    });
    (port, certificate)
}

async fn call_tls(host: &str, trusted: bool) -> Result<Answered, TargetFailure> {
    let (port, certificate) = tls_server().await;
    let mut roots = RootCertStore::empty();
    if trusted {
        roots.add(certificate).unwrap();
    }
    let config = config(&format!("https://{host}:{port}/v1"));
    let target = ChatTarget::connecting(&config, resolver(), Connector::trusting(roots)).unwrap();
    target.ask(&ask()).await
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_name_the_host() {
    assert_eq!(call_tls("localhost", true).await.unwrap().answer.text.as_deref(), Some("hi"));
    assert_no_response(&call_tls("localhost", false).await.unwrap_err(), FailureClass::Tls, "invalid peer certificate");
    assert_no_response(&call_tls("127.0.0.1", true).await.unwrap_err(), FailureClass::Tls, "not valid for name");
}

#[tokio::test]
async fn a_connection_that_ends_before_a_response_is_a_reset() {
    for last in [None, Some(Step::Reset)] {
        let script = [Some(Step::Read), last].into_iter().flatten().collect();
        let server = Server::start(vec![script]).await;
        let failure = call(&server).await.unwrap_err();
        assert_no_response(&failure, FailureClass::Reset, "before a response began");
        assert!(failure.message.contains(&server.address.to_string()), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_connection_that_ends_within_the_head_is_a_reset_after_a_response_began() {
    for (head, received) in [("HTTP/1.1 200 OK\r\ncontent-ty", true), ("HTTP/1.1 200", false)] {
        let failure = call(&Server::answering(head).await).await.unwrap_err();
        assert_eq!((failure.class, failure.response_received), (FailureClass::Reset, received), "{}", failure.message);
        assert!(failure.message.contains(&format!("within the head of the response, after {} bytes", head.len())));
    }
}

#[tokio::test]
async fn a_reset_within_the_body_is_truncated() {
    let sent = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{".to_vec();
    let server = Server::start(vec![vec![Step::Read, Step::Send(sent), Step::Reset]]).await;
    let failure = call(&server).await.unwrap_err();
    // A reset may overtake what was sent before it.
    let class = if failure.response_received { FailureClass::Truncated } else { FailureClass::Reset };
    assert_eq!(failure.class, class, "{}", failure.message);
}

async fn late(script: Vec<Step>) -> TargetFailure {
    let server = Server::start(vec![script]).await;
    let mut config = config(&server.url());
    config.timeout = DurationMs(1000);
    let failure = target(&config).ask(&ask()).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Timeout, "{}", failure.message);
    assert!(failure.message.starts_with("no complete answer within 1 s ("), "{}", failure.message);
    failure
}

#[tokio::test]
async fn silence_ends_at_the_deadline() {
    let failure = late(vec![Step::Read, Step::AwaitClose]).await;
    assert_no_response(&failure, FailureClass::Timeout, "(0 bytes of body received)");
}

#[tokio::test]
async fn bytes_that_keep_coming_do_not_move_the_deadline() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n".to_vec();
    let endless_head = late(vec![Step::Read, Step::Send([&head[..], b"x: "].concat()), Step::Drip(b'x')]).await;
    assert!(endless_head.response_received && endless_head.status.is_none());
    let endless_body = late(vec![Step::Read, Step::Send([&head[..], b"\r\n"].concat()), Step::Drip(b' ')]).await;
    assert_eq!((endless_body.response_received, endless_body.status), (true, Some(200)));
    assert!(!endless_body.message.contains("(0 bytes"), "{}", endless_body.message);
}

#[tokio::test]
async fn an_abandoned_call_closes_its_connection() {
    let mut server = Server::start(vec![vec![Step::Read, Step::AwaitClose]]).await;
    let target = target(&config(&server.url()));
    let ask = ask();
    tokio::select! {
        result = target.ask(&ask) => panic!("answered: {result:?}"),
        _ = server.request() => {}
    }
    assert_eq!(server.next().await, Seen::PeerClosed);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let twice = [Step::Read, Step::Send(json_response(completion("hi")))];
    let again = [Step::Read, Step::Send(response("500 Oops", "", "boom"))];
    let last = [Step::Read, Step::Send(json_response(completion("bye")))];
    let server = Server::start(vec![twice.into_iter().chain(again).chain(last).collect()]).await;
    let target = target(&config(&server.url()));
    target.ask(&ask()).await.unwrap();
    assert_eq!(target.ask(&ask()).await.unwrap_err().class, FailureClass::ServerError);
    assert_eq!(target.ask(&ask()).await.unwrap().answer.text.as_deref(), Some("bye"));
}

#[tokio::test]
async fn a_connection_that_the_server_closed_meanwhile_loses_no_call() {
    let script = || vec![Step::Read, Step::Send(json_response(completion("hi")))];
    let mut server = Server::start(vec![script(), script(), script()]).await;
    let target = target(&config(&server.url()));
    for _ in 0..3 {
        target.ask(&ask()).await.unwrap();
        server.request().await;
        assert_eq!(server.next().await, Seen::Closed);
    }
}

#[tokio::test]
async fn a_connection_with_unasked_bytes_on_it_is_not_used_again() {
    let unasked = [json_response(completion("hi")), response("408 Request Timeout", "", "")].concat();
    let script = vec![Step::Read, Step::Send(unasked), Step::AwaitClose];
    let next = vec![Step::Read, Step::Send(json_response(completion("second")))];
    let server = Server::start(vec![script, next]).await;
    let target = target(&config(&server.url()));
    target.ask(&ask()).await.unwrap();
    assert_eq!(target.ask(&ask()).await.unwrap().answer.text.as_deref(), Some("second"));
}
