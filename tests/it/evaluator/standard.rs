//! Each standard evaluator through the embedded component: what it says, on
//! what, and that a megabyte of answer is within its fuel.

use super::catalog;
use std::path::Path;
use tribunal::evaluator::inspect::Tried;
use tribunal::evaluator::{Catalog, inspect};
use tribunal_schema::answer::Answer;
use tribunal_schema::evaluation::{Domain, EvaluationErrorClass, Measurement, Report, Said, Severity};
use tribunal_schema::json::JsonText;

async fn report(catalog: &Catalog, name: &str, config: &str, case: &str, answer: Answer) -> Report {
    tried(catalog, name, config, case, answer).await.result.expect("a report")
}

async fn tried(catalog: &Catalog, name: &str, config: &str, case: &str, answer: Answer) -> Tried {
    let config = JsonText::try_from(config.to_owned()).expect("JSON");
    let reference = format!("std/{name}");
    let case = inspect::case(case).expect("a case");
    inspect::test(catalog, &reference, Path::new(""), config, case, answer, 431).await.expect("a try")
}

fn text(text: &str) -> Answer {
    inspect::text_answer(text)
}

fn calls(json: &str) -> Answer {
    inspect::json_answer(&format!(r#"{{"tool_calls":{json}}}"#)).expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_says_yes_and_no_with_a_reason() {
    let catalog = catalog().await;
    let refund = r#"[{"name":"refund","arguments":{"order":7,"sum":1.10}}]"#;
    let expected_call = r#"{"expected":{"tool":"refund","arguments":{"order":7}}}"#;
    for (name, config, case, answer, yes, message) in [
        ("equals", "{}", r#"{"expected":["Paris","Rom"]}"#, text("Rom\n"), true, r#"the answer is "Rom""#),
        ("equals", "{}", r#"{"expected":"Paris"}"#, text("Rom"), false, r#"expected "Paris", got "Rom""#),
        ("contains", r#"{"ignore_case":true}"#, r#"{"expected":"STRASSE"}"#, text("die Straße"), true, "contains"),
        ("contains", r#"{"all":["a","b"]}"#, "{}", text("a"), false, r#"the answer does not contain "b""#),
        ("regex", r#"{"pattern":"(?i)please|thank"}"#, "{}", text("Thank you"), true, "matches"),
        ("regex", r#"{"pattern":"^\\d+$"}"#, "{}", text("x1"), false, r#"does not match "^\\d+$""#),
        ("is-json", "{}", "{}", text(r#"{"a":1}"#), true, "object"),
        ("is-json", "{}", "{}", text(r#"{"a":1"#), false, "not JSON"),
        (
            "json-path-equals",
            r#"{"path":"$.n","value":9007199254740993}"#,
            "{}",
            text(r#"{"n":9007199254740993}"#),
            true,
            "$.n",
        ),
        (
            "json-path-equals",
            r#"{"path":"$.n"}"#,
            r#"{"expected":9007199254740992}"#,
            text(r#"{"n":9007199254740993}"#),
            false,
            "expected 9007199254740992, got 9007199254740993 at $.n",
        ),
        ("numeric-tolerance", r#"{"abs":0.5}"#, r#"{"expected":42}"#, text("about 42.5 km"), true, "within 42 ± 0.5"),
        (
            "numeric-tolerance",
            r#"{"abs":0.5,"path":"$.total"}"#,
            r#"{"expected":42}"#,
            text(r#"{"total":43.1}"#),
            false,
            "expected 42 ± 0.5, got 43.1 at $.total",
        ),
        ("tool-called", "{}", expected_call, calls(refund), true, "refund"),
        ("tool-called", r#"{"tool":"cancel"}"#, "{}", calls(refund), false, r#"expected a call of "cancel""#),
        ("tool-args-match", r#"{"mode":"subset"}"#, expected_call, calls(refund), true, "as expected"),
        ("tool-args-match", "{}", expected_call, calls(refund), false, "unexpected 1.10 at $.sum"),
        ("word-count", r#"{"max":3}"#, "{}", text("eins zwei drei"), true, "3 words"),
        ("word-count", r#"{"max":2}"#, "{}", text("eins zwei drei"), false, "expected at most 2 words, got 3"),
        ("latency", r#"{"max_ms":431}"#, "{}", text(""), true, "431 ms"),
        ("latency", r#"{"max_ms":430}"#, "{}", text(""), false, "expected at most 430 ms, took 431 ms"),
    ] {
        let report = report(&catalog, name, config, case, answer).await;
        assert_eq!(report.said, Said::Measured(Measurement::Binary(yes)), "{name} {config}");
        let finding = &report.findings[0];
        assert_eq!(finding.severity, if yes { Severity::Info } else { Severity::Error });
        assert!(finding.message.contains(message), "{name}: {}", finding.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_have_their_unit() {
    let catalog = catalog().await;
    for (name, value, unit) in [("word-count", "3", "words"), ("latency", "431", "ms")] {
        let said = report(&catalog, name, "null", "{}", text("eins zwei drei")).await.said;
        let value = value.parse().expect("a decimal");
        assert_eq!(said, Said::Measured(Measurement::Number { value, unit: Some(unit.into()) }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_to_compare_with_is_an_abstention() {
    let catalog = catalog().await;
    for (name, config) in [
        ("equals", "{}"),
        ("contains", "{}"),
        ("regex", "{}"),
        ("json-path-equals", r#"{"path":"$.a"}"#),
        ("numeric-tolerance", "{}"),
        ("tool-called", "{}"),
        ("tool-args-match", "{}"),
    ] {
        let said = report(&catalog, name, config, "{}", text("{}")).await.said;
        assert!(matches!(said, Said::Abstained(_)), "{name}: {said:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_of_answer_is_within_fuel_and_memory() {
    let catalog = catalog().await;
    let words = "Der schnelle braune Fuchs – «быстрая» лиса; 12,345.678 μm. ".repeat(17_000);
    let list = format!("[{}1]", r#"{"a":[1,2.50],"b":"ü"},"#.repeat(44_000));
    let many_calls = format!("[{}]", vec![r#"{"name":"a","arguments":{"x":1,"y":"zzzzzzzzzz"}}"#; 20_000].join(","));
    let expected_calls =
        r#"{"expected":{"tool_calls":[{"name":"a","arguments":{"x":2}},{"name":"a","arguments":{"x":3}}]}}"#;
    assert!(words.len() > 1_000_000 && list.len() > 1_000_000);
    let mut wrong = Vec::new();
    for (name, config, case, answer) in [
        ("equals", r#"{"ignore_case":true}"#, r#"{"expected":["x","y","z"]}"#, text(&words)),
        ("contains", r#"{"ignore_case":true,"any":["niemals","nie","aaaaaaaaab"]}"#, "{}", text(&words)),
        ("regex", r#"{"pattern":"(?i)(\\w+\\s+)+\\d{7}$"}"#, "{}", text(&words)),
        ("is-json", "{}", "{}", text(&list)),
        ("json-path-equals", r#"{"path":"$[-1]","value":1}"#, "{}", text(&list)),
        ("numeric-tolerance", r#"{"value":12345,"rel":0.1}"#, "{}", text(&words)),
        ("numeric-tolerance", r#"{"value":1}"#, "{}", text(&"9".repeat(1_000_000))),
        ("tool-called", r#"{"all":["a","b"]}"#, "{}", calls(&many_calls)),
        ("tool-args-match", r#"{"mode":"subset"}"#, expected_calls, calls(&many_calls)),
        ("word-count", "{}", "{}", text(&words)),
        ("latency", "{}", "{}", text(&words)),
    ] {
        let tried = tried(&catalog, name, config, case, answer).await;
        let said = tried.result.map(|report| report.said);
        println!("{name} {config}: {} units of fuel", tried.fuel);
        if !matches!(said, Ok(Said::Measured(_))) {
            wrong.push(format!("{name} {config}: {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_are_described_with_a_closed_schema() {
    let catalog = catalog().await;
    let description = inspect::list(&catalog);
    let names: Vec<&str> = description.evaluators.iter().map(|evaluator| evaluator.name.as_str()).collect();
    let expected = "equals contains regex is-json json-path-equals numeric-tolerance tool-called tool-args-match word-count latency";
    assert_eq!(names.join(" "), expected);
    for evaluator in &description.evaluators {
        let schema = evaluator.config_schema.value();
        assert_eq!(schema["additionalProperties"], false, "{}", evaluator.name);
        assert!(!evaluator.help.is_empty() && evaluator.measures.contains(&Domain::Binary), "{}", evaluator.name);
        let properties = schema["properties"].as_object().expect("properties");
        assert!(properties.values().all(|property| property["description"].is_string()), "{}", evaluator.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_from_the_case_that_is_none_fails_with_its_reason() {
    let catalog = catalog().await;
    let (case, config) = (inspect::case(r#"{"expected":"(a"}"#).expect("a case"), JsonText::default());
    let tried = inspect::test(&catalog, "std/regex", Path::new(""), config, case, text("a"), 0).await.expect("a try");
    let error = tried.result.expect_err("no pattern");
    assert_eq!(error.class, EvaluationErrorClass::Failed);
    assert!(error.message.contains("not a usable regular expression"), "{error}");
}
