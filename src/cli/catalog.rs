//! The joint between profiles and evaluators: reading a profile asks for
//! evaluators word by word, loading them is asynchronous.

use crate::config::EvaluatorCatalog;
use crate::evaluator::{Catalog, Options, ReferenceError};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Handle;
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::EvaluatorPin;

/// Opens the catalog of this process.
///
/// # Errors
/// When Wasm cannot be run here.
pub async fn open() -> anyhow::Result<Arc<Catalog>> {
    Ok(Catalog::open(Options::default()).await?)
}

/// The catalog as profiles in one folder see it. Its methods block: call them from a
/// thread that may.
pub struct ProfileCatalog {
    catalog: Arc<Catalog>,
    base: PathBuf,
    runtime: Handle,
}

impl ProfileCatalog {
    /// For a profile file: relative references start at its folder.
    pub fn of(catalog: Arc<Catalog>, profile: &Path) -> ProfileCatalog {
        let base = profile.parent().unwrap_or(Path::new("")).to_path_buf();
        ProfileCatalog { catalog, base, runtime: Handle::current() }
    }
}

impl EvaluatorCatalog for ProfileCatalog {
    fn resolve(&self, reference: &str) -> Result<EvaluatorPin, String> {
        let resolved = self.runtime.block_on(self.catalog.resolve(reference, &self.base));
        let resolution = resolved.map_err(|error| {
            if reference.starts_with("std/") && matches!(error, ReferenceError::UnknownName { .. }) {
                // Which ones there are is the hint, made of `references`.
                return "std has no evaluator of that name".to_owned();
            }
            let words = format!("{:#}", anyhow::Error::new(error));
            // The profile's own words name the reference already.
            words.strip_prefix(&format!("{reference}: ")).map(str::to_owned).unwrap_or(words)
        })?;
        match resolution.evaluator {
            Ok(_) => Ok(resolution.pin),
            // A component that cannot be used is the run's to report: its bindings are errored.
            Err(error) => {
                tracing::warn!(reference, %error, "evaluator cannot be used; its outcomes will be errored");
                Ok(resolution.pin)
            }
        }
    }

    fn check(&self, pin: &EvaluatorPin, config: &Value) -> Vec<String> {
        let problems = self.runtime.block_on(self.catalog.check_config(pin, &JsonText::of(config)));
        problems
            .into_iter()
            .map(|problem| match problem.pointer.as_str() {
                "" => problem.message,
                pointer => format!("{pointer}: {}", problem.message),
            })
            .collect()
    }

    fn references(&self) -> Vec<String> {
        let description = crate::evaluator::inspect::list(&self.catalog);
        description.evaluators.iter().map(|evaluator| format!("std/{}", evaluator.name)).collect()
    }
}
