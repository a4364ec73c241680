//! The conformance suite of the journal port: what every adapter must do,
//! whatever database is behind it.
//!
//! A case is an async function over a fresh journal; [`journal_conformance!`]
//! makes a test of each, with a [`witness`] who checks at its end what holds after
//! every case: streams, chain, feed, bodies, and that the views are the fold. Cases wait for the journal's own clock and for nothing
//! else. To add one: write the function in the module of its subject and its
//! name in the list below.
//!
//! [`journal_conformance!`]: crate::journal_conformance

#![allow(clippy::unwrap_used, missing_docs)]

pub mod append;
pub mod bodies;
pub mod chain;
pub mod feed;
pub mod fixtures;
pub mod leases;
pub mod queues;
pub mod races;
pub mod views;
pub mod witness;
#[cfg(test)]
mod witness_tests;

use crate::ports::journal::Journal;
use std::sync::Arc;

/// A fresh, empty journal, alive as long as this is.
pub trait Harness {
    /// The journal.
    fn journal(&self) -> Arc<dyn Journal>;
}

/// Makes one test of each case. The argument makes a fresh [`Harness`].
#[macro_export]
macro_rules! journal_conformance {
    ($fresh:expr) => {
        $crate::journal_conformance! { @cases $fresh,
            append: [
                one_of_many_contenders_for_a_version_wins,
                failing_units_of_every_kind_leave_the_others_written,
                writers_that_try_again_lose_no_update,
                the_identical_unit_again_is_success_and_changes_nothing,
                the_identical_unit_raced_by_many_is_written_once,
                one_of_many_records_a_finding,
                the_same_command_with_other_content_is_a_conflict,
                an_append_anywhere_is_recognised_when_it_comes_again,
                a_unit_over_several_streams_is_all_or_nothing,
                a_unit_without_events_or_with_a_stream_twice_is_invalid,
                one_instant_and_one_chain,
            ]
            bodies: [
                a_blob_comes_before_the_event_that_names_it,
                equal_blobs_in_opposite_order_are_kept_once,
                a_poisoned_text_harms_nobody_else,
                bytes_that_are_not_their_digest_are_refused,
                every_body_and_text_comes_back_as_it_was,
            ]
            chain: [
                chain_head_and_pin_are_what_an_auditor_computes,
                a_stream_of_no_run_is_chained_as_any_other,
                an_event_of_another_build_is_kept_and_refused_with_words,
            ]
            feed: [
                the_feed_filters_by_each_field,
                pages_of_the_feed_meet_without_gap_or_repeat,
                a_reader_that_follows_sees_every_event_once,
                stream_heads_are_paged_by_stream,
            ]
            leases: [
                a_guard_holds_for_the_live_grant_only,
                a_grant_id_given_again_opens_nothing,
                a_guard_refuses_what_time_has_ended,
                the_hard_deadline_ends_a_lease_that_is_always_renewed,
                a_unit_that_rests_on_an_attempt_conflicts_when_it_has_moved,
                a_renewal_never_resurrects_and_never_passes_the_hard_deadline,
                a_chunk_has_one_lease,
                only_its_own_term_ends_a_lease,
                an_expiry_is_refused_while_the_lease_is_live,
                a_renewal_tells_what_the_run_wants,
                the_leases_of_other_incarnations_are_ended,
            ]
            queues: [
                a_claim_must_name_the_current_ready_row,
                ready_rows_are_offered_in_turns_of_runs,
                ready_rows_need_a_cursor_and_a_running_run,
                an_unclaimed_publication_is_repeated_at_doubling_age,
                an_outbox_row_belongs_to_the_token_that_claimed_it_last,
                a_deed_waits_in_the_outbox_once,
                what_is_asked_of_one_run_leaves_the_others_alone,
                a_higher_settlement_replaces_and_a_lower_changes_nothing,
                intents_are_put_once_and_done_once,
                plan_rows_are_kept_and_contradictions_refused,
                a_lower_desired_version_changes_nothing,
                hints_are_told_after_commit_and_kept_for_who_comes_late,
            ]
            races: [
                no_guarded_write_follows_the_expiry_of_its_lease,
                no_guarded_write_follows_the_release_of_its_lease,
                no_guarded_write_follows_the_revocation_of_its_lease,
                a_renewal_and_an_expiry_never_both_have_a_lease,
                one_of_many_claims_of_an_offer_wins,
                each_message_is_confirmed_once_however_many_publish,
                a_settlement_done_never_takes_a_newer_one_with_it,
            ]
            views: [
                views_equal_the_fold,
                a_finding_is_recorded_once,
            ]
        }
    };
    (@cases $fresh:expr, $($module:ident: [$($case:ident,)+])+) => {
        $(mod $module {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let harness = $fresh;
                    let journal = $crate::testing::conformance::Harness::journal(&harness);
                    let witness = $crate::testing::conformance::witness::Witness::of(journal);
                    $crate::testing::conformance::$module::$case(witness.clone()).await;
                    witness.testify().await;
                }
            )+
        })+
    };
}
