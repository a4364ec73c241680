//! What people did, with who and why.

use super::events;
use crate::ids::{ExecutionKey, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A person changed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorActed {
    /// Who: the name the system knows the person by.
    pub by: String,
    /// What: `quarantine.release`, `quarantine.discard`.
    pub action: String,
    /// On which run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// On which executions of it; empty where the deed is about something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executions: Vec<ExecutionKey>,
    /// Why, in the person's words.
    pub reason: String,
    /// How many things really changed.
    pub changed: u64,
}

events!(
    /// Events of a deed of a person.
    OperatorEvent, "operator", {
        Acted(OperatorActed) = "operator.acted" v 1,
    }
);
