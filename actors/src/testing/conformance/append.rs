//! Units: expected versions, all or nothing, the identical unit again, the chain.

use super::fixtures::*;
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::envelope::chain;
use tribunal_schema::evaluation::{Finding, Severity};
use tribunal_schema::ids::{EventId, StreamId};
use tribunal_schema::units::{LeaseTerm, ReadySeq, Version};
use tribunal_schema::view::{FindingRow, ViewChange};

pub async fn one_of_many_contenders_for_a_version_wins(journal: Arc<dyn Journal>) {
    let contenders = (1..=32).map(|command| {
        let journal = Arc::clone(&journal);
        tokio::spawn(async move { journal.append(append_to(command, 1, 0, "{}")).await })
    });
    let mut won = 0;
    for contender in contenders.collect::<Vec<_>>() {
        match contender.await.unwrap() {
            Ok(_) => won += 1,
            Err(AppendError::Conflict { actual, expected, .. }) => {
                assert_eq!((expected, actual), (Version(0), Version(1)))
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(events_of(&*journal, &StreamId::Attempt(attempt_id(1))).await.len(), 1);
}

pub async fn writers_that_try_again_lose_no_update(journal: Arc<dyn Journal>) {
    const WRITERS: u64 = 8;
    const WRITES: u64 = 12;
    let writers = at_once(WRITERS, |writer| {
        let journal = Arc::clone(&journal);
        async move {
            let mut stands = 0;
            for n in 0..WRITES {
                loop {
                    match journal.append(append_to(writer * 100 + n + 1, 1, stands, "{}")).await {
                        Ok(appended) => break stands = appended.events[0].version.0,
                        Err(AppendError::Conflict { actual, .. }) => stands = actual.0,
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
    });
    writers.await;
    let events = events_of(&*journal, &StreamId::Attempt(attempt_id(1))).await;
    assert_eq!(events.len() as u64, WRITERS * WRITES);
    let commands: std::collections::BTreeSet<_> = events.iter().map(|event| event.command).collect();
    assert_eq!(commands.len(), events.len(), "each write is there once");
}

fn finding(attempt: u64) -> ViewChange {
    let finding = Finding { severity: Severity::Info, category: "c".into(), message: "m".into(), evidence: None };
    ViewChange::Finding(FindingRow {
        run: run_id(1),
        attempt: attempt_id(attempt),
        binding: "b".into(),
        index: 0,
        finding,
    })
}

/// Units that must fail, each for another reason, each with an event that must not stay.
fn failing_units(first_command: u64) -> Vec<AppendUnit> {
    let fresh = |offset: u64| append_to(first_command + offset, first_command + offset, 0, "{}");
    let (chunk, missing) = (chunk_id(1, 0), Digest::of(b"missing"));
    let mut units = vec![append_to(first_command, 1, 7, "{}")];
    units.push(AppendUnit { views: vec![finding(1)], ..fresh(1) });
    units.push(AppendUnit { rows: vec![Row::BlobRef { digest: missing, run: run_id(1) }], ..fresh(2) });
    units.push(AppendUnit { guards: vec![guard(chunk, 9, 9)], ..fresh(3) });
    units.push(AppendUnit { rows: vec![Row::ReadyTake { chunk, ready_seq: ReadySeq(9) }], ..fresh(4) });
    units.push(AppendUnit { rows: vec![grant(chunk, 2, 2, LONG, LONG)], ..fresh(5) });
    units.push(AppendUnit { rows: vec![Row::LeaseEnd { chunk, term: LeaseTerm(9) }], ..fresh(6) });
    units.push(AppendUnit { rows: vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }], ..fresh(7) });
    let contradiction = PlanRow { chunk, seeded: "{\"other\":1}".into() };
    units.push(AppendUnit { rows: vec![Row::PlanPut(contradiction)], ..fresh(8) });
    // No column holds a number beyond 2^63.
    units.push(AppendUnit { rows: vec![ready(chunk, u64::MAX)], ..fresh(9) });
    units.push(AppendUnit { rows: vec![grant(chunk_id(1, 1), u64::MAX, 1, LONG, LONG)], ..fresh(10) });
    let desired = Row::DesiredPut { run: run_id(1), desired: Desired::Running, version: Version(u64::MAX) };
    units.push(AppendUnit { rows: vec![desired], ..fresh(11) });
    // The command that wrote the stream's last event cannot go on with it.
    units.push(append_to(1, 1, 1, "{}"));
    units
}

pub async fn failing_units_of_every_kind_leave_the_others_written(journal: Arc<dyn Journal>) {
    let chunk = chunk_id(1, 0);
    let plan = Row::PlanPut(PlanRow { chunk, seeded: "{}".into() });
    put(&*journal, vec![grant(chunk, 1, 1, LONG, LONG), ready(chunk, 1), plan]).await;
    journal.append(AppendUnit { views: vec![finding(1)], ..append_to(1, 1, 0, "{}") }).await.unwrap();

    let failing = failing_units(1_000);
    let kinds = failing.len();
    let mut units: Vec<AppendUnit> = (100..200).map(|n| append_to(n, n, 0, "{}")).collect();
    for (place, unit) in failing.into_iter().enumerate() {
        units.insert(place * 8 + 5, unit);
    }
    let tasks: Vec<_> = units
        .into_iter()
        .map(|unit| {
            let journal = Arc::clone(&journal);
            tokio::spawn(async move { journal.append(unit).await })
        })
        .collect();
    let mut failed = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => {}
            Err(AppendError::Unavailable(failure)) => panic!("{failure}"),
            Err(AppendError::Conflict { .. } | AppendError::Refused(_) | AppendError::Invalid(_)) => failed += 1,
        }
    }
    assert_eq!(failed, kinds);
    for n in 100..200 {
        assert_eq!(events_of(&*journal, &StreamId::Attempt(attempt_id(n))).await.len(), 1, "unit {n}");
    }
    for n in 1_000..1_012 {
        assert!(events_of(&*journal, &StreamId::Attempt(attempt_id(n))).await.is_empty(), "unit {n}");
    }
    assert_eq!(events_of(&*journal, &StreamId::Attempt(attempt_id(1))).await.len(), 1);
}

/// Everything in the unit would refuse it if it were written twice.
pub async fn the_identical_unit_raced_by_many_is_written_once(journal: Arc<dyn Journal>) {
    for round in 1..=10 {
        let chunk = chunk_id(1, round);
        let command = u64::from(round);
        put(&*journal, vec![grant(chunk, 1, 1, LONG, LONG), ready(chunk, 1)]).await;
        let mut unit = guarded(command, guard(chunk, 1, 1));
        let mut anywhere = stream_append(StreamId::Run(run_id(1)), 0, &["{\"a\":1}", "{\"a\":2}"]);
        anywhere.expected = Expected::Any;
        unit.appends.push(anywhere);
        unit.rows = vec![
            Row::ReadyTake { chunk, ready_seq: ReadySeq(1) },
            Row::LeaseEnd { chunk, term: LeaseTerm(1) },
            message(&format!("of round {round}")),
        ];
        unit.views = vec![finding(command)];
        let raced = at_once(8, |_| {
            let (journal, unit) = (Arc::clone(&journal), unit.clone());
            async move { journal.append(unit).await.expect("the identical unit is success").events }
        });
        let answers = raced.await;
        assert!(answers.iter().all(|events| *events == answers[0]), "all are told the same");
        assert_eq!(answers[0].len(), 3);
    }
    assert_eq!(events_of(&*journal, &StreamId::Run(run_id(1))).await.len(), 20);
    assert_eq!(journal.outbox_claim(token(1), LONG, None, 100).await.unwrap().len(), 10);
}

pub async fn one_of_many_records_a_finding(journal: Arc<dyn Journal>) {
    let recorders = at_once(16, |n| {
        let journal = Arc::clone(&journal);
        let unit = AppendUnit { views: vec![finding(1)], ..append_to(n + 1, n + 1, 0, "{}") };
        async move { journal.append(unit).await }
    });
    let (written, refused): (Vec<_>, Vec<_>) = recorders.await.into_iter().partition(Result::is_ok);
    assert_eq!(written.len(), 1);
    assert!(refused.iter().all(|answer| matches!(answer, Err(AppendError::Invalid(_)))), "{refused:?}");
}

pub async fn the_identical_unit_again_is_success_and_changes_nothing(journal: Arc<dyn Journal>) {
    let chunk = chunk_id(1, 0);
    put(&*journal, vec![grant(chunk, 1, 1, LONG, LONG), ready(chunk, 1)]).await;
    let mut unit = guarded(10, guard(chunk, 1, 1));
    unit.rows = vec![Row::ReadyTake { chunk, ready_seq: ReadySeq(1) }, Row::LeaseEnd { chunk, term: LeaseTerm(1) }];
    unit.appends.push(stream_append(StreamId::Chunk(chunk), 0, &["{}", "{\"a\":1}"]));
    let first = journal.append(unit.clone()).await.unwrap();
    // The stream goes on, the lease is gone, and the ready row too: the unit is still what it was.
    journal.append(append_to(11, 10, 1, "{}")).await.unwrap();
    let again = journal.append(unit).await.expect("the identical unit is success");
    assert_eq!(first.events, again.events);
    assert_eq!(events_of(&*journal, &StreamId::Chunk(chunk)).await.len(), 2);
}

pub async fn the_same_command_with_other_content_is_a_conflict(journal: Arc<dyn Journal>) {
    journal.append(append_to(1, 1, 0, "{}")).await.unwrap();
    let other = journal.append(append_to(1, 1, 0, "{\"a\":1}")).await;
    assert!(matches!(other, Err(AppendError::Conflict { actual: Version(1), .. })), "{other:?}");
    let longer =
        AppendUnit { appends: vec![stream_append(StreamId::Attempt(attempt_id(1)), 0, &["{}", "{}"])], ..unit(1) };
    assert!(matches!(journal.append(longer).await, Err(AppendError::Conflict { .. })));
    let partly = AppendUnit {
        appends: vec![
            stream_append(StreamId::Attempt(attempt_id(1)), 0, &["{}"]),
            stream_append(StreamId::Attempt(attempt_id(2)), 0, &["{}"]),
        ],
        ..unit(1)
    };
    assert!(matches!(journal.append(partly).await, Err(AppendError::Conflict { .. })));
    assert!(events_of(&*journal, &StreamId::Attempt(attempt_id(2))).await.is_empty());
}

pub async fn an_append_anywhere_is_recognised_when_it_comes_again(journal: Arc<dyn Journal>) {
    journal.append(append_to(1, 1, 0, "{}")).await.unwrap();
    let mut late = append_to(2, 1, 0, "{\"late\":1}");
    late.appends[0].expected = Expected::Any;
    let first = journal.append(late.clone()).await.unwrap();
    assert_eq!(first.events[0].version, Version(2));
    journal.append(append_to(3, 1, 2, "{}")).await.unwrap();
    let again = journal.append(late.clone()).await.unwrap();
    assert_eq!(first.events, again.events);
    late.appends[0].events[0].payload = "{\"late\":2}".into();
    assert!(matches!(journal.append(late).await, Err(AppendError::Conflict { .. })));
    assert_eq!(events_of(&*journal, &StreamId::Attempt(attempt_id(1))).await.len(), 3);
}

pub async fn a_unit_over_several_streams_is_all_or_nothing(journal: Arc<dyn Journal>) {
    let (run, chunk) = (StreamId::Run(run_id(1)), StreamId::Chunk(chunk_id(1, 0)));
    let two = |expected| AppendUnit {
        appends: vec![stream_append(run.clone(), 0, &["{}"]), stream_append(chunk.clone(), expected, &["{}", "{}"])],
        ..unit(1)
    };
    let conflict = journal.append(two(1)).await;
    assert!(matches!(conflict, Err(AppendError::Conflict { ref stream, .. }) if *stream == chunk), "{conflict:?}");
    assert!(events_of(&*journal, &run).await.is_empty());
    let appended = journal.append(two(0)).await.unwrap();
    let places: Vec<_> = appended.events.iter().map(|event| (event.stream.clone(), event.version.0)).collect();
    assert_eq!(places, [(run, 1), (chunk.clone(), 1), (chunk, 2)]);
}

pub async fn a_unit_without_events_or_with_a_stream_twice_is_invalid(journal: Arc<dyn Journal>) {
    let stream = StreamId::Attempt(attempt_id(1));
    let empty = AppendUnit { appends: vec![stream_append(stream.clone(), 0, &[])], ..unit(1) };
    assert!(matches!(journal.append(empty).await, Err(AppendError::Invalid(_))));
    let twice = vec![stream_append(stream.clone(), 0, &["{}"]), stream_append(stream.clone(), 1, &["{}"])];
    assert!(matches!(journal.append(AppendUnit { appends: twice, ..unit(1) }).await, Err(AppendError::Invalid(_))));
    assert!(events_of(&*journal, &stream).await.is_empty());
}

pub async fn one_instant_and_one_chain(journal: Arc<dyn Journal>) {
    let stream = StreamId::Attempt(attempt_id(1));
    let before = journal.now().await.unwrap();
    let mut both = AppendUnit { appends: vec![stream_append(stream.clone(), 0, &["{}", "{\"a\":\"ü\"}"])], ..unit(1) };
    both.appends.push(stream_append(StreamId::Run(run_id(1)), 0, &["{}"]));
    both.origin.causation = Some(EventId(ulid::Ulid::from_parts(9, 9)));
    let appended = journal.append(both).await.unwrap();
    journal.append(append_to(2, 1, 2, "{}")).await.unwrap();
    assert!(appended.events.iter().all(|event| event.recorded_at == appended.events[0].recorded_at));
    assert!(appended.events[0].recorded_at >= before);

    let stored = events_of(&*journal, &stream).await;
    assert_eq!(stored[..2], appended.events[..2]);
    let mut digest = Digest::ZERO;
    for (index, event) in stored.iter().enumerate() {
        digest = chain(digest, &event.canonical_text().unwrap());
        assert_eq!((event.version, event.digest), (Version(index as u64 + 1), digest));
    }
    assert_eq!(stored[1].id, EventId::derived(command_id(1), &stream, 1));
    assert!(stored.windows(2).all(|pair| pair[0].position < pair[1].position));
}
