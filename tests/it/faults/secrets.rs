//! A secret reaches the target and nothing else.

use super::bench::{Bench, Ended, SAYS_IT};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use std::path::Path;

const CANARY: &str = "cnry-7Qx!9vKp2LmZt4Rw8+Ye";

/// The canary as it may have been written: plain, and in base64 at each of the three alignments.
fn forms() -> Vec<Vec<u8>> {
    let mut forms = vec![CANARY.as_bytes().to_vec(), CANARY.replace('+', "%2B").into_bytes()];
    for lead in ["", "a", "ab"] {
        for engine in [STANDARD, URL_SAFE] {
            let text = engine.encode(format!("{lead}{CANARY}"));
            // Characters that also depend on what stands around it are left out.
            let inner = &text[lead.len().div_ceil(3) * 4..text.len() - 4];
            forms.push(inner.as_bytes().to_vec());
        }
    }
    forms
}

fn assert_absent(what: &str, bytes: &[u8]) {
    for form in forms() {
        let found = bytes.windows(form.len()).position(|window| window == form);
        assert_eq!(found, None, "{what} holds the secret as {}", String::from_utf8_lossy(&form));
    }
}

fn assert_absent_from_files(folder: &Path) -> usize {
    let mut files = 0;
    for entry in walkdir::WalkDir::new(folder) {
        let entry = entry.expect("an entry");
        if entry.file_type().is_file() {
            files += 1;
            assert_absent(&entry.path().display().to_string(), &std::fs::read(entry.path()).expect("a file"));
        }
    }
    files
}

async fn run(bench: &Bench) -> Ended {
    bench.run_with(&["-vv"], &[("CANARY_TOKEN", CANARY)]).await
}

#[test]
fn the_search_finds_the_secret_in_every_form() {
    for padded in ["", "x", "xy", "xyz"] {
        for bytes in [format!("{padded}{CANARY}z"), STANDARD.encode(format!("{padded}{CANARY} and more"))] {
            let found = forms().iter().any(|form| bytes.as_bytes().windows(form.len()).any(|window| window == form));
            assert!(found, "{bytes}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_that_the_agent_echoes_everywhere_is_found_nowhere() {
    let in_base64 = STANDARD.encode(CANARY);
    let script = format!(
        "
- match: {{ case: echo }}
  reply: \"I was sent Bearer {CANARY}, in other words {in_base64}\"
- match: {{ case: error }}
  fault: {{ status: 401, headers: {{ x-you-sent: \"{CANARY}\", location: \"http://x/{CANARY}\" }}, body: \"bad token {CANARY}\" }}
- match: {{ case: json }}
  fault: {{ status: 403, body: '{{\"error\": {{\"message\": \"{CANARY} is unknown\"}}}}' }}
- match: {{ case: redirect }}
  fault: {{ status: 302, headers: {{ location: \"http://x/?t={CANARY}\" }} }}
- match: {{ case: later }}
  fault: {{ status: 429, headers: {{ retry-after: \"{CANARY}\" }} }}
- match: {{ case: page }}
  fault: {{ status: 200, headers: {{ content-type: \"text/{CANARY}\" }}, body: \"{CANARY}\" }}
"
    );
    let bench = Bench::new(&script).await;
    let target = ", headers: { authorization: \"Bearer ${env:CANARY_TOKEN}\", x-key: \"${env:CANARY_TOKEN}\" }";
    bench.profile(target, &format!("attempts: {{ max: 1 }}\n{SAYS_IT}"));
    let cases = ["echo", "error", "json", "redirect", "later", "page"];
    let lines: Vec<String> =
        cases.iter().map(|id| format!(r#"{{"id":"{id}","input":"hello","expected":"nothing"}}"#)).collect();
    bench.write("cases.jsonl", lines.join("\n"));
    let ended = run(&bench).await;
    assert_eq!((ended.count("failed"), ended.count("errored")), (1, 5), "{ended:?}");

    let calls = bench.calls();
    assert_eq!(calls.len(), cases.len());
    for call in calls {
        assert_eq!(call.headers["authorization"], format!("Bearer {CANARY}"), "the target itself gets the secret");
    }
    assert_absent("stdout", ended.stdout.as_bytes());
    assert_absent("stderr", ended.stderr.as_bytes());
    assert!(assert_absent_from_files(&bench.path(".tribunal")) > 0, "there is a store to search");
    let failures = bench.failures(ended.run()).await;
    assert!(failures.iter().any(|failed| failed.message.contains("bad token")), "the rest of an error is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_variables_are_all_named_before_anything_is_called() {
    let bench = Bench::new("[]").await;
    let target =
        ", headers: { authorization: \"Bearer ${env:TOKEN_A}\", x-key: \"${env:TOKEN_B}\", x: \"${env:TOKEN_C}\" }";
    bench.profile(target, SAYS_IT);
    bench.echo_cases(3);
    let ended = bench.run_with(&[], &[("TOKEN_B", "abc"), ("TOKEN_C", "long enough")]).await;
    assert_eq!((ended.code, ended.stdout.as_str(), bench.calls().len()), (1, "", 0), "{ended:?}");
    let told = "the secret TOKEN_A is not set in the environment; the secret TOKEN_B has only 3 characters";
    assert!(ended.stderr.contains(told) && !ended.stderr.contains("TOKEN_C"), "{}", ended.stderr);
}
