//! Views, written: each change of [`ViewChange`] as its statement. The rows must
//! equal what [`tribunal_schema::view::ViewFold`] makes of the same changes, so a
//! change of a row that does not exist changes nothing here too.

use super::columns::integer;
use super::coordinator::Transaction;
use super::error::Stop;
use super::rows::execute;
use crate::journal::touched::Touched;
use rusqlite::params;
use serde::Serialize;
use tribunal_schema::canonical::canonical_text;
use tribunal_schema::ids::ChunkId;
use tribunal_schema::sql::sqlite as sql;
use tribunal_schema::units::ScorePpm;
use tribunal_schema::view::{ExecutionRow, FindingRow, ViewChange};

/// Writes a change.
pub(super) fn write(transaction: &Transaction<'_>, change: &ViewChange) -> Result<(), Stop> {
    let now = transaction.now.0;
    match change {
        ViewChange::RunPlanned { run, team, profile, profile_version, dataset, plan_digest, cases, executions } => {
            transaction.touch(Touched::RUN);
            let (run, digest) = (run.to_string(), plan_digest.bytes());
            let (cases, executions) = (integer(*cases)?, integer(*executions)?);
            let row = params![run, team, profile, profile_version, dataset, digest, cases, executions, now];
            execute(transaction, sql::VIEW_RUN_PLANNED, row)?;
        }
        ViewChange::RunStatus { run, status, reason, ended } => {
            transaction.touch(Touched::RUN);
            let row = params![run.to_string(), status.name(), reason, ended.then_some(now)];
            execute(transaction, sql::VIEW_RUN_STATUS, row)?;
        }
        ViewChange::RunJudged { run, verdict, score_ppm } => {
            transaction.touch(Touched::RUN);
            let row = params![run.to_string(), verdict.to_string(), score_ppm.map(ScorePpm::ppm)];
            execute(transaction, sql::VIEW_RUN_JUDGED, row)?;
        }
        ViewChange::ChunkSeeded { chunk, executions } => {
            let row = params![chunk.run.to_string(), chunk.number, integer(*executions)?];
            execute(transaction, sql::VIEW_CHUNK_SEEDED, row)?;
        }
        ViewChange::ChunkStatus { chunk, status, term } => {
            let term = term.map(|term| integer(term.0)).transpose()?;
            let row = params![chunk.run.to_string(), chunk.number, status.name(), term];
            execute(transaction, sql::VIEW_CHUNK_STATUS, row)?;
        }
        ViewChange::ChunkRecovered { chunk } => {
            execute(transaction, sql::VIEW_CHUNK_RECOVERED, params![chunk.run.to_string(), chunk.number])?;
        }
        ViewChange::ExecutionSettled { chunk, row } => execution_settled(transaction, *chunk, row)?,
        ViewChange::Outcome(row) => {
            let outcome = canonical(&row.outcome)?;
            let row = params![row.run.to_string(), row.attempt.to_string(), row.binding, outcome];
            execute(transaction, sql::VIEW_OUTCOME_PUT, row)?;
        }
        ViewChange::Finding(row) => finding(transaction, row)?,
        ViewChange::Quarantined { run, chunk, execution, attempt, reason } => {
            let (run, attempt) = (run.to_string(), attempt.to_string());
            let row = params![run, chunk.number, execution.case, execution.repeat, attempt, reason, now];
            execute(transaction, sql::VIEW_QUARANTINED, row)?;
        }
        ViewChange::QuarantineStatus { run, execution, status } => {
            let row = params![run.to_string(), execution.case, execution.repeat, status.name()];
            execute(transaction, sql::VIEW_QUARANTINE_STATUS, row)?;
        }
    }
    Ok(())
}

fn execution_settled(transaction: &Transaction<'_>, chunk: ChunkId, row: &ExecutionRow) -> Result<(), Stop> {
    let outcome = row.outcome.name();
    let counted = params![chunk.run.to_string(), chunk.number, outcome];
    execute(transaction, sql::VIEW_CHUNK_COUNTED, counted)?;
    let settled = params![
        row.run.to_string(),
        row.execution.case,
        row.execution.repeat,
        row.attempt.map(|attempt| attempt.to_string()),
        outcome,
        row.score_ppm.map(ScorePpm::ppm),
        row.failure.map(|class| class.name()),
    ];
    execute(transaction, sql::VIEW_EXECUTION_SETTLED, settled).map(drop)
}

fn finding(transaction: &Transaction<'_>, row: &FindingRow) -> Result<(), Stop> {
    let finding = canonical(&row.finding)?;
    let row = params![row.run.to_string(), row.attempt.to_string(), row.binding, row.index, finding];
    execute(transaction, sql::VIEW_FINDING_PUT, row).map(drop)
}

fn canonical<T: Serialize>(value: &T) -> Result<String, Stop> {
    canonical_text(value).map_err(|error| Stop::invalid(error.to_string()))
}
