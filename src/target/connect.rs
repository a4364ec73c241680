//! Connecting: dns, connect, tls, each with a failure of its own class.
//!
//! Whatever fails here proves that the target did no work. That is also why the
//! time for connecting is limited separately: an attempt that ran out of time
//! before it had a connection is a failed connection and not a lost call.
//! Proxies are not used.

use super::failure::Fault;
use super::wire::{Socket, Stream, Watch, Wire};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tribunal_schema::answer::FailureClass;
use tribunal_schema::units::DurationMs;
use url::{Host, Url};

/// How long connecting may take in all: two lost SYNs (1 s and 3 s) and a slow handshake.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Where a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) host: Host<String>,
    pub(super) port: u16,
    pub(super) tls: bool,
}

impl Origin {
    /// The origin of an `http` or `https` URL; an error in words for any other.
    pub(super) fn of(url: &Url) -> Result<Origin, String> {
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            other => return Err(format!("its scheme is `{other}`, not http or https")),
        };
        let host = url.host().ok_or("it has no host")?.to_owned();
        let port = url.port_or_known_default().ok_or("it has no port")?;
        Ok(Origin { host, port, tls })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Opens connections. One per target.
#[derive(Debug, Default)]
pub(super) struct Connector {
    /// Read at the first call over TLS, because reading the system's certificates takes milliseconds.
    tls: OnceCell<Arc<ClientConfig>>,
}

impl Connector {
    /// A connector that trusts these certificates and not the system's.
    #[cfg(test)]
    pub(super) fn trusting(roots: RootCertStore) -> Connector {
        Connector { tls: OnceCell::new_with(Some(Arc::new(client_config(roots)))) }
    }

    /// Opens a connection by `deadline`, or within ten seconds if that is sooner.
    pub(super) async fn connect(&self, origin: &Origin, deadline: Instant) -> Result<(Wire, Socket), Fault> {
        let start = Instant::now();
        let deadline = deadline.min(start + CONNECT_MAX);
        let allowed = deadline - start;
        let addresses = within(deadline, resolve(origin)).await.unwrap_or_else(|| {
            Err(Fault::new(FailureClass::Dns, format!("{} did not resolve within {}", origin.host, span(allowed))))
        })?;
        let socket = Socket::new(dial(origin, &addresses, deadline, allowed).await?);
        let stream = if origin.tls {
            let shaken = within(deadline, self.shake_hands(origin, socket.clone())).await;
            let late = || Fault::new(FailureClass::Tls, format!("no TLS with {origin} within {}", span(allowed)));
            Stream::Tls(Box::new(shaken.unwrap_or_else(|| Err(late()))?))
        } else {
            Stream::Plain(socket.clone())
        };
        Ok((Wire { stream, watch: Arc::new(Watch::default()) }, socket))
    }

    async fn shake_hands(
        &self,
        origin: &Origin,
        socket: Socket,
    ) -> Result<tokio_rustls::client::TlsStream<Socket>, Fault> {
        let failed = |why: String| Fault::new(FailureClass::Tls, format!("no TLS with {origin} ({why})"));
        let config = self.tls.get_or_try_init(system_config).await.map_err(failed)?;
        let name = match &origin.host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(|error| failed(error.to_string()))?,
            Host::Ipv4(ip) => ServerName::from(IpAddr::from(*ip)),
            Host::Ipv6(ip) => ServerName::from(IpAddr::from(*ip)),
        };
        let shaken = TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
        shaken.map_err(|error| failed(handshake_words(&error)))
    }
}

async fn resolve(origin: &Origin) -> Result<Vec<SocketAddr>, Fault> {
    let name = match &origin.host {
        Host::Ipv4(ip) => return Ok(vec![SocketAddr::new((*ip).into(), origin.port)]),
        Host::Ipv6(ip) => return Ok(vec![SocketAddr::new((*ip).into(), origin.port)]),
        Host::Domain(name) => name,
    };
    let failed = |why: String| Fault::new(FailureClass::Dns, format!("{name} does not resolve ({why})"));
    let found = tokio::net::lookup_host((name.as_str(), origin.port)).await;
    let addresses: Vec<SocketAddr> = found.map_err(|error| failed(io_words(&error)))?.collect();
    if addresses.is_empty() { Err(failed("it has no address".into())) } else { Ok(addresses) }
}

/// Tries each address in turn, the remaining time shared between those left.
async fn dial(
    origin: &Origin,
    addresses: &[SocketAddr],
    deadline: Instant,
    allowed: Duration,
) -> Result<TcpStream, Fault> {
    let mut last = format!("no connection to {origin} within {}", span(allowed));
    for (index, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let now = Instant::now();
        let until = now + deadline.saturating_duration_since(now) / left;
        match within(until, TcpStream::connect(address)).await {
            Some(Ok(stream)) => {
                // Without it a request in two segments waits for a delayed ACK.
                drop(stream.set_nodelay(true));
                return Ok(stream);
            }
            Some(Err(error)) => last = format!("no connection to {origin} ({})", io_words(&error)),
            None => {}
        }
    }
    Err(Fault::new(FailureClass::Connect, last))
}

async fn within<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    timeout_at(deadline, future).await.ok()
}

fn span(duration: Duration) -> DurationMs {
    DurationMs(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// The system's certificates; `SSL_CERT_FILE` and `SSL_CERT_DIR` replace them.
async fn system_config() -> Result<Arc<ClientConfig>, String> {
    let loaded = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    let found = loaded.map_err(|error| format!("reading the certificates failed: {error}"))?;
    let mut roots = RootCertStore::empty();
    let (trusted, _) = roots.add_parsable_certificates(found.certs);
    if trusted == 0 {
        let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(format!("no root certificates on this machine; name a bundle in SSL_CERT_FILE{why}"));
    }
    Ok(Arc::new(client_config(roots)))
}

/// HTTP/1.1 only, ring; independent of any provider that the process installs.
fn client_config(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("ring supports the default protocol versions");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

fn handshake_words(error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidMessage(_)) => "it does not speak TLS; is it http:// ?".into(),
        Some(other) => other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "the connection was closed in the handshake".into(),
        None => io_words(error),
    }
}

/// An I/O error in words: its kind where it has one (`connection refused`), else its own text.
pub(super) fn io_words(error: &io::Error) -> String {
    match (error.raw_os_error(), error.kind()) {
        (Some(_), kind) if !format!("{kind:?}").starts_with("Uncategorized") => kind.to_string(),
        _ => error.to_string(),
    }
}
