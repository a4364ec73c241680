//! Resuming what is not there, and what is another thing.

use crate::faults::bench::{Bench, SAYS_IT, tribunal};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_to_resume_starts_the_run_that_was_asked_for() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.echo_cases(2);
    let ended = bench.run(&["--resume"]).await;
    assert_eq!((ended.code, bench.calls().len()), (0, 2), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_to_resume_and_nothing_to_run_is_an_error() {
    let bench = Bench::new("[]").await;
    let ended = tribunal(&bench.path(""), &["run", "--resume"], &[]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
    assert!(ended.stderr.contains("nothing to resume"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn resuming_a_run_that_is_not_in_the_store_is_refused_at_once() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.echo_cases(1);
    assert_eq!(bench.run(&[]).await.code, 0);
    for (id, words) in [("01ARZ3NDEKTSV4RRFFQ69G5FAV", "no run"), ("not-an-id", "not-an-id")] {
        let ended = tribunal(&bench.path(""), &["run", "--resume", id], &[]).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
        assert!(ended.stderr.contains(id) && ended.stderr.contains(words), "{}", ended.stderr);
    }
    assert_eq!(bench.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_of_another_profile_is_not_resumed_under_this_one() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.echo_cases(1);
    let run = bench.run(&[]).await.run().to_string();
    bench.profile(", system: \"another\"", SAYS_IT);
    let ended = bench.run(&["--resume", &run]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
    assert!(ended.stderr.contains("another profile or dataset"), "{}", ended.stderr);
    // Without the id there is nothing of this plan to carry on with: a new run.
    let ended = bench.run(&["--resume"]).await;
    assert_eq!((ended.code, bench.calls().len()), (0, 2), "{ended:?}");
    assert_ne!(ended.run().to_string(), run);
}

#[tokio::test(flavor = "multi_thread")]
async fn resuming_an_ended_run_by_its_id_tells_its_verdict_without_a_call() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.echo_cases(1);
    let first = bench.run(&[]).await;
    let run = first.json()["run"].as_str().expect("a run").to_string();
    let again = bench.run(&["--resume", &run]).await;
    assert_eq!((again.code, again.json()), (0, first.json()), "{again:?}");
    assert!(again.stderr.contains("has ended"), "{}", again.stderr);
    assert_eq!(bench.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_run_is_no_answer_for_an_agent_of_today() {
    let bench = Bench::new("[]").await;
    bench.profile("", SAYS_IT);
    bench.echo_cases(1);
    let first = bench.run(&[]).await;
    let again = bench.run(&["--resume"]).await;
    assert_eq!(again.code, 0, "{again:?}");
    assert_ne!(
        again.json()["run"],
        first.json()["run"],
        "a verdict that is there already says nothing of the agent now"
    );
    assert_eq!(bench.calls().len(), 2);
}
