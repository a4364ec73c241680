//! The small tables: ready, outbox, settlements, intents, plan, desired; hints.

use super::fixtures::*;
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::ids::StreamId;
use tribunal_schema::score::{Counts, Tally};
use tribunal_schema::units::{DurationMs, ReadySeq, Version};

const LANE: &str = "default";

fn published(run: u64, chunk: u32) -> Row {
    Row::ReadyPublished { chunk: chunk_id(run, chunk), ready_seq: ReadySeq(1) }
}

async fn due(journal: &dyn Journal, limit: u32) -> Vec<(u64, u32)> {
    let rows = journal.ready_due(LANE, None, limit).await.unwrap();
    rows.iter().map(|row| (row.chunk.run.0.timestamp_ms() - 1_000, row.chunk.number)).collect()
}

pub async fn a_claim_must_name_the_current_ready_row(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    let take = |seq| with_rows(1, vec![Row::ReadyTake { chunk, ready_seq: ReadySeq(seq) }]);
    let superseded = |seq| Refusal::Superseded { chunk, ready_seq: ReadySeq(seq) };
    assert_eq!(refusal(journal.append(take(1)).await), superseded(1));
    put(journal, vec![ready(chunk, 1), ready(chunk, 2)]).await;
    assert_eq!(refusal(journal.append(take(1)).await), superseded(1));
    assert_eq!(refusal(journal.append(take(3)).await), superseded(3));
    assert_eq!(refusal(journal.append(with_rows(1, vec![published(1, 0)])).await), superseded(1));
    journal.append(take(2)).await.expect("the current one");
    assert_eq!(refusal(journal.append(take(2)).await), superseded(2));
    put(journal, vec![ready(chunk, 3), Row::ReadyDrop { chunk }, Row::ReadyDrop { chunk }]).await;
    assert!(journal.ready_lanes().await.unwrap().is_empty());
}

pub async fn ready_rows_are_offered_in_turns_of_runs(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    let mut rows = vec![Row::CursorPut { run: run_id(1) }, Row::CursorPut { run: run_id(2) }];
    rows.extend((0..4).map(|number| ready(chunk_id(1, number), 1)));
    rows.extend((0..2).map(|number| ready(chunk_id(2, number), 1)));
    put(journal, rows).await;
    assert_eq!(due(journal, 10).await, [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (1, 3)]);
    assert_eq!(due(journal, 3).await, [(1, 0), (2, 0), (1, 1)]);
    put(journal, vec![published(1, 0)]).await;
    assert_eq!(due(journal, 1).await, [(2, 0)], "a run that has something in flight waits its turn");
    assert_eq!(journal.ready_outstanding(LANE, None).await.unwrap(), 1);
    assert_eq!(journal.ready_outstanding("other", None).await.unwrap(), 0);
}

pub async fn ready_rows_need_a_cursor_and_a_running_run(journal: Arc<dyn Journal>) {
    let (journal, run) = (&*journal, run_id(1));
    let wants = |desired, version| Row::DesiredPut { run, desired, version: Version(version) };
    let later = Row::ReadyPut { chunk: chunk_id(1, 1), ready_seq: ReadySeq(1), lane: LANE.into(), due_in: LONG };
    put(journal, vec![ready(chunk_id(1, 0), 1), later]).await;
    assert!(due(journal, 10).await.is_empty(), "no cursor");
    put(journal, vec![Row::CursorPut { run }, Row::CursorPut { run }]).await;
    assert_eq!(due(journal, 10).await, [(1, 0)]);
    put(journal, vec![wants(Desired::Paused, 2)]).await;
    assert!(due(journal, 10).await.is_empty(), "paused");
    put(journal, vec![wants(Desired::Running, 3)]).await;
    assert_eq!(due(journal, 10).await, [(1, 0)]);
    put(journal, vec![Row::CursorDrop { run }]).await;
    assert!(due(journal, 10).await.is_empty());
    let next = journal.ready_next_due().await.unwrap().expect("one is due later");
    assert!(next > journal.now().await.unwrap());
    assert_eq!(journal.ready_lanes().await.unwrap(), [LANE]);
}

pub async fn an_unclaimed_publication_is_repeated_at_doubling_age(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    let age = DurationMs(40);
    put(journal, vec![Row::CursorPut { run: run_id(1) }, ready(chunk_id(1, 0), 1), published(1, 0)]).await;
    assert!(due(journal, 10).await.is_empty());
    assert_eq!(journal.ready_unpublish(Some(LONG), None).await.unwrap(), 0);
    wait_for(journal, age).await;
    assert_eq!(journal.ready_unpublish(Some(age), None).await.unwrap(), 1);
    assert_eq!(due(journal, 10).await, [(1, 0)]);
    put(journal, vec![published(1, 0)]).await;
    let again = journal.now().await.unwrap();
    wait_for(journal, age).await;
    let early = journal.ready_unpublish(Some(age), None).await.unwrap();
    let waited = journal.now().await.unwrap().0 - again.0;
    assert!(early == 0 || waited >= 80, "repeated after {waited} ms, twice 40 are due");
    wait_for(journal, age).await;
    assert_eq!(early + journal.ready_unpublish(Some(age), None).await.unwrap(), 1);
    put(journal, vec![published(1, 0)]).await;
    assert_eq!(journal.ready_unpublish(None, None).await.unwrap(), 1, "the broker lost everything");
}

pub async fn an_outbox_row_belongs_to_the_token_that_claimed_it_last(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    put(journal, vec![message("a"), message("b"), message("c")]).await;
    let first = journal.outbox_claim(token(1), SHORT, None, 2).await.unwrap();
    assert_eq!(first.iter().map(|row| row.message.body.as_slice()).collect::<Vec<_>>(), [b"a", b"b"]);
    assert_eq!(journal.outbox_claim(token(2), LONG, None, 10).await.unwrap().len(), 1, "claimed rows are out of reach");
    wait_for(journal, SHORT).await;
    let second = journal.outbox_claim(token(3), LONG, None, 10).await.unwrap();
    assert_eq!(
        second.iter().map(|row| (row.id, row.attempts)).collect::<Vec<_>>(),
        [(first[0].id, 2), (first[1].id, 2)]
    );
    let ids: Vec<u64> = first.iter().map(|row| row.id).collect();
    assert_eq!(journal.outbox_confirm(token(1), &ids).await.unwrap(), 0, "a stale token confirms nothing");
    assert_eq!(journal.outbox_reschedule(token(1), &ids, DurationMs(0)).await.unwrap(), 0);
    assert_eq!(journal.outbox_confirm(token(3), &ids[..1]).await.unwrap(), 1);
    assert_eq!(journal.outbox_confirm(token(3), &ids[..1]).await.unwrap(), 0);
    assert_eq!(journal.outbox_reschedule(token(3), &ids, DurationMs(0)).await.unwrap(), 1);
    assert_eq!(journal.outbox_confirm(token(3), &ids).await.unwrap(), 0, "what was given back is nobody's");
    let third = journal.outbox_claim(token(4), LONG, None, 10).await.unwrap();
    assert_eq!(third.iter().map(|row| (row.id, row.attempts)).collect::<Vec<_>>(), [(ids[1], 3)]);
}

pub async fn what_is_asked_of_one_run_leaves_the_others_alone(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    for n in [1, 2] {
        let run = run_id(n);
        let published = Row::ReadyPublished { chunk: chunk_id(n, 0), ready_seq: ReadySeq(1) };
        let rows = vec![ready(chunk_id(n, 0), 1), published, message(&format!("of run {n}"))];
        let mut unit = with_rows(n, rows);
        unit.origin.run = Some(run);
        journal.append(unit).await.expect("rows are written");
    }
    let only = Some(run_id(2));
    assert_eq!(journal.ready_outstanding(LANE, only).await.unwrap(), 1);
    assert_eq!(journal.ready_unpublish(None, only).await.unwrap(), 1);
    assert_eq!(journal.ready_outstanding(LANE, only).await.unwrap(), 0);
    assert_eq!(journal.ready_outstanding(LANE, None).await.unwrap(), 1);
    let claimed = journal.outbox_claim(token(1), LONG, only, 10).await.unwrap();
    assert_eq!(claimed.iter().map(|row| row.message.dedupe_key.as_str()).collect::<Vec<_>>(), ["of run 2"]);
    assert_eq!(journal.outbox_claim(token(1), LONG, None, 10).await.unwrap().len(), 1);
}

pub async fn a_deed_waits_in_the_outbox_once(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    put(journal, vec![message("a"), message("a")]).await;
    put(journal, vec![message("a"), message("b")]).await;
    assert_eq!(journal.outbox_claim(token(1), LONG, None, 10).await.unwrap().len(), 2);
}

fn settlement(version: u64, cases: u64) -> Row {
    let tally = Tally { counts: Counts { cases, ..Counts::default() }, ..Tally::default() };
    Row::SettlementPut(Settlement { chunk: chunk_id(1, 0), version: Version(version), end: ChunkEnd::Completed, tally })
}

pub async fn a_higher_settlement_replaces_and_a_lower_changes_nothing(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    let stream = StreamId::Chunk(chunk);
    let append = stream_append(stream.clone(), 0, &["{}", "{}", "{}"]);
    journal.append(AppendUnit { appends: vec![append], ..unit(1) }).await.unwrap();
    let events = events_of(journal, &stream).await;
    put(journal, vec![settlement(2, 2)]).await;
    put(journal, vec![settlement(1, 1), settlement(2, 9)]).await;
    let read = async || journal.settlements(10).await.unwrap();
    assert_eq!(read().await[0].settlement.tally.counts.cases, 2);
    assert_eq!(read().await[0].digest, events[1].digest, "the pin is the stream at that version");
    put(journal, vec![settlement(3, 3)]).await;
    assert_eq!((read().await.len(), read().await[0].digest), (1, events[2].digest));
    journal.settlement_done(chunk, Version(2)).await.unwrap();
    assert_eq!(read().await.len(), 1, "a higher version stays");
    journal.settlement_done(chunk, Version(3)).await.unwrap();
    assert!(read().await.is_empty());
    let nowhere = journal.append(with_rows(2, vec![settlement(4, 4)])).await;
    assert!(matches!(nowhere, Err(AppendError::Invalid(_))), "a version that is not recorded has no pin");
}

pub async fn intents_are_put_once_and_done_once(journal: Arc<dyn Journal>) {
    let (journal, run) = (&*journal, run_id(1));
    for kind in [IntentKind::Create, IntentKind::Cancel, IntentKind::Judge] {
        put(journal, vec![Row::IntentPut { run, kind }, Row::IntentPut { run, kind }]).await;
        assert_eq!(journal.intents(kind, 10).await.unwrap(), [Intent { run, kind }]);
    }
    let done = Row::IntentDone { run, kind: IntentKind::Cancel };
    put(journal, vec![done.clone(), done]).await;
    assert!(journal.intents(IntentKind::Cancel, 10).await.unwrap().is_empty());
    assert_eq!(journal.intents(IntentKind::Judge, 10).await.unwrap().len(), 1);
}

pub async fn plan_rows_are_kept_and_contradictions_refused(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    let row = |number, seeded: &str| PlanRow { chunk: chunk_id(1, number), seeded: seeded.into() };
    put(journal, (0..3).map(|number| Row::PlanPut(row(number, "{}"))).collect()).await;
    put(journal, vec![Row::PlanPut(row(1, "{}"))]).await;
    let other = journal.append(with_rows(1, vec![Row::PlanPut(row(1, "{\"a\":1}"))])).await;
    assert!(matches!(other, Err(AppendError::Invalid(_))), "{other:?}");
    let page = journal.plan_rows(run_id(1), Some(chunk_id(1, 0)), 1).await.unwrap();
    assert_eq!(page, [row(1, "{}")]);
    assert_eq!(journal.plan_rows(run_id(1), None, 10).await.unwrap().len(), 3);
    put(journal, vec![Row::PlanDrop { run: run_id(1) }]).await;
    assert!(journal.plan_rows(run_id(1), None, 10).await.unwrap().is_empty());
}

pub async fn a_lower_desired_version_changes_nothing(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    put(journal, vec![grant(chunk_id(1, 0), 1, 1, LONG, LONG)]).await;
    for (desired, version, seen) in [
        (Desired::Paused, 5, Desired::Paused),
        (Desired::Running, 4, Desired::Paused),
        (Desired::Running, 5, Desired::Paused),
        (Desired::Running, 6, Desired::Running),
    ] {
        put(journal, vec![Row::DesiredPut { run: run_id(1), desired, version: Version(version) }]).await;
        assert_eq!(journal.leases_renew(holder(1), LONG).await.unwrap()[0].desired, seen, "version {version}");
    }
}

pub async fn hints_are_told_after_commit_and_kept_for_who_comes_late(journal: Arc<dyn Journal>) {
    let hints = journal.hints();
    put(&*journal, vec![message("a"), ready(chunk_id(1, 0), 1)]).await;
    told(&hints.outbox).await;
    told(&hints.ready).await;
    put(&*journal, vec![Row::IntentPut { run: run_id(1), kind: IntentKind::Judge }]).await;
    told(&hints.judge).await;
}

/// A hint that was told before; generous, because a lost one would be waited for without end.
async fn told(hint: &tokio::sync::Notify) {
    let kept = tokio::time::timeout(std::time::Duration::from_secs(10), hint.notified()).await;
    kept.expect("a hint is kept for who comes late");
}
