//! The broker port: at-least-once delivery of hints. No message is
//! load-bearing; a ready row that stays unclaimed is published again.

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};

/// A message to be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The same for every try at publishing the same thing.
    pub message_id: String,
    /// `run.chunk.ready.<lane>`
    pub routing_key: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A message that a consumer holds until it acks it.
pub struct Delivery {
    /// The body.
    pub body: Vec<u8>,
    /// Whether it was delivered before.
    pub redelivered: bool,
    /// Where the answer goes; dropping it without an answer gives the message back.
    pub acker: Box<dyn Acker>,
}

/// The one answer to a delivery.
pub trait Acker: Send {
    /// The message is dealt with.
    fn ack(self: Box<Self>);
    /// The message goes back to the queue.
    fn requeue(self: Box<Self>);
}

/// What the broker said to a batch: for each publication whether it is confirmed.
pub type Confirms = Vec<bool>;

/// A broker.
#[async_trait]
pub trait Broker: Send + Sync {
    /// Publishes a batch and waits for the broker's word on each, bounded by the adapter's own
    /// deadline; what is not confirmed stays the caller's.
    async fn publish(&self, batch: Vec<Publication>) -> Confirms;

    /// Consumes a lane's queue with at most `prefetch` unacked deliveries. The channel closes
    /// when the consumer is cancelled; dropping the receiver cancels it and gives back what it held.
    async fn consume(&self, lane: &str, prefetch: usize) -> mpsc::Receiver<Delivery>;

    /// Counts how often a queue had to be made anew, with whatever was in it gone: at each change
    /// everything ready should be published again. A broker that never loses a queue gives a
    /// receiver whose sender is gone, so that waiting for a change ends with an error at once.
    fn queues_made(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
}
