//! The part of a verification that is about one chunk: its cases, its attempts,
//! what its executions came to, and the rows that say so.

use super::super::verification::{Breach, Break, Stop};
use super::super::views::{self, Chunks};
use super::super::walk::Walk;
use super::super::{attempt, chunk, run};
use super::{Hearing, NO_HEAD};
use std::collections::BTreeSet;
use tribunal_actors::attempt::AttemptPhase;
use tribunal_actors::chunk::{Chunk, ChunkState};
use tribunal_schema::case::CasePage;
use tribunal_schema::events::{ChunkSeeded, RunPlanned};
use tribunal_schema::ids::{AttemptId, ChunkId, ExecutionKey, StreamId};
use tribunal_schema::profile::Profile;
use tribunal_schema::units::Version;
use tribunal_schema::view::ViewFold;

impl Hearing<'_> {
    /// A chunk, with what the run accepted of it.
    pub(super) async fn hear_chunk(
        &mut self,
        number: u32,
        planned: &RunPlanned,
        of_run: &run::Account,
        rows: &Chunks,
    ) -> Result<(), Stop> {
        let id = ChunkId { run: self.run, number };
        let stream = StreamId::Chunk(id);
        let nothing = vec![];
        let accepted = of_run.accepted.get(&number).unwrap_or(&nothing);
        let accepted_chunks: Vec<_> = accepted.iter().map(|(_, chunk)| chunk.clone()).collect();
        let mut fold = ViewFold::default();
        let (walk, account) = chunk::walk(self.reader, id, planned, &accepted_chunks, &mut fold).await?;
        self.saw(walk.version);
        let head = self.heads.chunks.remove(&number).unwrap_or(NO_HEAD);
        walk.reaches(head.0, head.1)?;
        account.check_accepted(&self.stream, &stream, accepted)?;
        let Some(seeded) = walk.state.seeded.clone() else {
            let must_exist = of_run.opened;
            let missing = || Break::new(&stream, None, Breach::Missing, "the run was opened with it, and it is gone");
            return if must_exist { Err(missing().into()) } else { Ok(()) };
        };
        // While chunks are still being seeded, some may be missing between others.
        if of_run.opened && seeded.first_case != self.cases {
            let what = format!("it begins with case {}, and case {} comes next", seeded.first_case, self.cases);
            return Err(Break::new(&stream, Some(Version(1)), Breach::Promise, what).into());
        }
        self.hear_cases(&stream, &seeded, &planned.plan.profile).await?;
        let pinned = accepted_chunks.iter().map(|chunk| chunk.version).max().unwrap_or_default();
        self.verification.unpinned.tail(&stream, pinned, walk.version);
        self.hear_attempts(&stream, id, &walk, &account, &planned.plan.profile, pinned).await?;
        self.record_results(&stream, account.accepted_state.as_ref().unwrap_or(&walk.state))?;
        let end_case = seeded.first_case + u32::try_from(seeded.cases.len()).unwrap_or(u32::MAX);
        self.compare_chunk(id, &walk, rows, end_case, &fold).await?;
        self.fold.quarantine.extend(std::mem::take(&mut fold.quarantine));
        if let Some(last) = end_case.checked_sub(1) {
            self.after = Some(ExecutionKey { case: last, repeat: seeded.repeats });
        }
        Ok(())
    }

    /// The page holds the cases that the chunk was seeded with.
    async fn hear_cases(&mut self, stream: &StreamId, seeded: &ChunkSeeded, profile: &Profile) -> Result<(), Stop> {
        let broken = |breach, what: String| Break::new(stream, Some(Version(1)), breach, what);
        self.cases += u32::try_from(seeded.cases.len()).unwrap_or(u32::MAX);
        let Some(bytes) = self.blob(stream, Version(1), seeded.page, None).await? else { return Ok(()) };
        let page: CasePage = serde_json::from_slice(&bytes)
            .map_err(|error| broken(Breach::Blob, format!("its page cannot be read: {error}")))?;
        let said = seeded.cases.iter().map(|case| (case.id.as_str(), Some(case.group)));
        let kept = page.cases.iter().map(|case| (case.id.as_str(), profile.group_of(case)));
        if !said.eq(kept) {
            let what = "its cases or their groups are not those of its page";
            return Err(broken(Breach::Promise, what.into()).into());
        }
        Ok(())
    }

    async fn hear_attempts(
        &mut self,
        stream: &StreamId,
        id: ChunkId,
        walk: &Walk<Chunk>,
        account: &chunk::Account,
        profile: &Profile,
        pinned: Version,
    ) -> Result<(), Stop> {
        let mut recorded = BTreeSet::new();
        for (attempt, told) in &account.attempts {
            let key = told.allocated.execution;
            let group = walk.state.group(key.case).and_then(|group| profile.groups.get(usize::from(group)));
            let Some(group) = group else {
                let what = format!("{key} has no group");
                return Err(Break::new(stream, Some(told.version), Breach::Promise, what).into());
            };
            let expected = attempt::Expected { chunk: id, chunk_stream: stream, told, group, term: walk.state.term };
            let mut fold = ViewFold::default();
            let read = attempt::check(self.reader, &expected, &mut fold).await?;
            self.saw(read.walk.version);
            let head = self.heads.attempts.remove(attempt).unwrap_or(NO_HEAD);
            read.walk.reaches(head.0, head.1)?;
            if read.has_record() {
                recorded.insert(*attempt);
            }
            // A pin holds as far as the event that has it is pinned itself.
            let pin = told.pin().filter(|_| told.version <= pinned).map_or(Version(0), |pin| pin.version);
            self.verification.unpinned.tail(&read.walk.stream, pin, read.walk.version);
            for (digest, bytes, version) in &read.blobs {
                self.blob(&read.walk.stream, *version, *digest, *bytes).await?;
            }
            self.compare_attempt(*attempt, &read, &fold).await?;
        }
        Ok(account.check_cancelled(stream, profile, &recorded)?)
    }

    fn record_results(&mut self, stream: &StreamId, state: &ChunkState) -> Result<(), Break> {
        let results = state.results();
        for key in state.executions.keys() {
            let id = state.case_id(key.case).unwrap_or_default();
            let judgment = results.get(key).map(|result| &result.judgment);
            self.results
                .record(*key, id, judgment)
                .map_err(|error| Break::new(stream, None, Breach::ResultDigest, error.to_string()))?;
        }
        Ok(())
    }

    async fn compare_chunk(
        &mut self,
        id: ChunkId,
        walk: &Walk<Chunk>,
        rows: &Chunks,
        end_case: u32,
        fold: &ViewFold,
    ) -> Result<(), Stop> {
        if self.retired {
            return Ok(());
        }
        let mut outcome = match rows.compare(id, fold) {
            Ok(rows) => Ok(rows),
            // The rows were read before the chunk was: once more, now.
            Err(_) => Chunks::read(self.reader, self.run).await?.compare(id, fold).map_err(Stop::from),
        };
        if let Ok(rows) = outcome {
            outcome = views::executions(self.reader, id, self.after, end_case, fold).await.map(|more| rows + more);
        }
        self.compared(outcome, walk.has_moved(self.reader).await?)
    }

    async fn compare_attempt(&mut self, id: AttemptId, read: &attempt::Read, fold: &ViewFold) -> Result<(), Stop> {
        let no_views = read.walk.state.phase == AttemptPhase::New;
        if self.retired || no_views {
            return Ok(());
        }
        match views::attempt(self.reader, id, fold).await {
            Ok(rows) => self.compared(Ok(rows), false),
            broken => self.compared(broken, read.walk.has_moved(self.reader).await?),
        }
    }
}
