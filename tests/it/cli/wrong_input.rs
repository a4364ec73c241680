//! Everything that is wrong with profile and dataset is told at once, with its
//! place, before the agent hears anything.

use crate::faults::bench::{Bench, SAYS_IT};

#[tokio::test(flavor = "multi_thread")]
async fn equal_ids_are_refused_with_both_lines() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.cases(&[r#"{"id":"a","input":"1"}"#, r#"{"id":"b","input":"2"}"#, r#"{"id":"a","input":"3"}"#]);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, ended.stdout.as_str(), bench.calls().len()), (1, "", 0), "{ended:?}");
    assert!(ended.stderr.contains("cases.jsonl:3:") && ended.stderr.contains("line 1"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_of_profile_and_dataset_come_in_one_message() {
    let bench = Bench::new("[]").await;
    let rest = "attempts: { max: 0 }
evaluators:
  - { use: std/contians }
  - { use: std/regex, with: { patern: x } }
gate:
  - { min_pass_rate: 1.5 }
";
    bench.profile(", timeout: soon", rest);
    bench.cases(&[r#"{"id":"a"}"#, r#"{"id":"b","input":"#, "[1]", r#"{"id":"c","input":"fine"}"#]);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, ended.stdout.as_str(), bench.calls().len()), (1, "", 0), "{ended:?}");
    assert!(ended.stderr.starts_with("error: 8 problems; nothing was run\nprofile.yaml:2:"), "{}", ended.stderr);
    for place in [
        "profile.yaml:2:",
        "profile.yaml:3:",
        "profile.yaml:5:",
        "profile.yaml:6:",
        "profile.yaml:8:",
        "cases.jsonl:1:",
        "cases.jsonl:2:",
        "cases.jsonl:3:",
    ] {
        let at = ended.stderr.find(place).unwrap_or_else(|| panic!("{place} is not in {}", ended.stderr));
        let column = ended.stderr[at + place.len()..].chars().next();
        assert!(column.is_some_and(|digit| digit.is_ascii_digit()), "{place} has no column: {}", ended.stderr);
    }
    assert!(!bench.path(".tribunal").exists(), "a store is not made for what cannot run");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_that_no_group_takes_is_refused() {
    let bench = Bench::new("[]").await;
    let groups = "groups: [{ name: qa, match: { task_type: qa }, evaluators: [{ use: std/contains }] }]
gate: [{ min_pass_rate: 1.0 }]
";
    bench.profile("", groups);
    bench.cases(&[r#"{"id":"a","input":"1","task_type":"qa"}"#, r#"{"id":"b","input":"2","task_type":"other"}"#]);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len()), (1, 0), "{ended:?}");
    assert!(ended.stderr.contains("cases.jsonl:2:") && ended.stderr.contains("`b`"), "{}", ended.stderr);
}
