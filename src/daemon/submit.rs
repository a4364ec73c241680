//! Submitting a run: plan rows and blobs first, page by page, then `run.planned`.
//! A crash before the plan leaves rows of a run that does not exist and harms
//! nobody; a crash after it leaves a run that creation carries on with.

use crate::evaluator::Catalog;
use std::collections::BTreeSet;
use std::sync::Arc;
use tribunal_actors::aggregate::{CommandError, UnitBuilder};
use tribunal_actors::ports::journal::{PlanRow, Row};
use tribunal_actors::run::RunCommand;
use tribunal_actors::shell::Shell;
use tribunal_schema::Digest;
use tribunal_schema::case::{Case, CasePage};
use tribunal_schema::events::{CarriedResult, ChunkEvent, ChunkSeeded, DomainEvent, RunPlan, RunPlanned, SeededCase};
use tribunal_schema::ids::{ChunkId, RunId};
use tribunal_schema::profile::Profile;
use tribunal_schema::units::ReadySeq;

/// Chunks planned in one unit.
const CHUNKS_A_UNIT: usize = 16;
/// The placement of an embedded store.
pub const PLACEMENT: &str = "main";

/// A run that is to be submitted: everything checked, every case with its group.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The resolved profile.
    pub profile: Profile,
    /// The dataset's name.
    pub dataset: String,
    /// What was left out of it, in words.
    pub filters: Vec<String>,
    /// The chosen cases, in order.
    pub cases: Vec<Case>,
    /// The index of each case's group.
    pub groups: Vec<u16>,
    /// Results taken over from the run that this one follows, by execution.
    pub carried: Vec<CarriedResult>,
    /// The run that this one follows.
    pub follows: Option<RunId>,
}

impl Submission {
    /// The plan that the run will carry. Equal submissions have equal plans.
    pub fn plan(&self) -> RunPlan {
        let mut digester = tribunal_schema::digest::Digester::default();
        for case in &self.cases {
            digester.update(&crate::config::dataset::canonical_case(case));
            digester.update(b"\n");
        }
        let size = self.profile.chunk_size.max(1) as usize;
        RunPlan {
            profile: self.profile.clone(),
            dataset: self.dataset.clone(),
            dataset_digest: digester.finish(),
            cases: count(self.cases.len()),
            chunks: count(self.cases.len().div_ceil(size)),
            placements: vec![PLACEMENT.into()],
            filters: self.filters.clone(),
        }
    }

    /// Writes the plan; creation seeds and opens the run. The cases are consumed, because a
    /// large dataset should not stay in memory while it is worked on.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn submit(self, shell: &Shell, catalog: &Catalog) -> Result<RunId, CommandError> {
        let run = RunId(shell.chance.ulid());
        self.submit_as(run, shell, catalog).await?;
        Ok(run)
    }

    /// The same under an id that nobody has used.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn submit_as(self, run: RunId, shell: &Shell, catalog: &Catalog) -> Result<(), CommandError> {
        let plan = self.plan();
        let plan_digest = plan.digest();
        let size = self.profile.chunk_size.max(1) as usize;
        self.keep_components(shell, catalog, run).await?;
        let lane = self.profile.lane.clone();
        let repeats = self.profile.repeats;
        let follows = self.follows;
        let mut cases = self.cases.into_iter();
        let mut groups = self.groups.into_iter();
        let mut carried = self.carried.into_iter().peekable();
        let mut rows = vec![];
        for number in 0..plan.chunks {
            let page = CasePage { cases: cases.by_ref().take(size).collect() };
            let first_case = number * count(size);
            let end = first_case + count(page.cases.len());
            let seeded_cases = page
                .cases
                .iter()
                .zip(groups.by_ref())
                .map(|(case, group)| SeededCase { id: case.id.clone(), group, tags: case.tags.clone() })
                .collect();
            let mut known = vec![];
            while let Some(one) = carried.next_if(|one| one.result.execution.case < end) {
                known.push(one);
            }
            let bytes: Arc<[u8]> = serde_json::to_vec(&page)
                .map_err(|error| CommandError::Bug(format!("cases have no JSON form: {error}")))?
                .into();
            let digest = Digest::of(&bytes);
            let chunk = ChunkId { run, number };
            let seeded = ChunkEvent::Seeded(ChunkSeeded {
                chunk,
                plan_digest,
                lane: lane.clone(),
                first_case,
                cases: seeded_cases,
                repeats,
                page: digest,
                carried: known,
                ready_seq: ReadySeq(1),
            });
            rows.push(Row::BlobPut { digest, bytes });
            rows.push(Row::PlanPut(PlanRow { chunk, seeded: seeded.encode().payload }));
            if rows.len() >= CHUNKS_A_UNIT * 2 || number + 1 == plan.chunks {
                shell.write_rows(run, std::mem::take(&mut rows)).await?;
            }
        }
        let planned = RunPlanned { team: shell.team.to_string(), plan, plan_digest, follows };
        shell.ask_run(run, RunCommand::Plan(Box::new(planned))).await?;
        Ok(())
    }

    /// Keeps the components that the user brought with the run, so that it can be resumed
    /// and judged again when their files are gone.
    async fn keep_components(&self, shell: &Shell, catalog: &Catalog, run: RunId) -> Result<(), CommandError> {
        let bindings = self.profile.groups.iter().flat_map(|group| &group.bindings);
        let digests: BTreeSet<Digest> = bindings.map(|binding| binding.evaluator.component).collect();
        for digest in digests {
            let Some(bytes) = catalog.bytes(&digest) else { continue };
            shell.journal().put_blob(digest, bytes).await?;
            let rows = vec![Row::BlobRef { digest, run }];
            let unit = UnitBuilder::new(shell.origin(shell.fresh(), run)).rows(rows).build();
            shell.append(unit).await?;
        }
        Ok(())
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).expect("datasets are limited to a million cases")
}
