//! Races: what several tasks want at the same moment, and what may not come of it.
//!
//! Each case is played several times, because whoever comes first is left to chance;
//! what must hold does not depend on it.

use super::fixtures::*;
use crate::ports::journal::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::ids::{ChunkId, StreamId};
use tribunal_schema::score::Tally;
use tribunal_schema::units::{DurationMs, InstantMs, LeaseTerm, ReadySeq, Version};

/// Writers of a guarded race.
const WRITERS: u64 = 4;
/// Writes that each unclocked end waits for: it must come while others write.
const WRITES: u64 = 20;

/// What the writers of a race tell those who end their lease.
#[derive(Default)]
struct Play {
    writes: AtomicU64,
    over: AtomicBool,
}

/// Writes under term 1 until it is refused; gives what it wrote and why it was refused.
async fn write_until_refused(
    journal: &dyn Journal,
    play: &Play,
    chunk: ChunkId,
    writer: u64,
) -> (Vec<RecordedEvent>, Refusal) {
    let mut written = vec![];
    loop {
        let was_over = play.over.load(Ordering::SeqCst);
        let count = written.len() as u64;
        let unit = append_to(writer * 100_000 + count, writer, count, "{}");
        match journal.append(AppendUnit { guards: vec![guard(chunk, 1, 1)], ..unit }).await {
            Ok(appended) => written.extend(appended.events),
            Err(AppendError::Refused(refusal)) => return (written, refusal),
            Err(other) => panic!("{other}"),
        }
        assert!(!was_over, "a write under a lease whose end was answered before");
        play.writes.fetch_add(1, Ordering::SeqCst);
        // A journal that answers at once would keep the thread, and whoever ends the lease waiting.
        tokio::task::yield_now().await;
    }
}

/// Ends term 1 and grants term 2 in one unit with an event, as soon as it is not refused.
async fn end_lease(journal: &dyn Journal, play: &Play, chunk: ChunkId, how: Row) -> RecordedEvent {
    let mut unit = unit(90_000_000 + u64::from(chunk.number));
    unit.appends.push(stream_append(StreamId::Chunk(chunk), 0, &["{}"]));
    unit.rows = vec![how.clone(), grant(chunk, 2, 2, LONG, LONG)];
    while !matches!(how, Row::LeaseExpire { .. }) && play.writes.load(Ordering::SeqCst) < WRITES {
        tokio::task::yield_now().await;
    }
    loop {
        match journal.append(unit.clone()).await {
            Ok(mut appended) => {
                play.over.store(true, Ordering::SeqCst);
                return appended.events.remove(0);
            }
            Err(AppendError::Refused(Refusal::LeaseLive { .. })) => tokio::task::yield_now().await,
            Err(other) => panic!("{other}"),
        }
    }
}

/// Plays writers against the end of their lease; every write must be before it.
async fn no_write_follows(journal: Arc<dyn Journal>, lease: DurationMs, how: fn(ChunkId) -> Row) {
    for round in 0..4 {
        let (chunk, play) = (chunk_id(1, round), Arc::new(Play::default()));
        put(&*journal, vec![grant(chunk, 1, 1, lease, LONG)]).await;
        let ends = {
            let (journal, play) = (Arc::clone(&journal), Arc::clone(&play));
            tokio::spawn(async move { end_lease(&*journal, &play, chunk, how(chunk)).await })
        };
        let writers = at_once(WRITERS, |writer| {
            let (journal, play) = (Arc::clone(&journal), Arc::clone(&play));
            let writer = u64::from(round) * WRITERS + writer + 1;
            async move { write_until_refused(&*journal, &play, chunk, writer).await }
        });
        let writers = writers.await;
        let end = ends.await.expect("the lease ends");
        for (written, refusal) in writers {
            let Refusal::StaleLease { reason, .. } = refusal else { panic!("{refusal}") };
            // Its time may be over a moment before somebody ends it.
            assert!(matches!(reason, StaleReason::Replaced | StaleReason::Expired), "{reason}");
            for event in written {
                assert!(event.position < end.position, "a write behind the end of its lease");
                let is_in_time = match how(chunk) {
                    Row::LeaseExpire { .. } => event.recorded_at < end.recorded_at,
                    _ => event.recorded_at <= end.recorded_at,
                };
                assert!(is_in_time, "written at {}, over at {}", event.recorded_at.0, end.recorded_at.0);
            }
        }
        journal.append(guarded(95_000_000 + u64::from(round), guard(chunk, 2, 2))).await.expect("term 2 is live");
    }
}

pub async fn no_guarded_write_follows_the_expiry_of_its_lease(journal: Arc<dyn Journal>) {
    no_write_follows(journal, SHORT, |chunk| Row::LeaseExpire { chunk, term: LeaseTerm(1) }).await;
}

pub async fn no_guarded_write_follows_the_release_of_its_lease(journal: Arc<dyn Journal>) {
    no_write_follows(journal, LONG, |chunk| Row::LeaseEnd { chunk, term: LeaseTerm(1) }).await;
}

pub async fn no_guarded_write_follows_the_revocation_of_its_lease(journal: Arc<dyn Journal>) {
    no_write_follows(journal, LONG, |chunk| Row::LeaseRevoke { chunk }).await;
}

/// Four renewals and two expiries, at the last moment of a lease or at its end.
pub async fn a_renewal_and_an_expiry_never_both_have_a_lease(journal: Arc<dyn Journal>) {
    for round in 0..12_u32 {
        let (chunk, mine) = (chunk_id(1, round), holder(100 + u64::from(round)));
        let (term, grant) = (LeaseTerm(1), grant_id(1));
        let row = Row::LeaseGrant { chunk, term, grant, holder: mine, lease: SHORT, hard_deadline: LONG };
        let granted =
            AppendUnit { rows: vec![row], ..append_to(u64::from(round) * 10, 900 + u64::from(round), 0, "{}") };
        let granted_at = journal.append(granted).await.unwrap().events[0].recorded_at;
        let ends_at = InstantMs(granted_at.0 + SHORT.0 as i64);
        let is_late = round % 2 == 0;
        let begin = if is_late { ends_at } else { InstantMs(ends_at.0 - 1) };
        // The first two expire it, the others renew it; each says when it began and whether it was done.
        let deeds = at_once(6, |n| {
            let journal = Arc::clone(&journal);
            async move {
                wait_until(&*journal, begin).await;
                let began = journal.now().await.unwrap();
                if n >= 2 {
                    let renewed = journal.leases_renew(mine, LONG).await.unwrap();
                    return (began, renewed.iter().any(|renewal| renewal.chunk == chunk));
                }
                let expiry = with_rows(u64::from(round) * 10 + 1 + n, vec![Row::LeaseExpire { chunk, term }]);
                match journal.append(expiry).await {
                    Ok(_) => (began, true),
                    Err(AppendError::Refused(Refusal::LeaseLive { .. } | Refusal::StaleLease { .. })) => (began, false),
                    Err(other) => panic!("{other}"),
                }
            }
        });
        let deeds = deeds.await;
        let expiries = deeds[..2].iter().filter(|(_, done)| *done).count();
        let renewals: Vec<InstantMs> = deeds[2..].iter().filter(|(_, done)| *done).map(|(began, _)| *began).collect();
        assert!(expiries <= 1, "a lease expires once");
        assert!(renewals.is_empty() || renewals.iter().any(|began| *began < ends_at), "a renewal of what was over");
        assert!(!is_late || expiries == 1, "at its end it can be expired, whatever was tried to renew it");
        has_one_fate(&*journal, chunk, u64::from(round), ends_at, expiries == 1).await;
        assert!(journal.leases_renew(mine, LONG).await.unwrap().is_empty(), "what has ended stays so");
    }
}

/// Whoever came first: the lease is live and cannot expire, or is over and can; then it is ended.
async fn has_one_fate(journal: &dyn Journal, chunk: ChunkId, round: u64, ends_at: InstantMs, expired: bool) {
    wait_until(journal, ends_at).await;
    let write = journal.append(guarded(10_000 + round, guard(chunk, 1, 1))).await;
    let expiry = journal.append(with_rows(20_000 + round, vec![Row::LeaseExpire { chunk, term: LeaseTerm(1) }])).await;
    match write {
        Ok(_) => {
            assert!(!expired, "a guard holds after the expiry");
            assert!(matches!(refusal(expiry), Refusal::LeaseLive { .. }));
            put(journal, vec![Row::LeaseEnd { chunk, term: LeaseTerm(1) }]).await;
        }
        Err(AppendError::Refused(Refusal::StaleLease { reason: StaleReason::Ended, .. })) => assert!(expired),
        Err(AppendError::Refused(Refusal::StaleLease { reason: StaleReason::Expired, .. })) => {
            assert!(!expired, "its row is still there");
            expiry.expect("it was not renewed, and its time is over");
        }
        Err(other) => panic!("{other}"),
    }
}

/// Claims of one offer, some under the number of the offer before.
pub async fn one_of_many_claims_of_an_offer_wins(journal: Arc<dyn Journal>) {
    let chunk = chunk_id(1, 0);
    for round in 1..=6 {
        put(&*journal, vec![ready(chunk, round)]).await;
        let claims = at_once(12, |n| {
            let journal = Arc::clone(&journal);
            let named = ReadySeq(if n % 4 == 0 { round - 1 } else { round });
            let rows = vec![Row::ReadyTake { chunk, ready_seq: named }, grant(chunk, round, 100 + n, LONG, LONG)];
            let command = round * 100 + n;
            async move { (n, journal.append(AppendUnit { rows, ..append_to(command, command, 0, "{}") }).await) }
        });
        let mut winners = vec![];
        for (n, claim) in claims.await {
            match claim {
                Ok(_) => winners.push(n),
                Err(AppendError::Refused(Refusal::Superseded { .. })) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(winners.len(), 1, "one claim wins");
        assert_ne!(winners[0] % 4, 0, "the number of an older offer claims nothing");
        journal
            .append(guarded(10_000 + round, guard(chunk, round, 100 + winners[0])))
            .await
            .expect("it is the winner's");
        put(&*journal, vec![Row::LeaseEnd { chunk, term: LeaseTerm(round) }]).await;
    }
}

/// Publishers that claim side by side; some die with what they have claimed.
pub async fn each_message_is_confirmed_once_however_many_publish(journal: Arc<dyn Journal>) {
    const MESSAGES: usize = 60;
    put(&*journal, (0..MESSAGES).map(|n| message(&format!("deed {n}"))).collect()).await;
    let confirmed: Arc<Mutex<BTreeMap<u64, u64>>> = Arc::default();
    let claimed: Arc<Mutex<BTreeSet<(u64, u32)>>> = Arc::default();
    let publishers = at_once(6, |publisher| {
        let (journal, confirmed, claimed) = (Arc::clone(&journal), Arc::clone(&confirmed), Arc::clone(&claimed));
        async move {
            for round in 0.. {
                if confirmed.lock().unwrap().len() == MESSAGES {
                    return;
                }
                let token = token(publisher * 1_000_000 + round);
                let rows = journal.outbox_claim(token, SHORT, None, 7).await.unwrap();
                for row in &rows {
                    assert!(claimed.lock().unwrap().insert((row.id, row.attempts)), "claimed by two at once");
                }
                let dies = (round + publisher) % 3 == 0;
                for row in rows.iter().filter(|_| !dies) {
                    let count = journal.outbox_confirm(token, &[row.id]).await.unwrap();
                    if count > 0 {
                        *confirmed.lock().unwrap().entry(row.id).or_default() += count;
                    }
                }
                tokio::task::yield_now().await;
            }
        }
    });
    publishers.await;
    assert!(confirmed.lock().unwrap().values().all(|times| *times == 1), "a message is confirmed once");
    wait_for(&*journal, SHORT).await;
    assert!(journal.outbox_claim(token(9), SHORT, None, 100).await.unwrap().is_empty(), "what is confirmed is gone");
}

fn settled_at(chunk: ChunkId, version: u64) -> Row {
    let (version, tally) = (Version(version), Tally::default());
    Row::SettlementPut(Settlement { chunk, version, end: ChunkEnd::Quarantined, tally })
}

/// The control database has recorded an end; meanwhile the chunk was released and ends again.
pub async fn a_settlement_done_never_takes_a_newer_one_with_it(journal: Arc<dyn Journal>) {
    for round in 0..12 {
        let (chunk, command) = (chunk_id(1, round), u64::from(round) * 10);
        let stream = StreamId::Chunk(chunk);
        let ends = |command, before| AppendUnit {
            appends: vec![stream_append(stream.clone(), before, &["{}"])],
            rows: vec![settled_at(chunk, before + 1)],
            ..unit(command)
        };
        journal.append(ends(command + 1, 0)).await.unwrap();
        let again = ends(command + 2, 1);
        let deeds = at_once(3, |n| {
            let (journal, again) = (Arc::clone(&journal), again.clone());
            async move {
                if (n + u64::from(round)) % 3 == 0 {
                    return Some(journal.append(again).await.unwrap().events.remove(0).digest);
                }
                journal.settlement_done(chunk, Version(1)).await.unwrap();
                None
            }
        });
        let second: Vec<Digest> = deeds.await.into_iter().flatten().collect();
        let left = journal.settlements(100).await.unwrap();
        let left: Vec<_> = left.iter().map(|row| (row.settlement.version, row.digest)).collect();
        assert_eq!(left, [(Version(2), second[0])], "the second end is still to be told");
        journal.settlement_done(chunk, Version(2)).await.unwrap();
    }
}
