//! What is wrong with a file, all at once: every problem with its place, what
//! was found, what was expected and what to do about it.
//!
//! A reader never stops at the first problem it can step over. It writes into
//! an [`Inspection`], which keeps the first [`SHOWN_MAX`] problems and counts
//! the rest, so that a broken file of a million lines costs no memory.

use serde::Serialize;
use std::fmt;

/// Problems and warnings that are kept of one file; more than a screen or two helps nobody.
pub const SHOWN_MAX: usize = 50;

/// A place in a text file, both counted from 1; the column counts characters, not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl Place {
    /// A place.
    pub const fn new(line: u32, column: u32) -> Place {
        Place { line, column }
    }
}

/// One thing that must be changed before the file can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, as it was named.
    pub file: String,
    /// Where; `None` where the problem is the file itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The offset from the beginning of the file, for encoding errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_offset: Option<u64>,
    /// What was found and what was expected.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// A problem of a file as a whole.
    pub fn of_file(file: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        Problem { file: file.into(), place: None, byte_offset: None, message: message.into(), hint }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, grade: &str) -> fmt::Result {
        f.write_str(&shown(&self.file))?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {grade}{}", shown(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {}", shown(hint)),
            None => Ok(()),
        }
    }
}

/// Text of a file on its way to a terminal: control characters are escaped, so
/// that a dataset cannot move the cursor or colour the screen.
fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => safe.push_str("\\n"),
            _ if character.is_control() => safe.extend(character.escape_default()),
            _ => safe.push(character),
        }
    }
    safe
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

/// One thing that is probably not meant, but can be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Warning(pub Problem);

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, "warning: ")
    }
}

/// Everything that is wrong with a file, in the order of the file. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problems {
    /// The first [`SHOWN_MAX`] problems.
    pub problems: Vec<Problem>,
    /// How many more there are.
    pub more: u64,
}

impl Problems {
    /// How many problems there are, shown or not.
    pub fn count(&self) -> u64 {
        self.problems.len() as u64 + self.more
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems { problems: vec![problem], more: 0 }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// What a reader has to say of one file, while it reads.
#[derive(Debug)]
pub struct Inspection {
    file: String,
    problems: Vec<Problem>,
    problems_more: u64,
    warnings: Vec<Warning>,
    warnings_more: u64,
}

impl Inspection {
    /// An inspection with nothing to say yet.
    pub fn new(file: impl Into<String>) -> Inspection {
        Inspection { file: file.into(), problems: vec![], problems_more: 0, warnings: vec![], warnings_more: 0 }
    }

    /// The file, as it was named.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Notes a problem; an empty hint is none.
    pub fn refuse(&mut self, place: impl Into<Option<Place>>, message: impl Into<String>, hint: impl Into<String>) {
        let mut problem = Problem::of_file(self.file.clone(), message, hint);
        problem.place = place.into();
        self.add(problem);
    }

    /// Notes a problem that was made elsewhere.
    pub fn add(&mut self, problem: Problem) {
        if self.problems.len() < SHOWN_MAX {
            self.problems.push(problem);
        } else {
            self.problems_more += 1;
        }
    }

    /// Notes a warning; an empty hint is none.
    pub fn warn(&mut self, place: impl Into<Option<Place>>, message: impl Into<String>, hint: impl Into<String>) {
        if self.warnings.len() >= SHOWN_MAX {
            self.warnings_more += 1;
            return;
        }
        let mut problem = Problem::of_file(self.file.clone(), message, hint);
        problem.place = place.into();
        self.warnings.push(Warning(problem));
    }

    /// Whether there is a problem so far.
    pub fn is_refused(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The warnings when there is no problem; else all problems.
    pub fn finish(mut self) -> Result<Vec<Warning>, Problems> {
        if !self.problems.is_empty() {
            self.problems.sort_by_key(|problem| problem.place);
            return Err(Problems { problems: self.problems, more: self.problems_more });
        }
        self.warnings.sort_by_key(|warning| warning.0.place);
        if self.warnings_more > 0 {
            let more = format!("and {} more warnings", self.warnings_more);
            self.warnings.push(Warning(Problem::of_file(self.file, more, "")));
        }
        Ok(self.warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_come_in_the_order_of_the_file_with_their_hints() {
        let mut inspection = Inspection::new("a.jsonl");
        inspection.refuse(Place::new(9, 1), "late", "");
        inspection.refuse(Place::new(2, 7), "early", "do this");
        let problems = inspection.finish().expect_err("there are problems");
        assert_eq!(problems.to_string(), "a.jsonl:2:7: early\n  hint: do this\na.jsonl:9:1: late");
    }

    #[test]
    fn problems_past_the_cap_are_counted() {
        let mut inspection = Inspection::new("a");
        for line in 1..=SHOWN_MAX as u32 {
            inspection.refuse(Place::new(line, 1), "x", "");
        }
        inspection.refuse(Place::new(99, 1), "x", "");
        let problems = inspection.finish().expect_err("there are problems");
        assert_eq!((problems.problems.len(), problems.more, problems.count()), (50, 1, 51));
        assert!(problems.to_string().ends_with("a:50:1: x\nand 1 more"));
    }

    #[test]
    fn a_problem_cannot_write_control_characters_to_the_terminal() {
        let problem = Problem::of_file("f", "found \u{1b}[31m\n", "");
        assert_eq!(problem.to_string(), "f: found \\u{1b}[31m\\n");
    }
}
