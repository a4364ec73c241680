//! Exit codes and streams.

use crate::faults::bench::{Bench, SAYS_IT, tribunal};
use std::io::Read as _;
use std::process::{Command, Stdio};

#[tokio::test(flavor = "multi_thread")]
async fn verdict_decides_the_code_and_stdout_is_one_object() {
    for (script, code, verdict) in [
        ("[]", 0, "pass"),
        ("- match: \"*\"\n  reply: something else\n", 2, "fail"),
        ("- match: \"*\"\n  fault: { status: 400 }\n", 3, "inconclusive"),
    ] {
        let bench = Bench::new(script).await;
        bench.profile("", SAYS_IT);
        bench.echo_cases(3);
        let ended = bench.run(&[]).await;
        assert_eq!((ended.code, ended.verdict().as_str()), (code, verdict), "{ended:?}");
        assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.stdout);
        assert!(ended.stdout.starts_with('{') && ended.stdout.ends_with("}\n"), "{}", ended.stdout);
        let json = ended.json();
        for field in [
            "run",
            "verdict",
            "reasons",
            "counts",
            "target_calls",
            "calls_maybe_repeated",
            "result_digest",
            "journal_root",
        ] {
            assert!(!json[field].is_null(), "{field}: {json}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_and_tool_errors_are_1_with_nothing_on_stdout() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.echo_cases(1);
    bench.write("bad.yaml", "profile: [");
    let run = ["run", "profile.yaml", "--dataset", "cases.jsonl"];
    for (arguments, words) in [
        (vec!["run", "--bogus"], "--bogus"),
        (vec!["no-such-command"], "no-such-command"),
        (vec![], "Usage"),
        (vec!["run"], "PROFILE"),
        (vec!["run", "profile.yaml"], "--dataset FILE"),
        (vec!["run", "absent.yaml", "--dataset", "cases.jsonl"], "absent.yaml: cannot be opened"),
        (vec!["run", "profile.yaml", "--dataset", "absent.jsonl"], "absent.jsonl: cannot be opened"),
        (vec!["run", "bad.yaml", "--dataset", "cases.jsonl"], "bad.yaml:"),
        ([&run[..], &["--repeats", "0"]].concat(), "--repeats"),
        ([&run[..], &["--max-in-flight", "zero"]].concat(), "--max-in-flight"),
        ([&run[..], &["--limit", "-1"]].concat(), "-1"),
        ([&run[..], &["--store", "cases.jsonl"]].concat(), "cases.jsonl cannot be used for a store: "),
        ([&run[..], &["--case-id", "nobody"]].concat(), "has no such case"),
        (vec!["profile", "validate", "bad.yaml"], "bad.yaml:"),
        (vec!["dataset", "validate", "absent.jsonl"], "absent.jsonl"),
        (vec!["evaluator", "show", "std/contians"], "did you mean"),
    ] {
        let ended = tribunal(&bench.path(""), &arguments, &[]).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(words), "{arguments:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
    assert_eq!(bench.calls().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn help_and_version_are_data() {
    let bench = Bench::new("[]").await;
    for arguments in [["--help"].as_slice(), &["--version"], &["run", "--help"]] {
        let ended = tribunal(&bench.path(""), arguments, &[]).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(ended.stdout.contains("tribunal"), "{}", ended.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_passes_with_the_same_results_each_time() {
    let (one, two) = (Bench::new("[]").await, Bench::new("[]").await);
    let first = tribunal(&one.path(""), &["demo", "--json"], &[]).await;
    let second = tribunal(&two.path(""), &["demo", "--json"], &[]).await;
    assert_eq!((first.code, first.verdict().as_str()), (0, "pass"), "{first:?}");
    assert!(first.count("cases") >= 60);
    assert_eq!(first.stdout.lines().count(), 1);
    let (first, second) = (first.json(), second.json());
    assert_ne!(first["run"], second["run"]);
    for field in ["result_digest", "counts", "target_calls", "calls_maybe_repeated"] {
        assert_eq!(first[field], second[field], "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_run_is_130_and_says_how_to_carry_on() {
    let script = "- match: { attempt: 1 }\n  fault: hang\n";
    let bench = Bench::new(script).await;
    bench.profile(", timeout: 1s", &format!("attempts: {{ max: 2, backoff: 1ms }}\n{SAYS_IT}"));
    bench.echo_cases(2);
    let mut child = Command::new(env!("CARGO_BIN_EXE_tribunal"))
        .args(["run", "profile.yaml", "--dataset", "cases.jsonl", "--json"])
        .current_dir(bench.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    while bench.calls().is_empty() && child.try_wait().expect("a child").is_none() {
        tokio::task::yield_now().await;
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await.expect("a wait").expect("an end");
    let words = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(130), b"".as_slice()), "{words}");
    assert!(words.contains("nothing is lost: tribunal run --resume"), "{words}");

    let resumed = bench.run(&["--resume"]).await;
    assert_eq!((resumed.code, resumed.count("passed")), (0, 2), "{resumed:?}");
    assert!(resumed.stderr.contains("carrying on with run"), "{}", resumed.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_that_goes_away_is_no_panic() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.echo_cases(1);
    for arguments in [
        ["run", "profile.yaml", "--dataset", "cases.jsonl"].as_slice(),
        &["run", "profile.yaml", "--dataset", "cases.jsonl", "--json"],
        &["evaluator", "list"],
        &["profile", "validate", "profile.yaml"],
        &["--help"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tribunal"))
            .args(arguments)
            .current_dir(bench.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        drop(child.stdout.take());
        let mut words = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut words).expect("UTF-8");
        let status = child.wait().expect("an end");
        assert!(!words.contains("panicked"), "{arguments:?}: {words}");
        assert!(status.code().is_some_and(|code| code <= 1), "{arguments:?}: {status}, {words}");
    }
}
