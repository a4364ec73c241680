//! `target` and `judge`: where an agent is reached, and how gently.
//!
//! A secret written in clear is refused and never repeated in a message: a
//! profile becomes part of the journal, so that what stands in it stays.

use super::fields::{Field, Fields, Reading};
use std::collections::BTreeMap;
use tribunal_schema::json::JsonText;
use tribunal_schema::profile::{SideEffects, TargetConfig, TargetKind};
use tribunal_schema::units::DurationMs;

const SHARED_KEYS: [&str; 8] =
    ["kind", "url", "headers", "timeout", "max_in_flight", "rate", "max_response", "side_effects"];
const CHAT_KEYS: [&str; 5] = ["model", "parameters", "system", "tools", "stream"];
const HTTP_KEYS: [&str; 3] = ["method", "body", "answer"];

const TIMEOUT_DEFAULT: DurationMs = DurationMs::from_secs(30);
/// A grant lasts a slice of 10 minutes and one timeout, and RabbitMQ closes a
/// channel after 30: longer attempts could not end within their grant.
const TIMEOUT_MAX: DurationMs = DurationMs::from_secs(15 * 60);
/// Gentle to an agent nobody has measured yet; a profile that knows better says so.
const IN_FLIGHT_DEFAULT: u64 = 8;
const RESPONSE_DEFAULT: u64 = 8 << 20;

/// Headers whose value is a secret by definition.
const SECRET_HEADERS: [&str; 7] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key", "x-auth-token"];
/// Headers that Tribunal or the connection sets.
const OWN_HEADERS: [&str; 7] = [
    "content-length",
    "transfer-encoding",
    "connection",
    "host",
    "idempotency-key",
    "traceparent",
    "x-tribunal-attempt",
];

/// Reads a target; `None` when what it cannot do without is missing or wrong.
pub fn read(reading: &mut Reading<'_>, field: Field<'_>) -> Option<TargetConfig> {
    let every: Vec<&str> = SHARED_KEYS.iter().chain(&CHAT_KEYS).chain(&HTTP_KEYS).copied().collect();
    let fields = reading.map(field.node, field.key, &every)?;
    let kind = kind(reading, &fields, field.key);
    let url = reading.required(&fields, "url").and_then(|field| url(reading, field));
    let headers = fields.get("headers").map_or_else(BTreeMap::new, |field| headers(reading, field));
    let timeout = fields.get("timeout").and_then(|field| reading.duration(field, DurationMs(1)..=TIMEOUT_MAX));
    let max_in_flight = fields.get("max_in_flight").and_then(|field| reading.integer(field, 1..=10_000));
    let rate = fields.get("rate").and_then(|field| reading.rate(field));
    let max_response = fields.get("max_response").and_then(|field| reading.size(field, 1 << 10..=256 << 20));
    let words = [("none", SideEffects::None), ("idempotent", SideEffects::Idempotent), ("unsafe", SideEffects::Unsafe)];
    let side_effects = fields.get("side_effects").and_then(|field| reading.choice(field, &words));
    Some(TargetConfig {
        kind: kind?,
        url: url?,
        headers,
        timeout: timeout.unwrap_or(TIMEOUT_DEFAULT),
        max_in_flight: max_in_flight.unwrap_or(IN_FLIGHT_DEFAULT) as u32,
        rate,
        max_response_bytes: max_response.unwrap_or(RESPONSE_DEFAULT),
        side_effects: side_effects.unwrap_or(SideEffects::None),
    })
}

fn kind(reading: &mut Reading<'_>, fields: &Fields<'_>, what: &str) -> Option<TargetKind> {
    let field = reading.required(fields, "kind")?;
    let is_chat = reading.choice(field, &[("chat", true), ("http", false)])?;
    let (name, foreign): (&str, &[&str]) = if is_chat { ("chat", &HTTP_KEYS) } else { ("http", &CHAT_KEYS) };
    for (at, field) in fields.all().filter(|(_, field)| foreign.contains(&field.key)) {
        let message = format!("the key `{}` has no meaning in a `{what}` of kind {name}", field.key);
        reading.refuse(at, message, "remove it, or change the kind");
    }
    if is_chat { chat(reading, fields) } else { http(reading, fields) }
}

fn chat(reading: &mut Reading<'_>, fields: &Fields<'_>) -> Option<TargetKind> {
    let model = reading.required(fields, "model").and_then(|field| reading.name(field));
    let parameters = match fields.get("parameters") {
        Some(field) => reading.open_map(field).map(|parameters| {
            for (at, field) in
                parameters.all().filter(|(_, field)| ["model", "messages", "stream", "tools"].contains(&field.key))
            {
                let message = format!("the parameter `{}` is set by Tribunal", field.key);
                reading.refuse(
                    at,
                    message,
                    "write model, tools and stream beside `parameters`; messages come from the cases",
                );
            }
            JsonText::of(&field.node.value())
        }),
        None => Some(JsonText::of(&serde_json::json!({}))),
    };
    let system = fields.get("system").and_then(|field| reading.text(field));
    let tools = match fields.get("tools") {
        Some(field) => reading.list(field).map(|_| JsonText::of(&field.node.value())),
        None => Some(JsonText::of(&serde_json::json!([]))),
    };
    let stream = fields.get("stream").and_then(|field| reading.boolean(field)).unwrap_or(false);
    Some(TargetKind::Chat { model: model?, parameters: parameters?, system, tools: tools?, stream })
}

fn http(reading: &mut Reading<'_>, fields: &Fields<'_>) -> Option<TargetKind> {
    let methods = ["POST", "PUT", "PATCH"].map(|method| (method, method));
    let method = fields.get("method").map_or(Some("POST"), |field| reading.choice(field, &methods));
    let body = reading.required(fields, "body");
    let answer = reading.required(fields, "answer").and_then(|field| answer_paths(reading, field));
    Some(TargetKind::Http { method: method?.into(), body: JsonText::of(&body?.node.value()), answer: answer? })
}

fn answer_paths(reading: &mut Reading<'_>, field: Field<'_>) -> Option<BTreeMap<String, String>> {
    const PARTS: [&str; 4] = ["text", "structured", "tool_calls", "usage"];
    let fields = reading.map(field.node, field.key, &PARTS)?;
    let mut paths = BTreeMap::new();
    for part in &PARTS[..3] {
        if let Some(path) = fields.get(part).and_then(|field| json_path(reading, field)) {
            paths.insert((*part).to_string(), path);
        }
    }
    let tokens = ["input_tokens", "output_tokens"];
    if let Some(usage) = fields.get("usage").and_then(|field| reading.map(field.node, "usage", &tokens)) {
        for part in tokens {
            if let Some(path) = usage.get(part).and_then(|field| json_path(reading, field)) {
                paths.insert(format!("usage.{part}"), path);
            }
        }
    }
    if PARTS[..3].iter().all(|part| fields.get(part).is_none()) {
        reading.refuse(
            fields.at,
            "`answer` names no part of an answer",
            "name at least one of text, structured, tool_calls",
        );
    }
    Some(paths)
}

fn json_path(reading: &mut Reading<'_>, field: Field<'_>) -> Option<String> {
    let path = reading.text(field)?;
    match serde_json_path::JsonPath::parse(&path) {
        Ok(_) => Some(path),
        Err(error) => {
            let message = format!("`{}`: {path:?} is not a JSONPath: {}", field.key, error.message());
            reading.refuse(field.node.at, message, "for example $.output.text");
            None
        }
    }
}

fn url(reading: &mut Reading<'_>, field: Field<'_>) -> Option<String> {
    let written = reading.text(field)?;
    references(reading, field, &written)?;
    if written.starts_with("${env:") {
        return Some(written);
    }
    // A reference stands for text without structure; any word shows whether the rest is an address.
    let parsed = url::Url::parse(&with_references_as(&written, "0"));
    let flaw = match &parsed {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => "is not an http or https address",
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            "holds a name or password in clear, which would become part of the journal"
        }
        Ok(_) => return Some(written),
        Err(_) => "is not an address",
    };
    reading.refuse(
        field.node.at,
        format!("`url`: the text {flaw}"),
        "write https://host/path, and secrets as headers with ${env:NAME}",
    );
    None
}

fn with_references_as(text: &str, word: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${env:") {
        out.push_str(&rest[..start]);
        out.push_str(word);
        rest = rest[start..].split_once('}').map_or("", |(_, after)| after);
    }
    out + rest
}

fn headers(reading: &mut Reading<'_>, field: Field<'_>) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    let Some(fields) = reading.open_map(field) else { return headers };
    for (at, field) in fields.all() {
        let name = field.key.to_ascii_lowercase();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            reading.refuse(at, format!("{:?} is not a header name", field.key), "letters, digits and hyphens");
        } else if OWN_HEADERS.contains(&name.as_str()) {
            reading.refuse(at, format!("the header `{name}` is set by Tribunal"), "remove it");
        } else if let Some(value) = header_value(reading, &name, field)
            && headers.insert(name.clone(), value).is_some()
        {
            reading.refuse(at, format!("the header `{name}` is written twice"), "remove one of the two");
        }
    }
    headers
}

fn header_value(reading: &mut Reading<'_>, name: &str, field: Field<'_>) -> Option<String> {
    use super::super::node::Kind;
    let at = field.node.at;
    let Kind::Text(value) = &field.node.kind else {
        reading.refuse(at, format!("the header `{name}` is not a text"), "put its value in quotes");
        return None;
    };
    references(reading, field, value)?;
    if value.chars().any(|c| c.is_control() && c != '\t') {
        reading.refuse(at, format!("the header `{name}` holds a control character"), "write it on one line");
        return None;
    }
    let in_clear = !value.contains("${env:");
    let like_a_secret =
        ["token", "secret", "password", "apikey", "api-key", "credential"].iter().any(|word| name.contains(word));
    if in_clear && SECRET_HEADERS.contains(&name) {
        let message = format!("the header `{name}` holds a secret in clear, which would become part of the journal");
        reading.refuse(at, message, format!("write {name}: \"...${{env:NAME}}\" and set NAME where the run happens"));
        return None;
    }
    if in_clear && like_a_secret {
        let message = format!("the header `{name}` looks like a secret in clear, which becomes part of the journal");
        reading.warn(at, message, "write it as ${env:NAME}");
    }
    Some(value.clone())
}

/// Refuses a `${...}` that is not `${env:NAME}`. The text is not repeated: it may hold a secret.
fn references(reading: &mut Reading<'_>, field: Field<'_>, text: &str) -> Option<()> {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let inside =
            rest[start + 2..].split_once('}').and_then(|(inside, after)| Some((inside.strip_prefix("env:")?, after)));
        let name_is_sound = |name: &str| {
            let first = name.chars().next();
            first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match inside {
            Some((name, after)) if name_is_sound(name) => rest = after,
            _ => {
                let message =
                    format!("`{}`: found `${{` that does not begin a reference like ${{env:NAME}}", field.key);
                reading.refuse(
                    field.node.at,
                    message,
                    "a name has letters, digits and underscores, and no digit first",
                );
                return None;
            }
        }
    }
    Some(())
}
