//! Views, written: each change of [`ViewChange`] as its statement. The rows must
//! equal what [`tribunal_schema::view::ViewFold`] makes of the same changes, so a
//! change of a row that does not exist changes nothing here too.

use super::columns::kept;
use super::statements::{Statement, values};
use super::unit::{Refusing, integer};
use crate::journal::touched::Touched;
use serde::Serialize;
use tribunal_actors::ports::journal::AppendError;
use tribunal_schema::canonical::canonical_text;
use tribunal_schema::ids::ChunkId;
use tribunal_schema::sql::postgres as sql;
use tribunal_schema::units::{InstantMs, ScorePpm};
use tribunal_schema::view::{ExecutionRow, ViewChange};

/// The statements of a change.
pub(super) fn statements(change: &ViewChange, now: InstantMs, touched: &mut Touched) -> Refusing<Vec<Statement>> {
    let statement = match change {
        ViewChange::RunPlanned { run, team, profile, profile_version, dataset, plan_digest, cases, executions } => {
            *touched = touched.and(Touched::RUN);
            let (team, profile) = (kept(team).into_owned(), kept(profile).into_owned());
            let (version, dataset) = (kept(profile_version).into_owned(), kept(dataset).into_owned());
            let (digest, cases, executions) = (plan_digest.bytes().to_vec(), integer(*cases)?, integer(*executions)?);
            let row = values![run.to_string(), team, profile, version, dataset, digest, cases, executions, now.0];
            Statement::new(sql::VIEW_RUN_PLANNED, row)
        }
        ViewChange::RunStatus { run, status, reason, ended } => {
            *touched = touched.and(Touched::RUN);
            let reason = reason.as_deref().map(|reason| kept(reason).into_owned());
            Statement::new(
                sql::VIEW_RUN_STATUS,
                values![run.to_string(), status.name(), reason, ended.then_some(now.0)],
            )
        }
        ViewChange::RunJudged { run, verdict, score_ppm } => {
            *touched = touched.and(Touched::RUN);
            Statement::new(sql::VIEW_RUN_JUDGED, values![run.to_string(), verdict.to_string(), ppm(*score_ppm)])
        }
        ViewChange::ChunkSeeded { chunk, executions } => {
            let executions = integer(*executions)?;
            Statement::new(sql::VIEW_CHUNK_SEEDED, values![chunk.run.to_string(), number(*chunk), executions])
        }
        ViewChange::ChunkStatus { chunk, status, term } => {
            let term = term.map(|term| integer(term.0)).transpose()?;
            Statement::new(sql::VIEW_CHUNK_STATUS, values![chunk.run.to_string(), number(*chunk), status.name(), term])
        }
        ViewChange::ChunkRecovered { chunk } => {
            Statement::new(sql::VIEW_CHUNK_RECOVERED, values![chunk.run.to_string(), number(*chunk)])
        }
        ViewChange::ExecutionSettled { chunk, row } => return Ok(execution_settled(*chunk, row)),
        ViewChange::Outcome(row) => {
            let outcome = canonical(&row.outcome)?;
            let binding = kept(&row.binding).into_owned();
            Statement::new(
                sql::VIEW_OUTCOME_PUT,
                values![row.run.to_string(), row.attempt.to_string(), binding, outcome],
            )
        }
        ViewChange::Finding(row) => {
            let (binding, finding) = (kept(&row.binding).into_owned(), canonical(&row.finding)?);
            let place = i64::from(row.index);
            Statement::new(
                sql::VIEW_FINDING_PUT,
                values![row.run.to_string(), row.attempt.to_string(), binding, place, finding],
            )
        }
        ViewChange::Quarantined { run, chunk, execution, attempt, reason } => {
            let (case, repeat) = (i64::from(execution.case), i64::from(execution.repeat));
            let reason = kept(reason).into_owned();
            let attempt = attempt.to_string();
            let row = values![run.to_string(), number(*chunk), case, repeat, attempt, reason, now.0];
            Statement::new(sql::VIEW_QUARANTINED, row)
        }
        ViewChange::QuarantineStatus { run, execution, status } => {
            let (case, repeat) = (i64::from(execution.case), i64::from(execution.repeat));
            Statement::new(sql::VIEW_QUARANTINE_STATUS, values![run.to_string(), case, repeat, status.name()])
        }
    };
    Ok(vec![statement])
}

fn execution_settled(chunk: ChunkId, row: &ExecutionRow) -> Vec<Statement> {
    let outcome = row.outcome.name();
    let counted = values![chunk.run.to_string(), number(chunk), outcome];
    let settled = values![
        row.run.to_string(),
        i64::from(row.execution.case),
        i64::from(row.execution.repeat),
        row.attempt.map(|attempt| attempt.to_string()),
        outcome,
        ppm(row.score_ppm),
        row.failure.map(|class| class.name()),
    ];
    vec![Statement::new(sql::VIEW_CHUNK_COUNTED, counted), Statement::new(sql::VIEW_EXECUTION_SETTLED, settled)]
}

fn ppm(score: Option<ScorePpm>) -> Option<i64> {
    score.map(|score| i64::from(score.ppm()))
}

fn number(chunk: ChunkId) -> i64 {
    i64::from(chunk.number)
}

fn canonical<T: Serialize>(value: &T) -> Refusing<String> {
    canonical_text(value).map_err(|error| AppendError::Invalid(error.to_string()))
}
