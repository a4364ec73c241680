//! References: how a profile names an evaluator.
//!
//! `std/contains` is one of the embedded component. `./my.wasm#strict` is one of
//! a file, relative to the profile's folder; `#strict` may be left out where the
//! component has one evaluator. `sha256:<64 hex digits>#strict` is one of a
//! component that is known here by its digest.

use super::standard;
use std::path::{Path, PathBuf};
use tribunal_schema::Digest;

/// A reference, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where the component is.
    pub origin: Origin,
    /// The evaluator's name, where it is told.
    pub name: Option<String>,
}

/// Where a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Embedded.
    Standard,
    /// In a file.
    File(PathBuf),
    /// Known by its digest.
    Digest(Digest),
}

/// Why a reference leads to no evaluator.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// It is not a reference.
    #[error("{reference:?} names no evaluator: write std/NAME, ./FILE.wasm#NAME or sha256:DIGEST#NAME")]
    Unreadable {
        /// As it was written.
        reference: String,
    },
    /// The file cannot be read.
    #[error("component {} cannot be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than a component may be.
    #[error("component {} has {bytes} bytes, at most {bytes_max} are allowed", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// No component of that digest was loaded here.
    #[error("no component {digest} is known here")]
    UnknownDigest {
        /// The digest.
        digest: Digest,
    },
    /// The component has no evaluator of that name.
    #[error("{reference}: there is no evaluator {name:?}{}; there are {}", hint(nearest), known.join(", "))]
    UnknownName {
        /// As it was written.
        reference: String,
        /// The name.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// The names there are.
        known: Vec<String>,
    },
    /// The component has several evaluators and the reference names none.
    #[error("{reference}: which evaluator? write {reference}#NAME with one of {}", known.join(", "))]
    NameNeeded {
        /// As it was written.
        reference: String,
        /// The names there are.
        known: Vec<String>,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|nearest| format!(" (did you mean {nearest:?}?)")).unwrap_or_default()
}

impl Reference {
    /// Reads a reference; a file is relative to `base`.
    ///
    /// # Errors
    /// [`ReferenceError::Unreadable`] for what is none of the three forms.
    pub fn parse(reference: &str, base: &Path) -> Result<Reference, ReferenceError> {
        let unreadable = || ReferenceError::Unreadable { reference: reference.into() };
        if let Some(name) = reference.strip_prefix("std/") {
            let name = Some(name.to_owned()).filter(|name| !name.is_empty()).ok_or_else(unreadable)?;
            return Ok(Reference { origin: Origin::Standard, name: Some(name) });
        }
        if reference == standard::NAME {
            return Ok(Reference { origin: Origin::Standard, name: None });
        }
        let (place, name) = match reference.rsplit_once('#') {
            Some((place, name)) if !name.is_empty() => (place, Some(name.to_owned())),
            Some(_) => return Err(unreadable()),
            None => (reference, None),
        };
        if let Some(digest) = place.strip_prefix("sha256:") {
            let digest = digest.parse().map_err(|_| unreadable())?;
            return Ok(Reference { origin: Origin::Digest(digest), name });
        }
        let is_file =
            place.ends_with(".wasm") || place.starts_with("./") || place.starts_with("../") || place.starts_with('/');
        if !is_file {
            return Err(unreadable());
        }
        Ok(Reference { origin: Origin::File(base.join(place)), name })
    }

    /// The evaluator's name among those that a component has.
    pub(super) fn choose(&self, reference: &str, known: Vec<String>) -> Result<String, ReferenceError> {
        let reference = reference.to_owned();
        match &self.name {
            Some(name) if known.contains(name) => Ok(name.clone()),
            Some(name) => {
                let nearest = nearest(name, &known);
                Err(ReferenceError::UnknownName { reference, name: name.clone(), nearest, known })
            }
            None => match <[String; 1]>::try_from(known) {
                Ok([only]) => Ok(only),
                Err(known) => Err(ReferenceError::NameNeeded { reference, known }),
            },
        }
    }
}

/// The name that is at most a third of its letters away: a slip, not another word.
fn nearest(name: &str, known: &[String]) -> Option<String> {
    let with_distance = known.iter().map(|known| (distance(name, known), known));
    let (distance, nearest) = with_distance.min()?;
    (distance * 3 <= nearest.len().max(name.len())).then(|| nearest.clone())
}

/// Levenshtein's distance.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in two.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(reference: &str) -> Result<Reference, ReferenceError> {
        Reference::parse(reference, Path::new("/profiles"))
    }

    #[test]
    fn the_three_forms_are_read() {
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(parse("std/equals").expect("std"), Reference { origin: Origin::Standard, name: name("equals") });
        let file = |path: &str| Origin::File(path.into());
        assert_eq!(
            parse("./a.wasm#b").expect("file"),
            Reference { origin: file("/profiles/./a.wasm"), name: name("b") }
        );
        assert_eq!(parse("/x/a.wasm").expect("file"), Reference { origin: file("/x/a.wasm"), name: None });
        let digest = Digest::of(b"x");
        let by_digest = parse(&format!("sha256:{digest}#b")).expect("digest");
        assert_eq!(by_digest, Reference { origin: Origin::Digest(digest), name: name("b") });
        for wrong in ["", "std/", "contains", "other/contains", "./a.wasm#", "sha256:12#a"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_name_that_was_meant() {
        let known = || vec!["contains".to_owned(), "equals".to_owned()];
        let error =
            parse("std/contain").expect("a reference").choose("std/contain", known()).expect_err("no such name");
        let text = error.to_string();
        assert!(text.contains(r#"did you mean "contains"?"#) && text.contains("contains, equals"), "{text}");
        let error = parse("std/llm-rubric").expect("a reference").choose("std/llm-rubric", known()).expect_err("none");
        assert!(!error.to_string().contains("did you mean"), "{error}");
    }
}
