//! The chain: what an auditor computes with nothing of ours, and what another build wrote.

use super::fixtures::*;
use crate::aggregate::load;
use crate::attempt::Attempt;
use crate::ports::journal::*;
use std::sync::Arc;
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::events::ChunkEnd;
use tribunal_schema::ids::{EventId, StreamId};
use tribunal_schema::score::Tally;
use tribunal_schema::units::Version;
use ulid::Ulid;

/// The canonical text of an event, written as docs/audit.md says it.
fn text_of(event: &RecordedEvent, team_json: &str) -> String {
    let quoted = |text: String| format!("\"{text}\"");
    let or_null = |text: Option<String>| text.map_or("null".into(), quoted);
    let keys = [
        ("causation", or_null(event.causation.map(|id| id.to_string()))),
        ("command", quoted(event.command.to_string())),
        ("id", quoted(event.id.to_string())),
        ("payload", event.payload.clone()),
        ("run", or_null(event.run.map(|run| run.to_string()))),
        ("stream", quoted(event.stream.to_string())),
        ("team", team_json.into()),
        ("type", quoted(event.event_type.clone())),
        ("type_version", event.type_version.to_string()),
        ("version", event.version.0.to_string()),
    ];
    let pairs: Vec<String> = keys.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", pairs.join(","))
}

pub async fn chain_head_and_pin_are_what_an_auditor_computes(journal: Arc<dyn Journal>) {
    let (journal, chunk) = (&*journal, chunk_id(1, 0));
    let stream = StreamId::Chunk(chunk);
    let mut first = AppendUnit { appends: vec![stream_append(stream.clone(), 0, &["{\"a\":1}", "{}"])], ..unit(1) };
    first.origin.team = "Zoë's \"team\"\n".into();
    journal.append(first).await.unwrap();
    let tally = Tally::default();
    let settlement = Settlement { chunk, version: Version(2), end: ChunkEnd::Failed, tally };
    let mut second =
        AppendUnit { appends: vec![stream_append(stream.clone(), 2, &["{\"b\":\"שלום\"}"])], ..unit(2) };
    second.origin.causation = Some(EventId(Ulid::from_parts(9, 9)));
    second.origin.team = "Zoë's \"team\"\n".into();
    second.rows = vec![Row::SettlementPut(settlement)];
    journal.append(second).await.unwrap();

    let mut computed = vec![];
    let mut previous = "0".repeat(64);
    for event in events_of(journal, &stream).await {
        let text = text_of(&event, "\"Zoë's \\\"team\\\"\\n\"");
        let digest = Digest::of(format!("{previous}\n{text}").as_bytes());
        assert_eq!(event.digest, digest, "version {}: {text}", event.version);
        previous = digest.to_string();
        computed.push(digest);
    }
    assert_eq!(computed.len(), 3);
    let pins: Vec<Digest> = journal.settlements(10).await.unwrap().iter().map(|row| row.digest).collect();
    assert_eq!(pins, [computed[1]], "a pin is the chain up to the version that it names");
    let heads = journal.stream_heads(run_id(1), None, 10).await.unwrap();
    assert_eq!(heads, [StreamHead { stream, version: Version(3), digest: computed[2] }]);
}

pub async fn a_stream_of_no_run_is_chained_as_any_other(journal: Arc<dyn Journal>) {
    let (journal, stream) = (&*journal, StreamId::Operator(command_id(7)));
    let mut deed = AppendUnit { appends: vec![stream_append(stream.clone(), 0, &["{}"])], ..unit(7) };
    deed.origin.run = None;
    journal.append(deed).await.unwrap();
    let event = events_of(journal, &stream).await.remove(0);
    assert_eq!(event.run, None);
    let text = text_of(&event, "\"team\"");
    assert_eq!(event.digest, Digest::of(format!("{}\n{text}", "0".repeat(64)).as_bytes()), "{text}");
    assert!(journal.stream_heads(run_id(1), None, 10).await.unwrap().is_empty());
}

/// Events of a build that knows more: kept and given as they are, and nothing is decided on them.
pub async fn an_event_of_another_build_is_kept_and_refused_with_words(journal: Arc<dyn Journal>) {
    let journal = &*journal;
    let others = [
        ("attempt.started", 99, "attempt.started version 99 cannot be read: this build knows up to version 1"),
        ("attempt.dreamed", 1, "unknown event type attempt.dreamed in a attempt stream"),
        ("attempt.started", 1, "the payload of attempt.started does not fit its schema"),
    ];
    for (n, (event_type, type_version, words)) in (1..).zip(others) {
        let mut unit = append_to(n, n, 0, "{\"new\":1}");
        (unit.appends[0].events[0].event_type, unit.appends[0].events[0].type_version) = (event_type, type_version);
        journal.append(unit).await.expect("the journal keeps what it does not read");
        let stream = StreamId::Attempt(attempt_id(n));
        let kept = events_of(journal, &stream).await.remove(0);
        assert_eq!((&*kept.event_type, kept.type_version, &*kept.payload), (event_type, type_version, "{\"new\":1}"));
        let told = load::<Attempt>(journal, &stream).await.expect_err("it is not guessed over").to_string();
        assert!(told.contains(words) && told.contains(&stream.to_string()), "{told}");
    }
}
