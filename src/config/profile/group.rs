//! Groups: which cases are judged by which evaluators, and in which dimensions they count.
//!
//! `evaluators:` at the top is short for one group named [`GROUP_ALL`]. A binding
//! without an id is named after its evaluator (`contains`, then `contains-2`); one
//! without a dimension counts in [`DIMENSION_DEFAULT`].

use super::super::near::{self, near};
use super::super::node::{Entry, Kind, Node};
use super::fields::{Field, Fields, Reading};
use super::measure;
use tribunal_schema::Digest;
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::{Binding, Dimension, EvaluatorPin, Group, Match, Method};
use tribunal_schema::units::ScorePpm;

/// The group that top-level `evaluators` make.
pub const GROUP_ALL: &str = "all";
/// The dimension of bindings that name none.
pub const DIMENSION_DEFAULT: &str = "score";

/// Evaluators that are part of the profile format and come with a later version:
/// a profile may name them and is valid; a run of it is not possible yet.
const ANNOUNCED: [&str; 1] = ["std/llm-rubric"];

const WEIGHT_DEFAULT: u64 = 1_000_000;
/// Enough for any profile written by hand; case groups are kept as 16-bit indexes.
const ENTRIES_MAX: usize = 1_000;

/// Reads the groups of a profile.
pub fn read_all(reading: &mut Reading<'_>, root: &Fields<'_>) -> Vec<Group> {
    match (root.get("groups"), root.get("evaluators")) {
        (Some(groups), evaluators) => {
            for field in evaluators.into_iter().chain(root.get("dimensions")) {
                let message = format!("found `{}` beside `groups`", field.key);
                reading.refuse(field.node.at, message, "move it into a group");
            }
            groups_of(reading, groups)
        }
        (None, Some(_)) => vec![read(reading, root, GROUP_ALL.into(), root.at)],
        (None, None) => {
            reading.refuse(
                root.at,
                "the profile has neither `evaluators` nor `groups`",
                "add evaluators: [{ use: std/contains }]",
            );
            vec![]
        }
    }
}

fn groups_of(reading: &mut Reading<'_>, field: Field<'_>) -> Vec<Group> {
    let Some(items) = limited(reading, field) else { return vec![] };
    if items.is_empty() {
        reading.refuse(field.node.at, "`groups` is empty, so no case could be judged", "add a group");
    }
    let mut groups: Vec<(Group, u32)> = vec![];
    let mut takes_all: Option<String> = None;
    for node in items {
        let Some(fields) = reading.map(node, "group", &["name", "match", "evaluators", "dimensions"]) else { continue };
        let Some(name_field) = reading.required(&fields, "name") else { continue };
        let Some(name) = reading.name(name_field) else { continue };
        if let Some((_, first)) = groups.iter().find(|(group, _)| group.name == name) {
            let message = format!("the group name `{name}` is already taken on line {}", reading.line(*first));
            reading.refuse(name_field.node.at, message, "rename one of the two");
        }
        let mut group = read(reading, &fields, name, node.at);
        group.takes = fields.get("match").map_or_else(Match::default, |field| matches_of(reading, field));
        if let Some(earlier) = &takes_all {
            let message = format!("the group `{earlier}` before this one takes every case",);
            reading.warn(
                node.at,
                message,
                "put the group without `match` last; only cases that name this group reach it",
            );
        } else if group.takes == Match::default() {
            takes_all = Some(group.name.clone());
        }
        groups.push((group, name_field.node.at));
    }
    groups.into_iter().map(|(group, _)| group).collect()
}

fn limited<'n>(reading: &mut Reading<'_>, field: Field<'n>) -> Option<&'n [Node]> {
    let items = reading.list(field)?;
    if items.len() > ENTRIES_MAX {
        let message = format!("`{}` has {} entries, the limit is {ENTRIES_MAX}", field.key, items.len());
        reading.refuse(field.node.at, message, "");
        return None;
    }
    Some(items)
}

fn matches_of(reading: &mut Reading<'_>, field: Field<'_>) -> Match {
    let Some(fields) = reading.map(field.node, "match", &["task_type", "tags_any", "tags_all"]) else {
        return Match::default();
    };
    Match {
        task_type: fields.get("task_type").and_then(|field| reading.name(field)),
        tags_any: fields.get("tags_any").map_or_else(Vec::new, |field| reading.names(field)),
        tags_all: fields.get("tags_all").map_or_else(Vec::new, |field| reading.names(field)),
    }
}

/// Reads evaluators and dimensions of one group.
fn read(reading: &mut Reading<'_>, fields: &Fields<'_>, name: String, at: u32) -> Group {
    let written: Vec<(Option<String>, Binding, u32)> = match fields.get("evaluators") {
        Some(field) => {
            let items = limited(reading, field).unwrap_or_default();
            items
                .iter()
                .filter_map(|node| Some((binding(reading, node)?, node.at)))
                .map(|((id, b), at)| (id, b, at))
                .collect()
        }
        None => vec![],
    };
    let is_empty = match fields.get("evaluators") {
        Some(Field { node: Node { kind: Kind::List(items), .. }, .. }) => items.is_empty(),
        Some(_) => false,
        None => true,
    };
    if is_empty {
        let message = format!("the group `{name}` has no evaluators: a run with it is inconclusive");
        reading.warn(at, message, "add an evaluator");
    }
    let declared = fields.get("dimensions").map_or_else(Vec::new, |field| dimensions(reading, field));
    let bindings = with_ids(reading, written);
    let dimensions = joined(reading, &bindings, declared, &name);
    let bindings = bindings.into_iter().map(|(binding, _)| binding).collect();
    Group { name, takes: Match::default(), bindings, dimensions }
}

/// Gives ids to bindings without one, and refuses equal ids.
fn with_ids(reading: &mut Reading<'_>, written: Vec<(Option<String>, Binding, u32)>) -> Vec<(Binding, u32)> {
    let mut taken: Vec<(String, u32)> = vec![];
    for (id, at) in written.iter().filter_map(|(id, _, at)| Some((id.as_ref()?, *at))) {
        match taken.iter().find(|(earlier, _)| earlier == id) {
            Some((_, first)) => {
                let message = format!("the evaluator id `{id}` is already taken on line {}", reading.line(*first));
                reading.refuse(at, message, "rename one of the two");
            }
            None => taken.push((id.clone(), at)),
        }
    }
    let mut named = vec![];
    for (id, mut binding, at) in written {
        binding.id = id.unwrap_or_else(|| {
            let name = &binding.evaluator.name;
            let free = |candidate: &String| !taken.iter().any(|(earlier, _)| earlier == candidate);
            let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
            let id = std::iter::once(name.clone()).chain(numbered).find(free).unwrap_or_default();
            taken.push((id.clone(), at));
            id
        });
        named.push((binding, at));
    }
    named
}

const BINDING_KEYS: [&str; 10] =
    ["id", "use", "with", "measure", "not", "dimension", "weight", "pass_at", "required", "blocking"];

fn binding(reading: &mut Reading<'_>, node: &Node) -> Option<(Option<String>, Binding)> {
    let fields = reading.map(node, "evaluator", &BINDING_KEYS)?;
    let id = fields.get("id").and_then(|field| reading.name(field));
    let config = config(reading, fields.get("with"));
    let evaluator = evaluator(reading, &fields, &config);
    let pass_at = fields.get("pass_at").and_then(|field| reading.share(field)).unwrap_or(ScorePpm::ONE);
    if let Some(field) = fields.get("pass_at").filter(|_| pass_at == ScorePpm::ZERO) {
        reading.warn(
            field.node.at,
            "`pass_at` is 0, so that every answer passes",
            "required: false shows an evaluator without counting it",
        );
    }
    let required = fields.get("required").and_then(|field| reading.boolean(field)).unwrap_or(true);
    let blocking = fields.get("blocking").and_then(|field| reading.boolean(field)).unwrap_or(false);
    if blocking && !required {
        reading.refuse(
            fields.at,
            "`blocking: true` with `required: false`: what is only shown cannot block",
            "remove one of the two",
        );
    }
    let dimension = fields.get("dimension").and_then(|field| reading.name(field));
    let binding = Binding {
        id: String::new(),
        evaluator: evaluator.unwrap_or_else(|| stand_in(String::new())),
        config: config.map_or_else(JsonText::default, |(value, _)| JsonText::of(&value)),
        measure: measure::read(reading, fields.get("measure")),
        negate: fields.get("not").and_then(|field| reading.boolean(field)).unwrap_or(false),
        dimension: dimension.unwrap_or_else(|| DIMENSION_DEFAULT.into()),
        weight_ppm: fields.get("weight").and_then(|field| reading.weight(field)).unwrap_or(WEIGHT_DEFAULT),
        pass_at,
        required,
        blocking,
    };
    Some((id, binding))
}

fn config<'n>(reading: &mut Reading<'_>, field: Option<Field<'n>>) -> Option<(serde_json::Value, &'n Node)> {
    let field = field?;
    reading.open_map(field)?;
    Some((field.node.value(), field.node))
}

/// The evaluator a binding uses, checked with its configuration. One that is not
/// known is noted, and stands in with no component so that the rest is still read.
fn evaluator(
    reading: &mut Reading<'_>,
    fields: &Fields<'_>,
    config: &Option<(serde_json::Value, &Node)>,
) -> Option<EvaluatorPin> {
    let field = reading.required(fields, "use")?;
    let reference = reading.name(field)?;
    match reading.catalog.resolve(&reference) {
        Ok(pin) => {
            let null = serde_json::Value::Null;
            let (value, node) = config.as_ref().map_or((&null, field.node), |(value, node)| (value, *node));
            for sentence in reading.catalog.check(&pin, value) {
                let (at, sentence) = pointed(node, &sentence);
                reading.refuse(
                    at,
                    format!("`{reference}`: {sentence}"),
                    format!("see: tribunal evaluator show {reference}"),
                );
            }
            Some(pin)
        }
        Err(reason) => {
            unresolved(reading, field, &reference, &reason);
            Some(stand_in(reference))
        }
    }
}

/// A pin to no component, so that what follows is read and checked all the same.
fn stand_in(reference: String) -> EvaluatorPin {
    let name = reference.rsplit(['/', '#']).next().unwrap_or(&reference).to_string();
    EvaluatorPin { reference, name, component: Digest::ZERO }
}

fn unresolved(reading: &mut Reading<'_>, field: Field<'_>, reference: &str, reason: &str) {
    if ANNOUNCED.contains(&reference) {
        let message = format!(
            "the evaluator `{reference}` comes with a later version: a run of this profile is not possible yet"
        );
        return reading.warn(field.node.at, message, "");
    }
    let known = reading.catalog.references();
    let hint = match (reference.starts_with("std/"), known.is_empty()) {
        (true, false) => near::hint(reference, known.iter().map(String::as_str)),
        (true, true) => "see: tribunal evaluator list".into(),
        // What a component of one's own has is in the reason.
        (false, _) => String::new(),
    };
    reading.refuse(field.node.at, format!("the evaluator `{reference}` is not known: {reason}"), hint);
}

/// The place a sentence points at: `/pattern: ...` is the value of `pattern`.
fn pointed<'s>(node: &Node, sentence: &'s str) -> (u32, &'s str) {
    let Some((pointer, words)) = sentence.split_once(": ").filter(|(pointer, _)| pointer.starts_with('/')) else {
        return (node.at, sentence);
    };
    let mut place = node;
    for step in pointer[1..].split('/').map(|step| step.replace("~1", "/").replace("~0", "~")) {
        let next = match &place.kind {
            Kind::Map(entries) => entries.iter().find(|entry: &&Entry| entry.key == step).map(|entry| &entry.node),
            Kind::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        };
        let Some(next) = next else { return (place.at, sentence) };
        place = next;
    }
    (place.at, if pointer.len() > 1 { sentence } else { words })
}

fn dimensions(reading: &mut Reading<'_>, field: Field<'_>) -> Vec<(Dimension, u32)> {
    let Some(fields) = reading.open_map(field) else { return vec![] };
    let mut declared = vec![];
    for (at, field) in fields.all() {
        let name = field.key.to_string();
        let mut dimension = Dimension {
            name,
            method: Method::WeightedMean,
            weight_ppm: WEIGHT_DEFAULT,
            pass_at: None,
            blocking: false,
        };
        if !field.node.is_null() {
            let Some(fields) = reading.map(field.node, field.key, &["method", "weight", "pass_at", "blocking"]) else {
                continue;
            };
            let words = [("weighted_mean", Method::WeightedMean), ("min", Method::Min)];
            if let Some(method) = fields.get("method").and_then(|field| reading.choice(field, &words)) {
                dimension.method = method;
            }
            if let Some(weight) = fields.get("weight").and_then(|field| reading.weight(field)) {
                dimension.weight_ppm = weight;
            }
            dimension.pass_at = fields.get("pass_at").and_then(|field| reading.share(field));
            dimension.blocking = fields.get("blocking").and_then(|field| reading.boolean(field)).unwrap_or(false);
        }
        declared.push((dimension, at));
    }
    declared
}

/// The dimensions of a group in order of first mention by its bindings, then those nobody uses.
fn joined(
    reading: &mut Reading<'_>,
    bindings: &[(Binding, u32)],
    mut declared: Vec<(Dimension, u32)>,
    group: &str,
) -> Vec<Dimension> {
    let names: Vec<String> = declared.iter().map(|(dimension, _)| dimension.name.clone()).collect();
    let mut dimensions: Vec<Dimension> = vec![];
    for (binding, at) in bindings {
        if dimensions.iter().any(|dimension| dimension.name == binding.dimension) {
            continue;
        }
        match declared.iter().position(|(dimension, _)| dimension.name == binding.dimension) {
            Some(index) => dimensions.push(declared.remove(index).0),
            None => {
                if !names.is_empty() && binding.required {
                    undeclared(reading, binding, *at, &names);
                }
                dimensions.push(Dimension {
                    name: binding.dimension.clone(),
                    method: Method::WeightedMean,
                    weight_ppm: WEIGHT_DEFAULT,
                    pass_at: None,
                    blocking: false,
                });
            }
        }
    }
    for (dimension, at) in declared {
        let message = format!("no evaluator of the group `{group}` counts in the dimension `{}`", dimension.name);
        let used = bindings.iter().map(|(binding, _)| binding.dimension.as_str());
        let hint = near(&dimension.name, used).map_or_else(String::new, |name| format!("did you mean `{name}`?"));
        reading.warn(at, message, hint);
        dimensions.push(dimension);
    }
    dimensions
}

fn undeclared(reading: &mut Reading<'_>, binding: &Binding, at: u32, names: &[String]) {
    let message = format!(
        "the evaluator `{}` counts in the dimension `{}`, which the group's `dimensions` do not list",
        binding.id, binding.dimension
    );
    reading.warn(at, message, near::hint(&binding.dimension, names.iter().map(String::as_str)));
}
