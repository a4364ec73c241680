//! Guards and rows: what must hold in a unit's transaction, and the small
//! tables that change with its events.
//!
//! SQLite has one writer at a time, so that reading a lease inside the
//! transaction excludes its grant, expiry and release by itself. Leases are in
//! [`super::leases`].

use super::columns::{after, integer};
use super::coordinator::Transaction;
use super::error::Stop;
use super::{leases, unit};
use crate::journal::touched::Touched;
use crate::journal::words::{desired_name, end_name};
use rusqlite::{ErrorCode, OptionalExtension, ffi, params};
use tribunal_actors::ports::journal::{Desired, Guard, OutboxMessage, PlanRow, Refusal, Row, Settlement};
use tribunal_schema::Digest;
use tribunal_schema::canonical::canonical_text;
use tribunal_schema::envelope::Origin;
use tribunal_schema::ids::{ChunkId, RunId, StreamId};
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::{ReadySeq, Version};

/// Refuses unless the guard holds now.
pub(super) fn check_guard(transaction: &Transaction<'_>, guard: &Guard) -> Result<(), Stop> {
    match guard {
        Guard::Lease { chunk, term, grant } => leases::check_live(transaction, *chunk, *term, *grant),
        Guard::Attempt { attempt, version } => unit::check_version(transaction, &StreamId::Attempt(*attempt), *version),
    }
}

/// Writes a row.
pub(super) fn write(transaction: &Transaction<'_>, origin: &Origin, row: &Row) -> Result<(), Stop> {
    match row {
        Row::ReadyPut { chunk, ready_seq, lane, due_in } => {
            transaction.touch(Touched::READY);
            let due_at = after(transaction.now, *due_in);
            let seq = integer(ready_seq.0)?;
            execute(transaction, sql::READY_PUT, params![chunk.run.to_string(), chunk.number, seq, lane, due_at])
                .map(drop)
        }
        Row::ReadyTake { chunk, ready_seq } => {
            transaction.touch(Touched::READY);
            let key = params![chunk.run.to_string(), chunk.number, integer(ready_seq.0)?];
            let taken = execute(transaction, sql::READY_TAKE, key)?;
            refuse_superseded(taken, *chunk, *ready_seq)
        }
        Row::ReadyPublished { chunk, ready_seq } => {
            let seq = integer(ready_seq.0)?;
            let key = params![chunk.run.to_string(), chunk.number, seq, transaction.now.0];
            let noted = execute(transaction, sql::READY_PUBLISHED, key)?;
            refuse_superseded(noted, *chunk, *ready_seq)
        }
        Row::ReadyDrop { chunk } => {
            transaction.touch(Touched::READY);
            execute(transaction, sql::READY_DROP, params![chunk.run.to_string(), chunk.number]).map(drop)
        }
        Row::LeaseGrant { chunk, term, grant, holder, lease, hard_deadline } => {
            leases::grant(transaction, *chunk, *term, *grant, *holder, (*lease, *hard_deadline))
        }
        Row::LeaseEnd { chunk, term } => leases::end(transaction, *chunk, *term),
        Row::LeaseExpire { chunk, term } => leases::expire(transaction, *chunk, *term),
        Row::LeaseRevoke { chunk } => leases::revoke(transaction, *chunk),
        Row::OutboxPut(message) => outbox_put(transaction, origin, message),
        Row::SettlementPut(settlement) => settlement_put(transaction, settlement),
        Row::IntentPut { run, kind } => {
            transaction.touch(Touched::INTENT);
            execute(transaction, sql::INTENT_PUT, params![run.to_string(), kind.name(), transaction.now.0]).map(drop)
        }
        Row::IntentDone { run, kind } => {
            execute(transaction, sql::INTENT_DONE, params![run.to_string(), kind.name()]).map(drop)
        }
        Row::PlanPut(row) => plan_put(transaction, row),
        Row::PlanDrop { run } => execute(transaction, sql::PLAN_DROP, [run.to_string()]).map(drop),
        Row::CursorPut { run } => {
            transaction.touch(Touched::READY);
            execute(transaction, sql::CURSOR_PUT, [run.to_string()]).map(drop)
        }
        Row::CursorDrop { run } => execute(transaction, sql::CURSOR_DROP, [run.to_string()]).map(drop),
        Row::DesiredPut { run, desired, version } => desired_put(transaction, *run, *desired, *version),
        Row::BlobPut { digest, bytes } => blob_put(transaction, *digest, bytes),
        Row::BlobRef { digest, run } => blob_ref(transaction, *digest, *run),
    }
}

/// Executes a cached statement; gives how many rows changed.
pub(super) fn execute(
    transaction: &Transaction<'_>,
    statement: &str,
    params: impl rusqlite::Params,
) -> Result<usize, Stop> {
    Ok(transaction.connection.prepare_cached(statement)?.execute(params)?)
}

fn refuse_superseded(changed: usize, chunk: ChunkId, ready_seq: ReadySeq) -> Result<(), Stop> {
    match changed {
        0 => Err(Refusal::Superseded { chunk, ready_seq }.into()),
        _ => Ok(()),
    }
}

fn outbox_put(transaction: &Transaction<'_>, origin: &Origin, message: &OutboxMessage) -> Result<(), Stop> {
    transaction.touch(Touched::OUTBOX);
    let run = origin.run.map(|run| run.to_string());
    let row = params![message.dedupe_key, message.routing_key, message.body, transaction.now.0, run];
    execute(transaction, sql::OUTBOX_PUT, row).map(drop)
}

/// Puts a settlement with its pin: the digest of the chunk's stream at the version that it names.
fn settlement_put(transaction: &Transaction<'_>, settlement: &Settlement) -> Result<(), Stop> {
    transaction.touch(Touched::SETTLEMENT);
    let (chunk, version) = (settlement.chunk, settlement.version);
    let stream = StreamId::Chunk(chunk).to_string();
    let digest: Option<Vec<u8>> = transaction
        .connection
        .prepare_cached(sql::EVENT_DIGEST)?
        .query_row(params![stream, integer(version.0)?], |row| row.get(0))
        .optional()?;
    let digest = digest
        .ok_or_else(|| Stop::invalid(format!("chunk {chunk} settles at version {version}, which is not recorded")))?;
    let tally = canonical_text(&settlement.tally).map_err(|error| Stop::invalid(error.to_string()))?;
    let row = params![
        chunk.run.to_string(),
        chunk.number,
        integer(version.0)?,
        end_name(settlement.end),
        tally,
        digest,
        transaction.now.0
    ];
    execute(transaction, sql::SETTLEMENT_PUT, row).map(drop)
}

fn plan_put(transaction: &Transaction<'_>, row: &PlanRow) -> Result<(), Stop> {
    let (run, number) = (row.chunk.run.to_string(), row.chunk.number);
    if execute(transaction, sql::PLAN_PUT, params![run, number, row.seeded])? > 0 {
        return Ok(());
    }
    let known: String =
        transaction.connection.prepare_cached(sql::PLAN_READ)?.query_row(params![run, number], |row| row.get(0))?;
    match known == row.seeded {
        true => Ok(()),
        false => Err(Stop::invalid(format!("chunk {} is planned with other content", row.chunk))),
    }
}

fn desired_put(transaction: &Transaction<'_>, run: RunId, desired: Desired, version: Version) -> Result<(), Stop> {
    transaction.touch(Touched::READY);
    transaction.touch(Touched::DESIRED);
    let row = params![run.to_string(), desired_name(desired), integer(version.0)?];
    execute(transaction, sql::DESIRED_PUT, row).map(drop)
}

/// Keeps bytes under their digest; that they are its bytes was checked before the transaction.
pub(super) fn blob_put(transaction: &Transaction<'_>, digest: Digest, bytes: &[u8]) -> Result<(), Stop> {
    execute(transaction, sql::BLOB_PUT, params![digest.bytes(), bytes, transaction.now.0]).map(drop)
}

fn blob_ref(transaction: &Transaction<'_>, digest: Digest, run: RunId) -> Result<(), Stop> {
    let inserted =
        transaction.connection.prepare_cached(sql::BLOB_REF_PUT)?.execute(params![digest.bytes(), run.to_string()]);
    match inserted {
        Ok(_) => Ok(()),
        Err(rusqlite::Error::SqliteFailure(failure, _))
            if failure.code == ErrorCode::ConstraintViolation
                && failure.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY =>
        {
            Err(Refusal::MissingBlob(digest).into())
        }
        Err(error) => Err(error.into()),
    }
}
