//! From files and flags to a submission: everything that can be wrong is found
//! before the target is called, and told at once.

use super::catalog::ProfileCatalog;
use crate::config::{Dataset, Problem, Problems, match_cases, profile, read_dataset, read_profile};
use crate::daemon::submit::Submission;
use crate::evaluator::Catalog;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tribunal_schema::profile::{Profile, TargetKind};

/// What narrows a dataset or overrides a profile for one run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Narrowing {
    /// Use the first N cases only
    #[arg(long, value_name = "N", env = "TRIBUNAL_LIMIT")]
    pub limit: Option<u32>,
    /// Ask each case N times
    #[arg(long, value_name = "N", env = "TRIBUNAL_REPEATS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Have at most N calls in flight
    #[arg(long, value_name = "N", env = "TRIBUNAL_MAX_IN_FLIGHT", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_in_flight: Option<u32>,
    /// Use this case only; may be repeated
    #[arg(long = "case-id", value_name = "ID")]
    pub case_ids: Vec<String>,
    /// Use cases with this tag only; may be repeated, any of them counts
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
}

/// Files that are read together.
#[derive(Clone, Debug)]
pub struct Input {
    /// The profile.
    pub profile: PathBuf,
    /// The dataset.
    pub dataset: PathBuf,
    /// Flags.
    pub narrowing: Narrowing,
    /// Where the target is, instead of what the profile says.
    pub target_url: Option<String>,
}

/// What came of it, and what is probably not meant.
pub struct Prepared {
    /// What can be submitted.
    pub submission: Submission,
    /// One line each.
    pub warnings: Vec<String>,
}

/// Reads and checks everything.
///
/// # Errors
/// All problems of both files at once.
pub async fn prepare(catalog: Arc<Catalog>, input: Input) -> anyhow::Result<Prepared> {
    let profiles = ProfileCatalog::of(catalog, &input.profile);
    tokio::task::spawn_blocking(move || read(&profiles, input)).await?
}

fn read(profiles: &ProfileCatalog, input: Input) -> anyhow::Result<Prepared> {
    let (profile, dataset) = both(read_profile(&input.profile, profiles), read_dataset(&input.dataset))?;
    let (mut profile, profile_warnings) = profile;
    if let Some(url) = input.target_url {
        profile.target.url = url;
    }
    override_profile(&mut profile, &input.narrowing, &input.profile)?;
    refuse_unavailable(&profile)?;
    let groups = match_cases(&profile, &dataset)?;
    let idle = profile::idle_rules(&profile, &dataset, &groups);
    let warnings = profile_warnings.iter().chain(&dataset.warnings).chain(&idle).map(ToString::to_string).collect();
    let submission = narrow(profile, dataset, groups, &input.narrowing)?;
    Ok(Prepared { submission, warnings })
}

/// Both, or the problems of both.
fn both<A, B>(first: Result<A, Problems>, second: Result<B, Problems>) -> anyhow::Result<(A, B)> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (Err(problems), Ok(_)) | (Ok(_), Err(problems)) if problems.count() == 1 => Err(problems.into()),
        (Err(problems), Ok(_)) | (Ok(_), Err(problems)) => Err(counted(problems.count(), &problems.to_string())),
        (Err(first), Err(second)) => Err(counted(first.count() + second.count(), &format!("{first}\n{second}"))),
    }
}

/// Several problems, each on a line that begins with its place.
fn counted(count: u64, lines: &str) -> anyhow::Error {
    anyhow::anyhow!("{count} problems; nothing was run\n{lines}")
}

fn override_profile(profile: &mut Profile, narrowing: &Narrowing, file: &Path) -> anyhow::Result<()> {
    profile.target.max_in_flight = narrowing.max_in_flight.unwrap_or(profile.target.max_in_flight);
    let Some(repeats) = narrowing.repeats else { return Ok(()) };
    profile.repeats = repeats;
    let other = profile.gate.iter().filter_map(|rule| rule.per_case).find(|rule| rule.of != repeats);
    if let Some(rule) = other {
        let message = format!("--repeats {repeats} does not go with the gate's `per_case: {{ of: {} }}`", rule.of);
        let hint = "leave --repeats out, or change the rule";
        return Err(Problems::from(Problem::of_file(file.display().to_string(), message, hint)).into());
    }
    Ok(())
}

fn refuse_unavailable(profile: &Profile) -> anyhow::Result<()> {
    if let TargetKind::Http { .. } = profile.target.kind {
        anyhow::bail!("targets of kind `http` cannot be run by this version; `chat` can");
    }
    if profile.gate.iter().any(|rule| rule.baseline.is_some()) {
        tracing::warn!("this version compares with no baseline: the rule will be inconclusive");
    }
    let missing = profile::unavailable_evaluators(profile);
    if missing.is_empty() {
        return Ok(());
    }
    let names: BTreeSet<&str> = missing.iter().map(|(_, binding)| binding.evaluator.reference.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    anyhow::bail!("this version has no {}; `tribunal evaluator list` shows what there is", names.join(", "))
}

fn narrow(profile: Profile, dataset: Dataset, groups: Vec<u16>, narrowing: &Narrowing) -> anyhow::Result<Submission> {
    let known: BTreeSet<&str> = dataset.cases.iter().map(|case| case.id.as_str()).collect();
    if let Some(stranger) = narrowing.case_ids.iter().find(|id| !known.contains(id.as_str())) {
        anyhow::bail!("--case-id {stranger}: {} has no such case", dataset.file);
    }
    let wanted = |case: &tribunal_schema::case::Case| {
        (narrowing.case_ids.is_empty() || narrowing.case_ids.contains(&case.id))
            && (narrowing.tags.is_empty() || narrowing.tags.iter().any(|tag| case.tags.contains(tag)))
    };
    let limit = narrowing.limit.map_or(usize::MAX, |limit| limit as usize);
    let (cases, groups) = dataset.cases.into_iter().zip(groups).filter(|(case, _)| wanted(case)).take(limit).unzip();
    Ok(Submission {
        profile,
        dataset: dataset.name,
        filters: filters(narrowing),
        cases,
        groups,
        carried: vec![],
        follows: None,
    })
}

fn filters(narrowing: &Narrowing) -> Vec<String> {
    let ids = narrowing.case_ids.iter().map(|id| format!("--case-id {id}"));
    let tags = narrowing.tags.iter().map(|tag| format!("--tag {tag}"));
    let limit = narrowing.limit.iter().map(|limit| format!("--limit {limit}"));
    ids.chain(tags).chain(limit).collect()
}
