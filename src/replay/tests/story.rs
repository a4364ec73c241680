//! Runs that could have been: planned, worked on under leases that end in every
//! way, and judged.

use super::shelf::Shelf;
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_actors::attempt::{Attempt, AttemptCommand};
use tribunal_actors::chunk::{Chunk, ChunkCommand, Fate};
use tribunal_actors::operator::{Act, Operator, QUARANTINE_DISCARD};
use tribunal_actors::run::{Run, RunCommand};
use tribunal_actors::testing::{
    DAY, GRANT, HOLDER, answered, attempt_id, by, failed, judged, page, planned, profile, result, run_id, seeded,
};
use tribunal_actors::verdict::ResultDigest;
use tribunal_schema::Digest;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::events::{
    AcceptedChunk, AttemptExpired, AttemptPin, AttemptStarted, ChunkEvent, OperatorActed, RunPlanned, SettledExecution,
};
use tribunal_schema::ids::{ChunkId, CommandId, ExecutionKey, StreamId};
use tribunal_schema::profile::{Profile, SideEffects};
use tribunal_schema::units::{LeaseTerm, ReadySeq};
use ulid::Ulid;

/// Cases a chunk.
pub const CASES: u32 = 3;

pub fn run() -> StreamId {
    StreamId::Run(run_id())
}

pub fn chunk(number: u32) -> StreamId {
    StreamId::Chunk(ChunkId { run: run_id(), number })
}

pub fn attempt(n: u64) -> StreamId {
    StreamId::Attempt(attempt_id(n))
}

pub fn answer(n: u64) -> Vec<u8> {
    format!("answer {n}").into_bytes()
}

/// A run that is being told.
pub struct Story {
    pub shelf: Shelf,
    plan: RunPlanned,
    profile: Arc<Profile>,
}

impl Story {
    /// A run that was opened with its chunks.
    fn opened(chunks: u32, side_effects: SideEffects) -> Story {
        let profile = profile(side_effects, 3, 1);
        let plan = planned(profile.clone(), chunks, CASES);
        let mut story = Story { shelf: Shelf::default(), plan: plan.clone(), profile: Arc::new(profile) };
        story.tell(RunCommand::Plan(Box::new(plan)));
        for number in 0..chunks {
            let bytes = page(number, CASES);
            story.shelf.blobs.insert(Digest::of(&bytes), bytes);
            let seeded = Arc::new(seeded(&story.plan, number));
            story.chunk(number, ChunkCommand::Seed { seeded, profile: story.profile.clone() });
        }
        story.tell(RunCommand::RecordSeeded { placement: "local".into(), chunks });
        story.tell(RunCommand::Open);
        story.tell(RunCommand::Start);
        story
    }

    fn tell(&mut self, command: RunCommand) {
        self.shelf.ask::<Run>(&run(), &command);
    }

    fn chunk(&mut self, number: u32, command: ChunkCommand) -> Vec<ChunkEvent> {
        self.shelf.ask::<Chunk>(&chunk(number), &command)
    }

    fn attempt(&mut self, n: u64, command: AttemptCommand) {
        self.shelf.ask::<Attempt>(&attempt(n), &command);
    }

    fn lease(&mut self, number: u32) -> LeaseTerm {
        let ready_seq: ReadySeq = self.shelf.state::<Chunk>(&chunk(number)).ready_seq;
        let lease = ChunkCommand::Lease { ready_seq, grant: GRANT, holder: HOLDER, lease: DAY, hard_deadline: DAY };
        self.chunk(number, lease);
        self.shelf.state::<Chunk>(&chunk(number)).term
    }

    fn allocate(&mut self, number: u32, ids: std::ops::Range<u64>) {
        let term = self.shelf.state::<Chunk>(&chunk(number)).term;
        let now = self.shelf.now();
        self.chunk(number, ChunkCommand::Allocate { term, ids: ids.map(attempt_id).collect(), now });
    }

    fn start(&mut self, number: u32, n: u64) -> (ExecutionKey, LeaseTerm) {
        let state = self.shelf.state::<Chunk>(&chunk(number));
        let open = state.open_attempts().into_iter().find(|open| open.attempt == attempt_id(n)).expect("it is open");
        let started = AttemptStarted {
            chunk: ChunkId { run: run_id(), number },
            execution: open.execution,
            number: open.number,
            term: state.term,
            idempotency_key: format!("key-{}", open.key),
        };
        self.attempt(n, AttemptCommand::Start(started));
        (open.execution, state.term)
    }

    fn answer(&mut self, n: u64, term: LeaseTerm) {
        self.shelf.blobs.insert(Digest::of(&answer(n)), answer(n));
        self.attempt(n, AttemptCommand::RecordAnswer(answered(term, &answer(n))));
    }

    fn pin(&self, n: u64) -> AttemptPin {
        let (version, digest) = self.shelf.head(&attempt(n));
        AttemptPin { version, digest }
    }

    /// Judges an answered attempt and settles its execution.
    fn settle(&mut self, number: u32, n: u64, execution: ExecutionKey, passes: bool) {
        let term = self.shelf.state::<Chunk>(&chunk(number)).term;
        self.attempt(n, AttemptCommand::RecordJudgment(judged(&self.profile, term, passes)));
        let result = result(&self.profile, execution, attempt_id(n), passes);
        let settled = vec![SettledExecution { result, pin: self.pin(n) }];
        self.chunk(number, ChunkCommand::Settle { term, settled, profile: self.profile.clone() });
    }

    fn serve(&mut self, number: u32, n: u64, passes: bool) {
        let (execution, term) = self.start(number, n);
        self.answer(n, term);
        self.settle(number, n, execution, passes);
    }

    fn fail(&mut self, number: u32, n: u64, class: FailureClass) {
        let (execution, term) = self.start(number, n);
        let mut one = failed(execution, n, class);
        self.attempt(n, AttemptCommand::RecordFailure(one.recorded(term)));
        one.pin = self.pin(n);
        let profile = self.profile.clone();
        self.chunk(number, ChunkCommand::RecordFailures { term, failures: vec![one], profile });
    }

    /// Ends a lease: attempts with a fate of started expire with it.
    fn expire(&mut self, number: u32, fates: &[(u64, Fate)]) {
        let term = self.shelf.state::<Chunk>(&chunk(number)).term;
        let known: BTreeMap<_, _> = fates.iter().map(|(n, fate)| (attempt_id(*n), *fate)).collect();
        let profile = self.profile.clone();
        let lost = profile.target.side_effects == SideEffects::Unsafe;
        self.chunk(number, ChunkCommand::Expire { term, fates: known, profile, recovery_limit: 3 });
        for (n, _) in fates.iter().filter(|(_, fate)| *fate == Fate::Started) {
            self.attempt(*n, AttemptCommand::Expire(AttemptExpired { term, lost }));
        }
    }

    /// Tells the run how its chunks ended.
    fn accept(&mut self, number: u32) {
        let stream = chunk(number);
        let recorded = self.shelf.streams[&stream].last().expect("it ended").clone();
        let (end, tally) = match tribunal_schema::codec::decode(&recorded).expect("it can be read") {
            ChunkEvent::Completed(end) => (tribunal_schema::events::ChunkEnd::Completed, end.tally),
            ChunkEvent::Quarantined(end) => (tribunal_schema::events::ChunkEnd::Quarantined, end.tally),
            other => panic!("{other:?} is no end"),
        };
        let (version, digest) = (recorded.version, recorded.digest);
        self.tell(RunCommand::AcceptChunks(vec![AcceptedChunk { chunk: number, version, digest, end, tally }]));
    }

    fn judge(&mut self) {
        let mut results = ResultDigest::default();
        for number in 0..self.plan.plan.chunks {
            let state = self.shelf.state::<Chunk>(&chunk(number));
            let of_chunk = state.results();
            for key in state.executions.keys() {
                let judgment = of_chunk.get(key).map(|result| &result.judgment);
                results.record(*key, state.case_id(key.case).expect("it has an id"), judgment).expect("in order");
            }
        }
        let (_, root) = self.shelf.head(&run());
        self.tell(RunCommand::Judge { result_digest: results.finish(), root });
    }

    /// The first chunk: one attempt served, one deferred and tried again, one expired and adopted answer.
    fn first_chunk(&mut self) {
        self.lease(0);
        self.allocate(0, 0..3);
        self.serve(0, 0, true);
        self.fail(0, 1, FailureClass::Timeout);
        let (execution, term) = self.start(0, 2);
        self.answer(2, term);
        // The worker dies with an answer that nobody has judged; the next term adopts it.
        self.expire(0, &[(2, Fate::Recorded)]);
        self.shelf.wait(10_000);
        self.lease(0);
        self.settle(0, 2, execution, false);
        self.allocate(0, 3..4);
        self.serve(0, 3, true);
    }

    /// The second chunk: one call expired and made again, one that was never started, one errored for good.
    fn second_chunk(&mut self) {
        self.lease(1);
        self.allocate(1, 10..13);
        self.start(1, 10);
        self.expire(1, &[(10, Fate::Started), (11, Fate::NeverStarted), (12, Fate::NeverStarted)]);
        self.lease(1);
        self.allocate(1, 13..16);
        self.serve(1, 13, true);
        self.fail(1, 14, FailureClass::Parse);
        self.serve(1, 15, true);
    }

    /// A run of two chunks with its verdict.
    pub fn judged() -> Shelf {
        let mut story = Story::opened(2, SideEffects::None);
        story.first_chunk();
        story.second_chunk();
        story.accept(0);
        story.accept(1);
        story.judge();
        story.shelf
    }

    /// The same while its second chunk is worked on.
    pub fn running() -> Shelf {
        let mut story = Story::opened(2, SideEffects::None);
        story.first_chunk();
        story.accept(0);
        story.lease(1);
        story.allocate(1, 10..13);
        story.start(1, 11);
        story.shelf
    }

    /// A run that was cancelled with calls in flight.
    pub fn cancelled() -> Shelf {
        let mut story = Story::opened(1, SideEffects::None);
        story.lease(0);
        story.allocate(0, 0..3);
        story.start(0, 0);
        let (_, term) = story.start(0, 1);
        story.answer(1, term);
        story.tell(RunCommand::Cancel(by()));
        let fates = [(0, Fate::Started), (1, Fate::Recorded), (2, Fate::NeverStarted)];
        let fates = fates.map(|(n, fate)| (attempt_id(n), fate)).into();
        story.chunk(0, ChunkCommand::Cancel { cause: by(), fates, profile: story.profile.clone() });
        let reason = "because".into();
        story.attempt(0, AttemptCommand::Cancel(tribunal_schema::events::AttemptCancelled { reason }));
        story.shelf
    }

    /// An unsafe target: two calls were lost, a person let one be made again and gave the other up.
    pub fn quarantined() -> Shelf {
        let mut story = Story::opened(1, SideEffects::Unsafe);
        story.lease(0);
        story.allocate(0, 0..3);
        story.serve(0, 0, true);
        story.start(0, 1);
        story.start(0, 2);
        story.expire(0, &[(1, Fate::Started), (2, Fate::Started)]);
        story.accept(0);
        story.tell(RunCommand::ReopenChunk { chunk: 0, by: by() });
        story.chunk(0, ChunkCommand::ReleaseQuarantined { executions: vec![ExecutionKey { case: 1, repeat: 0 }] });
        story.lease(0);
        story.allocate(0, 5..6);
        story.serve(0, 5, true);
        story.accept(0);
        story.judge();
        let deed = OperatorActed {
            by: "ada".into(),
            action: QUARANTINE_DISCARD.into(),
            run: Some(run_id()),
            executions: vec![ExecutionKey { case: 2, repeat: 0 }],
            reason: "nobody knows".into(),
            changed: 1,
        };
        let stream = StreamId::Operator(CommandId(Ulid::from_parts(5, 5)));
        story.shelf.ask::<Operator>(&stream, &Act(deed));
        story.shelf
    }
}
