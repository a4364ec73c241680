//! `tribunal events`: the journal itself, as lines for people or for machines.
//!
//! A line of `--ndjson` has what an auditor needs to recompute the chain without
//! Tribunal: the canonical text that is digested, byte for byte, with the digest
//! before it and the digest of it. Everything else on the line is for convenience
//! and is either in the canonical text or set by the database.

use super::store::{StoreArg, resolve_run};
use crate::report::{Look, Style, instant, rfc3339, summary};
use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use tribunal_actors::ports::journal::{EventFilter, JournalReader};
use tribunal_schema::Digest;
use tribunal_schema::envelope::RecordedEvent;
use tribunal_schema::ids::StreamId;
use tribunal_schema::units::{InstantMs, Version};

/// Events a page.
const PAGE: u32 = 1000;
/// Events that are listed when nobody says how many and a person or one object waits.
const LIMIT: u64 = 100;
/// Streams whose last digest is kept while lines are written; beyond it is read again.
const HEADS_MAX: usize = 200_000;
const CATEGORIES: [&str; 4] = ["run", "chunk", "attempt", "operator"];

/// Lists events of the journal
#[derive(Clone, Debug, Args)]
pub struct EventsArgs {
    /// The store.
    #[command(flatten)]
    pub store: StoreArg,
    /// Only events of this run: its id, or `latest`
    #[arg(long, value_name = "RUN", env = "TRIBUNAL_RUN")]
    pub run: Option<String>,
    /// Only events of this stream: run-ID, chunk-ID-NUMBER, attempt-ID, operator-ID
    #[arg(long, value_name = "STREAM", env = "TRIBUNAL_STREAM")]
    pub stream: Option<String>,
    /// Only streams of this category
    #[arg(long, value_parser = CATEGORIES, env = "TRIBUNAL_CATEGORY")]
    pub category: Option<String>,
    /// Only events of this type; a `*` at the end stands for anything
    #[arg(long = "type", value_name = "TYPE", env = "TRIBUNAL_TYPE")]
    pub event_type: Option<String>,
    /// Only events recorded at or after: 2026-11-30T21:45:31Z, or 10m for ten minutes ago
    #[arg(long, value_name = "TIME", env = "TRIBUNAL_SINCE")]
    pub since: Option<String>,
    /// Only events recorded before
    #[arg(long, value_name = "TIME", env = "TRIBUNAL_UNTIL")]
    pub until: Option<String>,
    /// At most this many events [default: 100; all with --ndjson]
    #[arg(long, value_name = "N", env = "TRIBUNAL_LIMIT")]
    pub limit: Option<u64>,
    /// The newest first
    #[arg(long, env = "TRIBUNAL_DESCENDING")]
    pub descending: bool,
    /// Go on after the event at this position
    #[arg(long, value_name = "POSITION", env = "TRIBUNAL_AFTER")]
    pub after: Option<u64>,
    /// Write one JSON object with all events to stdout
    #[arg(long, env = "TRIBUNAL_JSON")]
    pub json: bool,
    /// Write one line of JSON an event, with the canonical text and the digests; goes before --json
    #[arg(long, env = "TRIBUNAL_NDJSON")]
    pub ndjson: bool,
}

/// Runs the command on stdout.
///
/// # Errors
/// When a filter cannot be understood or the journal not be read.
pub async fn execute(args: &EventsArgs, reader: &dyn JournalReader) -> Result<u8> {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    let code = write(args, reader, &Look::of_stdout(), &mut out, &mut std::io::stderr()).await?;
    out.flush()?;
    Ok(code)
}

pub(super) async fn write(
    args: &EventsArgs,
    reader: &dyn JournalReader,
    look: &Look,
    out: &mut (dyn Write + Send),
    people: &mut (dyn Write + Send),
) -> Result<u8> {
    let filter = filter(args, reader).await?;
    let limit = args.limit.unwrap_or(if args.ndjson { u64::MAX } else { LIMIT });
    let mut after = args.after;
    let mut written = 0;
    let mut heads = Heads::default();
    let mut listed: Vec<Value> = vec![];
    let mut more = false;
    while !more {
        // One more than is wanted tells whether there are more.
        let wanted = u32::try_from((limit - written).saturating_add(1)).unwrap_or(u32::MAX).min(PAGE);
        let page = reader.read_feed(&filter, after, args.descending, wanted).await?;
        let full = page.len() == wanted as usize;
        for event in &page {
            if written == limit {
                more = true;
                break;
            }
            after = Some(event.position);
            written += 1;
            if args.ndjson {
                let previous = heads.before(reader, event).await?;
                writeln!(out, "{}", line(event, previous)?)?;
            } else if args.json {
                listed.push(object(event));
            } else {
                writeln!(out, "{}", words(event, look))?;
            }
        }
        if !full {
            break;
        }
    }
    if args.json && !args.ndjson {
        writeln!(out, "{}", json!({"events": listed, "after": after, "more": more}))?;
    } else if more && let Some(after) = after {
        writeln!(people, "there are more: --after {after} goes on, --limit N shows more at once")?;
    }
    Ok(0)
}

async fn filter(args: &EventsArgs, reader: &dyn JournalReader) -> Result<EventFilter> {
    let run = match &args.run {
        Some(text) => Some(resolve_run(reader, &args.store, text).await?),
        None => None,
    };
    if let Some(event_type) = &args.event_type
        && event_type.trim_end_matches('*').contains('*')
    {
        bail!("--type {event_type:?} has a `*` that is not at its end");
    }
    let stream = args.stream.as_ref().map(|text| text.parse::<StreamId>().map_err(anyhow::Error::msg));
    let now = reader.now().await?;
    let time = |name: &str, text: &Option<String>| {
        text.as_ref().map(|text| time(text, now).with_context(|| format!("{name} {text:?}"))).transpose()
    };
    Ok(EventFilter {
        run,
        stream: stream.transpose().context("--stream")?,
        category: args.category.clone(),
        event_type: args.event_type.clone(),
        since: time("--since", &args.since)?,
        until: time("--until", &args.until)?,
    })
}

/// An instant, a day (its beginning, UTC), or how long ago.
fn time(text: &str, now: InstantMs) -> Result<InstantMs> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(InstantMs(at.as_millisecond()));
    }
    if let Ok(at) = format!("{text}T00:00:00Z").parse::<Timestamp>() {
        return Ok(InstantMs(at.as_millisecond()));
    }
    let Ok(ago) = humantime::parse_duration(text) else {
        bail!("is no time like 2026-11-30T21:45:31Z or 2026-11-30, and no span like 10m or 2h");
    };
    Ok(InstantMs(now.0.saturating_sub(i64::try_from(ago.as_millis()).unwrap_or(i64::MAX))))
}

/// The digest before an event, from what was just written or from the stream.
#[derive(Default)]
struct Heads(HashMap<StreamId, (Version, Digest)>);

impl Heads {
    async fn before(&mut self, reader: &dyn JournalReader, event: &RecordedEvent) -> Result<Digest> {
        let previous = Version(event.version.0.saturating_sub(1));
        let known = self.0.get(&event.stream).filter(|(version, _)| *version == previous).map(|(_, digest)| *digest);
        let digest = match known {
            Some(digest) => digest,
            None if previous == Version(0) => Digest::ZERO,
            None => {
                let before = reader.read_stream(&event.stream, Version(previous.0 - 1), 1).await?;
                let found = before.first().filter(|found| found.version == previous);
                found.with_context(|| format!("{} has no version {previous}", event.stream))?.digest
            }
        };
        if self.0.len() >= HEADS_MAX {
            self.0.clear();
        }
        self.0.insert(event.stream.clone(), (event.version, event.digest));
        Ok(digest)
    }
}

/// A line of an export.
fn line(event: &RecordedEvent, previous: Digest) -> Result<Value> {
    let canonical = event.canonical_text().with_context(|| format!("{} version {}", event.stream, event.version))?;
    Ok(json!({
        "position": event.position,
        "recorded_at": rfc3339(event.recorded_at),
        "stream": event.stream,
        "version": event.version,
        "type": event.event_type,
        "previous": previous,
        "digest": event.digest,
        "canonical": canonical,
    }))
}

/// An event of `--json`.
fn object(event: &RecordedEvent) -> Value {
    let payload = serde_json::from_str(&event.payload).unwrap_or_else(|_| Value::from(event.payload.as_str()));
    json!({
        "position": event.position,
        "recorded_at": rfc3339(event.recorded_at),
        "stream": event.stream,
        "version": event.version,
        "id": event.id,
        "type": event.event_type,
        "type_version": event.type_version,
        "run": event.run,
        "team": event.team,
        "command": event.command,
        "causation": event.causation,
        "payload": payload,
        "digest": event.digest,
    })
}

/// A line for a person.
fn words(event: &RecordedEvent, look: &Look) -> String {
    let at = look.paint(Style::Dim, &instant(event.recorded_at));
    let event_type = look.paint(Style::Title, &event.event_type);
    format!("{at}  {} v{}  {event_type}  {}", event.stream, event.version, summary(event)).trim_end().to_string()
}
