//! The catalog: the components of this process by digest, and the adapter of
//! the port `Evaluators`.
//!
//! A component that is broken stays in the catalog with its error: a profile
//! check can refuse it, and a run that uses it has errored outcomes that say
//! why, while the other bindings go on.

use super::cache::Cache;
use super::compile;
use super::component::Loaded;
use super::config::ConfigProblem;
use super::examine::{self, Components, Subject};
use super::limits::{CompileLimits, Limits};
use super::reference::{Origin, Reference, ReferenceError};
use super::sandbox::Sandbox;
use super::standard;
use async_trait::async_trait;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::task::spawn_blocking;
use tribunal_actors::ports::evaluator::{Evaluators, Examination, Examined};
use tribunal_schema::Digest;
use tribunal_schema::answer::{Answer, RawBody};
use tribunal_schema::case::Case;
use tribunal_schema::evaluation::{EvaluationError, EvaluationErrorClass, EvaluatorDescription};
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::{EvaluatorPin, Profile};
use wasmtime::component::Component;

/// How a catalog works.
#[derive(Clone, Debug)]
pub struct Options {
    /// What a call may use.
    pub limits: Limits,
    /// What compiling may use.
    pub compile_limits: CompileLimits,
    /// Live stores in the process, at most; at least 1.
    pub live_stores_max: usize,
    /// Where compiled components are kept; `None` keeps none.
    pub cache: Option<PathBuf>,
    /// The binary that compiles unknown components; `None` is this one.
    pub compiler: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            limits: Limits::default(),
            compile_limits: CompileLimits::default(),
            live_stores_max: std::thread::available_parallelism().map_or(1, usize::from),
            cache: Cache::default_folder(),
            compiler: None,
        }
    }
}

/// Where the bytes of components that a run uses are kept.
#[async_trait]
pub trait ComponentSource: Send + Sync {
    /// The bytes with this digest; `None` where they are not kept.
    ///
    /// # Errors
    /// When the store cannot be read now.
    async fn component(&self, digest: Digest) -> std::io::Result<Option<Vec<u8>>>;
}

/// What a reference leads to.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// What the run records.
    pub pin: EvaluatorPin,
    /// The evaluator, or why its component can't be used.
    pub evaluator: Result<EvaluatorDescription, EvaluationError>,
}

/// Why a catalog does not open, or lacks what a run needs.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// This machine cannot run Wasm.
    #[error("no Wasm engine on this machine: {0:#}")]
    Engine(wasmtime::Error),
    /// The embedded component does not work: the build is broken.
    #[error("the standard evaluators do not load: {0}")]
    Standard(EvaluationError),
    /// The bytes of a pinned component are not kept.
    #[error("the bytes of component {digest} ({reference}) are not in the store")]
    Missing {
        /// The digest.
        digest: Digest,
        /// A reference to it.
        reference: String,
    },
    /// The bytes kept under a digest have another one.
    #[error("the bytes kept as component {wanted} have the digest {found}")]
    Altered {
        /// What was asked for.
        wanted: Digest,
        /// What was found.
        found: Digest,
    },
    /// The store cannot be read now.
    #[error("the bytes of component {digest} cannot be read")]
    Source {
        /// The digest.
        digest: Digest,
        /// Why.
        source: std::io::Error,
    },
}

/// A component that was seen here.
#[derive(Clone)]
struct Entry {
    bytes: Arc<[u8]>,
    loaded: Result<Arc<Loaded>, EvaluationError>,
}

/// The components of this process.
pub struct Catalog {
    sandbox: Arc<Sandbox>,
    cache: Cache,
    options: Options,
    entries: RwLock<HashMap<Digest, Entry>>,
    /// Held while a component is loaded, so that none is compiled twice at once.
    loading: tokio::sync::Mutex<()>,
}

impl Catalog {
    /// A catalog with the standard component.
    ///
    /// # Errors
    /// [`CatalogError::Engine`] and [`CatalogError::Standard`].
    pub async fn open(options: Options) -> Result<Arc<Catalog>, CatalogError> {
        let sandbox = Sandbox::open(options.limits.clone(), options.live_stores_max).map_err(CatalogError::Engine)?;
        let catalog = Catalog {
            sandbox: Arc::new(sandbox),
            cache: Cache::new(options.cache.clone()),
            options,
            entries: RwLock::default(),
            loading: tokio::sync::Mutex::default(),
        };
        catalog.add(standard::BYTES).await.loaded.map_err(CatalogError::Standard)?;
        Ok(Arc::new(catalog))
    }

    /// Resolves a reference of a profile; a file is relative to `base`, and is
    /// read, compiled and described at once.
    ///
    /// # Errors
    /// When it leads to no evaluator. A component that can't be used is none of
    /// these: it is in the [`Resolution`].
    pub async fn resolve(&self, reference: &str, base: &Path) -> Result<Resolution, ReferenceError> {
        let parsed = Reference::parse(reference, base)?;
        let digest = self.locate(&parsed).await?;
        let known = self.entry(&digest).ok_or(ReferenceError::UnknownDigest { digest })?;
        let pin = |name: String| EvaluatorPin { reference: reference.into(), name, component: digest };
        match known.loaded {
            Ok(loaded) => {
                let names = loaded.description.evaluators.iter().map(|evaluator| evaluator.name.clone()).collect();
                let name = parsed.choose(reference, names)?;
                let evaluator = loaded.evaluator(&name).cloned().expect("the name was chosen among those there are");
                Ok(Resolution { pin: pin(name), evaluator: Ok(evaluator) })
            }
            Err(error) => {
                let name = parsed.name.unwrap_or_else(|| "unknown".into());
                Ok(Resolution { pin: pin(name), evaluator: Err(error) })
            }
        }
    }

    async fn locate(&self, reference: &Reference) -> Result<Digest, ReferenceError> {
        match &reference.origin {
            Origin::Standard => Ok(*standard::DIGEST),
            Origin::Digest(digest) => Ok(*digest),
            Origin::File(path) => {
                let unreadable = |source| ReferenceError::File { path: path.clone(), source };
                let bytes_max = self.options.compile_limits.component_bytes;
                let bytes = tokio::fs::metadata(path).await.map_err(unreadable)?.len();
                if bytes > bytes_max {
                    return Err(ReferenceError::TooLarge { path: path.clone(), bytes, bytes_max });
                }
                let bytes = tokio::fs::read(path).await.map_err(unreadable)?;
                let digest = Digest::of(&bytes);
                self.add(&bytes).await;
                Ok(digest)
            }
        }
    }

    /// The bytes of a component, to be kept with the run that uses it.
    pub fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.entry(digest).map(|entry| entry.bytes)
    }

    /// Loads every component that a profile pins and this process does not have,
    /// from where the run keeps them.
    ///
    /// # Errors
    /// When bytes are missing, altered or unreadable. A component that is there
    /// but can't be used is no error here: its bindings will be errored.
    pub async fn ensure(&self, profile: &Profile, source: &dyn ComponentSource) -> Result<(), CatalogError> {
        let bindings = profile.groups.iter().flat_map(|group| &group.bindings);
        let mut seen = BTreeSet::new();
        for pin in bindings.map(|binding| &binding.evaluator) {
            let digest = pin.component;
            if !seen.insert(digest) || self.entry(&digest).is_some() {
                continue;
            }
            let kept = source.component(digest).await.map_err(|source| CatalogError::Source { digest, source })?;
            let missing = || CatalogError::Missing { digest, reference: pin.reference.clone() };
            let bytes = kept.ok_or_else(missing)?;
            let found = Digest::of(&bytes);
            if found != digest {
                return Err(CatalogError::Altered { wanted: digest, found });
            }
            self.add(&bytes).await;
        }
        Ok(())
    }

    /// What a pinned evaluator says of itself.
    ///
    /// # Errors
    /// Why its component can't be used, or that it was never loaded here.
    pub fn describe(&self, pin: &EvaluatorPin) -> Result<EvaluatorDescription, EvaluationError> {
        let loaded = self.loaded(pin)?;
        loaded.evaluator(&pin.name).cloned().ok_or_else(|| EvaluationError {
            class: EvaluationErrorClass::Component,
            message: format!("component {} has no evaluator {:?}", pin.component.short(), pin.name),
        })
    }

    /// All that is wrong with a configuration, by schema and by trial; empty when it
    /// is right, and where the component can't be used, which is another error.
    pub async fn check_config(&self, pin: &EvaluatorPin, config: &JsonText) -> Vec<ConfigProblem> {
        let Ok(loaded) = self.loaded(pin) else { return Vec::new() };
        let Some(schema) = loaded.schema(&pin.name) else { return Vec::new() };
        let problems = schema.check(config);
        if !problems.is_empty() {
            return problems;
        }
        let (sandbox, permit) = (Arc::clone(&self.sandbox), self.sandbox.permit().await);
        let (pin, config) = (pin.clone(), config.clone());
        let trial = spawn_blocking(move || {
            let (case, answer) = blank();
            let subject = Subject::of(&case, &answer, 0);
            examine::one(&sandbox, &permit, &loaded, &pin, &subject, &config, &[]).result
        });
        match trial.await {
            Ok(Err(EvaluationError { class: EvaluationErrorClass::Configuration, message })) => {
                vec![ConfigProblem { pointer: String::new(), message }]
            }
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// The most stores that ever lived at once in this catalog.
    pub fn live_stores_high_water(&self) -> usize {
        self.sandbox.live_stores_high_water()
    }

    pub(super) fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    pub(super) fn loaded(&self, pin: &EvaluatorPin) -> Result<Arc<Loaded>, EvaluationError> {
        let entry = self.entry(&pin.component).ok_or_else(|| EvaluationError {
            class: EvaluationErrorClass::Component,
            message: format!("component {} ({}) is not loaded here", pin.component.short(), pin.reference),
        })?;
        entry.loaded
    }

    /// Any loaded component by its digest.
    pub(super) fn component(&self, digest: &Digest) -> Option<Result<Arc<Loaded>, EvaluationError>> {
        self.entry(digest).map(|entry| entry.loaded)
    }

    fn entry(&self, digest: &Digest) -> Option<Entry> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    /// Loads a component once, and keeps it, or why it can't be used.
    async fn add(&self, bytes: &[u8]) -> Entry {
        let digest = Digest::of(bytes);
        let _loading = self.loading.lock().await;
        if let Some(known) = self.entry(&digest) {
            return known;
        }
        let bytes: Arc<[u8]> = bytes.into();
        let loaded = self.load(digest, &bytes).await.map(Arc::new);
        let entry = Entry { bytes, loaded };
        self.entries.write().unwrap_or_else(PoisonError::into_inner).insert(digest, entry.clone());
        entry
    }

    async fn load(&self, digest: Digest, bytes: &Arc<[u8]>) -> Result<Loaded, EvaluationError> {
        let (sandbox, cache) = (Arc::clone(&self.sandbox), self.cache.clone());
        let cached = in_background(move || {
            let compiled = cache.load(&digest, sandbox.engine())?;
            compile::from_machine_code(sandbox.engine(), &compiled).ok()
        });
        let component = match cached.await? {
            Some(component) => component,
            None => self.compile(digest, bytes).await?,
        };
        let (sandbox, permit) = (Arc::clone(&self.sandbox), self.sandbox.permit().await);
        in_background(move || Loaded::new(&sandbox, &permit, digest, &component)).await?
    }

    async fn compile(&self, digest: Digest, bytes: &Arc<[u8]>) -> Result<Component, EvaluationError> {
        let unusable = |message: String| EvaluationError { class: EvaluationErrorClass::Component, message };
        let compiled = if digest == *standard::DIGEST {
            let sandbox = Arc::clone(&self.sandbox);
            in_background(move || compile::precompile(sandbox.engine(), standard::BYTES)).await?.map_err(unusable)?
        } else {
            let program = match &self.options.compiler {
                Some(program) => program.clone(),
                None => compile::this_program().map_err(|error| unusable(format!("cannot be compiled: {error}")))?,
            };
            compile::in_child(&program, bytes, &self.options.compile_limits).await?
        };
        let (sandbox, cache) = (Arc::clone(&self.sandbox), self.cache.clone());
        in_background(move || {
            let component = compile::from_machine_code(sandbox.engine(), &compiled)
                .map_err(|error| unusable(format!("cannot be loaded: {error:#}")))?;
            cache.store(&digest, sandbox.engine(), &compiled);
            Ok(component)
        })
        .await?
    }
}

/// Work for a blocking thread; a panic there is a bug of the host, told as the component's error.
async fn in_background<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R, EvaluationError> {
    spawn_blocking(work).await.map_err(|error| host_failed(&error))
}

fn host_failed(error: &tokio::task::JoinError) -> EvaluationError {
    tracing::error!(%error, "the host of evaluators failed");
    EvaluationError { class: EvaluationErrorClass::Component, message: "the host of evaluators failed".into() }
}

/// A case and an answer that say nothing, for trials of a configuration.
fn blank() -> (Case, Answer) {
    let case = Case {
        id: "trial".into(),
        input: "".into(),
        expected: None,
        context: None,
        task_type: None,
        group: None,
        tags: Vec::new(),
        metadata: serde_json::Map::new(),
    };
    let answer = Answer {
        text: Some(String::new()),
        structured: None,
        tool_calls: Vec::new(),
        refusal: None,
        finish_reason: None,
        usage: None,
        raw: RawBody::Text(String::new()),
    };
    (case, answer)
}

#[async_trait]
impl Evaluators for Catalog {
    /// Dropping the future does not stop an examination that has begun: it keeps
    /// its permit and ends by its own limits.
    async fn examine(&self, examination: Examination) -> Vec<Examined> {
        let pins = examine::bindings(&examination).iter().map(|binding| &binding.evaluator);
        let components: Components = pins.map(|pin| self.loaded(pin)).collect();
        let count = components.len();
        let (sandbox, permit) = (Arc::clone(&self.sandbox), self.sandbox.permit().await);
        let examined = spawn_blocking(move || examine::all(&sandbox, &permit, &examination, &components)).await;
        examined.unwrap_or_else(|error| {
            let error = host_failed(&error);
            (0..count).map(|_| Examined { result: Err(error.clone()), fuel: 0 }).collect()
        })
    }
}
