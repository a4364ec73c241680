//! # The arithmetic of justice
//!
//! From what evaluators measured to the word on a run. Each step is a pure
//! function over integers, so that the same records give the same verdict on
//! every machine, in every order of arrival, today and at an audit:
//!
//! | step | module | from | to |
//! |---|---|---|---|
//! | score | [`measure`] | one measurement of one binding | an outcome with its score |
//! | judge | [`judge`](mod@judge) | the outcomes of one answer | passed, failed, errored or abstained |
//! | tally | [`tally`](mod@tally) | the results of one chunk | sums that can be added in any order |
//! | gate | [`gate`](mod@gate) | the sums of a run | pass, fail or inconclusive, with reasons |
//!
//! Two rules hold throughout. What is not known is never guessed: an execution
//! without a score may have had any score, and a verdict stands only if it stands
//! for all of them. And nothing is rounded before it is compared: ratios are
//! compared by cross-multiplication, and rounded only to be shown.
//!
//! Nothing here reads a clock, draws a number, logs or waits. A new kind of
//! measure is added in [`measure`], a new condition of the gate in
//! [`gate`](mod@gate) with its arithmetic in `interval` and its sentence in `words`.

pub mod gate;
#[cfg(test)]
mod gate_tests;
mod interval;
pub mod judge;
pub mod measure;
mod population;
#[cfg(test)]
mod properties;
pub mod result_digest;
pub mod scorecard;
pub mod tally;
#[cfg(test)]
mod testbed;
mod words;

pub use gate::{Facts, decided, gate};
pub use judge::judge;
pub use measure::outcome_of;
pub use result_digest::ResultDigest;
pub use scorecard::{ScorecardRow, scorecard};
pub use tally::{Calls, CaseFacts, add, expecting, tally};
