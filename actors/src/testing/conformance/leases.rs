//! Leases: guards, renewal, expiry, and that time and term decide alone.

use super::fixtures::*;
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{DurationMs, LeaseTerm, Version};

fn stale(reason: StaleReason, term: u64) -> Refusal {
    Refusal::StaleLease { chunk: chunk_id(1, 0), term: LeaseTerm(term), reason }
}

pub async fn a_guard_holds_for_the_live_grant_only(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    let refused = async |command, guard| refusal(journal.append(guarded(command, guard)).await);
    assert_eq!(refused(1, guard(chunk, 1, 1)).await, stale(StaleReason::Ended, 1));
    put(journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    journal.append(guarded(2, guard(chunk, 1, 1))).await.expect("the lease is live");
    assert_eq!(refused(3, guard(chunk, 2, 1)).await, stale(StaleReason::Replaced, 2));
    assert_eq!(
        refused(4, guard(chunk, 1, 2)).await,
        stale(StaleReason::Replaced, 1),
        "a term given twice is fenced by its grant"
    );
    put(journal, vec![Row::LeaseEnd { chunk, term: LeaseTerm(1) }]).await;
    assert_eq!(refused(5, guard(chunk, 1, 1)).await, stale(StaleReason::Ended, 1));
    for command in [1, 3, 4, 5] {
        assert!(events_of(journal, &StreamId::Attempt(attempt_id(command))).await.is_empty(), "unit {command}");
    }
}

pub async fn a_grant_id_given_again_opens_nothing(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    put(journal, vec![grant(chunk, 1, 1, LONG, LONG), Row::LeaseEnd { chunk, term: LeaseTerm(1) }]).await;
    put(journal, vec![grant(chunk, 2, 1, LONG, LONG)]).await;
    assert_eq!(
        refusal(journal.append(guarded(1, guard(chunk, 1, 1))).await),
        stale(StaleReason::Replaced, 1),
        "a grant given twice is fenced by its term"
    );
    journal.append(guarded(2, guard(chunk, 2, 1))).await.expect("the live one");
    put(journal, vec![Row::LeaseEnd { chunk, term: LeaseTerm(2) }, grant(chunk, 1, 2, LONG, LONG)]).await;
    for (command, term, grant) in [(3, 1, 1), (4, 2, 1), (5, 2, 2)] {
        let refused = refusal(journal.append(guarded(command, guard(chunk, term, grant))).await);
        assert_eq!(refused, stale(StaleReason::Replaced, term), "term {term} with grant {grant}");
    }
}

/// A task that hangs while its process goes on renewing.
pub async fn the_hard_deadline_ends_a_lease_that_is_always_renewed(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    let granted = AppendUnit { rows: vec![grant(chunk, 1, 1, SHORT, SHORT)], ..append_to(1, 1, 0, "{}") };
    let granted_at = journal.append(granted).await.unwrap().events[0].recorded_at;
    let deadline = granted_at.0 + SHORT.0 as i64;
    let mut writes = 0;
    let refused = loop {
        let renewed = journal.leases_renew(holder(1), LONG).await.unwrap();
        let write =
            journal.append(AppendUnit { guards: vec![guard(chunk, 1, 1)], ..append_to(2 + writes, 2, writes, "{}") });
        match write.await {
            Ok(appended) => assert!(appended.events[0].recorded_at.0 < deadline && !renewed.is_empty()),
            refused => break refusal(refused),
        }
        writes += 1;
    };
    assert_eq!(refused, stale(StaleReason::DeadlineReached, 1));
    assert!(journal.leases_renew(holder(1), LONG).await.unwrap().is_empty());
    put(journal, vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }]).await;
}

pub async fn a_guard_refuses_what_time_has_ended(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    put(journal, vec![grant(chunk, 1, 1, SHORT, LONG)]).await;
    wait_for(journal, SHORT).await;
    assert_eq!(refusal(journal.append(guarded(1, guard(chunk, 1, 1))).await), stale(StaleReason::Expired, 1));
    put(journal, vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }, grant(chunk, 2, 2, LONG, SHORT)]).await;
    wait_for(journal, SHORT).await;
    assert_eq!(refusal(journal.append(guarded(2, guard(chunk, 2, 2))).await), stale(StaleReason::DeadlineReached, 2));
}

pub async fn a_unit_that_rests_on_an_attempt_conflicts_when_it_has_moved(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    let rests_on = |attempt, version| Guard::Attempt { attempt: attempt_id(attempt), version: Version(version) };
    journal.append(guarded(1, rests_on(9, 0))).await.expect("the stream does not exist");
    let moved = |result| matches!(result, Err(AppendError::Conflict { .. }));
    assert!(moved(journal.append(guarded(2, rests_on(1, 0))).await), "unit 1 wrote to it");
    assert!(moved(journal.append(guarded(3, rests_on(1, 2))).await));
    journal.append(guarded(4, rests_on(1, 1))).await.expect("it stands at version 1");
    assert!(events_of(journal, &StreamId::Attempt(attempt_id(2))).await.is_empty(), "nothing of a refused unit");
}

pub async fn a_renewal_never_resurrects_and_never_passes_the_hard_deadline(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    let (expired, bounded, live) = (chunk_id(1, 0), chunk_id(1, 1), chunk_id(1, 2));
    put(journal, vec![grant(live, 3, 3, LONG, LONG), grant(expired, 1, 1, DurationMs(0), LONG)]).await;
    put(journal, vec![grant(bounded, 2, 2, SHORT, SHORT)]).await;
    let renewed = journal.leases_renew(holder(1), LONG).await.unwrap();
    assert!(renewed.iter().all(|renewal| renewal.chunk != expired), "{renewed:?}");
    assert!(renewed.iter().any(|renewal| renewal.chunk == live && renewal.term == LeaseTerm(3)));
    assert!(journal.leases_renew(holder(2), LONG).await.unwrap().is_empty(), "leases of others are not renewed");
    wait_for(journal, SHORT).await;
    let due = journal.leases_due(10).await.unwrap();
    assert_eq!(due.iter().map(|lease| lease.chunk).collect::<Vec<_>>(), [expired, bounded], "oldest first");
    assert!(due.iter().all(|lease| lease.expires_at <= lease.hard_deadline_at));
    assert_eq!(journal.leases_due(1).await.unwrap().len(), 1);
    assert_eq!(journal.leases_renew(holder(1), LONG).await.unwrap().len(), 1, "only the live one");
}

pub async fn a_chunk_has_one_lease(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    put(journal, vec![grant(chunk, 1, 1, DurationMs(0), LONG)]).await;
    let held = Refusal::LeaseHeld { chunk, term: LeaseTerm(1) };
    let second = with_rows(1, vec![grant(chunk, 2, 2, LONG, LONG)]);
    assert_eq!(refusal(journal.append(second.clone()).await), held, "an expired lease still has to be ended");
    put(journal, vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }]).await;
    journal.append(second).await.expect("the chunk is free");
}

pub async fn only_its_own_term_ends_a_lease(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    let end = |term| with_rows(1, vec![Row::LeaseEnd { chunk, term: LeaseTerm(term) }]);
    assert_eq!(refusal(journal.append(end(2)).await), stale(StaleReason::Ended, 2));
    put(journal, vec![grant(chunk, 2, 1, LONG, LONG)]).await;
    assert_eq!(refusal(journal.append(end(1)).await), stale(StaleReason::Replaced, 1));
    assert_eq!(refusal(journal.append(end(3)).await), stale(StaleReason::Replaced, 3));
    journal.append(end(2)).await.expect("its own term");
    put(journal, vec![Row::LeaseRevoke { chunk }, grant(chunk, 3, 1, LONG, LONG), Row::LeaseRevoke { chunk }]).await;
    assert_eq!(refusal(journal.append(guarded(1, guard(chunk, 3, 1))).await), stale(StaleReason::Ended, 3));
}

pub async fn an_expiry_is_refused_while_the_lease_is_live(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    let expire = |term| with_rows(1, vec![Row::LeaseExpire { chunk, term: LeaseTerm(term) }]);
    assert_eq!(refusal(journal.append(expire(1)).await), stale(StaleReason::Ended, 1));
    put(journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    assert_eq!(refusal(journal.append(expire(1)).await), Refusal::LeaseLive { chunk, term: LeaseTerm(1) });
    assert_eq!(refusal(journal.append(expire(2)).await), stale(StaleReason::Replaced, 2));
    put(journal, vec![Row::LeaseRevoke { chunk }, grant(chunk, 2, 2, DurationMs(0), LONG)]).await;
    journal.append(expire(2)).await.expect("the instant itself is over");
}

pub async fn a_renewal_tells_what_the_run_wants(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    put(journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    let wants = async || journal.leases_renew(holder(1), LONG).await.unwrap()[0].desired;
    assert_eq!(wants().await, Desired::Running);
    put(journal, vec![Row::DesiredPut { run: run_id(1), desired: Desired::Stopped, version: Version(3) }]).await;
    assert_eq!(wants().await, Desired::Stopped);
}

pub async fn the_leases_of_other_incarnations_are_ended(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    put(journal, vec![grant(chunk, 1, 1, LONG, LONG)]).await;
    assert_eq!(journal.leases_revoke_dead(holder(1)).await.unwrap(), 0);
    assert_eq!(journal.leases_revoke_dead(holder(2)).await.unwrap(), 1);
    assert_eq!(refusal(journal.append(guarded(1, guard(chunk, 1, 1))).await), stale(StaleReason::Expired, 1));
    assert_eq!(journal.leases_due(10).await.unwrap().len(), 1);
    put(journal, vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }]).await;
}
