//! Every file of the corpus with its right answer, and the rules that no file shows.

use super::*;
use crate::config::limits::{DEPTH_MAX, RECORD_BYTES_MAX};
use crate::config::testing::{any_text, json_value};
use proptest::prelude::*;
use serde_json::{Value, json};

fn corpus(name: &str) -> Result<Dataset, Problems> {
    let path = format!("{}/tests/data/datasets/{name}", env!("CARGO_MANIFEST_DIR"));
    read_dataset(Path::new(&path))
}

fn read(format: Format, written: impl AsRef<[u8]>) -> Result<Dataset, Problems> {
    read_from(written.as_ref(), format, "f", "f")
}

/// Line, column and message of each problem.
fn refusals(outcome: Result<Dataset, Problems>) -> Vec<(u32, u32, String)> {
    let problems = outcome.expect_err("a refusal").problems;
    let place = |problem: &Problem| problem.place.map_or((0, 0), |place| (place.line, place.column));
    problems.iter().map(|problem| (place(problem).0, place(problem).1, problem.message.clone())).collect()
}

fn cases(outcome: Result<Dataset, Problems>) -> Vec<(String, Value, Value)> {
    let dataset = outcome.expect("a dataset");
    dataset.cases.into_iter().map(|case| (case.id, case.input, case.expected.unwrap_or_default())).collect()
}

fn a_b() -> Vec<(String, Value, Value)> {
    vec![("a".into(), json!("one"), json!("1")), ("b".into(), json!("two"), json!("2"))]
}

#[test]
fn line_ends_marks_and_blank_lines_leave_no_trace() {
    for file in ["bom.jsonl", "crlf.jsonl", "blank-lines.jsonl", "no-final-newline.jsonl", "crlf.csv"] {
        assert_eq!(cases(corpus(file)), a_b(), "{file}");
    }
    assert_eq!(cases(corpus("bom.csv")), a_b()[..1]);
    assert_eq!(cases(corpus("u2028.jsonl"))[0].1, json!("x\u{2028}y"));
    assert_eq!(cases(corpus("nul.jsonl"))[0].1, json!("x\u{0}y"));
    assert_eq!(cases(read(Format::Csv, "id,input,expected\ra,one,1\rb,two,2")), a_b(), "CR alone ends a record");
    let joined = "{\"id\":\"a\",\"input\":\"one\",\"expected\":\"1\"}\n\u{feff}{\"id\":\"b\",\"input\":\"two\",\"expected\":\"2\"}\n";
    assert_eq!(cases(read(Format::Jsonl, joined)), a_b(), "a mark in the middle of joined files");
}

#[test]
fn quoted_cells_keep_quotes_commas_and_line_breaks() {
    let read = cases(corpus("quoted.csv"));
    assert_eq!(read[0].1, json!("say \"hi\", please"));
    assert_eq!(read[1].1, json!("line1\nline2"));
    assert_eq!(corpus("quoted.csv").expect("read").lines, [2, 3]);
}

#[test]
fn numbers_keep_every_digit() {
    let read = cases(corpus("bigint.jsonl"));
    assert_eq!(
        (read[0].1.to_string(), read[0].2.to_string()),
        ("{\"n\":9007199254740993}".into(), "9007199254740993".into())
    );
    let norway = cases(corpus("norway.yaml"));
    let expected: Vec<String> = norway.iter().map(|case| case.2.to_string()).collect();
    assert_eq!(expected, ["\"no\"", "1.10", "\"012\"", "\"2024-01-02\""]);
}

#[test]
fn messages_are_kept_and_the_id_is_made_of_the_content() {
    let dataset = corpus("messages.jsonl").expect("read");
    let case = &dataset.cases[0];
    assert_eq!(case.input, json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "one?"}]));
    assert_eq!(case.expected, Some(json!(["1", "one"])));
    assert_eq!(dataset.ids_generated, 1);
    assert_eq!(case.id, format!("c-{}", &content_digest(case).to_string()[..16]));
    let reordered =
        r#"{"ideal":["1","one"],"messages":[{"content":"be brief","role":"system"},{"content":"one?","role":"user"}]}"#;
    assert_eq!(cases(read(Format::Jsonl, reordered))[0].0, case.id, "neither names nor order of keys matter");
}

#[test]
fn corpus_refusals_name_line_and_column() {
    let refused = |file: &str, line, column, words: &str| {
        let all = refusals(corpus(file));
        assert_eq!((all.len(), all[0].0, all[0].1), (1, line, column), "{file}: {all:?}");
        assert!(all[0].2.contains(words), "{file}: {all:?}");
    };
    refused("bad-line.jsonl", 2, 20, "found `oops`, expected a JSON value");
    refused("duplicate-id.jsonl", 2, 2, "the id `a` on line 2 is already the id of the case on line 1");
    refused("duplicate-key.jsonl", 1, 27, "the key `input` is written twice");
    refused("latin1.jsonl", 1, 23, "the byte 0xE9 (`é` in Latin-1) at byte offset 22");
    refused("nan.jsonl", 1, 56, "found `NaN`");
    refused("not-object.jsonl", 1, 1, "found a list, expected a case");
    refused("missing-input.jsonl", 2, 1, "the case has no input: found only id, expected");
    refused("semicolon.csv", 1, 1, "no input column");
    refused("deep.json", 1, 128, "more than 100 levels of nesting");
    let ragged = refusals(corpus("ragged.csv"));
    assert_eq!(ragged[0], (3, 1, "found 2 fields, expected 3 as in the header".into()));
    assert_eq!(ragged[1], (4, 1, "found 4 fields, expected 3 as in the header".into()));
    let problem = corpus("semicolon.csv").expect_err("refused").problems.remove(0);
    assert_eq!(problem.hint.as_deref(), Some("the separator looks like `;`: save the file with commas"));
    assert_eq!(corpus("latin1.jsonl").expect_err("refused").problems[0].byte_offset, Some(22));
}

#[test]
fn empty_files_of_every_form_are_empty_datasets() {
    for file in ["empty.jsonl", "only-blank.jsonl"] {
        assert!(corpus(file).expect("read").cases.is_empty());
    }
    for (format, written) in [
        (Format::Json, ""),
        (Format::Json, "[]"),
        (Format::Json, "{\"cases\":[]}"),
        (Format::Yaml, "# nothing\n"),
        (Format::Yaml, "cases: []"),
        (Format::Csv, ""),
        (Format::Csv, "id,input\n"),
        (Format::Jsonl, "\u{feff}"),
    ] {
        assert!(read(format, written).expect(written).cases.is_empty(), "{written:?}");
    }
}

#[test]
fn every_alias_is_read_and_the_rest_joins_the_metadata() {
    for id in ["id", "case_id", "question_id", "task_id"] {
        for input in ["input", "question", "prompt"] {
            for expected in ["expected", "expected_output", "ideal", "target", "reference", "answer", "ground_truth"] {
                let row = json!({id: 7, input: "q", expected: "x", "context": {"a": 1}, "task_type": "qa", "group": "g",
                    "tags": ["b", "a", "b"], "metadata": {"m": 1}, "level": 3});
                let case = read(Format::Jsonl, row.to_string()).expect("read").cases.remove(0);
                assert_eq!((case.id.as_str(), &case.input, case.expected), ("7", &json!("q"), Some(json!("x"))));
                assert_eq!((case.task_type.as_deref(), case.group.as_deref()), (Some("qa"), Some("g")));
                assert_eq!((case.context, case.tags), (Some(json!({"a": 1})), vec!["a".to_string(), "b".into()]));
                assert_eq!(Value::Object(case.metadata), json!({"m": 1, "level": 3}));
            }
        }
    }
}

#[test]
fn two_names_of_one_field_are_refused_unless_they_agree() {
    let both = |prompt: &str| read(Format::Jsonl, format!("{{\"question\":\"x\",\"prompt\":{prompt}}}"));
    assert_eq!(
        refusals(both("\"y\"")),
        [(1, 17, "found both `question` and `prompt` with different values, and both are names of the input".into())]
    );
    assert!(both("\"x\"").is_ok());
    assert!(both("null").is_ok(), "nothing counts as absent");
    let hidden = r#"{"input":"x","level":1,"metadata":{"level":2}}"#;
    assert!(refusals(read(Format::Jsonl, hidden))[0].2.contains("also in `metadata` with another value"));
}

#[test]
fn fields_of_the_wrong_type_are_refused_at_their_place() {
    for (row, column, words) in [
        (r#"{"id":true,"input":"x"}"#, 2, "found `true` as `id`"),
        (r#"{"id":"","input":"x"}"#, 2, "is empty"),
        ("{\"id\":\"a\\nb\",\"input\":\"x\"}", 2, "holds a control character"),
        (r#"{"input":"x","tags":{"a":1}}"#, 14, "the tags are not a list of texts"),
        (r#"{"input":"x","metadata":"m"}"#, 14, "the metadata is not an object"),
        (r#"{"messages":"hi"}"#, 2, "the messages are not a list of objects"),
        (r#"{"messages":[]}"#, 2, "the messages are not a list of objects"),
        (r#"{"input":null,"expected":1}"#, 1, "the case has no input"),
        (r#"{"Question":"x"}"#, 1, "the case has no input"),
    ] {
        let all = refusals(read(Format::Jsonl, row));
        assert_eq!((all.len(), all[0].1), (1, column), "{row}: {all:?}");
        assert!(all[0].2.contains(words), "{all:?}");
    }
    let problem = read(Format::Jsonl, r#"{"Question":"x"}"#).expect_err("refused").problems.remove(0);
    assert_eq!(problem.hint.as_deref(), Some("did you mean `question` by `Question`?"));
}

#[test]
fn ids_are_refused_just_above_their_limit() {
    let row = |len: usize| read(Format::Jsonl, json!({"id": "i".repeat(len), "input": "x"}).to_string());
    assert!(row(256).is_ok());
    assert!(refusals(row(257))[0].2.contains("has 257 bytes, the limit is 256"));
}

#[test]
fn equal_rows_without_ids_get_ordinals_and_a_warning_each() {
    let dataset = read(Format::Jsonl, "{\"input\":\"x\"}\n{\"input\":\"x\"}\n{\"prompt\":\"x\"}\n").expect("read");
    let ids: Vec<&str> = dataset.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!([format!("{}-2", ids[0]), format!("{}-3", ids[0])], ids[1..]);
    assert_eq!(dataset.warnings.len(), 2);
    assert!(dataset.warnings[1].to_string().starts_with("f:3:1: warning: equal to the case on line 1"));
}

#[test]
fn one_file_tells_all_its_problems_up_to_the_cap() {
    let written = "{\"id\":1}\nnope\n{\"input\":\"x\"}\n\u{e9}\n{\"id\":2,\"input\":1}\n{\"id\":2,\"input\":2}\n";
    assert_eq!(
        refusals(read(Format::Jsonl, written)).iter().map(|problem| problem.0).collect::<Vec<_>>(),
        [1, 2, 4, 6]
    );
    let many = "x\n".repeat(51);
    assert!(read(Format::Jsonl, many).expect_err("refused").to_string().ends_with("and 1 more"));
}

#[test]
fn json_documents_are_lists_or_hold_one() {
    let row = r#"{"id":"a","input":"one","expected":"1"}"#;
    for written in
        [format!("[{row}]"), format!("{{\"cases\":[{row}]}}"), format!("{{\"data\":[{row}],\"name\":\"n\"}}")]
    {
        assert_eq!(cases(read(Format::Json, &written)), a_b()[..1], "{written}");
    }
    let named = read(Format::Json, format!("{{\"name\":\"sums\",\"version\":1.10,\"data\":[{row}],\"extra\":1}}"))
        .expect("read");
    assert_eq!((named.name.as_str(), named.version.as_deref(), named.warnings.len()), ("sums", Some("1.10"), 1));
    for (written, line, words) in [
        (row.to_string(), 1, "an object without a list of cases"),
        ("7".into(), 1, "found the number 7, expected a list of cases"),
        (format!("{{\"cases\":[],\n\"data\":[{row}]}}"), 2, "a second list of cases"),
        (format!("{{\"name\":\"a\",\n\"name\":\"b\",\"cases\":[{row}]}}"), 2, "written twice"),
        (format!("[{row},\n{{\"input\":1,\"input\":2}},\n{{}}]"), 2, "written twice"),
        (format!("[{row}"), 1, "found the end of the file"),
    ] {
        let all = refusals(read(Format::Json, &written));
        assert_eq!(all[0].0, line, "{written}: {all:?}");
        assert!(all[0].2.contains(words), "{written}: {all:?}");
    }
    assert_eq!(refusals(read(Format::Json, format!("[{row},\n{{\"input\":1,\"input\":2}},\n{{}}]"))).len(), 2);
}

#[test]
fn a_file_with_the_ending_of_another_form_is_told_so() {
    let hint = |format, written: &str| {
        read(format, written).expect_err("refused").problems[0].hint.clone().unwrap_or_default()
    };
    assert!(hint(Format::Json, "{\"input\":1}\n{\"input\":2}\n").contains("one case"));
    assert!(hint(Format::Json, "[]\n[]\n").contains(".jsonl"));
    assert!(hint(Format::Jsonl, "[\n {\"input\":1}\n]\n").contains(".json"));
    assert!(hint(Format::Jsonl, "{\"input\":1}\r{\"input\":2}\r").contains("CR alone"));
    let refused = read_dataset(Path::new("cases.xlsx")).expect_err("refused");
    assert!(refused.to_string().contains("hint: name it .jsonl, .json, .yaml or .csv"));
}

#[test]
fn other_encodings_are_called_by_their_name() {
    let utf16: Vec<u8> = "id,input\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for format in [Format::Csv, Format::Jsonl, Format::Json, Format::Yaml] {
        let all = refusals(read(format, &utf16));
        assert_eq!(all, [(1, 1, "not UTF-8: the file is UTF-16, found at byte offset 0".into())]);
    }
    let all = refusals(read(Format::Csv, b"id,input\na,ok\nb,caf\xe9\n"));
    assert_eq!((all[0].0, all[0].1), (3, 6));
    assert!(all[0].2.contains("at byte offset 19"));
    assert_eq!(refusals(read(Format::Json, b"[{\"input\":\"\xff\"}]"))[0].1, 12);
    assert_eq!(refusals(read(Format::Yaml, b"- input: \xff"))[0].1, 10);
}

#[test]
fn csv_headers_must_be_whole() {
    for (written, column, words) in [
        ("id,input,input\n", 10, "column 3 is named `input` like column 2"),
        ("id,input,\na,b,c\n", 10, "column 3 has no name"),
        ("a,one,1\n", 1, "no input column"),
        ("id\tinput\na\tb\n", 1, "no input column"),
    ] {
        let all = refusals(read(Format::Csv, written));
        assert_eq!((all.len(), all[0].0, all[0].1), (1, 1, column), "{all:?}");
        assert!(all[0].2.contains(words), "{all:?}");
    }
    assert!(read(Format::Csv, "id\tinput\n").expect_err("tab").to_string().contains("looks like `tab`"));
}

#[test]
fn csv_quotes_that_do_not_pair_are_named_where_they_open() {
    assert_eq!(
        refusals(read(Format::Csv, "id,input\na,\"never\nb,two\n")),
        [(2, 3, "found a double quote that is never closed, expected its partner".into())]
    );
    let all = refusals(read(Format::Csv, "id,input\na,\"x\"y\nb, \"z\"\nc,ok\n"));
    assert_eq!(all.iter().map(|problem| (problem.0, problem.1)).collect::<Vec<_>>(), [(2, 6), (3, 4)]);
    assert_eq!(cases(read(Format::Csv, "input\n\"a \"\"b\"\"\"\n"))[0].1, json!("a \"b\""));
}

#[test]
fn csv_cells_hold_lists_as_json_and_tags_as_words() {
    let written = "messages,tags,metadata,level,expected\n\"[{\"\"role\"\":\"\"user\"\",\"\"content\"\":\"\"hi\"\"}]\",\"b, a\",\"{\"\"m\"\":1}\",,\n";
    let case = read(Format::Csv, written).expect("read").cases.remove(0);
    assert_eq!(case.input, json!([{"role": "user", "content": "hi"}]));
    assert_eq!((case.tags, case.expected), (vec!["a".to_string(), "b".into()], None));
    assert_eq!(Value::Object(case.metadata), json!({"m": 1}), "an empty cell is nothing");
    assert!(refusals(read(Format::Csv, "messages\nhi\n"))[0].2.contains("the cell of `messages` is not JSON"));
}

#[test]
fn nesting_is_read_up_to_the_limit_and_refused_above_it() {
    let row = |depth: usize| format!("{{\"input\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(Format::Jsonl, row(DEPTH_MAX - 1)).is_ok(), "the case itself is the first level");
    assert_eq!(refusals(read(Format::Jsonl, row(DEPTH_MAX))).len(), 1);
    let held = read(Format::Jsonl, row(DEPTH_MAX - 1)).expect("read");
    let page = tribunal_schema::case::CasePage { cases: held.cases };
    let text = serde_json::to_string(&page).expect("JSON");
    assert!(serde_json::from_str::<tribunal_schema::case::CasePage>(&text).is_ok(), "the journal can read it back");
}

#[test]
fn records_are_refused_just_above_their_limit() {
    let line = |len: usize| format!("{{\"input\":\"{}\"}}", "x".repeat(len - 12));
    assert!(read(Format::Jsonl, line(RECORD_BYTES_MAX)).is_ok());
    let written = format!("{}\n{{\"input\":1}}\nnope\n", line(RECORD_BYTES_MAX + 1));
    let all = refusals(read(Format::Jsonl, written));
    assert_eq!((all.len(), all[0].0, all[1].0), (2, 1, 3), "what follows is read: {all:?}");
    assert!(all[0].2.contains("16 MiB"));
    let open = format!("input\n\"{}", "x\n".repeat(RECORD_BYTES_MAX / 2 + 1));
    let all = refusals(read(Format::Csv, open));
    assert!(all[0].2.contains("16 MiB") && all[1].2.contains("never closed"), "{all:?}");
}

#[test]
fn yaml_bombs_and_repeated_keys_are_refused() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..=9 {
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(","));
    }
    assert!(refusals(read(Format::Yaml, bomb))[0].2.contains("16 MiB"));
    assert_eq!(refusals(read(Format::Yaml, "- input: x\n  a: {b: 1, b: 2}\n"))[0].1, 13);
    assert_eq!(refusals(read(Format::Yaml, "- input: .nan\n"))[0].1, 10);
}

#[test]
fn the_digest_follows_the_cases_and_not_the_file() {
    let one = read(Format::Jsonl, r#"{"id":"a","input":"x","expected":"1"}"#).expect("read").digest;
    assert_eq!(read(Format::Csv, "expected,id,input\n1,a,x\n").expect("read").digest, one);
    assert_eq!(read(Format::Yaml, "- {id: a, question: x, ideal: '1'}").expect("read").digest, one);
    assert_ne!(read(Format::Jsonl, r#"{"id":"a","input":"x","expected":1}"#).expect("read").digest, one);
}

fn any_case() -> impl Strategy<Value = Case> {
    let name = "[a-zé]{1,6}";
    let parts = (
        name,
        json_value(),
        prop::option::of(json_value()),
        prop::option::of(name),
        prop::collection::btree_set(name, 0..3),
    );
    (parts, prop::collection::vec(("m_[a-z]{1,4}", json_value()), 0..3)).prop_map(
        |((id, input, expected, group, tags), metadata)| Case {
            id,
            input: if input.is_null() { json!("x") } else { input },
            expected: expected.filter(|value| !value.is_null()),
            context: None,
            task_type: None,
            group,
            tags: tags.into_iter().collect(),
            metadata: metadata.into_iter().collect(),
        },
    )
}

proptest! {
    #[test]
    fn cases_come_back_as_they_were_written(case in any_case()) {
        let line = serde_json::to_string(&case).expect("JSON");
        for (format, written) in [(Format::Jsonl, line.clone()), (Format::Json, format!("[{line}]")), (Format::Yaml, format!("[{line}]"))] {
            prop_assert_eq!(&read(format, written).expect("read").cases, std::slice::from_ref(&case));
        }
        let canonical = String::from_utf8(canonical_case(&case)).expect("UTF-8");
        prop_assert_eq!(serde_json::from_str::<Case>(&canonical).expect("a case"), case);
    }

    #[test]
    fn csv_cells_come_back_as_they_were_written(cells in prop::collection::vec((any_text(), any_text()), 1..5)) {
        let quoted = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
        let rows: Vec<String> = cells.iter().map(|(input, note)| format!("{},{}\r\n", quoted(&format!("i{input}")), quoted(&format!("n{note}")))).collect();
        let dataset = read(Format::Csv, format!("input,note\r\n{}", rows.concat())).expect("read");
        for (case, (input, note)) in dataset.cases.iter().zip(&cells) {
            prop_assert_eq!(&case.input, &json!(format!("i{input}")));
            prop_assert_eq!(&case.metadata["note"], &json!(format!("n{note}")));
        }
        prop_assert_eq!(dataset.cases.len(), cells.len());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}:,\"'\\\\ a-c0-9\n\r\t-]{0,80}") {
        for format in [Format::Jsonl, Format::Json, Format::Yaml, Format::Csv] {
            let _ = read(format, &bytes);
            let _ = read(format, &text);
            let _ = read(format, format!("input,b\n{text}"));
        }
    }
}
