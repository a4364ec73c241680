//! A loaded component: checked, ready to be called, and what it says of itself.

use super::bindings::{EvaluatorPre, wit};
use super::config::Schema;
use super::report::cut;
use super::sandbox::{Cell, Permit, Sandbox};
use std::collections::BTreeSet;
use tribunal_schema::Digest;
use tribunal_schema::evaluation::{Description, Domain, EvaluationError, EvaluationErrorClass, EvaluatorDescription};
use tribunal_schema::json::{Decimal, JsonText};
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// The only import of the contract.
const LOG: &str = "log";
/// Evaluators of one component.
const EVALUATORS_MAX: usize = 200;

/// A component that can be called.
pub struct Loaded {
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// What it says of itself.
    pub description: Description,
    /// One per evaluator, in the description's order.
    schemas: Vec<Schema>,
    pre: EvaluatorPre<Cell>,
}

impl Loaded {
    /// Checks a compiled component and asks it for its description.
    ///
    /// # Errors
    /// `component` when it is not an evaluator component, `contract` when its
    /// description is wrong, and what calling it may come to.
    pub fn new(
        sandbox: &Sandbox,
        permit: &Permit,
        digest: Digest,
        component: &Component,
    ) -> Result<Loaded, EvaluationError> {
        let not_ours = |message: String| EvaluationError { class: EvaluationErrorClass::Component, message };
        if let Some(import) = forbidden_import(sandbox, component) {
            return Err(not_ours(format!("imports {import:?}, but an evaluator may import {LOG:?} only")));
        }
        let pre = sandbox.linker().instantiate_pre(component).and_then(EvaluatorPre::new).map_err(|error| {
            not_ours(format!("is not a component of the world tribunal:evaluator@1.0.0: {error:#}"))
        })?;
        let described = sandbox.call(permit, &pre, |evaluator, store| evaluator.call_describe(store)).result?;
        let wrong = |message: String| EvaluationError {
            class: EvaluationErrorClass::Contract,
            message: format!("describes itself wrongly: {message}"),
        };
        let description = description(described).map_err(wrong)?;
        let schemas =
            description.evaluators.iter().map(Schema::compile).collect::<Result<_, String>>().map_err(wrong)?;
        Ok(Loaded { digest, description, schemas, pre })
    }

    /// What it says of one of its evaluators.
    pub fn evaluator(&self, name: &str) -> Option<&EvaluatorDescription> {
        self.description.evaluators.iter().find(|evaluator| evaluator.name == name)
    }

    /// The schema of an evaluator's configuration.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        let index = self.description.evaluators.iter().position(|evaluator| evaluator.name == name)?;
        self.schemas.get(index)
    }

    /// What is instantiated for a call.
    pub(super) fn pre(&self) -> &EvaluatorPre<Cell> {
        &self.pre
    }
}

/// The first import that is neither `log` nor a set of types.
fn forbidden_import(sandbox: &Sandbox, component: &Component) -> Option<String> {
    let engine = sandbox.engine();
    let of_types = |item: &ComponentItem| match item {
        ComponentItem::ComponentInstance(instance) => {
            instance.exports(engine).all(|(_, export)| matches!(export.ty, ComponentItem::Type(_)))
        }
        other => matches!(other, ComponentItem::Type(_)),
    };
    let kind = component.component_type();
    let mut imports = kind.imports(engine);
    imports.find(|(name, import)| *name != LOG && !of_types(&import.ty)).map(|(name, _)| name.to_owned())
}

fn description(described: wit::Description) -> Result<Description, String> {
    named("the component", &described.name)?;
    let count = described.evaluators.len();
    if count == 0 || count > EVALUATORS_MAX {
        return Err(format!("it has {count} evaluators, 1 to {EVALUATORS_MAX} are allowed"));
    }
    let mut names = BTreeSet::new();
    let mut evaluators = Vec::with_capacity(count);
    for described in described.evaluators {
        named("an evaluator", &described.name)?;
        if !names.insert(described.name.clone()) {
            return Err(format!("it has two evaluators of the name {:?}", described.name));
        }
        evaluators.push(evaluator(described)?);
    }
    Ok(Description { name: described.name, version: cut(&described.version, 64).into_owned(), evaluators })
}

fn evaluator(described: wit::EvaluatorDescription) -> Result<EvaluatorDescription, String> {
    let name = described.name;
    let config_schema = JsonText::try_from(described.config_schema)
        .map_err(|error| format!("the configuration schema of {name} is {error}"))?;
    if described.measures.is_empty() {
        return Err(format!("{name} measures nothing"));
    }
    let domain = |measured| domain(measured).map_err(|why| format!("what {name} measures: {why}"));
    let measures = described.measures.into_iter().map(domain).collect::<Result<_, String>>()?;
    let help = cut(described.help.lines().next().unwrap_or_default(), 400).into_owned();
    Ok(EvaluatorDescription { name, help, config_schema, measures })
}

fn domain(measured: wit::Domain) -> Result<Domain, String> {
    let bound = |bound: Option<f64>| {
        let decimal = |value: f64| Decimal::from_f64(value).ok_or_else(|| format!("{value} is not a bound"));
        bound.map(decimal).transpose()
    };
    match measured {
        wit::Domain::Binary => Ok(Domain::Binary),
        wit::Domain::Number(interval) => Ok(Domain::Number {
            lowest: bound(interval.lowest)?,
            highest: bound(interval.highest)?,
            unit: interval.unit,
        }),
        wit::Domain::Labels(labels) if labels.is_empty() => Err("no label is listed".into()),
        wit::Domain::Labels(labels) => Ok(Domain::Labels(labels)),
    }
}

/// A name as references and reports hold it.
fn named(what: &str, name: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(format!("{what} is named {:?}: a name is 1 to 64 lowercase letters, digits and dashes", cut(name, 80)))
}
