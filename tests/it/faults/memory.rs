//! The peak memory of a run whose evaluators take all they can get: what a run
//! needs anyway and the limit of each permitted store, however many answers wait.

use super::bench::{Bench, tribunal};
use crate::evaluator::guest::Guest;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tribunal::evaluator::Limits;

const CASES: usize = 150;
/// What the greedy guest writes to: below the limit of a store, so that it gets it.
const TAKEN: usize = 56 << 20;
const PAGE: usize = 64 << 10;

/// Grows its memory and writes to every byte of it.
fn greedy() -> Guest {
    let deed = format!(
        "(drop (memory.grow (i32.const {}))) (memory.fill (i32.const {PAGE}) (i32.const 7) (i32.const {TAKEN}))",
        TAKEN / PAGE + 1
    );
    Guest::yes_after("greedy", &deed)
}

#[tokio::test(flavor = "multi_thread")]
async fn peak_memory_is_that_of_the_run_and_of_its_permitted_stores() {
    let bench = Bench::new("[]").await;
    bench.write("greedy.wasm", greedy().component());
    bench.echo_cases(CASES);
    let wide = ", max_in_flight: 64";
    let evaluators = |reference: &str| {
        format!("chunk: {{ size: 10 }}\nevaluators: [{{ use: \"{reference}\" }}]\ngate: [{{ min_pass_rate: 1.0 }}]\n")
    };
    // The first use of a component compiles it, in a child.
    bench.profile(wide, &evaluators("./greedy.wasm#greedy"));
    let warm = tribunal(&bench.path(""), &["evaluator", "show", "./greedy.wasm#greedy"], &[]).await;
    assert_eq!(warm.code, 0, "{warm:?}");
    let greedy = peak_bytes(&bench.path(""), "greedy").await;
    bench.profile(wide, &evaluators("std/contains"));
    let base = peak_bytes(&bench.path(""), "modest").await;
    let permits = std::thread::available_parallelism().map_or(1, usize::from);
    let limit = Limits::default().memory_bytes;
    let mib = |bytes: usize| bytes >> 20;
    let told = format!("base {} MiB, greedy {} MiB, {permits} permits", mib(base), mib(greedy));
    assert!(greedy <= base + permits * limit, "{told}");
    assert!(greedy >= base + TAKEN / 2, "the guest did not get its memory, and nothing was measured: {told}");
}

/// The largest resident memory of one run, in bytes: the kernel's own high-water mark, read for as
/// long as the process lives. (What `wait` tells would have the memory of this process in it.)
async fn peak_bytes(folder: &Path, store: &str) -> usize {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tribunal"));
    command.args(["run", "profile.yaml", "--dataset", "cases.jsonl", "--no-progress", "--store", store]);
    command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"));
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn().expect("the binary runs");
    let status = format!("/proc/{}/status", child.id().expect("it was not waited for"));
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        peak = peak.max(high_water(&text).unwrap_or(0));
        tokio::select! {
            ended = child.wait() => break ended.expect("a child ends"),
            () = tokio::time::sleep(Duration::from_millis(2)) => {}
        }
    };
    assert_eq!(ended.code(), Some(0), "every case passes");
    peak
}

/// `VmHWM`, in bytes; a process that is ending has none.
fn high_water(status: &str) -> Option<usize> {
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?;
    Some(kib.parse::<usize>().ok()? << 10)
}
