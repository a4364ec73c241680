//! The contract's words as Rust types, made from `schema/wit/evaluator.wit`.
//! Requests borrow: nothing of a case or answer is copied before it is written
//! into the guest's memory.

#[allow(missing_docs, clippy::all)]
mod generated {
    wasmtime::component::bindgen!({
        path: "schema/wit",
        world: "evaluator",
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

pub use generated::tribunal::evaluator::types as wit;
pub use generated::{Evaluator, EvaluatorPre};
