//! Datasets: files of cases in JSONL, JSON, YAML and CSV, read whole or not at all.
//!
//! The forms meet in two places. [`row`] turns whatever was written - an
//! object, a record - into a [`Case`] by the field names people already have;
//! [`ids`] gives ids to cases without one and refuses equal ones. Before that,
//! each form has its own reader: [`lines`] and [`csv`] hold one record at a
//! time, [`document`] one document.
//!
//! What a reader never does: leave a case out, keep the last of two values,
//! guess an encoding or a separator. An empty dataset is not an error here;
//! `dataset validate` refuses it, a run of it is inconclusive.

mod csv;
mod document;
mod ids;
mod lines;
mod row;

use super::limits::{self, CASES_MAX};
use super::node::{Node, Text};
use super::problem::{Inspection, Place, Problem, Problems, Warning};
use super::source;
use std::io::BufRead;
use std::path::Path;
use tribunal_schema::Digest;
use tribunal_schema::case::Case;

pub use ids::{canonical_case, content_digest};

/// A dataset that was read without a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The file, as it was named.
    pub file: String,
    /// Its name: what the file says in `name` or `dataset`, else the file's name without its ending.
    pub name: String,
    /// Its version, where the file says one.
    pub version: Option<String>,
    /// The cases in the order of the file; ids are unique. May be empty.
    pub cases: Vec<Case>,
    /// The line on which each case begins.
    pub lines: Vec<u32>,
    /// How many ids were made from the content.
    pub ids_generated: usize,
    /// SHA-256 over the canonical JSON of every case, each followed by a line feed.
    pub digest: Digest,
    /// What is probably not meant.
    pub warnings: Vec<Warning>,
}

/// The form a dataset is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// A JSON list of cases, or an object that holds one.
    Json,
    /// The same in YAML 1.2.
    Yaml,
    /// RFC 4180 with a header and commas.
    Csv,
}

impl Format {
    /// The form that a file's ending names.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" | "jsonlines" => Some(Format::Jsonl),
            "json" => Some(Format::Json),
            "yaml" | "yml" => Some(Format::Yaml),
            "csv" => Some(Format::Csv),
            _ => None,
        }
    }
}

/// Reads a dataset; the file's ending says its form.
///
/// # Errors
/// All problems of the file, at most [`SHOWN_MAX`](super::problem::SHOWN_MAX) of them in words.
pub fn read_dataset(path: &Path) -> Result<Dataset, Problems> {
    let file = source::shown(path);
    let Some(format) = Format::of(path) else {
        let hint = "name it .jsonl, .json, .yaml or .csv after what is in it";
        return Err(Problem::of_file(file, "the file's ending does not say which form of dataset it is", hint).into());
    };
    let name = path.file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
    read_from(source::open(path)?, format, &file, &name)
}

/// Reads a dataset from anywhere; `file` is what problems call it, `name` its name unless it says one itself.
///
/// # Errors
/// As [`read_dataset`].
pub fn read_from(mut reader: impl BufRead, format: Format, file: &str, name: &str) -> Result<Dataset, Problems> {
    let first = reader.fill_buf().map_err(|error| Problem::of_file(file, format!("cannot be read: {error}"), ""))?;
    if let Some(encoding) = source::foreign_encoding(first) {
        return Err(source::foreign(file, encoding).into());
    }
    let mut gathering = Gathering::new(file, name);
    match format {
        Format::Jsonl => lines::read(reader, &mut gathering),
        Format::Csv => csv::read(reader, &mut gathering),
        Format::Json => {
            let bytes = source::read_all(file, reader, limits::JSON_FILE_BYTES_MAX)?;
            document::read_json(&bytes, &mut gathering);
        }
        Format::Yaml => {
            let bytes = source::read_all(file, reader, limits::YAML_FILE_BYTES_MAX)?;
            document::read_yaml(&bytes, &mut gathering);
        }
    }
    gathering.finish()
}

/// A dataset while it is read.
struct Gathering {
    inspection: Inspection,
    name: String,
    version: Option<String>,
    cases: Vec<Case>,
    places: Vec<Place>,
}

impl Gathering {
    fn new(file: &str, name: &str) -> Gathering {
        let inspection = Inspection::new(file);
        Gathering { inspection, name: name.into(), version: None, cases: vec![], places: vec![] }
    }

    /// Takes one row; `false` when no more are read.
    fn row(&mut self, node: Node, text: &Text<'_>, origin: row::Origin) -> bool {
        let at = node.at as usize;
        if self.cases.len() == CASES_MAX {
            let message = format!("found more than {CASES_MAX} cases, which is the limit of a dataset");
            self.inspection.refuse(text.place(at), message, "split the dataset");
            return false;
        }
        if let Some((case, id_at)) = row::case(node, text, origin, &mut self.inspection) {
            self.cases.push(case);
            self.places.push(text.place(id_at.unwrap_or(at)));
        }
        true
    }

    fn finish(self) -> Result<Dataset, Problems> {
        let Gathering { mut inspection, name, version, mut cases, places } = self;
        let ids_generated = ids::settle(&mut cases, &places, &mut inspection);
        let file = inspection.file().to_string();
        let warnings = inspection.finish()?;
        let digest = ids::dataset_digest(&cases);
        cases.shrink_to_fit();
        let lines = places.iter().map(|place| place.line).collect();
        Ok(Dataset { file, name, version, cases, lines, ids_generated, digest, warnings })
    }
}

#[cfg(test)]
mod tests;
