//! Views, read: rows of the database as the rows of [`tribunal_schema::view`].

use super::columns::{
    chunk as chunk_id, count, digest, execution as execution_key, json, parsed, parsed_optional, plain,
};
use super::columns::{text, text_optional, word, word_optional};
use crate::journal::words::{failure_named, outcome_named, verdict_named};
use tokio_postgres::Row;
use tribunal_actors::ports::journal::{Failure, Progress};
use tribunal_schema::units::{InstantMs, LeaseTerm, ScorePpm};
use tribunal_schema::view::{ChunkRow, ChunkStatus, ExecutionRow, FindingRow, OutcomeRow};
use tribunal_schema::view::{QuarantineRow, QuarantineStatus, RunRow, RunStatus};

/// A row of `runs`.
pub(super) fn run(row: &Row) -> Result<RunRow, Failure> {
    Ok(RunRow {
        run: parsed(row, 0)?,
        team: text(row, 1)?,
        profile: text(row, 2)?,
        profile_version: text(row, 3)?,
        dataset: text(row, 4)?,
        plan_digest: digest(row, 5)?,
        cases: count(row, 6)?,
        executions: count(row, 7)?,
        status: word(row, 8, RunStatus::named)?,
        reason: text_optional(row, 9)?,
        verdict: word_optional(row, 10, verdict_named)?,
        score_ppm: score(row, 11)?,
        created_at: InstantMs(plain(row, 12)?),
        ended_at: plain::<Option<i64>>(row, 13)?.map(InstantMs),
    })
}

/// A row of `chunks`.
pub(super) fn chunk(row: &Row) -> Result<ChunkRow, Failure> {
    Ok(ChunkRow {
        chunk: chunk_id(row, 0)?,
        status: word(row, 2, ChunkStatus::named)?,
        term: LeaseTerm(count(row, 3)?),
        recoveries: count(row, 4)?,
        executions: count(row, 5)?,
        passed: count(row, 6)?,
        failed: count(row, 7)?,
        errored: count(row, 8)?,
        abstained: count(row, 9)?,
    })
}

/// The sums of `chunks`.
pub(super) fn progress(row: &Row) -> Result<Progress, Failure> {
    Ok(Progress {
        executions: count(row, 0)?,
        passed: count(row, 1)?,
        failed: count(row, 2)?,
        errored: count(row, 3)?,
        abstained: count(row, 4)?,
    })
}

/// A row of `executions`.
pub(super) fn execution(row: &Row) -> Result<ExecutionRow, Failure> {
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
pub(super) fn outcome(row: &Row) -> Result<OutcomeRow, Failure> {
    Ok(OutcomeRow { run: parsed(row, 0)?, attempt: parsed(row, 1)?, binding: text(row, 2)?, outcome: json(row, 3)? })
}

/// A row of `findings`.
pub(super) fn finding(row: &Row) -> Result<FindingRow, Failure> {
    Ok(FindingRow {
        run: parsed(row, 0)?,
        attempt: parsed(row, 1)?,
        binding: text(row, 2)?,
        index: count(row, 3)?,
        finding: json(row, 4)?,
    })
}

/// A row of `quarantine`.
pub(super) fn quarantine(row: &Row) -> Result<QuarantineRow, Failure> {
    Ok(QuarantineRow {
        run: parsed(row, 0)?,
        chunk: chunk_id(row, 0)?,
        execution: execution_key(row, 2)?,
        attempt: parsed(row, 4)?,
        reason: text(row, 5)?,
        status: word(row, 6, QuarantineStatus::named)?,
        since: InstantMs(plain(row, 7)?),
    })
}

fn score(row: &Row, index: usize) -> Result<Option<ScorePpm>, Failure> {
    let Some(ppm) = plain::<Option<i64>>(row, index)? else { return Ok(None) };
    let score = u32::try_from(ppm).ok().and_then(ScorePpm::new);
    score.map(Some).ok_or_else(|| Failure::new(format!("a score of {ppm} parts per million")))
}
