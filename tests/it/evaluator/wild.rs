//! Wild evaluators: whatever a stranger's component does, its binding is errored
//! with the reason, and the other bindings of the case keep their reports.

use super::guest::{Guest, REPORT, SCRATCH};
use super::{Folder, binding, catalog, examine, options, pin_of};
use std::sync::Arc;
use std::time::Duration;
use tribunal::evaluator::{Catalog, Limits, Options, inspect};
use tribunal_actors::ports::evaluator::{Evaluators, Examined};
use tribunal_schema::Digest;
use tribunal_schema::evaluation::{EvaluationErrorClass, Measurement, Said};

/// Examines with the wild one between two standard ones, and checks that those are kept.
async fn between_standard_ones(catalog: &Catalog, name: &str, component: &[u8]) -> Examined {
    let folder = Folder::new();
    folder.add("wild.wasm", component);
    let wild = folder.pin(catalog, &format!("./wild.wasm#{name}")).await;
    let contains = folder.pin(catalog, "std/contains").await;
    let latency = folder.pin(catalog, "std/latency").await;
    let bindings = vec![binding(contains, "null"), binding(wild, "{}"), binding(latency, "null")];
    let case = inspect::case(r#"{"expected":"Paris"}"#).expect("a case");
    let examined = examine(catalog, bindings, case, inspect::text_answer("Paris")).await;
    let [first, wild, last] = <[Examined; 3]>::try_from(examined).expect("one entry per binding");
    let said = |examined: Examined| examined.result.expect("a standard evaluator is kept").said;
    assert_eq!(said(first), Said::Measured(Measurement::Binary(true)));
    assert!(matches!(said(last), Said::Measured(Measurement::Number { .. })));
    wild
}

async fn assert_errored(catalog: &Catalog, guest: &Guest, class: EvaluationErrorClass, words: &str) {
    let error = between_standard_ones(catalog, "wild", &guest.component()).await.result.expect_err("wild");
    assert_eq!(error.class, class, "{}", error.message);
    assert!(error.message.contains(words), "{}", error.message);
}

fn hasty(fuel: u64, wall_clock: Duration) -> Options {
    Options { limits: Limits { fuel, wall_clock, ..Limits::default() }, ..options() }
}

const LOOP: &str = "(loop $again (br $again)) (unreachable)";

#[tokio::test(flavor = "multi_thread")]
async fn endless_loop_uses_up_its_fuel() {
    let catalog = Catalog::open(hasty(20_000_000, Duration::from_secs(60))).await.expect("a catalog");
    assert_errored(&catalog, &Guest::new("wild", LOOP), EvaluationErrorClass::Fuel, "20000000 units of fuel").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_endless_loops_on_all_cores_end_by_the_clock_while_the_runtime_lives() {
    let limits = Limits { fuel: u64::MAX, wall_clock: Duration::from_secs(1), ..Limits::default() };
    let catalog = Catalog::open(Options { limits, live_stores_max: 2, ..options() }).await.expect("a catalog");
    let one = {
        let catalog = Arc::clone(&catalog);
        tokio::spawn(async move { both(&catalog).await })
    };
    let two = {
        let catalog = Arc::clone(&catalog);
        tokio::spawn(async move { both(&catalog).await })
    };
    // The runtime has work of its own meanwhile, and does it.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    one.await.expect("the first");
    two.await.expect("the second");

    async fn both(catalog: &Catalog) {
        let guest = Guest::new("wild", LOOP);
        assert_errored(catalog, &guest, EvaluationErrorClass::Deadline, "did not end within 1 s").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn growing_memory_is_stopped_at_its_limit() {
    let grow = "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)";
    let catalog = catalog().await;
    assert_errored(&catalog, &Guest::new("wild", grow), EvaluationErrorClass::Memory, "more than 64 MiB").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_that_is_too_large_from_the_start_is_refused() {
    let catalog = catalog().await;
    let most = Guest::yes_after("wild", "").pages(1024);
    assert!(between_standard_ones(&catalog, "wild", &most.component()).await.result.is_ok());
    let more = Guest::yes_after("wild", "").pages(1025);
    let error = between_standard_ones(&catalog, "wild", &more.component()).await.result.expect_err("too large");
    assert!(matches!(error.class, EvaluationErrorClass::Memory | EvaluationErrorClass::Component), "{error}");
    assert!(error.message.contains("memory"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn growing_a_table_is_stopped_at_its_limit() {
    let grow = "(loop $again (br_if $again (i32.ne (table.grow $t (ref.null func) (i32.const 100)) (i32.const -1)))) (unreachable)";
    let guest = Guest::new("wild", grow).with("(table $t 0 funcref)");
    assert_errored(&*catalog().await, &guest, EvaluationErrorClass::Resources, "more than 10000 table elements").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trap_says_which() {
    let catalog = catalog().await;
    assert_errored(&catalog, &Guest::new("wild", "(unreachable)"), EvaluationErrorClass::Trap, "unreachable").await;
    let divides = Guest::new("wild", "(i32.div_u (i32.const 1) (i32.load (i32.const 0)))");
    assert_errored(&catalog, &divides, EvaluationErrorClass::Trap, "divide by zero").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_recursion_uses_up_its_stack() {
    let guest = Guest::new("wild", "(call $deeper (i64.const 0)) (unreachable)").with(
        "(func $deeper (param i64) (call $deeper (i64.add (local.get 0) (i64.const 1))) (drop (i64.load (i32.const 0))))",
    );
    assert_errored(&*catalog().await, &guest, EvaluationErrorClass::Stack, "recurses too deep").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_flood_is_stopped_and_a_full_log_is_not() {
    let logs = |lines: u32| {
        let body = format!(
            "(loop $again (call $log (i32.const 1) (i32.const {SCRATCH}) (i32.const 10000))
                (local.set $request (i32.add (local.get $request) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $request) (i32.const {lines}))))"
        );
        Guest::yes_after("wild", &format!("(local.set $request (i32.const 0)) {body}")).logging()
    };
    let catalog = catalog().await;
    assert!(between_standard_ones(&catalog, "wild", &logs(128).component()).await.result.is_ok());
    assert_errored(&catalog, &logs(129), EvaluationErrorClass::LogFlood, "more than 128 lines").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_line_is_cut_to_its_limit() {
    let body = format!(
        "(memory.fill (i32.const {SCRATCH}) (i32.const 97) (i32.const 10000))
         (call $log (i32.const 2) (i32.const {SCRATCH}) (i32.const 10000))"
    );
    let folder = Folder::new();
    folder.add("talks.wasm", &Guest::yes_after("talks", &body).logging().component());
    let (case, answer) = (inspect::case("{}").expect("a case"), inspect::text_answer(""));
    let config = tribunal_schema::json::JsonText::default();
    let tried = inspect::test(&*catalog().await, "./talks.wasm", folder.0.path(), config, case, answer, 0).await;
    let log = tried.expect("a try").log;
    assert_eq!((log.len(), log[0].level, log[0].message.len()), (1, "warn", 4096));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_is_none_breaks_the_contract() {
    let says = |value: &str| {
        let (kind, at) = (REPORT + 16, REPORT + 24);
        Guest::new(
            "wild",
            &format!(
                "(i32.store8 (i32.const {kind}) (i32.const 1)) (f64.store (i32.const {at}) (f64.const {value})) (i32.const {REPORT})"
            ),
        )
    };
    let catalog = catalog().await;
    let fine = between_standard_ones(&catalog, "wild", &says("0.25").component()).await.result.expect("a report");
    let quarter = "0.25".parse().expect("a decimal");
    assert_eq!(fine.said, Said::Measured(Measurement::Number { value: quarter, unit: None }));
    for value in ["nan", "inf", "1e300"] {
        assert_errored(&catalog, &says(value), EvaluationErrorClass::Contract, "not a number that can be scored").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_findings_break_the_contract_and_cost_the_host_nothing() {
    let catalog = catalog().await;
    let findings = |count: u32| {
        let (pointer, length) = (REPORT + 48, REPORT + 52);
        format!(
            "(i32.store (i32.const {pointer}) (i32.const {SCRATCH})) (i32.store (i32.const {length}) (i32.const {count}))"
        )
    };
    // One finding with a category of one byte and a message of 5000.
    let message = format!(
        "(i32.store (i32.const {}) (i32.const 1)) (i32.store (i32.const {}) (i32.const 5000))",
        SCRATCH + 8,
        SCRATCH + 16,
    );
    let long = Guest::yes_after("wild", &format!("{} {message}", findings(1)));
    assert_errored(&catalog, &long, EvaluationErrorClass::Contract, "5000 bytes, at most 4096").await;
    let many = Guest::yes_after("wild", &findings(101));
    assert_errored(&catalog, &many, EvaluationErrorClass::Contract, "101 findings, at most 100").await;
    let countless = Guest::yes_after("wild", &findings(1_000_000)).pages(600);
    assert_errored(&catalog, &countless, EvaluationErrorClass::Contract, "").await;
    // The same megabyte, ninety times.
    let again = format!(
        "(loop $again (i32.store (i32.add (i32.const {category}) (i32.mul (local.get $request) (i32.const 32))) (i32.const 1))
            (i32.store (i32.add (i32.const {message}) (i32.mul (local.get $request) (i32.const 32))) (i32.const 1000000))
            (local.set $request (i32.add (local.get $request) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $request) (i32.const 90))))",
        category = SCRATCH + 8,
        message = SCRATCH + 16,
    );
    let repeated = Guest::yes_after("wild", &format!("(local.set $request (i32.const 0)) {} {again}", findings(90)));
    assert_errored(&catalog, &repeated.pages(32), EvaluationErrorClass::Contract, "").await;
    let beyond = Guest::new("wild", "(i32.const 999999999)");
    assert_errored(&catalog, &beyond, EvaluationErrorClass::Contract, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_description_says_what_is_wrong_with_it() {
    let catalog = catalog().await;
    let contract = EvaluationErrorClass::Contract;
    let yes = || Guest::yes_after("wild", "");
    assert_errored(&catalog, &yes().with_evaluators(0), contract, "0 evaluators").await;
    assert_errored(&catalog, &yes().with_evaluators(201), contract, "").await;
    assert_errored(&catalog, &Guest::yes_after("Wild One", ""), contract, "lowercase letters").await;
    assert_errored(&catalog, &yes().with_schema("{"), contract, "schema").await;
    assert_errored(&catalog, &yes().with_schema(r#"{"type": "nonsense"}"#), contract, "no JSON Schema").await;
    assert_errored(&catalog, &yes().describing("(unreachable)"), EvaluationErrorClass::Trap, "unreachable").await;
    assert_errored(&catalog, &yes().describing(LOOP), EvaluationErrorClass::Fuel, "fuel").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_evaluator_component_is_errored() {
    let catalog = catalog().await;
    let component = |text: &str| wat::parse_str(text).expect("a component");
    for (bytes, words) in [
        (b"not wasm".to_vec(), "not a Wasm component"),
        (Vec::new(), "not a Wasm component"),
        (component("(module)"), "not a Wasm component"),
        (component("(component)"), "tribunal:evaluator@1.0.0"),
        (component(r#"(component (import "wasi:cli/exit" (func)))"#), r#"imports "wasi:cli/exit""#),
        ([&component("(component)")[..], b"trailing"].concat(), "not a usable Wasm component"),
    ] {
        let error = between_standard_ones(&catalog, "wild", &bytes).await.result.expect_err("no evaluator");
        assert_eq!(error.class, EvaluationErrorClass::Component, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_was_never_loaded_is_errored() {
    let catalog = catalog().await;
    let stranger = binding(pin_of(Digest::of(b"stranger"), "x"), "{}");
    let case = inspect::case("{}").expect("a case");
    let examined = examine(&catalog, vec![stranger], case, inspect::text_answer("")).await;
    let error = examined[0].result.clone().expect_err("unknown");
    assert_eq!(error.class, EvaluationErrorClass::Component);
    assert!(error.message.contains("not loaded here"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_for_a_judge_is_handed_to_the_caller() {
    // ask([{id: "", system: none, prompt: ""}]): the id is empty, and that is allowed once.
    let ask = format!(
        "(i32.store8 (i32.const {}) (i32.const 2)) (i32.store (i32.const {}) (i32.const {SCRATCH}))
         (i32.store (i32.const {}) (i32.const 1)) (i32.const {REPORT})",
        REPORT + 8,
        REPORT + 16,
        REPORT + 20,
    );
    let report = between_standard_ones(&*catalog().await, "asks", &Guest::new("asks", &ask).component()).await;
    assert!(matches!(report.result.expect("a report").said, Said::Ask(questions) if questions.len() == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_an_examination_gives_its_permit_back_in_the_end() {
    let catalog = Catalog::open(Options { live_stores_max: 1, ..options() }).await.expect("a catalog");
    let folder = Folder::new();
    folder.add("wild.wasm", &Guest::new("wild", LOOP).component());
    let wild = folder.pin(&catalog, "./wild.wasm#wild").await;
    let case = || inspect::case("{}").expect("a case");
    let examination = super::examination(vec![binding(wild, "{}")], case(), inspect::text_answer(""));
    {
        let abandoned = catalog.examine(examination);
        tokio::pin!(abandoned);
        assert!(futures::poll!(&mut abandoned).is_pending());
    }
    let latency = folder.pin(&catalog, "std/latency").await;
    let examined = examine(&catalog, vec![binding(latency, "null")], case(), inspect::text_answer("")).await;
    assert!(examined[0].result.is_ok());
}
