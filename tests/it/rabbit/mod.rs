//! The broker port on real RabbitMQ nodes that the tests start themselves. The
//! ground truth is what the broker says: `rabbitmqctl`, or a connection beside the adapter.

mod adapter;
mod losses;
pub(crate) mod node;
mod outsider;

use node::Node;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tribunal::broker::rabbit::{RabbitBroker, RabbitOptions, State};
use tribunal_actors::ports::broker::{Broker, Delivery, Publication};
use tribunal_schema::wire::ChunkReady;

/// Longer than anything takes on a busy machine; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// As in production, with names of the test's own and no long pauses.
fn options() -> RabbitOptions {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    RabbitOptions {
        prefix: format!("t{}", TESTS.fetch_add(1, Ordering::Relaxed)),
        wait_first: Duration::from_millis(50),
        wait_longest: Duration::from_millis(500),
        ..RabbitOptions::default()
    }
}

async fn connected(broker: &RabbitBroker) {
    let standing = tokio::time::timeout(PATIENCE, broker.wait_for(State::is_connected)).await;
    standing.unwrap_or_else(|_| panic!("never connected: {:?}", broker.state()));
}

/// An adapter on the shared node, and the prefix of its names.
async fn on_the_shared_node(options: RabbitOptions) -> (RabbitBroker, String) {
    let prefix = options.prefix.clone();
    let node = tokio::task::block_in_place(Node::shared);
    let broker = RabbitBroker::connect(&node.url("/"), options).expect("an address");
    connected(&broker).await;
    (broker, prefix)
}

fn offer(lane: &str, body: &str) -> Publication {
    let routing_key = ChunkReady::routing_key(lane);
    Publication { message_id: format!("id-{body}"), routing_key, body: body.into() }
}

fn offers(lane: &str, bodies: impl IntoIterator<Item = usize>) -> Vec<Publication> {
    bodies.into_iter().map(|body| offer(lane, &body.to_string())).collect()
}

async fn publish_all(broker: &RabbitBroker, batch: Vec<Publication>) {
    let count = batch.len();
    assert_eq!(broker.publish(batch).await, vec![true; count], "{:?}", broker.state());
}

async fn take(receiver: &mut mpsc::Receiver<Delivery>) -> Delivery {
    let delivery = tokio::time::timeout(PATIENCE, receiver.recv()).await;
    delivery.expect("a delivery in time").expect("an open receiver")
}

fn text(delivery: &Delivery) -> &str {
    std::str::from_utf8(&delivery.body).expect("text")
}
