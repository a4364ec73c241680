//! The adapter against real sockets that misbehave byte by byte.

mod connection;
mod request;
mod response;
mod secrets;
mod server;

use super::{ChatTarget, SecretPolicy, SecretResolver};
use serde_json::json;
use server::Server;
use std::collections::BTreeMap;
use std::sync::Arc;
use tribunal_actors::ports::target::{Answered, Ask, Target as _, TargetFailure};
use tribunal_schema::case::Case;
use tribunal_schema::ids::{AttemptId, ExecutionKey, RunId};
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::{SideEffects, TargetConfig, TargetKind};
use tribunal_schema::units::DurationMs;
use ulid::Ulid;

/// The value that must never be seen.
const CANARY: &str = "canary/4711+\"x\"";

fn config(url: &str) -> TargetConfig {
    TargetConfig {
        kind: TargetKind::Chat {
            model: "mock".into(),
            parameters: JsonText::of(&json!({"temperature": 0})),
            system: None,
            tools: JsonText::of(&json!([])),
            stream: false,
        },
        url: url.into(),
        headers: BTreeMap::new(),
        // No test waits this long: those about time set their own.
        timeout: DurationMs::from_secs(60),
        max_in_flight: 4,
        rate: None,
        max_response_bytes: 1 << 20,
        side_effects: SideEffects::None,
    }
}

fn resolver() -> SecretResolver {
    SecretResolver::new(SecretPolicy::any(), |name| (name == "TOKEN").then(|| CANARY.into()))
}

fn target(config: &TargetConfig) -> ChatTarget {
    ChatTarget::new(config, resolver()).unwrap()
}

fn ask() -> Ask {
    let case = json!({"id": "caf\u{e9} 1", "input": "hi"});
    Ask {
        run: RunId(Ulid::from_parts(1, 1)),
        execution: ExecutionKey { case: 0, repeat: 2 },
        attempt: AttemptId(Ulid::from_parts(2, 2)),
        number: 3,
        case: Arc::new(serde_json::from_value::<Case>(case).unwrap()),
        idempotency_key: "key-1".into(),
    }
}

/// One call of a fresh target at this server.
async fn call(server: &Server) -> Result<Answered, TargetFailure> {
    target(&config(&server.url())).ask(&ask()).await
}

/// A whole response with a length.
fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn json_response(body: impl AsRef<[u8]>) -> Vec<u8> {
    response("200 OK", "content-type: application/json\r\n", body)
}

fn completion(text: &str) -> String {
    json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).to_string()
}
