//! A session: one connection with one channel, and every word the broker says on it.
//!
//! amqprs gives no recovery and speaks by callbacks only. All callbacks of a session
//! put their word into one queue, in the order in which the broker spoke: a return
//! stays before its ack. When the connection dies, amqprs drops the callbacks, so the
//! queue ends: that is the one signal of death, however death came (reset, server's
//! close, missed heartbeats). A session is never mended, only replaced.

use super::address::RabbitAddress;
use amqprs::callbacks::{ChannelCallback, ConnectionCallback};
use amqprs::channel::Channel;
use amqprs::connection::{Connection, OpenConnectionArguments};
use amqprs::error::Error;
use amqprs::tls::TlsAdaptor;
use amqprs::{Ack, BasicProperties, Cancel, Close, CloseChannel, Nack, Return};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;

/// What the broker said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It keeps the message of this tag, or all up to it.
    Confirmed { tag: u64, is_multiple: bool },
    /// It does not keep the message of this tag, or all up to it.
    Refused { tag: u64, is_multiple: bool },
    /// No queue wanted the message; its confirm follows all the same.
    Returned { message_id: String, why: String },
    /// The consumer is cancelled: its queue is gone.
    Cancelled,
    /// The channel or the connection is closed, and why.
    Closed { code: u16, why: String },
}

/// Why a session does not stand.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("{host}:{port} cannot be reached: {error}")]
    Unreachable { host: String, port: u16, error: String },
    #[error("the broker hung up at the log-in of user {user}: is the password right?")]
    LoggedOut { user: String },
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    #[error("no answer to {what} within {within_ms} ms")]
    Silent { what: &'static str, within_ms: u128 },
    #[error("the broker closed the session: {code} {why}")]
    Closed { code: u16, why: String },
    #[error("the queue was deleted and its consumer cancelled")]
    Cancelled,
    #[error("{name}: {trouble}")]
    OfQueue { name: String, trouble: Box<Trouble> },
    #[error("{what} failed: {error}")]
    Failed { what: &'static str, error: String },
    #[error("the connection broke off")]
    BrokenOff,
}

impl Trouble {
    /// With the queue that it is about, or the key that leads to it. A queue that does not answer while others do has lost its leader.
    pub(super) fn of_queue(self, name: &str) -> Trouble {
        Trouble::OfQueue { name: name.to_owned(), trouble: Box::new(self) }
    }
}

/// Waits for an answer of the broker, not for ever.
pub(super) async fn within<T>(
    deadline: Duration,
    what: &'static str,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Trouble> {
    match tokio::time::timeout(deadline, answer).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Trouble::Failed { what, error: error.to_string() }),
        Err(_) => Err(Trouble::Silent { what, within_ms: deadline.as_millis() }),
    }
}

pub(super) struct Session {
    connection: Connection,
    pub(super) channel: Channel,
    pub(super) words: mpsc::UnboundedReceiver<Word>,
    deadline: Duration,
}

impl Session {
    /// Opens a connection and its channel; each step has the deadline.
    pub(super) async fn open(
        address: &RabbitAddress,
        name: &str,
        heartbeat_s: u16,
        deadline: Duration,
    ) -> Result<Session, Trouble> {
        let mut arguments = OpenConnectionArguments::new(&address.host, address.port, &address.user, &address.password);
        arguments.virtual_host(&address.virtual_host).connection_name(name).heartbeat(heartbeat_s);
        if address.is_tls {
            arguments.tls_adaptor(tls(&address.host)?);
        }
        let opened = within(deadline, "the log-in", Connection::open(&arguments)).await;
        let connection = opened.map_err(|trouble| in_words(address, trouble))?;
        let (say, words) = mpsc::unbounded_channel();
        let ear = Ear(say);
        within(deadline, "listening", connection.register_callback(ear.clone())).await?;
        let channel = within(deadline, "opening a channel", connection.open_channel(None)).await?;
        within(deadline, "listening", channel.register_callback(ear)).await?;
        Ok(Session { connection, channel, words, deadline })
    }

    /// Whether anything may be sent: a frame on a closed channel would kill the connection.
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_open() && self.channel.is_open()
    }

    /// One more channel of the same connection, for a question that may close it; with its own words.
    pub(super) async fn side_channel(&self) -> Result<(Channel, mpsc::UnboundedReceiver<Word>), Trouble> {
        let channel = within(self.deadline, "opening a channel", self.connection.open_channel(None)).await?;
        let (say, words) = mpsc::unbounded_channel();
        within(self.deadline, "listening", channel.register_callback(Ear(say))).await?;
        Ok((channel, words))
    }

    /// What the broker itself said of the end, where it said something; otherwise the trouble seen.
    pub(super) fn reason(&mut self, seen: Trouble) -> Trouble {
        while let Ok(word) = self.words.try_recv() {
            if let Word::Closed { code, why } = word {
                return Trouble::Closed { code, why };
            }
        }
        seen
    }

    /// Says good-bye. What was sent before is dealt with before.
    pub(super) async fn close(self) {
        // Whatever fails here ends with the connection, and the broker gives everything back.
        let _ = within(self.deadline, "closing a channel", self.channel.close()).await;
        let _ = within(self.deadline, "closing the connection", self.connection.close()).await;
    }
}

/// The log-in's failures told apart. RabbitMQ hangs up on a wrong password without a word to clients that do
/// not ask for one, and amqprs does not ask.
fn in_words(address: &RabbitAddress, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Failed { error, .. } => {
            let has_hung_up = ["peer shutdown", "reset by peer", "interrupted"].iter().any(|end| error.contains(end));
            if has_hung_up {
                return Trouble::LoggedOut { user: address.user.clone() };
            }
            let error = error.trim_start_matches("AMQP network error: network io error: ").to_owned();
            Trouble::Unreachable { host: address.host.clone(), port: address.port, error }
        }
        other => other,
    }
}

/// TLS with the machine's own trusted certificates.
fn tls(host: &str) -> Result<TlsAdaptor, Trouble> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Trouble::Tls("this machine trusts no certificate at all".into()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Trouble::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok(TlsAdaptor::new(TlsConnector::from(Arc::new(config)), name))
}

/// Puts every callback's word into the queue. A queue that nobody reads any more is no loss.
#[derive(Clone)]
struct Ear(mpsc::UnboundedSender<Word>);

impl Ear {
    fn hears(&self, word: Word) {
        let _ = self.0.send(word);
    }
}

type Answer<T> = Result<T, Error>;

#[async_trait]
impl ConnectionCallback for Ear {
    async fn close(&mut self, _: &Connection, close: Close) -> Answer<()> {
        self.hears(Word::Closed { code: close.reply_code(), why: close.reply_text().clone() });
        Ok(())
    }

    async fn blocked(&mut self, _: &Connection, reason: String) {
        tracing::warn!(%reason, "the broker takes no messages for now");
    }

    async fn unblocked(&mut self, _: &Connection) {}

    async fn secret_updated(&mut self, _: &Connection) {}
}

#[async_trait]
impl ChannelCallback for Ear {
    async fn close(&mut self, _: &Channel, close: CloseChannel) -> Answer<()> {
        self.hears(Word::Closed { code: close.reply_code(), why: close.reply_text().clone() });
        Ok(())
    }

    async fn cancel(&mut self, _: &Channel, _: Cancel) -> Answer<()> {
        self.hears(Word::Cancelled);
        Ok(())
    }

    async fn flow(&mut self, _: &Channel, active: bool) -> Answer<bool> {
        Ok(active)
    }

    async fn publish_ack(&mut self, _: &Channel, ack: Ack) {
        self.hears(Word::Confirmed { tag: ack.delivery_tag(), is_multiple: ack.mutiple() });
    }

    async fn publish_nack(&mut self, _: &Channel, nack: Nack) {
        self.hears(Word::Refused { tag: nack.delivery_tag(), is_multiple: nack.multiple() });
    }

    async fn publish_return(&mut self, _: &Channel, back: Return, properties: BasicProperties, _: Vec<u8>) {
        let message_id = properties.message_id().cloned().unwrap_or_default();
        self.hears(Word::Returned { message_id, why: format!("{} {}", back.reply_code(), back.reply_text()) });
    }
}
