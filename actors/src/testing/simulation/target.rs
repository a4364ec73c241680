//! The agent under test and its evaluators: what they say depends on case, repeat
//! and attempt only. Every call that reaches the agent is noted: the ground truth.

use super::nemesis::{Dice, Point};
use super::plug::Plug;
use crate::ports::evaluator::{Evaluators, Examination, Examined};
use crate::ports::target::{Answered, Ask, Permit, Target, TargetFailure};
use crate::worker::TargetSetup;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tribunal_schema::answer::{Answer, FailureClass, RawBody};
use tribunal_schema::evaluation::{Measurement, Report, Said};
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId};
use tribunal_schema::profile::Profile;

/// One call that reached the agent.
#[derive(Clone, Debug)]
pub struct Call {
    /// The run.
    pub run: RunId,
    /// The execution.
    pub execution: ExecutionKey,
    /// The attempt.
    pub attempt: AttemptId,
}

/// What becomes of an execution's calls.
enum Fate {
    Answers { right: bool },
    FailsFirst { times: u32, class: FailureClass },
    AlwaysFails(FailureClass),
}

fn dice_of(seed: u64, run: RunId, execution: ExecutionKey) -> Dice {
    let place = u64::from(execution.case) << 8 | u64::from(execution.repeat);
    let run = run.0.random() as u64;
    Dice::of(seed ^ run, 1_000 + place)
}

fn fate(dice: &mut Dice, attempts_max: u32) -> Fate {
    let class = match dice.below(3) {
        0 => FailureClass::ServerError,
        1 => FailureClass::Timeout,
        _ => FailureClass::Connect,
    };
    match dice.below(20) {
        0 => Fate::AlwaysFails(FailureClass::ClientError),
        1 => Fate::AlwaysFails(class),
        2..=5 => Fate::FailsFirst { times: dice.between(1, u64::from(attempts_max) - 1) as u32, class },
        _ => Fate::Answers { right: dice.below(5) > 0 },
    }
}

/// Makes the targets of one process.
pub(super) struct Targets(pub(super) Arc<Plug>);

impl TargetSetup for Targets {
    fn target(&self, profile: &Profile) -> Result<Arc<dyn Target>, String> {
        let in_flight = Arc::new(Semaphore::new(profile.target.max_in_flight as usize));
        let attempts_max = profile.attempts.max;
        Ok(Arc::new(Agent { plug: self.0.clone(), in_flight, attempts_max }))
    }
}

struct Agent {
    plug: Arc<Plug>,
    in_flight: Arc<Semaphore>,
    attempts_max: u32,
}

#[async_trait]
impl Target for Agent {
    async fn permit(&self) -> Permit {
        let permit = Arc::clone(&self.in_flight).acquire_owned().await.expect("it is never closed");
        Permit::new(permit)
    }

    async fn ask(&self, ask: &Ask) -> Result<Answered, TargetFailure> {
        let plug = &self.plug;
        plug.pass(Point::Call).await;
        plug.note_call(ask);
        let mut dice = dice_of(plug.seed(), ask.run, ask.execution);
        let fate = fate(&mut dice, self.attempts_max);
        let latency_ms = dice.between(5, 900);
        plug.sleep(Duration::from_millis(latency_ms)).await;
        plug.pass(Point::Reply).await;
        let failed = |class: FailureClass| TargetFailure {
            class,
            message: "as it was told".into(),
            status: None,
            retry_after_ms: None,
            response_received: class.implies_response(),
            body: None,
            latency_ms,
        };
        let answered = |text: &str| Answered { answer: answer(text), latency_ms };
        match fate {
            Fate::Answers { right } => Ok(answered(if right { "yes" } else { "no" })),
            Fate::FailsFirst { times, .. } if ask.number > times => Ok(answered("yes")),
            Fate::FailsFirst { class, .. } | Fate::AlwaysFails(class) => Err(failed(class)),
        }
    }
}

fn answer(text: &str) -> Answer {
    Answer {
        text: Some(text.into()),
        structured: None,
        tool_calls: vec![],
        refusal: None,
        finish_reason: None,
        usage: None,
        raw: RawBody::Text(text.into()),
    }
}

/// The evaluators of one process: yes is right.
pub(super) struct Judges(pub(super) Arc<Plug>);

#[async_trait]
impl Evaluators for Judges {
    async fn examine(&self, examination: Examination) -> Vec<Examined> {
        self.0.pass(Point::Examine).await;
        let is_right = examination.answer.text.as_deref() == Some("yes");
        let bindings = &examination.profile.groups[usize::from(examination.group)].bindings;
        let said = || Report { said: Said::Measured(Measurement::Binary(is_right)), findings: vec![] };
        bindings.iter().map(|_| Examined { result: Ok(said()), fuel: 7 }).collect()
    }
}
