//! Answers: what a target returned, or why it did not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// What a target returned for one attempt. Kept as a content-addressed blob of its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The text of the answer; `None` when the target sent none (a pure tool call).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A structured answer, where the target has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Tool calls in the order the target made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What the target refused to do, in its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Why the target stopped: `stop`, `length`, `tool_calls`, `content_filter`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Tokens, where the target says; unknown is not zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The body as it was received.
    pub raw: RawBody,
}

/// One tool call of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The target's id of the call, if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments: parsed when they are JSON, else the text as it came.
    pub arguments: Value,
    /// Why the arguments could not be parsed, when they could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
}

/// Token counts as the target reported them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read by the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written by the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

/// A response body, exactly: text where it is UTF-8, base64 where it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawBody {
    /// UTF-8 text.
    Text(String),
    /// Standard base64 with padding.
    Base64(String),
}

/// Why an attempt has no answer. The order is the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// A secret or address that the call needs could not be resolved on this machine.
    Configuration,
    /// The host name did not resolve.
    Dns,
    /// No connection: refused, unreachable, timed out while connecting.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// No complete response within the attempt's time.
    Timeout,
    /// The connection was closed or reset before a response began.
    Reset,
    /// Status 429.
    RateLimited,
    /// Status 5xx.
    ServerError,
    /// Status 4xx other than 429.
    ClientError,
    /// Status 3xx: credentials are never sent on to another place.
    Redirect,
    /// Any other status that is not 2xx.
    Status,
    /// A 2xx response that is not JSON by its content type.
    ContentType,
    /// The body was larger than the profile's limit.
    TooLarge,
    /// The connection ended within the body.
    Truncated,
    /// The body is not JSON.
    Parse,
    /// The body is JSON of another shape than the target kind promises.
    Shape,
    /// The body carries an error under a 2xx status.
    ErrorInBody,
    /// An answer with neither text, structure nor tool call.
    Empty,
    /// An unsafe call whose end nobody knows; it waits in quarantine.
    Lost,
    /// The attempts or recoveries of the execution ran out while it had no answer.
    Expired,
}

impl FailureClass {
    /// Every class, in order.
    pub const ALL: [FailureClass; 20] = [
        FailureClass::Configuration,
        FailureClass::Dns,
        FailureClass::Connect,
        FailureClass::Tls,
        FailureClass::Timeout,
        FailureClass::Reset,
        FailureClass::RateLimited,
        FailureClass::ServerError,
        FailureClass::ClientError,
        FailureClass::Redirect,
        FailureClass::Status,
        FailureClass::ContentType,
        FailureClass::TooLarge,
        FailureClass::Truncated,
        FailureClass::Parse,
        FailureClass::Shape,
        FailureClass::ErrorInBody,
        FailureClass::Empty,
        FailureClass::Lost,
        FailureClass::Expired,
    ];

    /// The class as it is written in profiles, events and reports.
    pub const fn name(self) -> &'static str {
        match self {
            FailureClass::Configuration => "configuration",
            FailureClass::Dns => "dns",
            FailureClass::Connect => "connect",
            FailureClass::Tls => "tls",
            FailureClass::Timeout => "timeout",
            FailureClass::Reset => "reset",
            FailureClass::RateLimited => "rate-limited",
            FailureClass::ServerError => "server-error",
            FailureClass::ClientError => "client-error",
            FailureClass::Redirect => "redirect",
            FailureClass::Status => "status",
            FailureClass::ContentType => "content-type",
            FailureClass::TooLarge => "too-large",
            FailureClass::Truncated => "truncated",
            FailureClass::Parse => "parse",
            FailureClass::Shape => "shape",
            FailureClass::ErrorInBody => "error-in-body",
            FailureClass::Empty => "empty",
            FailureClass::Lost => "lost",
            FailureClass::Expired => "expired",
        }
    }

    /// Whether the class proves that the target did no work, so that even an
    /// unsafe call may be made again.
    pub const fn proves_nothing_ran(self) -> bool {
        matches!(
            self,
            FailureClass::Configuration
                | FailureClass::Dns
                | FailureClass::Connect
                | FailureClass::Tls
                | FailureClass::RateLimited
        )
    }

    /// Whether the class itself says that a response was received. A timeout may
    /// have cut one off; it does not say so.
    pub const fn implies_response(self) -> bool {
        matches!(
            self,
            FailureClass::RateLimited
                | FailureClass::ServerError
                | FailureClass::ClientError
                | FailureClass::Redirect
                | FailureClass::Status
                | FailureClass::ContentType
                | FailureClass::TooLarge
                | FailureClass::Truncated
                | FailureClass::Parse
                | FailureClass::Shape
                | FailureClass::ErrorInBody
                | FailureClass::Empty
        )
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
