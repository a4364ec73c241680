//! Reports of runs in every phase, as people see them.

use super::testing::{End, Recorded, TestRun, no, profile, yes};
use super::{Look, RunReport};
use serde_json::{Value, json};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::evaluation::{EvaluationErrorClass, Outcome};
use tribunal_schema::events::{Intervention, RunEvent, RunFailed};
use tribunal_schema::ids::ExecutionKey;
use tribunal_schema::profile::SideEffects;
use tribunal_schema::score::Verdict;

const IDS: [&str; 4] = ["refund-1", "refund-2", "evil\u{1b}[2J\nPASS\u{202e}", "refund 4; rm -rf ~"];

fn run() -> TestRun {
    TestRun::of(Recorded::default(), 7, profile(), &IDS)
}

fn passing(test: &mut TestRun) {
    for case in 0..4 {
        test.end(case, 1, End::Answered("It is 42.", vec![yes(), yes()]));
    }
    test.judge();
}

/// Two pass, one fails both dimensions, one has no answer after two attempts.
fn failing(test: &mut TestRun) {
    test.end(0, 1, End::Answered("It is 42.", vec![yes(), yes()]));
    let answer = "I cannot\nhelp \u{1b}]0;owned\u{7} with that, but here is a long story instead: once upon a time there was an agent";
    test.end(1, 1, End::Answered(answer, vec![no("the text \"42\" is missing"), no("\u{202e}too long")]));
    test.end(2, 1, End::Answered("41", vec![no("the text \"42\" is missing"), yes()]));
    test.defer(3, FailureClass::RateLimited);
    test.end(3, 2, End::Failed(FailureClass::Timeout, "no complete response within 30 s"));
    test.judge();
}

async fn report(test: &TestRun) -> RunReport {
    RunReport::read(&test.store, test.run, 10).await.expect("a report")
}

fn text(report: &RunReport, look: &Look) -> String {
    let mut out = vec![];
    report.write(&mut out, look).expect("written");
    String::from_utf8(out).expect("UTF-8")
}

async fn page(test: &TestRun) -> String {
    text(&report(test).await, &Look::default())
}

#[tokio::test]
async fn a_pass() {
    let mut test = run();
    passing(&mut test);
    insta::assert_snapshot!(page(&test).await);
    assert_eq!(report(&test).await.exit_code(), 0);
}

#[tokio::test]
async fn a_fail_with_what_failed_and_why() {
    let mut test = run();
    failing(&mut test);
    insta::assert_snapshot!(page(&test).await);
    assert_eq!(report(&test).await.exit_code(), 2);
}

#[tokio::test]
async fn a_dead_target_is_inconclusive() {
    let mut test = run();
    for case in 0..2 {
        test.end(case, 1, End::Failed(FailureClass::Connect, "connection refused"));
    }
    test.halt("the target failed 10 times in a row and never answered: connect: connection refused");
    insta::assert_snapshot!(page(&test).await);
    assert_eq!(report(&test).await.exit_code(), 3);
}

#[tokio::test]
async fn a_cancelled_run_shows_what_it_has_and_no_verdict() {
    let mut test = run();
    test.end(0, 1, End::Answered("It is 42.", vec![yes(), yes()]));
    let in_flight = test.start(ExecutionKey { case: 1, repeat: 0 }, 1);
    test.cancel(vec![in_flight]);
    insta::assert_snapshot!(page(&test).await);
    let report = report(&test).await;
    assert_eq!((report.exit_code(), report.is_resumable(), report.target_calls), (4, false, 2));
}

#[tokio::test]
async fn quarantine_is_shown_with_what_to_do() {
    let mut unsafe_target = profile();
    unsafe_target.target.side_effects = SideEffects::Unsafe;
    let mut test = TestRun::of(Recorded::default(), 7, unsafe_target, &IDS);
    for case in 0..3 {
        test.end(case, 1, End::Answered("It is 42.", vec![yes(), yes()]));
    }
    test.end(3, 1, End::Lost(FailureClass::Reset));
    test.judge();
    insta::assert_snapshot!(page(&test).await);
    assert_eq!(report(&test).await.quarantined, 1);
}

#[tokio::test]
async fn an_unfinished_run_counts_what_is_settled_and_says_how_to_go_on() {
    let mut test = run();
    test.end(0, 1, End::Answered("It is 42.", vec![yes(), yes()]));
    test.start(ExecutionKey { case: 1, repeat: 0 }, 1);
    let running = report(&test).await;
    assert_eq!((running.counts.executions, running.counts.passed, running.counts.missing), (4, 1, 3));
    assert!(running.is_resumable());
    let shown = text(&running, &Look { store: Some("my store".into()), ..Look::default() });
    assert!(shown.contains("UNFINISHED, no verdict yet"), "{shown}");
    assert!(shown.contains(&format!("--resume {} --store 'my store'", test.run)), "{shown}");

    test.record_run(&[RunEvent::Paused(Intervention { by: "ada".into(), reason: "lunch".into() })]);
    let paused = report(&test).await;
    assert!(paused.is_resumable());
    assert_eq!((paused.reasons.as_slice(), paused.exit_code()), (&["lunch".to_string()][..], 4));

    test.record_run(&[RunEvent::Failed(RunFailed { reason: "a plan row contradicts".into() })]);
    let failed = report(&test).await;
    assert!(!failed.is_resumable());
    assert_eq!(failed.exit_code(), 1);
    assert!(text(&failed, &Look::default()).contains("FAILED TO RUN, no verdict"));
}

#[tokio::test]
async fn an_unknown_run_is_no_report() {
    let test = run();
    let other = TestRun::of(Recorded::default(), 8, profile(), &IDS).run;
    let error = RunReport::read(&test.store, other, 10).await.expect_err("there is no such run");
    assert_eq!(error.to_string(), format!("run {other} does not exist"));
}

#[tokio::test]
async fn nothing_that_a_stranger_wrote_acts_on_the_terminal() {
    let mut test = run();
    failing(&mut test);
    let shown = page(&test).await;
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    assert!(!shown.contains('\u{202e}'));
    let coloured = text(&report(&test).await, &Look { colour: true, ..Look::default() });
    let mut escapes: Vec<&str> =
        coloured.split('\u{1b}').skip(1).map(|rest| rest.split('m').next().expect("one")).collect();
    escapes.sort_unstable();
    escapes.dedup();
    assert_eq!(escapes, ["[0", "[1", "[2", "[31", "[32", "[33"]);
}

#[tokio::test]
async fn lines_keep_to_the_width() {
    let mut test = run();
    failing(&mut test);
    let report = report(&test).await;
    let shown = text(&report, &Look { width: 80, ..Look::default() });
    let long: Vec<&str> = shown.lines().filter(|line| super::text::columns(line) > 80).collect();
    assert!(long.iter().all(|line| line.trim().starts_with("tribunal ")), "{long:?}");
}

#[tokio::test]
async fn only_so_many_are_described_and_failed_ones_come_first() {
    let mut test = run();
    test.end(0, 1, End::Failed(FailureClass::Timeout, "late"));
    test.end(1, 1, End::Answered("41", vec![no("wrong"), yes()]));
    let trap = Outcome::Errored { class: EvaluationErrorClass::Fuel, message: "used 500000000".into() };
    test.end(2, 1, End::Answered("41", vec![(trap, vec![]), yes()]));
    test.end(3, 1, End::Answered("42", vec![yes(), yes()]));
    test.judge();
    let report = RunReport::read(&test.store, test.run, 2).await.expect("a report");
    let cases: Vec<&str> = report.not_passed.iter().map(|one| one.case_id.as_str()).collect();
    assert_eq!(cases, ["refund-2", "refund-1"]);
    assert!(text(&report, &Look::default()).contains("Not passed (first 2 of 3)"));
    let none = RunReport::read(&test.store, test.run, 0).await.expect("a report");
    assert!(none.not_passed.is_empty());
    assert_eq!(report.evaluator_errors, 1);
}

#[tokio::test]
async fn an_answer_that_was_not_kept_is_missing_and_nothing_else() {
    let mut test = run();
    failing(&mut test);
    test.store.blobs.clear();
    let report = report(&test).await;
    assert!(report.not_passed.iter().all(|one| one.answer.is_none()));
    assert_eq!(report.verdict, Some(Verdict::Fail));
}

#[tokio::test]
async fn json_is_one_line_with_everything_in_a_fixed_order() {
    let mut test = run();
    failing(&mut test);
    let line = report(&test).await.json().to_string();
    assert!(!line.contains('\n'));
    let object: Value = serde_json::from_str(&line).expect("JSON");
    let keys: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        keys.join(" "),
        "run profile profile_version dataset filters target status created_at ended_at verdict reasons conditions \
         counts errors evaluator_errors target_calls calls_maybe_repeated score_ppm scorecard not_passed \
         result_digest journal_root quarantined resumable"
    );
    assert_eq!(object["verdict"], json!("fail"));
    assert_eq!(object["target"], json!("agent.example:8443"));
    assert_eq!(object["errors"], json!({"timeout": 1}));
    assert_eq!(object["target_calls"], json!(5));
    assert_eq!(
        object["counts"],
        json!({"cases": 4, "executions": 4, "attempted": 4, "scored": 3, "passed": 1, "failed": 2, "errored": 1,
               "abstained": 0, "missing": 0})
    );
    assert_eq!(object["conditions"][0]["condition"], json!("min_pass_rate"));
    assert_eq!(object["not_passed"][0]["bindings"][0]["findings"][0]["evidence"], json!({"wanted": "42"}));
    assert!(!line.contains("secret"), "the target's password");
}

#[tokio::test]
async fn json_without_a_verdict_says_null() {
    let test = run();
    let object = report(&test).await.json();
    assert_eq!(
        (&object["verdict"], &object["result_digest"], &object["score_ppm"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&object["status"], &object["resumable"], &object["conditions"]),
        (&json!("running"), &json!(true), &json!([]))
    );
}
