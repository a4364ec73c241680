//! The conformance suite of the journal port, on every adapter there is.

mod sqlite {
    use std::sync::Arc;
    use tribunal::journal::sqlite::SqliteJournal;
    use tribunal_actors::ports::journal::Journal;
    use tribunal_actors::testing::conformance::Harness;

    struct Store {
        journal: Arc<SqliteJournal>,
        _folder: tempfile::TempDir,
    }

    impl Harness for Store {
        fn journal(&self) -> Arc<dyn Journal> {
            Arc::clone(&self.journal) as Arc<dyn Journal>
        }
    }

    fn fresh() -> Store {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = Arc::new(SqliteJournal::open(folder.path()).expect("a store"));
        Store { journal, _folder: folder }
    }

    tribunal_actors::journal_conformance!(fresh());
}

mod memory {
    use std::sync::Arc;
    use tribunal_actors::ports::journal::Journal;
    use tribunal_actors::testing::conformance::Harness;
    use tribunal_actors::testing::journal::MemoryJournal;

    struct Memory(Arc<MemoryJournal>);

    impl Harness for Memory {
        fn journal(&self) -> Arc<dyn Journal> {
            Arc::clone(&self.0) as Arc<dyn Journal>
        }
    }

    tribunal_actors::journal_conformance!(Memory(Arc::new(MemoryJournal::new())));
}

mod postgres {
    use crate::postgres::Cluster;
    use std::sync::Arc;
    use tribunal::journal::postgres::PostgresJournal;
    use tribunal_actors::ports::journal::Journal;
    use tribunal_actors::testing::conformance::Harness;
    use tribunal_schema::ids::Incarnation;

    struct Database(Arc<PostgresJournal>);

    impl Harness for Database {
        fn journal(&self) -> Arc<dyn Journal> {
            Arc::clone(&self.0) as Arc<dyn Journal>
        }
    }

    async fn fresh() -> Database {
        let url = Cluster::shared().database().await;
        let holder = Incarnation(ulid::Ulid::generate());
        let journal = PostgresJournal::open(&url.parse().expect("an address"), holder).await.expect("a journal");
        Database(Arc::new(journal))
    }

    tribunal_actors::journal_conformance!(fresh().await);
}
