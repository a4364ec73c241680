//! Two processes on one journal: what one of them remembers may be old.

use super::{CommandError, Directory};
use crate::decider::Rejection;
use crate::ports::journal::IntentKind;
use crate::ports::journal::{Journal, JournalReader, Row};
use crate::run::{RunCommand, RunPhase};
use crate::shell::{Settings, Shell};
use crate::testing as plot;
use crate::testing::journal::MemoryJournal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tribunal_schema::ids::Incarnation;
use tribunal_schema::profile::SideEffects;
use ulid::Ulid;

struct Counted(AtomicU64);

impl crate::ports::chance::Chance for Counted {
    fn ulid(&self) -> Ulid {
        Ulid::from_parts(7, u128::from(self.0.fetch_add(1, Ordering::Relaxed)))
    }

    fn ppm(&self) -> u32 {
        0
    }
}

/// A process beside others on the same journal; `number` keeps its ids apart from theirs.
fn process(journal: &MemoryJournal, number: u64) -> Shell {
    Shell {
        directory: Directory::here(Arc::new(journal.beside())),
        chance: Arc::new(Counted(AtomicU64::new(number * 1_000_000))),
        holder: Incarnation(Ulid::from_parts(9, u128::from(number))),
        team: "t".into(),
        settings: Arc::new(Settings::default()),
        focus: Arc::default(),
    }
}

async fn open(shell: &Shell) -> Result<(), CommandError> {
    shell.ask_run(plot::run_id(), RunCommand::RecordSeeded { placement: "local".into(), chunks: 1 }).await?;
    shell.ask_run(plot::run_id(), RunCommand::Open).await.map(drop)
}

#[actix::test]
async fn process_whose_memory_is_old_looks_again_before_it_says_no() {
    let journal = MemoryJournal::new();
    let (one, other) = (process(&journal, 1), process(&journal, 2));
    let planned = plot::planned(plot::profile(SideEffects::None, 3, 1), 1, 1);
    one.ask_run(plot::run_id(), RunCommand::Plan(Box::new(planned))).await.expect("a run");
    let by = plot::by;
    let early = one.ask_run(plot::run_id(), RunCommand::Pause(by())).await.expect_err("it is being created");
    assert!(matches!(early, CommandError::Rejected(Rejection::NotNow(_))), "{early}");
    open(&other).await.expect("another process opens it");
    let paused = one.ask_run(plot::run_id(), RunCommand::Pause(by())).await.expect("it is open now");
    assert_eq!(paused.events.len(), 1);
    // Nor does it say that something is so already when it no longer is.
    other.ask_run(plot::run_id(), RunCommand::Resume(by())).await.expect("another process resumes it");
    let again = one.ask_run(plot::run_id(), RunCommand::Pause(by())).await.expect("it runs");
    assert_eq!(again.events.len(), 1, "it was resumed meanwhile");
    let seen = other.directory.run(plot::run_id()).look().await.expect("a state");
    assert_eq!(seen.state.phase, RunPhase::Paused, "a look sees what others did");
}

#[actix::test]
async fn intent_to_judge_a_run_that_was_cancelled_is_done_and_not_tried_for_ever() {
    let journal = MemoryJournal::new();
    let shell = process(&journal, 1);
    let planned = plot::planned(plot::profile(SideEffects::None, 3, 1), 1, 1);
    let run = plot::run_id();
    shell.ask_run(run, RunCommand::Plan(Box::new(planned))).await.expect("a run");
    open(&shell).await.expect("it opens");
    shell.ask_run(run, RunCommand::Cancel(plot::by())).await.expect("it is cancelled");
    shell.write_rows(run, vec![Row::IntentPut { run, kind: IntentKind::Judge }]).await.expect("an intent");
    crate::supervise::judge_once(&shell).await.expect("a page of judging");
    assert_eq!(journal.intents(IntentKind::Judge, 10).await.expect("intents"), []);
    assert!(journal.run(run).await.expect("a row").is_some_and(|row| row.verdict.is_none()));
}
