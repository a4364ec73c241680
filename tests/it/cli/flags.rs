//! What the flags of `run` do, by the agent's own log.

use crate::faults::bench::{Bench, SAYS_IT};
use std::collections::BTreeMap;
use std::time::Duration;
use tribunal::agent::Options;

async fn bench() -> Bench {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.cases(&[
        r#"{"id":"a","input":"hello","expected":"hello","tags":["x"]}"#,
        r#"{"id":"b","input":"hello","expected":"hello","tags":["y","x"]}"#,
        r#"{"id":"c","input":"hello","expected":"hello"}"#,
        r#"{"id":"d","input":"hello","expected":"hello","tags":["z"]}"#,
    ]);
    bench
}

async fn asked(flags: &[&str]) -> String {
    let bench = bench().await;
    let ended = bench.run(flags).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let mut cases: Vec<String> = bench.calls().into_iter().map(|call| call.case).collect();
    cases.sort();
    assert_eq!(ended.count("executions"), cases.len() as u64);
    cases.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn dataset_is_narrowed_by_id_tag_and_limit_together() {
    assert_eq!(asked(&[]).await, "abcd");
    assert_eq!(asked(&["--limit", "2"]).await, "ab");
    assert_eq!(asked(&["--case-id", "c", "--case-id", "a"]).await, "ac");
    assert_eq!(asked(&["--tag", "x"]).await, "ab");
    assert_eq!(asked(&["--tag", "y", "--tag", "z"]).await, "bd");
    assert_eq!(asked(&["--tag", "x", "--limit", "1"]).await, "a");
    assert_eq!(asked(&["--tag", "x", "--case-id", "b"]).await, "b");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_case_is_asked_as_often_as_repeats_say() {
    let bench = bench().await;
    let ended = bench.run(&["--repeats", "3"]).await;
    assert_eq!((ended.code, ended.count("cases"), ended.count("executions")), (0, 4, 12), "{ended:?}");
    let mut repeats = BTreeMap::<String, Vec<u32>>::new();
    for call in bench.calls() {
        repeats.entry(call.case).or_default().push(call.repeat.expect("a repeat"));
    }
    assert_eq!(repeats.len(), 4);
    for (case, mut asked) in repeats {
        asked.sort_unstable();
        assert_eq!(asked, [0, 1, 2], "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_in_flight_never_exceed_the_limit() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let options =
        Options { latency: Duration::from_millis(5), log: Some(log.path().to_path_buf()), ..Options::default() };
    let bench = Bench::with_agent(options).await;
    bench.profile(", max_in_flight: 50", SAYS_IT);
    bench.echo_cases(60);
    let ended = bench.run(&["--max-in-flight", "3"]).await;
    assert_eq!((ended.code, bench.calls().len()), (0, 60), "{ended:?}");
    // A call's line is written before anything is answered. Its end may be written a moment after the
    // caller has gone on, so that the log can only show too many calls, and then by one reply each.
    let (mut open, mut most) = (0u32, 0);
    for line in std::fs::read_to_string(log.path()).expect("a log").lines() {
        if line.contains(r#""event":"call""#) {
            open += 1;
            most = most.max(open);
        } else {
            open -= 1;
        }
    }
    assert!((2..=6).contains(&most), "{most} calls were in flight");
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_that_contradict_the_gate_are_refused() {
    let bench = bench().await;
    let gate = "repeats: 3
evaluators: [{ use: std/contains }]
gate: [{ per_case: { passes: 2, of: 3 }, min_pass_rate: 1.0 }]
";
    bench.profile("", gate);
    let ended = bench.run(&["--repeats", "2"]).await;
    assert_eq!((ended.code, bench.calls().len()), (1, 0), "{ended:?}");
    assert!(ended.stderr.contains("--repeats 2 does not go with"), "{}", ended.stderr);
    assert_eq!(bench.run(&[]).await.code, 0);
}
