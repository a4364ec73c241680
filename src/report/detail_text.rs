//! Everything of one case, for a person.

use super::detail::{AttemptDetail, CaseReport, ExecutionDetail, tool_calls};
use super::look::{Look, Style, field};
use super::not_passed_text::{finding_words, outcome_style, outcome_words};
use super::text::{escaped, escaped_lines};
use super::when::{instant, span};
use serde_json::Value;
use std::io::{self, Write};
use tribunal_schema::answer::Answer;
use tribunal_schema::case::Case;
use tribunal_schema::events::{AttemptEvent, BindingOutcome};
use tribunal_schema::profile::Group;

impl CaseReport {
    /// Writes the case.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        writeln!(out, "{}", look.paint(Style::Title, &format!("Case {}", escaped(&self.case_id))))?;
        field(out, look, "run", &self.run.to_string())?;
        if let Some(group) = &self.group {
            field(out, look, "group", &escaped(&group.name))?;
        }
        match &self.case {
            Some(case) => write_content(out, look, case)?,
            None => field(out, look, "content", "was not kept")?,
        }
        for execution in &self.executions {
            execution.write(out, look, self.executions.len() > 1, self.group.as_ref())?;
        }
        Ok(())
    }
}

fn write_content(out: &mut dyn Write, look: &Look, case: &Case) -> io::Result<()> {
    for (name, words) in [("task type", &case.task_type), ("named group", &case.group)] {
        if let Some(words) = words {
            field(out, look, name, &escaped(words))?;
        }
    }
    if !case.tags.is_empty() {
        field(out, look, "tags", &escaped(&case.tags.join(", ")))?;
    }
    block(out, look, "Input", &value_text(&case.input))?;
    for (title, value) in [("Expected", &case.expected), ("Context", &case.context)] {
        if let Some(value) = value {
            block(out, look, title, &value_text(value))?;
        }
    }
    Ok(())
}

/// A text as it is, messages as `role: text`, any other value as indented JSON.
fn value_text(value: &Value) -> String {
    let message = |message: &Value| {
        let (role, content) = (message.get("role")?.as_str()?, message.get("content")?.as_str()?);
        (message.as_object()?.len() == 2).then(|| format!("{role}: {content}"))
    };
    let messages = value.as_array().filter(|list| !list.is_empty());
    let messages = messages.and_then(|list| list.iter().map(message).collect::<Option<Vec<_>>>());
    match (value, messages) {
        (Value::String(text), _) => text.clone(),
        (_, Some(messages)) => messages.join("\n"),
        (value, None) => serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string()),
    }
}

fn block(out: &mut dyn Write, look: &Look, title: &str, text: &str) -> io::Result<()> {
    look.title(out, title)?;
    for line in escaped_lines(text) {
        writeln!(out, "{}", format!("  {line}").trim_end())?;
    }
    Ok(())
}

impl ExecutionDetail {
    fn write(&self, out: &mut dyn Write, look: &Look, name_repeat: bool, group: Option<&Group>) -> io::Result<()> {
        let score = self.score_ppm.map(|score| format!(" {score}")).unwrap_or_default();
        let style = self.outcome.map_or(Style::Doubt, outcome_style);
        let title = if name_repeat { format!("Repeat {}", self.repeat) } else { "Result".into() };
        let stands = look.paint(style, &format!("{}{score}", self.stands));
        writeln!(out, "\n{}  {stands}", look.paint(Style::Title, &title))?;
        for attempt in &self.attempts {
            attempt.write(out, look, group)?;
        }
        Ok(())
    }
}

impl AttemptDetail {
    fn write(&self, out: &mut dyn Write, look: &Look, group: Option<&Group>) -> io::Result<()> {
        writeln!(out, "  attempt {}  {}", self.number, look.paint(Style::Dim, &self.attempt.to_string()))?;
        if self.events.is_empty() {
            writeln!(out, "    was given back before it was started")?;
        }
        for (at, event) in &self.events {
            let lead = format!("    {}  ", instant(*at));
            look.paragraph(out, &lead, Style::Plain, &escaped(&event_words(event)))?;
        }
        if let Some(wait) = self.retry_after {
            writeln!(out, "    to be tried again after {}", span(wait.0))?;
        }
        let answered = self.events.iter().any(|(_, event)| matches!(event, AttemptEvent::Answered(_)));
        match &self.answer {
            Some(answer) => write_answer(out, look, answer)?,
            None if answered => writeln!(out, "    the answer was not kept")?,
            None => {}
        }
        for said in self.outcomes() {
            write_binding(out, look, said, group)?;
        }
        Ok(())
    }
}

fn event_words(event: &AttemptEvent) -> String {
    match event {
        AttemptEvent::Started(started) => format!("started under term {}", started.term),
        AttemptEvent::Answered(answered) => {
            let finish = answered.finish_reason.as_ref().map(|why| format!(", finished by {why}")).unwrap_or_default();
            let count = |tokens: Option<u64>| tokens.map_or_else(|| "?".into(), |tokens| tokens.to_string());
            let usage = answered
                .usage
                .map(|usage| format!(", tokens {} in {} out", count(usage.input_tokens), count(usage.output_tokens)));
            format!("answered after {}{finish}{}", span(answered.latency.0), usage.unwrap_or_default())
        }
        AttemptEvent::Failed(failed) => {
            let status = failed.status.map(|status| format!(", status {status}")).unwrap_or_default();
            format!("failed after {}{status}: {}: {}", span(failed.latency.0), failed.class, failed.message)
        }
        AttemptEvent::Judged(judged) => format!("judged: {}", judged.judgment.outcome.name()),
        AttemptEvent::Expired(expired) if expired.lost => "lost: the target is unsafe and may have acted".into(),
        AttemptEvent::Expired(_) => "expired: its end was never recorded, the target may have served it".into(),
        AttemptEvent::Cancelled(cancelled) => format!("cancelled: {}", cancelled.reason),
        AttemptEvent::Late(late) => format!("a late result was refused: {}", late.refusal),
    }
}

fn write_answer(out: &mut dyn Write, look: &Look, answer: &Answer) -> io::Result<()> {
    let parts = [
        ("answer", answer.text.clone()),
        ("refusal", answer.refusal.clone()),
        ("structured", answer.structured.as_ref().map(value_text)),
        ("calls", (!answer.tool_calls.is_empty()).then(|| tool_calls(answer).join("\n"))),
    ];
    for (name, text) in parts {
        let Some(text) = text else { continue };
        writeln!(out, "    {}", look.paint(Style::Dim, name))?;
        for line in escaped_lines(&text) {
            writeln!(out, "{}", format!("      {line}").trim_end())?;
        }
    }
    for error in answer.tool_calls.iter().filter_map(|call| call.arguments_error.as_ref()) {
        writeln!(out, "      arguments are not JSON: {}", escaped(error))?;
    }
    Ok(())
}

fn write_binding(out: &mut dyn Write, look: &Look, said: &BindingOutcome, group: Option<&Group>) -> io::Result<()> {
    let binding = group.and_then(|group| group.bindings.iter().find(|binding| binding.id == said.binding));
    let evaluator = binding.map(|binding| format!(" ({})", escaped(&binding.evaluator.reference))).unwrap_or_default();
    let words = outcome_words(&said.outcome, binding.map(|binding| binding.pass_at));
    let lead = format!("    {}: ", escaped(&said.binding));
    look.paragraph(out, &lead, Style::Plain, &format!("{words}{evaluator}"))?;
    for finding in &said.findings {
        look.paragraph(
            out,
            "      - ",
            Style::Plain,
            &format!("{} [{}]", finding_words(finding), escaped(&finding.category)),
        )?;
        if let Some(evidence) = &finding.evidence {
            look.paragraph(out, "        evidence ", Style::Dim, &escaped(evidence.text()))?;
        }
    }
    Ok(())
}
