//! What locks, the horizon and the schema owe: each checked with a session of the
//! test's own that does at the worst moment what another process might do, and
//! once with the check in question switched off, to see that it is noticed.

use super::{Cluster, client};
use std::sync::Arc;
use tokio_postgres::Client;
use tribunal::journal::postgres::{OpenError, PostgresAddress, PostgresJournal, PostgresReader, migrate};
use tribunal_actors::mutant::{Mutant, Release};
use tribunal_actors::ports::journal::*;
use tribunal_actors::testing::conformance::fixtures::*;
use tribunal_actors::testing::conformance::{append, leases};
use tribunal_schema::ids::{Incarnation, StreamId};
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::{DurationMs, LeaseTerm, Version};

/// A fresh database, a journal on it, and a session beside it.
pub(super) struct Bench {
    pub(super) url: String,
    pub(super) journal: Arc<PostgresJournal>,
    pub(super) beside: Client,
}

impl Bench {
    pub(super) async fn new() -> Bench {
        let url = Cluster::shared().database().await;
        let holder = Incarnation(ulid::Ulid::generate());
        let journal = PostgresJournal::open(&url.parse().expect("an address"), holder).await.expect("a journal");
        let beside = client(&url).await;
        beside.batch_execute("SET search_path = tribunal").await.expect("a schema");
        Bench { url, journal: Arc::new(journal), beside }
    }

    /// As [`Bench::new`], with one check switched off.
    pub(super) async fn with(mutant: Mutant) -> Bench {
        let _alive = Release::new(mutant);
        Bench::new().await
    }

    pub(super) fn append(&self, unit: AppendUnit) -> tokio::task::JoinHandle<Result<Appended, AppendError>> {
        let journal = Arc::clone(&self.journal);
        tokio::spawn(async move { journal.append(unit).await })
    }

    /// Waits until somebody waits for a lock of this database, or until `done`.
    pub(super) async fn until_blocked<T>(&self, done: &tokio::task::JoinHandle<T>) {
        let watch = client(&self.url).await;
        let blocked = "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'tribunal'";
        while !done.is_finished() && watch.query_one(blocked, &[]).await.expect("a count").get::<_, i64>(0) == 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Writes the first event of an attempt's stream in the session beside, as another process would.
    pub(super) async fn record_beside(&self, attempt: u64) {
        let (stream, id) = (StreamId::Attempt(attempt_id(attempt)).to_string(), ulid::Ulid::generate().to_string());
        let insert = "INSERT INTO events (epoch, stream, category, version, id, command, type, type_version, team, \
             payload, recorded_at, digest) VALUES (1, $1, 'attempt', 1, $2, $2, 'attempt.started', 1, 't', '{}', 0, $3)";
        self.beside.execute(insert, &[&stream, &id, &[0u8; 32].as_slice()]).await.expect("an event");
    }
}

/// A guard must wait for an expiry that has the lease, and must then be refused.
async fn a_guard_excludes_an_expiry_under_way(bench: &Bench) -> Result<(), String> {
    let chunk = chunk_id(1, 0);
    put(&*bench.journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    bench.beside.batch_execute("BEGIN; SELECT * FROM leases FOR UPDATE").await.expect("a lock");
    let late = bench.append(guarded(7, guard(chunk, 1, 1)));
    bench.until_blocked(&late).await;
    bench.beside.batch_execute("DELETE FROM leases; COMMIT").await.expect("an expiry");
    match late.await.expect("no panic") {
        Err(AppendError::Refused(Refusal::StaleLease { reason: StaleReason::Ended, .. })) => Ok(()),
        other => Err(format!("a write under a lease that was over: {other:?}")),
    }
}

/// An expiry must wait for a guarded write that is under way, and must then see what it wrote.
async fn an_expiry_excludes_a_guarded_write_under_way(bench: &Bench) -> Result<(), String> {
    let chunk = chunk_id(1, 0);
    put(&*bench.journal, vec![grant(chunk, 1, 1, SHORT, LONG)]).await;
    wait_for(&*bench.journal, SHORT).await;
    bench.beside.batch_execute("BEGIN; SELECT * FROM leases FOR KEY SHARE").await.expect("a lock");
    let mut expiry = append_to(7, 9, 0, "{}");
    expiry.guards = vec![Guard::Attempt { attempt: attempt_id(3), version: Version(0) }];
    expiry.rows = vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }];
    let expiry = bench.append(expiry);
    bench.until_blocked(&expiry).await;
    bench.record_beside(3).await;
    bench.beside.batch_execute("COMMIT").await.expect("a commit");
    match expiry.await.expect("no panic") {
        Err(AppendError::Conflict { actual: Version(1), .. }) => Ok(()),
        other => Err(format!("an expiry that did not see the attempt that was being started: {other:?}")),
    }
}

/// A reader of the feed must see an event that is committed after one with a higher position.
async fn a_late_commit_is_not_skipped(bench: &Bench) -> Result<(), String> {
    bench.beside.batch_execute("BEGIN").await.expect("a transaction");
    bench.record_beside(1).await;
    bench.journal.append(append_to(2, 2, 0, "{}")).await.expect("another commit");
    let all = EventFilter::default();
    let mut seen = bench.journal.read_feed(&all, None, false, 10).await.expect("a page");
    bench.beside.batch_execute("COMMIT").await.expect("a commit");
    // Whoever is below the horizon by now is shown; others of the cluster may hold it back a moment.
    let reader = PostgresReader::open(&bench.url.parse().expect("an address")).await.expect("a reader");
    while reader.read_feed(&all, None, false, 10).await.expect("a page").len() < 2 {
        tokio::task::yield_now().await;
    }
    let after = seen.last().map(|event| event.position);
    seen.extend(bench.journal.read_feed(&all, after, false, 10).await.expect("a page"));
    match seen.len() {
        2 => Ok(()),
        events => Err(format!("a reader saw {events} of 2 events")),
    }
}

#[tokio::test]
async fn guard_and_expiry_exclude_each_other_whoever_comes_first() {
    a_guard_excludes_an_expiry_under_way(&Bench::new().await).await.expect("the guard waits");
    an_expiry_excludes_a_guarded_write_under_way(&Bench::new().await).await.expect("the expiry waits");
}

#[tokio::test]
async fn guard_by_a_plain_select_is_noticed() {
    let broken = Bench::with(Mutant::PlainSelectGuard).await;
    a_guard_excludes_an_expiry_under_way(&broken).await.expect_err("a write skew");
}

#[tokio::test]
async fn expiry_without_its_row_lock_is_noticed() {
    let broken = Bench::with(Mutant::ExpiryWithoutRowLock).await;
    an_expiry_excludes_a_guarded_write_under_way(&broken).await.expect_err("a write skew");
}

#[tokio::test]
async fn late_commit_of_a_lower_position_is_not_skipped() {
    a_late_commit_is_not_skipped(&Bench::new().await).await.expect("the horizon holds");
}

#[tokio::test]
async fn feed_without_its_horizon_is_noticed() {
    let broken = Bench::with(Mutant::FeedWithoutHorizon).await;
    a_late_commit_is_not_skipped(&broken).await.expect_err("an event is skipped");
}

#[tokio::test]
async fn guard_that_looks_at_no_term_is_noticed() {
    let journal = Bench::with(Mutant::NoTermCompare).await.journal;
    let case = tokio::spawn(leases::a_guard_holds_for_the_live_grant_only(journal));
    assert!(case.await.expect_err("the case fails").is_panic());
}

#[tokio::test]
async fn renewal_that_resurrects_is_noticed() {
    let journal = Bench::with(Mutant::RenewalResurrects).await.journal;
    let case = tokio::spawn(leases::a_renewal_never_resurrects_and_never_passes_the_hard_deadline(journal));
    assert!(case.await.expect_err("the case fails").is_panic());
}

#[tokio::test]
async fn redelivery_that_is_not_recognised_is_noticed() {
    let journal = Bench::with(Mutant::RedeliveryNotIdempotent).await.journal;
    let case = tokio::spawn(append::the_identical_unit_again_is_success_and_changes_nothing(journal));
    assert!(case.await.expect_err("the case fails").is_panic());
}

#[tokio::test]
async fn heartbeats_pass_a_guard_that_is_under_way() {
    let bench = Bench::new().await;
    let chunk = chunk_id(1, 0);
    put(&*bench.journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    bench.beside.batch_execute("BEGIN; SELECT * FROM leases FOR KEY SHARE").await.expect("a guard");
    let renewed = bench.journal.leases_renew(holder(1), LONG).await.expect("an answer");
    assert_eq!(renewed.len(), 1);
    // What changes the lease is skipped: one busy row never lets the others lapse.
    // But it is live: a worker that was not told of it would stop its work.
    bench.beside.batch_execute("COMMIT; BEGIN; SELECT * FROM leases FOR UPDATE").await.expect("an expiry");
    let ends =
        async || bench.beside.query_one("SELECT expires_at FROM leases", &[]).await.expect("it").get::<_, i64>(0);
    let before = ends().await;
    assert_eq!(bench.journal.leases_renew(holder(1), LONG).await.expect("an answer"), renewed);
    assert_eq!(ends().await, before, "a row that somebody holds is not waited for");
    bench.beside.batch_execute("DELETE FROM leases; COMMIT").await.expect("its end");
    assert_eq!(bench.journal.leases_renew(holder(1), LONG).await.expect("an answer"), []);
}

#[tokio::test]
async fn open_transaction_that_holds_the_feed_back_is_named() {
    let bench = Bench::new().await;
    let pid: i32 = bench.beside.query_one("SELECT pg_backend_pid()", &[]).await.expect("a pid").get(0);
    bench.beside.batch_execute("BEGIN").await.expect("a transaction");
    bench.record_beside(1).await;
    // Others of the cluster may be older for a moment.
    loop {
        let horizon = bench.journal.horizon().await.expect("an answer").expect("a transaction is open");
        if horizon.pid == pid && horizon.lag_ms > Some(0) {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn recorded_events_are_never_changed_by_anybody() {
    let bench = Bench::new().await;
    bench.journal.append(append_to(1, 1, 0, "{}")).await.expect("an event");
    let deeds = ["UPDATE events SET team = 'x'", "DELETE FROM events", "TRUNCATE events"];
    for deed in deeds {
        let error = bench.beside.batch_execute(deed).await.expect_err("the owner may not");
        let words = error.as_db_error().expect("the database says so").message().to_owned();
        assert!(words.contains("events_are_append_only"), "{deed}: {words}");
    }
    bench.beside.batch_execute("SET ROLE tribunal_app").await.expect("the role exists");
    for deed in deeds {
        let error = bench.beside.batch_execute(deed).await.expect_err("the application may not");
        assert!(error.as_db_error().expect("so says the database").message().contains("permission denied"), "{deed}");
    }
    bench.record_beside(2).await;
    let count = bench.beside.query_one("SELECT count(*) FROM events", &[]).await.expect("it may read");
    assert_eq!(count.get::<_, i64>(0), 2);
}

#[tokio::test]
async fn several_migrate_at_once_and_one_does_it() {
    for _ in 0..3 {
        let address: PostgresAddress = Cluster::shared().empty_database().await.parse().expect("an address");
        let migrations = (0..4).map(|_| {
            let address = address.clone();
            tokio::spawn(async move { migrate(&address).await.expect("a journal") })
        });
        let mut from = vec![];
        for migration in migrations.collect::<Vec<_>>() {
            from.push(migration.await.expect("no panic").from);
        }
        from.sort_unstable();
        assert_eq!(from, [0, 1, 1, 1], "one made it, the others found it made");
    }
}

#[tokio::test]
async fn database_of_another_schema_is_refused_with_words() {
    let address: PostgresAddress = Cluster::shared().empty_database().await.parse().expect("an address");
    let open = || PostgresJournal::open(&address, holder(1));
    let missing = open().await.err().expect("no journal");
    assert!(matches!(missing, OpenError::Missing { .. }));
    assert!(missing.to_string().contains("tribunal migrate --store"), "{missing}");
    let bench = Bench::new().await;
    bench.beside.batch_execute("INSERT INTO schema_versions VALUES (999, 0)").await.expect("a version");
    let address: PostgresAddress = bench.url.parse().expect("an address");
    for error in [
        PostgresJournal::open(&address, holder(1)).await.err().expect("a newer schema"),
        PostgresReader::open(&address).await.err().expect("a newer schema"),
        migrate(&address).await.expect_err("a newer schema"),
    ] {
        assert!(error.to_string().contains("has schema 999") && error.to_string().contains("newer"), "{error}");
    }
}

#[tokio::test]
async fn leases_of_the_living_are_left_alone_and_those_of_the_dead_ended() {
    let bench = Bench::new().await;
    let address: PostgresAddress = bench.url.parse().expect("an address");
    let (living, dead) = (Incarnation(ulid::Ulid::generate()), Incarnation(ulid::Ulid::generate()));
    let _alive = PostgresJournal::open(&address, living).await.expect("a living process");
    for (number, holder) in [(0, living), (1, dead)] {
        let (term, grant) = (LeaseTerm(1), grant_id(1));
        let chunk = chunk_id(1, number);
        put(&*bench.journal, vec![Row::LeaseGrant { chunk, term, grant, holder, lease: LONG, hard_deadline: LONG }])
            .await;
    }
    assert_eq!(bench.journal.leases_revoke_dead(holder(1)).await.expect("an answer"), 1);
    let due = bench.journal.leases_due(10).await.expect("an answer");
    assert_eq!(due.iter().map(|lease| lease.holder).collect::<Vec<_>>(), [dead]);
    assert_eq!(bench.journal.leases_renew(living, DurationMs::from_secs(60)).await.expect("an answer").len(), 1);
}

#[tokio::test]
async fn every_statement_fits_the_newest_schema() {
    let bench = Bench::new().await;
    for (file, statement) in sql::STATEMENTS {
        if let Err(error) = bench.beside.prepare(statement).await {
            panic!("{file}: {error:?}");
        }
    }
}

#[tokio::test]
async fn every_table_and_column_says_what_it_is() {
    let bench = Bench::new().await;
    let silent = "SELECT c.relname || coalesce('.' || a.attname, '') \
         FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 \
         WHERE c.relnamespace = 'tribunal'::regnamespace AND c.relkind = 'r' \
           AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid) IS NULL)";
    let silent = bench.beside.query(silent, &[]).await.expect("the catalogue");
    assert_eq!(silent.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), [""; 0]);
}
