//! `gate`: the rules of the verdict. A rule must be able to say something: what
//! it speaks of exists, and it asks at least one thing.

use super::super::near;
use super::super::node::Node;
use super::fields::{Field, Fields, Reading};
use tribunal_schema::profile::{Baseline, Group, PerCase, Rule};
use tribunal_schema::units::ScorePpm;

const CONDITIONS: [&str; 6] =
    ["min_mean", "min_pass_rate", "min_coverage", "max_error_rate", "max_abstention_rate", "baseline"];
const SCOPES: [&str; 4] = ["dimension", "group", "tag", "per_case"];

/// Reads one rule.
pub fn rule(reading: &mut Reading<'_>, node: &Node, groups: &[Group], repeats: u32) -> Option<Rule> {
    let keys: Vec<&str> = SCOPES.iter().chain(&CONDITIONS).copied().collect();
    let fields = reading.map(node, "gate rule", &keys)?;
    if CONDITIONS.iter().all(|condition| fields.get(condition).is_none()) {
        reading.refuse(node.at, "the rule asks nothing", format!("add one of {}", CONDITIONS.join(", ")));
    }
    let group = fields.get("group").and_then(|field| group(reading, field, groups));
    let dimension = fields.get("dimension").and_then(|field| dimension(reading, field, group.as_deref(), groups));
    let per_case = fields.get("per_case").and_then(|field| per_case(reading, field, repeats));
    let tag = fields.get("tag").and_then(|field| reading.name(field));
    let baseline = fields.get("baseline").and_then(|field| baseline(reading, field));
    let mut share = |key| fields.get(key).and_then(|field| reading.share(field));
    let rule = Rule {
        dimension,
        group,
        tag,
        per_case,
        min_mean: share("min_mean"),
        min_pass_rate: share("min_pass_rate"),
        min_coverage: share("min_coverage"),
        max_error_rate: share("max_error_rate"),
        max_abstention_rate: share("max_abstention_rate"),
        baseline,
    };
    warn_of_idle(reading, &fields, &rule);
    Some(rule)
}

/// A condition that nothing can break is probably a slip.
fn warn_of_idle(reading: &mut Reading<'_>, fields: &Fields<'_>, rule: &Rule) {
    let idle = [
        ("min_mean", rule.min_mean, ScorePpm::ZERO),
        ("min_pass_rate", rule.min_pass_rate, ScorePpm::ZERO),
        ("min_coverage", rule.min_coverage, ScorePpm::ZERO),
        ("max_error_rate", rule.max_error_rate, ScorePpm::ONE),
        ("max_abstention_rate", rule.max_abstention_rate, ScorePpm::ONE),
    ];
    for (key, _, limit) in idle.into_iter().filter(|(_, given, limit)| *given == Some(*limit)) {
        if let Some(field) = fields.get(key) {
            reading.warn(field.node.at, format!("`{key}` of {limit} can never be broken"), "");
        }
    }
}

fn group(reading: &mut Reading<'_>, field: Field<'_>, groups: &[Group]) -> Option<String> {
    let name = reading.name(field)?;
    if groups.iter().any(|group| group.name == name) {
        return Some(name);
    }
    let message = format!("the rule speaks of the group `{name}`, which the profile does not have");
    reading.refuse(field.node.at, message, near::hint(&name, groups.iter().map(|group| group.name.as_str())));
    None
}

fn dimension(reading: &mut Reading<'_>, field: Field<'_>, group: Option<&str>, groups: &[Group]) -> Option<String> {
    let name = reading.name(field)?;
    let in_scope: Vec<&Group> =
        groups.iter().filter(|candidate| group.is_none_or(|group| candidate.name == group)).collect();
    let has = |group: &&&Group| group.dimensions.iter().any(|dimension| dimension.name == name);
    let of_group = group
        .map_or_else(|| "no group of the profile has".into(), |group| format!("the group `{group}` does not have"));
    if !in_scope.iter().any(|group| has(&group)) {
        let known = in_scope.iter().flat_map(|group| &group.dimensions).map(|dimension| dimension.name.as_str());
        let message = format!("the rule speaks of the dimension `{name}`, which {of_group}");
        reading.refuse(field.node.at, message, near::hint(&name, known));
        return None;
    }
    let is_scored = |group: &&Group| group.bindings.iter().any(|binding| binding.required && binding.dimension == name);
    if !in_scope.iter().any(is_scored) {
        let message = format!("the rule speaks of the dimension `{name}`, in which no required evaluator counts");
        reading.refuse(field.node.at, message, "an evaluator with required: false is shown, never scored");
    }
    Some(name)
}

fn per_case(reading: &mut Reading<'_>, field: Field<'_>, repeats: u32) -> Option<PerCase> {
    let fields = reading.map(field.node, "per_case", &["passes", "of"])?;
    let passes = reading.required(&fields, "passes").and_then(|field| reading.integer(field, 1..=1_000));
    let of_field = reading.required(&fields, "of")?;
    let of = reading.integer(of_field, 1..=1_000)? as u32;
    let passes = passes? as u32;
    if of != repeats {
        let message = format!("`per_case` is of {of} repeats, but the profile has repeats: {repeats}");
        reading.refuse(of_field.node.at, message, "make the two numbers equal");
    }
    if passes > of {
        reading.refuse(fields.at, format!("`per_case` wants {passes} passes of {of}"), "passes is at most of");
    }
    Some(PerCase { passes, of })
}

fn baseline(reading: &mut Reading<'_>, field: Field<'_>) -> Option<Baseline> {
    const CONFIDENCE_DEFAULT: ScorePpm = ScorePpm::saturating(950_000);
    let fields = reading.map(field.node, "baseline", &["max_drop", "confidence"])?;
    let max_drop = reading.required(&fields, "max_drop").and_then(|field| reading.share(field));
    let confidence = fields.get("confidence").and_then(|field| reading.share(field)).unwrap_or(CONFIDENCE_DEFAULT);
    if confidence.ppm() < 500_000 || confidence == ScorePpm::ONE {
        let at = fields.get("confidence").map_or(fields.at, |field| field.node.at);
        reading.refuse(at, format!("`confidence` is {confidence}, expected from 0.5 to below 1"), "0.95 is usual");
    }
    Some(Baseline { max_drop: max_drop?, confidence })
}
