//! How a page looks: width, colour, tables. Knows nothing of runs.

use super::text::{columns, fit, padded, wrapped};
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

/// The width of a page that is not on a terminal.
const WIDTH: usize = 100;
/// A wider terminal is not used to its end: long lines are hard to read.
const WIDTH_MAX: usize = 140;
/// Below this, lines are left to the terminal to break.
const WIDTH_MIN: usize = 80;
/// Columns of a table that a cut leaves.
const CUT_TO_MIN: usize = 12;

/// What a piece of text means; colours follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Nothing special.
    Plain,
    /// A title.
    Title,
    /// Less important.
    Dim,
    /// Well.
    Good,
    /// Not well.
    Bad,
    /// Not known.
    Doubt,
}

/// Width and colour of a page, and how commands on it name the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether to colour.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// The store that commands must name; `None` where it is the default one.
    pub store: Option<String>,
}

impl Default for Look {
    fn default() -> Look {
        Look { colour: false, width: WIDTH, store: None }
    }
}

impl Look {
    /// The look of this process's stdout: coloured and as wide as the terminal if it is
    /// one and `NO_COLOR` is not set, else plain and 100 columns wide.
    pub fn of_stdout() -> Look {
        let terminal = io::stdout().is_terminal();
        let width = terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
        Look {
            colour: wants_colour(terminal, std::env::var_os("NO_COLOR").as_deref()),
            width: width.unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH_MAX),
            store: None,
        }
    }

    /// The same for commands that must name a store.
    pub fn with_store(self, store: Option<String>) -> Look {
        Look { store, ..self }
    }

    /// The text in the colour of its style.
    pub fn paint(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_string(),
            Style::Title => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Bad => "31",
            Style::Doubt => "33",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }

    /// A title with an empty line before it.
    pub fn title(&self, out: &mut dyn Write, title: &str) -> io::Result<()> {
        writeln!(out, "\n{}", self.paint(Style::Title, title))
    }

    /// A paragraph, wrapped: the first line after `lead`, the others as far in.
    pub fn paragraph(&self, out: &mut dyn Write, lead: &str, style: Style, text: &str) -> io::Result<()> {
        let indent = columns(lead);
        for (index, line) in wrapped(text, self.width.saturating_sub(indent)).iter().enumerate() {
            let lead = if index == 0 { lead.to_string() } else { " ".repeat(indent) };
            writeln!(out, "{}", format!("{lead}{}", self.paint(style, line)).trim_end())?;
        }
        Ok(())
    }

    /// A command to copy, never broken.
    pub fn command(&self, out: &mut dyn Write, lead: &str, command: &str) -> io::Result<()> {
        let store = self.store.as_ref().map(|store| format!(" --store {}", super::text::shell_word(store)));
        writeln!(out, "{lead}tribunal {command}{}", store.unwrap_or_default())
    }
}

fn wants_colour(terminal: bool, no_color: Option<&OsStr>) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

/// A cell of a table: escaped text and what it means.
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell with a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::styled(text, Style::Plain)
    }
}

/// Rows under titles, aligned. A title that begins with `>` aligns its column to the
/// right; one that begins with `~` may have its cells cut where the page is narrow.
/// Ids and numbers never are: half of one is worse than a broken line.
pub struct Table {
    titles: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

struct Column {
    title: String,
    right: bool,
    may_be_cut: bool,
}

impl Table {
    /// A table without rows.
    pub fn new(titles: &[&str]) -> Table {
        let column = |title: &&str| Column {
            title: title.trim_start_matches(['>', '~']).to_string(),
            right: title.starts_with('>'),
            may_be_cut: title.starts_with('~'),
        };
        Table { titles: titles.iter().map(column).collect(), rows: vec![] }
    }

    /// Adds a row; it has a cell for every title.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.titles.len());
        self.rows.push(cells);
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, indented by two; too wide, the widest columns that may be cut are cut.
    pub fn write(&self, out: &mut dyn Write, look: &Look) -> io::Result<()> {
        let widths = self.widths(look.width);
        let titles = self.titles.iter().map(|column| (column.title.as_str(), Style::Dim)).collect();
        self.write_row(out, look, &widths, titles)?;
        for row in &self.rows {
            let cells = row.iter().map(|cell| (cell.text.as_str(), cell.style)).collect();
            self.write_row(out, look, &widths, cells)?;
        }
        Ok(())
    }

    fn write_row(
        &self,
        out: &mut dyn Write,
        look: &Look,
        widths: &[usize],
        cells: Vec<(&str, Style)>,
    ) -> io::Result<()> {
        let mut line = String::new();
        let mut gap = 0;
        for (((text, style), width), column) in cells.into_iter().zip(widths).zip(&self.titles) {
            let shown = fit(text, *width);
            let space = width - columns(&shown);
            let (before, after) = if column.right { (space, 0) } else { (0, space) };
            if !shown.is_empty() {
                line.push_str(&" ".repeat(gap + 2 + before));
                line.push_str(&look.paint(style, &shown));
                gap = after;
            } else {
                gap += 2 + width;
            }
        }
        writeln!(out, "{line}")
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let wanted = |index: usize| {
            let cells = self.rows.iter().map(|row| columns(&row[index].text));
            cells.chain([columns(&self.titles[index].title)]).max().unwrap_or_default()
        };
        let mut widths: Vec<usize> = (0..self.titles.len()).map(wanted).collect();
        let mut excess = widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(width);
        while excess > 0 {
            let flexible = widths.iter_mut().zip(&self.titles).filter(|(_, column)| column.may_be_cut);
            let widest = flexible.map(|(width, _)| width).max_by_key(|width| **width);
            let Some(widest) = widest.filter(|width| **width > CUT_TO_MIN) else { break };
            *widest -= 1;
            excess -= 1;
        }
        widths
    }
}

/// `name` and a padded value on a line, indented by two.
pub fn field(out: &mut dyn Write, look: &Look, name: &str, text: &str) -> io::Result<()> {
    look.paragraph(out, &format!("  {} ", padded(name, 11, false)), Style::Plain, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_needs_a_terminal_and_no_word_against_it() {
        assert!(wants_colour(true, None));
        assert!(wants_colour(true, Some(OsStr::new(""))));
        assert!(!wants_colour(true, Some(OsStr::new("1"))));
        assert!(!wants_colour(false, None));
    }

    #[test]
    fn a_table_is_aligned_and_too_wide_its_widest_column_is_cut() {
        let mut table = Table::new(&["~name", ">n"]);
        table.row(vec!["short".into(), "7".into()]);
        table.row(vec!["東京".into(), "12345".into()]);
        table.row(vec!["x".repeat(90).into(), "1".into()]);
        let mut out = vec![];
        table.write(&mut out, &Look { width: 60, ..Look::default() }).expect("written");
        let text = String::from_utf8(out).expect("UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| columns(line) == 60), "{text}");
        assert!(lines[3].ends_with("x…      1"), "{text}");
    }

    #[test]
    fn what_may_not_be_cut_stays_whole_and_the_line_grows() {
        let mut table = Table::new(&["id", "~name"]);
        table.row(vec!["x".repeat(26).into(), "y".repeat(30).into()]);
        let mut out = vec![];
        table.write(&mut out, &Look { width: 30, ..Look::default() }).expect("written");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(text.lines().nth(1), Some(format!("  {}  {}…", "x".repeat(26), "y".repeat(11)).as_str()));
    }

    #[test]
    fn a_paragraph_hangs_below_its_first_line() {
        let mut out = vec![];
        let look = Look { width: 20, ..Look::default() };
        look.paragraph(&mut out, "  - ", Style::Bad, "one two three four five").expect("written");
        assert_eq!(String::from_utf8(out).expect("UTF-8"), "  - one two three\n    four five\n");
    }
}
