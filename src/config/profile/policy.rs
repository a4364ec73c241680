//! How a run is carried out: attempts, errors, chunks, lane, budget, persistence.
//! Defaults are those of DESIGN section 6.

use super::fields::{Field, Reading};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::profile::{AttemptPolicy, Budget, ErrorsAs, Persist, PersistAnswers};
use tribunal_schema::units::DurationMs;

/// The classes that are tried again unless a profile says otherwise: those that
/// pass by themselves, and say nothing about the case.
pub const RETRY_ON_DEFAULT: [FailureClass; 6] = [
    FailureClass::Dns,
    FailureClass::Connect,
    FailureClass::Timeout,
    FailureClass::Reset,
    FailureClass::RateLimited,
    FailureClass::ServerError,
];

/// Classes that another try cannot change, or that are the end of all tries.
const NEVER_RETRIED: [FailureClass; 3] = [FailureClass::Configuration, FailureClass::Lost, FailureClass::Expired];

const BACKOFF_MAX: DurationMs = DurationMs::from_secs(3_600);

/// `attempts`.
pub fn attempts(reading: &mut Reading<'_>, field: Option<Field<'_>>) -> AttemptPolicy {
    let mut policy = AttemptPolicy {
        max: 3,
        backoff: DurationMs::from_secs(5),
        backoff_max: DurationMs::from_secs(600),
        retry_on: RETRY_ON_DEFAULT.to_vec(),
    };
    let keys = ["max", "backoff", "backoff_max", "retry_on"];
    let Some(fields) = field.and_then(|field| reading.map(field.node, "attempts", &keys)) else { return policy };
    if let Some(max) = fields.get("max").and_then(|field| reading.integer(field, 1..=20)) {
        policy.max = max as u32;
    }
    let range = DurationMs(0)..=BACKOFF_MAX;
    let backoff = fields.get("backoff").and_then(|field| reading.duration(field, range.clone()));
    let backoff_max = fields.get("backoff_max").and_then(|field| reading.duration(field, range.clone()));
    policy.backoff = backoff.unwrap_or(policy.backoff);
    policy.backoff_max = backoff_max.unwrap_or(policy.backoff_max.max(policy.backoff));
    if policy.backoff > policy.backoff_max {
        let message = format!("`backoff` is {}, longer than `backoff_max`, {}", policy.backoff, policy.backoff_max);
        let at = fields.get("backoff").map_or(fields.at, |field| field.node.at);
        reading.refuse(at, message, "make backoff_max the longer one");
    }
    if let Some(field) = fields.get("retry_on") {
        policy.retry_on = retry_on(reading, field);
    }
    policy
}

fn retry_on(reading: &mut Reading<'_>, field: Field<'_>) -> Vec<FailureClass> {
    let may_retry = FailureClass::ALL.into_iter().filter(|class| !NEVER_RETRIED.contains(class));
    let words: Vec<(&str, FailureClass)> = may_retry.map(|class| (class.name(), class)).collect();
    let Some(items) = reading.list(field) else { return vec![] };
    let mut classes: Vec<FailureClass> =
        items.iter().filter_map(|node| reading.choice(Field { key: "retry_on", node }, &words)).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// `errors_as`.
pub fn errors_as(reading: &mut Reading<'_>, field: Option<Field<'_>>) -> ErrorsAs {
    let words = [("inconclusive", ErrorsAs::Inconclusive), ("fail", ErrorsAs::Fail), ("exclude", ErrorsAs::Exclude)];
    field.and_then(|field| reading.choice(field, &words)).unwrap_or(ErrorsAs::Inconclusive)
}

/// `chunk.size`.
pub fn chunk_size(reading: &mut Reading<'_>, field: Option<Field<'_>>) -> u32 {
    let fields = field.and_then(|field| reading.map(field.node, "chunk", &["size"]));
    let size = fields.and_then(|fields| fields.get("size"));
    size.and_then(|field| reading.integer(field, 1..=10_000)).unwrap_or(100) as u32
}

/// `lane`: a name that is safe as a queue's.
pub fn lane(reading: &mut Reading<'_>, field: Option<Field<'_>>) -> String {
    const DEFAULT: &str = "default";
    let Some(field) = field else { return DEFAULT.into() };
    let Some(lane) = reading.name(field) else { return DEFAULT.into() };
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if lane.len() > 64 || !lane.chars().all(allowed) {
        let message = format!("`lane`: found {lane:?}, expected at most 64 lowercase letters, digits, `-`, `_` or `.`");
        reading.refuse(field.node.at, message, "for example lane: nightly");
    }
    lane
}

/// `budget`.
pub fn budget(reading: &mut Reading<'_>, field: Option<Field<'_>>) -> Budget {
    const MOST: u64 = 1_000_000_000_000_000;
    let Some(fields) = field.and_then(|field| reading.map(field.node, "budget", &["max_calls", "max_tokens"])) else {
        return Budget::default();
    };
    let mut limit = |key| fields.get(key).and_then(|field| reading.integer(field, 1..=MOST));
    Budget { max_calls: limit("max_calls"), max_tokens: limit("max_tokens") }
}

/// `persist`.
pub fn persist(reading: &mut Reading<'_>, field: Option<Field<'_>>) -> Persist {
    let words = [("all", PersistAnswers::All), ("failures", PersistAnswers::Failures), ("none", PersistAnswers::None)];
    let fields = field.and_then(|field| reading.map(field.node, "persist", &["answers", "evidence"]));
    let answers = fields.and_then(|fields| fields.get("answers")).and_then(|field| reading.choice(field, &words));
    let evidence = fields.and_then(|fields| fields.get("evidence")).and_then(|field| reading.boolean(field));
    Persist { answers: answers.unwrap_or(PersistAnswers::All), evidence: evidence.unwrap_or(true) }
}
