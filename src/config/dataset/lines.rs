//! JSONL: one JSON object a line, one line in memory at a time.
//!
//! Lines end in LF, with or without CR before it; other characters that some
//! tools call line ends (U+2028, U+0085) are part of the text. Blank lines are
//! stepped over. Every line is read on its own, so that one bad line does not
//! hide the next.

use super::super::json;
use super::super::limits::{self, RECORD_BYTES_MAX};
use super::super::node::{Flaw, Text};
use super::super::problem::{Place, Problem};
use super::super::source;
use super::Gathering;
use super::row::Origin;
use std::io::{self, BufRead};

/// Reads all lines.
pub fn read(mut reader: impl BufRead, gathering: &mut Gathering) {
    let mut line = vec![];
    let (mut number, mut offset, mut seen) = (0_u32, 0_u64, false);
    loop {
        let length = match next_line(&mut reader, &mut line) {
            Ok(0) => return,
            Ok(length) => length,
            Err(error) => return unreadable(gathering, &error),
        };
        number = number.saturating_add(1);
        if length > RECORD_BYTES_MAX as u64 {
            too_long(gathering, number);
        } else if !read_line(&line, number, offset, &mut seen, gathering) {
            return;
        }
        offset += length;
        if offset > limits::STREAMED_FILE_BYTES_MAX {
            let problem = source::too_large(gathering.inspection.file(), limits::STREAMED_FILE_BYTES_MAX);
            return gathering.inspection.add(problem);
        }
    }
}

/// Notes that the file could not be read to its end.
pub fn unreadable(gathering: &mut Gathering, error: &io::Error) {
    let problem = Problem::of_file(gathering.inspection.file(), format!("cannot be read: {error}"), "");
    gathering.inspection.add(problem);
}

fn too_long(gathering: &mut Gathering, number: u32) {
    let limit = limits::bytes(RECORD_BYTES_MAX as u64);
    let message = format!("found a line of more than {limit}, which is the limit of a case");
    gathering.inspection.refuse(Place::new(number, 1), message, "keep large material outside the dataset");
}

/// Reads one line; `false` when nothing more can be made of the file.
fn read_line(line: &[u8], number: u32, offset: u64, seen: &mut bool, gathering: &mut Gathering) -> bool {
    // Files that were joined carry a byte order mark in their middle.
    let mark = source::mark_len(line);
    let written = match source::text(gathering.inspection.file(), &line[mark..], number, offset + mark as u64) {
        Ok(written) => written.trim_end_matches(['\n', '\r']),
        Err(problems) => {
            problems.into_iter().for_each(|problem| gathering.inspection.add(problem));
            return true;
        }
    };
    if written.trim_matches([' ', '\t', '\r']).is_empty() {
        return true;
    }
    let first = !std::mem::replace(seen, true);
    let text = Text::new(written, number);
    match json::read(written, "the end of the line") {
        Ok(node) => gathering.row(node, &text, Origin::Object),
        Err(flaws) if first && opens_a_document(written, &flaws) => {
            let message = "found a JSON value that does not end on its line, expected one whole object a line";
            let hint = "this looks like one JSON document: name the file .json";
            gathering.inspection.refuse(text.place(0), message, hint);
            false
        }
        Err(flaws) => {
            text.report(flaws, &mut gathering.inspection);
            true
        }
    }
}

fn opens_a_document(line: &str, flaws: &[Flaw]) -> bool {
    matches!(line.trim(), "{" | "[") || (flaws.len() == 1 && line.trim() == "[{")
}

/// Reads the next line with its end into `line`, and returns its length: 0 at
/// the end of the file. Of a line past the limit only the beginning is kept.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut length = 0;
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = chunk.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(chunk.len());
        if line.len() <= RECORD_BYTES_MAX {
            line.extend_from_slice(&chunk[..taken]);
        }
        let done = end.is_some() || chunk.is_empty();
        reader.consume(taken);
        length += taken as u64;
        if done {
            return Ok(length);
        }
    }
}
