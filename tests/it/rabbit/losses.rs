//! What the adapter promises while connections, queues and the broker itself are lost.

use super::node::{Node, Queue};
use super::outsider::Outsider;
use super::{PATIENCE, connected, offer, offers, on_the_shared_node, options, publish_all, take, text};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tribunal::broker::rabbit::{RabbitBroker, RabbitOptions, State};
use tribunal_actors::ports::broker::{Broker, Publication};

/// The next time that the adapter had to make a queue.
async fn a_queue_is_made(made: &mut watch::Receiver<u64>) {
    tokio::time::timeout(PATIENCE, made.changed()).await.expect("it is told").expect("the adapter lives");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unroutable_message_is_not_confirmed_and_the_next_one_is() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    publish_all(&broker, vec![offer("a", "before")]).await;
    let mut made = broker.queues_made();
    made.mark_unchanged();
    let queue = format!("{prefix}.lane.a");
    Node::shared().ctl(&["delete_queue", &queue]);
    let news = Publication { message_id: "n".into(), routing_key: "run.opened".into(), body: b"news".to_vec() };
    let confirms = broker.publish(vec![offer("a", "lost"), news, offer("a", "lost too")]).await;
    assert_eq!(confirms, [false, true, false]);
    a_queue_is_made(&mut made).await;
    publish_all(&broker, vec![offer("a", "after")]).await;
    assert_eq!(Outsider::new(Node::shared().port()).await.drain(&queue).await, ["after"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_outlives_the_deletion_of_its_queue() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    let (node, queue) = (Node::shared(), format!("{prefix}.lane.a"));
    publish_all(&broker, vec![offer("a", "old")]).await;
    let mut lane = broker.consume("a", 2).await;
    let old = take(&mut lane).await;
    let mut made = broker.queues_made();
    made.mark_unchanged();
    node.ctl(&["delete_queue", &queue]);
    a_queue_is_made(&mut made).await;
    node.until("/", &queue, Queue { ready: 0, unacked: 0, consumers: 1 }).await;
    publish_all(&broker, vec![offer("a", "1"), offer("a", "2")]).await;
    let first = take(&mut lane).await;
    // The answer to a message of a session that is gone is about no message of the new one.
    old.acker.ack();
    let second = take(&mut lane).await;
    assert_eq!((text(&first), text(&second)), ("1", "2"));
    node.until("/", &queue, Queue { ready: 0, unacked: 2, consumers: 1 }).await;
    assert!(broker.state().is_connected());
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_and_consuming_go_on_when_every_connection_is_closed() {
    let node = tokio::task::block_in_place(Node::shared);
    node.virtual_host("closed");
    let broker = RabbitBroker::connect(&node.url("closed"), options()).expect("an address");
    let mut lane = broker.consume("a", 10).await;
    connected(&broker).await;
    publish_all(&broker, vec![offer("a", "held")]).await;
    let held = take(&mut lane).await;
    node.ctl(&["close_all_connections", "--vhost", "closed", "the operator wants it"]);
    publish_all(&broker, vec![offer("a", "new")]).await;
    let mut bodies = HashSet::new();
    for _ in 0..2 {
        let delivery = take(&mut lane).await;
        assert_eq!(delivery.redelivered, text(&delivery) == "held", "what was held comes again");
        bodies.insert(text(&delivery).to_owned());
        delivery.acker.ack();
    }
    assert_eq!(bodies, HashSet::from(["held".to_owned(), "new".to_owned()]));
    held.acker.ack();
    connected(&broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_down_at_the_start_or_hangs_is_waited_for() {
    let node = Node::not_started();
    let seconds = Duration::from_secs;
    let hasty = RabbitOptions { publish_within: seconds(1), step_within: seconds(2), heartbeat_s: 2, ..options() };
    let broker = RabbitBroker::connect(&node.url("/"), hasty).expect("an address");
    let mut lane = broker.consume("a", 1).await;
    let is_tried = |state: &State| matches!(state, State::Waiting { tries: 3.., .. });
    let waiting = tokio::time::timeout(PATIENCE, broker.wait_for(is_tried)).await.expect("it is tried");
    let said = format!("{waiting:?}");
    assert!(said.contains(&format!("127.0.0.1:{} cannot be reached: Connection refused", node.port())), "{said}");
    assert_eq!(broker.publish(vec![offer("a", "early")]).await, [false]);
    tokio::task::block_in_place(|| node.start());
    connected(&broker).await;
    // The deadline of a batch is short here, and a node that has just started is slow.
    while broker.publish(vec![offer("a", "late")]).await != [true] {}
    let late = take(&mut lane).await;
    assert_eq!(text(&late), "late");
    late.acker.ack();
    node.hang(true);
    let is_noticed = |state: &State| matches!(state, State::Waiting { tries: 2.., .. });
    let noticed = tokio::time::timeout(PATIENCE, broker.wait_for(is_noticed)).await;
    node.hang(false);
    assert!(noticed.is_ok(), "the silence of a broker that hangs is taken for life");
    connected(&broker).await;
    while broker.publish(vec![offer("a", "again")]).await != [true] {}
    while text(&take(&mut lane).await) != "again" {}
}

#[tokio::test(flavor = "multi_thread")]
async fn no_confirmed_message_is_lost_when_the_broker_is_killed_in_the_midst() {
    const BATCH: usize = 2_000;
    let node = Arc::new(Node::not_started());
    tokio::task::block_in_place(|| node.start());
    // Longer than the node takes to come back: what was on the way is tried once more then.
    let options = RabbitOptions { publish_within: 2 * PATIENCE, ..options() };
    let queue = format!("{}.lane.a", options.prefix);
    let broker = Arc::new(RabbitBroker::connect(&node.url("/"), options).expect("an address"));
    publish_all(&broker, vec![offer("a", "first")]).await;
    tokio::task::block_in_place(|| node.settle());
    // Publishes batch after batch, and tells how many messages were confirmed so far.
    let (tell, mut told) = watch::channel(0);
    let (stop, mut stopped) = watch::channel(false);
    let publishing = tokio::spawn({
        let broker = broker.clone();
        async move {
            let mut confirmed: HashSet<String> = HashSet::new();
            let mut batches = 0;
            while !*stopped.borrow_and_update() {
                let bodies = batches * BATCH..(batches + 1) * BATCH;
                batches += 1;
                let confirms = broker.publish(offers("a", bodies.clone())).await;
                confirmed.extend(bodies.zip(confirms).filter(|(_, is)| *is).map(|(body, _)| body.to_string()));
                tell.send_replace(confirmed.len());
            }
            (batches * BATCH, confirmed)
        }
    });
    let mut confirmed = async |at_least: usize| {
        let reached = tokio::time::timeout(PATIENCE, told.wait_for(|count| *count >= at_least)).await;
        *reached
            .unwrap_or_else(|_| panic!("nothing more confirmed: {:?}", broker.state()))
            .expect("the publisher lives")
    };
    let before = confirmed(3 * BATCH).await;
    tokio::task::block_in_place(|| {
        node.kill();
        node.start();
    });
    confirmed(before + 4 * BATCH).await;
    stop.send_replace(true);
    let (published, confirmed) = publishing.await.expect("no panic");
    let kept: HashSet<String> = Outsider::new(node.port()).await.drain(&queue).await.into_iter().collect();
    let lost = confirmed.difference(&kept).count();
    assert_eq!(confirmed.len(), published, "what was on the way is tried once more");
    assert_eq!(lost, 0, "{lost} of {} confirmed messages are lost", confirmed.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_somebody_declared_otherwise_is_named() {
    let options = options();
    let queue = format!("{}.domain", options.prefix);
    let node = tokio::task::block_in_place(Node::shared);
    let outsider = Outsider::new(node.port()).await;
    outsider.declare_otherwise(&queue).await;
    let broker = RabbitBroker::connect(&node.url("/"), options).expect("an address");
    let is_tried = |state: &State| matches!(state, State::Waiting { tries: 1.., .. });
    let said = format!("{:?}", tokio::time::timeout(PATIENCE, broker.wait_for(is_tried)).await.expect("a try"));
    assert!(said.contains("inequivalent arg") && said.contains(&queue), "{said}");
    node.ctl(&["delete_queue", &queue]);
    connected(&broker).await;
}
