//! SQL: every statement that Tribunal sends to a database, one a file under
//! `schema/sql`, so that an auditor finds all of them in one place and no
//! adapter grows SQL of its own.

/// A step of a schema. Steps are applied in order, each once, and never changed.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The schema's version after it.
    pub version: u32,
    /// Its statements.
    pub sql: &'static str,
}

macro_rules! statements {
    ($($name:ident = $file:literal,)+) => {
        $(
            #[doc = concat!("`", $file, "`")]
            pub const $name: &str = include_str!(concat!("../sql/", $file));
        )+

        /// Every statement with its file's name: what a test prepares against the newest schema.
        pub const STATEMENTS: &[(&str, &str)] = &[$(($file, $name)),+];
    };
}

/// The statements of the SQLite journal.
pub mod sqlite {
    pub use super::Migration;

    /// All migrations, ascending from version 1.
    pub const MIGRATIONS: &[Migration] = &[
        Migration { version: 1, sql: include_str!("../sql/sqlite/migrations/0001_journal.sql") },
        Migration { version: 2, sql: include_str!("../sql/sqlite/migrations/0002_outbox_by_run.sql") },
    ];

    statements! {
        BLOB_PUT = "sqlite/blob_put.sql",
        BLOB_READ = "sqlite/blob_read.sql",
        BLOB_REF_PUT = "sqlite/blob_ref_put.sql",
        CHUNKS_READ = "sqlite/chunks_read.sql",
        CURSOR_DROP = "sqlite/cursor_drop.sql",
        CURSOR_PUT = "sqlite/cursor_put.sql",
        DESIRED_PUT = "sqlite/desired_put.sql",
        EVENT_DIGEST = "sqlite/event_digest.sql",
        EVENT_FIND = "sqlite/event_find.sql",
        EVENT_INSERT = "sqlite/event_insert.sql",
        EXECUTIONS_PAGE = "sqlite/executions_page.sql",
        FEED_ALL_ASCENDING = "sqlite/feed_all_ascending.sql",
        FEED_ALL_DESCENDING = "sqlite/feed_all_descending.sql",
        FEED_RUN_ASCENDING = "sqlite/feed_run_ascending.sql",
        FEED_RUN_DESCENDING = "sqlite/feed_run_descending.sql",
        FEED_STREAM_ASCENDING = "sqlite/feed_stream_ascending.sql",
        FEED_STREAM_DESCENDING = "sqlite/feed_stream_descending.sql",
        FINDINGS_READ = "sqlite/findings_read.sql",
        INTENT_DONE = "sqlite/intent_done.sql",
        INTENT_PUT = "sqlite/intent_put.sql",
        INTENTS_PAGE = "sqlite/intents_page.sql",
        LEASE_DELETE = "sqlite/lease_delete.sql",
        LEASE_INSERT = "sqlite/lease_insert.sql",
        LEASE_READ = "sqlite/lease_read.sql",
        LEASES_DUE = "sqlite/leases_due.sql",
        LEASES_RENEW = "sqlite/leases_renew.sql",
        LEASES_REVOKE_OTHERS = "sqlite/leases_revoke_others.sql",
        NOW = "sqlite/now.sql",
        OUTBOX_CLAIM = "sqlite/outbox_claim.sql",
        OUTBOX_CONFIRM = "sqlite/outbox_confirm.sql",
        OUTBOX_PUT = "sqlite/outbox_put.sql",
        OUTBOX_RESCHEDULE = "sqlite/outbox_reschedule.sql",
        OUTCOMES_READ = "sqlite/outcomes_read.sql",
        PLAN_DROP = "sqlite/plan_drop.sql",
        PLAN_PAGE = "sqlite/plan_page.sql",
        PLAN_PUT = "sqlite/plan_put.sql",
        PLAN_READ = "sqlite/plan_read.sql",
        POISON_PUT = "sqlite/poison_put.sql",
        PROGRESS_READ = "sqlite/progress_read.sql",
        QUARANTINE_PAGE = "sqlite/quarantine_page.sql",
        READY_DROP = "sqlite/ready_drop.sql",
        READY_DUE = "sqlite/ready_due.sql",
        READY_LANES = "sqlite/ready_lanes.sql",
        READY_NEXT_DUE = "sqlite/ready_next_due.sql",
        READY_OUTSTANDING = "sqlite/ready_outstanding.sql",
        READY_PUBLISHED = "sqlite/ready_published.sql",
        READY_PUT = "sqlite/ready_put.sql",
        READY_TAKE = "sqlite/ready_take.sql",
        READY_UNPUBLISH = "sqlite/ready_unpublish.sql",
        READY_UNPUBLISH_ALL = "sqlite/ready_unpublish_all.sql",
        RUN_READ = "sqlite/run_read.sql",
        RUNS_PAGE = "sqlite/runs_page.sql",
        SCHEMA_VERSION_CREATE = "sqlite/schema_version_create.sql",
        SCHEMA_VERSION_EXISTS = "sqlite/schema_version_exists.sql",
        SCHEMA_VERSION_INSERT = "sqlite/schema_version_insert.sql",
        SCHEMA_VERSION_READ = "sqlite/schema_version_read.sql",
        SETTLEMENT_DONE = "sqlite/settlement_done.sql",
        SETTLEMENT_PUT = "sqlite/settlement_put.sql",
        SETTLEMENTS_PAGE = "sqlite/settlements_page.sql",
        STREAM_HEAD = "sqlite/stream_head.sql",
        STREAM_HEADS = "sqlite/stream_heads.sql",
        STREAM_PAGE = "sqlite/stream_page.sql",
        TABLES_EXIST = "sqlite/tables_exist.sql",
        TRANSACTION_BEGIN = "sqlite/transaction_begin.sql",
        TRANSACTION_COMMIT = "sqlite/transaction_commit.sql",
        TRANSACTION_ROLLBACK = "sqlite/transaction_rollback.sql",
        UNIT_BEGIN = "sqlite/unit_begin.sql",
        UNIT_KEEP = "sqlite/unit_keep.sql",
        UNIT_UNDO = "sqlite/unit_undo.sql",
        VIEW_CHUNK_COUNTED = "sqlite/view_chunk_counted.sql",
        VIEW_CHUNK_RECOVERED = "sqlite/view_chunk_recovered.sql",
        VIEW_CHUNK_SEEDED = "sqlite/view_chunk_seeded.sql",
        VIEW_CHUNK_STATUS = "sqlite/view_chunk_status.sql",
        VIEW_EXECUTION_SETTLED = "sqlite/view_execution_settled.sql",
        VIEW_FINDING_PUT = "sqlite/view_finding_put.sql",
        VIEW_OUTCOME_PUT = "sqlite/view_outcome_put.sql",
        VIEW_QUARANTINE_STATUS = "sqlite/view_quarantine_status.sql",
        VIEW_QUARANTINED = "sqlite/view_quarantined.sql",
        VIEW_RUN_JUDGED = "sqlite/view_run_judged.sql",
        VIEW_RUN_PLANNED = "sqlite/view_run_planned.sql",
        VIEW_RUN_STATUS = "sqlite/view_run_status.sql",
    }
}

/// The statements of the Postgres journal. All but those of the schema itself expect `tribunal` on the search path.
pub mod postgres {
    pub use super::Migration;

    /// All migrations, ascending from version 1.
    pub const MIGRATIONS: &[Migration] =
        &[Migration { version: 1, sql: include_str!("../sql/postgres/migrations/0001_journal.sql") }];

    statements! {
        BLOB_PUT = "postgres/blob_put.sql",
        BLOB_READ = "postgres/blob_read.sql",
        BLOB_REF_PUT = "postgres/blob_ref_put.sql",
        BLOBS_PUT = "postgres/blobs_put.sql",
        CHUNKS_READ = "postgres/chunks_read.sql",
        CURSOR_DROP = "postgres/cursor_drop.sql",
        CURSOR_PUT = "postgres/cursor_put.sql",
        DESIRED_PUT = "postgres/desired_put.sql",
        DOCTOR_RIGHTS = "postgres/doctor_rights.sql",
        DOCTOR_SERVER = "postgres/doctor_server.sql",
        EPOCH_NOTE = "postgres/epoch_note.sql",
        EPOCH_READ = "postgres/epoch_read.sql",
        EVENT_FIND = "postgres/event_find.sql",
        EVENTS_INSERT = "postgres/events_insert.sql",
        EXECUTIONS_PAGE = "postgres/executions_page.sql",
        FEED_ALL_ASCENDING = "postgres/feed_all_ascending.sql",
        FEED_ALL_DESCENDING = "postgres/feed_all_descending.sql",
        FEED_PLACE = "postgres/feed_place.sql",
        FEED_RUN_ASCENDING = "postgres/feed_run_ascending.sql",
        FEED_RUN_DESCENDING = "postgres/feed_run_descending.sql",
        FEED_STREAM_ASCENDING = "postgres/feed_stream_ascending.sql",
        FEED_STREAM_DESCENDING = "postgres/feed_stream_descending.sql",
        FINDINGS_READ = "postgres/findings_read.sql",
        HORIZON = "postgres/horizon.sql",
        INCARNATION_LOCK = "postgres/incarnation_lock.sql",
        INTENT_DONE = "postgres/intent_done.sql",
        INTENT_PUT = "postgres/intent_put.sql",
        INTENTS_PAGE = "postgres/intents_page.sql",
        LEASE_DELETE = "postgres/lease_delete.sql",
        LEASE_INSERT = "postgres/lease_insert.sql",
        LEASES_DUE = "postgres/leases_due.sql",
        LEASES_GUARD = "postgres/leases_guard.sql",
        LEASES_LOCK = "postgres/leases_lock.sql",
        LEASES_PLAIN = "postgres/leases_plain.sql",
        LEASES_RENEW = "postgres/leases_renew.sql",
        LEASES_RENEW_ALL = "postgres/leases_renew_all.sql",
        LEASES_REVOKE_DEAD = "postgres/leases_revoke_dead.sql",
        NOW = "postgres/now.sql",
        OUTBOX_CLAIM = "postgres/outbox_claim.sql",
        OUTBOX_CONFIRM = "postgres/outbox_confirm.sql",
        OUTBOX_PUT = "postgres/outbox_put.sql",
        OUTBOX_RESCHEDULE = "postgres/outbox_reschedule.sql",
        OUTCOMES_READ = "postgres/outcomes_read.sql",
        PLAN_DROP = "postgres/plan_drop.sql",
        PLAN_PAGE = "postgres/plan_page.sql",
        PLAN_PUT = "postgres/plan_put.sql",
        POISON_PUT = "postgres/poison_put.sql",
        PROGRESS_READ = "postgres/progress_read.sql",
        QUARANTINE_PAGE = "postgres/quarantine_page.sql",
        READY_DROP = "postgres/ready_drop.sql",
        READY_DUE = "postgres/ready_due.sql",
        READY_LANES = "postgres/ready_lanes.sql",
        READY_LOCK = "postgres/ready_lock.sql",
        READY_NEXT_DUE = "postgres/ready_next_due.sql",
        READY_OUTSTANDING = "postgres/ready_outstanding.sql",
        READY_PUBLISHED = "postgres/ready_published.sql",
        READY_PUT = "postgres/ready_put.sql",
        READY_TAKE = "postgres/ready_take.sql",
        READY_UNPUBLISH = "postgres/ready_unpublish.sql",
        READY_UNPUBLISH_ALL = "postgres/ready_unpublish_all.sql",
        RUN_READ = "postgres/run_read.sql",
        RUNS_PAGE = "postgres/runs_page.sql",
        SCHEMA_CREATE = "postgres/schema_create.sql",
        SCHEMA_LOCK = "postgres/schema_lock.sql",
        SCHEMA_VERSION_CREATE = "postgres/schema_version_create.sql",
        SCHEMA_VERSION_EXISTS = "postgres/schema_version_exists.sql",
        SCHEMA_VERSION_INSERT = "postgres/schema_version_insert.sql",
        SCHEMA_VERSION_READ = "postgres/schema_version_read.sql",
        SETTLEMENT_DONE = "postgres/settlement_done.sql",
        SETTLEMENT_PUT = "postgres/settlement_put.sql",
        SETTLEMENTS_PAGE = "postgres/settlements_page.sql",
        STREAM_HEADS = "postgres/stream_heads.sql",
        STREAM_HEADS_OF = "postgres/stream_heads_of.sql",
        STREAM_PAGE = "postgres/stream_page.sql",
        TRANSACTION_BEGIN = "postgres/transaction_begin.sql",
        TRANSACTION_COMMIT = "postgres/transaction_commit.sql",
        TRANSACTION_ROLLBACK = "postgres/transaction_rollback.sql",
        VIEW_CHUNK_COUNTED = "postgres/view_chunk_counted.sql",
        VIEW_CHUNK_RECOVERED = "postgres/view_chunk_recovered.sql",
        VIEW_CHUNK_SEEDED = "postgres/view_chunk_seeded.sql",
        VIEW_CHUNK_STATUS = "postgres/view_chunk_status.sql",
        VIEW_EXECUTION_SETTLED = "postgres/view_execution_settled.sql",
        VIEW_FINDING_PUT = "postgres/view_finding_put.sql",
        VIEW_OUTCOME_PUT = "postgres/view_outcome_put.sql",
        VIEW_QUARANTINE_STATUS = "postgres/view_quarantine_status.sql",
        VIEW_QUARANTINED = "postgres/view_quarantined.sql",
        VIEW_RUN_JUDGED = "postgres/view_run_judged.sql",
        VIEW_RUN_PLANNED = "postgres/view_run_planned.sql",
        VIEW_RUN_STATUS = "postgres/view_run_status.sql",
    }
}
