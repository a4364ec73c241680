//! The sandbox: one call of one evaluator in a store that is born and dies with it.
//!
//! A store exists only under a [`Permit`], and there are as many permits as the
//! process may have live stores. The peak memory of all evaluators together is
//! therefore at most that number times the memory limit, whatever the number of
//! runs, chunks and bindings.

use super::bindings::{Evaluator, EvaluatorPre, wit};
use super::engine::{self, EPOCH_TICK};
use super::limits::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tribunal_schema::evaluation::{EvaluationError, EvaluationErrorClass};
use wasmtime::component::{Linker, WasmStr};
use wasmtime::{Engine, ResourceLimiter, Store, StoreContextMut, Trap};

/// The right to have one live store. Dropping it gives it back.
pub struct Permit(#[allow(dead_code, reason = "held for its Drop")] OwnedSemaphorePermit);

/// A line that an evaluator logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// What it said, cut to the limit.
    pub message: String,
}

/// What a call came to.
pub struct Called<R> {
    /// What it returned, or why it did not.
    pub result: Result<R, EvaluationError>,
    /// The fuel it used.
    pub fuel: u64,
    /// What it logged.
    pub log: Vec<LogLine>,
}

/// Where calls are made.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<Cell>,
    limits: Limits,
    permits: Arc<Semaphore>,
    live: AtomicUsize,
    live_max: AtomicUsize,
}

impl Sandbox {
    /// A sandbox with room for `live_stores_max` calls at once.
    ///
    /// # Errors
    /// When the machine has no code generator.
    pub fn open(limits: Limits, live_stores_max: usize) -> wasmtime::Result<Sandbox> {
        let room = live_stores_max.max(1);
        let engine = engine::open(&limits, room)?;
        let mut linker = Linker::new(&engine);
        linker
            .root()
            .func_wrap("log", |store: StoreContextMut<'_, Cell>, (level, message): (wit::Level, WasmStr)| {
                log(store, level, message)
            })?;
        let (live, live_max) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Sandbox { engine, linker, limits, permits: Arc::new(Semaphore::new(room)), live, live_max })
    }

    /// The engine that code must be made for.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What evaluators may import.
    pub fn linker(&self) -> &Linker<Cell> {
        &self.linker
    }

    /// What each call may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The most stores that ever lived at once.
    pub fn live_stores_high_water(&self) -> usize {
        self.live_max.load(Ordering::SeqCst)
    }

    /// Waits for the right to have one live store. First come, first served.
    pub async fn permit(&self) -> Permit {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        Permit(permit.expect("the semaphore is never closed"))
    }

    /// Makes one call in a fresh store. Blocks for as long as the wall-clock limit.
    pub fn call<R>(
        &self,
        _permit: &Permit,
        component: &EvaluatorPre<Cell>,
        call: impl FnOnce(&Evaluator, &mut Store<Cell>) -> wasmtime::Result<R>,
    ) -> Called<R> {
        let _live = Live::enter(self);
        let mut store = Store::new(&self.engine, Cell::new(self.limits.clone()));
        store.limiter(|cell| cell);
        store.set_hostcall_fuel(self.limits.transfer_bytes);
        store.set_fuel(self.limits.fuel).expect("the engine counts fuel");
        store.set_epoch_deadline(ticks(&self.limits));

        let result = match component.instantiate(&mut store) {
            Ok(evaluator) => call(&evaluator, &mut store).map_err(|error| (error, EvaluationErrorClass::Contract)),
            Err(error) => Err((error, EvaluationErrorClass::Component)),
        };
        let left = store.get_fuel().expect("the engine counts fuel");
        let cell = store.into_data();
        let result = result.map_err(|(error, otherwise)| cell.explain(&error, otherwise));
        Called { result, fuel: self.limits.fuel - left, log: cell.log }
    }
}

/// The epochs of a call: one more than the limit has, since the first may end at once.
fn ticks(limits: &Limits) -> u64 {
    let ticks = limits.wall_clock.as_millis().div_ceil(EPOCH_TICK.as_millis()) + 1;
    u64::try_from(ticks).unwrap_or(u64::MAX / 2)
}

/// A live store, counted.
struct Live<'a>(&'a Sandbox);

impl<'a> Live<'a> {
    fn enter(sandbox: &'a Sandbox) -> Live<'a> {
        let live = sandbox.live.fetch_add(1, Ordering::SeqCst) + 1;
        sandbox.live_max.fetch_max(live, Ordering::SeqCst);
        Live(sandbox)
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a store carries: its limits, what it used of them, and what it was refused.
pub struct Cell {
    limits: Limits,
    memory_bytes: usize,
    table_elements: usize,
    memory_refused: bool,
    table_refused: bool,
    flooded: bool,
    log: Vec<LogLine>,
}

impl Cell {
    fn new(limits: Limits) -> Cell {
        Cell {
            limits,
            memory_bytes: 0,
            table_elements: 0,
            memory_refused: false,
            table_refused: false,
            flooded: false,
            log: Vec::new(),
        }
    }

    /// Why a call failed. What the store refused is named before how the guest
    /// died of it: to the guest, a refusal looks like any `unreachable`.
    fn explain(&self, error: &wasmtime::Error, otherwise: EvaluationErrorClass) -> EvaluationError {
        let limits = &self.limits;
        let trap = error.downcast_ref::<Trap>().copied();
        let (class, message) = match trap {
            Some(Trap::OutOfFuel) => (EvaluationErrorClass::Fuel, format!("used up its {} units of fuel", limits.fuel)),
            Some(Trap::Interrupt) => {
                let seconds = limits.wall_clock.as_secs_f64();
                (EvaluationErrorClass::Deadline, format!("did not end within {seconds} s"))
            }
            Some(Trap::StackOverflow) => {
                (EvaluationErrorClass::Stack, "used up its stack: it recurses too deep".into())
            }
            _ if self.flooded => {
                (EvaluationErrorClass::LogFlood, format!("logged more than {} lines", limits.log_lines))
            }
            _ if self.memory_refused => {
                let mebibytes = limits.memory_bytes >> 20;
                (EvaluationErrorClass::Memory, format!("needs more than {mebibytes} MiB of memory"))
            }
            _ if self.table_refused => {
                let elements = limits.table_elements;
                (EvaluationErrorClass::Resources, format!("needs more than {elements} table elements"))
            }
            Some(trap) => (EvaluationErrorClass::Trap, format!("trapped: {trap}")),
            None if is_instance_limit(error) => {
                (EvaluationErrorClass::Resources, format!("needs more than {} instances", limits.instances))
            }
            // The cause alone: what is around it is a backtrace of the guest.
            None => (otherwise, error.root_cause().to_string()),
        };
        EvaluationError { class, message }
    }
}

/// The engine names this limit in words only.
fn is_instance_limit(error: &wasmtime::Error) -> bool {
    format!("{error:#}").contains("instance count too high")
}

impl ResourceLimiter for Cell {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let wanted = self.memory_bytes + desired.saturating_sub(current);
        self.memory_refused |= wanted > self.limits.memory_bytes;
        if wanted <= self.limits.memory_bytes {
            self.memory_bytes = wanted;
            return Ok(true);
        }
        Ok(false)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let wanted = self.table_elements + desired.saturating_sub(current);
        self.table_refused |= wanted > self.limits.table_elements;
        if wanted <= self.limits.table_elements {
            self.table_elements = wanted;
            return Ok(true);
        }
        Ok(false)
    }

    fn instances(&self) -> usize {
        self.limits.instances
    }
}

/// The one import: keeps a line, or ends the call of an evaluator that floods.
fn log(mut store: StoreContextMut<'_, Cell>, level: wit::Level, message: WasmStr) -> wasmtime::Result<()> {
    if store.data().log.len() >= store.data().limits.log_lines {
        store.data_mut().flooded = true;
        return Err(wasmtime::Error::msg("the log is full"));
    }
    let bytes_max = store.data().limits.log_line_bytes;
    let message = super::report::cut(&message.to_str(&store)?, bytes_max).into_owned();
    let level = match level {
        wit::Level::Debug => "debug",
        wit::Level::Info => "info",
        wit::Level::Warn => "warn",
        wit::Level::Error => "error",
    };
    store.data_mut().log.push(LogLine { level, message });
    Ok(())
}
