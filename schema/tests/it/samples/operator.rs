//! The deed of a person.

use super::{key, run_id};
use tribunal_schema::events::{OperatorActed, OperatorEvent};

pub fn samples() -> Vec<OperatorEvent> {
    vec![OperatorEvent::Acted(OperatorActed {
        by: "ada@example.org".into(),
        action: "quarantine.release".into(),
        run: Some(run_id()),
        executions: vec![key(3, 2)],
        reason: "the refund was not booked; the call is safe to make again".into(),
        changed: 1,
    })]
}
