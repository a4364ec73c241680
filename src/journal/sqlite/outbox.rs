//! The pages that supervisors work off: outbox, settlements, intents, plan rows.

use super::columns::{self, after, integer};
use super::coordinator::Transaction;
use super::error::Stop;
use super::rows::execute;
use crate::journal::touched::Touched;
use crate::journal::words;
use rusqlite::{Connection, params};
use tribunal_actors::ports::journal::{Intent, IntentKind, OutboxMessage, OutboxRow, PlanRow};
use tribunal_actors::ports::journal::{Settlement, SettlementRow};
use tribunal_schema::ids::{ChunkId, ClaimToken, RunId};
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::{DurationMs, Version};

/// Claims available messages, oldest first, until `window` is over.
pub(super) fn claim(
    transaction: &Transaction<'_>,
    token: ClaimToken,
    window: DurationMs,
    only: Option<RunId>,
    limit: u32,
) -> Result<Vec<OutboxRow>, Stop> {
    let claim = params![
        token.to_string(),
        after(transaction.now, window),
        transaction.now.0,
        limit,
        only.map(|run| run.to_string())
    ];
    let mut claimed = columns::rows(transaction.connection, sql::OUTBOX_CLAIM, claim, |row| {
        let message = OutboxMessage { dedupe_key: row.get(2)?, routing_key: row.get(3)?, body: row.get(4)? };
        Ok(OutboxRow { id: columns::count(row, 0)?, attempts: row.get(1)?, message })
    })?;
    // RETURNING promises no order.
    claimed.sort_unstable_by_key(|row| row.id);
    Ok(claimed)
}

/// Deletes messages that the token still holds.
pub(super) fn confirm(transaction: &Transaction<'_>, token: ClaimToken, ids: &[u64]) -> Result<u64, Stop> {
    let token = token.to_string();
    let mut deleted = 0;
    for id in ids {
        deleted += execute(transaction, sql::OUTBOX_CONFIRM, params![integer(*id)?, token])?;
    }
    Ok(deleted as u64)
}

/// Gives back messages that the token still holds.
pub(super) fn reschedule(
    transaction: &Transaction<'_>,
    token: ClaimToken,
    ids: &[u64],
    delay: DurationMs,
) -> Result<u64, Stop> {
    let token = token.to_string();
    let available_at = after(transaction.now, delay);
    let mut given = 0;
    for id in ids {
        given += execute(transaction, sql::OUTBOX_RESCHEDULE, params![integer(*id)?, token, available_at])?;
    }
    if given > 0 {
        transaction.touch(Touched::OUTBOX);
    }
    Ok(given as u64)
}

/// Settlements, oldest first.
pub(super) fn settlements(connection: &Connection, limit: u32) -> rusqlite::Result<Vec<SettlementRow>> {
    columns::rows(connection, sql::SETTLEMENTS_PAGE, [limit], |row| {
        let settlement = Settlement {
            chunk: columns::chunk(row, 0)?,
            version: Version(columns::count(row, 2)?),
            end: columns::word(row, 3, words::end_named)?,
            tally: columns::json(row, 4)?,
        };
        Ok(SettlementRow { settlement, digest: columns::digest(row, 5)? })
    })
}

/// Takes a settlement away unless a higher one has come.
pub(super) fn settlement_done(transaction: &Transaction<'_>, chunk: ChunkId, version: Version) -> Result<(), Stop> {
    let key = params![chunk.run.to_string(), chunk.number, integer(version.0)?];
    execute(transaction, sql::SETTLEMENT_DONE, key).map(drop)
}

/// Intents of a kind, oldest first.
pub(super) fn intents(connection: &Connection, kind: IntentKind, limit: u32) -> rusqlite::Result<Vec<Intent>> {
    columns::rows(connection, sql::INTENTS_PAGE, params![kind.name(), limit], |row| {
        Ok(Intent { run: columns::parsed(row, 0)?, kind })
    })
}

/// Plan rows of a run by chunk.
pub(super) fn plan_rows(
    connection: &Connection,
    run: RunId,
    after: Option<ChunkId>,
    limit: u32,
) -> rusqlite::Result<Vec<PlanRow>> {
    // Chunks are numbered from 0: -1 is before all of them.
    let after = after.map_or(-1, |chunk| i64::from(chunk.number));
    columns::rows(connection, sql::PLAN_PAGE, params![run.to_string(), after, limit], |row| {
        Ok(PlanRow { chunk: ChunkId { run, number: row.get(0)? }, seeded: row.get(1)? })
    })
}

/// Keeps a message that cannot be understood.
pub(super) fn poison_put(transaction: &Transaction<'_>, body: &[u8], reason: &str) -> Result<(), Stop> {
    execute(transaction, sql::POISON_PUT, params![body, reason, transaction.now.0]).map(drop)
}
