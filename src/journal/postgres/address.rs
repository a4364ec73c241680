//! Where a database is: a URL, shown without its password.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use url::Url;

/// The address of a Postgres database. Neither `Debug` nor `Display` shows a password.
#[derive(Clone)]
pub struct PostgresAddress {
    /// Shared: errors carry an address, and a configuration is large.
    config: Arc<Config>,
    shown: String,
}

/// Why a text is no address of a database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It cannot be read as a URL.
    #[error("{shown} is no address of a database ({reason}); write postgres://USER@HOST:PORT/DATABASE")]
    Unreadable {
        /// The text without what may be a password.
        shown: String,
        /// Why not.
        reason: String,
    },
}

impl PostgresAddress {
    /// Whether a text is meant as such an address.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The connection's settings.
    pub(super) fn config(&self) -> Config {
        Config::clone(&self.config)
    }

    /// With another password: for one that is not in the URL.
    #[must_use]
    pub fn with_password(mut self, password: &str) -> PostgresAddress {
        Arc::make_mut(&mut self.config).password(password);
        self
    }

    /// Whether there is a password.
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }
}

impl FromStr for PostgresAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<PostgresAddress, AddressError> {
        let shown = shown(text);
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| AddressError::Unreadable {
            shown: shown.clone(),
            reason: words(&error),
        })?;
        // What a URL does not say: nothing leaves this machine in the clear unless it is told to. `prefer` would: a
        // server, or whoever stands before it, only has to say that it knows no TLS.
        if !says_tls(text) {
            config.ssl_mode(if is_local(&config) { SslMode::Disable } else { SslMode::Require });
        }
        Ok(PostgresAddress { config: Arc::new(config), shown })
    }
}

/// The innermost reason: the outer ones repeat that it is about a configuration.
fn words(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

fn says_tls(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.query_pairs().any(|(name, _)| name == "sslmode"))
}

fn is_local(config: &Config) -> bool {
    config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
        && config.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
            Host::Unix(_) => true,
        })
}

/// The URL without its password, wherever it stands. An `@` behind the host means that the host is a piece of a
/// password with an unescaped `/`, `?` or `#`: then nothing is shown.
fn shown(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return "the text".into() };
    let host = text.find("://").map_or(0, |at| at + 3);
    let behind = text[host..].find(['/', '?', '#']).map_or("", |end| &text[host + end..]);
    if behind.contains('@') {
        return "postgres://(not shown)".into();
    }
    // An error means that the URL has no place for a password.
    let _ = url.set_password(None);
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| name != "password")
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
    url.to_string()
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({})", self.shown)
    }
}

impl PartialEq for PostgresAddress {
    fn eq(&self, other: &PostgresAddress) -> bool {
        self.config == other.config
    }
}

impl Eq for PostgresAddress {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for text in ["postgres://ann:s3cret@db.example:5433/t?connect_timeout=3", "postgres://ann@db/t?password=s3cret"]
        {
            let address: PostgresAddress = text.parse().expect("an address");
            assert!(!format!("{address} {address:?}").contains("s3cret"), "{address}");
            assert!(address.has_password() && address.to_string().starts_with("postgres://ann@db"));
        }
        for wrong in ["postgres://ann:s3cret@db:port/t", "postgres://ann:s3cret@db/t?s3cret_mode=s3cret2"] {
            let error = wrong.parse::<PostgresAddress>().expect_err("no address");
            assert!(!error.to_string().contains("ann:s3cret"), "{error}");
        }
        // A password whose rest looks like a path, a query or a fragment.
        for torn in ["postgres://ann:12/s3cret@db/t", "postgres://ann:12?s3cret@db/t", "postgres://ann:12#s3cret@db/t"]
        {
            let told = match torn.parse::<PostgresAddress>() {
                Ok(address) => format!("{address} {address:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn only_this_machine_is_spoken_to_in_the_clear_by_default() {
        let mode = |text: &str| text.parse::<PostgresAddress>().expect("an address").config.get_ssl_mode();
        assert_eq!(mode("postgres://a@127.0.0.1:1/t"), SslMode::Disable);
        assert_eq!(mode("postgres://a:sslmode=@db.example/t"), SslMode::Require);
        assert_eq!(mode("postgres://a@localhost/t?hostaddr=192.0.2.7"), SslMode::Require);
        assert_eq!(mode("postgres://a@db.example/t?sslmode=prefer"), SslMode::Prefer);
        assert_eq!(mode("postgres://a@db.example/t?sslmode=require"), SslMode::Require);
    }
}
