//! Real input: three files of the Python package `evals`, as they come, one with
//! seven messages a case, one in Arabic, one with rows that repeat.
//!
//! `scripts/test` fetches the package and names its folder in
//! `TRIBUNAL_TEST_EVALS`; where the registry cannot be reached it leaves this
//! module out and counts it as skipped.

use super::bench::{Bench, SAYS_IT};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tribunal::agent::{Answers, Options};

const FILES: [&str; 3] = ["arc/samples.jsonl", "arabic-exams-qa/samples.jsonl", "regex-match/samples.jsonl"];

/// The conversations of a file, each with how often it occurs.
fn talks(text: &str) -> BTreeMap<String, usize> {
    let mut talks = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).expect("a row");
        *talks.entry(row["input"].to_string()).or_default() += 1;
    }
    talks
}

#[tokio::test(flavor = "multi_thread")]
async fn evals_package_runs_unedited_and_each_conversation_arrives_as_it_is() {
    let Some(folder) = std::env::var_os("TRIBUNAL_TEST_EVALS") else {
        println!("skipped: TRIBUNAL_TEST_EVALS is not set; scripts/test fetches the package `evals` and sets it");
        return;
    };
    let data = Path::new(&folder).join("evals/registry/data");
    let mut rows = 0;
    for file in FILES {
        let path = data.join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let expected = talks(&text);
        let count: usize = expected.values().sum();
        rows += count;
        let answers = Answers::read(&path, Some("ideal")).expect("answers");
        let bench = Bench::with_agent(Options { answers: Some(answers), ..Options::default() }).await;
        bench.profile(", max_in_flight: 16", SAYS_IT);
        bench.write("cases.jsonl", &text);
        let ended = bench.run(&[]).await;
        assert!([0, 2].contains(&ended.code), "{file}: {}", ended.stderr);
        assert_eq!((ended.count("cases"), ended.count("scored")), (count as u64, count as u64), "{file}");
        assert!(ended.count("passed") * 20 >= count as u64 * 19, "{file}: the ideal passes: {}", ended.stdout);

        let calls = bench.calls();
        let ids: BTreeSet<&str> = calls.iter().map(|call| call.case.as_str()).collect();
        assert_eq!((calls.len(), ids.len()), (count, count), "{file}: each row is a case of its own");
        let mut arrived = BTreeMap::new();
        for call in &calls {
            let body: Value = serde_json::from_str(&call.body).expect("a request");
            *arrived.entry(body["messages"].to_string()).or_default() += 1;
        }
        assert!(arrived == expected, "{file}: the conversations that arrived are not those of the file");
    }
    assert!(rows >= 1000, "{rows} rows");
}
