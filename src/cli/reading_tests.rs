//! `runs`, `results` and `events` on a store with two runs.

use super::events::{self, EventsArgs};
use super::results::{self, ResultsArgs};
use super::runs::{self, RunsArgs};
use super::store::{StoreArg, resolve_run};
use crate::report::Look;
use crate::report::testing::{End, Recorded, TestRun, no, profile, yes};
use clap::Parser;
use serde_json::{Value, json};
use std::collections::HashMap;
use tribunal_actors::ports::journal::JournalReader;
use tribunal_schema::Digest;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::envelope::chain;
use tribunal_schema::ids::RunId;

#[derive(Parser)]
enum Line {
    Runs(RunsArgs),
    Results(ResultsArgs),
    Events(EventsArgs),
}

/// An older run that passed and a newer one that failed.
fn store() -> (Recorded, RunId, RunId) {
    let mut older = TestRun::of(Recorded::default(), 1, profile(), &["a", "b"]);
    older.end(0, 1, End::Answered("42", vec![yes(), yes()]));
    older.end(1, 1, End::Answered("42", vec![yes(), yes()]));
    older.judge();
    let mut newer = TestRun::of(older.store, 2, profile(), &["refund-1", "refund-2", "refund-3"]);
    newer.end(0, 1, End::Answered("It is 42.", vec![yes(), yes()]));
    newer.defer(1, FailureClass::RateLimited);
    newer.end(1, 2, End::Answered("I\u{1b}[2J do not know", vec![no("the text \"42\" is missing"), yes()]));
    newer.end(2, 1, End::Failed(FailureClass::Timeout, "no complete response within 30 s"));
    newer.judge();
    (newer.store, older.run, newer.run)
}

/// What a command line gives: its code, stdout and stderr.
async fn tribunal(store: &Recorded, line: &[&str]) -> Result<(u8, String, String), String> {
    let args = Line::try_parse_from([&["tribunal"], line].concat()).map_err(|error| error.to_string())?;
    let (mut out, mut people) = (vec![], vec![]);
    let look = Look::default();
    let code = match args {
        Line::Runs(args) => runs::write(&args, store, &look, &mut out, &mut people).await,
        Line::Results(args) => results::write(&args, store, &look, &mut out).await,
        Line::Events(args) => events::write(&args, store, &look, &mut out, &mut people).await,
    };
    let code = code.map_err(|error| format!("{error:#}"))?;
    Ok((code, String::from_utf8(out).expect("UTF-8"), String::from_utf8(people).expect("UTF-8")))
}

async fn out(store: &Recorded, line: &[&str]) -> String {
    tribunal(store, line).await.expect("it works").1
}

async fn json_of(store: &Recorded, line: &[&str]) -> Value {
    serde_json::from_str(&out(store, line).await).expect("JSON")
}

fn arg() -> StoreArg {
    StoreArg { address: ".tribunal".parse().expect("a folder") }
}

#[tokio::test]
async fn a_run_is_named_by_its_id_in_any_case_or_by_latest() {
    let (store, older, newer) = store();
    for (text, run) in [("latest", newer), (&*older.to_string().to_lowercase(), older), (&*newer.to_string(), newer)] {
        assert_eq!(resolve_run(&store, &arg(), text).await.expect("found"), run);
    }
}

#[tokio::test]
async fn a_run_that_is_not_there_is_refused_with_what_to_do() {
    let (store, older, _) = store();
    let stranger = RunId(ulid::Ulid::from_parts(9, 9));
    let error = resolve_run(&store, &arg(), &stranger.to_string()).await.expect_err("unknown");
    assert_eq!(error.to_string(), format!("no run {stranger} in store .tribunal; `tribunal runs` lists them"));
    let error = resolve_run(&store, &arg(), "newest\u{1b}").await.expect_err("no id");
    assert!(error.to_string().starts_with("\"newest\\u{1b}\" is no run id"), "{error}");
    let other = StoreArg { address: "my store".parse().expect("a folder") };
    let error = resolve_run(&Recorded::default(), &other, "latest").await.expect_err("empty");
    assert_eq!(
        error.to_string(),
        "no run in store my store yet; `tribunal run PROFILE --dataset FILE --store 'my store'` makes one"
    );
    assert!(resolve_run(&store, &arg(), &older.to_string()[..25]).await.is_err(), "a prefix is no id");
}

#[tokio::test]
async fn runs_are_listed_newest_first() {
    let (store, older, newer) = store();
    insta::assert_snapshot!(out(&store, &["runs"]).await);
    let listed = json_of(&store, &["runs", "--json"]).await;
    let ids: Vec<&Value> = listed["runs"].as_array().expect("a list").iter().map(|row| &row["run"]).collect();
    assert_eq!(ids, [&json!(newer), &json!(older)]);
    assert_eq!(listed["runs"][0]["verdict"], json!("inconclusive"));
    let one = json_of(&store, &["runs", "--json", "--limit", "1"]).await;
    assert_eq!(one["runs"].as_array().map(Vec::len), Some(1));
    let (code, text, people) = tribunal(&Recorded::default(), &["runs"]).await.expect("it works");
    assert_eq!((code, text.as_str(), people.as_str()), (0, "", "no runs in store .tribunal\n"));
}

#[tokio::test]
async fn results_end_with_the_code_of_the_verdict() {
    let (store, older, newer) = store();
    for (run, code) in [(older, 0), (newer, 3)] {
        assert_eq!(tribunal(&store, &["results", &run.to_string()]).await.expect("it works").0, code);
    }
}

#[tokio::test]
async fn results_list_executions_by_outcome_and_say_when_there_are_more() {
    let (store, ..) = store();
    let all = json_of(&store, &["results", "latest", "--json"]).await;
    let outcomes = |object: &Value| -> Vec<String> {
        let rows = object["executions"].as_array().expect("a list").iter();
        rows.map(|row| format!("{} {}", row["case_id"], row["outcome"]).replace('"', "")).collect()
    };
    assert_eq!(outcomes(&all), ["refund-1 passed", "refund-2 failed", "refund-3 errored"]);
    assert_eq!(all["executions_more"], json!(false));
    let some = json_of(&store, &["results", "latest", "--json", "--outcome", "failed,errored"]).await;
    assert_eq!(outcomes(&some), ["refund-2 failed", "refund-3 errored"]);
    let first = json_of(&store, &["results", "latest", "--json", "--limit", "2"]).await;
    assert_eq!((outcomes(&first).len(), &first["executions_more"]), (2, &json!(true)));
    let exact = json_of(&store, &["results", "latest", "--json", "--limit", "3"]).await;
    assert_eq!((outcomes(&exact).len(), &exact["executions_more"]), (3, &json!(false)));
    let text = out(&store, &["results", "latest", "--limit", "2"]).await;
    assert!(text.ends_with("  ... more than 2: --limit N shows more\n"), "{text}");
}

#[tokio::test]
async fn everything_of_a_case_is_shown() {
    let (store, ..) = store();
    insta::assert_snapshot!(out(&store, &["results", "latest", "--case", "refund-2"]).await);
    let case = json_of(&store, &["results", "latest", "--case", "refund-2", "--json"]).await;
    let attempts = case["executions"][0]["attempts"].as_array().expect("a list");
    assert_eq!((attempts[0]["number"].clone(), attempts[1]["number"].clone()), (json!(1), json!(2)));
    assert_eq!(attempts[0]["events"][1]["class"], json!("rate-limited"));
    assert_eq!(attempts[1]["answer"]["text"], json!("I\u{1b}[2J do not know"));
    assert_eq!(case["content"]["input"], json!("What of refund-2?"));
    let timeout = out(&store, &["results", "latest", "--case", "refund-3"]).await;
    assert!(timeout.contains("failed after 30.0 s: timeout: no complete response within 30 s"), "{timeout}");
}

#[tokio::test]
async fn a_case_that_is_not_there_is_refused_with_the_near_one() {
    let (store, _, newer) = store();
    let error = tribunal(&store, &["results", "latest", "--case", "refnud-2"]).await.expect_err("no case");
    assert_eq!(error, format!("no case \"refnud-2\" in run {newer}; did you mean \"refund-2\"?"));
}

#[tokio::test]
async fn an_exported_line_is_enough_to_recompute_the_chain() {
    let (store, ..) = store();
    for order in [&[][..], &["--descending"][..]] {
        let text = out(&store, &[&["events", "--ndjson"], order].concat()).await;
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), store.events.len(), "without --limit everything is exported");
        let mut digests: HashMap<(String, u64), String> = HashMap::new();
        let string = |value: &Value| value.as_str().expect("a string").to_string();
        for line in &lines {
            let previous: Digest = string(&line["previous"]).parse().expect("a digest");
            assert_eq!(chain(previous, &string(&line["canonical"])).to_string(), string(&line["digest"]));
            let canonical: Value = serde_json::from_str(&string(&line["canonical"])).expect("JSON");
            assert_eq!(canonical["stream"], line["stream"]);
            digests.insert(
                (string(&line["stream"]), canonical["version"].as_u64().expect("a version")),
                string(&line["digest"]),
            );
        }
        for line in &lines {
            let (stream, version) = (string(&line["stream"]), line["version"].as_u64().expect("a version"));
            let before = if version == 1 { &Digest::ZERO.to_string() } else { &digests[&(stream, version - 1)] };
            assert_eq!(string(&line["previous"]), *before);
        }
    }
}

#[tokio::test]
async fn events_are_filtered_and_paged() {
    let (store, older, newer) = store();
    let count = |object: &Value| object["events"].as_array().map(Vec::len).unwrap_or_default();
    let judged = json_of(&store, &["events", "--json", "--type", "run.judged"]).await;
    assert_eq!(count(&judged), 2);
    let of_one = json_of(&store, &["events", "--json", "--type", "attempt.*", "--run", &older.to_string()]).await;
    assert_eq!(count(&of_one), 6, "two attempts, each started, answered and judged");
    let runs = json_of(&store, &["events", "--json", "--category", "run", "--run", "latest"]).await;
    assert!(
        runs["events"].as_array().expect("a list").iter().all(|event| event["stream"] == json!(format!("run-{newer}")))
    );

    let total = store.events.len();
    let first = json_of(&store, &["events", "--json", "--limit", "5"]).await;
    assert_eq!((count(&first), &first["after"], &first["more"]), (5, &json!(5), &json!(true)));
    let rest = json_of(&store, &["events", "--json", "--after", "5", "--limit", "1000"]).await;
    assert_eq!((count(&rest), &rest["more"]), (total - 5, &json!(false)));
    let (_, text, people) = tribunal(&store, &["events", "--limit", "5"]).await.expect("it works");
    assert_eq!(text.lines().count(), 5);
    assert_eq!(people, "there are more: --after 5 goes on, --limit N shows more at once\n");

    let third = &store.events[2];
    let at = crate::report::rfc3339(third.recorded_at);
    let since = json_of(&store, &["events", "--json", "--since", &at, "--limit", "1"]).await;
    assert_eq!(since["events"][0]["position"], json!(3), "since is inclusive");
    let until = json_of(&store, &["events", "--json", "--until", &at]).await;
    assert_eq!(count(&until), 2, "until is exclusive");
    let now = store.now().await.expect("a clock");
    let ago = format!("{}ms", now.0 - store.events[total - 1].recorded_at.0);
    assert_eq!(count(&json_of(&store, &["events", "--json", "--since", &ago]).await), 1);
}

#[tokio::test]
async fn events_are_readable() {
    let (store, ..) = store();
    insta::assert_snapshot!(out(&store, &["events", "--run", "latest"]).await);
}

#[tokio::test]
async fn a_filter_that_cannot_be_meant_is_refused() {
    let (store, ..) = store();
    for (line, wanted) in [
        (["--since", "yesterday"], "--since \"yesterday\": is no time"),
        (["--stream", "chunk-7"], "--stream: \"chunk-7\" is not a stream id"),
        (["--type", "run.*ed"], "--type \"run.*ed\" has a `*` that is not at its end"),
        (["--category", "chunks"], "invalid value 'chunks'"),
    ] {
        let error = tribunal(&store, &[&["events"], &line[..]].concat()).await.expect_err(wanted);
        assert!(error.contains(wanted), "{error}");
    }
}
