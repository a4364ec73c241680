//! Compiling. A module of 410 KB can take a minute and four gigabytes to
//! compile, and no limit of the run time covers that. So unknown components are
//! compiled by a child: this binary again, under limits of address space and
//! processor time that it sets on itself, and under a deadline after which the
//! parent kills it. The child reads the component from stdin, writes machine
//! code to stdout, and has no environment.

use super::engine;
use super::limits::{CompileLimits, Limits};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tribunal_schema::evaluation::{EvaluationError, EvaluationErrorClass};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The hidden subcommand by which this binary becomes the compiling child.
pub const COMPILE_SUBCOMMAND: &str = "__compile-component";

/// Bytes of the child's complaint that are kept.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

/// Compiles in a child process.
///
/// # Errors
/// `component` when the bytes are none, or when compiling them takes more than
/// the limits allow. Dropping the future kills the child.
pub async fn in_child(program: &Path, bytes: &[u8], limits: &CompileLimits) -> Result<Vec<u8>, EvaluationError> {
    let refused = |message: String| EvaluationError { class: EvaluationErrorClass::Component, message };
    let size = bytes.len() as u64;
    if size > limits.component_bytes {
        let (size, most) = (size >> 20, limits.component_bytes >> 20);
        return Err(refused(format!("has {size} MiB, at most {most} MiB are allowed")));
    }
    let seconds = limits.wall_clock.as_secs_f64();
    let child = start(program, limits)
        .map_err(|error| refused(format!("cannot be compiled: {} does not start: {error}", program.display())))?;
    let finished = tokio::time::timeout(limits.wall_clock, finish(child, bytes.to_vec())).await;
    let Ok(finished) = finished else {
        return Err(refused(format!("takes more than {seconds} s to compile")));
    };
    let (status, compiled, complaint) = finished.map_err(|error| refused(format!("cannot be compiled: {error}")))?;
    if status.success() {
        return Ok(compiled);
    }
    Err(refused(why(status, complaint.trim(), limits)))
}

fn start(program: &Path, limits: &CompileLimits) -> std::io::Result<Child> {
    Command::new(program)
        .arg(COMPILE_SUBCOMMAND)
        .arg(limits.memory_bytes.to_string())
        // Twice the cores' share of the wall clock: only for a child that outlives its parent.
        .arg((limits.wall_clock.as_secs().max(1) * 4).to_string())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Feeds the child and reads both its outputs at once, so that neither side waits for the other.
async fn finish(mut child: Child, bytes: Vec<u8>) -> std::io::Result<(ExitStatus, Vec<u8>, String)> {
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let mut stderr = child.stderr.take().expect("stderr is piped");
    let (mut compiled, mut complaint) = (Vec::new(), Vec::new());
    let feed = async move {
        // A child that died has closed its end: its status says why, not this write.
        let _ = stdin.write_all(&bytes).await;
        drop(stdin);
    };
    let complain = async {
        (&mut stderr).take(COMPLAINT_BYTES_MAX).read_to_end(&mut complaint).await?;
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await
    };
    let ((), read, complained) = tokio::join!(feed, stdout.read_to_end(&mut compiled), complain);
    read?;
    complained?;
    Ok((child.wait().await?, compiled, String::from_utf8_lossy(&complaint).into_owned()))
}

fn why(status: ExitStatus, complaint: &str, limits: &CompileLimits) -> String {
    let mebibytes = limits.memory_bytes >> 20;
    let out_of_memory = complaint.contains("memory allocation of")
        || complaint.contains("out of memory")
        || complaint.contains("Cannot allocate memory");
    if out_of_memory {
        return format!("takes more than {mebibytes} MiB of memory to compile");
    }
    if status.code() == Some(REFUSED) {
        return complaint.to_owned();
    }
    format!("cannot be compiled: the compiler ended with {status}: {complaint}")
}

/// The child's status for a component that is none.
const REFUSED: i32 = 3;

/// The child. Call it first thing in `main` when the first argument is
/// [`COMPILE_SUBCOMMAND`]: before any thread, runtime or file.
pub fn compile_child_main(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    match child(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::from(REFUSED as u8)
        }
    }
}

fn child(arguments: impl IntoIterator<Item = String>) -> Result<(), String> {
    let numbers: Vec<u64> = arguments.into_iter().map_while(|argument| argument.parse().ok()).collect();
    let [memory_bytes, cpu_seconds] = numbers[..] else {
        return Err("the compiling child is started by tribunal, with its limits".into());
    };
    confine(memory_bytes, cpu_seconds).map_err(|error| format!("cannot limit itself: {error}"))?;
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| format!("cannot read the component: {error}"))?;
    let engine = engine::compiler(&Limits::default()).map_err(|error| format!("{error:#}"))?;
    let compiled = precompile(&engine, &bytes)?;
    std::io::stdout().write_all(&compiled).map_err(|error| format!("cannot write the machine code: {error}"))
}

#[cfg(unix)]
fn confine(memory_bytes: u64, cpu_seconds: u64) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Core, limit(0))?;
    setrlimit(Resource::Cpu, limit(cpu_seconds))?;
    setrlimit(Resource::As, limit(memory_bytes))?;
    Ok(())
}

#[cfg(not(unix))]
fn confine(_memory_bytes: u64, _cpu_seconds: u64) -> std::io::Result<()> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "this system has no limits for a process"))
}

/// Compiles here. For the embedded component only, whose source is ours.
///
/// # Errors
/// What the compiler says.
pub fn precompile(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, String> {
    if !is_binary_component(bytes) {
        return Err("is not a Wasm component".into());
    }
    engine.precompile_component(bytes).map_err(|error| format!("is not a usable Wasm component: {error:#}"))
}

/// The preamble of a binary component: magic, version 13, layer 1. Wasm as text is not taken.
fn is_binary_component(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0asm\x0d\0\x01\0")
}

/// Makes a component of machine code that this binary compiled.
///
/// # Errors
/// When the code is for another engine.
#[allow(unsafe_code, reason = "the machine code comes from our child or from our cache, whole by its digest")]
pub fn from_machine_code(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `compiled` was made by `precompile` of this binary, here or in the
    // child, or was read from the owner's cache with the digest it was stored with.
    unsafe { Component::deserialize(engine, compiled) }
}

/// The binary that compiles unless told otherwise: this one.
///
/// # Errors
/// When the system does not tell which one that is.
pub fn this_program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}
