//! The standard component, embedded: no Wasm toolchain is needed to build or
//! use Tribunal. Its source is `evaluators/std`; `scripts/build-evaluators`
//! makes it, and a test here fails when the source changed and it did not.

use std::sync::LazyLock;
use tribunal_schema::Digest;

/// The name by which references say it: `std/contains`.
pub const NAME: &str = "std";

/// The component.
pub const BYTES: &[u8] = include_bytes!("../../evaluators/std/std.wasm");

/// SHA-256 of the component.
pub static DIGEST: LazyLock<Digest> = LazyLock::new(|| Digest::of(BYTES));

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    const HASHES: &str = include_str!("../../evaluators/std/std.sha256");

    fn recorded(what: &str) -> String {
        let line = HASHES.lines().find_map(|line| line.strip_prefix(what));
        line.expect("the file has a line for it").trim().to_owned()
    }

    /// What `scripts/build-evaluators` hashes: one line `digest  path` a file, by path.
    fn sources() -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let given = ["src", ".cargo", "Cargo.toml", "Cargo.lock"].map(|part| root.join("evaluators/std").join(part));
        let mut files: Vec<PathBuf> = given
            .into_iter()
            .chain([root.join("schema/wit/evaluator.wit")])
            .flat_map(|start| walkdir::WalkDir::new(start).into_iter().map(|entry| entry.expect("a readable tree")))
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| entry.path().strip_prefix(root).expect("below the root").to_owned())
            .collect();
        files.sort_by_key(|path| path.as_os_str().as_encoded_bytes().to_vec());
        let line = |path: PathBuf| {
            let bytes = std::fs::read(root.join(&path)).expect("a readable file");
            format!("{}  {}\n", Digest::of(&bytes), path.display())
        };
        files.into_iter().map(line).collect()
    }

    #[test]
    fn the_embedded_component_is_built_from_the_sources_beside_it() {
        let stale = "evaluators/std changed: run scripts/build-evaluators and commit std.wasm and std.sha256";
        assert_eq!(Digest::of(sources().as_bytes()).to_string(), recorded("sources"), "{stale}");
        assert_eq!(DIGEST.to_string(), recorded("component"), "{stale}");
    }

    #[test]
    fn the_embedded_component_is_small() {
        assert!(BYTES.len() < 1_000_000, "{} bytes", BYTES.len());
    }
}
