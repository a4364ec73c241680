//! Every limit of this room, in one table.

use std::time::Duration;

/// What a call of an evaluator may use. Exceeding any of these is an errored
/// outcome of that binding, with the class of the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory, all memories of the component together.
    pub memory_bytes: usize,
    /// Elements of all tables together.
    pub table_elements: usize,
    /// Core instances: a module, and the two that adapt its imports.
    pub instances: usize,
    /// Units of fuel, about one an instruction. The repeatable budget.
    pub fuel: u64,
    /// Wall-clock time. The safety net for what fuel does not see.
    pub wall_clock: Duration,
    /// Native stack, in bytes.
    pub stack_bytes: usize,
    /// Log lines.
    pub log_lines: usize,
    /// Bytes of a log line; longer ones are cut.
    pub log_line_bytes: usize,
    /// Findings of a report.
    pub findings: usize,
    /// Bytes of a finding's message, of a reason, and of a failure.
    pub message_bytes: usize,
    /// Bytes of a finding's evidence.
    pub evidence_bytes: usize,
    /// Bytes of a category, label, unit or id.
    pub word_bytes: usize,
    /// Bytes of all findings together.
    pub findings_bytes: usize,
    /// Questions of one call.
    pub questions: usize,
    /// Bytes of all questions together.
    pub questions_bytes: usize,
    /// Bytes that one call may hand to the host, however often it points at the
    /// same memory. Far above what a report within the other limits needs.
    pub transfer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            // The next seven are those of DESIGN, section 6.
            memory_bytes: 64 << 20,
            table_elements: 10_000,
            instances: 3,
            fuel: 500_000_000,
            wall_clock: Duration::from_secs(5),
            log_lines: 128,
            log_line_bytes: 4 << 10,
            // A quarter of a blocking thread's stack: the host's own frames need the rest.
            stack_bytes: 512 << 10,
            // A report is read by people and kept in the journal: a hundred observations are more than anyone reads.
            findings: 100,
            message_bytes: 4 << 10,
            evidence_bytes: 16 << 10,
            word_bytes: 256,
            findings_bytes: 128 << 10,
            questions: 16,
            questions_bytes: 1 << 20,
            transfer_bytes: 4 << 20,
        }
    }
}

/// What compiling an unknown component may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Bytes of the component.
    pub component_bytes: u64,
    /// Bytes of address space of the compiling process. A Python component of 18 MB needs about one GiB.
    pub memory_bytes: u64,
    /// Wall-clock time. A JavaScript component of 12 MB takes 7 s with an optimised compiler.
    pub wall_clock: Duration,
}

impl Default for CompileLimits {
    fn default() -> CompileLimits {
        CompileLimits { component_bytes: 64 << 20, memory_bytes: 2 << 30, wall_clock: Duration::from_secs(60) }
    }
}
