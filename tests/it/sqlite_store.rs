//! What is SQLite's own: the folder, its lock, its schema, a killed writer, a full disk.

use rusqlite::Connection;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use tribunal::journal::sqlite::{JOURNAL_FILE, OpenError, SqliteJournal, SqliteReader};
use tribunal_actors::ports::journal::{AppendError, AppendUnit, EventFilter, Journal, JournalReader, Row};
use tribunal_actors::testing::conformance::fixtures::{
    append_to, attempt_id, chunk_id, events_of, stream_append, unit,
};
use tribunal_schema::Digest;
use tribunal_schema::ids::StreamId;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn raw(store: &Path) -> Connection {
    Connection::open(store.join(JOURNAL_FILE)).unwrap()
}

#[tokio::test]
async fn events_are_append_only_in_the_database_itself() {
    let folder = folder();
    let journal = SqliteJournal::open(folder.path()).unwrap();
    journal.append(append_to(1, 1, 0, "{}")).await.unwrap();
    drop(journal);
    let connection = raw(folder.path());
    for statement in [
        "UPDATE events SET payload = '[]'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "INSERT OR REPLACE INTO events SELECT position + 9, stream, category, version, id, command, type, type_version, \
         run, team, payload, causation, recorded_at, digest FROM events",
    ] {
        let refused = connection.execute(statement, []).unwrap_err().to_string();
        assert!(refused.contains("events_are_append_only"), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn a_second_writer_is_told_who_writes_and_readers_work_meanwhile() {
    let folder = folder();
    let journal = SqliteJournal::open(folder.path()).unwrap();
    let second = SqliteJournal::open(folder.path()).err().expect("one writer at a time");
    assert!(matches!(second, OpenError::Held { .. }));
    let words = second.to_string();
    assert!(words.contains(&format!("is being written by process {}", std::process::id())), "{words}");
    let reader = SqliteReader::open(folder.path()).unwrap();
    journal.append(append_to(1, 1, 0, "{}")).await.unwrap();
    assert_eq!(reader.read_feed(&EventFilter::default(), None, false, 10).await.unwrap().len(), 1);
    drop(journal);
    assert_eq!(reader.read_feed(&EventFilter::default(), None, false, 10).await.unwrap().len(), 1);
    SqliteReader::open(folder.path()).expect("readers need no writer");
    SqliteJournal::open(folder.path()).expect("the lock is free");
}

#[test]
fn a_missing_a_foreign_and_a_newer_store_are_refused_with_words() {
    let folder = folder();
    let missing = SqliteReader::open(folder.path()).err().unwrap();
    assert!(matches!(missing, OpenError::Missing { .. }), "{missing}");
    assert!(!folder.path().join(JOURNAL_FILE).exists(), "a reader makes nothing");

    drop(SqliteJournal::open(folder.path()).unwrap());
    raw(folder.path()).execute("INSERT INTO schema_version VALUES (999, 0)", []).unwrap();
    for error in [SqliteJournal::open(folder.path()).err(), SqliteReader::open(folder.path()).err()] {
        assert!(matches!(error, Some(OpenError::Newer { found: 999, .. })), "{error:?}");
    }
    let foreign = tempfile::tempdir().unwrap();
    raw(foreign.path()).execute("CREATE TABLE notes (text TEXT)", []).unwrap();
    assert!(matches!(SqliteJournal::open(foreign.path()).err(), Some(OpenError::Foreign { .. })));
    std::fs::write(foreign.path().join(JOURNAL_FILE), [7u8; 8192]).unwrap();
    assert!(matches!(SqliteReader::open(foreign.path()).err(), Some(OpenError::Foreign { .. })));
}

#[test]
fn an_older_schema_is_refused_to_readers_and_migrated_by_the_writer() {
    let folder = folder();
    raw(folder.path()).execute_batch(tribunal_schema::sql::sqlite::SCHEMA_VERSION_CREATE).unwrap();
    let older = SqliteReader::open(folder.path()).err();
    assert!(matches!(older, Some(OpenError::Older { found: 0, .. })), "{older:?}");
    drop(SqliteJournal::open(folder.path()).expect("the writer migrates"));
    SqliteReader::open(folder.path()).expect("and readers read");
}

/// Two streams in one unit: a store that holds one without the other has a torn unit.
fn pair(n: u64) -> AppendUnit {
    let (attempt, chunk) = (StreamId::Attempt(attempt_id(n)), StreamId::Chunk(chunk_id(1, n as u32)));
    AppendUnit { appends: vec![stream_append(attempt, 0, &["{}"]), stream_append(chunk, 0, &["{}"])], ..unit(n) }
}

#[tokio::test]
#[ignore = "the child of a_killed_writer_leaves_whole_units"]
async fn child_that_writes_until_it_is_killed() {
    let Ok(store) = std::env::var("TRIBUNAL_TEST_STORE") else { return };
    let journal = Arc::new(SqliteJournal::open(Path::new(&store)).unwrap());
    let first: u64 = std::env::var("TRIBUNAL_TEST_FIRST").unwrap().parse().unwrap();
    for page in 0.. {
        let units = (0..20).map(|n| journal.append(pair(first + page * 20 + n)));
        futures::future::try_join_all(units).await.unwrap();
    }
}

#[tokio::test]
async fn a_killed_writer_leaves_whole_units_and_no_lock() {
    let folder = folder();
    drop(SqliteJournal::open(folder.path()).unwrap());
    let mut known = 0;
    for round in 1..=3u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite_store::child_that_writes_until_it_is_killed", "--ignored"])
            .env("TRIBUNAL_TEST_STORE", folder.path())
            .env("TRIBUNAL_TEST_FIRST", (round * 1_000_000).to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let reader = SqliteReader::open(folder.path()).unwrap();
        let count = async || {
            reader
                .read_feed(&EventFilter::default(), None, true, 1)
                .await
                .unwrap()
                .first()
                .map_or(0, |event| event.position)
        };
        while count().await < known + 200 {
            assert!(child.try_wait().unwrap().is_none(), "the child writes until it is killed");
            tokio::task::yield_now().await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let journal = SqliteJournal::open(folder.path()).expect("nothing must be unlocked");
        known = count().await;
        let events = journal.read_feed(&EventFilter::default(), None, false, u32::MAX).await.unwrap();
        let attempts = events.iter().filter(|event| matches!(event.stream, StreamId::Attempt(_))).count();
        assert_eq!(attempts * 2, events.len(), "units are whole");
    }
}

#[tokio::test]
async fn a_full_disk_is_unavailable_and_the_journal_recovers() {
    let folder = folder();
    let journal = SqliteJournal::open_with_pages_max(folder.path(), 400).unwrap();
    let body: Arc<[u8]> = vec![7u8; 4 << 20].into();
    let row = Row::BlobPut { digest: Digest::of(&body), bytes: body };
    let large = AppendUnit { rows: vec![row], ..append_to(1, 1, 0, "{}") };
    // While the first is written the others gather: the large one shares its transaction with small ones.
    let units =
        (100..150).map(|n| append_to(n, n, 0, "{}")).chain([large]).chain((200..250).map(|n| append_to(n, n, 0, "{}")));
    let mut written = futures::future::join_all(units.map(|unit| journal.append(unit))).await;
    let large = written.remove(50);
    assert!(matches!(large, Err(AppendError::Unavailable(_))), "{large:?}");
    for small in written {
        small.expect("a unit that fits is written");
    }
    assert!(events_of(&journal, &StreamId::Attempt(attempt_id(1))).await.is_empty());
    journal.append(append_to(3, 3, 0, "{}")).await.expect("the journal goes on");
}
