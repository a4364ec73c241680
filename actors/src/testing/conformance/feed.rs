//! The feed and the heads: order, filters, pages.

use super::fixtures::*;
use crate::ports::journal::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{InstantMs, Version};

/// Six events: attempts 1 to 3 of run 1, attempt 4 twice of run 2, run 2 itself.
async fn fill(journal: &dyn Journal) {
    for n in 1..=3 {
        journal.append(append_to(n, n, 0, "{}")).await.unwrap();
    }
    let mut second = unit(4);
    second.origin.run = Some(run_id(2));
    second.appends.push(stream_append(StreamId::Attempt(attempt_id(4)), 0, &["{}", "{}"]));
    second.appends[0].events[1].event_type = "attempt.answered";
    second.appends.push(stream_append(StreamId::Run(run_id(2)), 0, &["{}"]));
    second.appends[1].events[0].event_type = "run.started";
    journal.append(second).await.unwrap();
}

async fn count(journal: &dyn Journal, filter: EventFilter) -> usize {
    let up = journal.read_feed(&filter, None, false, 100).await.unwrap();
    let mut down = journal.read_feed(&filter, None, true, 100).await.unwrap();
    down.reverse();
    assert_eq!(up, down, "both directions see the same events");
    up.len()
}

pub async fn the_feed_filters_by_each_field(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    fill(journal).await;
    feed_shows(journal, 6).await;
    let all = EventFilter::default;
    let (run, stream) = (Some(run_id(2)), Some(StreamId::Attempt(attempt_id(4))));
    assert_eq!(count(journal, all()).await, 6);
    assert_eq!(count(journal, EventFilter { run, ..all() }).await, 3);
    assert_eq!(count(journal, EventFilter { stream: stream.clone(), ..all() }).await, 2);
    assert_eq!(count(journal, EventFilter { stream: stream.clone(), run, ..all() }).await, 2);
    assert_eq!(count(journal, EventFilter { stream, run: Some(run_id(1)), ..all() }).await, 0);
    assert_eq!(count(journal, EventFilter { category: Some("run".into()), ..all() }).await, 1);
    let typed = |text: &str| EventFilter { event_type: Some(text.into()), ..EventFilter::default() };
    assert_eq!(count(journal, typed("attempt.answered")).await, 1);
    assert_eq!(count(journal, typed("attempt.*")).await, 5);
    assert_eq!(count(journal, typed("attempt.")).await, 0, "without a star the whole type is meant");
    assert_eq!(count(journal, typed("*")).await, 6);
    assert_eq!(count(journal, typed("%")).await, 0);
    assert_eq!(count(journal, EventFilter { run, ..typed("attempt.s*") }).await, 1);
    let last = journal.read_feed(&all(), None, true, 1).await.unwrap()[0].recorded_at;
    assert!(count(journal, EventFilter { since: Some(last), ..all() }).await >= 3, "since is inclusive");
    assert_eq!(count(journal, EventFilter { since: Some(InstantMs(last.0 + 1)), ..all() }).await, 0);
    assert!(count(journal, EventFilter { until: Some(last), ..all() }).await <= 3, "until is exclusive");
    assert_eq!(count(journal, EventFilter { until: Some(InstantMs(last.0 + 1)), ..all() }).await, 6);
}

pub async fn pages_of_the_feed_meet_without_gap_or_repeat(journal: Arc<dyn Journal>) {
    let tasks = (1..=50).map(|n| {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move { journal.append(append_to(n, n, 0, "{}")).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    feed_shows(&*journal, 50).await;
    for descending in [false, true] {
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = journal.read_feed(&EventFilter::default(), after, descending, 7).await.unwrap();
            assert!(page.len() <= 7);
            let Some(last) = page.last() else { break };
            after = Some(last.position);
            seen.extend(page.iter().map(|event| event.stream.clone()));
        }
        assert_eq!(seen.len(), 50);
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 50, "no event comes twice");
    }
    let page = journal.read_stream(&StreamId::Attempt(attempt_id(1)), Version(1), 10).await.unwrap();
    assert!(page.is_empty(), "after is exclusive");
}

/// A reader that goes on from the last position it saw, while others write.
pub async fn a_reader_that_follows_sees_every_event_once(journal: Arc<dyn Journal>) {
    const WRITERS: u64 = 6;
    const WRITES: u64 = 20;
    let written = Arc::new(AtomicBool::new(false));
    let reader = {
        let (journal, written) = (Arc::clone(&journal), Arc::clone(&written));
        tokio::spawn(async move {
            let (mut seen, mut after) = (vec![], None);
            loop {
                let all_is_there = written.load(Ordering::SeqCst);
                let page = journal.read_feed(&EventFilter::default(), after, false, 7).await.unwrap();
                match page.last() {
                    Some(last) => after = Some(last.position),
                    None if all_is_there => return seen,
                    None => tokio::task::yield_now().await,
                }
                seen.extend(page.into_iter().map(|event| (event.stream, event.version.0)));
            }
        })
    };
    let writers = at_once(WRITERS, |writer| {
        let journal = Arc::clone(&journal);
        async move {
            for n in 0..WRITES {
                journal.append(append_to(writer * 100 + n + 1, writer, n, "{}")).await.expect("a stream of its own");
            }
        }
    });
    writers.await;
    feed_shows(&*journal, (WRITERS * WRITES) as usize).await;
    written.store(true, Ordering::SeqCst);
    let seen = reader.await.expect("a reader");
    assert_eq!(seen.len() as u64, WRITERS * WRITES);
    for writer in 0..WRITERS {
        let stream = StreamId::Attempt(attempt_id(writer));
        let versions = seen.iter().filter(|(of, _)| *of == stream).map(|(_, version)| *version);
        assert!(versions.eq(1..=WRITES), "a stream is seen in its order");
    }
}

pub async fn stream_heads_are_paged_by_stream(journal: Arc<dyn Journal>) {
    fill(&*journal).await;
    journal.append(append_to(9, 2, 1, "{\"a\":1}")).await.unwrap();
    let mut heads = Vec::new();
    loop {
        let after = heads.last().map(|head: &StreamHead| head.stream.clone());
        let page = journal.stream_heads(run_id(1), after.as_ref(), 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        heads.extend(page);
    }
    let versions: Vec<u64> = heads.iter().map(|head| head.version.0).collect();
    assert_eq!(versions, [1, 2, 1]);
    for head in heads {
        let last = events_of(&*journal, &head.stream).await.pop().unwrap();
        assert_eq!((last.version, last.digest), (head.version, head.digest));
    }
}
