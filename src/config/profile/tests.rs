//! The profiles of the contract, every refusal with its place, and what is warned of.

use super::*;
use crate::config::dataset::{Format, read_from};
use crate::config::testing::TestCatalog;
use proptest::prelude::*;
use serde_json::json;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::json::{Decimal, JsonText};
use tribunal_schema::profile::{
    Baseline, ErrorsAs, Measure, Method, PerCase, PersistAnswers, Rate, SideEffects, TargetKind,
};
use tribunal_schema::units::{DurationMs, ScorePpm};

fn contract(name: &str) -> (Profile, Vec<Warning>) {
    let path = format!("{}/tests/data/profiles/{name}", env!("CARGO_MANIFEST_DIR"));
    read_profile(Path::new(&path), &TestCatalog).unwrap_or_else(|problems| panic!("{problems}"))
}

fn read(written: &str) -> Result<(Profile, Vec<Warning>), Problems> {
    read_bytes("p.yaml", written.as_bytes(), false, &TestCatalog)
}

const HEAD: &str = "profile: p\ntarget: { kind: chat, url: \"http://h/\", model: m }\n";
const TAIL: &str = "evaluators: [{ use: std/contains }]\ngate: [{ min_pass_rate: 1.0 }]\n";

/// The one problem of a profile that has one, as `line:column message`.
fn refusal(written: &str) -> String {
    let problems = read(written).expect_err(written).problems;
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let place = problems[0].place.expect("a place");
    format!("{}:{} {}", place.line, place.column, problems[0].message)
}

fn ppm(ppm: u32) -> ScorePpm {
    ScorePpm::new(ppm).expect("a share")
}

#[test]
fn the_full_profile_is_read_to_the_last_key() {
    let (profile, warnings) = contract("full.yaml");
    assert_eq!(warnings, []);
    assert_eq!(
        (profile.name.as_str(), profile.version.as_str(), profile.repeats),
        ("support-agent-release", "1.2.0", 3)
    );
    let target = &profile.target;
    let TargetKind::Chat { model, parameters, system, tools, stream } = &target.kind else { panic!("a chat target") };
    assert_eq!((model.as_str(), system.as_deref(), *stream), ("mock", Some("You are a support agent."), false));
    assert_eq!((parameters.text(), tools.text()), ("{\"temperature\":0,\"max_tokens\":512}", "[]"));
    assert_eq!(target.headers["authorization"], "Bearer ${env:AGENT_TOKEN}");
    assert_eq!((target.timeout, target.max_in_flight, target.max_response_bytes), (DurationMs(30_000), 64, 8 << 20));
    assert_eq!(target.rate, Some(Rate { calls: 200, per: DurationMs(1_000) }));
    assert_eq!(profile.budget.max_tokens, Some(50_000_000));
    assert_eq!((profile.persist.answers, profile.persist.evidence), (PersistAnswers::All, true));
    assert_eq!(profile.attempts.retry_on.len(), 5);
    let [answers, tools] = &profile.groups[..] else { panic!("two groups") };
    assert_eq!(answers.takes.task_type.as_deref(), Some("qa"));
    assert_eq!(answers.bindings[0].config.text(), "{\"ignore_case\":true}");
    assert!(!answers.bindings[2].required);
    let names: Vec<&str> = answers.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    assert_eq!(names, ["correctness", "style", "score"], "in order of first mention");
    assert_eq!((answers.dimensions[0].weight_ppm, answers.dimensions[0].pass_at), (3_000_000, Some(ScorePpm::ONE)));
    assert_eq!((tools.dimensions[0].method, tools.dimensions[0].blocking), (Method::Min, true));
    assert!(tools.bindings[0].blocking);
    assert_eq!(
        tools.bindings[2].measure,
        Measure::Linear { best: Decimal::from_integer(200), worst: Decimal::from_integer(5_000) }
    );
    assert_eq!(tools.bindings[2].pass_at, ppm(200_000));
    assert_eq!(profile.gate.len(), 5);
    assert_eq!((profile.gate[0].min_mean, profile.gate[0].min_pass_rate), (Some(ppm(900_000)), Some(ppm(850_000))));
    assert_eq!(profile.gate[2].tag.as_deref(), Some("smoke"));
    assert_eq!(profile.gate[3].per_case, Some(PerCase { passes: 2, of: 3 }));
    assert_eq!(profile.gate[4].max_abstention_rate, Some(ppm(50_000)));
}

#[test]
fn the_least_profile_gets_the_documented_defaults() {
    let (profile, warnings) = contract("minimal.yaml");
    assert_eq!(warnings, []);
    assert_eq!(
        (profile.version.as_str(), profile.repeats, profile.chunk_size, profile.lane.as_str()),
        ("0", 1, 100, "default")
    );
    assert_eq!((profile.target.timeout, profile.target.max_in_flight), (DurationMs(30_000), 8));
    assert_eq!((profile.target.side_effects, profile.errors_as), (SideEffects::None, ErrorsAs::Inconclusive));
    let attempts = &profile.attempts;
    assert_eq!((attempts.max, attempts.backoff, attempts.backoff_max), (3, DurationMs(5_000), DurationMs(600_000)));
    assert_eq!(attempts.retry_on, RETRY_ON_DEFAULT);
    let group = &profile.groups[0];
    assert_eq!((group.name.as_str(), group.dimensions[0].name.as_str()), (GROUP_ALL, DIMENSION_DEFAULT));
    let binding = &group.bindings[0];
    assert_eq!((binding.id.as_str(), binding.weight_ppm, binding.pass_at), ("contains", 1_000_000, ScorePpm::ONE));
    assert_eq!((&binding.measure, &binding.config, binding.required), (&Measure::Direct, &JsonText::default(), true));
}

#[test]
fn kinds_and_evaluators_of_a_later_version_are_read() {
    let (profile, _) = contract("http-target.yaml");
    let TargetKind::Http { method, body, answer } = &profile.target.kind else { panic!("an http target") };
    assert_eq!((method.as_str(), answer["usage.output_tokens"].as_str()), ("POST", "$.usage.out"));
    assert_eq!(body.value()["session"], json!("${execution.id}"));
    let (profile, warnings) = contract("judge-and-baseline.yaml");
    assert_eq!(profile.judge.as_ref().map(|judge| judge.max_in_flight), Some(8));
    assert_eq!(profile.gate[1].baseline, Some(Baseline { max_drop: ppm(20_000), confidence: ppm(950_000) }));
    assert_eq!(unavailable_evaluators(&profile).len(), 1);
    assert!(
        warnings[0].to_string().contains(":5:22: warning: the evaluator `std/llm-rubric` comes with a later version"),
        "{warnings:?}"
    );
}

#[test]
fn a_profile_survives_the_journal() {
    for file in ["full.yaml", "http-target.yaml", "judge-and-baseline.yaml", "minimal.yaml"] {
        let (profile, _) = contract(file);
        let text = serde_json::to_string(&profile).expect("JSON");
        assert_eq!(serde_json::from_str::<Profile>(&text).expect("a profile"), profile, "{file}");
    }
}

#[test]
fn json_profiles_are_read_by_their_ending() {
    let written = br#"{"profile":"p","target":{"kind":"chat","url":"http://h/","model":"m"},"evaluators":[{"use":"std/contains"}],"gate":[{"min_mean":0.5}]}"#;
    assert!(read_bytes("p.json", written, true, &TestCatalog).is_ok());
    assert!(read_bytes("p.json", b"{\"profile\":\"p\",}", true, &TestCatalog).is_err());
}

#[test]
fn all_problems_come_at_once_with_line_and_column() {
    let written = "\
profile: p
tagret: {}
target:
  kind: chat
  url: ftp://h/
  model: m
  timeout: 30
  max_in_flight: 0
  rate: 60
  max_response: 8mib
repeats: many
attempts: { retry_on: [conect, lost], backoff: 20m, backoff_max: 10m }
evaluators:
  - use: std/contain
  - { use: std/regex, with: { pattern: 7 }, weight: 0 }
  - { id: x, use: std/equals, pass_at: 1.5 }
  - { id: x, use: std/equals, with: { wrong: 1 } }
gate:
  - { dimension: scoer, min_mean: 95 }
  - { group: none, min_mean: 0.1234567 }
  - { tag: smoke }
";
    let problems = read(written).expect_err("refused");
    let said: Vec<String> = problems.to_string().lines().map(String::from).collect();
    let expected = [
        "p.yaml:2:1: unknown key `tagret` in `profile`",
        "  hint: did you mean `target`?",
        "p.yaml:5:8: `url`: the text is not an http or https address",
        "  hint: write https://host/path, and secrets as headers with ${env:NAME}",
        "p.yaml:7:12: `timeout`: found the number 30, expected a duration",
        "  hint: write a number and ms, s, m or h: 200ms, 30s, 10m",
        "p.yaml:8:18: `max_in_flight`: found the number 0, expected a whole number from 1 to 10000",
        "p.yaml:9:9: `rate`: found the number 60, expected a rate of at least 1 and at most 1000000 calls",
        "  hint: write calls per s, min or h: 200/s, 60/min",
        "p.yaml:10:17: `max_response`: found the text \"8mib\", expected a size",
        "  hint: write a number and B, KiB, MiB or GiB: 8MiB",
        "p.yaml:11:10: `repeats`: found the text \"many\", expected a whole number from 1 to 1000",
        "p.yaml:12:24: `retry_on`: found \"conect\", which is not one of its words",
        "  hint: did you mean `connect`?",
        "p.yaml:12:32: `retry_on`: found \"lost\", which is not one of its words",
    ];
    assert_eq!(said[..expected.len()], expected);
    let places: Vec<(u32, u32)> =
        problems.problems.iter().filter_map(|problem| problem.place).map(|place| (place.line, place.column)).collect();
    let rest = [
        (12, 48),
        (14, 10),
        (15, 40),
        (15, 53),
        (16, 40),
        (17, 5),
        (17, 37),
        (19, 18),
        (19, 35),
        (20, 14),
        (20, 30),
        (21, 5),
    ];
    assert_eq!(places[places.len() - rest.len()..], rest, "{problems}");
    assert!(problems.to_string().contains("p.yaml:14:10: the evaluator `std/contain` is not known: std has no evaluator of that name\n  hint: did you mean `std/contains`?"));
    assert!(problems.to_string().contains("p.yaml:19:18: the rule speaks of the dimension `scoer`, which no group of the profile has\n  hint: did you mean `score`?"));
}

#[test]
fn a_profile_must_say_what_is_good_enough() {
    assert!(
        refusal(&format!("{HEAD}evaluators: [{{ use: std/contains }}]\n")).starts_with("1:1 the profile has no gate")
    );
    assert!(
        refusal(&format!("{HEAD}evaluators: [{{ use: std/contains }}]\ngate: []\n"))
            .starts_with("4:7 the gate has no rule")
    );
    assert!(refusal("").starts_with("1:1 the file is empty"));
    assert!(refusal("- a\n").starts_with("1:1 `profile`: found a list, expected a map"));
    assert!(refusal(&format!("{HEAD}gate: [{{ min_mean: 0.5 }}]\n")).contains("neither `evaluators` nor `groups`"));
    assert!(refusal(&format!("target: 1\n{TAIL}profile: p\n")).starts_with("1:9 `target`: found the number 1"));
    assert!(
        refusal(&format!("{HEAD}{TAIL}groups: [{{ name: g, evaluators: [{{ use: std/contains }}] }}]\n"))
            .starts_with("3:13 found `evaluators` beside `groups`")
    );
}

#[test]
fn secrets_in_clear_are_refused_and_not_repeated() {
    let with = |header: &str| {
        format!(
            "profile: p\ntarget:\n  kind: chat\n  url: \"http://h/\"\n  model: m\n  headers: {{ {header} }}\n{TAIL}"
        )
    };
    let refused = refusal(&with("Authorization: Bearer canary-7"));
    assert_eq!(
        refused,
        "6:29 the header `authorization` holds a secret in clear, which would become part of the journal"
    );
    assert!(!read(&with("authorization: [canary-7]")).expect_err("refused").to_string().contains("canary"));
    assert!(!read(&with("authorization: \"${canary-7}\"")).expect_err("refused").to_string().contains("canary"));
    assert!(read(&with("authorization: \"Bearer ${env:TOKEN}\"")).is_ok());
    assert_eq!(read(&with("x-my-token: abc")).expect("read").1.len(), 1);
    for header in
        ["idempotency-key: x", "\"a b\": x", "x: \"${env:}\"", "x: \"${env:1A}\"", "x: \"${TOKEN}\"", "X: a, x: b"]
    {
        refusal(&with(header));
    }
    let url = refusal(&format!("profile: p\ntarget: {{ kind: chat, url: \"http://me:canary@h/\", model: m }}\n{TAIL}"));
    assert!(url.contains("in clear") && !url.contains("canary"));
    assert!(
        read(&format!("profile: p\ntarget: {{ kind: chat, url: \"${{env:BASE}}/v1\", model: m }}\n{TAIL}")).is_ok()
    );
}

#[test]
fn keys_of_the_other_target_kind_are_refused() {
    let refused = refusal(&format!(
        "profile: p\ntarget: {{ kind: http, url: \"http://h/\", model: m, body: {{}}, answer: {{ text: $.a }} }}\n{TAIL}"
    ));
    assert_eq!(refused, "2:41 the key `model` has no meaning in a `target` of kind http");
    assert!(
        refusal(&format!(
            "profile: p\ntarget: {{ kind: http, url: \"http://h/\", body: {{}}, answer: {{ text: \"$[\" }} }}\n{TAIL}"
        ))
        .contains("is not a JSONPath")
    );
    assert!(
        refusal(&format!("profile: p\ntarget: {{ kind: grpc, url: \"http://h/\" }}\n{TAIL}"))
            .starts_with("2:17 `kind`: found \"grpc\"")
    );
}

#[test]
fn limits_hold_at_their_boundary() {
    let timeout = |value: &str| {
        read(&format!("profile: p\ntarget: {{ kind: chat, url: \"http://h/\", model: m, timeout: {value} }}\n{TAIL}"))
    };
    assert!(timeout("15m").is_ok() && timeout("1ms").is_ok());
    assert!(timeout("900001ms").is_err() && timeout("0s").is_err());
    let chunk = |size: u32| read(&format!("{HEAD}{TAIL}chunk: {{ size: {size} }}\n"));
    assert!(chunk(1).is_ok() && chunk(10_000).is_ok());
    assert!(chunk(0).is_err() && chunk(10_001).is_err());
    let weight = |weight: &str| {
        read(&format!("{HEAD}evaluators: [{{ use: std/contains, weight: {weight} }}]\ngate: [{{ min_mean: 1 }}]\n"))
    };
    assert!(weight("0.000001").is_ok() && weight("1000").is_ok());
    assert!(weight("0").is_err() && weight("-1").is_err() && weight("1000.1").is_err() && weight("0.0000001").is_err());
    let share =
        |share: &str| read(&format!("{HEAD}evaluators: [{{ use: std/contains }}]\ngate: [{{ min_mean: {share} }}]\n"));
    assert!(share("1").is_ok() && share("0.123456").is_ok());
    assert!(
        share("1.000001").is_err()
            && share("-0.1").is_err()
            && share("0.1234567").is_err()
            && share("0.10000000001").is_err()
    );
    assert!(read(&format!("{HEAD}{TAIL}lane: \"a b\"\n")).is_err());
    let large = format!("#{}\n", "x".repeat(PROFILE_FILE_BYTES_MAX as usize));
    let file = tempfile_with(&large);
    assert!(read_profile(file.path(), &TestCatalog).expect_err("too large").to_string().contains("larger than 1 MiB"));
}

fn tempfile_with(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    file
}

#[test]
fn per_case_rules_agree_with_the_repeats() {
    let rule = |passes: u32, of: u32| {
        format!(
            "{HEAD}repeats: 3\nevaluators: [{{ use: std/contains }}]\ngate: [{{ per_case: {{ passes: {passes}, of: {of} }}, min_pass_rate: 1 }}]\n"
        )
    };
    assert!(read(&rule(3, 3)).is_ok());
    assert_eq!(refusal(&rule(2, 4)), "5:37 `per_case` is of 4 repeats, but the profile has repeats: 3");
    assert!(refusal(&rule(4, 3)).contains("wants 4 passes of 3"));
}

#[test]
fn bindings_get_unique_ids_and_keep_their_own() {
    let (profile, _) = read(&format!("{HEAD}evaluators:\n- use: std/contains\n- {{ id: contains-2, use: std/equals, not: true }}\n- use: std/contains\ngate: [{{ min_mean: 1 }}]\n")).expect("read");
    let ids: Vec<&str> = profile.groups[0].bindings.iter().map(|binding| binding.id.as_str()).collect();
    assert_eq!(ids, ["contains", "contains-2", "contains-3"]);
    assert!(profile.groups[0].bindings[1].negate);
}

#[test]
fn every_form_of_measure_is_read() {
    let measure = |form: &str| {
        read(&format!("{HEAD}evaluators: [{{ use: std/latency, measure: {form} }}]\ngate: [{{ min_mean: 1 }}]\n"))
            .map(|(profile, _)| profile.groups[0].bindings[0].measure.clone())
    };
    assert_eq!(measure("direct").expect("read"), Measure::Direct);
    let Ok(Measure::Piecewise { points }) =
        measure("{ piecewise: [{ value: 20, score: 0 }, { value: -1.5, score: 1 }] }")
    else {
        panic!("piecewise")
    };
    assert_eq!(
        points.iter().map(|point| point.value.to_string()).collect::<Vec<_>>(),
        ["-1.5", "20"],
        "sorted by value"
    );
    assert!(
        matches!(measure("{ thresholds: [{ value: 1s, score: 0.5 }] }"), Ok(Measure::Thresholds { steps }) if steps[0].value == Decimal::from_integer(1000))
    );
    assert!(matches!(measure("{ labels: { good: 1, bad: 0 } }"), Ok(Measure::Labels { scores }) if scores.len() == 2));
    for wrong in [
        "linaer",
        "{}",
        "{ linear: { best: 1 } }",
        "{ linear: { best: 1, worst: 1 } }",
        "{ piecewise: [{ value: 1, score: 1 }] }",
        "{ thresholds: [] }",
        "{ thresholds: [{ value: 1, score: 1 }, { value: 1, score: 0 }] }",
        "{ labels: {} }",
        "{ linear: { best: 1, worst: 2 }, labels: { a: 1 } }",
        "{ linear: { best: fast, worst: 2 } }",
    ] {
        assert_eq!(measure(wrong).expect_err(wrong).count(), 1, "{wrong}");
    }
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    let warned = |written: &str, words: &str| {
        let (_, warnings) = read(written).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(warnings.iter().any(|warning| warning.0.message.contains(words)), "{warnings:?}");
    };
    warned(&format!("{HEAD}evaluators: []\ngate: [{{ min_mean: 1 }}]\n"), "the group `all` has no evaluators");
    warned(
        &format!(
            "{HEAD}evaluators: [{{ use: std/contains }}]\ndimensions: {{ style: {{ weight: 2 }} }}\ngate: [{{ min_mean: 1 }}]\n"
        ),
        "no evaluator of the group `all` counts in the dimension `style`",
    );
    warned(
        &format!("{HEAD}evaluators: [{{ use: std/contains }}]\ngate: [{{ min_pass_rate: 0 }}]\n"),
        "can never be broken",
    );
    warned(
        &format!(
            "{HEAD}groups: [{{ name: a, evaluators: [{{ use: std/contains }}] }}, {{ name: b, evaluators: [{{ use: std/contains }}] }}]\ngate: [{{ min_mean: 1 }}]\n"
        ),
        "before this one takes every case",
    );
}

#[test]
fn an_evaluator_without_use_does_not_make_the_gate_wrong_too() {
    let refused =
        refusal(&format!("{HEAD}evaluators: [{{ dimension: tone }}]\ngate: [{{ dimension: tone, min_mean: 1 }}]\n"));
    assert_eq!(refused, "3:14 the key `use` is missing");
}

#[test]
fn rules_over_what_is_never_scored_are_refused() {
    let refused = refusal(&format!(
        "{HEAD}evaluators: [{{ use: std/contains, required: false, dimension: tone }}]\ngate: [{{ dimension: tone, min_mean: 1 }}]\n"
    ));
    assert!(refused.starts_with("4:21 ") && refused.contains("no required evaluator counts"));
    assert!(
        refusal(&format!(
            "{HEAD}evaluators: [{{ use: std/contains, required: false, blocking: true }}]\ngate: [{{ min_mean: 1 }}]\n"
        ))
        .contains("cannot block")
    );
}

#[test]
fn cases_that_no_group_takes_are_refused_with_id_line_and_why() {
    let (profile, _) = contract("full.yaml");
    let rows = "{\"id\":\"a\",\"input\":1,\"task_type\":\"qa\"}\n{\"id\":\"b\",\"input\":1,\"task_type\":\"sums\",\"tags\":[\"x\"]}\n{\"id\":\"c\",\"input\":1,\"group\":\"tools\"}\n{\"id\":\"d\",\"input\":1,\"group\":\"toolz\"}\n";
    let dataset = read_from(rows.as_bytes(), Format::Jsonl, "d.jsonl", "d").expect("read");
    let problems = match_cases(&profile, &dataset).expect_err("refused");
    assert_eq!(problems.count(), 2);
    assert!(
        problems.to_string().starts_with("d.jsonl:2:1: no group takes the case `b`: it has task_type `sums`, tags x\n"),
        "{problems}"
    );
    assert!(problems.to_string().contains(
        "d.jsonl:4:1: no group takes the case `d`: it has no task_type, no tags and names the group `toolz`"
    ));
    let taken =
        read_from(rows.lines().step_by(2).collect::<Vec<_>>().join("\n").as_bytes(), Format::Jsonl, "d.jsonl", "d")
            .expect("read");
    let groups = match_cases(&profile, &taken).expect("taken");
    assert_eq!(groups, [0, 1]);
    assert_eq!(idle_rules(&profile, &taken, &groups).len(), 1, "no case is tagged smoke");
    assert_eq!(profile.attempts.retry_on[0], FailureClass::Connect);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}:,\"' a-z0-9\n-]{0,60}") {
        let _ = read_bytes("f", &bytes, false, &TestCatalog);
        let _ = read(&text);
    }

    #[test]
    fn a_profile_with_a_line_changed_never_panics(line in 0_usize..75, text in "[ a-z0-9:\\[\\]{}$.,-]{0,30}") {
        let path = format!("{}/tests/data/profiles/full.yaml", env!("CARGO_MANIFEST_DIR"));
        let written = std::fs::read_to_string(path).expect("the contract");
        let changed: Vec<&str> = written.lines().enumerate().map(|(index, old)| if index == line { text.as_str() } else { old }).collect();
        let _ = read(&changed.join("\n"));
    }
}
