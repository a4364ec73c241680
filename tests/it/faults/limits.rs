//! Budgets, what is kept, and that a case reaches the agent as it was written.

use super::bench::{Bench, SAYS_IT};
use serde_json::Value;
use tribunal_actors::ports::journal::JournalReader;

fn messages(body: &str) -> Value {
    serde_json::from_str::<Value>(body).expect("a request")["messages"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn budget_of_calls_is_never_exceeded_and_named() {
    let bench = Bench::new("[]").await;
    bench.profile("", &format!("budget: {{ max_calls: 10 }}\n{SAYS_IT}"));
    bench.echo_cases(50);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, ended.verdict().as_str()), (3, "inconclusive"), "{ended:?}");
    // The halt stops what is in flight, so a reserved call may never have reached the agent.
    assert!((1..=10).contains(&bench.calls().len()), "{} calls", bench.calls().len());
    assert!(ended.reasons().contains("budget of 10 calls is used up"), "{}", ended.reasons());
    assert_eq!(ended.count("passed") + ended.count("missing"), 50);

    let bench = Bench::new("[]").await;
    bench.profile("", &format!("budget: {{ max_calls: 50 }}\n{SAYS_IT}"));
    bench.echo_cases(50);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len()), (0, 50), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_is_kept_unless_the_profile_says_no() {
    for (persist, kept) in [("", true), ("persist: { evidence: false }\n", false)] {
        let bench = Bench::new("[]").await;
        bench.profile("", &format!("{persist}{SAYS_IT}"));
        bench.cases(&[r#"{"id":"a","input":"hello","expected":"something else"}"#]);
        let ended = bench.run(&[]).await;
        assert_eq!((ended.code, ended.verdict().as_str()), (2, "fail"), "{ended:?}");
        let [row] = <[_; 1]>::try_from(bench.executions(ended.run()).await).expect("one execution");
        let findings = bench.store().findings(row.attempt.expect("an attempt")).await.expect("findings");
        assert!(!findings.is_empty(), "a failed case is explained");
        assert_eq!(findings.iter().any(|row| row.finding.evidence.is_some()), kept, "{persist}: {findings:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_and_tools_reach_the_agent_as_they_are() {
    let talk = r#"[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"n\":12345678901234567890123}"}}]},{"role":"tool","tool_call_id":"t1","content":"42"},{"role":"user","content":"and now 1.10?"}]"#;
    let tools =
        r#"[{"type":"function","function":{"name":"f","parameters":{"type":"object","maximum":9007199254740993}}}]"#;
    let bench = Bench::new("[]").await;
    bench.profile(&format!(", system: \"not this\", tools: {tools}"), SAYS_IT);
    bench.cases(&[&format!(r#"{{"id":"talk","messages":{talk},"expected":"now"}}"#)]);
    let ended = bench.run(&[]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let body = &bench.calls()[0].body;
    assert!(body.contains(&format!("\"messages\":{talk}")), "{body}");
    assert!(body.contains(&format!("\"tools\":{tools}")), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_nul_and_scripts_of_the_world_are_not_touched() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.cases(&[
        r#"{"id":"number","input":{"big":123456789012345678901234567890,"price":1.10,"tiny":1e-30},"expected":"1.10"}"#,
        r#"{"id":"nul","input":"a\u0000b","expected":"a\u0000b"}"#,
        "{\"id\":\"прив\u{e9}т 🦊\",\"input\":\"مرحبا\u{2028}日本語 🦊\",\"expected\":\"日本語\"}",
    ]);
    let ended = bench.run(&["--max-in-flight", "1"]).await;
    assert_eq!((ended.code, ended.count("passed")), (0, 3), "{ended:?}");
    let calls = bench.calls();
    let content = |case: &str| {
        let call = calls.iter().find(|call| call.case == case).unwrap_or_else(|| panic!("no call of {case}"));
        messages(&call.body)[0]["content"].as_str().expect("a text").to_owned()
    };
    assert_eq!(content("number"), r#"{"big":123456789012345678901234567890,"price":1.10,"tiny":1e-30}"#);
    assert_eq!(content("nul"), "a\0b");
    assert_eq!(content("прив\u{e9}т 🦊"), "مرحبا\u{2028}日本語 🦊");
}
