//! What a server may send, and the class and words of each.

use super::server::{Seen, Server, Step};
use super::*;
use futures::FutureExt as _;
use tribunal_schema::answer::{FailureClass, RawBody};

/// The failure of one call, after the checks that hold for every response.
async fn failure(bytes: impl Into<Vec<u8>>) -> TargetFailure {
    let failure = call(&Server::answering(bytes).await).await.unwrap_err();
    assert!(failure.response_received, "{failure:?}");
    failure
}

#[tokio::test]
async fn a_status_is_told_with_its_name_its_place_and_the_beginning_of_its_body() {
    let server = Server::answering(response("500 Internal Server Error", "content-type: text/plain\r\n", "boom")).await;
    let failure = call(&server).await.unwrap_err();
    let url = server.url();
    assert_eq!(failure.message, format!("500 Internal Server Error from {url}: \"boom\""));
    assert_eq!((failure.class, failure.status), (FailureClass::ServerError, Some(500)));
    assert_eq!(failure.body, Some(RawBody::Text("boom".into())));
    assert!(failure.response_received);
}

#[tokio::test]
async fn every_status_that_is_not_success_has_its_class() {
    for (status, class) in [
        ("400 Bad Request", FailureClass::ClientError),
        ("401 Unauthorized", FailureClass::ClientError),
        ("404 Not Found", FailureClass::ClientError),
        ("503 Service Unavailable", FailureClass::ServerError),
        ("304 Not Modified", FailureClass::Redirect),
        ("600 Odd", FailureClass::Status),
    ] {
        let failure = failure(response(status, "", "")).await;
        assert_eq!(failure.class, class, "{status}");
        assert!(failure.message.contains(&status[..3]), "{}", failure.message);
        assert_eq!(failure.body, Some(RawBody::Text(String::new())));
    }
}

#[tokio::test]
async fn a_json_error_is_quoted_by_its_message() {
    let body = r#"{"error":{"message":"Incorrect API key","type":"auth"}}"#;
    let failure = failure(response("401 Unauthorized", "content-type: application/json\r\n", body)).await;
    assert!(failure.message.ends_with(": \"Incorrect API key\""), "{}", failure.message);
    assert_eq!(failure.body, Some(RawBody::Text(body.into())));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::answering(json_response(completion("stolen"))).await;
    let headers = format!("location: {}\r\n", elsewhere.url());
    let mut server = Server::answering(response("302 Found", &headers, "")).await;
    let failure = call(&server).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Redirect);
    assert!(failure.message.contains("not followed") && failure.message.contains(&elsewhere.url()));
    server.request().await;
    let mut elsewhere = elsewhere;
    assert_eq!(elsewhere.rest(), []);
}

#[tokio::test]
async fn what_the_target_asks_to_wait_is_reported_or_said_to_be_unusable() {
    for (headers, ms, words) in [
        ("retry-after: 7\r\n", Some(7000), "(asks to wait 7 s)"),
        ("retry-after-ms: 250\r\nretry-after: 7\r\n", Some(250), "(asks to wait 250 ms)"),
        ("retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(0), "(asks to wait 0 ms)"),
        ("retry-after: -5\r\n", None, "(its Retry-After \"-5\" is not a time to wait)"),
        ("", None, "429 Too Many Requests from"),
    ] {
        let failure = failure(response("429 Too Many Requests", headers, "slow down")).await;
        assert_eq!((failure.class, failure.retry_after_ms), (FailureClass::RateLimited, ms));
        assert!(failure.message.contains(words), "{}", failure.message);
        assert!(failure.message.ends_with("\"slow down\""), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_429_or_503_that_asks_to_wait_holds_every_caller_back_and_others_do_not() {
    for (status, held) in [("429 Too Many Requests", true), ("503 Service Unavailable", true), ("500 Oops", false)] {
        let server = Server::answering(response(status, "retry-after: 3600\r\n", "")).await;
        let target = target(&config(&server.url()));
        assert!(target.permit().now_or_never().is_some());
        target.ask(&ask()).await.unwrap_err();
        assert_eq!(target.permit().now_or_never().is_none(), held, "{status}");
    }
}

#[tokio::test]
async fn html_under_200_is_no_answer() {
    let failure = failure(response("200 OK", "content-type: text/html\r\n", "<h1>Log in</h1>")).await;
    assert_eq!((failure.class, failure.status), (FailureClass::ContentType, Some(200)));
    assert!(failure.message.contains(r#"content type "text/html" instead of application/json: "<h1>Log in</h1>""#));
}

#[tokio::test]
async fn a_compressed_answer_is_refused_in_words() {
    let headers = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    let failure = failure(response("200 OK", headers, b"\x1f\x8b\x08")).await;
    assert_eq!(failure.class, FailureClass::ContentType);
    assert!(failure.message.contains("\"gzip\", which was not asked for"), "{}", failure.message);
}

#[tokio::test]
async fn json_without_a_content_type_is_an_answer() {
    let server = Server::answering(response("200 OK", "", completion("hi"))).await;
    assert_eq!(call(&server).await.unwrap().answer.text.as_deref(), Some("hi"));
}

#[tokio::test]
async fn checks_on_the_body_have_their_class_and_words() {
    for (body, class, words) in [
        ("{\"choices\":", FailureClass::Parse, "no JSON from"),
        ("<html>", FailureClass::Parse, "no JSON from"),
        ("{\"choices\":[]}", FailureClass::Shape, "its `choices` are empty"),
        ("{\"error\":{\"message\":\"quota\"}}", FailureClass::ErrorInBody, "error in the body: \"quota\""),
        ("", FailureClass::Empty, "with an empty body"),
        (r#"{"choices":[{"message":{"content":null}}]}"#, FailureClass::Empty, "neither text nor tool call"),
    ] {
        let failure = failure(json_response(body)).await;
        assert_eq!(failure.class, class, "{body}");
        assert!(failure.message.contains(words), "{}", failure.message);
        assert_eq!(failure.body, Some(RawBody::Text(body.into())));
    }
}

#[tokio::test]
async fn an_answer_comes_with_everything_it_said() {
    let body = r#"{"choices":[{"message":{"content":null,"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"find","arguments":"{\"n\":"}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3}}"#;
    let answer = call(&Server::answering(json_response(body)).await).await.unwrap().answer;
    assert_eq!(answer.text, None);
    assert_eq!(answer.tool_calls[0].arguments, json!("{\"n\":"));
    assert!(answer.tool_calls[0].arguments_error.is_some());
    assert_eq!(answer.usage.unwrap().output_tokens, None);
    assert_eq!(answer.raw, RawBody::Text(body.into()));
}

#[tokio::test]
async fn nul_survives_and_a_byte_order_mark_and_half_an_emoji_do_no_harm() {
    let body = "\u{feff}{\"choices\":[{\"message\":{\"content\":\"a\\u0000b\\ud83d\"}}]}";
    let answer = call(&Server::answering(json_response(body)).await).await.unwrap().answer;
    assert_eq!(answer.text.as_deref(), Some("a\0b\u{fffd}"));
    assert_eq!(answer.raw, RawBody::Text(body.into()));
    let kept = serde_json::to_string(&answer).unwrap();
    assert_eq!(serde_json::from_str::<tribunal_schema::answer::Answer>(&kept).unwrap(), answer);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_kept_as_bytes() {
    let failure = failure(json_response(b"{\"choices\":\"\xff\"}")).await;
    assert_eq!(failure.class, FailureClass::Parse);
    assert!(failure.message.contains("invalid UTF-8 after 12 bytes"), "{}", failure.message);
    assert_eq!(failure.body, Some(RawBody::Base64("eyJjaG9pY2VzIjoi/yJ9".into())));
}

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit_and_no_larger() {
    let body = completion("hi");
    for (room, fits) in [(0, true), (-1, false)] {
        for chunked in [false, true] {
            let sent = match chunked {
                false => json_response(&body),
                true => chunked_response(&body, "0\r\n\r\n"),
            };
            let server = Server::answering(sent).await;
            let mut config = config(&server.url());
            config.max_response_bytes = (body.len() as u64).saturating_add_signed(room);
            let result = target(&config).ask(&ask()).await;
            assert_eq!(result.is_ok(), fits);
            if let Err(failure) = result {
                assert_eq!(failure.class, FailureClass::TooLarge);
                assert!(failure.message.contains("beyond the limit of"), "{}", failure.message);
            }
        }
    }
}

#[tokio::test]
async fn a_huge_body_is_not_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10485760\r\n\r\n";
    let script = vec![Step::Read, Step::Send(head.into()), Step::AwaitClose];
    let mut server = Server::start(vec![script]).await;
    let failure = call(&server).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::TooLarge);
    assert!(failure.message.contains("announces a body of 10485760 bytes beyond the limit of 1048576 bytes"));
    server.request().await;
    assert_eq!(server.next().await, Seen::PeerClosed);
}

/// One chunk and whatever follows it.
fn chunked_response(body: &str, end: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{body}\r\n{end}", body.len()).into_bytes()
}

#[tokio::test]
async fn a_cut_body_is_truncated_whatever_framed_it() {
    let lengthy = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"choices\":[";
    let closing = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"choices\":[";
    for (sent, words) in [
        (lengthy.into(), "broke off after 12 of 100 bytes"),
        (closing.into(), "broke off after 12 bytes"),
        (chunked_response("{\"choices\":[", ""), "broke off after 12 bytes"),
        (chunked_response("{\"choices\":[", "ff\r\nand"), "broke off after 15 bytes"),
        (chunked_response("{\"choices\":[", "xyz\r\n"), "broke off after 12 bytes"),
    ] {
        let failure = failure(sent).await;
        assert_eq!((failure.class, failure.status), (FailureClass::Truncated, Some(200)), "{}", failure.message);
        assert!(failure.message.contains(words), "{}", failure.message);
        assert!(failure.message.contains(r#": "{\"choices\":["#), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_is_an_answer() {
    let sent = format!("HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{}", completion("hi"));
    assert_eq!(call(&Server::answering(sent).await).await.unwrap().answer.text.as_deref(), Some("hi"));
}

#[tokio::test]
async fn what_is_not_http_is_shown() {
    for (sent, words) in [("SSH-2.0-OpenSSH_9.2\r\n", "SSH-2.0"), ("HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 abc")] {
        let failure = failure(sent).await;
        assert_eq!((failure.class, failure.status), (FailureClass::Parse, None));
        assert!(failure.message.contains("is not HTTP") && failure.message.contains(words), "{}", failure.message);
    }
}
