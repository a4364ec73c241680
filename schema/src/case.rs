//! Cases: what a dataset is made of, as they travel to the target and to the evaluators.
//! Reading them from files, with line and column, is the business of the package `tribunal`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One case of a dataset. Its JSON values keep every digit of every number
/// (`1.10` stays `1.10`, `9007199254740993` stays itself).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Unique in its dataset: given, or made from the content.
    pub id: String,
    /// A text (one user message), a list of chat messages, or any other JSON value.
    pub input: Value,
    /// What a right answer holds; a list means that any of its entries will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// Material that belongs to the case, for evaluators and body templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// What kind of task this is; groups match on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The group the dataset names for the case; a profile's group of that name takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Labels for filters and gate rules; sorted, without repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Everything else the dataset had.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// The cases of one chunk, as they are kept in a blob.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CasePage {
    /// In dataset order.
    pub cases: Vec<Case>,
}
