//! What people read: essays, names, what must not be left behind, and the maps.

use super::source::{Problem, Source};

/// A file past this length holds a second idea.
pub const LINES_MAX: usize = 400;

/// A module opens with what it is for.
pub fn opens_with_an_essay(source: &Source) -> Vec<Problem> {
    let opening: String = source.text.lines().take_while(|line| line.starts_with("//!")).collect();
    let placeholder = ["placeholder", "TBD"].iter().any(|word| opening.contains(word));
    if opening.len() > "//! ".len() && !placeholder {
        return Vec::new();
    }
    vec![Problem::at(&source.path, 1, "opens without an essay (//!): what is it for, what does it not do")]
}

/// A file is one idea. `allowed` names the exceptions; one that is no exception any more must go.
pub fn is_of_readable_length(source: &Source, allowed: &[(&str, &str)]) -> Vec<Problem> {
    let lines = source.text.lines().count();
    let excepted = allowed.iter().any(|(path, _)| *path == source.path);
    match (lines > LINES_MAX, excepted) {
        (true, false) => vec![Problem::at(
            &source.path,
            lines,
            format!("{lines} lines, more than {LINES_MAX}: which second idea moved in?"),
        )],
        (false, true) => {
            vec![Problem::at(&source.path, lines, "is on the list of long files and is not long: take it off the list")]
        }
        _ => Vec::new(),
    }
}

/// Nothing is left half done.
pub fn nothing_is_left_undone(source: &Source) -> Vec<Problem> {
    let macros = ["todo!", "unimplemented!", "dbg!"];
    let code = macros.iter().flat_map(|name| {
        source
            .code
            .lines()
            .enumerate()
            .filter(move |(_, line)| line.contains(name))
            .map(move |(index, _)| (index + 1, *name))
    });
    let words = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("X", "XX")];
    let text = words.iter().flat_map(|word| {
        let is_word = move |part: &str| part == *word;
        source
            .text
            .lines()
            .enumerate()
            .filter(move |(_, line)| line.split(|c: char| !c.is_alphanumeric()).any(is_word))
            .map(move |(index, _)| (index + 1, *word))
    });
    code.chain(text)
        .map(|(line, word)| Problem::at(&source.path, line, format!("`{word}`: finish it, or open an issue")))
        .collect()
}

/// A name says what a thing is.
pub fn has_a_telling_name(path: &str) -> Vec<Problem> {
    const EMPTY: [&str; 9] = ["util", "utils", "helper", "helpers", "common", "misc", "manager", "info", "data"];
    let parts = path.split('/').map(|part| part.trim_end_matches(".rs"));
    let empty = parts.filter(|part| EMPTY.contains(part));
    empty.map(|part| Problem::at(path, 1, format!("`{part}` names no idea: what is in it?"))).collect()
}

/// Nothing that holds on one machine only, and no registry by name: the ordinary client knows its own.
pub fn names_no_machine(path: &str, text: &str) -> Vec<Problem> {
    let needles = [
        concat!("/wo", "rk/"),
        concat!("/tmp/", "wt"),
        concat!("/ro", "ot/"),
        concat!("/home/", "user"),
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("npmjs", ".org"),
        concat!("deb.debian", ".org"),
    ];
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            let found = needles.iter().filter(move |needle| line.contains(*needle));
            found.map(move |needle| Problem::at(path, index + 1, format!("names `{needle}`: it must work everywhere")))
        })
        .collect()
}

/// The map names every room.
pub fn map_names(map: &str, rooms: &[String]) -> Vec<Problem> {
    let missing = rooms.iter().filter(|room| !map.contains(&format!("`{room}`")));
    missing
        .map(|room| {
            Problem::at("ARCHITECTURE.md", 1, format!("does not name `{room}`: one line saying what it is for"))
        })
        .collect()
}

/// The map says of each direct dependency what it is for, and of no other.
pub fn map_explains_dependencies(map: &str, direct: &[String]) -> Vec<Problem> {
    let table = map.split("\n## ").find(|section| section.starts_with("Dependencies")).unwrap_or_default();
    let rows: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name)).collect();
    let missing = direct.iter().filter(|name| !rows.contains(&name.as_str()));
    let missing = missing.map(|name| format!("the section Dependencies does not say what `{name}` is for"));
    let stale = rows.iter().filter(|row| !direct.iter().any(|name| name == *row));
    let stale = stale.map(|row| format!("the section Dependencies explains `{row}`, which nothing asks for"));
    missing.chain(stale).map(|why| Problem::at("ARCHITECTURE.md", 1, why)).collect()
}

/// Every link of a page to a file of the house leads somewhere. `exists` gets a path from the root.
pub fn links_lead_somewhere(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Problem> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for target in line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target)) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !target.contains("://") && !exists(&joined(folder, file)) {
                problems.push(Problem::at(path, index + 1, format!("the link to {target} leads nowhere")));
            }
        }
    }
    problems
}

fn joined(folder: &str, file: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The lock file holds no banned crate; `deny.toml` says why each is banned.
pub fn lock_holds_no_banned_crate(lock: &str, deny: &str) -> Vec<Problem> {
    let banned =
        deny.lines().filter_map(|line| line.trim().strip_prefix("{ crate = \"")?.split_once('"').map(|(name, _)| name));
    let banned: Vec<(&str, Option<&str>)> =
        banned.map(|name| name.split_once(":<").map_or((name, None), |(name, below)| (name, Some(below)))).collect();
    let packages = lock
        .split("[[package]]")
        .skip(1)
        .filter_map(|package| Some((field(package, "name")?, field(package, "version")?)));
    packages
        .filter(|(name, version)| {
            banned.iter().any(|(crate_name, below)| {
                crate_name == name && below.is_none_or(|below| numbers(version) < numbers(below))
            })
        })
        .map(|(name, version)| Problem::at("Cargo.lock", 1, format!("{name} {version} is banned; deny.toml says why")))
        .collect()
}

fn field<'a>(package: &'a str, name: &str) -> Option<&'a str> {
    package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod proofs {
    use super::*;

    #[test]
    fn a_module_without_an_essay_is_found() {
        assert_eq!(opens_with_an_essay(&Source::new("a.rs", "use std::fmt;")).len(), 1);
        assert_eq!(opens_with_an_essay(&Source::new("a.rs", "//! placeholder\n")).len(), 1);
        assert_eq!(opens_with_an_essay(&Source::new("a.rs", "//! What it is for.\n")).len(), 0);
    }

    #[test]
    fn a_long_file_and_a_stale_exception_are_found() {
        let long = Source::new("a.rs", "\n".repeat(LINES_MAX + 1));
        let full = Source::new("a.rs", "\n".repeat(LINES_MAX));
        let allowed = [("a.rs", "a table")];
        assert_eq!(is_of_readable_length(&long, &[]).len(), 1);
        assert_eq!(is_of_readable_length(&full, &[]).len(), 0);
        assert_eq!(is_of_readable_length(&long, &allowed).len(), 0);
        assert_eq!(is_of_readable_length(&full, &allowed).len(), 1);
    }

    #[test]
    fn what_is_left_undone_is_found() {
        assert_eq!(nothing_is_left_undone(&Source::new("a.rs", "fn a() { todo!() }")).len(), 1);
        assert_eq!(nothing_is_left_undone(&Source::new("a.rs", concat!("// FIX", "ME later"))).len(), 1);
        assert_eq!(nothing_is_left_undone(&Source::new("a.rs", "let a = \"todo!\";")).len(), 0);
    }

    #[test]
    fn an_empty_name_is_found() {
        assert_eq!(has_a_telling_name("src/journal/utils.rs").len(), 1);
        assert_eq!(has_a_telling_name("src/common/mod.rs").len(), 1);
        assert_eq!(has_a_telling_name("src/config/dataset.rs").len(), 0);
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        assert_eq!(names_no_machine("a", concat!("cd /wo", "rk/main")).len(), 1);
        assert_eq!(names_no_machine("a", "cd framework/main").len(), 0);
    }

    #[test]
    fn a_room_without_a_line_and_an_unexplained_or_stale_dependency_are_found() {
        assert_eq!(map_names("- `src/journal/` keeps", &["src/journal/".into(), "src/broker/".into()]).len(), 1);
        let map = "# A\n\n## Dependencies\n\n| `serde` | reads |\n| `gone` | was |\n\n## Next\n| `regex` | no |\n";
        let problems = map_explains_dependencies(map, &["serde".into(), "regex".into()]);
        assert_eq!(problems.len(), 2);
    }

    #[test]
    fn a_link_to_nowhere_is_found() {
        let exists = |path: &str| path == "docs/audit.md" || path == "README.md";
        assert_eq!(
            links_lead_somewhere("docs/adr/x.md", "[a](../audit.md) [b](../../README.md#x) [c](https://a.b)", exists)
                .len(),
            0
        );
        assert_eq!(links_lead_somewhere("docs/adr/x.md", "[a](audit.md)", exists).len(), 1);
    }

    #[test]
    fn a_banned_crate_in_the_lock_file_is_found() {
        let deny = "deny = [\n    { crate = \"h2:<0.4\", reason = \"x\" },\n    { crate = \"serde_yaml\", reason = \"y\" },\n]";
        let lock = |name: &str, version: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
        assert_eq!(lock_holds_no_banned_crate(&lock("h2", "0.3.27"), deny).len(), 1);
        assert_eq!(lock_holds_no_banned_crate(&lock("h2", "0.4.1"), deny).len(), 0);
        assert_eq!(lock_holds_no_banned_crate(&lock("serde_yaml", "0.9.0"), deny).len(), 1);
    }
}
