//! Which binary is measured: the one that is named, or this workspace's release build.

use anyhow::{Context, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The binary to be measured. Without a path the workspace is built, which costs nothing when it is up to date
/// and makes sure that yesterday's binary is never measured for today's.
pub fn find(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    match named {
        Some(path) => path.canonicalize().with_context(|| format!("no binary at {}", path.display())),
        None => build(),
    }
}

/// A line of cargo's machine output, as far as it matters here.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    target: Target,
}

#[derive(Default, Deserialize)]
struct Target {
    #[serde(default)]
    name: String,
}

fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--package", "tribunal", "--bin", "tribunal"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo; name a binary with --binary")?;
    if !built.status.success() {
        bail!("the release build failed; name a binary with --binary");
    }
    executable(&String::from_utf8_lossy(&built.stdout)).context("cargo built no binary named tribunal")
}

fn executable(output: &str) -> Option<PathBuf> {
    let artifacts = output.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    let ours = |artifact: &Artifact| artifact.reason == "compiler-artifact" && artifact.target.name == "tribunal";
    artifacts.filter(ours).find_map(|artifact| artifact.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_among_libraries_and_other_packages() {
        let output = r#"
{"reason":"compiler-artifact","target":{"name":"serde"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/t/other"}
{"reason":"compiler-artifact","target":{"name":"tribunal"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"tribunal"},"executable":"/t/tribunal"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(output), Some(PathBuf::from("/t/tribunal")));
        assert_eq!(executable("not json"), None);
    }
}
