//! The canary: a secret is sent where it may be, and seen nowhere else.

use super::super::redact::percent_encoded;
use super::super::{Allowed, SecretPolicy};
use super::server::{Server, Step};
use super::*;
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use tribunal_schema::answer::FailureClass;

fn with_token(url: &str) -> TargetConfig {
    let mut config = config(url);
    config.headers = BTreeMap::from([("authorization".into(), "Bearer ${env:TOKEN}".into())]);
    config
}

/// Every way the canary is written here.
fn forms() -> Vec<String> {
    let escaped: String = CANARY.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    let json = json!(CANARY).to_string();
    vec![
        CANARY.into(),
        json[1..json.len() - 1].into(),
        escaped,
        percent_encoded(CANARY.as_bytes(), |byte| byte.is_ascii_alphanumeric()),
        STANDARD.encode(CANARY),
        STANDARD.encode(format!("me:{CANARY}"))[4..].into(),
    ]
}

fn assert_hidden(shown: &str) {
    assert!(shown.contains("[secret TOKEN]"), "{shown}");
    for part in ["canary", "/4711", &STANDARD.encode(CANARY)[4..16]] {
        assert!(!shown.contains(part), "{part} in {shown}");
    }
}

#[tokio::test]
async fn an_echoed_secret_is_masked_in_every_part_of_an_answer() {
    for form in forms().into_iter().skip(1) {
        let arguments = json!(format!("{{\"token\":\"{form}\"}}"));
        let body = format!(
            r#"{{"choices":[{{"message":{{"content":"you sent {form}","refusal":"{form}",
            "tool_calls":[{{"id":"{form}","function":{{"name":"{form}","arguments":{arguments}}}}}]}}}}]}}"#
        );
        let server = Server::answering(json_response(body)).await;
        let answered = target(&with_token(&server.url())).ask(&ask()).await.unwrap();
        assert_hidden(&format!("{answered:?}"));
        assert_hidden(&serde_json::to_string(&answered.answer).unwrap());
        assert_hidden(&answered.answer.text.unwrap());
        assert_hidden(&answered.answer.tool_calls[0].arguments.to_string());
    }
}

#[tokio::test]
async fn an_echoed_secret_is_masked_in_every_failure() {
    for form in forms() {
        let padded = format!("{}{form}", "x".repeat(190));
        for sent in [
            response("401 Unauthorized", "", format!("bad key {form}")),
            response("500 Oops", "content-type: application/json\r\n", json!({"error": {"message": form}}).to_string()),
            response("500 Oops", "", &padded),
            response("302 Found", &format!("location: /login?{form}\r\n"), ""),
            response("429 Slow", &format!("retry-after: {form}\r\n"), ""),
            response("200 OK", &format!("content-type: {form}\r\n"), ""),
            response("200 OK", "content-type: text/html\r\n", &form),
            json_response(format!("{{{form}")),
            json_response(format!("{form}\u{0}").into_bytes()),
            json_response([form.as_bytes(), b"\xff"].concat()),
            format!("{form} is not HTTP\r\n").into_bytes(),
        ] {
            let server = Server::answering(sent).await;
            let failure = target(&with_token(&server.url())).ask(&ask()).await.unwrap_err();
            let shown = format!("{failure:?}");
            for part in ["canary", "/4711", &STANDARD.encode(CANARY)[4..16]] {
                assert!(!shown.contains(part), "{part} in {shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_secret_within_the_url_is_sent_and_never_shown() {
    let mut server = Server::answering(response("404 Not Found", "", "")).await;
    let target = target(&config(&format!("http://{}/${{env:TOKEN}}/x?k=${{env:TOKEN}}", server.address)));
    let failure = target.ask(&ask()).await.unwrap_err();
    assert!(server.request().await.starts_with("POST /canary/4711+%22x%22/x?k=canary"));
    assert!(failure.message.contains("/${env:TOKEN}/x"), "{}", failure.message);
    assert!(!format!("{failure:?}{target:?}").contains("canary"));
}

/// A call that must not be made.
async fn refused(config: &TargetConfig, policy: SecretPolicy, value: Option<&'static str>) -> TargetFailure {
    let resolver = SecretResolver::new(policy, move |_| value.map(str::to_owned));
    let failure = ChatTarget::new(config, resolver).unwrap().ask(&ask()).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Configuration, "{}", failure.message);
    assert!(!failure.response_received);
    failure
}

#[tokio::test]
async fn no_call_is_made_without_its_secret_or_against_the_operators_word() {
    let mut server = Server::start(vec![vec![Step::Read]]).await;
    let config = with_token(&server.url());
    let names = |name: &str| SecretPolicy { names: Allowed::only([name]), hosts: Allowed::Any };
    let hosts = |host: &str| SecretPolicy { names: Allowed::Any, hosts: Allowed::only([host]) };
    for (policy, value, words) in [
        (SecretPolicy::any(), None, "the secret TOKEN is not set"),
        (SecretPolicy::any(), Some("abc"), "only 3 characters"),
        (SecretPolicy::any(), Some("canary-4711\n"), "the header authorization (Bearer ${env:TOKEN})"),
        (names("OTHER"), Some("canary-4711"), "not among those that may be used"),
        (SecretPolicy::none(), Some("canary-4711"), "not among the hosts"),
        (hosts("elsewhere"), Some("canary-4711"), "not among the hosts that may receive a secret"),
    ] {
        let failure = refused(&config, policy, value).await;
        assert!(failure.message.contains(words), "{}", failure.message);
        assert!(!format!("{failure:?}").contains("canary"), "{failure:?}");
    }
    assert_eq!(server.rest(), []);
}

#[tokio::test]
async fn a_host_that_may_receive_a_secret_gets_it_and_the_profile_allows_its_own_names() {
    let mut server = Server::answering(json_response(completion("hi"))).await;
    let config = with_token(&server.url());
    let policy = SecretPolicy { hosts: Allowed::only(["127.0.0.1"]), ..SecretPolicy::referenced_by(&config) };
    let resolver = SecretResolver::new(policy, |name| (name == "TOKEN").then(|| "canary-4711".into()));
    ChatTarget::new(&config, resolver).unwrap().ask(&ask()).await.unwrap();
    assert!(server.request().await.contains("authorization: Bearer canary-4711\r\n"));
}

#[tokio::test]
async fn a_secret_is_read_anew_for_each_call() {
    let script = [Step::Read, Step::Send(json_response(completion("hi")))];
    let again = [Step::Read, Step::Send(json_response(completion("value-2")))];
    let mut server = Server::start(vec![script.into_iter().chain(again).collect()]).await;
    let reads = std::sync::atomic::AtomicU32::new(0);
    let resolver = SecretResolver::new(SecretPolicy::any(), move |_| {
        Some(format!("value-{}", reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1))
    });
    let target = ChatTarget::new(&with_token(&server.url()), resolver).unwrap();
    target.ask(&ask()).await.unwrap();
    let second = target.ask(&ask()).await.unwrap();
    assert!(server.request().await.contains("Bearer value-1\r\n"));
    assert!(server.request().await.contains("Bearer value-2\r\n"));
    assert_eq!(second.answer.text.as_deref(), Some("[secret TOKEN]"));
}
