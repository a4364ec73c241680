//! The tree: every file that belongs to the house, read once.
//!
//! Hidden folders and build products are not of the house. A file is a test
//! when a `mod` under `#[cfg(test)]` names it or when it lies under `tests/`.

use super::source::Source;
use std::fs;
use std::path::{Path, PathBuf};

/// All files of the house.
pub struct Tree {
    root: PathBuf,
    /// Every file from the root, with slashes, sorted.
    pub files: Vec<String>,
    /// Every Rust file, tests included.
    pub sources: Vec<Source>,
}

impl Tree {
    pub fn read() -> Tree {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        walk(&root, &root, &mut files);
        files.sort();
        let rust = files.iter().filter(|path| path.ends_with(".rs"));
        let mut sources: Vec<Source> =
            rust.map(|path| Source::new(path.clone(), fs::read_to_string(root.join(path)).expect("UTF-8"))).collect();
        mark_tests(&mut sources);
        Tree { root, files, sources }
    }

    /// The text of a file; `None` when there is no such file or it is no text.
    pub fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Rust files outside of `tests/` folders.
    pub fn rooms(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| !is_under_tests(&source.path))
    }

    /// Files with an ending, with their texts.
    pub fn texts(&self, ending: &str) -> Vec<(String, String)> {
        let wanted = self.files.iter().filter(|path| path.ends_with(ending));
        wanted.filter_map(|path| Some((path.clone(), self.text(path)?))).collect()
    }
}

fn is_under_tests(path: &str) -> bool {
    path.split('/').any(|part| part == "tests")
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a folder entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8").to_string();
        if path.is_dir() {
            let hidden = name.starts_with('.') && name != ".ci";
            if !hidden && name != "target" {
                walk(root, &path, files);
            }
        } else if !name.starts_with('.') {
            let relative = path.strip_prefix(root).expect("below the root").to_str().expect("UTF-8");
            files.push(relative.replace('\\', "/"));
        }
    }
}

/// Marks the files that are modules under `#[cfg(test)]`.
fn mark_tests(sources: &mut [Source]) {
    let tests: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in sources {
        let stem = source.path.trim_end_matches(".rs");
        let named = tests.iter().any(|module| stem == module || stem.starts_with(&format!("{module}/")));
        if named || is_under_tests(&source.path) {
            source.mark_as_tests();
        }
    }
}

/// The modules that a file declares for tests only, as paths without ending.
fn test_modules(source: &Source) -> Vec<String> {
    let stem = source.path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let home = if matches!(name, "mod" | "lib" | "main") { folder.to_string() } else { stem.to_string() };
    let marked =
        source.code.split("#[cfg(").skip(1).filter(|item| item.starts_with("test)") || item.starts_with("any(test"));
    marked
        .filter_map(|item| {
            let item = item[item.find(']')? + 1..].trim_start();
            let item = item.strip_prefix("pub ").or_else(|| item.strip_prefix("pub(crate) ")).unwrap_or(item);
            let name = item.strip_prefix("mod ")?.split_once(';')?.0.trim();
            (!name.contains('{')).then(|| format!("{home}/{name}"))
        })
        .collect()
}

#[test]
fn a_file_that_only_tests_name_is_a_test() {
    let mut sources = vec![
        Source::new("actors/src/verdict/mod.rs", "#[cfg(test)]\nmod testbed;\nmod gate;"),
        Source::new("actors/src/verdict/testbed.rs", "fn a() { tokio::spawn(b) }"),
        Source::new("actors/src/verdict/gate.rs", "fn a() {}"),
    ];
    mark_tests(&mut sources);
    assert_eq!(sources[1].words().count(), 0);
    assert_ne!(sources[2].words().count(), 0);
}
