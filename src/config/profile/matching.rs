//! Which group judges which case, before anything is asked.

use super::super::dataset::Dataset;
use super::super::node::excerpt;
use super::super::problem::{Inspection, Place, Problem, Problems, Warning};
use tribunal_schema::case::Case;
use tribunal_schema::profile::{Group, Profile};

/// The index of each case's group, in the order of the cases.
///
/// # Errors
/// Every case that no group takes, with its id, its line and why.
pub fn match_cases(profile: &Profile, dataset: &Dataset) -> Result<Vec<u16>, Problems> {
    let mut inspection = Inspection::new(dataset.file.clone());
    let mut groups = Vec::with_capacity(dataset.cases.len());
    for (case, line) in dataset.cases.iter().zip(&dataset.lines) {
        match profile.group_of(case) {
            Some(group) => groups.push(group),
            None => inspection.refuse(Place::new(*line, 1), unmatched(profile, case), hint(profile)),
        }
    }
    inspection.finish().map(|_| groups)
}

fn unmatched(profile: &Profile, case: &Case) -> String {
    let task_type =
        case.task_type.as_ref().map_or_else(|| "no task_type".into(), |kind| format!("task_type `{}`", excerpt(kind)));
    let tags = match case.tags.len() {
        0 => "no tags".into(),
        _ => format!("tags {}", excerpt(&case.tags.join(", "))),
    };
    let named = case.group.as_ref().map_or_else(String::new, |group| {
        format!(" and names the group `{}`, which the profile `{}` does not have", excerpt(group), profile.name)
    });
    format!("no group takes the case `{}`: it has {task_type}, {tags}{named}", excerpt(&case.id))
}

fn hint(profile: &Profile) -> String {
    let groups: Vec<String> = profile.groups.iter().take(8).map(asks).collect();
    format!("the groups are: {}; change the case, or add a group without `match` at the end", groups.join("; "))
}

fn asks(group: &Group) -> String {
    let mut parts = vec![];
    parts.extend(group.takes.task_type.as_ref().map(|kind| format!("task_type {kind}")));
    if !group.takes.tags_any.is_empty() {
        parts.push(format!("any tag of {}", group.takes.tags_any.join(", ")));
    }
    if !group.takes.tags_all.is_empty() {
        parts.push(format!("all tags of {}", group.takes.tags_all.join(", ")));
    }
    format!("{} ({})", group.name, if parts.is_empty() { "every case".into() } else { parts.join(", ") })
}

/// Gate rules that would find no case of the dataset, so that a run of both is
/// inconclusive. `groups` as [`match_cases`] gave them.
pub fn idle_rules(profile: &Profile, dataset: &Dataset, groups: &[u16]) -> Vec<Warning> {
    let mut warnings = vec![];
    for (index, rule) in profile.gate.iter().enumerate() {
        let speaks_of = |(case, group): (&Case, &u16)| {
            let Some(group) = profile.groups.get(usize::from(*group)) else { return false };
            rule.group.as_ref().is_none_or(|name| *name == group.name)
                && rule.tag.as_ref().is_none_or(|tag| case.tags.contains(tag))
                && rule
                    .dimension
                    .as_ref()
                    .is_none_or(|name| group.dimensions.iter().any(|dimension| dimension.name == *name))
        };
        if !dataset.cases.iter().zip(groups).any(speaks_of) {
            let message = format!(
                "no case is in the scope of gate rule {} of the profile `{}`: a run is inconclusive",
                index + 1,
                profile.name
            );
            warnings.push(Warning(Problem::of_file(
                dataset.file.clone(),
                message,
                "tag or add cases, or remove the rule",
            )));
        }
    }
    warnings
}
