//! Executions that did not pass, in words.

use super::look::{Look, Style};
use super::not_passed::{BindingNote, NotPassed};
use super::text::{columns, escaped, fit};
use std::io::{self, Write};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::evaluation::{Finding, Measurement, Outcome, Severity};
use tribunal_schema::score::ExecutionOutcome;
use tribunal_schema::units::ScorePpm;

/// Findings of a binding that are shown in a list of cases.
const FINDINGS_SHOWN: usize = 3;

impl NotPassed {
    /// The execution, its reasons and the beginning of its answer. `repeats` says
    /// whether the repeat is worth naming.
    pub(super) fn write(&self, out: &mut dyn Write, look: &Look, repeats: u32) -> io::Result<()> {
        let repeat = if repeats > 1 { format!(" repeat {}", self.execution.repeat) } else { String::new() };
        let score = self.score_ppm.map(|score| format!(" {score}")).unwrap_or_default();
        let style = outcome_style(self.outcome);
        let case = fit(&escaped(&self.case_id), look.width / 2).into_owned();
        let group = if self.group.is_empty() { String::new() } else { format!("  group {}", escaped(&self.group)) };
        let outcome = look.paint(style, &format!("{}{score}", self.outcome.name()));
        writeln!(out, "  {}{repeat}  {outcome}{}", look.paint(Style::Title, &case), look.paint(Style::Dim, &group))?;
        if let Some((class, message)) = &self.failure {
            let tried = self.attempts.filter(|attempts| *attempts > 1);
            let tried = tried.map(|attempts| format!(" (attempt {attempts})")).unwrap_or_default();
            let message =
                message.as_deref().map_or_else(|| failure_words(*class).into(), |words| escaped(words).into_owned());
            look.paragraph(out, "      ", Style::Plain, &format!("{class}: {message}{tried}"))?;
        }
        let width = self.bindings.iter().map(|note| columns(&escaped(&note.binding))).max().unwrap_or_default().max(6);
        for note in &self.bindings {
            note.write(out, look, width)?;
        }
        if let Some(answer) = &self.answer {
            let lead = format!("      {}  ", super::text::padded("answer", width, false));
            let shown = fit(&escaped(answer), look.width.saturating_sub(columns(&lead))).into_owned();
            writeln!(out, "{}{}", look.paint(Style::Dim, &lead), look.paint(Style::Dim, &shown))?;
        }
        Ok(())
    }
}

impl BindingNote {
    fn write(&self, out: &mut dyn Write, look: &Look, width: usize) -> io::Result<()> {
        let name = super::text::padded(&escaped(&self.binding), width, false);
        let lead = format!("      {name}  ");
        let said = outcome_words(&self.outcome, self.pass_at);
        let aside = if self.counts { "" } else { " (shown only)" };
        // The first finding says best why; the bare outcome is enough where there is none.
        let findings: Vec<String> = self.findings.iter().take(FINDINGS_SHOWN).map(finding_words).collect();
        let more = self.findings.len().saturating_sub(FINDINGS_SHOWN);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let colon = if findings.is_empty() { "" } else { ": " };
        look.paragraph(out, &lead, Style::Plain, &format!("{said}{aside}{colon}{}{more}", findings.join("; ")))
    }
}

/// The style of an outcome.
pub(super) const fn outcome_style(outcome: ExecutionOutcome) -> Style {
    match outcome {
        ExecutionOutcome::Passed => Style::Good,
        ExecutionOutcome::Failed => Style::Bad,
        ExecutionOutcome::Errored | ExecutionOutcome::Abstained => Style::Doubt,
    }
}

/// A finding on one line.
pub(super) fn finding_words(finding: &Finding) -> String {
    match finding.severity {
        Severity::Error => escaped(&finding.message).into_owned(),
        Severity::Warning => format!("warning: {}", escaped(&finding.message)),
        Severity::Info => format!("note: {}", escaped(&finding.message)),
    }
}

/// What a binding said: `no`, `213 words, score 0.420, needs 0.800`, `errored (fuel): ...`.
pub(super) fn outcome_words(outcome: &Outcome, pass_at: Option<ScorePpm>) -> String {
    match outcome {
        Outcome::Measured { measurement, score_ppm, passed } => {
            let measured = match measurement {
                Measurement::Binary(yes) => return if *passed { passed_word(*yes) } else { failed_word(*yes) }.into(),
                Measurement::Number { value, unit } => {
                    let unit = unit.as_ref().map(|unit| format!(" {}", escaped(unit))).unwrap_or_default();
                    format!("{value}{unit}")
                }
                Measurement::Label(label) => escaped(label).into_owned(),
            };
            let needs = pass_at.filter(|_| !passed).map(|at| format!(", needs {at}")).unwrap_or_default();
            format!("{measured}, score {score_ppm}{needs}")
        }
        Outcome::Abstained { reason } => format!("abstained: {}", escaped(reason)),
        Outcome::Errored { class, message } => format!("errored ({}): {}", class.name(), escaped(message)),
    }
}

/// `not: true` turns a no into a pass; the word says so.
const fn passed_word(yes: bool) -> &'static str {
    if yes { "yes" } else { "no, as it should be" }
}

const fn failed_word(yes: bool) -> &'static str {
    if yes { "yes, and it should not" } else { "no" }
}

/// What a class means where no attempt recorded more.
const fn failure_words(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Configuration => "a secret or address could not be resolved on this machine",
        FailureClass::Dns => "the host name did not resolve",
        FailureClass::Connect => "no connection",
        FailureClass::Tls => "the TLS handshake failed",
        FailureClass::Timeout => "no complete response in time",
        FailureClass::Reset => "the connection was closed before a response began",
        FailureClass::RateLimited => "the target asked to wait (429)",
        FailureClass::ServerError => "the target failed (5xx)",
        FailureClass::ClientError => "the target refused the request (4xx)",
        FailureClass::Redirect => "the target redirects, and credentials are never sent on",
        FailureClass::Status => "an unexpected status",
        FailureClass::ContentType => "the response is not JSON by its content type",
        FailureClass::TooLarge => "the response is larger than the profile allows",
        FailureClass::Truncated => "the connection ended within the response",
        FailureClass::Parse => "the response is not JSON",
        FailureClass::Shape => "the response has another shape than the target kind promises",
        FailureClass::ErrorInBody => "the response carries an error",
        FailureClass::Empty => "the answer is empty",
        FailureClass::Lost => "nobody knows how the call ended, and the target is unsafe",
        FailureClass::Expired => "the attempts ran out without an answer",
    }
}
