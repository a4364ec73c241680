//! The operator: what a person did, with who and why; one stream a deed.
//!
//! A deed changes nothing by itself but what people see of the quarantine: the
//! work it lets happen is decided on the streams of runs and chunks.

use crate::decider::{Decider, Illegal, Rejection, Step};
use crate::ports::journal::Row;
use tribunal_schema::events::{OperatorActed, OperatorEvent};
use tribunal_schema::units::InstantMs;
use tribunal_schema::view::{QuarantineStatus, ViewChange};

/// Letting executions out of quarantine.
pub const QUARANTINE_RELEASE: &str = "quarantine.release";
/// Giving executions in quarantine up.
pub const QUARANTINE_DISCARD: &str = "quarantine.discard";

/// The decider of operator streams.
#[derive(Clone, Copy, Debug)]
pub struct Operator;

/// What can be asked: record this deed.
#[derive(Clone, Debug)]
pub struct Act(pub OperatorActed);

impl Decider for Operator {
    type State = Option<OperatorActed>;
    type Command = Act;
    type Event = OperatorEvent;

    fn decide(state: &Option<OperatorActed>, Act(deed): &Act) -> Result<Vec<OperatorEvent>, Rejection> {
        match state {
            None if deed.by.is_empty() || deed.reason.is_empty() => {
                Err(Rejection::NotNow("a deed needs a name and a reason".into()))
            }
            None => Ok(vec![OperatorEvent::Acted(deed.clone())]),
            Some(known) if known == deed => Ok(vec![]),
            Some(known) => {
                Err(Rejection::Contradiction(format!("this deed is {} by {} already", known.action, known.by)))
            }
        }
    }

    fn evolve(
        state: Option<OperatorActed>,
        event: &OperatorEvent,
        _: InstantMs,
    ) -> Result<Option<OperatorActed>, Illegal> {
        let OperatorEvent::Acted(deed) = event;
        match state {
            None => Ok(Some(deed.clone())),
            Some(_) => Err(Illegal::new(event, "a deed is recorded once")),
        }
    }

    fn rows(_: &Step<'_, Operator>) -> Vec<Row> {
        vec![]
    }

    fn views(step: &Step<'_, Operator>) -> Vec<ViewChange> {
        let OperatorEvent::Acted(deed) = step.event;
        let status = match deed.action.as_str() {
            QUARANTINE_RELEASE => QuarantineStatus::Released,
            QUARANTINE_DISCARD => QuarantineStatus::Discarded,
            _ => return vec![],
        };
        let Some(run) = deed.run else { return vec![] };
        let changed = |execution: &_| ViewChange::QuarantineStatus { run, execution: *execution, status };
        deed.executions.iter().map(changed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed(by: &str, reason: &str) -> Act {
        Act(OperatorActed {
            by: by.into(),
            action: QUARANTINE_DISCARD.into(),
            run: None,
            executions: vec![],
            reason: reason.into(),
            changed: 0,
        })
    }

    #[test]
    fn a_deed_without_a_name_or_a_reason_is_refused() {
        assert!(Operator::decide(&None, &deed("", "why")).is_err());
        assert!(Operator::decide(&None, &deed("ada", "")).is_err());
        assert!(Operator::decide(&None, &deed("ada", "why")).is_ok_and(|events| events.len() == 1));
    }

    #[test]
    fn the_same_deed_again_is_nothing_and_another_one_contradicts() {
        let Act(done) = deed("ada", "why");
        assert_eq!(Operator::decide(&Some(done.clone()), &deed("ada", "why")), Ok(vec![]));
        assert!(Operator::decide(&Some(done), &deed("bob", "why")).is_err());
    }
}
