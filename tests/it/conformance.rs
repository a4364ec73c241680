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
