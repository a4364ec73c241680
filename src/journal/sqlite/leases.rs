//! Leases: time-bounded authority over chunks, as rows.
//!
//! A lease is live while now < `expires_at`, which is never after its hard
//! deadline. The instant itself is over: at `expires_at` the guard refuses and
//! the expiry may come, and no instant belongs to both.

use super::columns::{self, after, integer};
use super::coordinator::Transaction;
use super::error::Stop;
use super::rows::execute;
use crate::journal::touched::Touched;
use crate::journal::words;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tribunal_actors::ports::journal::{LeaseRow, Refusal, Renewal, StaleReason};
use tribunal_schema::ids::{ChunkId, GrantId, Incarnation};
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm};

struct Lease {
    term: LeaseTerm,
    grant: GrantId,
    expires_at: InstantMs,
    hard_deadline_at: InstantMs,
}

/// Refuses unless the chunk's lease is live and is this one.
pub(super) fn check_live(
    transaction: &Transaction<'_>,
    chunk: ChunkId,
    term: LeaseTerm,
    grant: GrantId,
) -> Result<(), Stop> {
    let stale = |reason| Err(Refusal::StaleLease { chunk, term, reason }.into());
    let Some(lease) = read(transaction, chunk)? else {
        return stale(StaleReason::Ended);
    };
    if lease.term != term || lease.grant != grant {
        return stale(StaleReason::Replaced);
    }
    if transaction.now >= lease.hard_deadline_at {
        return stale(StaleReason::DeadlineReached);
    }
    if transaction.now >= lease.expires_at {
        return stale(StaleReason::Expired);
    }
    Ok(())
}

/// Grants a lease for two durations from now: without renewal, and at most.
pub(super) fn grant(
    transaction: &Transaction<'_>,
    chunk: ChunkId,
    term: LeaseTerm,
    grant: GrantId,
    holder: Incarnation,
    (lease, hard_deadline): (DurationMs, DurationMs),
) -> Result<(), Stop> {
    if let Some(held) = read(transaction, chunk)? {
        return Err(Refusal::LeaseHeld { chunk, term: held.term }.into());
    }
    transaction.touch(Touched::READY);
    let hard_deadline_at = after(transaction.now, hard_deadline);
    let row = params![
        chunk.run.to_string(),
        chunk.number,
        integer(term.0)?,
        grant.to_string(),
        holder.to_string(),
        after(transaction.now, lease).min(hard_deadline_at),
        hard_deadline_at,
    ];
    execute(transaction, sql::LEASE_INSERT, row).map(drop)
}

/// The holder ends its lease.
pub(super) fn end(transaction: &Transaction<'_>, chunk: ChunkId, term: LeaseTerm) -> Result<(), Stop> {
    of_term(transaction, chunk, term)?;
    delete(transaction, chunk)
}

/// Time ends a lease.
pub(super) fn expire(transaction: &Transaction<'_>, chunk: ChunkId, term: LeaseTerm) -> Result<(), Stop> {
    let lease = of_term(transaction, chunk, term)?;
    if transaction.now < lease.expires_at {
        return Err(Refusal::LeaseLive { chunk, term }.into());
    }
    delete(transaction, chunk)
}

/// A cancellation ends a lease, if there is one.
pub(super) fn revoke(transaction: &Transaction<'_>, chunk: ChunkId) -> Result<(), Stop> {
    transaction.touch(Touched::LEASE);
    delete(transaction, chunk)
}

/// Renews the live leases of a holder.
pub(super) fn renew(
    transaction: &Transaction<'_>,
    holder: Incarnation,
    lease: DurationMs,
) -> Result<Vec<Renewal>, Stop> {
    let until = params![holder.to_string(), after(transaction.now, lease), transaction.now.0];
    let mut renewals = columns::rows(transaction.connection, sql::LEASES_RENEW, until, |row| {
        Ok(Renewal {
            chunk: columns::chunk(row, 0)?,
            term: LeaseTerm(columns::count(row, 2)?),
            desired: columns::word(row, 3, words::desired_named)?,
        })
    })?;
    renewals.sort_unstable_by_key(|renewal| renewal.chunk);
    Ok(renewals)
}

/// Ends the time of every lease of another holder.
pub(super) fn revoke_others(transaction: &Transaction<'_>, holder: Incarnation) -> Result<u64, Stop> {
    let ended = execute(transaction, sql::LEASES_REVOKE_OTHERS, params![holder.to_string(), transaction.now.0])?;
    if ended > 0 {
        transaction.touch(Touched::LEASE);
    }
    Ok(ended as u64)
}

/// Leases whose time is over.
pub(super) fn due(connection: &Connection, limit: u32) -> rusqlite::Result<Vec<LeaseRow>> {
    let now = columns::now(connection)?;
    columns::rows(connection, sql::LEASES_DUE, params![now.0, limit], lease_row)
}

fn lease_row(row: &Row<'_>) -> rusqlite::Result<LeaseRow> {
    Ok(LeaseRow {
        chunk: columns::chunk(row, 0)?,
        term: LeaseTerm(columns::count(row, 2)?),
        grant: columns::parsed(row, 3)?,
        holder: columns::parsed(row, 4)?,
        expires_at: InstantMs(row.get(5)?),
        hard_deadline_at: InstantMs(row.get(6)?),
    })
}

/// The chunk's lease, refusing unless it has this term.
fn of_term(transaction: &Transaction<'_>, chunk: ChunkId, term: LeaseTerm) -> Result<Lease, Stop> {
    let stale = |reason| Stop::from(Refusal::StaleLease { chunk, term, reason });
    match read(transaction, chunk)? {
        None => Err(stale(StaleReason::Ended)),
        Some(lease) if lease.term != term => Err(stale(StaleReason::Replaced)),
        Some(lease) => Ok(lease),
    }
}

fn read(transaction: &Transaction<'_>, chunk: ChunkId) -> Result<Option<Lease>, Stop> {
    let lease = transaction
        .connection
        .prepare_cached(sql::LEASE_READ)?
        .query_row(params![chunk.run.to_string(), chunk.number], |row| {
            Ok(Lease {
                term: LeaseTerm(columns::count(row, 0)?),
                grant: columns::parsed(row, 1)?,
                expires_at: InstantMs(row.get(2)?),
                hard_deadline_at: InstantMs(row.get(3)?),
            })
        })
        .optional()?;
    Ok(lease)
}

fn delete(transaction: &Transaction<'_>, chunk: ChunkId) -> Result<(), Stop> {
    execute(transaction, sql::LEASE_DELETE, params![chunk.run.to_string(), chunk.number]).map(drop)
}
