//! The witness must be able to accuse: each test does something behind its back.

use super::fixtures::*;
use super::witness::Witness;
use crate::ports::journal::*;
use crate::testing::journal::{MemoryJournal, Tables};
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::evaluation::{Finding, Severity};
use tribunal_schema::view::{FindingRow, ViewChange};

fn finding(attempt: u64) -> ViewChange {
    let finding = Finding { severity: Severity::Info, category: "c".into(), message: "m".into(), evidence: None };
    let (run, attempt) = (run_id(1), attempt_id(attempt));
    ViewChange::Finding(FindingRow { run, attempt, binding: "b".into(), index: 0, finding })
}

/// Two units of which one is refused; then something that the witness does not hear; gives whether it accuses.
async fn accuses(behind_its_back: impl FnOnce(&mut Tables)) -> bool {
    let journal = MemoryJournal::new();
    let witness = Witness::of(Arc::new(journal.beside()));
    let body = Row::BlobPut { digest: Digest::of(b"body"), bytes: b"body"[..].into() };
    let kept = AppendUnit { rows: vec![body], views: vec![finding(1)], ..append_to(1, 1, 0, "{\"a\":1}") };
    witness.append(kept).await.expect("it is written");
    let refused = AppendUnit { views: vec![finding(2)], ..guarded(2, guard(chunk_id(1, 0), 1, 1)) };
    refusal(witness.append(refused).await);
    behind_its_back(&mut journal.tables());
    tokio::spawn(async move { witness.testify().await }).await.is_err_and(|death| death.is_panic())
}

#[tokio::test]
async fn what_is_as_it_was_answered_is_not_accused() {
    assert!(!accuses(|_| {}).await);
}

#[tokio::test]
async fn event_of_a_refused_unit_is_noticed() {
    let behind = |tables: &mut Tables| {
        let stream = tribunal_schema::ids::StreamId::Attempt(attempt_id(2));
        let event = tables.events[0].clone();
        tables.streams.insert(stream, vec![event]);
    };
    assert!(accuses(behind).await);
}

#[tokio::test]
async fn row_of_a_refused_unit_is_noticed() {
    assert!(accuses(|tables| tables.views.apply(&finding(2), tribunal_schema::units::InstantMs(0))).await);
}

#[tokio::test]
async fn row_that_is_missing_is_noticed() {
    assert!(accuses(|tables| tables.views.findings.clear()).await);
}

#[tokio::test]
async fn body_that_is_missing_is_noticed() {
    assert!(accuses(|tables| tables.blobs.clear()).await);
}

#[tokio::test]
async fn event_that_the_feed_shows_twice_is_noticed() {
    let behind = |tables: &mut Tables| {
        let mut again = (*tables.events[0]).clone();
        again.position = 2;
        tables.events.push(Arc::new(again));
    };
    assert!(accuses(behind).await);
}

#[tokio::test]
async fn event_that_was_changed_is_noticed() {
    let behind = |tables: &mut Tables| {
        let mut changed = (*tables.events[0]).clone();
        changed.payload = "{\"a\":2}".into();
        tables.streams.values_mut().for_each(|events| events[0] = Arc::new(changed.clone()));
    };
    assert!(accuses(behind).await);
}
