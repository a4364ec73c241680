//! Whole runs told through the deciders, and every way to tamper with them.

mod shelf;
mod story;
mod tamper;

use super::{Proof, Verification, verify};
use shelf::Shelf;
use story::Story;
use tribunal_actors::testing::run_id;
use tribunal_schema::score::Verdict;

pub(super) async fn verified(shelf: &Shelf) -> Verification {
    verify(shelf, run_id()).await.expect("the shelf can be read and has the run")
}

#[tokio::test]
async fn an_honest_run_is_proven_and_what_nothing_pins_is_listed() {
    let shelf = Story::judged();
    let verification = verified(&shelf).await;
    assert_eq!(verification.proof, Proof::Proven, "{verification}");
    assert_eq!((verification.exit_code(), verification.verdict), (0, Some(Verdict::Pass)));
    assert_eq!(verification.seen.events, shelf.events() as u64);
    assert_eq!(verification.seen.streams, shelf.streams() as u64);
    assert!(verification.seen.blobs >= 2 && verification.seen.rows > 10, "{:?}", verification.seen);
    let listed: Vec<_> = verification.unpinned.listed.iter().map(|tail| tail.stream.category()).collect();
    // The expired attempt, which no pin names, and the run's own last word.
    assert_eq!(listed, ["run", "attempt"], "{:?}", verification.unpinned);
    assert_eq!(verification.root, shelf.root());
    let json = verification.json();
    assert_eq!((json["proof"].as_str(), json["verdict"].as_str()), (Some("proven"), Some("pass")));
}

#[tokio::test]
async fn a_run_that_goes_on_is_consistent_so_far() {
    let verification = verified(&Story::running()).await;
    assert_eq!(verification.proof, Proof::NoVerdict, "{verification}");
    assert_eq!((verification.exit_code(), verification.phase), (4, "running"));
    assert!(verification.to_string().contains("consistent so far, no verdict"), "{verification}");
}

#[tokio::test]
async fn a_cancelled_run_is_consistent_and_has_no_verdict() {
    let verification = verified(&Story::cancelled()).await;
    assert_eq!(verification.proof, Proof::NoVerdict, "{verification}");
    assert_eq!((verification.exit_code(), verification.phase), (4, "cancelled"));
}

#[tokio::test]
async fn lost_calls_released_and_discarded_by_a_person_are_proven() {
    let verification = verified(&Story::quarantined()).await;
    assert_eq!(verification.proof, Proof::Proven, "{verification}");
}

#[tokio::test]
async fn a_run_that_does_not_exist_is_an_error() {
    assert!(verify(&Shelf::default(), run_id()).await.is_err());
}
