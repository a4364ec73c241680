//! What an evaluator returned, taken into our own words: checked against the
//! contract, its description and the limits. What breaks them is errored as a
//! whole; nothing is clamped into shape.

use super::bindings::wit;
use super::limits::Limits;
use std::borrow::Cow;
use std::collections::BTreeSet;
use tribunal_schema::evaluation::{
    Domain, EvaluationError, EvaluationErrorClass, Finding, Measurement, Question, Report, Said, Severity,
};
use tribunal_schema::json::{Decimal, JsonText};

/// Takes a report.
///
/// # Errors
/// [`EvaluationErrorClass::Contract`] for what breaks the contract, with what broke it.
pub fn accept(report: wit::Report, measures: &[Domain], limits: &Limits) -> Result<Report, EvaluationError> {
    let said = said(report.outcome, measures, limits).map_err(contract)?;
    let findings = findings(report.findings, limits).map_err(contract)?;
    Ok(Report { said, findings })
}

/// Takes an evaluator's own failure.
pub fn failure(failure: wit::Failure, limits: &Limits) -> EvaluationError {
    let (class, message) = match failure {
        wit::Failure::Configuration(message) => (EvaluationErrorClass::Configuration, message),
        wit::Failure::Failed(message) => (EvaluationErrorClass::Failed, message),
    };
    EvaluationError { class, message: storable(&cut(&message, limits.message_bytes)) }
}

fn contract(message: String) -> EvaluationError {
    EvaluationError { class: EvaluationErrorClass::Contract, message }
}

fn said(outcome: wit::Outcome, measures: &[Domain], limits: &Limits) -> Result<Said, String> {
    match outcome {
        wit::Outcome::Measured(measured) => {
            let measurement = measurement(measured, limits)?;
            if !measures.iter().any(|domain| domain.holds(&measurement)) {
                return Err(format!("measured {}, which is outside what it says it measures", shown(&measurement)));
            }
            Ok(Said::Measured(measurement))
        }
        wit::Outcome::Abstained(reason) => Ok(Said::Abstained(text("a reason", &reason, limits.message_bytes)?)),
        wit::Outcome::Ask(asked) => questions(asked, limits).map(Said::Ask),
    }
}

fn measurement(measured: wit::Measurement, limits: &Limits) -> Result<Measurement, String> {
    match measured {
        wit::Measurement::Binary(value) => Ok(Measurement::Binary(value)),
        wit::Measurement::Number(quantity) => {
            let value = Decimal::from_f64(quantity.value)
                .ok_or_else(|| format!("measured {}, which is not a number that can be scored", quantity.value))?;
            let unit = quantity.unit.map(|unit| text("a unit", &unit, limits.word_bytes)).transpose()?;
            Ok(Measurement::Number { value, unit })
        }
        wit::Measurement::Label(label) => text("a label", &label, limits.word_bytes).map(Measurement::Label),
    }
}

fn shown(measurement: &Measurement) -> String {
    match measurement {
        Measurement::Binary(value) => format!("{value}"),
        Measurement::Number { value, unit: Some(unit) } => format!("{value} {unit}"),
        Measurement::Number { value, unit: None } => format!("{value} without a unit"),
        Measurement::Label(label) => format!("the label {label:?}"),
    }
}

fn questions(asked: Vec<wit::Question>, limits: &Limits) -> Result<Vec<Question>, String> {
    if asked.is_empty() || asked.len() > limits.questions {
        return Err(format!("asked {} questions, 1 to {} are allowed", asked.len(), limits.questions));
    }
    let bytes: usize = asked.iter().map(|one| one.prompt.len() + one.system.as_ref().map_or(0, String::len)).sum();
    if bytes > limits.questions_bytes {
        return Err(format!("its questions have {bytes} bytes, at most {} are allowed", limits.questions_bytes));
    }
    let mut ids = BTreeSet::new();
    let question = |asked: wit::Question| {
        let id = text("a question's id", &asked.id, limits.word_bytes)?;
        if !ids.insert(id.clone()) {
            return Err(format!("asked two questions with the id {id:?}"));
        }
        Ok(Question { id, system: asked.system.map(|system| storable(&system)), prompt: storable(&asked.prompt) })
    };
    asked.into_iter().map(question).collect()
}

fn findings(found: Vec<wit::Finding>, limits: &Limits) -> Result<Vec<Finding>, String> {
    if found.len() > limits.findings {
        return Err(format!("returned {} findings, at most {} are allowed", found.len(), limits.findings));
    }
    let size =
        |one: &wit::Finding| one.category.len() + one.message.len() + one.evidence.as_ref().map_or(0, String::len);
    let bytes: usize = found.iter().map(size).sum();
    if bytes > limits.findings_bytes {
        return Err(format!("its findings have {bytes} bytes, at most {} are allowed", limits.findings_bytes));
    }
    found.into_iter().map(|found| finding(found, limits)).collect()
}

fn finding(found: wit::Finding, limits: &Limits) -> Result<Finding, String> {
    if found.category.is_empty() {
        return Err("returned a finding without a category".into());
    }
    Ok(Finding {
        severity: match found.severity {
            wit::Severity::Info => Severity::Info,
            wit::Severity::Warning => Severity::Warning,
            wit::Severity::Error => Severity::Error,
        },
        category: text("a finding's category", &found.category, limits.word_bytes)?,
        message: text("a finding's message", &found.message, limits.message_bytes)?,
        evidence: found.evidence.map(|evidence| json(evidence, limits)).transpose()?,
    })
}

fn json(evidence: String, limits: &Limits) -> Result<JsonText, String> {
    bounded("a finding's evidence", evidence.len(), limits.evidence_bytes)?;
    JsonText::try_from(evidence).map_err(|error| format!("a finding's evidence is {error}"))
}

fn text(what: &str, text: &str, bytes_max: usize) -> Result<String, String> {
    bounded(what, text.len(), bytes_max)?;
    Ok(storable(text))
}

fn bounded(what: &str, bytes: usize, bytes_max: usize) -> Result<(), String> {
    if bytes <= bytes_max { Ok(()) } else { Err(format!("{what} has {bytes} bytes, at most {bytes_max} are allowed")) }
}

/// A text that every database can hold as text: not all know the character NUL.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// At most so many bytes of a text, cut between characters and marked.
pub fn cut(text: &str, bytes_max: usize) -> Cow<'_, str> {
    const MARK: &str = "…";
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(bytes_max.saturating_sub(MARK.len()));
    Cow::Owned(format!("{}{MARK}", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding_of(message: &str, evidence: Option<&str>) -> wit::Finding {
        wit::Finding {
            severity: wit::Severity::Error,
            category: "category".into(),
            message: message.into(),
            evidence: evidence.map(str::to_owned),
        }
    }

    fn measured(measured: wit::Measurement, measures: &[Domain]) -> Result<Report, EvaluationError> {
        let report = wit::Report { outcome: wit::Outcome::Measured(measured), findings: Vec::new() };
        accept(report, measures, &Limits::default())
    }

    fn with_findings(findings: Vec<wit::Finding>) -> Result<Report, EvaluationError> {
        let outcome = wit::Outcome::Measured(wit::Measurement::Binary(true));
        accept(wit::Report { outcome, findings }, &[Domain::Binary], &Limits::default())
    }

    fn number(value: f64, unit: Option<&str>) -> wit::Measurement {
        wit::Measurement::Number(wit::Quantity { value, unit: unit.map(str::to_owned) })
    }

    #[test]
    fn a_number_outside_its_domain_is_refused_at_the_boundary() {
        let decimal = |text: &str| text.parse::<Decimal>().expect("a decimal");
        let domain = Domain::Number { lowest: Some(decimal("0")), highest: Some(decimal("1")), unit: None };
        let domain = [domain];
        assert!(measured(number(0.0, None), &domain).is_ok());
        assert!(measured(number(1.0, None), &domain).is_ok());
        for (value, unit) in [(-0.000001, None), (1.000001, None), (0.5, Some("ms")), (f64::NAN, None), (1e300, None)] {
            let refused = measured(number(value, unit), &domain).expect_err("outside");
            assert_eq!(refused.class, EvaluationErrorClass::Contract, "{value}");
        }
    }

    #[test]
    fn a_label_and_a_yes_must_be_among_what_is_measured() {
        let labels = [Domain::Labels(vec!["good".into(), "bad".into()])];
        assert!(measured(wit::Measurement::Label("good".into()), &labels).is_ok());
        assert!(measured(wit::Measurement::Label("ugly".into()), &labels).is_err());
        assert!(measured(wit::Measurement::Binary(true), &labels).is_err());
    }

    #[test]
    fn findings_are_bounded_in_number_and_size() {
        let limits = Limits::default();
        let many = |count: usize| (0..count).map(|_| finding_of("message", None)).collect();
        assert!(with_findings(many(limits.findings)).is_ok());
        assert!(with_findings(many(limits.findings + 1)).is_err());
        let long = |bytes: usize| with_findings(vec![finding_of(&"x".repeat(bytes), None)]);
        assert!(long(limits.message_bytes).is_ok());
        assert!(long(limits.message_bytes + 1).is_err());
        let large = (0..40).map(|_| finding_of(&"x".repeat(limits.message_bytes), None)).collect();
        let refused = with_findings(large).expect_err("together too large");
        assert!(refused.message.contains("at most 131072"), "{}", refused.message);
    }

    #[test]
    fn evidence_must_be_json_and_a_message_is_storable() {
        assert!(with_findings(vec![finding_of("m", Some("{broken"))]).is_err());
        let kept = with_findings(vec![finding_of("a\0b", Some(r#"{"n": 9007199254740993}"#))]).expect("a report");
        assert_eq!(kept.findings[0].message, "a\u{FFFD}b");
        assert_eq!(kept.findings[0].evidence.as_ref().map(JsonText::text), Some(r#"{"n": 9007199254740993}"#));
    }

    #[test]
    fn questions_need_ids_of_their_own() {
        let ask = |ids: &[&str]| {
            let question = |id: &&str| wit::Question { id: (*id).into(), system: None, prompt: "?".into() };
            let outcome = wit::Outcome::Ask(ids.iter().map(question).collect());
            accept(wit::Report { outcome, findings: Vec::new() }, &[Domain::Binary], &Limits::default())
        };
        assert!(ask(&["a", "b"]).is_ok());
        assert!(ask(&["a", "a"]).is_err());
        assert!(ask(&[]).is_err());
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("ééé", 6), "ééé");
        assert_eq!(cut("éééé", 6), "é…");
    }
}
