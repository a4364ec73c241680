//! Imports: which paths a file names, and which crates a manifest asks for.

use super::source::{Source, line_of};

/// One path that a file names, with its line: `crate::journal::Store`.
#[derive(Debug, PartialEq, Eq)]
pub struct Named {
    pub line: usize,
    pub path: String,
}

/// Every path of a `use`, with its groups taken apart, and every other path that
/// begins at `crate` or `super`, with `super` resolved by the file's place.
pub fn paths_of(source: &Source) -> Vec<Named> {
    let mut named = Vec::new();
    let code = &source.live;
    for (start, _) in code.match_indices("use ") {
        let starts_item =
            code[..start].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '_');
        let Some(length) = code[start..].find(';').filter(|_| starts_item) else { continue };
        let tree: String = code[start + 4..start + length].split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line_of(code, start);
        named.extend(expanded(&tree).into_iter().map(|path| Named { line, path: resolved(&source.path, &path) }));
    }
    for root in ["crate::", "super::"] {
        for (start, _) in code.match_indices(root) {
            let follows = code[..start].ends_with("::");
            let path: String =
                code[start..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
            if !follows {
                named.push(Named { line: line_of(code, start), path: resolved(&source.path, &path) });
            }
        }
    }
    named
}

/// `a::{b, c::{d}}` as `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        return vec![tree.split(" as ").next().unwrap_or(tree).trim().to_string()];
    };
    let prefix = &tree[..open];
    let inner = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let parts = split_outside_braces(inner);
    parts.iter().flat_map(|part| expanded(part)).map(|path| format!("{prefix}{path}")).collect()
}

fn split_outside_braces(text: &str) -> Vec<String> {
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("never empty").push(c);
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// The path with leading `super`s replaced by where they lead from this file.
fn resolved(file: &str, path: &str) -> String {
    let mut module: Vec<&str> = match file.split_once("src/") {
        Some((_, inside)) => inside.trim_end_matches(".rs").split('/').collect(),
        None => return path.to_string(),
    };
    if matches!(module.last(), Some(&"mod" | &"lib" | &"main")) {
        module.pop();
    }
    let mut rest = path;
    let mut climbed = false;
    while let Some(after) = rest.strip_prefix("super::") {
        module.pop();
        rest = after;
        climbed = true;
    }
    if !climbed {
        return path.to_string();
    }
    let mut parts = vec!["crate"];
    parts.extend(module);
    parts.push(rest);
    parts.join("::")
}

/// The crates that a manifest asks for: name and whether only for tests or builds.
pub fn dependencies(manifest: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut section = String::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line.trim_matches(|c| c == '[' || c == ']').to_string();
            if let Some((kind, name)) = section.rsplit_once('.').filter(|(kind, _)| kind.ends_with("dependencies")) {
                found.push((name.to_string(), kind.contains("dev-") || kind.contains("build-")));
            }
            continue;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if section.ends_with("dependencies")
            && section != "workspace.dependencies"
            && line.contains('=')
            && !line.starts_with('#')
        {
            found.push((name.to_string(), section.contains("dev-") || section.contains("build-")));
        }
    }
    found
}

#[test]
fn groups_of_a_use_are_taken_apart() {
    assert_eq!(expanded("a::{b, c::{d, e as f}, self}"), ["a::b", "a::c::d", "a::c::e", "a::self"]);
}

#[test]
fn super_leads_to_the_module_above() {
    assert_eq!(resolved("src/journal/sqlite/mod.rs", "super::super::broker::Queue"), "crate::broker::Queue");
    assert_eq!(resolved("src/journal/mod.rs", "super::broker::Queue"), "crate::broker::Queue");
    assert_eq!(resolved("src/journal/lock.rs", "super::Store"), "crate::journal::Store");
}

#[test]
fn dependencies_of_every_section_are_found() {
    let manifest = "[workspace.dependencies]\nx = \"1\"\n[dependencies]\na = \"1\"\nb.workspace = true\n# c = 1\n[dev-dependencies]\nd = { x = 1 }\n[target.'cfg(unix)'.dependencies.e]\nversion = \"1\"\n";
    let found = dependencies(manifest);
    assert_eq!(found, [("a".into(), false), ("b".into(), false), ("d".into(), true), ("e".into(), false)]);
}
