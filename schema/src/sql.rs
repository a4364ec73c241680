//! SQL: every statement that Tribunal sends to a database, one a file under
//! `schema/sql`, so that an auditor finds all of them in one place and no
//! adapter grows SQL of its own.

/// The statements of the SQLite journal.
pub mod sqlite {
    /// A step of the schema. Steps are applied in order, each once, and never changed.
    #[derive(Clone, Copy, Debug)]
    pub struct Migration {
        /// The schema's version after it.
        pub version: u32,
        /// Its statements.
        pub sql: &'static str,
    }

    /// All migrations, ascending from version 1.
    pub const MIGRATIONS: &[Migration] =
        &[Migration { version: 1, sql: include_str!("../sql/sqlite/migrations/0001_journal.sql") }];

    macro_rules! statements {
        ($($name:ident = $file:literal,)+) => {
            $(
                #[doc = concat!("`", $file, "`")]
                pub const $name: &str = include_str!(concat!("../sql/sqlite/", $file));
            )+

            /// Every statement with its file's name: what a test prepares against the newest schema.
            pub const STATEMENTS: &[(&str, &str)] = &[$(($file, $name)),+];
        };
    }

    statements! {
        BLOB_PUT = "blob_put.sql",
        BLOB_READ = "blob_read.sql",
        BLOB_REF_PUT = "blob_ref_put.sql",
        CHUNKS_READ = "chunks_read.sql",
        CURSOR_DROP = "cursor_drop.sql",
        CURSOR_PUT = "cursor_put.sql",
        DESIRED_PUT = "desired_put.sql",
        EVENT_DIGEST = "event_digest.sql",
        EVENT_FIND = "event_find.sql",
        EVENT_INSERT = "event_insert.sql",
        EXECUTIONS_PAGE = "executions_page.sql",
        FEED_ALL_ASCENDING = "feed_all_ascending.sql",
        FEED_ALL_DESCENDING = "feed_all_descending.sql",
        FEED_RUN_ASCENDING = "feed_run_ascending.sql",
        FEED_RUN_DESCENDING = "feed_run_descending.sql",
        FEED_STREAM_ASCENDING = "feed_stream_ascending.sql",
        FEED_STREAM_DESCENDING = "feed_stream_descending.sql",
        FINDINGS_READ = "findings_read.sql",
        INTENT_DONE = "intent_done.sql",
        INTENT_PUT = "intent_put.sql",
        INTENTS_PAGE = "intents_page.sql",
        LEASE_DELETE = "lease_delete.sql",
        LEASE_INSERT = "lease_insert.sql",
        LEASE_READ = "lease_read.sql",
        LEASES_DUE = "leases_due.sql",
        LEASES_RENEW = "leases_renew.sql",
        LEASES_REVOKE_OTHERS = "leases_revoke_others.sql",
        NOW = "now.sql",
        OUTBOX_CLAIM = "outbox_claim.sql",
        OUTBOX_CONFIRM = "outbox_confirm.sql",
        OUTBOX_PUT = "outbox_put.sql",
        OUTBOX_RESCHEDULE = "outbox_reschedule.sql",
        OUTCOMES_READ = "outcomes_read.sql",
        PLAN_DROP = "plan_drop.sql",
        PLAN_PAGE = "plan_page.sql",
        PLAN_PUT = "plan_put.sql",
        PLAN_READ = "plan_read.sql",
        POISON_PUT = "poison_put.sql",
        PROGRESS_READ = "progress_read.sql",
        QUARANTINE_PAGE = "quarantine_page.sql",
        READY_DROP = "ready_drop.sql",
        READY_DUE = "ready_due.sql",
        READY_LANES = "ready_lanes.sql",
        READY_NEXT_DUE = "ready_next_due.sql",
        READY_OUTSTANDING = "ready_outstanding.sql",
        READY_PUBLISHED = "ready_published.sql",
        READY_PUT = "ready_put.sql",
        READY_TAKE = "ready_take.sql",
        READY_UNPUBLISH = "ready_unpublish.sql",
        READY_UNPUBLISH_ALL = "ready_unpublish_all.sql",
        RUN_READ = "run_read.sql",
        RUNS_PAGE = "runs_page.sql",
        SCHEMA_VERSION_CREATE = "schema_version_create.sql",
        SCHEMA_VERSION_EXISTS = "schema_version_exists.sql",
        SCHEMA_VERSION_INSERT = "schema_version_insert.sql",
        SCHEMA_VERSION_READ = "schema_version_read.sql",
        SETTLEMENT_DONE = "settlement_done.sql",
        SETTLEMENT_PUT = "settlement_put.sql",
        SETTLEMENTS_PAGE = "settlements_page.sql",
        STREAM_HEAD = "stream_head.sql",
        STREAM_HEADS = "stream_heads.sql",
        STREAM_PAGE = "stream_page.sql",
        TABLES_EXIST = "tables_exist.sql",
        TRANSACTION_BEGIN = "transaction_begin.sql",
        TRANSACTION_COMMIT = "transaction_commit.sql",
        TRANSACTION_ROLLBACK = "transaction_rollback.sql",
        UNIT_BEGIN = "unit_begin.sql",
        UNIT_KEEP = "unit_keep.sql",
        UNIT_UNDO = "unit_undo.sql",
        VIEW_CHUNK_COUNTED = "view_chunk_counted.sql",
        VIEW_CHUNK_RECOVERED = "view_chunk_recovered.sql",
        VIEW_CHUNK_SEEDED = "view_chunk_seeded.sql",
        VIEW_CHUNK_STATUS = "view_chunk_status.sql",
        VIEW_EXECUTION_SETTLED = "view_execution_settled.sql",
        VIEW_FINDING_PUT = "view_finding_put.sql",
        VIEW_OUTCOME_PUT = "view_outcome_put.sql",
        VIEW_QUARANTINE_STATUS = "view_quarantine_status.sql",
        VIEW_QUARANTINED = "view_quarantined.sql",
        VIEW_RUN_JUDGED = "view_run_judged.sql",
        VIEW_RUN_PLANNED = "view_run_planned.sql",
        VIEW_RUN_STATUS = "view_run_status.sql",
    }
}
