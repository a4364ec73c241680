//! Nothing to judge is never a pass.

use crate::faults::bench::{Bench, Ended, SAYS_IT, tribunal};

async fn inconclusive(bench: &Bench, flags: &[&str]) -> Ended {
    let ended = bench.run(flags).await;
    assert_eq!((ended.code, ended.verdict().as_str()), (3, "inconclusive"), "{ended:?}");
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn dataset_without_cases_is_inconclusive_and_says_so() {
    for text in ["", "\n \n\t\n"] {
        let bench = Bench::new("[]").await;
        bench.profile("", SAYS_IT);
        bench.write("cases.jsonl", text);
        let ended = inconclusive(&bench, &[]).await;
        assert!(ended.reasons().contains("the run has no cases"), "{}", ended.reasons());
        assert_eq!((ended.count("cases"), bench.calls().len()), (0, 0));
        let validated = tribunal(&bench.path(""), &["dataset", "validate", "cases.jsonl"], &[]).await;
        assert_eq!((validated.code, validated.stdout.as_str()), (1, ""));
        assert!(validated.stderr.contains("the dataset has no cases"), "{}", validated.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_that_matches_nothing_is_inconclusive_and_names_itself() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.cases(&[r#"{"id":"a","input":"hello","expected":"hello","tags":["smoke"]}"#]);
    for (flags, words) in [(["--tag", "smok"], "--tag smok"), (["--limit", "0"], "--limit 0")] {
        let ended = inconclusive(&bench, &flags).await;
        assert!(ended.reasons().contains("no cases") && ended.reasons().contains(words), "{}", ended.reasons());
    }
    assert_eq!(bench.calls().len(), 0);
    assert_eq!(bench.run(&["--tag", "smoke", "--limit", "1"]).await.code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn group_with_cases_and_no_evaluator_is_inconclusive() {
    let bench = Bench::new("[]").await;
    let groups = "groups:
  - { name: judged, match: { task_type: qa }, evaluators: [{ use: std/contains }] }
  - { name: unjudged, match: { task_type: chat }, evaluators: [] }
gate: [{ group: judged, min_pass_rate: 1.0 }]
";
    bench.profile("", groups);
    bench.cases(&[
        r#"{"id":"a","input":"hello","expected":"hello","task_type":"qa"}"#,
        r#"{"id":"b","input":"hello","expected":"hello","task_type":"chat"}"#,
    ]);
    let ended = inconclusive(&bench, &[]).await;
    assert!(ended.reasons().contains("group unjudged: it has no evaluator"), "{}", ended.reasons());
    let ended = bench.run(&["--case-id", "a"]).await;
    assert_eq!(ended.code, 0, "without its cases the group does no harm: {ended:?}");
}
