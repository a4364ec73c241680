//! `tribunal evaluator list | show | test`: what there is, what it takes, and a
//! try of one on an answer before a profile uses it.
//!
//! `test` ends with 0 for a yes, a number or a label, 2 for a no, 3 where the
//! evaluator abstained or asks a judge, and 1 where it errored: the codes of a run.

use crate::evaluator::inspect::{self, Tried};
use crate::evaluator::{Catalog, Options};
use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tribunal_schema::answer::Answer;
use tribunal_schema::evaluation::{Domain, EvaluatorDescription, Finding, Measurement, Said, Severity};
use tribunal_schema::json::JsonText;

/// Lists, shows and tries evaluators.
#[derive(Args, Debug)]
pub struct EvaluatorArgs {
    #[command(subcommand)]
    command: EvaluatorCommand,
}

#[derive(Subcommand, Debug)]
enum EvaluatorCommand {
    /// List the standard evaluators
    List {
        /// Write one JSON object to stdout
        #[arg(long, env = "TRIBUNAL_JSON")]
        json: bool,
    },
    /// Show what an evaluator measures and how it is configured
    Show {
        /// std/NAME or FILE.wasm#NAME
        reference: String,
        /// Write one JSON object to stdout
        #[arg(long, env = "TRIBUNAL_JSON")]
        json: bool,
    },
    /// Try an evaluator on an answer
    Test(TestArgs),
}

#[derive(Args, Debug)]
struct TestArgs {
    /// std/NAME or FILE.wasm#NAME
    reference: String,
    /// Its configuration, a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    with: String,
    /// The case, a JSON object; everything may be left out
    #[arg(long, value_name = "JSON", default_value = "{}")]
    case: String,
    /// The case's expected: JSON, or a text as it is
    #[arg(long, value_name = "VALUE")]
    expected: Option<String>,
    /// The answer's text
    #[arg(long, value_name = "TEXT", group = "answers", required_unless_present_any = ["answer_file", "answer_json"])]
    answer: Option<String>,
    /// A file with the answer's text, - for stdin
    #[arg(long, value_name = "FILE", group = "answers")]
    answer_file: Option<PathBuf>,
    /// The whole answer as JSON: text, structured, tool_calls ...
    #[arg(long, value_name = "JSON", group = "answers")]
    answer_json: Option<String>,
    /// How long the target took
    #[arg(long, value_name = "MS", default_value_t = 0)]
    latency_ms: u64,
    /// Write one JSON object to stdout
    #[arg(long, env = "TRIBUNAL_JSON")]
    json: bool,
}

/// Runs the command. Results go to stdout, what the evaluator logged to stderr.
///
/// # Errors
/// When the reference, the configuration, the case or the answer is wrong.
pub async fn execute(args: EvaluatorArgs) -> Result<ExitCode> {
    let catalog = Catalog::open(Options::default()).await?;
    let here = Path::new("");
    match args.command {
        EvaluatorCommand::List { json } => {
            let description = inspect::list(&catalog);
            let shown = if json { line(&json!(description)) } else { listed(&description.evaluators) };
            print(&shown)?;
            Ok(ExitCode::SUCCESS)
        }
        EvaluatorCommand::Show { reference, json } => {
            let (pin, evaluator) = inspect::show(&catalog, &reference, here).await?;
            let shown = if json { line(&described(&pin, &evaluator)) } else { explained(&pin, &evaluator) };
            print(&shown)?;
            Ok(ExitCode::SUCCESS)
        }
        EvaluatorCommand::Test(args) => test(&catalog, here, args).await,
    }
}

async fn test(catalog: &Catalog, here: &Path, args: TestArgs) -> Result<ExitCode> {
    let config = JsonText::try_from(args.with.clone()).map_err(anyhow::Error::msg).context("--with")?;
    let mut case = inspect::case(&args.case)?;
    if let Some(expected) = &args.expected {
        case.expected = Some(serde_json::from_str(expected).unwrap_or_else(|_| Value::from(expected.as_str())));
    }
    let answer = answer(&args)?;
    let tried = inspect::test(catalog, &args.reference, here, config, case, answer, args.latency_ms).await?;
    for logged in &tried.log {
        writeln!(std::io::stderr(), "{}: {}", logged.level, logged.message)?;
    }
    print(&if args.json { line(&reported(&tried)) } else { told(&tried) })?;
    Ok(ExitCode::from(code(&tried)))
}

fn answer(args: &TestArgs) -> Result<Answer> {
    if let Some(json) = &args.answer_json {
        return Ok(inspect::json_answer(json)?);
    }
    let text = match (&args.answer, &args.answer_file) {
        (Some(text), _) => text.clone(),
        (None, Some(path)) if path == Path::new("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("the answer on stdin")?;
            text
        }
        (None, Some(path)) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
        (None, None) => String::new(),
    };
    Ok(inspect::text_answer(&text))
}

fn code(tried: &Tried) -> u8 {
    match &tried.result {
        Ok(report) => match &report.said {
            Said::Measured(Measurement::Binary(false)) => 2,
            Said::Measured(Measurement::Binary(true) | Measurement::Number { .. } | Measurement::Label(_)) => 0,
            Said::Abstained(_) | Said::Ask(_) => 3,
        },
        Err(_) => 1,
    }
}

fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn listed(evaluators: &[EvaluatorDescription]) -> String {
    let width = evaluators.iter().map(|evaluator| evaluator.name.len()).max().unwrap_or_default();
    evaluators.iter().map(|evaluator| format!("std/{:width$}  {}\n", evaluator.name, evaluator.help)).collect()
}

fn described(pin: &tribunal_schema::profile::EvaluatorPin, evaluator: &EvaluatorDescription) -> Value {
    json!({
        "reference": pin.reference,
        "component": pin.component,
        "name": evaluator.name,
        "help": evaluator.help,
        "measures": evaluator.measures,
        "config_schema": evaluator.config_schema.value(),
    })
}

fn explained(pin: &tribunal_schema::profile::EvaluatorPin, evaluator: &EvaluatorDescription) -> String {
    let schema = evaluator.config_schema.value();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = format!("{}: {}\n", pin.reference, evaluator.help);
    let measures: Vec<String> = evaluator.measures.iter().map(domain).collect();
    text += &format!("measures {}\ncomponent {}\n", measures.join(", or "), pin.component);
    let properties = schema["properties"].as_object();
    text += if properties.is_none_or(serde_json::Map::is_empty) { "takes no configuration\n" } else { "with:\n" };
    for (name, property) in properties.into_iter().flatten() {
        let needed = if required.contains(&name.as_str()) { " (required)" } else { "" };
        let default = property.get("default").map(|value| format!(" [default: {value}]")).unwrap_or_default();
        text += &format!("  {name}{needed}: {}{default}\n", property["description"].as_str().unwrap_or_default());
    }
    text
}

fn domain(domain: &Domain) -> String {
    match domain {
        Domain::Binary => "yes or no".into(),
        Domain::Number { lowest, highest, unit } => {
            let unit = unit.as_ref().map(|unit| format!(" of {unit}")).unwrap_or_default();
            let from = lowest.map(|lowest| format!(" from {lowest}")).unwrap_or_default();
            let to = highest.map(|highest| format!(" to {highest}")).unwrap_or_default();
            format!("a number{unit}{from}{to}")
        }
        Domain::Labels(labels) => format!("one of {}", labels.join(", ")),
    }
}

fn reported(tried: &Tried) -> Value {
    let log: Vec<Value> =
        tried.log.iter().map(|line| json!({ "level": line.level, "message": line.message })).collect();
    let mut value =
        json!({ "reference": tried.pin.reference, "component": tried.pin.component, "fuel": tried.fuel, "log": log });
    match &tried.result {
        Ok(report) => {
            value["outcome"] = match &report.said {
                Said::Measured(measurement) => json!({ "measured": measurement }),
                Said::Abstained(reason) => json!({ "abstained": reason }),
                Said::Ask(questions) => json!({ "ask": questions }),
            };
            let finding = |finding: &Finding| {
                let evidence = finding.evidence.as_ref().map(JsonText::value);
                json!({
                    "severity": finding.severity,
                    "category": finding.category,
                    "message": finding.message,
                    "evidence": evidence,
                })
            };
            value["findings"] = report.findings.iter().map(finding).collect();
        }
        Err(error) => {
            value["outcome"] = json!({ "errored": { "class": error.class, "message": error.message } });
            value["findings"] = json!([]);
        }
    }
    value
}

fn told(tried: &Tried) -> String {
    let report = match &tried.result {
        Ok(report) => report,
        Err(error) => return format!("errored ({}): {}\n", error.class.name(), error.message),
    };
    let mut text = match &report.said {
        Said::Measured(Measurement::Binary(true)) => "yes\n".into(),
        Said::Measured(Measurement::Binary(false)) => "no\n".into(),
        Said::Measured(Measurement::Number { value, unit }) => {
            format!("{value} {}", unit.as_deref().unwrap_or_default()).trim_end().to_owned() + "\n"
        }
        Said::Measured(Measurement::Label(label)) => format!("{label}\n"),
        Said::Abstained(reason) => format!("abstained: {reason}\n"),
        Said::Ask(questions) => {
            let asked: String =
                questions.iter().map(|question| format!("  {}: {}\n", question.id, question.prompt)).collect();
            format!("asks a judge:\n{asked}")
        }
    };
    for finding in &report.findings {
        let severity = match finding.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        text += &format!("  {severity}: {}\n", finding.message);
    }
    text
}
