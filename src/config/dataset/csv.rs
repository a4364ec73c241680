//! CSV as RFC 4180 has it: a header, commas, double quotes, one record in
//! memory at a time.
//!
//! Our own reader of records, because the usual ones read a quote that is never
//! closed, or stands in the middle of a value, without a word, and then half a
//! file is one value. Line breaks inside quotes are kept as they are. An empty
//! cell is nothing. Another separator is recognised only to be called by its name.

use super::super::limits::{self, RECORD_BYTES_MAX};
use super::super::near::near;
use super::super::node::{Entry, Flaw, Kind, Node, Text, excerpt, key_flaws, line_starts};
use super::super::problem::Place;
use super::super::source;
use super::Gathering;
use super::lines::unreadable;
use super::row::{INPUT_NAMES, Origin};
use std::io::{self, BufRead};

/// Reads header and records.
pub fn read(reader: impl BufRead, gathering: &mut Gathering) {
    let mut records = Records { reader, raw: vec![], cells: vec![], line: 1, line_next: 1, offset: 0, offset_next: 0 };
    let mut header: Option<Vec<String>> = None;
    loop {
        let ended = match records.next() {
            Ok(ended) => ended,
            Err(error) => return unreadable(gathering, &error),
        };
        let is_last = !matches!(ended, Ended::Record);
        let whole = !matches!(ended, Ended::TooLong { .. });
        if whole && !records.is_blank() {
            match &header {
                Some(names) => {
                    if !read_record(&records, names, ended, gathering) {
                        return;
                    }
                }
                None => match read_header(&records, ended, gathering) {
                    Some(names) => header = Some(names),
                    None => return,
                },
            }
        } else if !whole {
            return too_long(&records, ended, gathering);
        }
        if is_last {
            return;
        }
    }
}

/// A record's text, with flaws and foreign bytes noted; `None` when it has any.
fn checked<'a, R>(records: &'a Records<R>, ended: Ended, gathering: &mut Gathering) -> Option<Text<'a>> {
    match source::text(gathering.inspection.file(), &records.raw, records.line, records.offset) {
        Ok(written) => {
            let text = Text::new(written, records.line);
            let flaws: Vec<Flaw> =
                records.cells.iter().filter_map(|cell| cell.flaw(written)).chain(ended.flaw()).collect();
            let sound = flaws.is_empty();
            text.report(flaws, &mut gathering.inspection);
            sound.then_some(text)
        }
        Err(problems) => {
            problems.into_iter().for_each(|problem| gathering.inspection.add(problem));
            None
        }
    }
}

fn read_header<R>(records: &Records<R>, ended: Ended, gathering: &mut Gathering) -> Option<Vec<String>> {
    let text = checked(records, ended, gathering)?;
    let names: Vec<String> = records.cells.iter().map(|cell| cell.value(text.text).trim().to_string()).collect();
    let column = |index: usize| text.place(records.cells[index].start);
    for (index, name) in names.iter().enumerate() {
        let place = column(index);
        if name.is_empty() {
            let message = format!("column {} has no name in the header", index + 1);
            gathering.inspection.refuse(place, message, "name the column, or remove it");
        } else if let Some(first) = names[..index].iter().position(|earlier| earlier == name) {
            let message = format!("column {} is named `{}` like column {}", index + 1, excerpt(name), first + 1);
            gathering.inspection.refuse(place, message, "rename or remove one of the two: a value would be lost");
        }
    }
    if !names.iter().any(|name| INPUT_NAMES.contains(&name.as_str())) {
        let shown = excerpt(&names.join(", "));
        let message =
            format!("no input column: found the header `{shown}`, expected one of {}", INPUT_NAMES.join(", "));
        gathering.inspection.refuse(text.place(0), message, header_hint(&names));
    }
    (!gathering.inspection.is_refused()).then_some(names)
}

fn header_hint(names: &[String]) -> String {
    let joined = names.join(",");
    for (separator, shown) in [(';', ";"), ('\t', "tab"), ('|', "|")] {
        let has_input = joined.split(separator).any(|name| INPUT_NAMES.contains(&name.trim().trim_matches('"')));
        if joined.contains(separator) && (has_input || joined.starts_with("sep=")) {
            return format!("the separator looks like `{shown}`: save the file with commas");
        }
    }
    match names.iter().find_map(|name| Some((name, near(name, INPUT_NAMES)?))) {
        Some((name, meant)) => format!("did you mean `{meant}` by `{}`?", excerpt(name)),
        None => "the first line names the columns, for example: id,input,expected".into(),
    }
}

/// Reads one record; `false` when nothing more can be made of the file.
fn read_record<R>(records: &Records<R>, names: &[String], ended: Ended, gathering: &mut Gathering) -> bool {
    if records.offset_next > limits::STREAMED_FILE_BYTES_MAX {
        let problem = source::too_large(gathering.inspection.file(), limits::STREAMED_FILE_BYTES_MAX);
        gathering.inspection.add(problem);
        return false;
    }
    let Some(text) = checked(records, ended, gathering) else { return true };
    if records.cells.len() != names.len() {
        let message = format!("found {} fields, expected {} as in the header", records.cells.len(), names.len());
        let hint = "a value that holds a comma stands in double quotes";
        gathering.inspection.refuse(Place::new(records.line, 1), message, hint);
        return true;
    }
    let entry = |(cell, name): (&Cell, &String)| {
        let at = cell.start as u32;
        Entry { at, key: name.clone(), node: Node { at, kind: Kind::Text(cell.value(text.text)) } }
    };
    let entries: Vec<Entry> = records.cells.iter().zip(names).map(entry).collect();
    let flaws = key_flaws(&entries);
    if !flaws.is_empty() {
        text.report(flaws, &mut gathering.inspection);
        return false;
    }
    gathering.row(Node { at: 0, kind: Kind::Map(entries) }, &text, Origin::Record)
}

fn too_long<R>(records: &Records<R>, ended: Ended, gathering: &mut Gathering) {
    let limit = limits::bytes(RECORD_BYTES_MAX as u64);
    let lossy = String::from_utf8_lossy(&records.raw);
    let text = Text::new(&lossy, records.line);
    let message = format!("found a record of more than {limit}, which is the limit of a case");
    gathering.inspection.refuse(text.place(0), message, "keep large material outside the dataset");
    text.report(ended.flaw().into_iter().collect(), &mut gathering.inspection);
}

/// How a record ended.
#[derive(Clone, Copy)]
enum Ended {
    /// At a line end: there may be another.
    Record,
    /// At the end of the file; inside quotes that were opened at the offset, if any.
    File { open_quote: Option<usize> },
    /// At the limit.
    TooLong { open_quote: Option<usize> },
}

impl Ended {
    fn flaw(self) -> Option<Flaw> {
        match self {
            Ended::Record => None,
            Ended::File { open_quote } | Ended::TooLong { open_quote } => {
                let message = "found a double quote that is never closed, expected its partner";
                Some(Flaw::new(open_quote?, message, "close it; a quote inside a quoted value is written twice"))
            }
        }
    }
}

/// One value of a record.
#[derive(Clone, Copy)]
struct Cell {
    start: usize,
    end: usize,
    quoted: bool,
    /// Where a quote stands that should not.
    stray_quote: Option<usize>,
}

impl Cell {
    fn value(&self, record: &str) -> String {
        let written = &record[self.start..self.end];
        if !self.quoted {
            return written.into();
        }
        let inner = written.strip_prefix('"').unwrap_or(written);
        inner.strip_suffix('"').unwrap_or(inner).replace("\"\"", "\"")
    }

    fn flaw(&self, record: &str) -> Option<Flaw> {
        let at = self.stray_quote?;
        Some(if self.quoted {
            let found = record[at..].chars().next().unwrap_or(' ');
            let message =
                format!("found {found:?} after the closing quote of a value, expected a comma or the end of the line");
            Flaw::new(at, message, "a quote inside a quoted value is written twice")
        } else {
            let message = "found a double quote inside a value that does not begin with one";
            Flaw::new(
                at,
                message,
                "put the whole value in double quotes, without a space before them, and write inner quotes twice",
            )
        })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Begin,
    Plain,
    Quoted,
    /// After a quote inside quotes: the end of the value, or half of an escaped quote.
    QuoteSeen,
}

struct Records<R> {
    reader: R,
    raw: Vec<u8>,
    cells: Vec<Cell>,
    line: u32,
    line_next: u32,
    offset: u64,
    offset_next: u64,
}

impl<R> Records<R> {
    fn is_blank(&self) -> bool {
        self.raw.iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }
}

impl<R: BufRead> Records<R> {
    /// Reads the next record into `raw` and `cells`.
    fn next(&mut self) -> io::Result<Ended> {
        (self.line, self.offset) = (self.line_next, self.offset_next);
        self.raw.clear();
        self.cells.clear();
        if self.offset == 0 {
            self.skip_mark()?;
        }
        let mut state = State::Begin;
        let mut cell = Cell { start: 0, end: 0, quoted: false, stray_quote: None };
        let ended = loop {
            let open_quote = (state == State::Quoted).then_some(cell.start);
            let Some(byte) = self.byte()? else { break Ended::File { open_quote } };
            if self.raw.len() == RECORD_BYTES_MAX {
                break Ended::TooLong { open_quote };
            }
            let at = self.raw.len();
            match (state, byte) {
                (State::Quoted, _) => state = if byte == b'"' { State::QuoteSeen } else { State::Quoted },
                (_, b'\n' | b'\r') => {
                    if byte == b'\r' && self.reader.fill_buf()?.first() == Some(&b'\n') {
                        self.byte()?;
                    }
                    break Ended::Record;
                }
                (_, b',') => {
                    self.cells.push(Cell { end: at, ..cell });
                    cell = Cell { start: at + 1, end: 0, quoted: false, stray_quote: None };
                    state = State::Begin;
                }
                (State::Begin, b'"') => (state, cell.quoted) = (State::Quoted, true),
                (State::QuoteSeen, b'"') => state = State::Quoted,
                (State::Plain, b'"') | (State::QuoteSeen, _) => {
                    cell.stray_quote = cell.stray_quote.or(Some(at));
                    state = State::Plain;
                }
                (State::Begin | State::Plain, _) => state = State::Plain,
            }
            self.raw.push(byte);
        };
        self.cells.push(Cell { end: self.raw.len(), ..cell });
        self.line_next = self.line.saturating_add(1 + line_starts(&self.raw).count() as u32);
        Ok(ended)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.reader.fill_buf()?.first().copied();
        if byte.is_some() {
            self.reader.consume(1);
            self.offset_next += 1;
        }
        Ok(byte)
    }

    fn skip_mark(&mut self) -> io::Result<()> {
        let mark = source::mark_len(self.reader.fill_buf()?);
        self.reader.consume(mark);
        self.offset_next += mark as u64;
        self.offset = self.offset_next;
        Ok(())
    }
}
