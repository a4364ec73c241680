//! The walls: who may import whom, and what a pure room may not touch.

use super::imports::{dependencies, paths_of};
use super::source::{Problem, Source};

/// Rooms of `tribunal-actors` that decide: pure functions of what they are given.
const DECIDERS: [&str; 8] = ["run", "chunk", "attempt", "verdict", "policy", "projection", "decider", "scoring"];

/// Rooms of `tribunal-actors` that are the shell around the deciders.
const SHELL: [&str; 7] = ["aggregate", "directory", "handle", "supervise", "worker", "system", "testing"];

/// Files in `src/` that join the adapters; every other room is one.
const JOINTS: [&str; 4] = ["cli", "daemon", "main", "lib"];

/// The room of a file in a package's `src`: `journal` of `src/journal/lock.rs` and of `src/journal.rs`.
fn room<'a>(source: &'a Source, package: &str) -> Option<&'a str> {
    let inside = source.path.strip_prefix(package)?;
    inside.split('/').next().map(|name| name.trim_end_matches(".rs"))
}

fn is_decider(source: &Source) -> bool {
    room(source, "actors/src/").is_some_and(|room| DECIDERS.contains(&room))
}

/// A manifest asks only for the packages of the house that it may see.
pub fn manifest_looks_one_way(path: &str, manifest: &str) -> Vec<Problem> {
    let allowed: &[&str] = match path {
        "schema/Cargo.toml" => &[],
        "actors/Cargo.toml" | "loadtest/Cargo.toml" => &["tribunal-schema"],
        "Cargo.toml" => &["tribunal-schema", "tribunal-actors"],
        _ => &[],
    };
    let house = dependencies(manifest).into_iter().filter(|(name, _)| name.starts_with("tribunal"));
    house
        .filter(|(name, _)| !allowed.contains(&name.as_str()))
        .map(|(name, _)| {
            Problem::at(
                path,
                1,
                format!("asks for {name}; imports point one way: schema <- actors <- src, loadtest -> schema"),
            )
        })
        .collect()
}

/// A file names only packages that its own may see.
pub fn imports_point_one_way(source: &Source) -> Vec<Problem> {
    let hidden: &[&str] = match source.path.split('/').next() {
        Some("schema") => &["tribunal_actors", "tribunal"],
        Some("actors") => &["tribunal"],
        Some("loadtest") => &["tribunal_actors", "tribunal"],
        // A guest's `tribunal::` is its generated WIT.
        Some("evaluators") => &["tribunal_schema", "tribunal_actors"],
        _ => &[],
    };
    let paths = paths_of(source)
        .into_iter()
        .filter(|named| hidden.contains(&named.path.split("::").next().unwrap_or_default()));
    paths
        .map(|named| Problem::at(&source.path, named.line, format!("imports {}, which stands above it", named.path)))
        .collect()
}

/// Deciders import `schema` and std only: the same state and command always give the same events.
pub fn deciders_are_pure(source: &Source) -> Vec<Problem> {
    if !is_decider(source) {
        return Vec::new();
    }
    const FOREIGN: [&str; 24] = [
        "actix",
        "actix_rt",
        "tokio",
        "tokio_util",
        "futures",
        "async_trait",
        "tracing",
        "rand",
        "bytes",
        "async",
        "await",
        "SystemTime",
        "Instant",
        "thread",
        "fs",
        "env",
        "net",
        "process",
        "generate",
        // The order of these is another one in each process.
        "HashMap",
        "HashSet",
        "RandomState",
        // Writing and reading the journal is the shell's business; rows are values.
        "Journal",
        "JournalReader",
    ];
    let words = source.words().filter(|(_, word)| FOREIGN.contains(word));
    let mut problems: Vec<Problem> = words
        .map(|(line, word)| {
            Problem::at(
                &source.path,
                line,
                format!(
                    "a decider names `{word}`: it decides from its arguments alone, so that a replay decides the same"
                ),
            )
        })
        .collect();
    for named in paths_of(source) {
        let mut parts = named.path.split("::");
        if let (Some("crate"), Some(room)) = (parts.next(), parts.next()) {
            // The switch of a test is a constant outside of tests.
            let allowed =
                DECIDERS.contains(&room) || named.path.starts_with("crate::ports::journal") || room == "mutant";
            if !allowed && room.starts_with(char::is_lowercase) && room != "self" {
                problems.push(Problem::at(
                    &source.path,
                    named.line,
                    format!("a decider imports {}, which is not a room of decisions", named.path),
                ));
            }
        }
    }
    problems
}

/// Adapters do not know each other: a change of one cannot break another.
pub fn adapters_stay_apart(sources: &[&Source]) -> Vec<Problem> {
    let rooms: Vec<&str> =
        sources.iter().filter_map(|source| room(source, "src/")).filter(|room| !JOINTS.contains(room)).collect();
    let mut problems = Vec::new();
    for source in sources {
        let Some(own) = room(source, "src/").filter(|room| !JOINTS.contains(room)) else { continue };
        for named in paths_of(source) {
            let mut parts = named.path.split("::");
            let first = parts.next().unwrap_or_default();
            let Some(other) = parts.next().filter(|_| matches!(first, "crate" | "tribunal")) else { continue };
            if other != own && (rooms.contains(&other) || JOINTS.contains(&other)) {
                problems.push(Problem::at(
                    &source.path,
                    named.line,
                    format!("`{own}` imports {}: only `cli` and `daemon` join the rooms of src", named.path),
                ));
            }
        }
    }
    problems.dedup();
    problems
}

/// Replay reads and recomputes; it has no hand to cause anything with.
pub fn replay_causes_nothing(source: &Source) -> Vec<Problem> {
    if room(source, "src/") != Some("replay") {
        return Vec::new();
    }
    const WRITERS: [&str; 8] =
        ["Journal", "AppendUnit", "Broker", "Target", "append", "put_blob", "Publication", "actix"];
    let words = source.words().filter(|(_, word)| WRITERS.contains(word));
    words
        .map(|(line, word)| {
            Problem::at(&source.path, line, format!("replay names `{word}`: it has a reader and no writer"))
        })
        .collect()
}

/// actix is the shell's own business; `cli` and `daemon` start its system.
pub fn actix_stays_in_the_shell(source: &Source) -> Vec<Problem> {
    let in_shell = room(source, "actors/src/").is_some_and(|room| SHELL.contains(&room));
    let starts = room(source, "src/").is_some_and(|room| JOINTS.contains(&room));
    if in_shell || starts {
        return Vec::new();
    }
    let words = source.words().filter(|(_, word)| matches!(*word, "actix" | "actix_rt"));
    words
        .map(|(line, _)| {
            Problem::at(&source.path, line, "names actix outside of the shell: callers see handles with async methods")
        })
        .collect()
}

/// No signature that others can call has an actor in it.
pub fn public_signatures_hide_actors(source: &Source) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (start, _) in source.live.match_indices("pub ") {
        let item = &source.live[start..];
        let end = item.find(['{', ';', '}']).unwrap_or(item.len());
        let actor = ["Addr<", "Recipient<", "WeakAddr<", "ResponseActFuture<", "actix::"]
            .into_iter()
            .find(|actor| item[..end].contains(actor));
        if let Some(actor) = actor {
            let line = super::source::line_of(&source.live, start);
            problems.push(Problem::at(
                &source.path,
                line,
                format!("a public signature shows `{actor}`: give a handle with async methods"),
            ));
        }
    }
    problems
}

/// Time and chance come from above: below `src` only the shell may wait and mint ids.
pub fn no_clock_below_src(source: &Source) -> Vec<Problem> {
    let below = source.is_in("schema") || source.is_in("actors");
    if !below {
        return Vec::new();
    }
    let in_shell = room(source, "actors/src/").is_some_and(|room| SHELL.contains(&room));
    let words = source.words().filter(|(_, word)| match *word {
        "SystemTime" => true,
        "Instant" | "rand" | "generate" => !in_shell,
        _ => false,
    });
    words
        .map(|(line, word)| {
            Problem::at(
                &source.path,
                line,
                format!("`{word}` below src: instants are the database's, chance and ids come from the shell"),
            )
        })
        .collect()
}

#[cfg(test)]
mod proofs {
    use super::*;

    fn file(path: &str, text: &str) -> Source {
        Source::new(path, text)
    }

    #[test]
    fn a_manifest_that_looks_up_is_found() {
        let manifest = "[dev-dependencies]\ntribunal-actors = { workspace = true }\n";
        assert_eq!(manifest_looks_one_way("schema/Cargo.toml", manifest).len(), 1);
        assert_eq!(manifest_looks_one_way("loadtest/Cargo.toml", manifest).len(), 1);
        assert_eq!(manifest_looks_one_way("Cargo.toml", manifest).len(), 0);
    }

    #[test]
    fn an_import_from_above_is_found() {
        assert_eq!(imports_point_one_way(&file("schema/src/a.rs", "use tribunal_actors::x;")).len(), 1);
        assert_eq!(imports_point_one_way(&file("actors/src/a.rs", "use {std::fmt, tribunal::x};")).len(), 1);
        assert_eq!(imports_point_one_way(&file("actors/src/a.rs", "use tribunal_schema::x;")).len(), 0);
    }

    #[test]
    fn a_decider_that_waits_reads_a_clock_or_iterates_by_chance_is_found() {
        for text in [
            "use tokio::sync::Notify;",
            "async fn a() {}",
            "fn a() { Instant::now() }",
            "use std::collections::HashMap;",
            "use crate::worker::Pool;",
            "fn a(j: &dyn Journal) {}",
        ] {
            assert!(!deciders_are_pure(&file("actors/src/chunk/decide.rs", text)).is_empty(), "{text}");
            assert!(deciders_are_pure(&file("actors/src/worker/pool.rs", text)).is_empty(), "{text}");
        }
        for text in [
            "use crate::ports::journal::Row;",
            "use super::state::State;",
            "use tribunal_schema::events::ChunkEvent;",
            "#[cfg(test)] mod t { use tokio::x; }",
        ] {
            assert!(deciders_are_pure(&file("actors/src/chunk/decide.rs", text)).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_adapter_that_knows_another_is_found() {
        let broker = file("src/broker/mod.rs", "");
        let cli = file("src/cli/mod.rs", "use crate::{broker, journal};");
        for text in [
            "use crate::broker::Queue;",
            "use crate::{journal::x, broker};",
            "fn a() { crate::broker::b() }",
            "use super::broker;",
            "use crate::cli::Exit;",
        ] {
            let journal = file("src/journal/mod.rs", text);
            assert!(!adapters_stay_apart(&[&journal, &broker, &cli]).is_empty(), "{text}");
        }
        let journal = file("src/journal/mod.rs", "use crate::journal::lock;");
        assert!(adapters_stay_apart(&[&journal, &broker, &cli]).is_empty());
    }

    #[test]
    fn a_replay_that_can_write_is_found() {
        assert_eq!(replay_causes_nothing(&file("src/replay/mod.rs", "use x::{Journal, JournalReader};")).len(), 1);
        assert_eq!(replay_causes_nothing(&file("src/replay/mod.rs", "use x::JournalReader;")).len(), 0);
    }

    #[test]
    fn actix_outside_of_the_shell_is_found() {
        assert_eq!(actix_stays_in_the_shell(&file("src/journal/mod.rs", "use actix::Addr;")).len(), 1);
        assert_eq!(actix_stays_in_the_shell(&file("actors/src/aggregate/mod.rs", "use actix::Addr;")).len(), 0);
    }

    #[test]
    fn a_public_signature_with_an_actor_is_found() {
        assert_eq!(public_signatures_hide_actors(&file("a.rs", "pub fn start() -> Addr<Run> {}")).len(), 1);
        assert_eq!(public_signatures_hide_actors(&file("a.rs", "pub struct H { pub a: actix::Addr<R> }")).len(), 1);
        assert_eq!(
            public_signatures_hide_actors(&file("a.rs", "pub struct Handle { addr: Addr<Run> }\npub fn x() {}")).len(),
            0
        );
    }

    #[test]
    fn a_clock_below_src_is_found() {
        assert_eq!(no_clock_below_src(&file("schema/src/ids.rs", "fn a() { Ulid::generate() }")).len(), 1);
        assert_eq!(no_clock_below_src(&file("actors/src/worker/mod.rs", "fn a() { SystemTime::now() }")).len(), 1);
        assert_eq!(no_clock_below_src(&file("actors/src/worker/mod.rs", "fn a() { Ulid::generate() }")).len(), 0);
    }
}
