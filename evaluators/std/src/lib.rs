//! # The standard evaluators
//!
//! One component with the evaluators that most profiles need. They measure and
//! say what they saw; they never score. Each is a pure function: equal
//! requests give equal reports.
//!
//! Three rules hold for all of them:
//! - The **configuration is read first**, so that a wrong one is reported
//!   whatever the case and the answer are.
//! - **Nothing to compare with** (no `expected`, nothing in the configuration)
//!   is an abstention. An **answer that lacks** what is looked for is a no: an
//!   agent must not escape a check by saying nothing.
//! - Work grows with the answer, never with its square.
//!
//! [`catalog`] lists them; [`expected`] says what a right answer is;
//! [`finding`] makes what people read. To add one: a file, an entry in
//! [`catalog::ALL`], and `scripts/build-evaluators`.

#[cfg(target_arch = "wasm32")]
mod bump;
pub mod catalog;
pub mod contains;
pub mod decimal;
pub mod equals;
pub mod expected;
pub mod finding;
pub mod json;
pub mod latency;
pub mod numeric;
pub mod path;
pub mod pattern;
pub mod text;
pub mod tools;
pub mod words;

#[cfg(test)]
mod testing;

/// The words of the contract, made from `schema/wit/evaluator.wit`.
#[allow(missing_docs, clippy::all)]
pub mod wit {
    wit_bindgen::generate!({ path: "../../schema/wit", world: "evaluator", pub_export_macro: true });

    pub use tribunal::evaluator::types::*;
}

use wit::{Description, Failure, Report, Request};

/// The component.
pub struct Std;

impl wit::Guest for Std {
    fn describe() -> Description {
        catalog::describe()
    }

    fn evaluate(request: Request) -> Result<Report, Failure> {
        catalog::evaluate(&request)
    }
}

#[cfg(target_arch = "wasm32")]
wit::export!(Std with_types_in wit);
