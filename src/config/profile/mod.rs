//! Profiles: who is on trial, who judges, and what is good enough.
//!
//! A profile file (YAML 1.2, or JSON by its ending) becomes a resolved
//! [`Profile`]: every default filled in, every number an integer, every
//! evaluator pinned. Each part has its reader: [`target`], [`group`] with
//! [`measure`], [`gate`], [`policy`]; they share the typed readers of
//! [`fields`] and the units of [`units`].
//!
//! A wrong value is noted and its default used, so that one reading finds all
//! problems; a profile with a problem is never returned. `${env:NAME}`
//! references are checked for their form and kept as they are.
//!
//! Decided here: a profile without a gate is refused, because "good enough" is
//! what a profile is for and no default of ours may say it. A group without
//! evaluators is read with a warning, and makes a run inconclusive.

mod fields;
mod gate;
mod group;
mod matching;
mod measure;
mod policy;
mod target;
mod units;

use self::fields::{Fields, Reading};
use super::limits::PROFILE_FILE_BYTES_MAX;
use super::node::{Flaw, Kind, Node, Text};
use super::problem::{Inspection, Problems, Warning};
use super::{json, source, yaml};
use std::path::Path;
use tribunal_schema::Digest;
use tribunal_schema::profile::{Binding, EvaluatorPin, Group, Profile, Rule};

pub use group::{DIMENSION_DEFAULT, GROUP_ALL};
pub use matching::{idle_rules, match_cases};
pub use policy::RETRY_ON_DEFAULT;

/// What is known of evaluators while a profile is read.
pub trait EvaluatorCatalog {
    /// The exact evaluator that a reference (`std/contains`, `./my.wasm#strict`) names,
    /// or why there is none, in words.
    ///
    /// # Errors
    /// A sentence for people, without the reference in front.
    fn resolve(&self, reference: &str) -> Result<EvaluatorPin, String>;

    /// What is wrong with a configuration (`null` where none was given), one sentence
    /// each; empty for nothing. A sentence may begin with a JSON pointer and a colon
    /// (`/pattern: not a regular expression`): it is then shown at that place of the file.
    fn check(&self, pin: &EvaluatorPin, config: &serde_json::Value) -> Vec<String>;

    /// The references there are, for "did you mean".
    fn references(&self) -> Vec<String> {
        vec![]
    }
}

/// Reads a profile.
///
/// # Errors
/// All problems of the file, at most [`SHOWN_MAX`](super::problem::SHOWN_MAX) of them in words.
pub fn read_profile(path: &Path, catalog: &dyn EvaluatorCatalog) -> Result<(Profile, Vec<Warning>), Problems> {
    let file = source::shown(path);
    let bytes = source::read_all(&file, source::open(path)?, PROFILE_FILE_BYTES_MAX)?;
    let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    read_bytes(&file, &bytes, is_json, catalog)
}

/// Reads a profile from bytes; `file` is what problems call it.
///
/// # Errors
/// As [`read_profile`].
pub fn read_bytes(
    file: &str,
    bytes: &[u8],
    is_json: bool,
    catalog: &dyn EvaluatorCatalog,
) -> Result<(Profile, Vec<Warning>), Problems> {
    let mut inspection = Inspection::new(file);
    let written = match source::whole_text(file, bytes) {
        Ok(written) => written,
        Err(problems) => {
            problems.into_iter().for_each(|problem| inspection.add(problem));
            return Err(refused(inspection));
        }
    };
    let text = Text::new(written, 1);
    let document = if is_json { json::read(written, "the end of the file") } else { yaml::read(written) };
    let document = document.and_then(|node| match node.kind {
        Kind::Null => Err(vec![Flaw::new(0, "the file is empty, expected a profile", SHAPE)]),
        _ => Ok(node),
    });
    let node = match document {
        Ok(node) => node,
        Err(flaws) => {
            text.report(flaws, &mut inspection);
            return Err(refused(inspection));
        }
    };
    let mut reading = Reading { text: &text, inspection, catalog };
    let profile = read_root(&mut reading, &node);
    let warnings = reading.inspection.finish()?;
    Ok((profile.expect("a profile without problems was read"), warnings))
}

const SHAPE: &str = "a profile has at least `profile`, `target`, `evaluators` or `groups`, and `gate`";

fn refused(inspection: Inspection) -> Problems {
    inspection.finish().expect_err("a problem was noted before this")
}

const KEYS: [&str; 16] = [
    "profile",
    "version",
    "description",
    "target",
    "judge",
    "attempts",
    "repeats",
    "errors_as",
    "chunk",
    "lane",
    "budget",
    "persist",
    "groups",
    "evaluators",
    "dimensions",
    "gate",
];

fn read_root(reading: &mut Reading<'_>, node: &Node) -> Option<Profile> {
    let root = reading.map(node, "profile", &KEYS)?;
    let name = reading.required(&root, "profile").and_then(|field| reading.name(field));
    let version = root.get("version").and_then(|field| reading.version(field));
    let description = root.get("description").and_then(|field| reading.text(field));
    let target = reading.required(&root, "target").and_then(|field| target::read(reading, field));
    let judge = root.get("judge").and_then(|field| target::read(reading, field));
    let attempts = policy::attempts(reading, root.get("attempts"));
    let repeats = root.get("repeats").and_then(|field| reading.integer(field, 1..=1_000)).unwrap_or(1) as u32;
    let errors_as = policy::errors_as(reading, root.get("errors_as"));
    let chunk_size = policy::chunk_size(reading, root.get("chunk"));
    let lane = policy::lane(reading, root.get("lane"));
    let budget = policy::budget(reading, root.get("budget"));
    let persist = policy::persist(reading, root.get("persist"));
    let groups = group::read_all(reading, &root);
    let gate = read_gate(reading, &root, &groups, repeats);
    Some(Profile {
        name: name?,
        version: version.unwrap_or_else(|| "0".into()),
        description,
        target: target?,
        judge,
        attempts,
        repeats,
        errors_as,
        chunk_size,
        lane,
        budget,
        persist,
        groups,
        gate,
    })
}

fn read_gate(reading: &mut Reading<'_>, root: &Fields<'_>, groups: &[Group], repeats: u32) -> Vec<Rule> {
    const HINT: &str = "say what is good enough, for example gate: [{ min_pass_rate: 1.0 }]";
    match root.get("gate") {
        None => {
            reading.refuse(root.at, "the profile has no gate, so nothing could pass", HINT);
            vec![]
        }
        Some(field) => match reading.list(field) {
            Some([]) => {
                reading.refuse(field.node.at, "the gate has no rule, so nothing could pass", HINT);
                vec![]
            }
            Some(items) => items.iter().filter_map(|item| gate::rule(reading, item, groups, repeats)).collect(),
            None => vec![],
        },
    }
}

/// The bindings whose evaluators this version does not have yet, as group and
/// binding; a profile with one is valid, and a run of it must be refused.
pub fn unavailable_evaluators(profile: &Profile) -> Vec<(&str, &Binding)> {
    let mut unavailable = vec![];
    for group in &profile.groups {
        let missing = group.bindings.iter().filter(|binding| binding.evaluator.component == Digest::ZERO);
        unavailable.extend(missing.map(|binding| (group.name.as_str(), binding)));
    }
    unavailable
}

#[cfg(test)]
mod tests;
