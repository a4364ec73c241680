//! Opening files and deciding whether their bytes are text.
//!
//! Text is UTF-8 and nothing else: a byte that is not is named with its line
//! and offset, never replaced. A byte order mark at the beginning is stepped
//! over; UTF-16 is recognised so that it can be called by its name.

use super::limits;
use super::node::Text;
use super::problem::{Place, Problem};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// The file's name as problems show it.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Opens a file to be read.
pub fn open(path: &Path) -> Result<BufReader<File>, Problem> {
    let refuse = |reason: String, hint: &str| Problem::of_file(shown(path), reason, hint);
    let file = File::open(path).map_err(|error| refuse(format!("cannot be opened: {error}"), "check the path"))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            Err(refuse("is a directory, expected a file".into(), "name one file in it"))
        }
        Ok(_) => Ok(BufReader::with_capacity(1 << 16, file)),
        Err(error) => Err(refuse(format!("cannot be read: {error}"), "")),
    }
}

/// Everything in a file, up to a limit.
pub fn read_all(file: &str, reader: impl Read, bytes_max: u64) -> Result<Vec<u8>, Problem> {
    let mut bytes = vec![];
    let outcome = reader.take(bytes_max + 1).read_to_end(&mut bytes);
    outcome.map_err(|error| Problem::of_file(file, format!("cannot be read: {error}"), ""))?;
    if bytes.len() as u64 > bytes_max {
        return Err(too_large(file, bytes_max));
    }
    Ok(bytes)
}

/// The refusal of a file past its limit.
pub fn too_large(file: &str, bytes_max: u64) -> Problem {
    let message = format!("is larger than {}, which is the limit for this kind of file", limits::bytes(bytes_max));
    Problem::of_file(file, message, "split it; datasets in JSONL or CSV may be larger")
}

/// The text of bytes that begin at the line `line_first` and offset `offset_first`
/// of a file, or each line's first byte that is not UTF-8.
pub fn text<'a>(file: &str, bytes: &'a [u8], line_first: u32, offset_first: u64) -> Result<&'a str, Vec<Problem>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => Err(not_utf8(file, bytes, line_first, offset_first)),
    }
}

fn not_utf8(file: &str, bytes: &[u8], line_first: u32, offset_first: u64) -> Vec<Problem> {
    let lossy = String::from_utf8_lossy(bytes);
    let mut problems: Vec<Problem> = vec![];
    let text = Text::new(&lossy, line_first);
    let (mut at_lossy, mut at) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        at_lossy += chunk.valid().len();
        at += chunk.valid().len();
        let Some(byte) = chunk.invalid().first() else { continue };
        let place = text.place(at_lossy);
        if problems.last().and_then(|problem| problem.place).is_none_or(|last: Place| last.line != place.line) {
            problems.push(wrong_byte(file, *byte, place, offset_first + at as u64));
        }
        at_lossy += '\u{fffd}'.len_utf8();
        at += chunk.invalid().len();
    }
    problems
}

fn wrong_byte(file: &str, byte: u8, place: Place, offset: u64) -> Problem {
    let latin = if byte >= 0xa0 { format!(" (`{}` in Latin-1)", byte as char) } else { String::new() };
    let message = format!("not UTF-8: found the byte 0x{byte:02X}{latin} at byte offset {offset}, expected UTF-8 text");
    let hint = "save the file as UTF-8; from Latin-1: iconv -f LATIN1 -t UTF-8";
    let mut problem = Problem::of_file(file, message, hint);
    problem.place = Some(place);
    problem.byte_offset = Some(offset);
    problem
}

/// The name of an encoding that the first bytes of a file give away, when it is not UTF-8.
pub fn foreign_encoding(first: &[u8]) -> Option<&'static str> {
    match first {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        [a, 0, b, 0, ..] if *a != 0 && *b != 0 => Some("UTF-16"),
        [0, a, 0, b, ..] if *a != 0 && *b != 0 => Some("UTF-16"),
        _ => None,
    }
}

/// The refusal of a file in another encoding.
pub fn foreign(file: &str, encoding: &str) -> Problem {
    let message = format!("not UTF-8: the file is {encoding}, found at byte offset 0");
    let hint = format!("save the file as UTF-8: iconv -f {encoding} -t UTF-8");
    let mut problem = Problem::of_file(file, message, hint);
    problem.place = Some(Place::new(1, 1));
    problem.byte_offset = Some(0);
    problem
}

/// The length of the byte order mark that bytes begin with.
pub fn mark_len(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 }
}

/// The text of a whole file, without its byte order mark.
pub fn whole_text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Vec<Problem>> {
    if let Some(encoding) = foreign_encoding(bytes) {
        return Err(vec![foreign(file, encoding)]);
    }
    let mark = mark_len(bytes);
    text(file, &bytes[mark..], 1, mark as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_with_a_foreign_byte_is_named_once_with_its_offset() {
        let problems = text("f", b"ab\xe9\xe9\nok\n\xe4\xb8\xad\xff", 1, 10).expect_err("not UTF-8");
        let places: Vec<_> = problems.iter().map(|problem| (problem.place, problem.byte_offset)).collect();
        assert_eq!(places, [(Some(Place::new(1, 3)), Some(12)), (Some(Place::new(3, 2)), Some(21))]);
        assert!(problems[0].message.contains("0xE9 (`é` in Latin-1) at byte offset 12"));
    }

    #[test]
    fn utf_16_is_called_by_its_name_with_and_without_a_mark() {
        for bytes in [&b"\xff\xfe{\0\"\0"[..], b"\xfe\xff\0{\0\"", b"{\0\"\0", b"\0{\0\""] {
            assert_eq!(foreign_encoding(bytes), Some("UTF-16"));
        }
        assert_eq!(foreign_encoding(b"{\"id\""), None);
        assert_eq!(foreign_encoding(b""), None);
    }
}
