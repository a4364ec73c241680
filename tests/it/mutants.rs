//! Mutants: one guard or check switched off at a time, and who notices. A check
//! that can be removed unnoticed is not tested.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tribunal_actors::mutant::{Mutant, Release};
use tribunal_actors::ports::journal::Journal;
use tribunal_actors::testing::conformance::{append, leases, queues, races};
use tribunal_actors::testing::journal::MemoryJournal;
use tribunal_actors::testing::simulation::examine;

/// Seeds in which the simulation must notice.
const SEEDS_MAX: u64 = 400;

/// A case of the conformance suite.
type Case = fn(Arc<dyn Journal>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who notices a mutant.
enum Watch {
    /// The simulation.
    Simulation,
    /// Each of these cases of the conformance suite, on the journal in memory.
    Conformance(Vec<(&'static str, Case)>),
    /// A test on a real Postgres with a session beside: see `postgres::adapter`. What the feed without its
    /// horizon skips in memory, the tests beside that journal say.
    Postgres,
}

macro_rules! cases {
    ($($module:ident::$case:ident),+) => {
        Watch::Conformance(vec![$((stringify!($case), (|journal| Box::pin($module::$case(journal))) as Case)),+])
    };
}

/// Each mutant has its watch: whoever adds one must say who notices.
fn watch(mutant: Mutant) -> Watch {
    match mutant {
        // The races of `conformance::races` need luck to meet a mutant: a mutant is watched by cases that must fail.
        Mutant::NoTermCompare => {
            cases!(leases::a_guard_holds_for_the_live_grant_only, leases::a_grant_id_given_again_opens_nothing)
        }
        Mutant::ReadySeqIgnored => {
            cases!(queues::a_claim_must_name_the_current_ready_row, races::one_of_many_claims_of_an_offer_wins)
        }
        Mutant::RedeliveryNotIdempotent => cases!(
            append::the_identical_unit_again_is_success_and_changes_nothing,
            append::the_identical_unit_raced_by_many_is_written_once
        ),
        Mutant::RenewalResurrects => {
            cases!(leases::a_renewal_never_resurrects_and_never_passes_the_hard_deadline)
        }
        Mutant::ExpiryWithoutRowLock | Mutant::PlainSelectGuard | Mutant::FeedWithoutHorizon => Watch::Postgres,
        Mutant::NoCurrentAttemptCheck
        | Mutant::OutboxDeletedBeforeConfirm
        | Mutant::ExpiryInTwoSteps
        | Mutant::AnsweredCalledAgain
        | Mutant::SettledTwice
        | Mutant::TallyNotAdditive => Watch::Simulation,
    }
}

/// The first seed that breaks, with what it breaks.
fn first_broken_seed() -> Option<(u64, String)> {
    (0..SEEDS_MAX).find_map(|seed| examine(seed).err().map(|broken| (seed, broken.what)))
}

/// Whether a case of the suite fails on the journal in memory.
fn fails(case: Case) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let ran = runtime.block_on(async { tokio::spawn(case(Arc::new(MemoryJournal::new()))).await });
    ran.is_err_and(|death| death.is_panic())
}

#[test]
fn mutants_of_the_simulation_are_each_caught() {
    for mutant in Mutant::ALL.into_iter().filter(|mutant| matches!(watch(*mutant), Watch::Simulation)) {
        let _alive = Release::new(mutant);
        let (seed, what) = first_broken_seed().unwrap_or_else(|| panic!("{mutant:?} lives through {SEEDS_MAX} seeds"));
        println!("{mutant:?}: seed {seed}: {what}");
    }
}

#[test]
fn mutants_of_the_journal_are_each_caught_by_their_cases() {
    for mutant in Mutant::ALL {
        let Watch::Conformance(cases) = watch(mutant) else { continue };
        for (name, case) in cases {
            assert!(!fails(case), "{name} fails without {mutant:?}");
            let _alive = Release::new(mutant);
            assert!(fails(case), "{mutant:?} is not noticed by {name}");
        }
    }
}
