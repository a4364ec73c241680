//! Bodies: blobs and texts, however nasty.

use super::fixtures::*;
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{DurationMs, ReadySeq};

fn keep(bytes: &[u8]) -> Vec<Row> {
    let digest = Digest::of(bytes);
    vec![Row::BlobPut { digest, bytes: bytes.into() }, Row::BlobRef { digest, run: run_id(1) }]
}

pub async fn a_blob_comes_before_the_event_that_names_it(journal: Arc<dyn Journal>) {
    let digest = Digest::of(b"page");
    let refer = AppendUnit { rows: vec![Row::BlobRef { digest, run: run_id(1) }], ..append_to(1, 1, 0, "{}") };
    assert_eq!(refusal(journal.append(refer.clone()).await), Refusal::MissingBlob(digest));
    assert!(events_of(&*journal, &StreamId::Attempt(attempt_id(1))).await.is_empty());
    journal.put_blob(digest, b"page"[..].into()).await.unwrap();
    journal.append(refer).await.expect("the blob exists now");
    assert_eq!(journal.blob(digest).await.unwrap().as_deref(), Some(&b"page"[..]));
}

pub async fn equal_blobs_in_opposite_order_are_kept_once(journal: Arc<dyn Journal>) {
    for round in 0..20 {
        // Two bodies that nobody has kept yet, put by units and alone, in both orders.
        let bodies = [format!("one {round}").into_bytes(), format!("two {round}").into_bytes()];
        let deeds = at_once(6, |n| {
            let (journal, mut bodies) = (Arc::clone(&journal), bodies.clone());
            if n % 2 == 0 {
                bodies.reverse();
            }
            async move {
                if n < 4 {
                    let command = round * 10 + n + 1;
                    let rows = [keep(&bodies[0]), keep(&bodies[1])].concat();
                    return journal.append(AppendUnit { rows, ..append_to(command, command, 0, "{}") }).await.map(drop);
                }
                for body in bodies {
                    journal.put_blob(Digest::of(&body), body.into()).await?;
                }
                Ok(())
            }
        });
        for deed in deeds.await {
            deed.expect("equal blobs never stand in each other's way");
        }
    }
    assert_eq!(journal.blob(Digest::of(b"two 7")).await.unwrap().as_deref(), Some(&b"two 7"[..]));
}

/// A raw NUL where texts stand: whether a database can hold it is its own affair, but a unit is
/// written as it is or not at all, and its neighbours are.
pub async fn a_poisoned_text_harms_nobody_else(journal: Arc<dyn Journal>) {
    let poison = "{\"a\":\"\u{0}\"}";
    let poisoned = |n: u64| match n % 4 {
        0 => append_to(n, n, 0, poison),
        1 => AppendUnit {
            rows: vec![Row::PlanPut(PlanRow { chunk: chunk_id(n, 0), seeded: poison.into() })],
            ..append_to(n, n, 0, "{}")
        },
        2 => AppendUnit { rows: vec![message(&format!("{n} {poison}"))], ..append_to(n, n, 0, "{}") },
        _ => {
            let row = Row::ReadyPut {
                chunk: chunk_id(n, 0),
                ready_seq: ReadySeq(1),
                lane: poison.into(),
                due_in: DurationMs(0),
            };
            AppendUnit { rows: vec![row], ..append_to(n, n, 0, "{}") }
        }
    };
    let answers = at_once(60, |n| {
        let journal = Arc::clone(&journal);
        let unit = if n % 5 == 0 { poisoned(n / 5 + 1_000) } else { append_to(n, n, 0, "{}") };
        async move { (n, journal.append(unit).await) }
    });
    for (n, answer) in answers.await {
        match answer {
            Ok(_) => {}
            Err(AppendError::Invalid(_)) => assert_eq!(n % 5, 0, "a neighbour is refused"),
            Err(other) => panic!("{n}: {other}"),
        }
    }
}

pub async fn bytes_that_are_not_their_digest_are_refused(journal: Arc<dyn Journal>) {
    let digest = Digest::of(b"true");
    let lie = with_rows(1, vec![Row::BlobPut { digest, bytes: b"false"[..].into() }]);
    assert!(matches!(journal.append(lie).await, Err(AppendError::Invalid(_))));
    assert!(journal.put_blob(digest, b"false"[..].into()).await.is_err());
    assert_eq!(journal.blob(digest).await.unwrap(), None);
}

pub async fn every_body_and_text_comes_back_as_it_was(journal: Arc<dyn Journal>) {
    let large = format!("{{\"text\":\"{}\"}}", "\u{1F980}".repeat(10 * 1024 * 1024 / 4));
    let texts = ["{\"nul\":\"a\\u0000b\"}", "{\"rtl\":\"\u{202E}שלום\"}", "{\"four\":\"\u{1F980}\"}", "{}", &large];
    for (n, text) in (1..).zip(texts) {
        let mut unit = append_to(n, n, 0, text);
        unit.origin.team = "te\u{0}am \u{1F980}".into();
        journal.append(unit).await.unwrap();
        let stored = events_of(&*journal, &StreamId::Attempt(attempt_id(n))).await;
        assert!(stored[0].payload == text, "text {n} comes back");
        assert_eq!(stored[0].team, "te\u{0}am \u{1F980}");
    }
    let bodies: [&[u8]; 4] = [b"", b"\0\0", b"\xed\xa0\x80 a lone surrogate", b"\xff\xfe"];
    for body in bodies {
        put(&*journal, keep(body)).await;
        assert_eq!(journal.blob(Digest::of(body)).await.unwrap().as_deref(), Some(body));
        journal.poison_put(body, "nul \u{0} in the reason").await.expect("poison is kept");
    }
}
