//! Evaluators that run wild within a run: their binding is errored with the
//! reason, the other bindings of the case are kept, and the run ends.

use super::bench::Bench;
use crate::evaluator::guest::Guest;
use tribunal_schema::evaluation::Outcome;
use tribunal_schema::score::ExecutionOutcome;

/// A run with a stranger's component between two standard evaluators; its outcome's reason.
async fn reason_of(component: &[u8], reference: &str, required: bool) -> String {
    let bench = Bench::new("[]").await;
    bench.write("wild.wasm", component);
    let evaluators = format!(
        "evaluators:
  - {{ id: first, use: std/contains }}
  - {{ id: wild, use: \"{reference}\", required: {required} }}
  - {{ id: last, use: std/word-count, with: {{ max: 9 }} }}
gate: [{{ min_pass_rate: 1.0 }}]
"
    );
    bench.profile("", &evaluators);
    bench.echo_cases(1);
    let ended = bench.run(&[]).await;
    let wanted = if required { (3, "inconclusive") } else { (0, "pass") };
    assert_eq!((ended.code, ended.verdict().as_str()), wanted, "{ended:?}");
    let [row] = <[_; 1]>::try_from(bench.executions(ended.run()).await).expect("one execution");
    let expected = if required { ExecutionOutcome::Errored } else { ExecutionOutcome::Passed };
    assert_eq!((row.outcome, row.failure), (expected, None));
    let mut outcomes = bench.outcomes(&row).await;
    outcomes.sort_by(|one, other| one.binding.cmp(&other.binding));
    let bindings: Vec<&str> = outcomes.iter().map(|outcome| outcome.binding.as_str()).collect();
    assert_eq!(bindings, ["first", "last", "wild"]);
    assert!(matches!(outcomes[0].outcome, Outcome::Measured { .. }), "{outcomes:?}");
    assert!(matches!(outcomes[1].outcome, Outcome::Measured { .. }), "{outcomes:?}");
    assert!(matches!(outcomes[2].outcome, Outcome::Errored { .. }), "{outcomes:?}");
    format!("{:?}", outcomes[2].outcome)
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_loop_is_one_errored_binding() {
    let guest = Guest::new("wild", "(loop $again (br $again)) (unreachable)");
    let reason = reason_of(&guest.component(), "./wild.wasm#wild", true).await;
    assert!(reason.contains("fuel") || reason.contains("did not end within"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trap_of_a_binding_that_is_only_shown_leaves_the_verdict_alone() {
    let guest = Guest::new("wild", "(unreachable)");
    let reason = reason_of(&guest.component(), "./wild.wasm#wild", false).await;
    assert!(reason.to_lowercase().contains("trap"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn growing_memory_is_one_errored_binding() {
    let grow = "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)";
    let reason = reason_of(&Guest::new("wild", grow).component(), "./wild.wasm#wild", true).await;
    assert!(reason.contains("64 MiB"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_component_is_one_errored_binding() {
    let reason = reason_of(b"this is no component", "./wild.wasm#wild", true).await;
    assert!(reason.contains("component"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn component_that_is_not_there_is_a_configuration_error() {
    let bench = Bench::new("[]").await;
    bench.profile("", "evaluators: [{ use: \"./absent.wasm#wild\" }]\ngate: [{ min_pass_rate: 1.0 }]\n");
    bench.echo_cases(1);
    let ended = bench.run(&[]).await;
    assert_eq!((ended.code, bench.calls().len(), ended.stdout.as_str()), (1, 0, ""), "{ended:?}");
    assert!(ended.stderr.contains("profile.yaml:3:") && ended.stderr.contains("absent.wasm"), "{}", ended.stderr);
}
