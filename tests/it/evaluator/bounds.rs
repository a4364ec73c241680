//! Bounds: never more live stores than permitted, and the same for the same.

use super::guest::Guest;
use super::{Folder, binding, catalog, examination, options};
use std::sync::Arc;
use tribunal::evaluator::{Catalog, Limits, Options, inspect};
use tribunal_actors::ports::evaluator::Evaluators;
use tribunal_schema::evaluation::EvaluationErrorClass;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_examinations_at_once_never_have_more_live_stores_than_permitted() {
    // Each call burns a while, so that without the limit they would pile up.
    let limits = Limits { fuel: 3_000_000, ..Limits::default() };
    let catalog = Catalog::open(Options { limits, live_stores_max: 3, ..options() }).await.expect("a catalog");
    let folder = Folder::new();
    folder.add("wild.wasm", &Guest::new("wild", "(loop $again (br $again)) (unreachable)").component());
    let wild = folder.pin(&catalog, "./wild.wasm#wild").await;
    let contains = folder.pin(&catalog, "std/contains").await;
    let bindings = || vec![binding(wild.clone(), "{}"), binding(contains.clone(), r#"{"value":"a"}"#)];

    let mut running = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let catalog = Arc::clone(&catalog);
        let case = inspect::case("{}").expect("a case");
        let examination = examination(bindings(), case, inspect::text_answer("a"));
        running.spawn(async move { catalog.examine(examination).await });
    }
    while let Some(examined) = running.join_next().await {
        let examined = examined.expect("no panic");
        assert_eq!(examined[0].result.as_ref().map_err(|error| error.class), Err(EvaluationErrorClass::Fuel));
        assert!(examined[1].result.is_ok());
    }
    let most = catalog.live_stores_high_water();
    assert!((1..=3).contains(&most), "{most} live stores");
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_requests_give_equal_reports_and_fuel_whatever_ran_before() {
    let (one, other) = (catalog().await, catalog().await);
    let folder = Folder::new();
    let pin = folder.pin(&one, "std/regex").await;
    let ask = |pattern: &str| {
        let config = serde_json::json!({ "pattern": pattern }).to_string();
        let case = inspect::case(r#"{"id":"a","metadata":{"n":9007199254740993}}"#).expect("a case");
        examination(vec![binding(pin.clone(), &config)], case, inspect::text_answer("Thank you, José"))
    };
    let first = one.examine(ask(r"(?i)thank\s\w+")).await;
    let between = one.examine(ask(r"\p{L}+$")).await;
    let again = one.examine(ask(r"(?i)thank\s\w+")).await;
    let elsewhere = other.examine(ask(r"(?i)thank\s\w+")).await;
    let result = |examined: &[tribunal_actors::ports::evaluator::Examined]| {
        (examined[0].result.clone().expect("a report"), examined[0].fuel)
    };
    assert_eq!(result(&first), result(&again));
    assert_eq!(result(&first), result(&elsewhere));
    assert_ne!(result(&first).1, result(&between).1);
    assert!(result(&first).1 > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fuel_of_a_failure_is_told_and_equal_too() {
    let catalog = catalog().await;
    let folder = Folder::new();
    folder.add("wild.wasm", &Guest::new("wild", "(unreachable)").component());
    let wild = folder.pin(&catalog, "./wild.wasm#wild").await;
    let ask = || {
        examination(vec![binding(wild.clone(), "{}")], inspect::case("{}").expect("a case"), inspect::text_answer(""))
    };
    let (first, again) = (catalog.examine(ask()).await, catalog.examine(ask()).await);
    assert!(first[0].fuel > 0);
    assert_eq!(first[0].fuel, again[0].fuel);
    assert_eq!(first[0].result, again[0].result);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_limited() {
    let limits = Limits { instances: 0, ..Limits::default() };
    let error = Catalog::open(Options { limits, ..options() }).await.err().expect("no room for std");
    assert!(error.to_string().contains("needs more than 0 instances"), "{error}");
}
