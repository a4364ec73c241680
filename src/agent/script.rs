//! Scripts: what the agent answers to whom, and how it misbehaves.
//!
//! A script is a YAML list of rules; the first that matches a call answers it.
//!
//! ```yaml
//! - match: { case: refund-7, attempt: 1 }  # case, contains, regex, repeat, attempt, nth; all must hold; "*" is any call
//!   times: 2                               # only the first 2 matches of an execution; then the next rule
//!   latency: 50ms                          # instead of the agent's own latency
//!   fault: { status: 429, headers: { retry-after: "1" }, body: "slow down" }
//! - match: { contains: refund }
//!   reply:
//!     text: "You said: ${input}"           # ${input}: the last user message, ${case}: the case's id
//!     tool_calls: [{ name: refund_order, arguments: { order_id: K-1 } }]
//!     finish_reason: tool_calls
//!     usage: { input_tokens: 12, output_tokens: 5 }
//! - match: "*"
//!   reply: "I do not know."                # short for { text: ... }
//! ```
//!
//! Calls are counted (`times`, `nth`) per execution, which is run, case and
//! repeat; a caller that sends no case is known by its last user message.
//!
//! Faults: `hang`, `reset`, `close`, `html`, `error-in-200`, `empty`, `garbage`,
//! `not-http`, `truncate`, `drip`, and the forms with a value `{ status: 503,
//! headers: {...}, body: "..." }`, `{ truncate: 20 }` (bytes of the body that
//! still arrive) and `{ drip: 50ms }` (a byte each).

use crate::agent::AgentError;
use crate::agent::reply::Reply;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The rules of an agent, in order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Script {
    /// The first that matches a call answers it.
    pub rules: Vec<Rule>,
}

impl Script {
    /// Reads a script from a file; an error names file, line and column.
    pub fn read(path: &Path) -> Result<Script, AgentError> {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| AgentError::Unreadable { path: shown.clone(), source })?;
        Script::parse(&text, &shown)
    }

    /// Reads a script from its text; `path` is only for the words of an error.
    pub fn parse(text: &str, path: &str) -> Result<Script, AgentError> {
        serde_saphyr::from_str(text).map_err(|error| {
            let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
            let words = error.without_snippet().to_string();
            // The place stands in front of the message; once is enough.
            let message =
                words.strip_suffix(&format!(" at line {line}, column {column}")).unwrap_or(&words).to_string();
            AgentError::Script { path: path.to_string(), line, column, message }
        })
    }
}

/// One rule: whom it answers and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Whom it answers.
    #[serde(rename = "match")]
    pub condition: Condition,
    /// Only the first so many matches of each execution.
    #[serde(default)]
    pub times: Option<u32>,
    /// How long the reply takes, instead of the agent's own latency and jitter.
    #[serde(default, deserialize_with = "span")]
    pub latency: Option<Duration>,
    /// What it says; without it the agent says what it would have said without a script.
    #[serde(default)]
    pub reply: Option<Reply>,
    /// How it misbehaves while saying it.
    #[serde(default)]
    pub fault: Option<Fault>,
}

/// Whom a rule answers: all that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// The case has this id.
    pub case: Option<String>,
    /// The last user message contains this.
    pub contains: Option<String>,
    /// The last user message matches this.
    pub regex: Option<regex::Regex>,
    /// This repeat, from 0.
    pub repeat: Option<u32>,
    /// This attempt number, from 1.
    pub attempt: Option<u32>,
    /// The so many-th call of the execution, from 1.
    pub nth: Option<u32>,
}

/// A condition as it is written in full.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionFields {
    case: Option<String>,
    contains: Option<String>,
    regex: Option<String>,
    repeat: Option<u32>,
    attempt: Option<u32>,
    nth: Option<u32>,
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Condition, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Condition;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"*\" or a map of case, contains, regex, repeat, attempt, nth")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Condition, E> {
                match text {
                    "*" => Ok(Condition::default()),
                    other => Err(E::custom(format!(
                        "match: {other:?} is not \"*\"; name what must match, as in {{ case: {other:?} }}"
                    ))),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Condition, A::Error> {
                let fields = ConditionFields::deserialize(MapAccessDeserializer::new(map))?;
                let regex = fields.regex.as_deref().map(regex::Regex::new).transpose().map_err(A::Error::custom)?;
                Ok(Condition {
                    case: fields.case.filter(|case| case != "*"),
                    contains: fields.contains,
                    regex,
                    repeat: fields.repeat,
                    attempt: fields.attempt,
                    nth: fields.nth,
                })
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// A way to misbehave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No reply until the caller gives up.
    Hang,
    /// The connection is reset before any reply.
    Reset,
    /// The connection is closed in good order before any reply.
    Close,
    /// A web page with status 200.
    Html,
    /// An error object with status 200.
    ErrorIn200,
    /// A well-formed completion that says nothing.
    Empty,
    /// A body that claims to be JSON and is neither JSON nor UTF-8.
    Garbage,
    /// Bytes that are no HTTP response.
    NotHttp,
    /// Another status.
    Status {
        /// 200..=599.
        status: u16,
        /// Sent beside it.
        headers: BTreeMap<String, String>,
        /// Sent as it is; an error object that names the status where none is given.
        body: Option<String>,
    },
    /// The connection ends within the body of the right reply.
    Truncate {
        /// Bytes of the body that still arrive.
        after: usize,
    },
    /// The body of the right reply, one byte at a time.
    Drip {
        /// Between two bytes.
        every: Duration,
    },
}

impl Fault {
    fn named(name: &str) -> Option<Fault> {
        Some(match name {
            "hang" => Fault::Hang,
            "reset" => Fault::Reset,
            "close" => Fault::Close,
            "html" => Fault::Html,
            "error-in-200" | "error_in_200" => Fault::ErrorIn200,
            "empty" => Fault::Empty,
            "garbage" => Fault::Garbage,
            "not-http" | "not_http" => Fault::NotHttp,
            "truncate" => Fault::Truncate { after: 20 },
            "drip" => Fault::Drip { every: Duration::from_millis(100) },
            _ => return None,
        })
    }
}

/// A fault with values as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultFields {
    status: Option<u16>,
    headers: Option<BTreeMap<String, String>>,
    body: Option<String>,
    truncate: Option<usize>,
    #[serde(default, deserialize_with = "span")]
    drip: Option<Duration>,
}

impl FaultFields {
    fn fault(self) -> Result<Fault, String> {
        match (self.status, self.truncate, self.drip) {
            (Some(status), None, None) if (200..=599).contains(&status) => {
                let headers = self.headers.unwrap_or_default();
                check_headers(&headers)?;
                Ok(Fault::Status { status, headers, body: self.body })
            }
            (Some(status), None, None) => Err(format!("status {status} is not within 200..=599")),
            (None, _, _) if self.headers.is_some() || self.body.is_some() => {
                Err("headers and body belong to a status".into())
            }
            (None, Some(after), None) => Ok(Fault::Truncate { after }),
            (None, None, Some(every)) => Ok(Fault::Drip { every }),
            _ => Err("a fault has exactly one of status, truncate, drip".into()),
        }
    }
}

fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), String> {
    for (name, value) in headers {
        axum::http::HeaderName::try_from(name).map_err(|_| format!("{name:?} is not a header name"))?;
        axum::http::HeaderValue::try_from(value).map_err(|_| format!("{value:?} is not a header value"))?;
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fault, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Fault;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fault: its name, or a map with status, truncate or drip")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Fault, E> {
                Fault::named(name).ok_or_else(|| {
                    E::custom(format!(
                        "unknown fault {name:?}, expected one of hang, reset, close, html, error-in-200, empty, \
                         garbage, not-http, truncate, drip, or {{ status: ... }}"
                    ))
                })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fault, A::Error> {
                FaultFields::deserialize(MapAccessDeserializer::new(map))?.fault().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

fn span<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| {
        humantime::parse_duration(&text).map_err(|error| D::Error::custom(format!("{text:?} is no duration: {error}")))
    })
    .transpose()
}
