//! The broker port on RabbitMQ, by amqprs. Nothing else in Tribunal knows amqprs.
//!
//! The adapter owns its sessions: one for publishing and one for each consumer, each
//! with a connection of its own and a task that keeps it. A broker that slows its
//! publishers down so never slows its consumers, and one channel that is closed (a
//! message held too long) never takes another lane's messages with it. A session that
//! is lost in any way is replaced and the topology declared again; a broker that is
//! away is waited for with growing, noisy pauses, and [`RabbitBroker::state`] says so.
//!
//! It deliberately keeps no message: what is not confirmed stays the caller's. Every
//! await has a deadline. Read on in `session.rs` (what amqprs promises and what not),
//! `publisher.rs`, `consumer.rs` and `topology.rs`.

mod address;
mod consumer;
mod links;
mod publisher;
mod session;
mod topology;

pub use address::{AddressError, RabbitAddress};
pub use links::State;
pub use topology::NameError;

use async_trait::async_trait;
use consumer::Lane;
use links::Links;
use publisher::Request;
use session::{Session, Trouble};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use topology::Topology;
use tribunal_actors::ports::broker::{Broker, Confirms, Delivery, Publication};

/// How many batches may wait for the publisher; further callers wait for room.
const REQUESTS_MAX: usize = 16;
/// What the publisher has beyond a batch's deadline to say which part of it was confirmed.
const GRACE: Duration = Duration::from_secs(1);

/// How the adapter behaves. The default is right for production.
#[derive(Clone, Debug)]
pub struct RabbitOptions {
    /// What every name begins with: the exchange is `<prefix>.events`.
    pub prefix: String,
    /// Lanes whose queues are declared from the start; others are when they are first used.
    pub lanes: Vec<String>,
    /// How often the broker and we show each other that we live; silence for twice as long is death.
    pub heartbeat_s: u16,
    /// The deadline of each single step with the broker.
    pub step_within: Duration,
    /// The deadline of a batch, waiting for a session included.
    pub publish_within: Duration,
    /// The first pause before a session is opened again.
    pub wait_first: Duration,
    /// The longest one.
    pub wait_longest: Duration,
    /// How many messages about runs are kept for outsiders; the oldest go.
    pub domain_messages_max: u32,
}

impl Default for RabbitOptions {
    fn default() -> RabbitOptions {
        RabbitOptions {
            prefix: "tribunal".into(),
            lanes: Vec::new(),
            // Short enough to notice a dead peer within seconds, long enough for a pause of a busy broker.
            heartbeat_s: 8,
            step_within: Duration::from_secs(10),
            publish_within: Duration::from_secs(30),
            wait_first: Duration::from_millis(200),
            wait_longest: Duration::from_secs(15),
            domain_messages_max: 100_000,
        }
    }
}

/// Why an adapter cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RabbitError {
    /// The text is no address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A name cannot be one of AMQP.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// What every task of the adapter needs.
struct House {
    address: RabbitAddress,
    options: RabbitOptions,
    topology: Topology,
    links: Links,
    /// The adapter is gone; who still listens is served on.
    ended: CancellationToken,
}

impl House {
    async fn open(&self, role: &str) -> Result<Session, Trouble> {
        let name = format!("{} {role}, process {}", self.options.prefix, std::process::id());
        Session::open(&self.address, &name, self.options.heartbeat_s, self.options.step_within).await
    }
}

/// A broker that is a RabbitMQ node or cluster. Dropping it ends its publisher; consumers end with their receivers.
pub struct RabbitBroker {
    house: Arc<House>,
    requests: mpsc::Sender<Request>,
    _end: DropGuard,
}

impl RabbitBroker {
    /// An adapter that begins to connect in the background; to be called within a tokio runtime. It returns at
    /// once, whether the broker is there or not.
    pub fn connect(url: &str, options: RabbitOptions) -> Result<RabbitBroker, RabbitError> {
        let address: RabbitAddress = url.parse()?;
        let topology = Topology::new(&options.prefix, options.domain_messages_max, options.step_within)?;
        for lane in &options.lanes {
            topology.add_lane(lane)?;
        }
        let ended = CancellationToken::new();
        let house = Arc::new(House { address, options, topology, links: Links::new(), ended: ended.clone() });
        let (requests, inbox) = mpsc::channel(REQUESTS_MAX);
        let link = house.links.join("publisher".into());
        tokio::spawn(publisher::run(house.clone(), link, inbox));
        Ok(RabbitBroker { house, requests, _end: ended.drop_guard() })
    }

    /// What the broker is to us at this moment.
    pub fn state(&self) -> State {
        self.house.links.state()
    }

    /// Waits until [`RabbitBroker::state`] is such.
    pub async fn wait_for(&self, is_such: impl FnMut(&State) -> bool) -> State {
        self.house.links.wait_for(is_such).await
    }

    /// As [`Broker::consume`], with the refusal of a lane that AMQP cannot name.
    pub fn try_consume(&self, lane: &str, prefetch: usize) -> Result<mpsc::Receiver<Delivery>, NameError> {
        let queue = self.house.topology.lane_queue(lane)?;
        self.house.topology.add_lane(lane)?;
        // Zero would mean without limit to the broker.
        let prefetch = u16::try_from(prefetch).unwrap_or(u16::MAX).max(1);
        // One at a time: what waits in here when the session is lost is void.
        let (deliveries, receiver) = mpsc::channel(1);
        let link = self.house.links.join(format!("consumer of lane {lane}"));
        let lane = Lane { name: lane.to_owned(), queue, prefetch };
        tokio::spawn(consumer::run(self.house.clone(), link, lane, deliveries));
        Ok(receiver)
    }
}

#[async_trait]
impl Broker for RabbitBroker {
    async fn publish(&self, batch: Vec<Publication>) -> Confirms {
        let nothing = vec![false; batch.len()];
        let until = Instant::now() + self.house.options.publish_within;
        let (answer, answered) = oneshot::channel();
        let request = Request { batch, until, answer };
        let asked = async {
            self.requests.send(request).await.ok()?;
            answered.await.ok()
        };
        tokio::time::timeout_at(until + GRACE, asked).await.ok().flatten().unwrap_or(nothing)
    }

    async fn consume(&self, lane: &str, prefetch: usize) -> mpsc::Receiver<Delivery> {
        match self.try_consume(lane, prefetch) {
            Ok(receiver) => receiver,
            Err(refusal) => {
                tracing::error!(%refusal, "a lane cannot be consumed");
                let link = self.house.links.join(format!("lane of {} bytes", lane.len()));
                link.waiting(&refusal.to_string());
                // A closed receiver would be asked for again at once, for ever: this one stays silent.
                let (deliveries, receiver) = mpsc::channel(1);
                tokio::spawn(async move {
                    deliveries.closed().await;
                    drop(link);
                });
                receiver
            }
        }
    }

    fn queues_made(&self) -> watch::Receiver<u64> {
        self.house.topology.made()
    }
}
