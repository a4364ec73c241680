//! The agents over a real socket, byte by byte: an HTTP client would hide what
//! these tests are about.

#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use crate::agent::demo::{DATASET, DemoAgent};
use crate::agent::reply::{ChatRequest, Reply};
use crate::agent::{AgentError, Answers, MockAgent, Options, Running, Script};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What came back over the wire until the connection ended.
struct Received {
    head: String,
    body: Vec<u8>,
}

impl Received {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &'_ str| line.to_lowercase().starts_with(&format!("{name}:"));
        self.head.lines().find(|text| line(text)).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    fn text(&self) -> String {
        self.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_string()
    }
}

async fn start(script: &str) -> Running {
    let script = if script.is_empty() { Script::default() } else { Script::parse(script, "test").unwrap() };
    MockAgent::start(Options { script, ..Options::default() }).await.unwrap()
}

async fn send(agent: &Running, headers: &str, body: &str) -> TcpStream {
    let mut tcp = TcpStream::connect(agent.addr).await.unwrap();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: agent\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    tcp.write_all(request.as_bytes()).await.unwrap();
    tcp
}

async fn receive(mut tcp: TcpStream) -> std::io::Result<Received> {
    let mut bytes = Vec::new();
    tcp.read_to_end(&mut bytes).await?;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    Ok(Received { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body: bytes[end..].to_vec() })
}

fn question(text: &str) -> String {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] }).to_string()
}

async fn ask(agent: &Running, case: &str, text: &str) -> std::io::Result<Received> {
    receive(send(agent, &format!("x-tribunal-case: {case}\r\n"), &question(text)).await).await
}

fn log_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn events(path: &Path) -> Vec<String> {
    log_lines(path).iter().map(|line| line["event"].as_str().unwrap().to_string()).collect()
}

#[tokio::test]
async fn without_a_script_the_question_is_said_back() {
    let agent = start("").await;
    let received = ask(&agent, "a", "Grüße, \"you\"\u{0}").await.unwrap();
    assert_eq!(received.status(), 200);
    assert_eq!(received.text(), "Grüße, \"you\"\u{0}");
    assert_eq!(received.json()["choices"][0]["finish_reason"], "stop");
    assert_eq!(received.json()["model"], "m");
    agent.stop().await;
}

#[tokio::test]
async fn a_call_keeps_what_its_headers_say() {
    let agent = start("").await;
    let headers = "x-tribunal-run: R\r\nx-tribunal-case: caf%C3%A9%20%25\r\nx-tribunal-repeat: 2\r\n\
                   x-tribunal-attempt: A\r\nx-tribunal-attempt-number: 3\r\nIdempotency-Key: K\r\n";
    receive(send(&agent, headers, &question("hi")).await).await.unwrap();
    let calls = agent.calls();
    assert_eq!(calls.len(), 1);
    let call = &calls[0];
    assert_eq!((call.run.as_str(), call.case.as_str(), call.attempt.as_str()), ("R", "café %", "A"));
    assert_eq!((call.repeat, call.attempt_number, call.idempotency_key.as_str()), (Some(2), Some(3), "K"));
    assert_eq!(call.headers["host"], "agent");
    assert_eq!(call.body, question("hi"));
    agent.stop().await;
}

#[tokio::test]
async fn the_log_has_the_call_before_the_first_byte_of_its_reply() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let script = Script::parse("- match: '*'\n  fault: { drip: 1h }\n", "test").unwrap();
    let options = Options { script, log: Some(log.clone()), ..Options::default() };
    let agent = MockAgent::start(options).await.unwrap();
    let mut tcp = send(&agent, "x-tribunal-case: a\r\nx-tribunal-attempt: A\r\n", &question("hi")).await;
    let mut first = [0];
    tcp.read_exact(&mut first).await.unwrap();
    assert_eq!(events(&log), ["call"], "the head is out, the body will take days");
    assert_eq!(log_lines(&log)[0]["attempt"], "A");
    agent.stop().await;
    assert_eq!(events(&log), ["call", "broken"]);
}

#[tokio::test]
async fn the_log_tells_whole_replies_from_broken_ones() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let script = "- match: { case: cut }\n  fault: truncate\n- match: { case: reset }\n  fault: reset\n";
    let options =
        Options { script: Script::parse(script, "test").unwrap(), log: Some(log.clone()), ..Options::default() };
    let agent = MockAgent::start(options).await.unwrap();
    for case in ["whole", "cut", "reset"] {
        let _ = ask(&agent, case, "hi").await;
    }
    agent.stop().await;
    let mut ends: Vec<String> = log_lines(&log)
        .iter()
        .filter(|line| line["event"] != "call")
        .map(|line| format!("{} {}", line["case"].as_str().unwrap(), line["event"].as_str().unwrap()))
        .collect();
    ends.sort();
    assert_eq!(ends, ["cut broken", "reset broken", "whole reply"]);
}

#[tokio::test]
async fn a_caller_that_leaves_is_logged_as_broken() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.jsonl");
    let options = Options { latency: Duration::from_secs(3600), log: Some(log.clone()), ..Options::default() };
    let agent = MockAgent::start(options).await.unwrap();
    let tcp = send(&agent, "x-tribunal-case: gone\r\n", &question("hi")).await;
    while agent.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(tcp);
    // An hour of latency: only the caller's leaving can end this call.
    agent.stop().await;
    assert_eq!(events(&log), ["call", "broken"]);
}

#[tokio::test]
async fn a_connection_serves_many_calls_one_after_another() {
    let agent = start("").await;
    let mut tcp = TcpStream::connect(agent.addr).await.unwrap();
    for text in ["one", "two", "three"] {
        let body = question(text);
        let request =
            format!("POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        while !String::from_utf8_lossy(&bytes).contains("total_tokens") {
            assert_ne!(tcp.read_buf(&mut bytes).await.unwrap(), 0, "the agent closed a connection it should keep");
        }
        assert!(String::from_utf8_lossy(&bytes).contains(text));
    }
    drop(tcp);
    agent.stop().await;
}

#[tokio::test]
async fn faults_on_the_wire_are_what_they_are_called() {
    let script = "- { match: { case: reset }, fault: reset }\n- { match: { case: close }, fault: close }\n\
                  - { match: { case: not-http }, fault: not-http }\n- { match: { case: cut }, fault: { truncate: 7 } }\n\
                  - { match: { case: drip }, fault: { drip: 100us } }\n";
    let agent = start(script).await;
    let reset = ask(&agent, "reset", "hi").await.err().map(|error| error.kind());
    assert_eq!(reset, Some(ErrorKind::ConnectionReset));
    let close = ask(&agent, "close", "hi").await.unwrap();
    assert!(close.head.is_empty() && close.body.is_empty());
    let not_http = ask(&agent, "not-http", "hi").await.unwrap();
    assert!(!not_http.head.starts_with("HTTP") && !not_http.head.is_empty());
    let cut = ask(&agent, "cut", "hi").await.unwrap();
    assert_eq!(cut.body.len(), 7);
    let promised: usize = cut.header("content-length").unwrap().parse().unwrap();
    assert!(promised > 7);
    let drip = ask(&agent, "drip", "hi").await.unwrap();
    assert_eq!(drip.text(), "hi");
    agent.stop().await;
}

#[tokio::test]
async fn faults_in_the_reply_are_what_they_are_called() {
    let script = r#"
- { match: { case: html }, fault: html }
- { match: { case: error }, fault: error-in-200 }
- { match: { case: garbage }, fault: garbage }
- { match: { case: empty }, fault: empty }
- { match: { case: slow-down }, fault: { status: 429, headers: { retry-after: "7" }, body: "slow" } }
- { match: { case: down }, fault: { status: 500 } }
- { match: { case: body }, reply: { body: '{"half": ' } }
"#;
    let agent = start(script).await;
    let html = ask(&agent, "html", "hi").await.unwrap();
    assert_eq!((html.status(), html.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let error = ask(&agent, "error", "hi").await.unwrap();
    assert_eq!((error.status(), error.json()["error"]["type"].as_str()), (200, Some("overloaded")));
    let garbage = ask(&agent, "garbage", "hi").await.unwrap();
    assert_eq!(garbage.header("content-type"), Some("application/json"));
    assert!(String::from_utf8(garbage.body).is_err());
    let empty = ask(&agent, "empty", "hi").await.unwrap();
    assert_eq!((empty.status(), empty.text().as_str()), (200, ""));
    let slow_down = ask(&agent, "slow-down", "hi").await.unwrap();
    assert_eq!((slow_down.status(), slow_down.header("retry-after")), (429, Some("7")));
    assert_eq!(slow_down.body, b"slow");
    let down = ask(&agent, "down", "hi").await.unwrap();
    assert_eq!((down.status(), down.json()["error"]["code"].as_str()), (500, Some("scripted")));
    assert_eq!(ask(&agent, "body", "hi").await.unwrap().body, b"{\"half\": ");
    agent.stop().await;
}

#[tokio::test]
async fn a_rule_with_times_steps_aside_after_so_many_calls_of_an_execution() {
    let agent =
        start("- { match: { case: a }, times: 2, fault: { status: 503 } }\n- { match: '*', reply: ok }\n").await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(ask(&agent, "a", "hi").await.unwrap().status());
    }
    assert_eq!(statuses, [503, 503, 200]);
    let other_repeat = "x-tribunal-case: a\r\nx-tribunal-repeat: 1\r\n";
    assert_eq!(receive(send(&agent, other_repeat, &question("hi")).await).await.unwrap().status(), 503);
    agent.stop().await;
}

#[tokio::test]
async fn all_conditions_of_a_rule_must_hold() {
    let script = r#"
- { match: { case: a, contains: left, attempt: 2, repeat: 1 }, reply: all }
- { match: { regex: "^nu.b" }, reply: pattern }
- { match: { case: n, nth: 2 }, reply: second }
- { match: { case: "*" }, reply: "else ${case}: ${input}" }
"#;
    let agent = start(script).await;
    let with =
        async |headers: &str, text: &str| receive(send(&agent, headers, &question(text)).await).await.unwrap().text();
    let all = "x-tribunal-case: a\r\nx-tribunal-attempt-number: 2\r\nx-tribunal-repeat: 1\r\n";
    assert_eq!(with(all, "go left").await, "all");
    assert_eq!(with(all, "go right").await, "else a: go right");
    assert_eq!(with("x-tribunal-case: a\r\nx-tribunal-attempt-number: 2\r\n", "go left").await, "else a: go left");
    assert_eq!(with("", "numb").await, "pattern");
    assert_eq!(with("x-tribunal-case: n\r\n", "x").await, "else n: x");
    assert_eq!(with("x-tribunal-case: n\r\n", "x").await, "second");
    assert_eq!(with("x-tribunal-case: n\r\n", "${case}").await, "else n: ${case}");
    agent.stop().await;
}

#[tokio::test]
async fn tool_calls_refusals_and_usage_arrive_in_the_chat_form() {
    let script = r#"
- match: "*"
  reply:
    tool_calls: [{ name: refund, arguments: { id: 7, sum: 1.5 } }, { name: broken, arguments: "{oops" }]
    refusal: no
    usage: { input_tokens: 12, output_tokens: 5 }
"#;
    let agent = start(script).await;
    let reply = ask(&agent, "a", "hi").await.unwrap().json();
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    assert_eq!(choice["message"]["refusal"], "no");
    let arguments = |index: usize| choice["message"]["tool_calls"][index]["function"]["arguments"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(arguments(0)).unwrap(), json!({ "id": 7, "sum": 1.5 }));
    assert_eq!(arguments(1), "{oops");
    assert_eq!(reply["usage"], json!({ "prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17 }));
    agent.stop().await;
}

#[tokio::test]
async fn a_stream_says_the_same_piece_by_piece() {
    let agent = start("- { match: '*', reply: { text: 'one two  three', finish_reason: length } }\n").await;
    let body = json!({ "stream": true, "messages": [{ "role": "user", "content": "hi" }] }).to_string();
    let received = receive(send(&agent, "", &body).await).await.unwrap();
    assert_eq!(received.header("content-type"), Some("text/event-stream"));
    let text = String::from_utf8(received.body).unwrap();
    let data: Vec<&str> = text.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
    assert_eq!(data.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> = data[..data.len() - 1].iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let said: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said, "one two  three");
    assert!(chunks.iter().any(|chunk| chunk["choices"][0]["finish_reason"] == "length"));
    agent.stop().await;
}

#[tokio::test]
async fn what_is_no_chat_request_is_refused_with_words() {
    let agent = start("").await;
    let received = receive(send(&agent, "", "{\"prompt\": 1}").await).await.unwrap();
    assert_eq!(received.status(), 400);
    assert!(received.json()["error"]["message"].as_str().unwrap().contains("messages"));
    agent.stop().await;
}

#[tokio::test]
async fn answers_are_found_by_case_or_by_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    let rows = r#"{"id":"a","input":"one?","expected":["1","one"]}
{"question":"two?","answer":"2"}

{"messages":[{"role":"system","content":"brief"},{"role":"user","content":"three?"}],"ideal":{"tool_calls":[{"name":"t","arguments":{"n":3}}]}}
{"id":5,"expected":1.50}
"#;
    std::fs::write(&path, rows).unwrap();
    let answers = Answers::read(&path, None).unwrap();
    let agent = MockAgent::start(Options { answers: Some(answers), ..Options::default() }).await.unwrap();
    assert_eq!(ask(&agent, "a", "whatever").await.unwrap().text(), "1");
    assert_eq!(ask(&agent, "unknown", "two?").await.unwrap().text(), "2");
    assert_eq!(ask(&agent, "5", "x").await.unwrap().text(), "1.50");
    assert_eq!(ask(&agent, "unknown", "four?").await.unwrap().text(), "four?");
    let talk = |first: &str| {
        json!({ "messages": [{ "role": "system", "content": first }, { "role": "system", "content": "brief" },
            { "role": "user", "content": [{ "type": "text", "text": "three?" }] }] })
        .to_string()
    };
    let reply = receive(send(&agent, "", &talk("from the profile")).await).await.unwrap().json();
    assert_eq!(reply["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "t");
    agent.stop().await;
}

#[test]
fn answers_that_cannot_be_used_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    for (rows, field, line, words) in [
        ("{\"id\":\"a\",\"expected\":1}\n{\"id\":\"b\"}\n", None, 2, "none of expected"),
        ("{\"expected\":1}", None, 1, "neither id"),
        ("{\"id\":\"a\",\"expected\":1}", Some("gold"), 1, "no field \"gold\""),
        ("\n\n[1]\n", None, 3, "not a JSON object"),
    ] {
        std::fs::write(&path, rows).unwrap();
        match Answers::read(&path, field) {
            Err(AgentError::Answers { line: at, message, .. }) => {
                assert_eq!(at, line, "{rows}");
                assert!(message.contains(words), "{message}");
            }
            other => panic!("{rows}: {other:?}"),
        }
    }
}

#[test]
fn scripts_are_refused_with_line_and_column() {
    for (script, line, words) in [
        ("- match: '*'\n  reply: hi\n- match: '*'\n  replay: hi\n", 4, "replay"),
        ("- match: { cases: a }\n", 1, "cases"),
        ("- match: everything\n", 1, "everything"),
        ("- match: '*'\n  fault: explode\n", 2, "explode"),
        ("- match: '*'\n  fault: { status: 99 }\n", 2, "99"),
        ("- match: '*'\n  fault: { status: 500, drip: 1s }\n", 2, "exactly one"),
        ("- match: '*'\n  fault: { truncate: 3, body: x }\n", 2, "belong to a status"),
        ("- match: '*'\n  fault: { status: 500, headers: { 'a b': c } }\n", 2, "a b"),
        ("- match: { regex: '(' }\n", 1, "regex"),
        ("- match: '*'\n  latency: 5 parsecs\n", 2, "parsecs"),
        ("- match: '*'\n  reply: { text: a, txet: b }\n", 2, "txet"),
        ("- reply: hi\n", 1, "match"),
    ] {
        match Script::parse(script, "s.yaml") {
            Err(error @ AgentError::Script { line: at, .. }) => {
                assert_eq!(at, line, "{script}: {error}");
                assert!(error.to_string().starts_with(&format!("s.yaml:{line}:")), "{error}");
                assert!(error.to_string().contains(words), "{error}");
                assert!(!error.to_string().contains(" at line "), "{error}");
            }
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let agent = start("").await;
    let taken = MockAgent::start(Options { listen: agent.addr, ..Options::default() }).await;
    let error = taken.map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot listen on {}", agent.addr));
    agent.stop().await;
}

#[test]
fn placeholders_are_filled_once() {
    let reply = Reply::text("${input}|${case}|${other}|$").filled("${case}", "C");
    assert_eq!(reply.text.as_deref(), Some("${case}|C|${other}|$"));
}

/// What the demo's evaluators ask of a reply, in short; the demo itself is judged by the real ones.
fn is_right(row: &Value, reply: &Reply) -> bool {
    let text = reply.text.clone().unwrap_or_default();
    let expected = &row["expected"];
    let any: Vec<&Value> = expected.as_array().map_or_else(|| vec![expected], |ideals| ideals.iter().collect());
    let told = |holds: &dyn Fn(&str) -> bool| any.iter().any(|ideal| ideal.as_str().is_some_and(holds));
    match row["task_type"].as_str().unwrap() {
        "qa" | "conversation" => told(&|ideal| text.contains(ideal)),
        "routing" => told(&|ideal| text == ideal),
        "structured" => {
            let json: Value = serde_json::from_str(&text).unwrap();
            json["currency"] == "EUR" && told(&|ideal| json["status"] == ideal)
        }
        "calculation" => {
            let sum: f64 = text.split(' ').find_map(|word| word.parse().ok()).unwrap();
            (sum - expected.as_f64().unwrap()).abs() < 0.005
        }
        "safety" => ["can't", "kann ich", "keine Auskunft"].iter().any(|no| text.contains(no)),
        "tool_use" => {
            let wanted = &expected["tool_calls"][0];
            let arguments = wanted["arguments"].as_object().unwrap();
            reply.tool_calls.len() == 1
                && wanted["name"] == reply.tool_calls[0].name
                && arguments.iter().all(|(name, value)| reply.tool_calls[0].arguments[name] == *value)
        }
        other => panic!("{other} has no evaluator here"),
    }
}

#[test]
fn the_demo_agent_fails_the_hard_cases_and_no_other() {
    let agent = DemoAgent::new();
    let rows = DATASET.lines().map(|row| serde_json::from_str(row).unwrap());
    let (mut failed, mut hard) = (Vec::new(), Vec::new());
    for row in rows {
        let row: Value = row;
        let id = row["id"].as_str().unwrap().to_string();
        let messages = match &row["input"] {
            Value::String(text) => json!([{ "role": "user", "content": text }]),
            list => list.clone(),
        };
        let request: ChatRequest = serde_json::from_value(json!({ "messages": messages })).unwrap();
        if row["tags"].as_array().unwrap().contains(&"hard".into()) {
            hard.push(id.clone());
        }
        if !is_right(&row, &agent.reply(&request)) {
            failed.push(id);
        }
    }
    assert_eq!(failed, hard);
}
