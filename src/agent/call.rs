//! Calls and their log: who asked what, and how it ended.
//!
//! A call is logged when its request has been read whole and before anything is
//! done about it, so an agent's side effects never run ahead of the log. Its
//! end is logged when the last byte of the reply was handed to the kernel
//! (`reply`) or when that became impossible (`broken`). Each line is one
//! `write` on a file opened for appending: no buffer of ours stands between a
//! call and the log, whichever process is killed.

use crate::agent::AgentError;
use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// One received call: what its headers say of it, and what it said.
/// Texts are empty and numbers absent where the caller did not send them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// `x-tribunal-run`.
    pub run: String,
    /// `x-tribunal-case`, percent-decoded.
    pub case: String,
    /// `x-tribunal-repeat`, from 0.
    pub repeat: Option<u32>,
    /// `x-tribunal-attempt`.
    pub attempt: String,
    /// `x-tribunal-attempt-number`, from 1.
    pub attempt_number: Option<u32>,
    /// `Idempotency-Key`.
    pub idempotency_key: String,
    /// When the request had been read, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Every header as it came; names in lower case, values that are not UTF-8 in replacement characters.
    pub headers: BTreeMap<String, String>,
    /// The body as it came.
    pub body: String,
}

impl Call {
    /// What the headers say of a call. Headers and body are kept only when `whole`.
    pub(crate) fn of(headers: &HeaderMap, body: &[u8], whole: bool) -> Call {
        let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let number = |name: &str| text(name).and_then(|value| value.parse().ok());
        let case = text("x-tribunal-case").unwrap_or_default();
        let mut call = Call {
            run: text("x-tribunal-run").unwrap_or_default(),
            case: percent_decode_str(&case).decode_utf8_lossy().into_owned(),
            repeat: number("x-tribunal-repeat"),
            attempt: text("x-tribunal-attempt").unwrap_or_default(),
            attempt_number: number("x-tribunal-attempt-number"),
            idempotency_key: text("idempotency-key").unwrap_or_default(),
            at_ms: now_ms(),
            ..Call::default()
        };
        if whole {
            call.headers = headers
                .iter()
                .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
                .collect();
            call.body = String::from_utf8_lossy(body).into_owned();
        }
        call
    }
}

/// One line of the log.
#[derive(Serialize)]
struct Line<'a> {
    event: &'static str,
    at_ms: u64,
    run: &'a str,
    case: &'a str,
    repeat: Option<u32>,
    attempt: &'a str,
    attempt_number: Option<u32>,
    idempotency_key: &'a str,
    latency_ms: Option<u64>,
    status: Option<u16>,
}

/// Where calls are noted: a file, the memory of this process, both or neither.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    file: Option<Mutex<File>>,
    kept: Option<Mutex<Vec<Call>>>,
    open: AtomicUsize,
    ended: Notify,
}

impl CallLog {
    /// A log that appends to `path`, if given, and keeps calls in memory if told to.
    pub fn open(path: Option<&Path>, keep: bool) -> Result<CallLog, AgentError> {
        let open = |path: &Path| {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .map_err(|source| AgentError::Log { path: path.display().to_string(), source })
        };
        let file = path.map(open).transpose()?.map(Mutex::new);
        Ok(CallLog { file, kept: keep.then(Mutex::default), ..CallLog::default() })
    }

    /// Whether calls are kept with headers and body.
    pub fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// The calls so far, in order of arrival; empty when they are not kept.
    pub fn calls(&self) -> Vec<Call> {
        self.kept.as_ref().map(|kept| locked(kept).clone()).unwrap_or_default()
    }

    /// Notes an arrival. The line is with the kernel when this returns.
    pub fn arrived(self: &Arc<Self>, call: Call) -> std::io::Result<Receipt> {
        let arrived = Instant::now();
        self.write(&Line { status: None, latency_ms: None, ..line("call", call.at_ms, &call) })?;
        if let Some(kept) = &self.kept {
            locked(kept).push(call.clone());
        }
        self.open.fetch_add(1, Ordering::AcqRel);
        Ok(Receipt { log: Arc::clone(self), call, arrived, status: None, ended: false })
    }

    /// Waits until the end of every call that arrived has been noted.
    pub async fn settled(&self) {
        loop {
            // Listening before looking: an end in between is not missed.
            let ended = self.ended.notified();
            if self.open.load(Ordering::Acquire) == 0 {
                return;
            }
            ended.await;
        }
    }

    fn write(&self, line: &Line<'_>) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        locked(file).write_all(&text)
    }
}

/// The open end of a logged call. Dropping it means the reply never got out.
#[derive(Debug)]
pub(crate) struct Receipt {
    log: Arc<CallLog>,
    call: Call,
    arrived: Instant,
    status: Option<u16>,
    ended: bool,
}

impl Receipt {
    /// The call.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Notes which status the reply carries, for the line of its end.
    pub fn replying(&mut self, status: u16) {
        self.status = Some(status);
    }

    /// The reply was handed to the kernel whole.
    pub fn sent(mut self) {
        self.end("reply");
    }

    fn end(&mut self, event: &'static str) {
        self.ended = true;
        let latency_ms = u64::try_from(self.arrived.elapsed().as_millis()).ok();
        let written = self.log.write(&Line { status: self.status, latency_ms, ..line(event, now_ms(), &self.call) });
        if let Err(error) = written {
            tracing::error!(case = self.call.case, %error, "call log not written");
        }
        self.log.open.fetch_sub(1, Ordering::AcqRel);
        self.log.ended.notify_waiters();
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if !self.ended {
            self.end("broken");
        }
    }
}

fn line<'a>(event: &'static str, at_ms: u64, call: &'a Call) -> Line<'a> {
    Line {
        event,
        at_ms,
        run: &call.run,
        case: &call.case,
        repeat: call.repeat,
        attempt: &call.attempt,
        attempt_number: call.attempt_number,
        idempotency_key: &call.idempotency_key,
        latency_ms: None,
        status: None,
    }
}

/// The lock is held for one write or push only, neither of which leaves anything half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
