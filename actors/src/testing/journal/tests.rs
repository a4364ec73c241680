//! What only the journal in memory can be asked at a moment of the test's choice.

use super::MemoryJournal;
use crate::mutant::{Mutant, Release};
use crate::ports::journal::*;
use crate::testing::conformance::fixtures::*;
use std::sync::Arc;
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{LeaseTerm, Version};

/// What a reader has seen that pages through the feed while a lower position commits late.
async fn seen_by_a_reader_of_a_late_commit() -> Vec<StreamId> {
    let journal = MemoryJournal::new();
    journal.append(append_to(1, 1, 0, "{}")).await.unwrap();
    let late = journal.begin(append_to(2, 2, 0, "{}"));
    journal.append(append_to(3, 3, 0, "{}")).await.unwrap();
    let all = EventFilter::default();
    let mut seen = journal.read_feed(&all, None, false, 10).await.unwrap();
    late.commit().expect("nobody wrote to its stream");
    let after = seen.last().map(|event| event.position);
    seen.extend(journal.read_feed(&all, after, false, 10).await.unwrap());
    seen.into_iter().map(|event| event.stream).collect()
}

#[tokio::test]
async fn late_commit_of_a_lower_position_is_not_skipped() {
    let streams = seen_by_a_reader_of_a_late_commit().await;
    assert_eq!(streams, [1, 2, 3].map(|n| StreamId::Attempt(attempt_id(n))));
}

#[tokio::test]
async fn feed_without_its_horizon_skips_a_late_commit() {
    let _alive = Release::new(Mutant::FeedWithoutHorizon);
    let streams = seen_by_a_reader_of_a_late_commit().await;
    assert_eq!(streams, [1, 3].map(|n| StreamId::Attempt(attempt_id(n))));
}

#[tokio::test]
async fn commit_looks_at_what_stands_then_and_not_when_it_began() {
    let journal = MemoryJournal::new();
    let chunk = chunk_id(1, 0);
    put(&journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    let (late, overtaken) = (journal.begin(guarded(1, guard(chunk, 1, 1))), journal.begin(append_to(2, 2, 0, "{}")));
    put(&journal, vec![Row::LeaseEnd { chunk, term: LeaseTerm(1) }]).await;
    journal.append(append_to(3, 2, 0, "{}")).await.unwrap();
    assert!(matches!(refusal(late.commit()), Refusal::StaleLease { reason: StaleReason::Ended, .. }));
    assert!(matches!(overtaken.commit(), Err(AppendError::Conflict { actual: Version(1), .. })));
    assert_eq!(journal.tables().horizon(), None, "what was refused holds nothing back");
}

#[tokio::test]
async fn transaction_that_is_rolled_back_leaves_a_gap_and_holds_nothing_back() {
    let journal = MemoryJournal::new();
    let first = journal.begin(append_to(1, 1, 0, "{}"));
    journal.append(append_to(2, 2, 0, "{}")).await.unwrap();
    assert!(journal.read_feed(&EventFilter::default(), None, false, 10).await.unwrap().is_empty());
    drop(first);
    let feed = journal.read_feed(&EventFilter::default(), None, false, 10).await.unwrap();
    assert_eq!(feed.iter().map(|event| event.position).collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn feed_ends_where_a_transaction_began_until_the_last_one_ends() {
    let journal = MemoryJournal::new();
    let shown = async || journal.read_feed(&EventFilter::default(), None, false, 10).await.unwrap().len();
    journal.append(append_to(1, 1, 0, "{}")).await.unwrap();
    journal.open();
    journal.append(append_to(2, 2, 0, "{}")).await.unwrap();
    let late = journal.begin(append_to(3, 3, 0, "{}"));
    assert_eq!(shown().await, 1);
    journal.close();
    assert_eq!(shown().await, 2, "the other one began later");
    late.commit().unwrap();
    assert_eq!(shown().await, 3);
}

#[tokio::test]
async fn processes_beside_each_other_share_the_tables_and_not_the_hints() {
    let journal = MemoryJournal::new();
    let beside = journal.beside();
    put(&beside, vec![ready(chunk_id(1, 0), 1)]).await;
    assert_eq!(journal.ready_lanes().await.unwrap(), ["default"]);
    assert!(!Arc::ptr_eq(&journal.hints(), &beside.hints()), "a process hears of its own commits only");
}

#[tokio::test(start_paused = true)]
async fn clock_is_virtual_where_time_is_paused_and_no_instant_of_a_lease_belongs_to_two() {
    let (journal, chunk) = (MemoryJournal::new(), chunk_id(1, 0));
    put(&journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    let expire = || with_rows(1, vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }]);
    tokio::time::advance(std::time::Duration::from_millis(LONG.0 - 1)).await;
    journal.append(guarded(1, guard(chunk, 1, 1))).await.expect("a millisecond before its end");
    assert!(matches!(refusal(journal.append(expire()).await), Refusal::LeaseLive { .. }));
    tokio::time::advance(std::time::Duration::from_millis(1)).await;
    assert!(matches!(refusal(journal.append(guarded(2, guard(chunk, 1, 1))).await), Refusal::StaleLease { .. }));
    assert!(journal.leases_renew(holder(1), LONG).await.unwrap().is_empty());
    journal.append(expire()).await.expect("at its end");
}
