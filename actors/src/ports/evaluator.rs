//! The evaluator port: the examination of one answer by all bindings of its group.

use async_trait::async_trait;
use std::sync::Arc;
use tribunal_schema::answer::Answer;
use tribunal_schema::case::Case;
use tribunal_schema::evaluation::{EvaluationError, QuestionReply, Report};
use tribunal_schema::profile::Profile;

/// One answer to be examined.
#[derive(Clone, Debug)]
pub struct Examination {
    /// The profile whose bindings examine.
    pub profile: Arc<Profile>,
    /// The index of the case's group.
    pub group: u16,
    /// The case.
    pub case: Arc<Case>,
    /// The answer.
    pub answer: Arc<Answer>,
    /// The recorded latency in milliseconds.
    pub latency_ms: u64,
    /// Replies of the judge so far, per binding in the group's order; empty on the first round.
    pub replies: Vec<Vec<QuestionReply>>,
}

/// What one binding returned.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Its report, or why there is none.
    pub result: Result<Report, EvaluationError>,
    /// The fuel it used; equal for an equal request on every machine.
    pub fuel: u64,
}

/// The evaluators of this process.
#[async_trait]
pub trait Evaluators: Send + Sync {
    /// Examines one answer with every binding of its group, in the group's order;
    /// the result has one entry per binding. One binding's failure is its own.
    /// Waits for the process-wide limit of live instances.
    async fn examine(&self, examination: Examination) -> Vec<Examined>;
}
