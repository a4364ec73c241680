//! # The target: one call of the agent under test, and exactly what became of it
//!
//! [`ChatTarget`] implements the port `Target` for OpenAI-compatible chat
//! completions. It makes one call when asked and reports either an answer or
//! the class of the first check that failed. It never retries (the attempt's
//! decider does), never follows a redirect (credentials would travel), keeps no
//! cookies and asks for no compression.
//!
//! It speaks HTTP/1.1 with hyper's connection directly and not with a client on
//! top of it, because what a client hides is what a verdict needs: whether a
//! lost call had left this machine, whether any part of a response had come
//! back, and which step of the connection failed. A target is one origin, so the
//! pool it needs is small.
//!
//! ```text
//! secrets -> dns -> connect -> tls        connect.rs, pool.rs
//!         -> timeout, reset               exchange.rs, wire.rs
//!         -> status                       failure.rs, retry_after.rs
//!         -> content type, size, cut      exchange.rs
//!         -> parse, shape, error, empty   answer.rs, json.rs
//! ```
//!
//! A secret (`${env:NAME}`) is read when a call is made, sent only where the
//! operator allows, and masked in everything that leaves this module: see
//! [`secrets`] and [`redact`].

mod answer;
mod chat;
mod connect;
mod content;
mod exchange;
mod failure;
mod headers;
mod json;
mod limits;
mod pool;
mod redact;
mod request;
mod retry_after;
mod secrets;
mod wire;

#[cfg(test)]
mod tests;

pub use chat::ChatTarget;
pub use failure::TargetSetupError;
pub use limits::Limits;
pub use retry_after::{RETRY_AFTER_MS_MAX, RetryAfter, retry_after};
pub use secrets::{Allowed, SecretPolicy, SecretResolver};
