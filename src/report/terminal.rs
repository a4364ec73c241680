//! The report for a person.

use super::gather::RunReport;
use super::look::{Cell, Look, Style, Table, field};
use super::text::{escaped, shell_word};
use super::when::{instant, span};
use std::io::{self, Write};
use tribunal_schema::score::{ConditionResult, ConditionState, Verdict};
use tribunal_schema::units::ScorePpm;
use tribunal_schema::view::RunStatus;

impl RunReport {
    /// Writes the report.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        self.header(out, look)?;
        self.verdict(out, look)?;
        self.scorecard(out, look)?;
        self.gate(out, look)?;
        self.numbers(out, look)?;
        self.not_passed(out, look)?;
        self.quarantine(out, look)?;
        self.next_steps(out, look)
    }

    fn header(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        writeln!(out, "{}", look.paint(Style::Title, &format!("Run {}", self.run)))?;
        let profile = format!("{} {}", escaped(&self.profile.name), escaped(&self.profile.version));
        field(out, look, "profile", &profile)?;
        let repeats = self.profile.repeats;
        let times = if repeats > 1 { format!(" x {repeats} repeats") } else { String::new() };
        let cases = counted(self.counts.cases, "case", "cases");
        field(out, look, "dataset", &format!("{}, {cases}{times}", escaped(&self.dataset)))?;
        if !self.filters.is_empty() {
            field(out, look, "left out", &escaped(&self.filters.join(", ")))?;
        }
        field(out, look, "target", &escaped(&self.target))?;
        if let Some(created_at) = self.created_at {
            let took = self.ended_at.and_then(|ended_at| u64::try_from(ended_at.0 - created_at.0).ok());
            let took = took.map(|ms| format!(", took {}", span(ms))).unwrap_or_default();
            field(out, look, "planned", &format!("{}{took}", instant(created_at)))?;
        }
        Ok(())
    }

    fn verdict(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        let (word, style) = match (self.verdict, self.status) {
            (Some(Verdict::Pass), _) => ("PASS", Style::Good),
            (Some(Verdict::Fail), _) => ("FAIL", Style::Bad),
            (Some(Verdict::Inconclusive), _) => ("INCONCLUSIVE", Style::Doubt),
            (None, RunStatus::Cancelled) => ("CANCELLED, no verdict", Style::Doubt),
            (None, RunStatus::Failed) => ("FAILED TO RUN, no verdict", Style::Bad),
            (None, RunStatus::Paused) => ("PAUSED, no verdict yet", Style::Doubt),
            (None, RunStatus::Halted) => ("HALTED, no verdict yet", Style::Doubt),
            (None, RunStatus::Creating) => ("BEING CREATED, no verdict yet", Style::Doubt),
            (None, RunStatus::Running) => ("UNFINISHED, no verdict yet", Style::Doubt),
            (None, RunStatus::Completed | RunStatus::Retired) => ("NO VERDICT", Style::Doubt),
        };
        let score = self.score_ppm.map(|score| format!("   score {score}")).unwrap_or_default();
        writeln!(out, "\n  {}{score}", look.paint(style, word))?;
        for reason in &self.reasons {
            look.paragraph(out, "  - ", Style::Plain, &escaped(reason))?;
        }
        if self.verdict.is_none() {
            let words = "The numbers below are what is recorded so far, not what a verdict rests on.";
            look.paragraph(out, "  ", Style::Dim, words)?;
        }
        Ok(())
    }

    fn scorecard(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        if self.scorecard.is_empty() {
            return Ok(());
        }
        look.title(out, "Scorecard")?;
        let mut table = Table::new(&["~group", "~dimension", ">executions", ">scored", ">passed", ">mean"]);
        for row in &self.scorecard {
            table.row(vec![
                escaped(&row.group).into(),
                escaped(&row.dimension).into(),
                row.population.to_string().into(),
                row.scored.to_string().into(),
                row.passed.to_string().into(),
                shown(row.mean_ppm).into(),
            ]);
        }
        table.write(out, look)
    }

    fn gate(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        if self.conditions.is_empty() {
            return Ok(());
        }
        look.title(out, "Gate")?;
        let mut table = Table::new(&["", "~scope", "condition", "asked", ">observed", "possible"]);
        for condition in &self.conditions {
            let (mark, style) = match condition.state {
                ConditionState::Holds => ("holds", Style::Good),
                ConditionState::Broken => ("BROKEN", Style::Bad),
                ConditionState::Open => ("open", Style::Doubt),
            };
            table.row(vec![
                Cell::styled(mark, style),
                escaped(&condition.scope).into(),
                condition.condition.clone().into(),
                asked(condition).into(),
                shown(condition.observed_ppm).into(),
                possible(condition).into(),
            ]);
        }
        table.write(out, look)
    }

    fn numbers(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        look.title(out, "Counts")?;
        let counts = &self.counts;
        field(out, look, "cases", &counts.cases.to_string())?;
        field(out, look, "executions", &format!("{}, {} attempted", counts.executions, counts.attempted))?;
        let scored = format!("{}: {} passed, {} failed", counts.scored, counts.passed, counts.failed);
        field(out, look, "scored", &scored)?;
        let unscored =
            format!("{} errored, {} abstained, {} missing", counts.errored, counts.abstained, counts.missing);
        field(out, look, "not scored", &unscored)?;
        if !self.errors.is_empty() {
            let errors: Vec<String> = self.errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
            field(out, look, "no answer", &errors.join(", "))?;
        }
        if self.evaluator_errors > 0 {
            let errored = counted(self.evaluator_errors, "execution", "executions");
            field(out, look, "evaluators", &format!("errored in {errored}"))?;
        }
        field(out, look, "calls", &counted(self.target_calls, "call of the target", "calls of the target"))?;
        if self.calls_maybe_repeated > 0 {
            let repeated = format!(
                "{} may have been repeated: the end of each was never recorded (the process was killed, or lost its \
                 lease), so the target may have served that case once more than is counted here",
                self.calls_maybe_repeated
            );
            look.paragraph(out, &" ".repeat(14), Style::Doubt, &repeated)?;
        }
        Ok(())
    }

    fn not_passed(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        let all = self.counts.failed + self.counts.errored + self.counts.abstained;
        let Some(first) = self.not_passed.first() else { return Ok(()) };
        let shown = self.not_passed.len() as u64;
        let of = if shown < all { format!(" (first {shown} of {all})") } else { String::new() };
        look.title(out, &format!("Not passed{of}"))?;
        for one in &self.not_passed {
            one.write(out, look, self.profile.repeats)?;
        }
        writeln!(out, "\n  everything of one case:")?;
        look.command(out, "    ", &format!("results {} --case {}", self.run, shell_word(&first.case_id)))
    }

    fn quarantine(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        if self.quarantined == 0 {
            return Ok(());
        }
        look.title(out, "Quarantine")?;
        let waits = if self.quarantined == 1 { "waits" } else { "wait" };
        let words = format!(
            "{} {waits} for a person. The target is unsafe: a call may have had an effect, so it is not made again by itself.",
            counted(self.quarantined, "execution", "executions")
        );
        look.paragraph(out, "  ", Style::Doubt, &words)?;
        for (case, row) in &self.quarantine {
            let repeat =
                if self.profile.repeats > 1 { format!(" repeat {}", row.execution.repeat) } else { String::new() };
            look.paragraph(out, "  - ", Style::Plain, &format!("{}{repeat}: {}", escaped(case), escaped(&row.reason)))?;
        }
        look.command(out, "    ", &format!("quarantine show {}", self.run))?;
        look.command(out, "    ", &format!("quarantine release {} --reason WHY", self.run))?;
        look.command(out, "    ", &format!("quarantine discard {} --reason WHY", self.run))
    }

    fn next_steps(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        writeln!(out)?;
        if self.is_resumable() {
            writeln!(out, "  go on with it, with the profile and dataset that it was started with:")?;
            look.command(out, "    ", &format!("run PROFILE --dataset FILE --resume {}", self.run))?;
        }
        if self.verdict.is_some() {
            writeln!(
                out,
                "  result digest {}\n  journal root  {}",
                short(self.result_digest),
                self.journal_root.short()
            )?;
        }
        writeln!(out, "  prove it from the journal:")?;
        look.command(out, "    ", &format!("replay verify {}", self.run))
    }
}

fn short(digest: Option<tribunal_schema::Digest>) -> String {
    digest.map(|digest| digest.short()).unwrap_or_default()
}

/// `1 case`, `3 cases`
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

pub(super) fn shown(score: Option<ScorePpm>) -> String {
    score.map_or_else(|| "-".into(), |score| score.to_string())
}

fn asked(condition: &ConditionResult) -> String {
    let bound = if condition.condition.starts_with("min_") { ">=" } else { "<=" };
    format!("{bound} {}", condition.threshold_ppm)
}

/// Where the value may lie, when that is not exactly what was observed.
fn possible(condition: &ConditionResult) -> String {
    let exact = condition.low_ppm == condition.high_ppm && condition.observed_ppm == Some(condition.low_ppm);
    if exact { String::new() } else { format!("{} to {}", condition.low_ppm, condition.high_ppm) }
}
