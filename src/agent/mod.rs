//! # The built-in agents
//!
//! An agent to put on trial when there is none at hand: a real HTTP server that
//! speaks `POST /v1/chat/completions`. It answers by a script, from a file of
//! answers, as the demo's support agent, or by saying the question back; and it
//! misbehaves on demand, down to the bytes on the wire.
//!
//! Its call log is the ground truth of every kill test: a call is in the log
//! before a byte of its reply is sent, whoever dies afterwards.
//!
//! It knows nothing of runs, journals or verdicts: to it, Tribunal is a
//! stranger with some headers. It is no place for cleverness about answers
//! either; what the demo agent knows is in [`demo`].
//!
//! Read [`script`] for what a script may say, [`server`] for the life of a
//! call, `wire` for how a connection is broken on purpose.

pub mod answers;
pub mod call;
pub mod demo;
pub mod reply;
pub mod script;
pub mod server;

mod playbook;
mod wire;

#[cfg(test)]
mod tests;

pub use answers::Answers;
pub use call::Call;
pub use script::Script;
pub use server::{MockAgent, Options, Running};

use thiserror::Error;

/// Why an agent could not be started. Each names the file and, where there is one, the place in it.
#[derive(Debug, Error)]
pub enum AgentError {
    /// A file could not be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A script is not what [`script`] describes.
    #[error("{path}:{line}:{column}: {message}")]
    Script {
        /// The script's file.
        path: String,
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
        /// What is wrong and what was expected.
        message: String,
    },
    /// A row of an answers file cannot be used.
    #[error("{path}:{line}: {message}")]
    Answers {
        /// The file.
        path: String,
        /// From 1.
        line: usize,
        /// What is wrong and what was expected.
        message: String,
    },
    /// The call log could not be opened.
    #[error("cannot open the call log {path}")]
    Log {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The address could not be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// As it was asked for.
        address: std::net::SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}
