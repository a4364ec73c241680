//! Secrets: references in a profile, and the operator's word on them.
//!
//! A profile names a secret as `${env:NAME}` and never holds its value. The value
//! is read from the environment of the process that makes the call, at the
//! moment it makes it, and only if the operator allows this name to be read and
//! this host to receive it. Masking what comes back is the business of
//! [`super::redact`].

use super::failure::TargetSetupError;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use tribunal_schema::profile::TargetConfig;

/// The fewest characters of a secret. A shorter value occurs in ordinary text, so
/// that masking it would change answers, and not masking it would break the promise.
pub const SECRET_CHARS_MIN: usize = 4;

/// What a list allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Anything.
    Any,
    /// Only these.
    Only(BTreeSet<String>),
}

impl Allowed {
    /// Only these.
    pub fn only<T: Into<String>>(entries: impl IntoIterator<Item = T>) -> Allowed {
        Allowed::Only(entries.into_iter().map(Into::into).collect())
    }

    fn has(&self, wanted: impl Fn(&str) -> bool) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Only(entries) => entries.iter().any(|entry| wanted(entry)),
        }
    }
}

/// Which secrets may be read, and which hosts may receive one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretPolicy {
    /// Names of environment variables.
    pub names: Allowed,
    /// Hosts, as `host` (any port) or `host:port`; case does not matter.
    pub hosts: Allowed,
}

impl SecretPolicy {
    /// Every name, to every host.
    pub fn any() -> SecretPolicy {
        SecretPolicy { names: Allowed::Any, hosts: Allowed::Any }
    }

    /// No secret at all.
    pub fn none() -> SecretPolicy {
        SecretPolicy { names: Allowed::Only(BTreeSet::new()), hosts: Allowed::Only(BTreeSet::new()) }
    }

    /// The names that a target's own configuration references, to any host: right
    /// for the command line, where the author of the profile and the owner of the
    /// environment are one person.
    pub fn referenced_by(config: &TargetConfig) -> SecretPolicy {
        SecretPolicy { names: Allowed::only(referenced(config)), hosts: Allowed::Any }
    }
}

/// The names of the secrets in a target's configuration; one may occur several times.
fn referenced(config: &TargetConfig) -> impl Iterator<Item = String> {
    let texts = std::iter::once(&config.url).chain(config.headers.values());
    texts
        .filter_map(|text| Template::parse(text).ok())
        .flat_map(|template| template.names().map(str::to_owned).collect::<Vec<_>>())
}

type Source = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Reads secrets, as far as a policy allows.
#[derive(Clone)]
pub struct SecretResolver {
    policy: SecretPolicy,
    source: Source,
}

impl SecretResolver {
    /// Reads the environment of this process, anew at each call.
    pub fn environment(policy: SecretPolicy) -> SecretResolver {
        SecretResolver::new(policy, |name| std::env::var(name).ok())
    }

    /// Reads from `source`.
    pub fn new(
        policy: SecretPolicy,
        source: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> SecretResolver {
        SecretResolver { policy, source: Arc::new(source) }
    }

    /// Fills a template in and notes every secret it used. An error names the
    /// secret and never its value.
    pub(super) fn fill(&self, template: &Template, used: &mut Secrets) -> Result<String, String> {
        let mut text = String::new();
        for piece in &template.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Secret(name) => {
                    let value = self.read(name)?;
                    text.push_str(&value);
                    used.note(name, value);
                }
            }
        }
        Ok(text)
    }

    /// Why each secret that a target's configuration references cannot be used now; empty when all
    /// can. Names only, never values.
    pub fn unusable(&self, config: &TargetConfig) -> Vec<String> {
        let names: BTreeSet<String> = referenced(config).collect();
        names.iter().filter_map(|name| self.read(name).err()).collect()
    }

    /// Whether a host may receive secrets; an error in words if not.
    pub(super) fn check_host(&self, host: &str, port: u16) -> Result<(), String> {
        let with_port = format!("{host}:{port}");
        let allowed = |entry: &str| entry.eq_ignore_ascii_case(host) || entry.eq_ignore_ascii_case(&with_port);
        if self.policy.hosts.has(allowed) {
            return Ok(());
        }
        Err(format!("{with_port} is not among the hosts that may receive a secret"))
    }

    fn read(&self, name: &str) -> Result<String, String> {
        if !self.policy.names.has(|entry| entry == name) {
            return Err(format!("the secret {name} is not among those that may be used"));
        }
        let value = (self.source)(name).ok_or_else(|| format!("the secret {name} is not set in the environment"))?;
        match value.chars().count() {
            0 => Err(format!("the secret {name} is empty")),
            chars if chars < SECRET_CHARS_MIN => Err(format!(
                "the secret {name} has only {chars} characters: it needs at least {SECRET_CHARS_MIN}, \
                 or masking it would change ordinary answers"
            )),
            _ => Ok(value),
        }
    }
}

impl fmt::Debug for SecretResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretResolver").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// The secrets that one call used, by name. Shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Secrets {
    values: Vec<(String, String)>,
}

impl Secrets {
    /// Notes a value that must not be seen again.
    pub(super) fn note(&mut self, name: &str, value: String) {
        if !self.values.iter().any(|(_, known)| *known == value) {
            self.values.push((name.to_owned(), value));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}

/// A text with references to secrets in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Secret(String),
}

impl Template {
    /// Reads a text. `${` that does not begin `${env:NAME}` is refused: sent as it
    /// is, it would reach the agent as a misspelt password.
    pub(super) fn parse(text: &str) -> Result<Template, TargetSetupError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, reference) = rest.split_at(start);
            let wrong = || TargetSetupError::Reference { text: reference.chars().take(40).collect() };
            let end = reference.find('}').ok_or_else(wrong)?;
            let name = reference[2..end].strip_prefix("env:").filter(|name| is_name(name)).ok_or_else(wrong)?;
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(Piece::Secret(name.to_owned()));
            rest = &reference[end + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Template { pieces })
    }

    /// The text, if it references no secret.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Secret(name) => Some(name.as_str()),
        })
    }
}

/// Shown as it was written: with references, never with values.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Secret(name) => write!(f, "${{env:{name}}}"),
        })
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(policy: SecretPolicy) -> SecretResolver {
        SecretResolver::new(policy, |name| match name {
            "TOKEN" => Some("canary-4711".into()),
            "SHORT" => Some("abc".into()),
            "LIMIT" => Some("abcd".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    fn fill(policy: SecretPolicy, text: &str) -> Result<String, String> {
        resolver(policy).fill(&Template::parse(text).unwrap(), &mut Secrets::default())
    }

    #[test]
    fn a_reference_is_filled_in_where_it_stands() {
        assert_eq!(fill(SecretPolicy::any(), "Bearer ${env:TOKEN}."), Ok("Bearer canary-4711.".into()));
        assert_eq!(fill(SecretPolicy::any(), "plain $5 {x}"), Ok("plain $5 {x}".into()));
    }

    #[test]
    fn a_secret_is_refused_when_missing_empty_or_too_short_to_mask() {
        for (name, words) in [("NONE", "not set"), ("EMPTY", "is empty"), ("SHORT", "only 3 characters")] {
            let error = fill(SecretPolicy::any(), &format!("${{env:{name}}}")).unwrap_err();
            assert!(error.contains(words) && error.contains(name), "{error}");
        }
        assert_eq!(fill(SecretPolicy::any(), "${env:LIMIT}"), Ok("abcd".into()));
    }

    #[test]
    fn only_allowed_names_are_read() {
        let only = |name: &str| SecretPolicy { names: Allowed::only([name]), hosts: Allowed::Any };
        assert!(fill(only("TOKEN"), "${env:TOKEN}").is_ok());
        assert!(fill(only("TOKE"), "${env:TOKEN}").unwrap_err().contains("not among those"));
        assert!(fill(SecretPolicy::none(), "${env:TOKEN}").is_err());
    }

    #[test]
    fn only_allowed_hosts_receive_a_secret() {
        let hosts = SecretPolicy { names: Allowed::Any, hosts: Allowed::only(["Agent.example", "other:8443"]) };
        let resolver = resolver(hosts);
        assert!(resolver.check_host("agent.example", 1).is_ok());
        assert!(resolver.check_host("other", 8443).is_ok());
        assert!(resolver.check_host("other", 8444).is_err());
        assert!(resolver.check_host("agent.example.evil", 1).is_err());
    }

    #[test]
    fn a_misspelt_reference_is_refused_at_setup() {
        for text in ["${env:}", "${TOKEN}", "${env:A-B}", "${env:1A}", "${env:OPEN"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_debug_form_shows_a_value() {
        let mut used = Secrets::default();
        resolver(SecretPolicy::any()).fill(&Template::parse("${env:TOKEN}").unwrap(), &mut used).unwrap();
        assert_eq!(format!("{used:?}"), r#"["TOKEN"]"#);
        assert!(!format!("{:?}", resolver(SecretPolicy::any())).contains("canary"));
    }
}
