//! Tool calls: which were made, and with which arguments.
//!
//! What is expected of them is written in many ways: a name (`"refund"`), an
//! object (`{"tool": "refund", "arguments": {...}}`, also `name`, `args`, or
//! the `function` of a chat model), or `{"tool_calls": [...]}` with all that
//! must be made; an empty list there means that none may be made.

use crate::expected::of_case;
use crate::wit::{Failure, Request, ToolCall};
use serde_json::{Map, Value, json};

/// A call that must be made.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedCall {
    /// The tool's name.
    pub name: String,
    /// Its arguments, where they are told.
    pub arguments: Option<Value>,
}

/// One way of being right: all these calls.
pub type Calls = Vec<ExpectedCall>;

/// What the case expects: any of these ways. `None` where it expects nothing of tools.
pub fn of_the_case(request: &Request) -> Result<Option<Vec<Calls>>, Failure> {
    let Some(expected) = of_case(request)? else { return Ok(None) };
    let ways = match &expected {
        Value::Array(entries) => entries.iter().map(way).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            way(&expected).map(|way| vec![way])
        }
    };
    Ok(ways.filter(|ways: &Vec<Calls>| !ways.is_empty()))
}

/// The calls of one way of being right; `None` for what says nothing of tools.
fn way(value: &Value) -> Option<Calls> {
    if let Some(list) = value.get("tool_calls").or_else(|| value.get("tools")) {
        return match list {
            Value::Array(calls) => calls.iter().map(call).collect(),
            Value::Null => Some(Vec::new()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
        };
    }
    if value.get("tool").is_some_and(Value::is_null) {
        return Some(Vec::new());
    }
    call(value).map(|call| vec![call])
}

fn call(value: &Value) -> Option<ExpectedCall> {
    match value {
        Value::String(name) if !name.is_empty() => Some(ExpectedCall { name: name.clone(), arguments: None }),
        Value::Object(members) => object_call(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn object_call(members: &Map<String, Value>) -> Option<ExpectedCall> {
    if let Some(Value::Object(function)) = members.get("function") {
        return object_call(function);
    }
    let member = |names: &[&str]| names.iter().find_map(|name| members.get(*name));
    let name = member(&["tool", "name", "tool_name", "function"])?.as_str()?.to_owned();
    let arguments = member(&["arguments", "args", "parameters", "input"]).map(parsed);
    Some(ExpectedCall { name, arguments })
}

/// Arguments written as a text that holds an object, as chat models write them.
fn parsed(arguments: &Value) -> Value {
    let object = arguments.as_str().and_then(|text| serde_json::from_str(text).ok()).filter(Value::is_object);
    object.unwrap_or_else(|| arguments.clone())
}

/// The names of the calls that were made, in order.
fn names(calls: &[ToolCall]) -> Vec<Value> {
    calls.iter().map(|call| call.name.as_str().into()).collect()
}

/// `no tool`, `"a"`, `"a" and "b"`.
fn named(names: &[Value]) -> String {
    if names.is_empty() { "no tool".into() } else { crate::finding::listed(names, "and") }
}

/// `tool-called`: the right tools were called.
pub mod called {
    use super::{Calls, ExpectedCall, json, named, names, of_the_case};
    use crate::catalog::config;
    use crate::finding::{abstain, no, yes};
    use crate::wit::{Failure, Report, Request};
    use serde::Deserialize;
    use serde_json::Value;
    use std::collections::HashMap;

    /// One line for a person.
    pub const HELP: &str = "the answer calls the expected tools, whatever their arguments and order";

    /// JSON Schema of the configuration.
    pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "tool": {"type": "string", "minLength": 1, "description": "The tool; the case's expected where neither this nor any nor all is given: a name, {tool: x} or {tool_calls: [...]} (an empty list: no call at all)."},
    "any": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}, "description": "One of these tools is enough."},
    "all": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}, "description": "Each of these tools is needed; a name that is there twice, twice."},
    "only": {"type": "boolean", "default": false, "description": "Whether any further call is a no."}
  }
}"#;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        tool: Option<String>,
        any: Option<Vec<String>>,
        all: Option<Vec<String>>,
        #[serde(default)]
        only: bool,
    }

    impl Config {
        /// The ways of being right, where the configuration has any.
        fn ways(&self) -> Option<Vec<Calls>> {
            let call = |name: &String| ExpectedCall { name: name.clone(), arguments: None };
            let all: Calls = self.all.iter().flatten().chain(&self.tool).map(call).collect();
            match &self.any {
                Some(any) => Some(any.iter().map(|one| [&all[..], &[call(one)]].concat()).collect()),
                None => (!all.is_empty()).then(|| vec![all]),
            }
        }
    }

    /// The examination.
    pub fn evaluate(request: &Request) -> Result<Report, Failure> {
        let config: Config = config(request)?;
        let ways = match config.ways() {
            Some(ways) => Some(ways),
            None => of_the_case(request)?,
        };
        let Some(ways) = ways else {
            return abstain("neither the case's expected nor the configuration names a tool");
        };
        let mut made: HashMap<&str, usize> = HashMap::new();
        for call in &request.answer.tool_calls {
            *made.entry(&call.name).or_default() += 1;
        }
        let called = names(&request.answer.tool_calls);
        if let Some(way) = ways.iter().find(|way| is_made(way, &made, called.len(), config.only)) {
            let evidence = json!({ "called": called });
            let message = if way.is_empty() {
                "no tool was called, as expected".into()
            } else {
                format!("the answer calls {}", named(&called))
            };
            return yes("called-tool", message, evidence);
        }
        let wanted: Vec<String> = ways.iter().take(5).map(|way| described(way)).collect();
        let only = if config.only { "only " } else { "" };
        let message =
            format!("expected {only}a call of {}, the answer calls {}", wanted.join(", or of "), named(&called));
        let message = message.replace("a call of no tool", "no tool call");
        no("wrong-tool", message, json!({ "expected": wanted, "called": called }))
    }

    fn is_made(way: &Calls, made: &HashMap<&str, usize>, calls: usize, only: bool) -> bool {
        if way.is_empty() {
            return calls == 0;
        }
        let mut wanted: HashMap<&str, usize> = HashMap::new();
        for call in way {
            *wanted.entry(&call.name).or_default() += 1;
        }
        let enough = wanted.iter().all(|(name, count)| made.get(name).is_some_and(|made| made >= count));
        enough && (!only || calls == way.len())
    }

    fn described(way: &Calls) -> String {
        named(&way.iter().map(|call| Value::from(call.name.as_str())).collect::<Vec<_>>())
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::testing::{Given, abstained, measured, message};

        const TWO: &[(&str, &str)] = &[("search", "{}"), ("refund", r#"{"order":7}"#)];

        #[test]
        fn every_way_of_naming_a_tool_is_understood() {
            for (expected, called) in [
                (r#""refund""#, true),
                (r#"{"tool":"refund"}"#, true),
                (r#"{"name":"refund","arguments":{"order":8}}"#, true),
                (r#"{"tool_calls":[{"name":"refund"},{"name":"search"}]}"#, true),
                (r#"{"tool_calls":[{"type":"function","function":{"name":"refund","arguments":"{}"}}]}"#, true),
                (r#"{"tools":["refund","cancel"]}"#, false),
                (r#"["cancel","refund"]"#, true),
                (r#""cancel""#, false),
                (r#"{"tool_calls":[]}"#, false),
            ] {
                assert_eq!(measured(Given::calls(TWO).expected(expected).run(evaluate)), called, "{expected}");
            }
        }

        #[test]
        fn the_configuration_goes_before_the_case() {
            let with = |config: &str| measured(Given::calls(TWO).expected(r#""cancel""#).config(config).run(evaluate));
            assert!(with(r#"{"tool":"refund"}"#));
            assert!(with(r#"{"any":["cancel","refund"]}"#));
            assert!(!with(r#"{"all":["cancel","refund"]}"#));
            assert!(with(r#"{"all":["refund","search"],"only":true}"#));
            assert!(!with(r#"{"tool":"refund","only":true}"#));
            assert!(!with(r#"{"all":["refund","refund"]}"#));
        }

        #[test]
        fn no_call_is_a_no_where_one_is_expected_and_a_yes_where_none_is() {
            let silent = |expected: &str| Given::text("Sure!").expected(expected).run(evaluate);
            assert_eq!(message(silent(r#""refund""#)), r#"expected a call of "refund", the answer calls no tool"#);
            assert!(measured(silent(r#"{"tool_calls":[]}"#)));
            assert!(measured(silent(r#"{"tool":null}"#)));
            let busy = Given::calls(TWO).expected(r#"{"tool":null}"#).run(evaluate);
            assert_eq!(message(busy), r#"expected no tool call, the answer calls "search" and "refund""#);
        }

        #[test]
        fn a_case_that_says_nothing_of_tools_is_an_abstention() {
            assert!(abstained(Given::calls(TWO).run(evaluate)).contains("names a tool"));
            assert!(abstained(Given::calls(TWO).expected(r#"{"label":"x"}"#).run(evaluate)).contains("names a tool"));
            assert!(abstained(Given::calls(TWO).expected("42").run(evaluate)).contains("names a tool"));
        }
    }
}

/// `tool-args-match`: the tools were called with the right arguments.
pub mod args {
    use super::{Calls, ExpectedCall, named, names, of_the_case};
    use crate::catalog::config;
    use crate::finding::{abstain, binary, finding, shown, yes};
    use crate::json::same;
    use crate::wit::{Failure, Finding, Report, Request, Severity, ToolCall};
    use serde::Deserialize;
    use serde_json::{Value, json};

    /// One line for a person.
    pub const HELP: &str = "the answer calls the expected tools with the expected arguments";

    /// JSON Schema of the configuration.
    pub const CONFIG_SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "dependentRequired": {"tool": ["arguments"], "arguments": ["tool"]},
  "properties": {
    "mode": {"enum": ["exact", "subset"], "default": "exact", "description": "exact: the arguments are these; subset: they have these, and may have more."},
    "tool": {"type": "string", "minLength": 1, "description": "The tool; the case's expected where it is not given: {tool: x, arguments: {...}} or {tool_calls: [{name, arguments}]}."},
    "arguments": {"type": "object", "description": "The arguments of the tool."}
  }
}"#;

    /// How many differences a finding tells.
    const DIFFERENCES_MAX: usize = 5;
    /// How many calls of a tool are looked at to find the one that is nearest.
    const NEAREST_AMONG: usize = 50;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        #[serde(default)]
        mode: Mode,
        tool: Option<String>,
        arguments: Option<Value>,
    }

    #[derive(Clone, Copy, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        #[default]
        Exact,
        Subset,
    }

    /// A call that was made, with its arguments as a value.
    struct Made<'a> {
        call: &'a ToolCall,
        arguments: Value,
    }

    /// The examination.
    pub fn evaluate(request: &Request) -> Result<Report, Failure> {
        let Config { mode, tool, arguments } = config(request)?;
        let ways = match tool {
            Some(name) => Some(vec![vec![ExpectedCall { name, arguments }]]),
            None => of_the_case(request)?,
        };
        // Without arguments there is nothing to compare.
        let mut ways = ways.unwrap_or_default();
        ways.iter_mut().for_each(|way| way.retain(|call| call.arguments.is_some()));
        ways.retain(|way| !way.is_empty());
        if ways.is_empty() {
            return abstain("neither the case's expected nor the configuration tells arguments of a tool call");
        }
        let made: Vec<Made<'_>> = request.answer.tool_calls.iter().map(|call| made(call, &ways)).collect();
        let mut nearest: Option<Vec<Finding>> = None;
        for way in &ways {
            let unmatched = unmatched(way, &made, mode);
            if unmatched.is_empty() {
                let wanted: Vec<Value> = way.iter().map(|call| call.name.as_str().into()).collect();
                return yes(
                    "matching-arguments",
                    format!("the arguments of {} are as expected", named(&wanted)),
                    json!(null),
                );
            }
            let findings: Vec<Finding> = unmatched.iter().map(|call| difference(call, &made, mode)).collect();
            if nearest.as_ref().is_none_or(|nearest| findings.len() < nearest.len()) {
                nearest = Some(findings);
            }
        }
        let mut findings = nearest.unwrap_or_default();
        findings.truncate(10);
        binary(false, findings)
    }

    /// A call; its arguments are read where some way expects a call of that tool.
    fn made<'c>(call: &'c ToolCall, ways: &[Calls]) -> Made<'c> {
        let expected = ways.iter().flatten().any(|expected| expected.name == call.name);
        let read = expected.then(|| serde_json::from_str(&call.arguments).ok()).flatten();
        Made { call, arguments: read.unwrap_or_else(|| call.arguments.as_str().into()) }
    }

    fn matches(expected: &ExpectedCall, made: &Made<'_>, mode: Mode) -> bool {
        let wanted = expected.arguments.as_ref().unwrap_or(&Value::Null);
        made.call.arguments_error.is_none()
            && made.call.name == expected.name
            && match mode {
                Mode::Exact => same(wanted, &made.arguments),
                Mode::Subset => within(wanted, &made.arguments),
            }
    }

    /// Whether `got` has all of `wanted`: objects may have more members, lists may not be longer.
    fn within(wanted: &Value, got: &Value) -> bool {
        match (wanted, got) {
            (Value::Object(wanted), Value::Object(got)) => {
                wanted.iter().all(|(key, wanted)| got.get(key).is_some_and(|got| within(wanted, got)))
            }
            (Value::Array(wanted), Value::Array(got)) => {
                wanted.len() == got.len() && wanted.iter().zip(got).all(|(wanted, got)| within(wanted, got))
            }
            _ => same(wanted, got),
        }
    }

    /// The expected calls that no call is left for. One call serves one expected
    /// call, and they are given out so that as many as possible are served
    /// (augmenting paths: a loose expectation gives way to a strict one).
    fn unmatched<'e>(way: &'e Calls, made: &[Made<'_>], mode: Mode) -> Vec<&'e ExpectedCall> {
        let fits: Vec<Vec<usize>> = way
            .iter()
            .map(|expected| (0..made.len()).filter(|at| matches(expected, &made[*at], mode)).collect())
            .collect();
        let mut served: Vec<Option<usize>> = vec![None; made.len()];
        let left = (0..way.len()).filter(|expected| !serve(*expected, &fits, &mut served));
        left.map(|expected| &way[expected]).collect()
    }

    /// Finds a call for an expected one, moving others where that helps: breadth first,
    /// `from[call]` is who asked for it.
    fn serve(expected: usize, fits: &[Vec<usize>], served: &mut [Option<usize>]) -> bool {
        let mut from: Vec<Option<usize>> = vec![None; served.len()];
        let mut asking = std::collections::VecDeque::from([expected]);
        while let Some(asker) = asking.pop_front() {
            for &call in &fits[asker] {
                if from[call].is_some() {
                    continue;
                }
                from[call] = Some(asker);
                match served[call] {
                    Some(owner) => asking.push_back(owner),
                    None => {
                        hand_over(call, expected, fits, &from, served);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Gives a free call to who asked for it, and what that one had to who asked before, back to the first.
    fn hand_over(free: usize, first: usize, fits: &[Vec<usize>], from: &[Option<usize>], served: &mut [Option<usize>]) {
        let mut call = free;
        while let Some(asker) = from[call] {
            let had = fits[asker].iter().copied().find(|other| *other != call && served[*other] == Some(asker));
            served[call] = Some(asker);
            match had {
                Some(previous) if asker != first => call = previous,
                Some(_) | None => break,
            }
        }
    }

    /// Why an expected call is not matched: by the call of the same tool that is nearest.
    fn difference(expected: &ExpectedCall, made: &[Made<'_>], mode: Mode) -> Finding {
        let wanted = expected.arguments.as_ref().unwrap_or(&Value::Null);
        let same_tool = made.iter().filter(|made| made.call.name == expected.name).take(NEAREST_AMONG);
        let nearest = same_tool
            .map(|made| (made, differences(wanted, &made.arguments, mode)))
            .min_by_key(|(_, differences)| differences.len());
        let Some((nearest, differences)) = nearest else {
            let calls: Vec<ToolCall> = made.iter().map(|made| made.call.clone()).collect();
            let message = format!("expected a call of {:?}, the answer calls {}", expected.name, named(&names(&calls)));
            return finding(
                Severity::Error,
                "missing-call",
                message,
                json!({ "expected": wanted, "tool": expected.name }),
            );
        };
        if let Some(error) = &nearest.call.arguments_error {
            let message = format!("the arguments of {:?} are not JSON: {error}", expected.name);
            return finding(Severity::Error, "unparsable-arguments", message, json!({ "got": nearest.arguments }));
        }
        let told = if differences.is_empty() { "another expected call took it".into() } else { differences.join("; ") };
        let evidence = json!({ "tool": expected.name, "expected": wanted, "got": nearest.arguments });
        finding(Severity::Error, "wrong-argument", format!("call of {:?}: {told}", expected.name), evidence)
    }

    fn differences(wanted: &Value, got: &Value, mode: Mode) -> Vec<String> {
        let mut found = Vec::new();
        differ(wanted, got, mode, "$", &mut found);
        found
    }

    fn differ(wanted: &Value, got: &Value, mode: Mode, path: &str, found: &mut Vec<String>) {
        if found.len() >= DIFFERENCES_MAX {
            return;
        }
        match (wanted, got) {
            (Value::Object(wanted), Value::Object(got)) => {
                for (key, wanted) in wanted {
                    let path = format!("{path}.{key}");
                    match got.get(key) {
                        Some(got) => differ(wanted, got, mode, &path, found),
                        None => found.push(format!("expected {} at {path}, but it is missing", shown(wanted))),
                    }
                }
                let more = got.iter().filter(|(key, _)| mode == Mode::Exact && !wanted.contains_key(*key));
                found.extend(
                    more.take(DIFFERENCES_MAX).map(|(key, got)| format!("unexpected {} at {path}.{key}", shown(got))),
                );
            }
            (Value::Array(wanted), Value::Array(got)) if wanted.len() == got.len() => {
                for (at, (wanted, got)) in wanted.iter().zip(got).enumerate() {
                    differ(wanted, got, mode, &format!("{path}[{at}]"), found);
                }
            }
            _ if same(wanted, got) => {}
            _ => found.push(format!("expected {}, got {} at {path}", shown(wanted), shown(got))),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::testing::{Given, abstained, measured, message};

        fn refund(arguments: &str) -> Given {
            Given::calls(&[("search", "{}"), ("refund", arguments)])
        }

        const EXPECTED: &str = r#"{"tool":"refund","arguments":{"order":7,"items":[{"id":1}]}}"#;

        #[test]
        fn exact_allows_no_more_and_subset_does() {
            let exact = |arguments: &str| measured(refund(arguments).expected(EXPECTED).run(evaluate));
            let subset = |arguments: &str| {
                measured(refund(arguments).expected(EXPECTED).config(r#"{"mode":"subset"}"#).run(evaluate))
            };
            let more = r#"{"items":[{"id":1,"n":2}],"order":7,"note":"x"}"#;
            assert!(exact(r#"{"items":[{"id":1.0}],"order":7}"#));
            assert!(!exact(more));
            assert!(subset(more));
            assert!(!subset(r#"{"order":7,"items":[{"id":1},{"id":2}]}"#));
            assert!(!subset(r#"{"order":7}"#));
        }

        #[test]
        fn a_no_says_which_argument_differs() {
            let with = |arguments: &str| message(refund(arguments).expected(EXPECTED).run(evaluate));
            assert_eq!(
                with(r#"{"order":8,"items":[{"id":1}],"note":"x"}"#),
                r#"call of "refund": expected 7, got 8 at $.order; unexpected "x" at $.note"#
            );
            assert_eq!(
                with(r#"{"items":[{"id":2}],"order":7}"#),
                r#"call of "refund": expected 1, got 2 at $.items[0].id"#
            );
            let silent = Given::text("ok").expected(EXPECTED).run(evaluate);
            assert_eq!(message(silent), r#"expected a call of "refund", the answer calls no tool"#);
            let broken = refund(r#""{order""#).unparsed("EOF").expected(EXPECTED).run(evaluate);
            assert_eq!(message(broken), r#"the arguments of "refund" are not JSON: EOF"#);
        }

        #[test]
        fn each_expected_call_needs_a_call_of_its_own() {
            let two = r#"{"tool_calls":[{"name":"a","arguments":{}},{"name":"a","arguments":{"x":1}}]}"#;
            let with = |calls: &[(&str, &str)]| {
                measured(Given::calls(calls).expected(two).config(r#"{"mode":"subset"}"#).run(evaluate))
            };
            assert!(!with(&[("a", r#"{"x":1}"#)]));
            // The loose expectation comes first and must give way, whatever the order of the calls.
            assert!(with(&[("a", r#"{"x":1}"#), ("a", r#"{"x":2}"#)]));
            assert!(with(&[("a", r#"{"x":2}"#), ("a", r#"{"x":1}"#)]));
        }

        #[test]
        fn a_chain_of_calls_gives_way() {
            let three = r#"{"tool_calls":[
                {"name":"a","arguments":{"x":1}},{"name":"a","arguments":{"y":1}},{"name":"a","arguments":{"x":1,"z":1}}]}"#;
            let calls = [("a", r#"{"x":1,"z":1}"#), ("a", r#"{"x":1,"y":1}"#), ("a", r#"{"y":1}"#)];
            let config = r#"{"mode":"subset"}"#;
            assert!(measured(Given::calls(&calls).expected(three).config(config).run(evaluate)));
        }

        #[test]
        fn any_of_a_list_will_do_and_the_configuration_goes_first() {
            let either = r#"[{"tool":"refund","args":{"order":1}},{"tool":"refund","args":{"order":2}}]"#;
            assert!(measured(refund(r#"{"order":2}"#).expected(either).run(evaluate)));
            let config = r#"{"tool":"refund","arguments":{"order":3}}"#;
            assert!(!measured(refund(r#"{"order":2}"#).expected(either).config(config).run(evaluate)));
        }

        #[test]
        fn without_expected_arguments_there_is_nothing_to_say() {
            assert!(abstained(refund("{}").run(evaluate)).contains("arguments"));
            assert!(abstained(refund("{}").expected(r#""refund""#).run(evaluate)).contains("arguments"));
        }
    }
}
