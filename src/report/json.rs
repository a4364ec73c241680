//! The report for a machine: one object, its keys always in the same order.

use super::gather::RunReport;
use super::not_passed::{BindingNote, NotPassed};
use super::when::rfc3339;
use serde_json::{Map, Value, json};
use tribunal_actors::verdict::ScorecardRow;
use tribunal_schema::evaluation::Finding;
use tribunal_schema::json::JsonText;
use tribunal_schema::score::ConditionResult;

impl RunReport {
    /// The report as one object. Written compactly it is one line.
    pub fn json(&self) -> Value {
        let errors: Map<String, Value> =
            self.errors.iter().map(|(class, count)| (class.name().into(), Value::from(*count))).collect();
        json!({
            "run": self.run,
            "profile": self.profile.name,
            "profile_version": self.profile.version,
            "dataset": self.dataset,
            "filters": self.filters,
            "target": self.target,
            "status": self.status,
            "created_at": self.created_at.map(rfc3339),
            "ended_at": self.ended_at.map(rfc3339),
            "verdict": self.verdict,
            "reasons": self.reasons,
            "conditions": self.conditions.iter().map(condition).collect::<Vec<_>>(),
            "counts": self.counts,
            "errors": errors,
            "evaluator_errors": self.evaluator_errors,
            "target_calls": self.target_calls,
            "calls_maybe_repeated": self.calls_maybe_repeated,
            "score_ppm": self.score_ppm,
            "scorecard": self.scorecard.iter().map(dimension).collect::<Vec<_>>(),
            "not_passed": self.not_passed.iter().map(NotPassed::json).collect::<Vec<_>>(),
            "result_digest": self.result_digest,
            "journal_root": self.journal_root,
            "quarantined": self.quarantined,
            "resumable": self.is_resumable(),
        })
    }
}

fn condition(condition: &ConditionResult) -> Value {
    json!({
        "rule": condition.rule,
        "scope": condition.scope,
        "condition": condition.condition,
        "threshold_ppm": condition.threshold_ppm,
        "observed_ppm": condition.observed_ppm,
        "low_ppm": condition.low_ppm,
        "high_ppm": condition.high_ppm,
        "state": condition.state,
    })
}

fn dimension(row: &ScorecardRow) -> Value {
    json!({
        "group": row.group,
        "dimension": row.dimension,
        "population": row.population,
        "scored": row.scored,
        "passed": row.passed,
        "mean_ppm": row.mean_ppm,
        "pass_rate_ppm": row.pass_rate_ppm,
    })
}

impl NotPassed {
    fn json(&self) -> Value {
        json!({
            "case_id": self.case_id,
            "case": self.execution.case,
            "repeat": self.execution.repeat,
            "group": self.group,
            "outcome": self.outcome,
            "score_ppm": self.score_ppm,
            "failure": self.failure.as_ref().map(|(class, message)| json!({"class": class, "message": message})),
            "attempts": self.attempts,
            "bindings": self.bindings.iter().map(BindingNote::json).collect::<Vec<_>>(),
            "answer": self.answer,
        })
    }
}

impl BindingNote {
    fn json(&self) -> Value {
        json!({
            "binding": self.binding,
            "counts": self.counts,
            "outcome": self.outcome,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    }
}

/// A finding with its evidence as JSON and not as text of JSON.
pub(super) fn finding(finding: &Finding) -> Value {
    json!({
        "severity": finding.severity,
        "category": finding.category,
        "message": finding.message,
        "evidence": finding.evidence.as_ref().map(JsonText::value),
    })
}
