//! What a process owes to others on the same database: it takes rows in the order
//! that everybody keeps, needs no more rights than the application's role has,
//! survives the end of its sessions, and reads what another cluster wrote.

use super::adapter::Bench;
use super::{Cluster, client};
use std::sync::Arc;
use tribunal::journal::postgres::{PostgresAddress, PostgresJournal, PostgresReader};
use tribunal_actors::ports::journal::*;
use tribunal_actors::testing::conformance::fixtures::*;
use tribunal_schema::Digest;
use tribunal_schema::ids::{Incarnation, StreamId};
use tribunal_schema::units::Version;

/// The number of the session that holds the name of an incarnation.
const NAMED: &str = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Begins a transaction that is told of a deadlock before the other side is: the server gives it the error, and
/// the adapter, which would only try again, cannot hide it.
async fn begin_as_victim(bench: &Bench) {
    bench.beside.batch_execute("SET deadlock_timeout = '1ms'; BEGIN").await.expect("a transaction");
}

/// A neighbour that keeps the order has the first stream and then wants the second.
#[tokio::test]
async fn two_processes_that_write_the_same_streams_do_not_wait_in_a_circle() {
    let bench = Bench::new().await;
    begin_as_victim(&bench).await;
    bench.record_beside(1).await;
    let mut unit = append_to(1, 2, 0, "{}");
    unit.appends.push(stream_append(StreamId::Attempt(attempt_id(1)), 0, &["{}"]));
    let write = bench.append(unit);
    bench.until_blocked(&write).await;
    bench.record_beside(2).await;
    bench.beside.batch_execute("COMMIT").await.expect("no deadlock");
    assert!(matches!(write.await.expect("no panic"), Err(AppendError::Conflict { .. })));
}

#[tokio::test]
async fn two_processes_with_the_same_answers_do_not_wait_in_a_circle() {
    let bench = Bench::new().await;
    let mut digests = [Digest::of(b"yes"), Digest::of(b"no")];
    digests.sort_unstable();
    for (digest, bytes) in [b"yes".as_slice(), b"no"].map(|bytes| (Digest::of(bytes), bytes)) {
        bench.journal.put_blob(digest, bytes.into()).await.expect("a blob");
    }
    let run = run_id(1);
    let refer = async |digest: Digest| {
        let put = "INSERT INTO blob_refs (digest, run) VALUES ($1, $2)";
        bench.beside.execute(put, &[&digest.bytes().as_slice(), &run.to_string()]).await.expect("no deadlock");
    };
    begin_as_victim(&bench).await;
    refer(digests[0]).await;
    let rows = digests.iter().rev().map(|digest| Row::BlobRef { digest: *digest, run }).collect();
    let write = bench.append(with_rows(1, rows));
    bench.until_blocked(&write).await;
    refer(digests[1]).await;
    bench.beside.batch_execute("COMMIT").await.expect("a commit");
    write.await.expect("no panic").expect("both are referred to");
}

#[tokio::test]
async fn positions_follow_the_order_of_a_unit() {
    let bench = Bench::new().await;
    let mut unit = append_to(1, 2, 0, "{}");
    unit.appends.push(stream_append(StreamId::Attempt(attempt_id(1)), 0, &["{}", "{}"]));
    let written = bench.journal.append(unit).await.expect("a unit").events;
    assert!(written.windows(2).all(|pair| pair[0].position < pair[1].position), "{written:?}");
    feed_shows(&*bench.journal, 3).await;
    let feed = bench.journal.read_feed(&EventFilter::default(), None, false, 10).await.expect("a page");
    assert_eq!(feed, written);
}

#[tokio::test]
async fn role_of_the_application_is_enough_for_a_process() {
    let bench = Bench::new().await;
    let login = "DO $$ BEGIN CREATE ROLE application LOGIN IN ROLE tribunal_app; \
         EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";
    bench.beside.batch_execute(login).await.expect("a superuser may");
    let address: PostgresAddress = bench.url.replace("tribunal@", "application@").parse().expect("an address");
    let journal = PostgresJournal::open(&address, holder(1)).await.expect("it may open a journal");
    let chunk = chunk_id(1, 0);
    put(&journal, vec![grant(chunk, 1, 1, LONG, LONG), ready(chunk, 1)]).await;
    journal.append(guarded(7, guard(chunk, 1, 1))).await.expect("it may append");
    assert_eq!(journal.leases_renew(holder(1), LONG).await.expect("it may renew").len(), 1);
    journal.leases_revoke_dead(holder(1)).await.expect("it may revoke");
    feed_shows(&journal, 1).await;

    // The session of another role is named, though not how long it has been open.
    let pid: i32 = bench.beside.query_one("SELECT pg_backend_pid()", &[]).await.expect("a pid").get(0);
    bench.beside.batch_execute("BEGIN").await.expect("a transaction");
    bench.record_beside(1).await;
    loop {
        let horizon = journal.horizon().await.expect("it may ask").expect("a transaction is open");
        if horizon.pid == pid {
            assert_eq!(horizon.lag_ms, None);
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn server_that_cannot_keep_a_secret_is_told_none_unless_the_address_says_so() {
    let url = Cluster::shared().database().await;
    let address: PostgresAddress = format!("{url}?sslmode=require").parse().expect("an address");
    let error = PostgresReader::open(&address).await.err().expect("the tests' server has no TLS").to_string();
    assert!(error.contains("does not support TLS") && error.contains("sslmode=disable"), "{error}");
}

#[tokio::test]
async fn restored_cluster_shows_all_that_the_former_one_wrote() {
    let bench = Bench::new().await;
    bench.journal.append(append_to(1, 1, 0, "{}")).await.expect("an event");
    // What a restore leaves: numbers of transactions that this cluster will not reach for long.
    bench.beside.batch_execute("UPDATE epochs SET system_identifier = 'another'").await.expect("a superuser may");
    let copied = "INSERT INTO events (epoch, xid, stream, category, version, id, command, type, type_version, run, team, \
         payload, recorded_at, digest) SELECT epoch, '4611686018427387904', $1, category, version, id, command, type, \
         type_version, run, team, payload, recorded_at, digest FROM events";
    bench.beside.execute(copied, &[&StreamId::Attempt(attempt_id(2)).to_string()]).await.expect("an old event");
    let address: PostgresAddress = bench.url.parse().expect("an address");
    let reader = PostgresReader::open(&address).await.expect("a reader");
    let all = EventFilter::default();
    let old = reader.read_feed(&all, None, false, 10).await.expect("a page");
    assert_eq!(old.len(), 2, "no horizon holds back what another cluster wrote");

    let journal = PostgresJournal::open(&address, holder(2)).await.expect("a journal");
    journal.append(append_to(3, 3, 0, "{}")).await.expect("a new event");
    feed_shows(&journal, 3).await;
    let new = journal.read_feed(&all, Some(old[1].position), false, 10).await.expect("a page");
    assert_eq!(new.iter().map(|event| event.stream.clone()).collect::<Vec<_>>(), [StreamId::Attempt(attempt_id(3))]);
    let epochs = bench.beside.query_one("SELECT max(epoch) FROM events", &[]).await.expect("a number");
    assert_eq!(epochs.get::<_, i64>(0), 2, "another cluster begins another epoch");
}

#[tokio::test]
async fn sessions_that_are_ended_in_mid_append_lose_and_double_nothing() {
    let bench = Bench::new().await;
    let admin = client(&bench.url).await;
    let end_all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'tribunal'";
    let (mut writes, mut ended) = (Vec::new(), 0);
    for round in 0..5 {
        writes.extend((0..60).map(|n| round * 60 + n).map(|n| bench.append(append_to(n, n, 0, "{}"))));
        ended += admin.query_one(end_all, &[]).await.expect("a superuser may").get::<_, i64>(0);
        tokio::task::yield_now().await;
    }
    for write in writes {
        write.await.expect("no panic").expect("what was begun is written");
    }
    assert!(ended > 0, "there was no session to end");
    let count = "SELECT count(*), count(DISTINCT stream) FROM events";
    let count = bench.beside.query_one(count, &[]).await.expect("a count");
    assert_eq!((count.get::<_, i64>(0), count.get::<_, i64>(1)), (300, 300));
}

#[tokio::test]
async fn process_whose_named_session_is_ended_takes_its_name_again() {
    let bench = Bench::new().await;
    let named = async || bench.beside.query_opt(NAMED, &[]).await.expect("locks").map(|row| row.get::<_, i32>(0));
    let first = named().await.expect("an open journal has a name");
    bench.beside.execute("SELECT pg_terminate_backend($1)", &[&first]).await.expect("a superuser may");
    // Its own look finds the session gone.
    let second = loop {
        match named().await {
            Some(pid) if pid != first => break pid,
            _ => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    };
    assert_ne!(second, first);
    drop(bench.journal);
}

/// Ten contenders of several processes for each version of a stream: one wins each, and the chain is whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_contend_for_versions_and_one_wins_each() {
    let url = Cluster::shared().database().await;
    let address: PostgresAddress = url.parse().expect("an address");
    let mut journals = Vec::new();
    for _ in 0..3 {
        let holder = Incarnation(ulid::Ulid::generate());
        journals.push(Arc::new(PostgresJournal::open(&address, holder).await.expect("a journal")));
    }
    for version in 0..10 {
        let contenders = (0..9).map(|n| {
            let journal = Arc::clone(&journals[n % journals.len()]);
            // Two streams in either order.
            let (one, two) = if n % 2 == 0 { (1, 2) } else { (2, 1) };
            let mut unit = append_to(version * 9 + n as u64, one, version, "{}");
            unit.appends.push(stream_append(StreamId::Attempt(attempt_id(two)), version, &["{}"]));
            tokio::spawn(async move { journal.append(unit).await })
        });
        let mut winners = 0;
        for contender in contenders.collect::<Vec<_>>() {
            match contender.await.expect("no panic") {
                Ok(_) => winners += 1,
                Err(AppendError::Conflict { actual, .. }) => assert_eq!(actual, Version(version + 1)),
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(winners, 1, "version {version}");
    }
    for stream in [1, 2] {
        let events = events_of(&*journals[0], &StreamId::Attempt(attempt_id(stream))).await;
        assert_eq!(events.len(), 10);
    }
}

#[tokio::test]
async fn server_that_takes_long_to_recover_is_waited_for_by_readers_and_writers() {
    let cluster = Cluster::new();
    let address: PostgresAddress = cluster.database().await.parse().expect("an address");
    let journal = Arc::new(PostgresJournal::open(&address, holder(1)).await.expect("a journal"));
    cluster.stop_immediately();
    let mut asked = Vec::new();
    for n in 1..4 {
        let (write, read) = (Arc::clone(&journal), Arc::clone(&journal));
        asked.push(tokio::spawn(async move {
            write.append(append_to(n, n, 0, "{}")).await.map_err(|e| e.to_string()).map(drop)
        }));
        asked.push(tokio::spawn(async move { read.runs(1).await.map_err(|e| e.to_string()).map(drop) }));
        let renew = Arc::clone(&journal);
        asked.push(tokio::spawn(async move {
            renew.leases_renew(holder(1), LONG).await.map_err(|e| e.to_string()).map(drop)
        }));
    }
    // Longer than a mistyped address is tried for: the pauses of those who wait are what is tested.
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    cluster.start();
    for answer in asked {
        answer.await.expect("no panic").expect("it was waited for");
    }
}
