//! What this process knows of a run it works for: the plan, the target, the
//! breaker and the budget.
//!
//! The breaker exists so that a hundred thousand cases do not burn a hundred
//! thousand calls on a target that only fails. It is not a retry policy: a failed
//! attempt waits and is tried again as the profile says; only an unbroken row of
//! failures holds calls back, and halts the run in the end. What refuses everybody
//! (nobody listens, 401) halts it soon; a failure that may be about one call or one
//! moment (429, 5xx, 400) does not, as long as the others of the first burst may
//! still be thought over.

use super::breaker::{Breaker, Meaning, Pass, Sign};
use crate::aggregate::CommandError;
use crate::decider::Rejection;
use crate::ports::evaluator::Evaluators;
use crate::ports::journal::{EventFilter, JournalReader};
use crate::ports::target::{Target, TargetFailure};
use crate::run::RunCommand;
use crate::shell::Shell;
use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::codec::decode;
use tribunal_schema::events::{AttemptEvent, HaltCause, RunPlanned};
use tribunal_schema::ids::RunId;
use tribunal_schema::profile::{Budget, Profile};

/// Events a page when a budget is counted after a restart.
const PAGE: u32 = 5000;

/// Makes the target of a run from its profile.
pub trait TargetSetup: Send + Sync {
    /// The target, or why it cannot be made here.
    fn target(&self, profile: &Profile) -> Result<Arc<dyn Target>, String>;
}

/// What a worker needs of the world beside journal and broker.
#[derive(Clone)]
pub struct RunAdapters {
    /// Makes targets.
    pub targets: Arc<dyn TargetSetup>,
    /// Examines answers.
    pub evaluators: Arc<dyn Evaluators>,
}

/// A run, as this process works for it.
pub(super) struct Docket {
    pub(super) run: RunId,
    pub(super) profile: Arc<Profile>,
    pub(super) target: Arc<dyn Target>,
    pub(super) evaluators: Arc<dyn Evaluators>,
    breaker: Breaker,
    calls: AtomicU64,
    tokens: AtomicU64,
    halting: AtomicBool,
    halted: CancellationToken,
}

impl Docket {
    /// Reserves one call of the budget; `false` when it is used up.
    pub(super) fn reserve_call(&self) -> Result<(), (HaltCause, String)> {
        let Budget { max_calls, max_tokens } = self.profile.budget;
        if let Some(max) = max_tokens
            && self.tokens.load(Ordering::Relaxed) >= max
        {
            return Err((HaltCause::TokensSpent, format!("the budget of {max} tokens is used up")));
        }
        let reserved = self.calls.fetch_add(1, Ordering::Relaxed);
        match max_calls {
            Some(max) if reserved >= max => {
                self.calls.fetch_sub(1, Ordering::Relaxed);
                Err((HaltCause::CallsSpent, format!("the budget of {max} calls is used up")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Notes an answer.
    pub(super) fn answered(&self, tokens: u64) {
        self.breaker.answered();
        self.tokens.fetch_add(tokens, Ordering::Relaxed);
    }

    /// Waits until the breaker lets a call through.
    pub(super) async fn pass(&self) -> Pass<'_> {
        self.breaker.pass().await
    }

    /// Notes a failure; gives the reason to halt when the target is given up.
    pub(super) fn failed(&self, pass: Pass<'_>, failure: &TargetFailure) -> Option<String> {
        match self.breaker.failed(pass, sign_of(failure)) {
            Meaning::One => None,
            Meaning::Away => {
                tracing::warn!(run = %self.run, class = %failure.class, "the target only fails; calls wait for a probe");
                None
            }
            Meaning::Dead { row, answered } => {
                let words = if answered { "times in a row" } else { "times and has never answered" };
                let last = format!("{}: {}", failure.class, failure.message);
                Some(format!("the target failed {row} {words}; the last time {last}"))
            }
        }
    }

    /// Halts the run, once.
    pub(super) async fn halt(&self, shell: &Shell, cause: HaltCause, reason: String) {
        if self.halting.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(run = %self.run, reason, "run halted");
        match shell.ask_run(self.run, RunCommand::Halt { cause, reason }).await {
            Ok(_) => self.halted.cancel(),
            Err(error) => {
                tracing::error!(run = %self.run, %error, "run could not be halted");
                self.halting.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Waits for ever, or until this process has asked to halt the run.
    pub(super) async fn halted(&self) {
        self.halted.cancelled().await;
    }

    /// Whether this process has asked to halt the run.
    pub(super) fn is_halting(&self) -> bool {
        self.halting.load(Ordering::Relaxed)
    }
}

/// What a failure says of the next calls: whether it would meet them all, or only
/// shows that the target is there.
fn sign_of(failure: &TargetFailure) -> Sign {
    if matches!(failure.status, Some(401 | 403)) {
        return Sign::Everybody;
    }
    match failure.class {
        FailureClass::RateLimited => Sign::Alive,
        FailureClass::Configuration | FailureClass::Dns | FailureClass::Connect | FailureClass::Tls => Sign::Everybody,
        FailureClass::Timeout
        | FailureClass::Reset
        | FailureClass::ServerError
        | FailureClass::ClientError
        | FailureClass::Redirect
        | FailureClass::Status
        | FailureClass::ContentType
        | FailureClass::TooLarge
        | FailureClass::Truncated
        | FailureClass::Parse
        | FailureClass::Shape
        | FailureClass::ErrorInBody
        | FailureClass::Empty
        | FailureClass::Lost
        | FailureClass::Expired => Sign::One,
    }
}

/// The runs this process works for.
#[derive(Default)]
pub(super) struct Dockets {
    known: Mutex<HashMap<RunId, Arc<Docket>>>,
}

/// Runs that are remembered; an older one is made again when it is needed.
const DOCKETS_MAX: usize = 256;

#[async_trait]
trait Past {
    async fn spent(&self, run: RunId) -> Result<(u64, u64), CommandError>;
    async fn ever_answered(&self, run: RunId) -> Result<bool, CommandError>;
}

#[async_trait]
impl Past for dyn JournalReader + '_ {
    /// Whether an earlier process had an answer: the tail of a run may hold nothing but failures.
    async fn ever_answered(&self, run: RunId) -> Result<bool, CommandError> {
        let event_type = Some("attempt.answered".into());
        let filter = EventFilter { run: Some(run), event_type, ..EventFilter::default() };
        Ok(!self.read_feed(&filter, None, false, 1).await?.is_empty())
    }

    /// Calls and tokens that earlier processes spent.
    async fn spent(&self, run: RunId) -> Result<(u64, u64), CommandError> {
        let (mut calls, mut tokens, mut after) = (0, 0, None);
        let filter = EventFilter { run: Some(run), category: Some("attempt".into()), ..EventFilter::default() };
        loop {
            let page = self.read_feed(&filter, after, false, PAGE).await?;
            let Some(last) = page.last() else { return Ok((calls, tokens)) };
            after = Some(last.position);
            for recorded in &page {
                match decode::<AttemptEvent>(recorded) {
                    Ok(AttemptEvent::Started(_)) => calls += 1,
                    Ok(AttemptEvent::Answered(answered)) => tokens += answered.usage.map_or(0, tokens_of),
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%run, %error, "event could not be read for the budget"),
                }
            }
        }
    }
}

/// Tokens in and out, as far as the target says.
pub(super) fn tokens_of(usage: tribunal_schema::answer::Usage) -> u64 {
    usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0)
}

impl Dockets {
    /// What is known of a run; makes it at the first time.
    pub(super) async fn open(
        &self,
        shell: &Shell,
        adapters: &RunAdapters,
        run: RunId,
    ) -> Result<Arc<Docket>, CommandError> {
        if let Some(known) = self.known(run) {
            return Ok(known);
        }
        let live = shell.directory.run(run).look().await?;
        let planned: Arc<RunPlanned> = live.state.planned.clone().ok_or(Rejection::Unknown("the run"))?;
        let profile = Arc::new(planned.plan.profile.clone());
        let target = adapters.targets.target(&profile).map_err(CommandError::Bug)?;
        let limited = profile.budget != Budget::default();
        let reader: &dyn JournalReader = &**shell.journal();
        let (calls, tokens) = if limited { reader.spent(run).await? } else { (0, 0) };
        let breaker = Breaker::new(profile.target.max_in_flight, reader.ever_answered(run).await?);
        let docket = Docket {
            run,
            profile,
            target,
            evaluators: adapters.evaluators.clone(),
            breaker,
            calls: AtomicU64::new(calls),
            tokens: AtomicU64::new(tokens),
            halting: AtomicBool::new(false),
            halted: CancellationToken::new(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= DOCKETS_MAX {
            known.clear();
        }
        // Two chunks of one run may have come here at once; the first docket counts.
        Ok(known.entry(run).or_insert_with(|| Arc::new(docket)).clone())
    }

    fn known(&self, run: RunId) -> Option<Arc<Docket>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&run).cloned()
    }
}
