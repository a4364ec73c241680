//! The order of a verification: heads, run, chunks with their attempts, and what
//! is left over.
//!
//! The heads are read first. Streams only grow, so whatever a head names must be
//! found afterwards, also in a run that is still being worked on.

mod chunks;

use super::run;
use super::verification::{Breach, Break, Proof, Seen, Stop, Unpinned, Verification};
use super::views::{self, Chunks, Deed};
use super::walk::Walk;
use std::collections::HashMap;
use tribunal_actors::operator::{Operator, QUARANTINE_DISCARD, QUARANTINE_RELEASE};
use tribunal_actors::ports::journal::{Failure, JournalReader, StreamHead};
use tribunal_actors::run::Run;
use tribunal_actors::verdict::ResultDigest;
use tribunal_schema::Digest;
use tribunal_schema::events::RunPlanned;
use tribunal_schema::ids::{AttemptId, ChunkId, ExecutionKey, RunId, StreamId};
use tribunal_schema::units::Version;
use tribunal_schema::view::{QuarantineStatus, ViewFold};

/// Heads a page.
const PAGE: u32 = 1000;
/// The head of a stream that does not exist.
const NO_HEAD: (Version, Digest) = (Version(0), Digest::ZERO);

/// How far a verification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// Chunks that were verified.
    pub chunks: u32,
    /// Chunks of the run.
    pub of: u32,
    /// Events that were read.
    pub events: u64,
}

/// Verifies a run: chain, legality, pins, promises, verdict, blobs, views.
///
/// # Errors
/// [`Failure`] when the journal cannot be read, or there is no such run. That
/// something is broken is no error: it is the answer.
pub async fn verify(reader: &dyn JournalReader, run: RunId) -> Result<Verification, Failure> {
    verify_watched(reader, run, &mut |_| {}).await
}

/// [`verify`], telling how far it is after each chunk.
///
/// # Errors
/// As [`verify`].
pub async fn verify_watched(
    reader: &dyn JournalReader,
    run: RunId,
    watch: &mut (dyn FnMut(Advance) + Send),
) -> Result<Verification, Failure> {
    let mut hearing = Hearing::new(reader, run);
    let proof = match hearing.hear(watch).await {
        Ok(()) if hearing.verification.verdict.is_some() => Proof::Proven,
        Ok(()) => Proof::NoVerdict,
        Err(Stop::Broken(broken)) => Proof::Broken(broken),
        Err(Stop::Failed(failure)) => return Err(failure),
    };
    Ok(Verification { proof, ..hearing.verification })
}

/// A verification under way.
struct Hearing<'a> {
    reader: &'a dyn JournalReader,
    run: RunId,
    stream: StreamId,
    verification: Verification,
    heads: Heads,
    /// The run's row and everything in quarantine; chunks fold for themselves.
    fold: ViewFold,
    results: ResultDigest,
    retired: bool,
    /// The last execution of the chunks so far.
    after: Option<ExecutionKey>,
    cases: u32,
}

/// The heads of the run's streams when the verification began, and what people did.
#[derive(Default)]
struct Heads {
    run: Option<(Version, Digest)>,
    chunks: HashMap<u32, (Version, Digest)>,
    attempts: HashMap<AttemptId, (Version, Digest)>,
    deeds: Vec<Deed>,
}

impl<'a> Hearing<'a> {
    fn new(reader: &'a dyn JournalReader, run: RunId) -> Hearing<'a> {
        let verification = Verification {
            run,
            proof: Proof::NoVerdict,
            phase: "unknown",
            verdict: None,
            root: None,
            result_digest: None,
            seen: Seen::default(),
            unpinned: Unpinned::default(),
        };
        Hearing {
            reader,
            run,
            stream: StreamId::Run(run),
            verification,
            heads: Heads::default(),
            fold: ViewFold::default(),
            results: ResultDigest::default(),
            retired: false,
            after: None,
            cases: 0,
        }
    }

    async fn hear(&mut self, watch: &mut (dyn FnMut(Advance) + Send)) -> Result<(), Stop> {
        self.read_heads().await?;
        let (walk, account) = run::walk(self.reader, self.run, &mut self.fold).await?;
        self.saw(walk.version);
        let head = self.heads.run.unwrap_or(NO_HEAD);
        if walk.version == Version(0) && head.0 == Version(0) {
            return match self.heads.chunks.is_empty() && self.heads.attempts.is_empty() {
                true => Err(Failure::new(format!("there is no run {}", self.run)).into()),
                false => {
                    Err(Break::new(&self.stream, None, Breach::Missing, "its chunks exist, and it does not").into())
                }
            };
        }
        let state = &walk.state;
        self.verification.phase = state.phase.name();
        self.verification.verdict = state.judged.as_ref().map(|judged| judged.judged.verdict);
        self.verification.root = state.judged.as_ref().map(|judged| judged.root);
        self.retired = account.retired;
        walk.reaches(head.0, head.1)?;
        let pinned = account.judged_at.unwrap_or_default();
        self.verification.unpinned.tail(&self.stream, pinned, walk.version);
        let Some(planned) = state.planned.clone() else {
            return Err(Break::new(&self.stream, None, Breach::Illegal, "it was never planned").into());
        };
        let rows = Chunks::read(self.reader, self.run).await?;
        rows.strangers(self.run, planned.plan.chunks)?;
        for number in 0..planned.plan.chunks {
            self.hear_chunk(number, &planned, &account, &rows).await?;
            watch(Advance { chunks: number + 1, of: planned.plan.chunks, events: self.verification.seen.events });
        }
        self.strangers()?;
        self.conclude(&walk, &account, &planned).await
    }

    fn saw(&mut self, version: Version) {
        self.verification.seen.streams += u64::from(version > Version(0));
        self.verification.seen.events += version.0;
    }

    async fn read_heads(&mut self) -> Result<(), Stop> {
        let mut after: Option<StreamId> = None;
        loop {
            let page = self.reader.stream_heads(self.run, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.stream.clone());
            for StreamHead { stream, version, digest } in page {
                match stream {
                    StreamId::Run(run) if run == self.run => self.heads.run = Some((version, digest)),
                    StreamId::Chunk(chunk) if chunk.run == self.run => {
                        self.heads.chunks.insert(chunk.number, (version, digest));
                    }
                    StreamId::Attempt(attempt) => {
                        self.heads.attempts.insert(attempt, (version, digest));
                    }
                    StreamId::Operator(_) => self.hear_deed(stream, version, digest).await?,
                    StreamId::Run(_) | StreamId::Chunk(_) => {
                        let what = format!("its events name run {}, which is not its own", self.run);
                        return Err(Break::new(&stream, None, Breach::Stranger, what).into());
                    }
                }
            }
        }
    }

    /// What a person did: nothing pins it, and it shows in the quarantine only.
    async fn hear_deed(&mut self, stream: StreamId, version: Version, digest: Digest) -> Result<(), Stop> {
        let mut at = Default::default();
        let walk = Walk::<Operator>::through(self.reader, self.run, stream.clone(), |stride| {
            at = stride.at;
            Ok(())
        })
        .await?;
        self.saw(walk.version);
        walk.reaches(version, digest)?;
        self.verification.unpinned.tail(&stream, Version(0), walk.version);
        let Some(acted) = walk.state else { return Ok(()) };
        let status = match acted.action.as_str() {
            QUARANTINE_RELEASE => QuarantineStatus::Released,
            QUARANTINE_DISCARD => QuarantineStatus::Discarded,
            _ => return Ok(()),
        };
        self.heads.deeds.push(Deed { acted, status, at });
        Ok(())
    }

    /// The bytes of a blob; `None` where retention has taken them.
    async fn blob(
        &mut self,
        stream: &StreamId,
        version: Version,
        digest: Digest,
        bytes: Option<u64>,
    ) -> Result<Option<Vec<u8>>, Stop> {
        let broken = |what: String| Err(Break::new(stream, Some(version), Breach::Blob, what).into());
        let Some(kept) = self.reader.blob(digest).await? else {
            return if self.retired { Ok(None) } else { broken(format!("blob {digest} is gone")) };
        };
        let found = Digest::of(&kept);
        if found != digest {
            return broken(format!("blob {digest} was changed: its bytes have digest {found}"));
        }
        if bytes.is_some_and(|bytes| bytes != kept.len() as u64) {
            return broken(format!("blob {digest} has {} bytes, not as many as was said", kept.len()));
        }
        self.verification.seen.blobs += 1;
        Ok(Some(kept))
    }

    /// A difference counts unless the stream was written to meanwhile.
    fn compared(&mut self, outcome: Result<u64, Stop>, moved: bool) -> Result<(), Stop> {
        match outcome {
            Ok(rows) => self.verification.seen.rows += rows,
            Err(Stop::Broken(_)) if moved => self.verification.seen.moving += 1,
            Err(stop) => return Err(stop),
        }
        Ok(())
    }

    /// What the heads name and nothing has asked for.
    fn strangers(&self) -> Result<(), Break> {
        if let Some(number) = self.heads.chunks.keys().min() {
            let stream = StreamId::Chunk(ChunkId { run: self.run, number: *number });
            return Err(Break::new(&stream, None, Breach::Stranger, "the run's plan has no such chunk"));
        }
        if let Some(attempt) = self.heads.attempts.keys().min() {
            let stream = StreamId::Attempt(*attempt);
            return Err(Break::new(&stream, None, Breach::Stranger, "no chunk has given it out"));
        }
        Ok(())
    }

    async fn conclude(&mut self, walk: &Walk<Run>, account: &run::Account, planned: &RunPlanned) -> Result<(), Stop> {
        let broken = |version, breach, what: String| Break::new(&self.stream, version, breach, what);
        if account.opened && self.cases != planned.plan.cases {
            let what = format!("its chunks have {} cases, its plan {}", self.cases, planned.plan.cases);
            return Err(broken(None, Breach::Promise, what).into());
        }
        let results = self.results.clone().finish();
        if let Some(judged) = &walk.state.judged
            && judged.result_digest != results
        {
            let what = format!(
                "it names result digest {}, the results have {}",
                judged.result_digest.short(),
                results.short()
            );
            return Err(broken(account.judged_at, Breach::ResultDigest, what).into());
        }
        self.verification.result_digest = account.judged_at.map(|_| results);
        if self.retired {
            return Ok(());
        }
        let row = views::run(self.reader, self.run, &self.fold).await;
        let moved = walk.has_moved(self.reader).await?;
        self.compared(row, moved)?;
        let deeds = &self.heads.deeds;
        let rest = match views::quarantine(self.reader, self.run, &self.fold.quarantine, deeds).await {
            Ok(rows) => views::no_more_executions(self.reader, self.run, self.after).await.map(|()| rows),
            Err(stop) => Err(stop),
        };
        // These rows are written by any chunk of a run that is not over.
        self.compared(rest, !walk.state.phase.is_over())
    }
}
