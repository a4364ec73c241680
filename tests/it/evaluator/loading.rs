//! Loading: references, the compiling child and its limits, the cache, and
//! components that come back from where a run keeps them.

use super::guest::Guest;
use super::{Folder, binding, catalog, options, pin_of, profile};
use async_trait::async_trait;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;
use tribunal::evaluator::limits::CompileLimits;
use tribunal::evaluator::{Catalog, ComponentSource, Options, ReferenceError};
use tribunal_schema::Digest;
use tribunal_schema::evaluation::EvaluationErrorClass;
use tribunal_schema::json::JsonText;

/// A small component that no compiler of today digests: every local is live
/// through every loop, which makes loops x locals values to allocate.
fn bomb() -> Vec<u8> {
    let (loops, locals) = (1_500, 1_500);
    let declared = "i64 ".repeat(locals);
    let body: String = (0..locals)
        .map(|at| format!("(local.set {at} (i64.add (local.get {at}) (local.get {})))", (at + 1) % locals))
        .collect();
    let (open, close) = ("(loop ".repeat(loops), "(br_if 0 (i64.eqz (local.get 0))))".repeat(loops));
    let deep = format!("(func (export \"bomb\") (local {declared}) {open} {body} {close})");
    Guest::yes_after("bomb", "").with(&deep).component()
}

async fn refused(limits: CompileLimits, bytes: &[u8]) -> String {
    let catalog = Catalog::open(Options { compile_limits: limits, ..options() }).await.expect("a catalog");
    let folder = Folder::new();
    folder.add("bomb.wasm", bytes);
    let resolution = catalog.resolve("./bomb.wasm#bomb", folder.0.path()).await.expect("a reference");
    let error = resolution.evaluator.expect_err("a bomb");
    assert_eq!(error.class, EvaluationErrorClass::Component);
    error.message
}

#[tokio::test(flavor = "multi_thread")]
async fn compile_bomb_is_stopped_by_the_clock() {
    let bomb = bomb();
    assert!(bomb.len() < 400_000, "{} bytes", bomb.len());
    let limits = CompileLimits { wall_clock: Duration::from_millis(500), memory_bytes: 8 << 30, ..Default::default() };
    let message = refused(limits, &bomb).await;
    assert!(message.contains("takes more than 0.5 s to compile"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn compile_bomb_is_stopped_by_its_memory() {
    let limits = CompileLimits { wall_clock: Duration::from_secs(300), memory_bytes: 512 << 20, ..Default::default() };
    let message = refused(limits, &bomb()).await;
    assert!(message.contains("takes more than 512 MiB of memory to compile"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compiler_that_is_not_there_is_said_so() {
    let options = Options { compiler: Some("/nowhere/tribunal".into()), cache: None, ..options() };
    let catalog = Catalog::open(options).await.expect("a catalog");
    let folder = Folder::new();
    folder.add("a.wasm", &Guest::yes_after("a", "").component());
    let error = catalog.resolve("./a.wasm", folder.0.path()).await.expect("a reference").evaluator.expect_err("none");
    assert!(error.message.contains("/nowhere/tribunal does not start"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_cache_file_is_compiled_again() {
    let folder = Folder::new();
    folder.add("a.wasm", &Guest::yes_after("a", "").component());
    let cache = tempfile::tempdir().expect("a folder");
    // The standard component from the shared cache, so that only the small one is compiled here.
    drop(catalog().await);
    let (shared, own) = (options().cache.expect("a cache").join("components"), cache.path().join("components"));
    std::fs::create_dir_all(&own).expect("a folder");
    for entry in std::fs::read_dir(shared).expect("the shared cache") {
        let entry = entry.expect("an entry");
        if entry.file_name().to_string_lossy().starts_with(&tribunal::evaluator::standard::DIGEST.to_string()) {
            std::fs::copy(entry.path(), own.join(entry.file_name())).expect("a copy");
        }
    }
    let with_cache = || Options { cache: Some(cache.path().into()), ..options() };
    let no_compiler = || Options { compiler: Some("/nowhere/tribunal".into()), ..with_cache() };
    let resolve = async |options: Options| {
        let catalog = Catalog::open(options).await.expect("a catalog");
        catalog.resolve("./a.wasm", folder.0.path()).await.expect("a reference").evaluator.map(|found| found.name)
    };

    assert_eq!(resolve(with_cache()).await, Ok("a".into()));
    assert_eq!(resolve(no_compiler()).await, Ok("a".into()), "the second time comes from the cache");
    let digest = Digest::of(&Guest::yes_after("a", "").component()).to_string();
    let path = std::fs::read_dir(&own).expect("the cache").map(|entry| entry.expect("an entry").path());
    let path = path.into_iter().find(|path| path.to_string_lossy().contains(&digest)).expect("a cached file");
    let whole = std::fs::read(&path).expect("a cached file");
    let mut flipped = whole.clone();
    *flipped.last_mut().expect("not empty") ^= 1;
    for damaged in [&flipped[..], &whole[..whole.len() - 1], &whole[..16], b""] {
        std::fs::write(&path, damaged).expect("a damaged file");
        assert!(resolve(no_compiler()).await.is_err(), "a damaged file is not used");
        assert_eq!(resolve(with_cache()).await, Ok("a".into()));
        assert_eq!(std::fs::read(&path).expect("a cached file").len(), whole.len(), "it was written anew");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn references_lead_to_pins() {
    let catalog = catalog().await;
    let folder = Folder::new();
    let bytes = Guest::yes_after("strict", "").component();
    folder.add("my.wasm", &bytes);
    for reference in ["./my.wasm#strict", "./my.wasm", "my.wasm"] {
        let pin = folder.pin(&catalog, reference).await;
        assert_eq!(
            (pin.reference.as_str(), pin.name.as_str(), pin.component),
            (reference, "strict", Digest::of(&bytes))
        );
    }
    let by_digest = format!("sha256:{}#strict", Digest::of(&bytes));
    assert_eq!(folder.pin(&catalog, &by_digest).await.name, "strict");
    assert_eq!(&*catalog.bytes(&Digest::of(&bytes)).expect("its bytes"), &bytes[..]);

    let resolve = async |reference: &str| catalog.resolve(reference, folder.0.path()).await.expect_err("no evaluator");
    assert!(matches!(resolve("./none.wasm").await, ReferenceError::File { .. }));
    assert!(matches!(resolve("./my.wasm#other").await, ReferenceError::UnknownName { .. }));
    assert!(matches!(resolve("std/llm-rubric").await, ReferenceError::UnknownName { .. }));
    assert!(matches!(resolve("std").await, ReferenceError::NameNeeded { .. }));
    let unknown = format!("sha256:{}#x", Digest::of(b"unknown"));
    assert!(matches!(resolve(&unknown).await, ReferenceError::UnknownDigest { .. }));
}

struct Kept(HashMap<Digest, Vec<u8>>);

#[async_trait]
impl ComponentSource for Kept {
    async fn component(&self, digest: Digest) -> std::io::Result<Option<Vec<u8>>> {
        Ok(self.0.get(&digest).cloned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_run_gets_its_components_from_where_it_kept_them() {
    let bytes = Guest::yes_after("a", "").component();
    let digest = Digest::of(&bytes);
    let profile = profile(vec![binding(pin_of(digest, "a"), "{}"), binding(pin_of(digest, "a"), "{}")]);
    let catalog = catalog().await;
    let ensure = async |kept: Vec<u8>| catalog.ensure(&profile, &Kept(HashMap::from([(digest, kept)]))).await;

    let missing = catalog.ensure(&profile, &Kept(HashMap::new())).await.expect_err("not kept").to_string();
    assert!(missing.contains("not in the store"), "{missing}");
    let altered = ensure(b"other".to_vec()).await.expect_err("altered").to_string();
    assert!(altered.contains("have the digest"), "{altered}");
    assert!(catalog.describe(&pin_of(digest, "a")).is_err());
    ensure(bytes.clone()).await.expect("it is there");
    assert_eq!(catalog.describe(&pin_of(digest, "a")).expect("described").help, "a guest");
}

#[tokio::test(flavor = "multi_thread")]
async fn configurations_are_checked_with_all_that_is_wrong() {
    let catalog = catalog().await;
    let check = async |reference: &str, config: &str| {
        let pin = catalog.resolve(reference, Path::new("")).await.expect(reference).pin;
        let config = JsonText::try_from(config.to_owned()).expect("JSON");
        catalog
            .check_config(&pin, &config)
            .await
            .into_iter()
            .map(|problem| (problem.pointer, problem.message))
            .collect::<Vec<_>>()
    };
    assert_eq!(check("std/contains", "null").await, []);
    assert_eq!(check("std/word-count", r#"{"min":1,"max":1}"#).await, []);
    let wrong = check("std/contains", r#"{"any":[],"ignore_cas":true,"ignore_case":"yes"}"#).await;
    assert_eq!(wrong.len(), 3, "{wrong:?}");
    assert!(wrong.iter().any(|(pointer, _)| pointer == "/any"), "{wrong:?}");
    assert!(wrong.iter().any(|(_, message)| message.contains("ignore_cas")), "{wrong:?}");
    assert_eq!(check("std/json-path-equals", "null").await.len(), 1);
    let pattern = check("std/regex", r#"{"pattern":"(a"}"#).await;
    assert!(pattern[0].1.contains("not a usable regular expression"), "{pattern:?}");
    assert!(check("std/word-count", r#"{"min":2,"max":1}"#).await[0].1.contains("no answer could do"));
}
