//! A journal in memory and a run in it, for the tests of reports and of the
//! commands that show them. Events go through the real `evolve` and the real
//! projections, so that a test cannot show what could not have been recorded.

use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tribunal_actors::aggregate::Live;
use tribunal_actors::attempt::Attempt;
use tribunal_actors::chunk::Chunk;
use tribunal_actors::decider::{Decider, Step};
use tribunal_actors::ports::journal::{EventFilter, Failure, JournalReader, Progress, StreamHead};
use tribunal_actors::run::{Run, RunCommand};
use tribunal_actors::verdict::judge;
use tribunal_schema::Digest;
use tribunal_schema::answer::{Answer, FailureClass, RawBody};
use tribunal_schema::case::{Case, CasePage};
use tribunal_schema::envelope::{Origin, RecordedEvent, chain, envelope_text};
use tribunal_schema::evaluation::{Finding, Outcome, Severity};
use tribunal_schema::events::*;
use tribunal_schema::ids::*;
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::*;
use tribunal_schema::score::{ExecutionOutcome, ExecutionResult, Judgment};
use tribunal_schema::units::*;
use tribunal_schema::view::*;
use ulid::Ulid;

/// When everything in a test begins: 2026-11-30 21:45:31 UTC.
const EPOCH: i64 = 1_796_075_131_000;
const TERM: LeaseTerm = LeaseTerm(1);

/// A journal in memory.
#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) events: Vec<RecordedEvent>,
    pub(crate) blobs: HashMap<Digest, Vec<u8>>,
    pub(crate) views: ViewFold,
}

impl Recorded {
    /// Records events, 250 ms apart.
    pub(crate) fn append<D: Decider>(&mut self, stream: &StreamId, run: RunId, events: &[D::Event]) -> Live<D> {
        let mut live = Live::<D>::default();
        for recorded in self.events.iter().filter(|event| event.stream == *stream) {
            live = live.apply(recorded).expect("legal").0;
        }
        for event in events {
            let new = event.encode();
            let version = live.head.version.next();
            let command = CommandId::named("test", &[&stream.to_string(), &version.to_string()]);
            let origin = Origin { command, run: Some(run), team: "default".into(), causation: None };
            let id = EventId::derived(command, stream, 0);
            let text = envelope_text(stream, version, id, &origin, &new);
            let position = self.events.len() as u64 + 1;
            let recorded = RecordedEvent {
                position,
                stream: stream.clone(),
                version,
                id,
                command,
                event_type: new.event_type.into(),
                type_version: new.type_version,
                run: origin.run,
                team: origin.team,
                payload: new.payload,
                causation: None,
                recorded_at: InstantMs(EPOCH + position as i64 * 250),
                digest: chain(live.head.digest, &text),
            };
            let before = live.state.clone();
            live = live.apply(&recorded).expect("legal").0;
            let step = Step { stream, version, before: &before, event, after: &live.state };
            for change in D::views(&step) {
                self.views.apply(&change, recorded.recorded_at);
            }
            self.events.push(recorded);
        }
        live
    }

    fn keep(&mut self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.blobs.insert(digest, bytes);
        digest
    }
}

#[async_trait]
impl JournalReader for Recorded {
    async fn now(&self) -> Result<InstantMs, Failure> {
        Ok(InstantMs(EPOCH + (self.events.len() as i64 + 1) * 250))
    }

    async fn read_stream(&self, stream: &StreamId, after: Version, limit: u32) -> Result<Vec<RecordedEvent>, Failure> {
        let wanted = self.events.iter().filter(|event| event.stream == *stream && event.version > after);
        Ok(wanted.take(limit as usize).cloned().collect())
    }

    async fn read_feed(
        &self,
        filter: &EventFilter,
        after: Option<u64>,
        descending: bool,
        limit: u32,
    ) -> Result<Vec<RecordedEvent>, Failure> {
        let is_type = |event: &RecordedEvent| {
            filter.event_type.as_ref().is_none_or(|wanted| match wanted.strip_suffix('*') {
                Some(prefix) => event.event_type.starts_with(prefix),
                None => event.event_type == *wanted,
            })
        };
        let mut events: Vec<RecordedEvent> = self.events.clone();
        if descending {
            events.reverse();
        }
        events.retain(|event| {
            filter.run.is_none_or(|run| event.run == Some(run))
                && filter.stream.as_ref().is_none_or(|stream| event.stream == *stream)
                && filter.category.as_ref().is_none_or(|category| event.stream.category() == category)
                && is_type(event)
                && filter.since.is_none_or(|since| event.recorded_at >= since)
                && filter.until.is_none_or(|until| event.recorded_at < until)
                && after.is_none_or(|after| if descending { event.position < after } else { event.position > after })
        });
        events.truncate(limit as usize);
        Ok(events)
    }

    async fn stream_heads(&self, _: RunId, _: Option<&StreamId>, _: u32) -> Result<Vec<StreamHead>, Failure> {
        Err(Failure::new("reports need no heads"))
    }

    async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.blobs.get(&digest).cloned())
    }

    async fn runs(&self, limit: u32) -> Result<Vec<RunRow>, Failure> {
        Ok(self.views.runs.values().rev().take(limit as usize).cloned().collect())
    }

    async fn run(&self, run: RunId) -> Result<Option<RunRow>, Failure> {
        Ok(self.views.runs.get(&run).cloned())
    }

    async fn chunks(&self, _: RunId) -> Result<Vec<ChunkRow>, Failure> {
        Ok(self.views.chunks.values().cloned().collect())
    }

    async fn progress(&self, _: RunId) -> Result<Progress, Failure> {
        Err(Failure::new("reports fold chunks"))
    }

    async fn executions(
        &self,
        run: RunId,
        after: Option<ExecutionKey>,
        outcomes: Option<&[ExecutionOutcome]>,
        limit: u32,
    ) -> Result<Vec<ExecutionRow>, Failure> {
        let rows = self.views.executions.values().filter(|row| {
            row.run == run
                && after.is_none_or(|after| row.execution > after)
                && outcomes.is_none_or(|outcomes| outcomes.contains(&row.outcome))
        });
        Ok(rows.take(limit as usize).cloned().collect())
    }

    async fn outcomes(&self, attempt: AttemptId) -> Result<Vec<OutcomeRow>, Failure> {
        Ok(self.views.outcomes.values().filter(|row| row.attempt == attempt).cloned().collect())
    }

    async fn findings(&self, attempt: AttemptId) -> Result<Vec<FindingRow>, Failure> {
        Ok(self.views.findings.values().filter(|row| row.attempt == attempt).cloned().collect())
    }

    async fn quarantine(&self, run: Option<RunId>, limit: u32) -> Result<Vec<QuarantineRow>, Failure> {
        let rows = self.views.quarantine.values().filter(|row| run.is_none_or(|run| row.run == run));
        Ok(rows.take(limit as usize).cloned().collect())
    }
}

/// What became of an execution in a test.
pub(crate) enum End<'a> {
    /// The target said this, and each binding of the group said that, in their order.
    Answered(&'a str, Vec<(Outcome, Vec<Finding>)>),
    /// The target failed.
    Failed(FailureClass, &'a str),
    /// The target is unsafe and failed.
    Lost(FailureClass),
}

pub(crate) fn yes() -> (Outcome, Vec<Finding>) {
    (measured(true, 1_000_000), vec![])
}

pub(crate) fn no(why: &str) -> (Outcome, Vec<Finding>) {
    let evidence = Some(JsonText::of(&serde_json::json!({"wanted": "42"})));
    let finding = Finding { severity: Severity::Error, category: "missing-text".into(), message: why.into(), evidence };
    (measured(false, 0), vec![finding])
}

fn measured(yes: bool, score: u64) -> Outcome {
    let measurement = tribunal_schema::evaluation::Measurement::Binary(yes);
    Outcome::Measured { measurement, score_ppm: ScorePpm::saturating(score), passed: yes }
}

/// A run of one chunk, held under term 1.
pub(crate) struct TestRun {
    pub(crate) store: Recorded,
    pub(crate) run: RunId,
    pub(crate) profile: Profile,
    chunk: ChunkId,
    attempts: u64,
}

impl TestRun {
    /// A run of some cases in a store, open, its chunk leased.
    pub(crate) fn of(store: Recorded, number: u128, profile: Profile, ids: &[&str]) -> TestRun {
        let run = RunId(Ulid::from_parts(EPOCH as u64, number));
        let chunk = ChunkId { run, number: 0 };
        let mut test = TestRun { store, run, profile, chunk, attempts: 0 };
        let plan = RunPlan {
            profile: test.profile.clone(),
            dataset: "refunds.jsonl".into(),
            dataset_digest: Digest::of(b"dataset"),
            cases: ids.len() as u32,
            chunks: 1,
            placements: vec!["local".into()],
            filters: vec![],
        };
        let plan_digest = plan.digest();
        test.record_run(&[
            RunEvent::Planned(RunPlanned { team: "default".into(), plan_digest, follows: None, plan }),
            RunEvent::PlacementSeeded(RunPlacementSeeded { placement: "local".into(), chunks: 1 }),
        ]);
        let case = |id: &&str| Case {
            id: id.to_string(),
            input: format!("What of {id}?").into(),
            expected: Some("42".into()),
            context: None,
            task_type: None,
            group: None,
            tags: vec![],
            metadata: serde_json::Map::new(),
        };
        let page = CasePage { cases: ids.iter().map(case).collect() };
        let page = test.store.keep(serde_json::to_vec(&page).expect("JSON"));
        let seeded = ChunkSeeded {
            chunk,
            plan_digest,
            lane: "default".into(),
            first_case: 0,
            cases: ids.iter().map(|id| SeededCase { id: id.to_string(), group: 0, tags: vec![] }).collect(),
            repeats: test.profile.repeats,
            page,
            carried: vec![],
            ready_seq: ReadySeq(1),
        };
        let leased = ChunkLeased {
            term: TERM,
            grant: GrantId(Ulid::from_parts(3, number)),
            holder: Incarnation(Ulid::from_parts(4, number)),
            lease: DurationMs::from_secs(60),
            hard_deadline: DurationMs::from_secs(600),
        };
        test.record_chunk(&[ChunkEvent::Seeded(seeded)]);
        let opened = RunOpened { chunks: 1, cases: ids.len() as u32, executions: ids.len() as u64 };
        test.record_run(&[RunEvent::Opened(opened), RunEvent::Started(RunStarted {})]);
        test.record_chunk(&[ChunkEvent::Leased(leased)]);
        test
    }

    pub(crate) fn record_run(&mut self, events: &[RunEvent]) -> Live<Run> {
        self.store.append::<Run>(&StreamId::Run(self.run), self.run, events)
    }

    fn record_chunk(&mut self, events: &[ChunkEvent]) -> Live<Chunk> {
        self.store.append::<Chunk>(&StreamId::Chunk(self.chunk), self.run, events)
    }

    /// An attempt is started.
    pub(crate) fn start(&mut self, execution: ExecutionKey, number: u32) -> AttemptId {
        self.attempts += 1;
        let attempt = AttemptId(Ulid::from_parts(EPOCH as u64 + self.attempts, self.run.0.random()));
        let allocated = AllocatedAttempt { attempt, execution, number, key: 0 };
        self.record_chunk(&[ChunkEvent::AttemptsAllocated(ChunkAttemptsAllocated {
            term: TERM,
            attempts: vec![allocated],
        })]);
        let started = AttemptStarted {
            chunk: self.chunk,
            execution,
            number,
            term: TERM,
            idempotency_key: format!("key-{execution}"),
        };
        self.record_attempt(attempt, AttemptEvent::Started(started));
        attempt
    }

    fn record_attempt(&mut self, attempt: AttemptId, event: AttemptEvent) -> AttemptPin {
        let live = self.store.append::<Attempt>(&StreamId::Attempt(attempt), self.run, &[event]);
        AttemptPin { version: live.head.version, digest: live.head.digest }
    }

    fn record_failure(&mut self, attempt: AttemptId, class: FailureClass, message: &str) -> AttemptPin {
        let failed = AttemptFailed {
            term: TERM,
            class,
            message: message.into(),
            status: None,
            retry_after: None,
            response_received: false,
            latency: DurationMs(30_000),
            body: None,
        };
        self.record_attempt(attempt, AttemptEvent::Failed(failed))
    }

    /// The first attempt fails and is to be made again.
    pub(crate) fn defer(&mut self, case: u32, class: FailureClass) {
        let execution = ExecutionKey { case, repeat: 0 };
        let attempt = self.start(execution, 1);
        let pin = self.record_failure(attempt, class, "too many requests");
        let retry_after = DurationMs(0);
        let deferred = DeferredExecution { attempt, execution, class, retry_after, response_received: false, pin };
        self.record_chunk(&[ChunkEvent::ExecutionsDeferred(ChunkExecutionsDeferred {
            term: TERM,
            deferred: vec![deferred],
        })]);
    }

    /// The next attempt at a case ends so.
    pub(crate) fn end(&mut self, case: u32, number: u32, end: End<'_>) {
        let execution = ExecutionKey { case, repeat: 0 };
        let attempt = self.start(execution, number);
        let unscored = Judgment { outcome: ExecutionOutcome::Errored, score_ppm: None, dimensions: vec![] };
        let (judgment, failure, pin) = match end {
            End::Answered(text, said) => {
                let (judgment, pin) = self.answer(attempt, text, said);
                (judgment, None, pin)
            }
            End::Failed(class, message) => (unscored, Some(class), self.record_failure(attempt, class, message)),
            End::Lost(class) => {
                let pin = self.record_failure(attempt, class, "connection reset");
                let attempts = vec![QuarantinedAttempt { attempt, execution, class, pin }];
                self.record_chunk(&[ChunkEvent::ExecutionsQuarantined(ChunkExecutionsQuarantined {
                    term: TERM,
                    attempts,
                })]);
                return;
            }
        };
        let result = ExecutionResult { execution, attempt: Some(attempt), judgment, failure };
        let settled = vec![SettledExecution { result, pin }];
        self.record_chunk(&[ChunkEvent::ExecutionsSettled(ChunkExecutionsSettled { term: TERM, settled })]);
    }

    fn answer(&mut self, attempt: AttemptId, text: &str, said: Vec<(Outcome, Vec<Finding>)>) -> (Judgment, AttemptPin) {
        let answer = Answer {
            text: Some(text.into()),
            structured: None,
            tool_calls: vec![],
            refusal: None,
            finish_reason: Some("stop".into()),
            usage: None,
            raw: RawBody::Text(text.into()),
        };
        let bytes = serde_json::to_vec(&answer).expect("JSON");
        let size = bytes.len() as u64;
        let digest = self.store.keep(bytes);
        let answered = AttemptAnswered {
            term: TERM,
            answer: digest,
            bytes: size,
            latency: DurationMs(1234),
            finish_reason: Some("stop".into()),
            usage: None,
        };
        self.record_attempt(attempt, AttemptEvent::Answered(answered));
        let group = &self.profile.groups[0];
        let outcomes: Vec<Outcome> = said.iter().map(|(outcome, _)| outcome.clone()).collect();
        let judgment = judge(group, &outcomes);
        let bindings = group.bindings.iter().zip(said);
        let outcomes = bindings.map(|(binding, (outcome, findings))| BindingOutcome {
            binding: binding.id.clone(),
            outcome,
            fuel: 1000,
            findings,
        });
        let outcomes = outcomes.collect();
        let judged = AttemptJudged { term: TERM, outcomes, judgment: judgment.clone() };
        let pin = self.record_attempt(attempt, AttemptEvent::Judged(judged));
        (judgment, pin)
    }

    fn accept(&mut self, ended: Live<Chunk>, end: ChunkEnd, tally: tribunal_schema::score::Tally) {
        let chunk = AcceptedChunk { chunk: 0, version: ended.head.version, digest: ended.head.digest, end, tally };
        let live = self.record_run(&[RunEvent::ChunksAccepted(RunChunksAccepted { chunks: vec![chunk] })]);
        let command = RunCommand::Judge { result_digest: Digest::of(b"results"), root: live.head.digest };
        let events = Run::decide(&live.state, &command).expect("judgeable");
        self.record_run(&events);
    }

    /// Every execution has its end: the run is judged.
    pub(crate) fn judge(&mut self) {
        let state = self.record_chunk(&[]).state;
        let tally = state.tally(&self.profile, &BTreeSet::new());
        let waits = self.store.views.quarantine.values().filter(|row| row.run == self.run);
        let executions: Vec<ExecutionKey> = waits.map(|row| row.execution).collect();
        let (event, end) = if executions.is_empty() {
            (ChunkEvent::Completed(ChunkCompleted { tally: tally.clone() }), ChunkEnd::Completed)
        } else {
            (ChunkEvent::Quarantined(ChunkQuarantined { executions, tally: tally.clone() }), ChunkEnd::Quarantined)
        };
        let ended = self.record_chunk(&[event]);
        self.accept(ended, end, tally);
    }

    /// A person cancels the run while some attempts are in flight.
    pub(crate) fn cancel(&mut self, in_flight: Vec<AttemptId>) {
        let cause = Intervention { by: "ada".into(), reason: "wrong dataset".into() };
        self.record_run(&[RunEvent::Cancelled(cause.clone())]);
        self.cancel_chunk(cause, in_flight);
    }

    fn cancel_chunk(
        &mut self,
        cause: Intervention,
        in_flight: Vec<AttemptId>,
    ) -> (Live<Chunk>, tribunal_schema::score::Tally) {
        let tally = self.record_chunk(&[]).state.tally(&self.profile, &in_flight.iter().copied().collect());
        let cancelled = ChunkCancelled { cause, in_flight, tally: tally.clone() };
        (self.record_chunk(&[ChunkEvent::Cancelled(cancelled)]), tally)
    }

    /// The target only fails: the run halts and is judged.
    pub(crate) fn halt(&mut self, reason: &str) {
        self.record_run(&[RunEvent::Halted(RunHalted { cause: HaltCause::TargetFailing, reason: reason.into() })]);
        let cause = Intervention { by: "tribunal".into(), reason: reason.into() };
        let (ended, tally) = self.cancel_chunk(cause, vec![]);
        self.accept(ended, ChunkEnd::Cancelled, tally);
    }
}

/// One group `answers` with the bindings `facts` and `style` in dimensions of their names, and a gate.
pub(crate) fn profile() -> Profile {
    let binding = |id: &str| Binding {
        id: id.into(),
        evaluator: EvaluatorPin { reference: "std/contains".into(), name: "contains".into(), component: Digest::ZERO },
        config: JsonText::default(),
        measure: Measure::Direct,
        negate: false,
        dimension: id.into(),
        weight_ppm: 1_000_000,
        pass_at: ScorePpm::ONE,
        required: true,
        blocking: false,
    };
    let dimension = |name: &str| Dimension {
        name: name.into(),
        method: Method::WeightedMean,
        weight_ppm: 1_000_000,
        pass_at: None,
        blocking: false,
    };
    let at = |ppm| Some(ScorePpm::saturating(ppm));
    Profile {
        name: "support-agent".into(),
        version: "1.2.0".into(),
        description: None,
        target: TargetConfig {
            kind: TargetKind::Chat {
                model: "mock".into(),
                parameters: JsonText::default(),
                system: None,
                tools: JsonText::default(),
                stream: false,
            },
            url: "https://ci:secret@agent.example:8443/v1".into(),
            headers: BTreeMap::new(),
            timeout: DurationMs(30_000),
            max_in_flight: 4,
            rate: None,
            max_response_bytes: 1 << 20,
            side_effects: SideEffects::None,
        },
        judge: None,
        attempts: AttemptPolicy { max: 2, backoff: DurationMs(1), backoff_max: DurationMs(1), retry_on: vec![] },
        repeats: 1,
        errors_as: ErrorsAs::Inconclusive,
        chunk_size: 100,
        lane: "default".into(),
        budget: Budget::default(),
        persist: Persist { answers: PersistAnswers::All, evidence: true },
        groups: vec![Group {
            name: "answers".into(),
            takes: Match::default(),
            bindings: vec![binding("facts"), binding("style")],
            dimensions: vec![dimension("facts"), dimension("style")],
        }],
        gate: vec![
            Rule { min_pass_rate: at(500_000), max_error_rate: at(500_000), ..Rule::default() },
            Rule { dimension: Some("facts".into()), min_mean: at(600_000), ..Rule::default() },
        ],
    }
}
