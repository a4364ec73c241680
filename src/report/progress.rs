//! A run while it works: a bar on a terminal, now and then a line elsewhere.
//! Always on stderr: stdout is for the result.
//!
//! Logs go to stderr as well. [`log_writer`] takes the bar away while a line is
//! written, so that neither tears the other; give it to the subscriber.

use super::when::span;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tribunal_actors::ports::journal;

/// The bar that is on this process's stderr. One process has one stderr.
static ON_SCREEN: Mutex<Option<ProgressBar>> = Mutex::new(None);
/// A line is written when this time has passed since the last one, even without progress.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// And not before this, even with ten per cent more.
const LINE_AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A bar that is redrawn.
    Bar,
    /// Plain lines.
    Lines,
    /// Not at all.
    Silent,
}

impl Mode {
    /// A bar where stderr is a terminal, lines elsewhere; nothing with `--no-progress`.
    pub fn of_stderr(no_progress: bool) -> Mode {
        match (no_progress, io::stderr().is_terminal()) {
            (true, _) => Mode::Silent,
            (false, true) => Mode::Bar,
            (false, false) => Mode::Lines,
        }
    }
}

/// Shows how far a run is.
pub struct Progress {
    shown: Shown,
    total: u64,
    pace: Option<Pace>,
}

enum Shown {
    Bar(ProgressBar),
    Lines(Lines, Box<dyn Write + Send>),
    Nothing,
}

impl Progress {
    /// Progress of a run of `total` executions.
    pub fn new(mode: Mode, total: u64) -> Progress {
        let shown = match mode {
            Mode::Bar => Shown::Bar(bar(total)),
            Mode::Lines => Shown::Lines(Lines::default(), Box::new(io::stderr())),
            Mode::Silent => Shown::Nothing,
        };
        Progress { shown, total, pace: None }
    }

    /// Shows where the run stands. Cheap enough to be called at every change.
    pub fn update(&mut self, progress: &journal::Progress) {
        let now = Instant::now();
        let pace = *self.pace.get_or_insert(Pace { from: progress.settled(), since: now });
        let elapsed = now.duration_since(pace.since);
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_position(progress.settled());
                bar.set_message(words(progress, &pace, self.total, elapsed));
            }
            Shown::Lines(lines, out) => {
                if lines.is_due(progress.settled(), self.total, elapsed) {
                    let words = words(progress, &pace, self.total, elapsed);
                    // A closed stderr is no reason to end a run.
                    let _ = writeln!(out, "{}/{} {words}", progress.settled(), self.total);
                }
            }
            Shown::Nothing => {}
        }
    }

    /// Takes the bar away. Also done when dropped.
    pub fn finish(self) {}
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
            *ON_SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

fn bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}").expect("the template is well formed");
    bar.set_style(style.progress_chars("=> "));
    bar.enable_steady_tick(Duration::from_millis(250));
    *ON_SCREEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    bar
}

/// How fast it goes since this process looks: what an earlier process settled says
/// nothing about the speed of this one.
#[derive(Clone, Copy, Debug)]
struct Pace {
    from: u64,
    since: Instant,
}

impl Pace {
    /// Settled executions a second; `None` before there is anything to tell.
    fn rate(&self, settled: u64, elapsed: Duration) -> Option<f64> {
        let done = settled.saturating_sub(self.from);
        (done > 0 && elapsed >= Duration::from_millis(200)).then(|| done as f64 / elapsed.as_secs_f64())
    }
}

fn words(progress: &journal::Progress, pace: &Pace, total: u64, elapsed: Duration) -> String {
    let mut words = format!("{} passed, {} failed, {} errored", progress.passed, progress.failed, progress.errored);
    if progress.abstained > 0 {
        words += &format!(", {} abstained", progress.abstained);
    }
    let settled = progress.settled();
    if let Some(rate) = pace.rate(settled, elapsed) {
        let left = (total.saturating_sub(settled) as f64 / rate * 1000.0) as u64;
        let digits = usize::from(rate < 10.0);
        words += &format!(" · {rate:.digits$}/s");
        if left > 0 {
            words += &format!(" · {} left", span(left));
        }
    }
    words
}

/// When the next line is due.
#[derive(Debug, Default)]
struct Lines {
    last: Option<(Duration, u64)>,
}

impl Lines {
    /// At the first look, at the end, at every tenth of the way (a second apart at least), and every five seconds.
    fn is_due(&mut self, settled: u64, total: u64, elapsed: Duration) -> bool {
        let tenth = (settled * 10).checked_div(total).unwrap_or_default();
        let due = match self.last {
            None => true,
            Some((at, last)) => {
                let since = elapsed.saturating_sub(at);
                let ended = settled >= total && last < total;
                let last_tenth = (last * 10).checked_div(total).unwrap_or_default();
                ended || since >= LINE_EVERY || (tenth > last_tenth && since >= LINE_AT_MOST_EVERY)
            }
        };
        if due {
            self.last = Some((elapsed, settled));
        }
        due
    }
}

/// A writer of log lines on stderr that takes the bar away while it writes.
pub fn log_writer() -> LogWriter {
    LogWriter
}

/// See [`log_writer`].
#[derive(Clone, Copy, Debug)]
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bar = ON_SCREEN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match bar {
            Some(bar) => bar.suspend(|| io::stderr().write(bytes)),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn lines_come_at_tenths_a_second_apart_or_after_five_seconds_and_at_the_end() {
        let mut lines = Lines::default();
        assert!(lines.is_due(0, 100, at(0)), "the first look");
        assert!(!lines.is_due(9, 100, at(4999)), "neither a tenth nor five seconds");
        assert!(lines.is_due(9, 100, at(5000)), "five seconds");
        assert!(!lines.is_due(10, 100, at(5999)), "a tenth too soon");
        assert!(lines.is_due(10, 100, at(6000)), "a tenth");
        assert!(!lines.is_due(19, 100, at(7000)), "not the next tenth");
        assert!(lines.is_due(100, 100, at(6001)), "the end, at once");
        assert!(!lines.is_due(100, 100, at(6002)), "the end, once");
        assert!(Lines::default().is_due(0, 0, at(0)), "a run of nothing");
    }

    #[test]
    fn what_an_earlier_process_settled_is_not_this_ones_speed() {
        let progress = journal::Progress { executions: 1000, passed: 590, failed: 8, errored: 2, abstained: 0 };
        let pace = Pace { from: 500, since: Instant::now() };
        assert_eq!(words(&progress, &pace, 1000, at(10_000)), "590 passed, 8 failed, 2 errored · 10/s · 40.0 s left");
        assert_eq!(words(&progress, &pace, 600, at(100_000)), "590 passed, 8 failed, 2 errored · 1.0/s");
        let nothing_yet = Pace { from: 600, ..pace };
        assert_eq!(words(&progress, &nothing_yet, 1000, at(10_000)), "590 passed, 8 failed, 2 errored");
    }
}
