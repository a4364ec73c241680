//! Bodies: blobs and texts, however nasty.

use super::fixtures::*;
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::ids::StreamId;

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
    let tasks = (0..40u64).map(|n| {
        let journal = Arc::clone(&journal);
        let (first, second): (&[u8], &[u8]) = if n % 2 == 0 { (b"one", b"two") } else { (b"two", b"one") };
        let rows = [keep(first), keep(second)].concat();
        tokio::spawn(async move { journal.append(AppendUnit { rows, ..append_to(n + 1, n + 1, 0, "{}") }).await })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().expect("equal blobs never stand in each other's way");
    }
    assert_eq!(journal.blob(Digest::of(b"two")).await.unwrap().as_deref(), Some(&b"two"[..]));
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
