//! `tribunal profile validate` and `tribunal dataset validate`: everything that
//! is wrong with a file, before anything is asked of anyone.
//!
//! The result goes to stdout, warnings and problems to stderr; with `--json`
//! stdout gets one line per file that has all of it. Exit code 0 when every
//! file is valid, 1 otherwise.

use crate::config::{
    Dataset, EvaluatorCatalog, Problem, Problems, Warning, match_cases, profile, read_dataset, read_profile,
};
use clap::Args;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tribunal_schema::profile::Profile;

/// `tribunal profile validate`.
#[derive(Clone, Debug, Args)]
pub struct ProfileValidate {
    /// Profiles to check
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print one JSON object per file
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
}

/// `tribunal dataset validate`.
#[derive(Clone, Debug, Args)]
pub struct DatasetValidate {
    /// Datasets to check
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Check as well that every case has a group in this profile
    #[arg(long, value_name = "PROFILE", env = "TRIBUNAL_PROFILE")]
    pub profile: Option<PathBuf>,
    /// Print one JSON object per file
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
}

/// What a valid file is, as lines for people and as JSON.
struct Summary {
    lines: Vec<String>,
    json: Value,
    warnings: Vec<Warning>,
}

impl ProfileValidate {
    /// Checks the profiles and returns the exit code.
    ///
    /// # Errors
    /// When `out` or `people` cannot be written.
    pub fn execute(
        &self,
        catalog: &dyn EvaluatorCatalog,
        out: &mut dyn Write,
        people: &mut dyn Write,
    ) -> io::Result<u8> {
        let mut code = 0;
        for file in &self.files {
            let outcome = read_profile(file, catalog).map(|(profile, warnings)| profile_summary(&profile, warnings));
            code = code.max(tell(file, outcome, self.json, out, people)?);
        }
        Ok(code)
    }
}

impl DatasetValidate {
    /// Checks the datasets and returns the exit code.
    ///
    /// # Errors
    /// When `out` or `people` cannot be written.
    pub fn execute(
        &self,
        catalog: &dyn EvaluatorCatalog,
        out: &mut dyn Write,
        people: &mut dyn Write,
    ) -> io::Result<u8> {
        let profile = match self.profile.as_deref().map(|path| (path, read_profile(path, catalog))) {
            None => None,
            Some((_, Ok((profile, _)))) => Some(profile),
            Some((path, Err(problems))) => return tell(path, Err(problems), self.json, out, people),
        };
        let mut code = 0;
        for file in &self.files {
            code = code.max(tell(file, check_dataset(file, profile.as_ref()), self.json, out, people)?);
        }
        Ok(code)
    }
}

fn check_dataset(file: &Path, profile: Option<&Profile>) -> Result<Summary, Problems> {
    let mut dataset = read_dataset(file)?;
    if dataset.cases.is_empty() {
        let message = "the dataset has no cases, expected at least one";
        return Err(Problem::of_file(dataset.file, message, "a run of it would be inconclusive").into());
    }
    let mut per_group = None;
    if let Some(profile) = profile {
        let groups = match_cases(profile, &dataset)?;
        dataset.warnings.extend(profile::idle_rules(profile, &dataset, &groups));
        let names = groups.iter().filter_map(|group| profile.groups.get(usize::from(*group)));
        per_group = Some(counted(names.map(|group| group.name.as_str())));
    }
    Ok(dataset_summary(dataset, per_group))
}

fn counted<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.to_string()).or_insert(0) += 1;
    }
    counts
}

fn listed(counts: &BTreeMap<String, usize>) -> String {
    const SHOWN: usize = 12;
    let mut parts: Vec<String> = counts.iter().take(SHOWN).map(|(word, count)| format!("{word} {count}")).collect();
    if counts.len() > SHOWN {
        parts.push(format!("and {} more", counts.len() - SHOWN));
    }
    parts.join(", ")
}

fn dataset_summary(dataset: Dataset, per_group: Option<BTreeMap<String, usize>>) -> Summary {
    let ids = || dataset.cases.iter().map(|case| case.id.as_str());
    let (first, last) = (ids().next().unwrap_or_default(), ids().next_back().unwrap_or_default());
    let task_types = counted(dataset.cases.iter().filter_map(|case| case.task_type.as_deref()));
    let tags = counted(dataset.cases.iter().flat_map(|case| &case.tags).map(String::as_str));
    let with_expected = dataset.cases.iter().filter(|case| case.expected.is_some()).count();
    let generated = dataset.ids_generated;
    let mut lines = vec![
        format!("{}: valid", dataset.file),
        format!("  cases     {} ({with_expected} with an expected answer), {first} to {last}", dataset.cases.len()),
    ];
    if generated > 0 {
        lines.push(format!("  ids       {generated} made from the content"));
    }
    let rows = [("groups", per_group.as_ref()), ("types", Some(&task_types)), ("tags", Some(&tags))];
    for (title, counts) in
        rows.into_iter().filter_map(|(title, counts)| Some((title, counts?))).filter(|row| !row.1.is_empty())
    {
        lines.push(format!("  {title:<9} {}", listed(counts)));
    }
    lines.push(format!("  digest    {}", dataset.digest));
    let json = json!({
        "name": dataset.name, "version": dataset.version, "cases": dataset.cases.len(), "with_expected": with_expected,
        "ids_generated": generated, "first_id": first, "last_id": last, "groups": per_group, "task_types": task_types,
        "tags": tags, "digest": dataset.digest.to_string(),
    });
    Summary { lines, json, warnings: dataset.warnings }
}

fn profile_summary(profile: &Profile, warnings: Vec<Warning>) -> Summary {
    let evaluators: usize = profile.groups.iter().map(|group| group.bindings.len()).sum();
    let mut lines = vec![format!("{} {}: valid", profile.name, profile.version)];
    for group in &profile.groups {
        let dimensions: Vec<&str> = group.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        lines.push(format!(
            "  group     {}: {} evaluators, dimensions {}",
            group.name,
            group.bindings.len(),
            dimensions.join(", ")
        ));
    }
    lines.push(format!("  gate      {} rules, {} repeats a case", profile.gate.len(), profile.repeats));
    let unavailable: Vec<Value> = profile::unavailable_evaluators(profile)
        .iter()
        .map(|(_, binding)| Value::from(binding.evaluator.reference.as_str()))
        .collect();
    let groups: Vec<&str> = profile.groups.iter().map(|group| group.name.as_str()).collect();
    let json = json!({
        "profile": profile.name, "version": profile.version, "groups": groups, "evaluators": evaluators,
        "rules": profile.gate.len(), "repeats": profile.repeats, "unavailable": unavailable,
    });
    Summary { lines, json, warnings }
}

/// Says what came of one file; returns its exit code.
fn tell(
    file: &Path,
    outcome: Result<Summary, Problems>,
    as_json: bool,
    out: &mut dyn Write,
    people: &mut dyn Write,
) -> io::Result<u8> {
    let code = u8::from(outcome.is_err());
    if as_json {
        let file = file.display().to_string();
        let object = match outcome {
            Ok(Summary { json, warnings, .. }) => {
                json!({"file": file, "valid": true, "summary": json, "warnings": warnings})
            }
            Err(Problems { problems, more }) => {
                json!({"file": file, "valid": false, "problems": problems, "more": more})
            }
        };
        writeln!(out, "{object}")?;
        return Ok(code);
    }
    match outcome {
        Ok(summary) => {
            for warning in &summary.warnings {
                writeln!(people, "{warning}")?;
            }
            for line in &summary.lines {
                writeln!(out, "{line}")?;
            }
        }
        Err(problems) => {
            writeln!(people, "{problems}")?;
            let count = problems.count();
            writeln!(people, "{}: {count} {}", file.display(), if count == 1 { "problem" } else { "problems" })?;
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::testing::TestCatalog;

    fn corpus(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
    }

    fn datasets(names: &[&str], profile: Option<&str>, json: bool) -> (u8, String, String) {
        let files = names.iter().map(|name| corpus(&format!("datasets/{name}"))).collect();
        let command = DatasetValidate { files, profile: profile.map(|name| corpus(&format!("profiles/{name}"))), json };
        let (mut out, mut people) = (vec![], vec![]);
        let code = command.execute(&TestCatalog, &mut out, &mut people).expect("written");
        (code, String::from_utf8(out).expect("UTF-8"), String::from_utf8(people).expect("UTF-8"))
    }

    #[test]
    fn a_valid_dataset_is_summed_up_on_stdout() {
        let (code, out, people) = datasets(&["crlf.jsonl"], Some("minimal.yaml"), false);
        assert_eq!((code, people.as_str()), (0, ""));
        assert!(
            out.contains("cases     2 (2 with an expected answer), a to b\n  groups    all 2\n  digest    "),
            "{out}"
        );
    }

    #[test]
    fn empty_datasets_are_refused() {
        for file in ["empty.jsonl", "only-blank.jsonl"] {
            let (code, out, people) = datasets(&[file], None, false);
            assert_eq!((code, out.as_str()), (1, ""));
            assert!(people.contains("the dataset has no cases"), "{people}");
        }
    }

    #[test]
    fn one_bad_file_among_good_ones_decides_the_code() {
        let (code, out, people) = datasets(&["ragged.csv", "crlf.csv"], None, false);
        assert_eq!(code, 1);
        assert!(
            people.contains("ragged.csv:3:1:")
                && people.contains("ragged.csv:4:1:")
                && people.ends_with("ragged.csv: 2 problems\n")
        );
        assert!(out.contains("crlf.csv: valid"));
    }

    #[test]
    fn json_is_one_object_a_file_with_the_places() {
        let (code, out, people) = datasets(&["latin1.jsonl", "crlf.csv"], None, true);
        assert_eq!((code, people.as_str()), (1, ""));
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!((lines[0]["valid"].as_bool(), lines[1]["valid"].as_bool()), (Some(false), Some(true)));
        assert_eq!(lines[0]["problems"][0]["place"], json!({"line": 1, "column": 23}));
        assert_eq!(lines[0]["problems"][0]["byte_offset"], json!(22));
        assert_eq!(lines[1]["summary"]["cases"], json!(2));
    }

    #[test]
    fn profiles_are_validated_and_cases_matched_to_their_groups() {
        let files = ["full.yaml", "http-target.yaml", "judge-and-baseline.yaml"]
            .map(|name| corpus(&format!("profiles/{name}")));
        let (mut out, mut people) = (vec![], vec![]);
        let command = ProfileValidate { files: files.to_vec(), json: false };
        assert_eq!(command.execute(&TestCatalog, &mut out, &mut people).expect("written"), 0);
        assert!(
            String::from_utf8(out)
                .expect("UTF-8")
                .contains("support-agent-release 1.2.0: valid\n  group     answers: 3 evaluators")
        );
        let (code, _, people) = datasets(&["crlf.jsonl"], Some("full.yaml"), false);
        assert_eq!(code, 1);
        assert!(people.contains("no group takes the case `a`"));
    }
}
