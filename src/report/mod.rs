//! # What is seen of a run
//!
//! [`RunReport`] gathers a run from the journal: its stream, its chunks, the views,
//! and for the cases that did not pass their attempts and answers. It is then shown
//! to a person ([`RunReport::write`]) or to a machine ([`RunReport::json`]), and
//! [`exit_code`] says the same in one number. All three rest on what was gathered
//! once, so they cannot contradict each other.
//!
//! Works on a run in every phase. With a verdict, all numbers are those that the
//! verdict rests on (`run.judged`). Without one they are folded from the chunks as
//! they stand now, and the report says that they are not final.
//!
//! A report never causes anything: it has a `JournalReader` and nothing else.
//! Everything that a stranger wrote is escaped before it reaches a terminal
//! ([`text`]). [`CaseReport`] has everything of one case, [`summary`] a line on one
//! event, [`progress`] a run while it works.

mod answer;
mod cases;
mod detail;
mod detail_text;
mod exit;
mod gather;
mod json;
mod look;
mod not_passed;
mod not_passed_text;
pub mod progress;
mod summary;
mod terminal;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod text;
mod when;

pub use cases::{CaseIds, FoundCase};
pub use detail::{AttemptDetail, CaseReport, ExecutionDetail};
pub use exit::exit_code;
pub use gather::{ReportError, RunReport};
pub use look::{Cell, Look, Style, Table};
pub use not_passed::{BindingNote, NotPassed};
pub use summary::summary;
pub use when::{instant, rfc3339, span};
