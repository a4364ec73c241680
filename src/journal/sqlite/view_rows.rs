//! Views, read: rows of the database as the rows of [`tribunal_schema::view`].

use super::columns::{chunk as chunk_id, count, digest, execution as execution_key, json, parsed, parsed_optional};
use super::columns::{word, word_optional};
use crate::journal::words::{failure_named, outcome_named, verdict_named};
use rusqlite::Row;
use tribunal_actors::ports::journal::Progress;
use tribunal_schema::units::{InstantMs, LeaseTerm, ScorePpm};
use tribunal_schema::view::{ChunkRow, ChunkStatus, ExecutionRow, FindingRow, OutcomeRow};
use tribunal_schema::view::{QuarantineRow, QuarantineStatus, RunRow, RunStatus};

/// A row of `runs`.
pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        run: parsed(row, 0)?,
        team: row.get(1)?,
        profile: row.get(2)?,
        profile_version: row.get(3)?,
        dataset: row.get(4)?,
        plan_digest: digest(row, 5)?,
        cases: count(row, 6)?,
        executions: count(row, 7)?,
        status: word(row, 8, RunStatus::named)?,
        reason: row.get(9)?,
        verdict: word_optional(row, 10, verdict_named)?,
        score_ppm: score(row, 11)?,
        created_at: InstantMs(row.get(12)?),
        ended_at: row.get::<_, Option<i64>>(13)?.map(InstantMs),
    })
}

/// A row of `chunks`.
pub(super) fn chunk(row: &Row<'_>) -> rusqlite::Result<ChunkRow> {
    Ok(ChunkRow {
        chunk: chunk_id(row, 0)?,
        status: word(row, 2, ChunkStatus::named)?,
        term: LeaseTerm(count(row, 3)?),
        recoveries: row.get(4)?,
        executions: count(row, 5)?,
        passed: count(row, 6)?,
        failed: count(row, 7)?,
        errored: count(row, 8)?,
        abstained: count(row, 9)?,
    })
}

/// The sums of `chunks`.
pub(super) fn progress(row: &Row<'_>) -> rusqlite::Result<Progress> {
    Ok(Progress {
        executions: count(row, 0)?,
        passed: count(row, 1)?,
        failed: count(row, 2)?,
        errored: count(row, 3)?,
        abstained: count(row, 4)?,
    })
}

/// A row of `executions`.
pub(super) fn execution(row: &Row<'_>) -> rusqlite::Result<ExecutionRow> {
    Ok(ExecutionRow {
        run: parsed(row, 0)?,
        execution: execution_key(row, 1)?,
        attempt: parsed_optional(row, 3)?,
        outcome: word(row, 4, outcome_named)?,
        score_ppm: score(row, 5)?,
        failure: word_optional(row, 6, failure_named)?,
    })
}

/// A row of `outcomes`.
pub(super) fn outcome(row: &Row<'_>) -> rusqlite::Result<OutcomeRow> {
    Ok(OutcomeRow { run: parsed(row, 0)?, attempt: parsed(row, 1)?, binding: row.get(2)?, outcome: json(row, 3)? })
}

/// A row of `findings`.
pub(super) fn finding(row: &Row<'_>) -> rusqlite::Result<FindingRow> {
    Ok(FindingRow {
        run: parsed(row, 0)?,
        attempt: parsed(row, 1)?,
        binding: row.get(2)?,
        index: row.get(3)?,
        finding: json(row, 4)?,
    })
}

/// A row of `quarantine`.
pub(super) fn quarantine(row: &Row<'_>) -> rusqlite::Result<QuarantineRow> {
    Ok(QuarantineRow {
        run: parsed(row, 0)?,
        chunk: chunk_id(row, 0)?,
        execution: execution_key(row, 2)?,
        attempt: parsed(row, 4)?,
        reason: row.get(5)?,
        status: word(row, 6, QuarantineStatus::named)?,
        since: InstantMs(row.get(7)?),
    })
}

fn score(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<ScorePpm>> {
    let Some(ppm) = row.get::<_, Option<u32>>(index)? else { return Ok(None) };
    let out_of_range = rusqlite::Error::IntegralValueOutOfRange(index, i64::from(ppm));
    ScorePpm::new(ppm).map(Some).ok_or(out_of_range)
}
