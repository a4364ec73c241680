//! Evaluators through their real components: the standard ones, wild ones, and
//! the machinery that compiles, caches and bounds them.

mod bounds;
pub(crate) mod guest;
mod loading;
mod standard;
mod wild;

use std::path::PathBuf;
use std::sync::Arc;
use tribunal::evaluator::{Catalog, Options};
use tribunal_actors::ports::evaluator::{Evaluators, Examination, Examined};
use tribunal_schema::Digest;
use tribunal_schema::answer::Answer;
use tribunal_schema::case::Case;
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::{
    AttemptPolicy, Binding, Budget, ErrorsAs, EvaluatorPin, Group, Match, Measure, Persist, PersistAnswers, Profile,
    SideEffects, TargetConfig, TargetKind,
};
use tribunal_schema::units::{DurationMs, ScorePpm};

/// Options with a cache that all tests share, so that the standard component is compiled once.
pub(crate) fn options() -> Options {
    Options {
        cache: Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("evaluator-cache")),
        compiler: Some(env!("CARGO_BIN_EXE_tribunal").into()),
        ..Options::default()
    }
}

async fn catalog() -> Arc<Catalog> {
    Catalog::open(options()).await.expect("a catalog")
}

/// A folder with components in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    fn add(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.path().join(name), bytes).expect("a file");
    }

    /// Resolves a reference relative to this folder.
    async fn pin(&self, catalog: &Catalog, reference: &str) -> EvaluatorPin {
        catalog.resolve(reference, self.0.path()).await.expect(reference).pin
    }
}

fn pin_of(digest: Digest, name: &str) -> EvaluatorPin {
    EvaluatorPin { reference: format!("sha256:{digest}#{name}"), name: name.into(), component: digest }
}

fn binding(pin: EvaluatorPin, config: &str) -> Binding {
    Binding {
        id: pin.name.clone(),
        evaluator: pin,
        config: JsonText::try_from(config.to_owned()).expect("JSON"),
        measure: Measure::Direct,
        negate: false,
        dimension: "all".into(),
        weight_ppm: 1_000_000,
        pass_at: ScorePpm::ONE,
        required: true,
        blocking: false,
    }
}

fn profile(bindings: Vec<Binding>) -> Profile {
    let target = TargetConfig {
        kind: TargetKind::Chat {
            model: "mock".into(),
            parameters: JsonText::default(),
            system: None,
            tools: JsonText::default(),
            stream: false,
        },
        url: "http://127.0.0.1:1".into(),
        headers: Default::default(),
        timeout: DurationMs(1),
        max_in_flight: 1,
        rate: None,
        max_response_bytes: 1,
        side_effects: SideEffects::None,
    };
    let group = Group { name: "all".into(), takes: Match::default(), bindings, dimensions: Vec::new() };
    Profile {
        name: "test".into(),
        version: "0".into(),
        description: None,
        target,
        judge: None,
        attempts: AttemptPolicy { max: 1, backoff: DurationMs(1), backoff_max: DurationMs(1), retry_on: Vec::new() },
        repeats: 1,
        errors_as: ErrorsAs::Inconclusive,
        chunk_size: 100,
        lane: "default".into(),
        budget: Budget::default(),
        persist: Persist { answers: PersistAnswers::All, evidence: true },
        groups: vec![group],
        gate: Vec::new(),
    }
}

fn examination(bindings: Vec<Binding>, case: Case, answer: Answer) -> Examination {
    Examination {
        profile: Arc::new(profile(bindings)),
        group: 0,
        case: Arc::new(case),
        answer: Arc::new(answer),
        latency_ms: 431,
        replies: Vec::new(),
    }
}

async fn examine(catalog: &Catalog, bindings: Vec<Binding>, case: Case, answer: Answer) -> Vec<Examined> {
    catalog.examine(examination(bindings, case, answer)).await
}
