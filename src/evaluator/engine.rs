//! The engine: what code is made for, and where instances get their memory.
//!
//! Code is the same for both ways of allocating, so that the child process,
//! which must live under a small limit of address space, compiles for the
//! parent, which reserves its pool at the start.

use super::limits::Limits;
use std::time::Duration;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How often the epoch rises: the grain of the wall-clock limit.
pub const EPOCH_TICK: Duration = Duration::from_millis(50);

/// Memory that a slot of the pool keeps between calls, so that the common call
/// touches no fresh page: what a std evaluator touches on a common answer.
const KEPT_MEMORY_BYTES: usize = 512 << 10;
const KEPT_TABLE_BYTES: usize = 64 << 10;
/// Per store in the pool; above the limit of instances, so that the store's own limit speaks first.
const POOLED_PER_STORE: u32 = 8;

/// An engine that takes its instances from a pool, or, where the address space
/// for one can't be reserved, from the system call by call.
///
/// # Errors
/// When the machine has no code generator.
pub fn open(limits: &Limits, live_stores_max: usize) -> wasmtime::Result<Engine> {
    let mut pooled = config(limits);
    pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits, live_stores_max)));
    let engine = Engine::new(&pooled).or_else(|error| {
        tracing::warn!(%error, "no memory pool for evaluators, calls take memory one by one");
        Engine::new(&config(limits))
    })?;
    start_clock(&engine)?;
    Ok(engine)
}

/// An engine that only compiles.
///
/// # Errors
/// When the machine has no code generator.
pub fn compiler(limits: &Limits) -> wasmtime::Result<Engine> {
    Engine::new(&config(limits))
}

fn config(limits: &Limits) -> Config {
    let mut config = Config::new();
    config.wasm_component_model(true);
    config.consume_fuel(true);
    config.epoch_interruption(true);
    // The two instructions whose results differ between machines.
    config.cranelift_nan_canonicalization(true);
    config.relaxed_simd_deterministic(true);
    config.wasm_memory64(false);
    config.max_wasm_stack(limits.stack_bytes);
    config.memory_init_cow(true);
    config
}

fn pool(limits: &Limits, live_stores_max: usize) -> PoolingAllocationConfig {
    let stores = u32::try_from(live_stores_max).unwrap_or(u32::MAX / POOLED_PER_STORE).max(1);
    let slots = stores.saturating_mul(POOLED_PER_STORE);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(stores)
        .total_core_instances(slots)
        .total_memories(slots)
        .total_tables(slots)
        .max_core_instances_per_component(POOLED_PER_STORE)
        .max_memories_per_component(POOLED_PER_STORE)
        .max_tables_per_component(POOLED_PER_STORE)
        .max_memory_size(limits.memory_bytes)
        .table_elements(limits.table_elements)
        .linear_memory_keep_resident(KEPT_MEMORY_BYTES)
        .table_keep_resident(KEPT_TABLE_BYTES)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Raises the epoch from a thread of its own: no async runtime that an evaluator
/// keeps busy can keep it from being stopped. Ends with the engine.
#[expect(
    clippy::disallowed_methods,
    reason = "this thread exists to wait for time: there is no event that comes first"
)]
fn start_clock(engine: &Engine) -> wasmtime::Result<()> {
    let engine = engine.weak();
    let tick = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(EPOCH_TICK);
        }
    };
    std::thread::Builder::new().name("tribunal-epochs".into()).spawn(tick)?;
    Ok(())
}
