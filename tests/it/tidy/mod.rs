//! The rules of the house, kept by a machine: each test is one rule as a
//! sentence, and says where it is broken and why it matters.
//!
//! `walls` has the rules about imports, `records` those about events and SQL,
//! `prose` those about what people read. Each rule is a function of text and
//! has a proof beside it that it can fail. A rule that turns out wrong is
//! changed here, with an ADR; an exception is a line with a reason.

mod imports;
mod prose;
mod records;
mod source;
mod tree;
mod walls;

use source::{Problem, Source};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use tree::Tree;

/// Files that may be longer than [`prose::LINES_MAX`], and why.
const LONG_FILES: [(&str, &str); 7] = [
    ("actors/src/chunk/state.rs", "one fold over every event of a chunk, with its small steps"),
    ("evaluators/std/src/tools.rs", "both evaluators of tool calls share the one matching of calls"),
    ("src/report/testing.rs", "an in-memory journal and the one scenario that reports are shown of"),
    ("schema/src/view.rs", "the rows of every view with their one fold"),
    ("src/agent/tests.rs", "a table of faults, one test each"),
    ("src/config/json.rs", "one reader of JSON with places, its tests beside it"),
    ("src/config/profile/tests.rs", "a table of refusals, one test each"),
];

static TREE: LazyLock<Tree> = LazyLock::new(Tree::read);

#[track_caller]
fn holds(problems: impl IntoIterator<Item = Problem>) {
    let told: Vec<String> = problems.into_iter().map(|problem| format!("{}: {}", problem.place, problem.why)).collect();
    assert!(told.is_empty(), "\n{}\n", told.join("\n"));
}

#[track_caller]
fn each_source_holds(rule: impl Fn(&Source) -> Vec<Problem>) {
    holds(TREE.sources.iter().flat_map(rule));
}

#[test]
fn packages_depend_one_way() {
    let manifests = TREE.texts("Cargo.toml");
    holds(manifests.iter().flat_map(|(path, manifest)| walls::manifest_looks_one_way(path, manifest)));
}

#[test]
fn imports_point_one_way() {
    each_source_holds(walls::imports_point_one_way);
}

#[test]
fn deciders_decide_from_their_arguments_alone() {
    each_source_holds(walls::deciders_are_pure);
}

#[test]
fn adapters_do_not_know_each_other() {
    holds(walls::adapters_stay_apart(&TREE.rooms().collect::<Vec<_>>()));
}

#[test]
fn replay_can_cause_nothing() {
    each_source_holds(walls::replay_causes_nothing);
}

#[test]
fn actix_stays_in_the_shell() {
    each_source_holds(walls::actix_stays_in_the_shell);
}

#[test]
fn public_signatures_show_no_actor() {
    each_source_holds(walls::public_signatures_hide_actors);
}

#[test]
fn there_is_no_clock_below_src() {
    each_source_holds(walls::no_clock_below_src);
}

#[test]
fn there_is_no_float_in_an_event() {
    each_source_holds(records::no_float_in_an_event);
}

#[test]
fn sql_lives_in_the_schema_only() {
    each_source_holds(records::sql_lives_in_schema);
}

#[test]
fn no_statement_changes_an_event() {
    holds(TREE.texts(".sql").iter().flat_map(|(path, sql)| records::events_are_append_only(path, sql)));
}

#[test]
fn every_event_has_a_json_schema_and_a_golden_payload() {
    let tables: Vec<&Source> = TREE.sources.iter().filter(|source| source.is_in("schema/src/events")).collect();
    let types = records::event_types(&tables);
    assert!(types.len() >= 37, "the tables of schema/src/events are not read: {} events found", types.len());
    let files = types.iter().flat_map(|(event, version)| {
        ["json", "golden"].map(|folder| format!("schema/{folder}/{event}.v{version}.json"))
    });
    let missing = files.filter(|path| !TREE.has(path));
    holds(missing.map(|path| Problem::at(&path, 1, "is missing: scripts/bless-schemas writes it")));
}

#[test]
fn every_module_opens_with_an_essay() {
    each_source_holds(prose::opens_with_an_essay);
}

#[test]
fn every_file_is_of_readable_length() {
    each_source_holds(|source| prose::is_of_readable_length(source, &LONG_FILES));
}

#[test]
fn nothing_is_left_undone() {
    each_source_holds(prose::nothing_is_left_undone);
}

#[test]
fn every_name_tells_something() {
    each_source_holds(|source| prose::has_a_telling_name(&source.path));
}

#[test]
fn nothing_names_one_machine_or_a_registry() {
    // The lock file is cargo's own and names its registry; examples and data may quote anything.
    let files = TREE.files.iter().filter(|path| !path.ends_with("Cargo.lock"));
    holds(files.flat_map(|path| TREE.text(path).map(|text| prose::names_no_machine(path, &text)).unwrap_or_default()));
}

#[test]
fn the_map_names_every_room() {
    let map = TREE.text("ARCHITECTURE.md").expect("ARCHITECTURE.md exists");
    let mut rooms = BTreeSet::new();
    for path in &TREE.files {
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() > 1 {
            rooms.insert(format!("{}/", parts[0]));
        }
        if let ["src", room, _, ..] | ["actors", "src", room, _, ..] = parts[..] {
            let package = if parts[0] == "src" { "src" } else { "actors/src" };
            rooms.insert(format!("{package}/{room}/"));
        }
    }
    holds(prose::map_names(&map, &rooms.into_iter().collect::<Vec<_>>()));
}

#[test]
fn the_map_says_what_every_dependency_is_for() {
    let map = TREE.text("ARCHITECTURE.md").expect("ARCHITECTURE.md exists");
    let manifests = TREE.texts("Cargo.toml");
    let asked = manifests.iter().flat_map(|(_, manifest)| imports::dependencies(manifest));
    let direct: BTreeSet<String> = asked.map(|(name, _)| name).filter(|name| !name.starts_with("tribunal")).collect();
    holds(prose::map_explains_dependencies(&map, &direct.into_iter().collect::<Vec<_>>()));
}

#[test]
fn every_link_leads_somewhere() {
    let pages = TREE.texts(".md");
    holds(pages.iter().flat_map(|(path, text)| prose::links_lead_somewhere(path, text, |target| TREE.has(target))));
}

#[test]
fn every_decision_record_is_linked() {
    let index = TREE.text("docs/adr/README.md").unwrap_or_default();
    let records =
        TREE.files.iter().filter_map(|path| path.strip_prefix("docs/adr/")).filter(|name| *name != "README.md");
    let lost = records.filter(|name| !index.contains(&format!("({name})")));
    holds(lost.map(|name| Problem::at("docs/adr/README.md", 1, format!("does not link {name}"))));
}

#[test]
fn the_lock_file_holds_no_banned_crate() {
    let deny = TREE.text("deny.toml").expect("deny.toml exists");
    let locks = TREE.texts("Cargo.lock");
    holds(locks.iter().flat_map(|(_, lock)| prose::lock_holds_no_banned_crate(lock, &deny)));
}
