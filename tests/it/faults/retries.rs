//! Retries: how many, after what, and under which Idempotency-Key.

use super::bench::{Bench, SAYS_IT};
use tribunal::agent::Call;

const ONE: [&str; 1] = [r#"{"id":"a","input":"hello","expected":"hello"}"#];

fn attempts(text: &str) -> String {
    format!("attempts: {{ {text}, backoff: 1ms }}\n{SAYS_IT}")
}

fn keys(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| call.idempotency_key.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_at_the_second_attempt_passes() {
    let bench = Bench::new("- match: { attempt: 1 }\n  fault: { status: 503 }\n").await;
    bench.profile("", &attempts("max: 2"));
    bench.cases(&ONE);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, ended.verdict().as_str(), ended.count("passed")), (0, "pass", 1), "{ended:?}");
    let numbers: Vec<Option<u32>> = bench.calls().iter().map(|call| call.attempt_number).collect();
    assert_eq!(numbers, [Some(1), Some(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_attempt_means_no_retry() {
    let bench = Bench::new("- match: { attempt: 1 }\n  fault: { status: 503 }\n").await;
    bench.profile("", &attempts("max: 1"));
    bench.cases(&ONE);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len()), (3, 1), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_classes_of_the_profile_are_retried() {
    let bench = Bench::new("- match: \"*\"\n  fault: { status: 503 }\n").await;
    bench.profile("", &attempts("max: 3, retry_on: [empty]"));
    bench.cases(&ONE);
    assert_eq!((bench.run(&[]).await.code, bench.calls().len()), (3, 1));

    let bench = Bench::new("- match: \"*\"\n  fault: empty\n").await;
    bench.profile("", &attempts("max: 3, retry_on: [empty]"));
    bench.cases(&ONE);
    assert_eq!((bench.run(&[]).await.code, bench.calls().len()), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn key_stays_until_a_response_was_received_and_is_new_after_it() {
    let script = "
- match: { attempt: 1 }
  fault: reset
- match: { attempt: 2 }
  fault: close
- match: { attempt: 3 }
  fault: { status: 500 }
";
    let bench = Bench::new(script).await;
    bench.profile("", &attempts("max: 4"));
    bench.cases(&ONE);
    let ended = bench.run(&[]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let calls = bench.calls();
    let keys = keys(&calls);
    assert!(keys[0] == keys[1] && keys[1] == keys[2] && !keys[0].is_empty(), "{keys:?}");
    assert!(keys[3] != keys[2] && keys.len() == 4, "{keys:?}");
    let received: Vec<bool> = bench.failures(ended.run()).await.iter().map(|one| one.response_received).collect();
    assert_eq!(received, [false, false, true]);
    let attempts: std::collections::BTreeSet<&str> = calls.iter().map(|call| call.attempt.as_str()).collect();
    assert_eq!(attempts.len(), 4, "each attempt has an id of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_is_waited_out() {
    let script = "- match: { attempt: 1 }\n  fault: { status: 429, headers: { retry-after: \"1\" } }\n";
    let bench = Bench::new(script).await;
    bench.profile("", &attempts("max: 2, backoff_max: 1s"));
    bench.cases(&ONE);
    let ended = bench.run(&[]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let calls = bench.calls();
    let waited_ms = calls[1].at_ms - calls[0].at_ms;
    // Never early, by the agent's own clock; how late depends on the machine.
    assert!(waited_ms >= 1000, "asked again after {waited_ms} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_target_is_not_asked_again_after_a_reset_but_after_a_refusal() {
    let bench = Bench::new("- match: \"*\"\n  fault: reset\n").await;
    bench.profile(", side_effects: unsafe", &attempts("max: 3"));
    bench.cases(&ONE);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len()), (3, 1), "{ended:?}");

    let bench = Bench::new("- match: { attempt: 1 }\n  fault: { status: 429 }\n").await;
    bench.profile(", side_effects: unsafe", &attempts("max: 3"));
    bench.cases(&ONE);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len()), (0, 2), "{ended:?}");
}
