//! Each way an agent can fail a call: its class, its words, and how often it is asked.

use super::bench::{Bench, SAYS_IT};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::score::ExecutionOutcome;

/// Three attempts without much waiting, retried after the classes of `retry_on` by default.
const QUICK: &str = "attempts: { max: 3, backoff: 1ms, backoff_max: 1500ms }\n";

/// A fault at every call of the only case: the class recorded each time, the calls made, the words of the last.
async fn fails(fault: &str, target: &str, class: FailureClass, calls: usize, words: &str) {
    let bench = Bench::new(&format!("- match: \"*\"\n  fault: {fault}\n")).await;
    bench.profile(target, &format!("{QUICK}{SAYS_IT}"));
    bench.cases(&[r#"{"id":"a","input":"hello","expected":"hello"}"#]);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, ended.verdict().as_str()), (3, "inconclusive"), "{ended:?}");
    assert_eq!((ended.count("attempted"), ended.count("errored"), ended.count("scored")), (1, 1, 0));
    assert_eq!((bench.calls().len(), ended.json()["target_calls"].as_u64()), (calls, Some(calls as u64)), "{fault}");
    assert_eq!(ended.json()["errors"][class.name()].as_u64(), Some(1), "{ended:?}");
    let failures = bench.failures(ended.run()).await;
    assert_eq!(failures.len(), calls);
    for failed in failures {
        assert_eq!(failed.class, class, "{}", failed.message);
        assert!(failed.message.contains(words), "{:?} lacks {words:?}", failed.message);
    }
    let [row] = <[_; 1]>::try_from(bench.executions(ended.run()).await).expect("one execution");
    assert_eq!((row.outcome, row.failure, row.score_ppm), (ExecutionOutcome::Errored, Some(class), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn status_500_is_a_server_error_and_retried() {
    fails("{ status: 500, body: boom }", "", FailureClass::ServerError, 3, "500 Internal Server Error from http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_400_is_a_client_error_and_final() {
    fails("{ status: 400 }", "", FailureClass::ClientError, 1, "400 Bad Request from http").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_agent_runs_into_the_timeout_and_is_retried() {
    fails("hang", ", timeout: 150ms", FailureClass::Timeout, 3, "no complete answer within 150 ms").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_connection_is_a_reset_and_retried() {
    fails("reset", "", FailureClass::Reset, 3, "failed (connection reset) before a response began").await;
    fails("close", "", FailureClass::Reset, 3, "was closed before a response began").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_body_is_not_retried_unless_asked() {
    fails("{ truncate: 20 }", "", FailureClass::Truncated, 1, "broke off after 20 of ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web_page_with_200_is_no_answer() {
    fails("html", "", FailureClass::ContentType, 1, "\"text/html; charset=utf-8\" instead of application/json").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn error_in_a_200_is_no_answer() {
    fails("error-in-200", "", FailureClass::ErrorInBody, 1, "with an error in the body: \"the model is overloaded\"")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn completion_that_says_nothing_is_no_answer() {
    fails("empty", "", FailureClass::Empty, 1, "with neither text nor tool call (finish_reason \"stop\")").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_json_and_what_is_not_http_are_parse_failures() {
    fails("garbage", "", FailureClass::Parse, 1, "no JSON from http").await;
    fails("not-http", "", FailureClass::Parse, 1, "is not HTTP").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_is_not_followed() {
    let elsewhere = "{ status: 302, headers: { location: \"http://127.0.0.1:1/\" } }";
    fails(elsewhere, "", FailureClass::Redirect, 1, "not followed: credentials stay here").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limit_is_retried() {
    fails("{ status: 429 }", "", FailureClass::RateLimited, 3, "429 Too Many Requests").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_above_the_longest_wait_ends_the_retries() {
    let asks = |seconds| format!("{{ status: 429, headers: {{ retry-after: \"{seconds}\" }} }}");
    fails(&asks(2), "", FailureClass::RateLimited, 1, "(asks to wait 2 s)").await;
    fails(&asks(1), "", FailureClass::RateLimited, 3, "(asks to wait 1 s)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_target_is_inconclusive_and_never_a_failure() {
    let bench = Bench::new("[]").await;
    // Nobody listens on port 1; a port that was free a moment ago may be another test's by now.
    bench.write(
        "profile.yaml",
        format!("profile: dead\ntarget: {{ kind: chat, url: \"http://127.0.0.1:1/\", model: m }}\n{QUICK}{SAYS_IT}"),
    );
    bench.echo_cases(2);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, ended.verdict().as_str()), (3, "inconclusive"), "{ended:?}");
    assert_eq!((ended.count("errored"), ended.count("failed")), (2, 0));
    let failures = bench.failures(ended.run()).await;
    assert_eq!(failures.len(), 6);
    assert!(failures.iter().all(|failed| failed.class == FailureClass::Connect && !failed.response_received));
    assert!(ended.reasons().contains("none of 2 executions has a score"), "{}", ended.reasons());
}

#[tokio::test(flavor = "multi_thread")]
async fn target_that_never_answers_is_given_up_before_every_case_has_burnt_its_calls() {
    let bench = Bench::new("- match: \"*\"\n  fault: { status: 401 }\n").await;
    bench.profile(", max_in_flight: 1", SAYS_IT);
    bench.echo_cases(100);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len()), (3, 10), "{ended:?}");
    assert_eq!((ended.count("errored") + ended.count("missing"), ended.count("failed")), (100, 0));
    assert!(ended.reasons().contains("has never answered"), "{}", ended.reasons());
    assert!(ended.reasons().contains("401 Unauthorized"), "{}", ended.reasons());
    assert_eq!((ended.json()["target_calls"].as_u64(), ended.count("attempted")), (Some(10), 10), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn target_that_is_only_overloaded_is_given_up_later() {
    let bench = Bench::new("- match: \"*\"\n  fault: { status: 503 }\n").await;
    bench.profile(", max_in_flight: 1", &format!("attempts: {{ max: 1 }}\n{SAYS_IT}"));
    bench.echo_cases(100);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len()), (3, 50), "{ended:?}");
    assert!(ended.reasons().contains("the target failed 50 times and has never answered"), "{}", ended.reasons());
}

#[tokio::test(flavor = "multi_thread")]
async fn first_burst_that_is_refused_while_others_are_thought_over_does_not_end_the_run() {
    for refusal in ["{ status: 429 }", "{ status: 503 }", "{ status: 400 }"] {
        let script = format!(
            "
- match: {{ contains: early, attempt: 1 }}
  fault: {refusal}
- match: {{ contains: late }}
  latency: 400ms
"
        );
        let bench = Bench::new(&script).await;
        let quick = "attempts: { max: 2, backoff: 1ms, retry_on: [rate-limited, server-error, client-error] }\n";
        bench.profile("", &format!("{quick}{SAYS_IT}"));
        let case = |n: u32| {
            let when = if n < 20 { "early" } else { "late" };
            format!(r#"{{"id":"{n}","input":"{when}","expected":"{when}"}}"#)
        };
        bench.write("cases.jsonl", (0..30).map(case).collect::<Vec<_>>().join("\n"));
        let ended = bench.run(&[]).await;
        assert_eq!((ended.code, ended.count("passed"), bench.calls().len()), (0, 30, 50), "{refusal}: {ended:?}");
    }
}
