//! The playbook: a script at work. It finds the rule for a call and keeps the
//! counts that `times` and `nth` ask about.

use crate::agent::call::Call;
use crate::agent::script::{Condition, Rule, Script};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A script and how often its parts were used.
#[derive(Debug, Default)]
pub(crate) struct Playbook {
    rules: Vec<Rule>,
    counts: Mutex<Counts>,
    counting: bool,
}

#[derive(Debug, Default)]
struct Counts {
    calls: HashMap<String, u32>,
    matches: HashMap<(usize, String), u32>,
}

impl Playbook {
    pub fn new(script: Script) -> Playbook {
        let counting = script.rules.iter().any(|rule| rule.times.is_some() || rule.condition.nth.is_some());
        Playbook { rules: script.rules, counts: Mutex::default(), counting }
    }

    /// The rule that answers a call, and counts the call. Nothing is counted for scripts that never ask.
    pub fn rule_for(&self, call: &Call, input: &str) -> Option<&Rule> {
        if !self.counting {
            return self.rules.iter().find(|rule| holds(&rule.condition, call, input, 0));
        }
        let execution = execution_of(call, input);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let nth = counts.calls.entry(execution.clone()).or_default();
        *nth += 1;
        let nth = *nth;
        self.rules.iter().enumerate().find_map(|(index, rule)| {
            if !holds(&rule.condition, call, input, nth) {
                return None;
            }
            if let Some(times) = rule.times {
                let used = counts.matches.entry((index, execution.clone())).or_default();
                if *used >= times {
                    return None;
                }
                *used += 1;
            }
            Some(rule)
        })
    }
}

/// Run, case and repeat in one key; a caller that names no case is known by what it asks.
fn execution_of(call: &Call, input: &str) -> String {
    let case = if call.case.is_empty() { input } else { &call.case };
    format!("{}\n{}\n{case}", call.run, call.repeat.unwrap_or(0))
}

fn holds(condition: &Condition, call: &Call, input: &str, nth: u32) -> bool {
    condition.case.as_ref().is_none_or(|case| *case == call.case)
        && condition.contains.as_ref().is_none_or(|text| input.contains(text.as_str()))
        && condition.regex.as_ref().is_none_or(|regex| regex.is_match(input))
        && condition.repeat.is_none_or(|repeat| call.repeat == Some(repeat))
        && condition.attempt.is_none_or(|number| call.attempt_number == Some(number))
        && condition.nth.is_none_or(|wanted| wanted == nth)
}
