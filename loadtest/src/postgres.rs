//! A database of a server that somebody runs: made for one measurement and
//! dropped after it. Spoken to through the server's own programs, as a stranger would.

use anyhow::{Context, ensure};
use std::path::PathBuf;
use std::process::{Command, Output};

/// A database that is dropped with it.
pub struct Database {
    admin: String,
    name: String,
}

impl Database {
    /// A fresh database on the server of an address, which must be one that may make databases.
    pub fn create(admin: &str, purpose: &str) -> anyhow::Result<Database> {
        let name = format!("tribunal_loadtest_{purpose}_{}", std::process::id());
        psql(admin, &format!("CREATE DATABASE {name}"))?;
        Ok(Database { admin: admin.to_owned(), name })
    }

    /// Its address.
    pub fn url(&self) -> String {
        match self.admin.rsplit_once('/') {
            Some((server, _)) => format!("{server}/{}", self.name),
            None => self.admin.clone(),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Err(error) = psql(&self.admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name)) {
            crate::note(&format!("the database {} is left behind: {error}", self.name));
        }
    }
}

/// Runs a statement; gives what it prints.
pub fn psql(url: &str, statement: &str) -> anyhow::Result<String> {
    let output =
        program("psql")?.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-At", "-c", statement]).output()?;
    said("psql", output)
}

/// What a program printed, if it ended well.
pub fn said(name: &str, output: Output) -> anyhow::Result<String> {
    ensure!(
        output.status.success(),
        "{name} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).with_context(|| format!("{name} printed no text"))
}

/// A program of the server: Debian keeps some of them off the path.
pub fn program(name: &str) -> anyhow::Result<Command> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.filter_map(|version| Some(version.ok()?.path().join("bin"))).collect())
        .unwrap_or_default();
    folders.sort();
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let found = folders.into_iter().rev().map(|folder| folder.join(name)).find(|path| path.is_file());
    let path = found.with_context(|| format!("{name} is not installed; on Debian: apt-get install postgresql"))?;
    Ok(Command::new(path))
}
