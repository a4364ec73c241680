//! Tampering, from one byte to a whole forged history: each is found, and named.

use super::super::{Breach, Proof, Verification};
use super::shelf::Shelf;
use super::story::{Story, answer, attempt, chunk, run};
use super::verified;
use tribunal_actors::testing::attempt_id;
use tribunal_schema::Digest;
use tribunal_schema::codec::decode;
use tribunal_schema::events::{AttemptEvent, ChunkEvent, DomainEvent, RunEvent};
use tribunal_schema::ids::{EventId, ExecutionKey, StreamId};
use tribunal_schema::score::Verdict;
use tribunal_schema::units::{ScorePpm, Version};
use tribunal_schema::view::RunStatus;

/// A judged run that somebody has tampered with.
async fn after(tamper: impl FnOnce(&mut Shelf)) -> Verification {
    let mut shelf = Story::judged();
    tamper(&mut shelf);
    verified(&shelf).await
}

#[track_caller]
fn broken(verification: &Verification, stream: &StreamId, version: Option<u64>, breach: Breach) {
    let Proof::Broken(first) = &verification.proof else { panic!("it was not found: {verification}") };
    assert_eq!((&first.stream, first.version, first.breach), (stream, version.map(Version), breach), "{first}");
    assert_eq!(verification.exit_code(), 2);
    assert_eq!(verification.json()["proof"], "not-proven");
}

/// The place of the first event of a type, from 0.
fn place(shelf: &Shelf, stream: &StreamId, event_type: &str) -> usize {
    shelf.streams[stream].iter().position(|event| event.event_type == event_type).expect("there is one")
}

/// Replaces an event by another one and computes the chain again.
fn forge<E: DomainEvent>(shelf: &mut Shelf, stream: &StreamId, event_type: &str, change: impl FnOnce(E) -> E) -> u64 {
    let place = place(shelf, stream, event_type);
    let recorded = &mut shelf.streams.get_mut(stream).expect("it exists")[place];
    let forged = change(decode(recorded).expect("it can be read")).encode();
    recorded.event_type = forged.event_type.into();
    recorded.payload = forged.payload;
    shelf.rechain(stream);
    place as u64 + 1
}

#[tokio::test]
async fn a_changed_byte_of_a_payload_breaks_the_chain_there() {
    for (stream, event_type, from, to) in [
        (run(), "run.planned", "made-up", "made-Up"),
        (chunk(1), "chunk.leased", "86400000", "86400001"),
        (attempt(0), "attempt.judged", "\"fuel\":7", "\"fuel\":8"),
    ] {
        let mut version = 0;
        let verification = after(|shelf| {
            let place = place(shelf, &stream, event_type);
            version = place as u64 + 1;
            let event = &mut shelf.streams.get_mut(&stream).expect("it exists")[place];
            assert!(event.payload.contains(from), "{}", event.payload);
            event.payload = event.payload.replacen(from, to, 1);
        })
        .await;
        broken(&verification, &stream, Some(version), Breach::Chain);
    }
}

#[tokio::test]
async fn every_digested_column_is_covered() {
    type Change = fn(&mut tribunal_schema::envelope::RecordedEvent);
    let changes: [(Change, Breach); 5] = [
        (|event| event.team = "other".into(), Breach::Chain),
        (|event| event.causation = Some(event.id), Breach::Chain),
        (|event| event.digest = Digest::ZERO, Breach::Chain),
        (|event| event.id = EventId::derived(event.command, &event.stream, 40), Breach::Identity),
        (|event| event.run = None, Breach::Identity),
    ];
    for (change, breach) in changes {
        let verification = after(|shelf| change(&mut shelf.streams.get_mut(&chunk(0)).expect("it exists")[1])).await;
        broken(&verification, &chunk(0), Some(2), breach);
    }
}

#[tokio::test]
async fn what_the_database_sets_is_not_covered_but_shows_in_the_views() {
    let verification = after(|shelf| {
        shelf.streams.get_mut(&attempt(0)).expect("it exists")[0].position = 77;
        shelf.streams.get_mut(&attempt(0)).expect("it exists")[0].recorded_at.0 += 1;
    })
    .await;
    assert_eq!(verification.proof, Proof::Proven, "{verification}");
}

#[tokio::test]
async fn a_deleted_event_leaves_a_gap() {
    let verification = after(|shelf| {
        shelf.streams.get_mut(&chunk(0)).expect("it exists").remove(2);
    })
    .await;
    broken(&verification, &chunk(0), Some(3), Breach::Sequence);
}

#[tokio::test]
async fn events_in_another_order_are_found() {
    let verification = after(|shelf| shelf.streams.get_mut(&attempt(0)).expect("it exists").swap(1, 2)).await;
    broken(&verification, &attempt(0), Some(2), Breach::Sequence);
    let verification = after(|shelf| {
        let events = shelf.streams.get_mut(&attempt(0)).expect("it exists");
        events.swap(1, 2);
        (events[1].version, events[2].version) = (Version(2), Version(3));
        shelf.rechain(&attempt(0));
    })
    .await;
    broken(&verification, &attempt(0), Some(2), Breach::Illegal);
}

#[tokio::test]
async fn a_cut_off_tail_is_missed_by_the_pin_above_it() {
    let verification = after(|shelf| drop(shelf.streams.get_mut(&attempt(0)).expect("it exists").pop())).await;
    let version = place(&Story::judged(), &chunk(0), "chunk.executions-settled") as u64 + 1;
    broken(&verification, &chunk(0), Some(version), Breach::Pin);
    let verification = after(|shelf| drop(shelf.streams.get_mut(&chunk(1)).expect("it exists").pop())).await;
    let version = Story::judged().streams[&run()].iter().rposition(|e| e.event_type == "run.chunks-accepted");
    broken(&verification, &run(), version.map(|place| place as u64 + 1), Breach::Pin);
}

#[tokio::test]
async fn a_deleted_stream_is_missed() {
    let verification = after(|shelf| drop(shelf.streams.remove(&attempt(0)))).await;
    let version = place(&Story::judged(), &chunk(0), "chunk.executions-settled") as u64 + 1;
    broken(&verification, &chunk(0), Some(version), Breach::Pin);
    assert!(verification.to_string().contains("is gone"), "{verification}");
    let verification = after(|shelf| drop(shelf.streams.remove(&chunk(1)))).await;
    let version = Story::judged().streams[&run()].iter().rposition(|e| e.event_type == "run.chunks-accepted");
    broken(&verification, &run(), version.map(|place| place as u64 + 1), Breach::Pin);
    let verification = after(|shelf| drop(shelf.streams.remove(&run()))).await;
    broken(&verification, &run(), None, Breach::Missing);
    // Nothing pins an expired attempt, but its chunk says that it was made.
    let verification = after(|shelf| drop(shelf.streams.remove(&attempt(10)))).await;
    let version = place(&Story::judged(), &chunk(1), "chunk.lease-expired") as u64 + 1;
    broken(&verification, &chunk(1), Some(version), Breach::Promise);
}

#[tokio::test]
async fn a_stream_that_nothing_knows_is_a_stranger() {
    let stranger = attempt(99);
    let verification = after(|shelf| {
        let mut events = shelf.streams[&attempt(0)].clone();
        events.iter_mut().for_each(|event| event.stream = stranger.clone());
        shelf.streams.insert(stranger.clone(), events);
    })
    .await;
    broken(&verification, &stranger, None, Breach::Stranger);
}

#[tokio::test]
async fn a_changed_event_with_its_chain_computed_again_breaks_the_pin_above_it() {
    let verification = after(|shelf| {
        forge::<AttemptEvent>(shelf, &attempt(0), "attempt.answered", |event| match event {
            AttemptEvent::Answered(mut answered) => {
                answered.latency.0 += 1;
                AttemptEvent::Answered(answered)
            }
            other => other,
        });
    })
    .await;
    let version = place(&Story::judged(), &chunk(0), "chunk.executions-settled") as u64 + 1;
    broken(&verification, &chunk(0), Some(version), Breach::Pin);
    let verification = after(|shelf| {
        forge::<ChunkEvent>(shelf, &chunk(0), "chunk.leased", |event| match event {
            ChunkEvent::Leased(mut leased) => {
                leased.lease.0 += 1;
                ChunkEvent::Leased(leased)
            }
            other => other,
        });
    })
    .await;
    let version = place(&Story::judged(), &run(), "run.chunks-accepted") as u64 + 1;
    broken(&verification, &run(), Some(version), Breach::Pin);
}

#[tokio::test]
async fn a_forged_tally_is_not_what_the_results_add_up_to() {
    let mut version = 0;
    let verification = after(|shelf| {
        version = forge::<ChunkEvent>(shelf, &chunk(0), "chunk.completed", |event| match event {
            ChunkEvent::Completed(mut end) => {
                end.tally.counts.passed += 1;
                ChunkEvent::Completed(end)
            }
            other => other,
        });
    })
    .await;
    broken(&verification, &chunk(0), Some(version), Breach::Tally);
}

fn forged_judgment(change: fn(&mut tribunal_schema::events::RunJudged)) -> impl FnOnce(&mut Shelf) {
    move |shelf| {
        forge::<RunEvent>(shelf, &run(), "run.judged", |event| match event {
            RunEvent::Judged(mut judged) => {
                change(&mut judged);
                RunEvent::Judged(judged)
            }
            other => other,
        });
    }
}

#[tokio::test]
async fn a_forged_verdict_does_not_follow_though_its_chain_does() {
    type Change = fn(&mut tribunal_schema::events::RunJudged);
    let changes: [(Change, Breach); 5] = [
        (|judged| judged.judged.verdict = Verdict::Fail, Breach::Verdict),
        (|judged| judged.judged.reasons.push("none".into()), Breach::Verdict),
        (|judged| judged.tally.counts.passed += 1, Breach::Tally),
        (|judged| judged.root = Digest::ZERO, Breach::Root),
        (|judged| judged.result_digest = Digest::ZERO, Breach::ResultDigest),
    ];
    let version = place(&Story::judged(), &run(), "run.judged") as u64 + 1;
    for (change, breach) in changes {
        let verification = after(forged_judgment(change)).await;
        broken(&verification, &run(), Some(version), breach);
    }
}

#[tokio::test]
async fn a_judgment_or_score_that_does_not_follow_is_found_before_the_pin() {
    type Change = fn(&mut tribunal_schema::events::AttemptJudged);
    let changes: [Change; 3] = [
        |judged| judged.judgment.score_ppm = Some(ScorePpm::ZERO),
        |judged| judged.outcomes[0].binding = "other".into(),
        |judged| {
            if let tribunal_schema::evaluation::Outcome::Measured { score_ppm, .. } = &mut judged.outcomes[0].outcome {
                *score_ppm = ScorePpm::saturating(999_999);
            }
        },
    ];
    for change in changes {
        let verification = after(|shelf| {
            forge::<AttemptEvent>(shelf, &attempt(0), "attempt.judged", |event| match event {
                AttemptEvent::Judged(mut judged) => {
                    change(&mut judged);
                    AttemptEvent::Judged(judged)
                }
                other => other,
            });
        })
        .await;
        broken(&verification, &attempt(0), Some(3), Breach::Judgment);
    }
}

#[tokio::test]
async fn an_event_of_another_decider_cannot_be_read() {
    let verification = after(|shelf| {
        let foreign = shelf.streams[&chunk(0)][1].clone();
        let event = &mut shelf.streams.get_mut(&attempt(0)).expect("it exists")[1];
        event.event_type = foreign.event_type;
        event.payload = foreign.payload;
        shelf.rechain(&attempt(0));
    })
    .await;
    broken(&verification, &attempt(0), Some(2), Breach::Unreadable);
}

#[tokio::test]
async fn a_changed_or_missing_blob_is_named_where_it_is_needed() {
    let digest = Digest::of(&answer(0));
    for change in [|kept: &mut Vec<u8>| kept[0] ^= 1, |kept: &mut Vec<u8>| kept.truncate(3)] {
        let verification = after(|shelf| change(shelf.blobs.get_mut(&digest).expect("it is kept"))).await;
        broken(&verification, &attempt(0), Some(2), Breach::Blob);
    }
    let verification = after(|shelf| drop(shelf.blobs.remove(&digest))).await;
    broken(&verification, &attempt(0), Some(2), Breach::Blob);
    let page = Digest::of(&tribunal_actors::testing::page(1, super::story::CASES));
    let verification = after(|shelf| drop(shelf.blobs.remove(&page))).await;
    broken(&verification, &chunk(1), Some(1), Breach::Blob);
}

#[tokio::test]
async fn a_changed_missing_or_added_row_of_a_view_is_found() {
    let key = |case| (tribunal_actors::testing::run_id(), ExecutionKey { case, repeat: 0 });
    let run_id = tribunal_actors::testing::run_id();
    let of_run = after(|shelf| shelf.views.runs.get_mut(&run_id).expect("row").status = RunStatus::Failed).await;
    broken(&of_run, &run(), None, Breach::View);
    let of_chunk = after(|shelf| shelf.views.chunks.values_mut().for_each(|row| row.recoveries += 1)).await;
    broken(&of_chunk, &chunk(0), None, Breach::View);
    let changed = after(|shelf| shelf.views.executions.get_mut(&key(4)).expect("row").score_ppm = None).await;
    assert!(matches!(changed.proof, Proof::Proven), "case 4 errored and has no score");
    for case in 0..6 {
        let missing = after(|shelf| shelf.views.executions.retain(|known, _| *known != key(case))).await;
        broken(&missing, &chunk(case / 3), None, Breach::View);
    }
    for case in [3, 6] {
        let added = after(|shelf| {
            let mut row = shelf.views.executions[&key(0)].clone();
            row.execution = ExecutionKey { case, repeat: 1 };
            shelf.views.executions.insert((run_id, row.execution), row);
        })
        .await;
        let stream = if case == 3 { chunk(1) } else { run() };
        broken(&added, &stream, None, Breach::View);
    }
    let outcome = after(|shelf| drop(shelf.views.outcomes.remove(&(attempt_id(0), "b".into())))).await;
    broken(&outcome, &attempt(0), None, Breach::View);
    let mut shelf = Story::quarantined();
    assert_eq!(shelf.views.quarantine.len(), 2);
    shelf.views.quarantine.pop_first();
    broken(&verified(&shelf).await, &run(), None, Breach::View);
}

#[tokio::test]
async fn fifty_random_changes_of_digested_bytes_are_all_found() {
    let honest = Story::judged();
    let streams: Vec<StreamId> = honest.streams.keys().cloned().collect();
    for seed in 0..50usize {
        let mut shelf = honest.clone();
        let stream = &streams[seed * 7 % streams.len()];
        let events = shelf.streams.get_mut(stream).expect("it exists");
        let place = seed * 31 % events.len();
        let digits: Vec<usize> = events[place]
            .payload
            .bytes()
            .enumerate()
            .filter(|(_, byte)| byte.is_ascii_digit())
            .map(|(at, _)| at)
            .collect();
        let Some(at) = digits.get(seed * 13 % digits.len().max(1)) else { continue };
        let mut bytes = events[place].payload.clone().into_bytes();
        bytes[*at] = if bytes[*at] == b'9' { b'1' } else { bytes[*at] + 1 };
        events[place].payload = String::from_utf8(bytes).expect("digits are ASCII");
        let verification = verified(&shelf).await;
        broken(&verification, stream, Some(place as u64 + 1), Breach::Chain);
    }
}
