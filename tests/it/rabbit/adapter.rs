//! What the adapter promises while the broker is well.

use super::node::{Node, Queue};
use super::outsider::Outsider;
use super::{connected, offer, offers, on_the_shared_node, options, publish_all, take, text};
use tribunal::broker::rabbit::{RabbitBroker, RabbitOptions, State};
use tribunal_actors::ports::broker::{Broker, Publication};

const EMPTY_AND_UNHEARD: Queue = Queue { ready: 0, unacked: 0, consumers: 0 };

#[tokio::test(flavor = "multi_thread")]
async fn a_message_reaches_its_lane_alone_and_is_gone_once_acked() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    publish_all(&broker, vec![offer("a", "1"), offer("b", "x"), offer("a", "2")]).await;
    let mut lane = broker.consume("a", 2).await;
    let (first, second) = (take(&mut lane).await, take(&mut lane).await);
    assert_eq!((text(&first), text(&second)), ("1", "2"));
    assert!(!first.redelivered && !second.redelivered);
    first.acker.ack();
    second.acker.ack();
    let node = Node::shared();
    node.until("/", &format!("{prefix}.lane.a"), Queue { consumers: 1, ..EMPTY_AND_UNHEARD }).await;
    node.until("/", &format!("{prefix}.lane.b"), Queue { ready: 1, ..EMPTY_AND_UNHEARD }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_persistent_and_says_what_it_is() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    publish_all(&broker, vec![offer("a", "1")]).await;
    let outsider = Outsider::new(Node::shared().port()).await;
    let (properties, body) = outsider.get(&format!("{prefix}.lane.a")).await.expect("a message");
    assert_eq!(body, "1");
    assert_eq!(properties.delivery_mode(), Some(amqprs::DELIVERY_MODE_PERSISTENT));
    assert_eq!(properties.message_id().map(String::as_str), Some("id-1"));
    assert_eq!(properties.app_id().map(String::as_str), Some("tribunal"));
    assert_eq!(properties.content_type().map(String::as_str), Some("application/json"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_messages_are_confirmed_and_each_consumed_once() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    publish_all(&broker, offers("a", 0..10_000)).await;
    let mut lane = broker.consume("a", 500).await;
    let mut bodies = Vec::new();
    while bodies.len() < 10_000 {
        let delivery = take(&mut lane).await;
        bodies.push(text(&delivery).parse::<usize>().expect("a number"));
        delivery.acker.ack();
    }
    assert_eq!(bodies, (0..10_000).collect::<Vec<_>>(), "in order, each once");
    Node::shared().until("/", &format!("{prefix}.lane.a"), Queue { consumers: 1, ..EMPTY_AND_UNHEARD }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_gives_no_more_than_prefetch() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    publish_all(&broker, offers("a", 0..10)).await;
    let mut lane = broker.consume("a", 3).await;
    let queue = format!("{prefix}.lane.a");
    let held = [take(&mut lane).await, take(&mut lane).await, take(&mut lane).await];
    let three_held = Queue { ready: 7, unacked: 3, consumers: 1 };
    Node::shared().until("/", &queue, three_held).await;
    assert!(lane.try_recv().is_err(), "a fourth delivery");
    let [first, _second, _third] = held;
    first.acker.ack();
    assert_eq!(text(&take(&mut lane).await), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_is_dropped_or_given_back_comes_again_and_says_so() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    publish_all(&broker, vec![offer("a", "1")]).await;
    let mut lane = broker.consume("a", 1).await;
    drop(take(&mut lane).await);
    let again = take(&mut lane).await;
    assert!(again.redelivered);
    again.acker.requeue();
    let third = take(&mut lane).await;
    assert!(third.redelivered);
    third.acker.ack();
    Node::shared().until("/", &format!("{prefix}.lane.a"), Queue { consumers: 1, ..EMPTY_AND_UNHEARD }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_goes_gives_back_what_it_did_not_take_and_may_ack_what_it_took() {
    let (broker, prefix) = on_the_shared_node(options()).await;
    let (node, queue) = (Node::shared(), format!("{prefix}.lane.a"));
    publish_all(&broker, offers("a", 0..5)).await;
    let mut lane = broker.consume("a", 4).await;
    let (worked_on, left_lying) = (take(&mut lane).await, take(&mut lane).await);
    node.until("/", &queue, Queue { ready: 1, unacked: 4, consumers: 1 }).await;
    drop(lane);
    // A quorum queue counts a cancelled consumer until it has answered all; one that were not
    // cancelled would be given two of the three.
    node.until("/", &queue, Queue { ready: 3, unacked: 2, consumers: 1 }).await;
    worked_on.acker.ack();
    node.until("/", &queue, Queue { ready: 3, unacked: 1, consumers: 1 }).await;
    drop(left_lying);
    node.until("/", &queue, Queue { ready: 4, ..EMPTY_AND_UNHEARD }).await;
    let mut bodies = Outsider::new(node.port()).await.drain(&queue).await;
    bodies.sort();
    assert_eq!(bodies, ["1", "2", "3", "4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn news_of_runs_go_to_outsiders_who_keep_the_newest_and_no_offer_goes_there() {
    let limited = RabbitOptions { domain_messages_max: 5, lanes: vec!["a".into()], ..options() };
    let (broker, prefix) = on_the_shared_node(limited).await;
    let news = (0..8).map(|at| Publication {
        message_id: at.to_string(),
        routing_key: "run.completed".into(),
        body: at.to_string().into(),
    });
    publish_all(&broker, news.chain([offer("a", "offer")]).collect()).await;
    let outsider = Outsider::new(Node::shared().port()).await;
    assert_eq!(outsider.drain(&format!("{prefix}.domain")).await, ["3", "4", "5", "6", "7"]);
    assert_eq!(outsider.drain(&format!("{prefix}.lane.a")).await, ["offer"]);
    assert_eq!(outsider.drain(&format!("{prefix}.quarantine")).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_that_amqp_cannot_name_is_refused_in_words_and_stays_silent() {
    let (broker, _) = on_the_shared_node(options()).await;
    let endless = "l".repeat(300);
    let refusal = broker.try_consume(&endless, 1).expect_err("too long").to_string();
    assert!(refusal.contains("AMQP carries 255"), "{refusal}");
    let mixed = vec![offer(&endless, "1"), offer("a", "2"), offer("a", &"i".repeat(300))];
    assert_eq!(broker.publish(mixed).await, [false, true, false], "the others are published");
    let mut silent = broker.consume(&endless, 1).await;
    assert_eq!(silent.try_recv().err(), Some(tokio::sync::mpsc::error::TryRecvError::Empty), "open");
    let State::Waiting { reason, .. } = broker.state() else { panic!("somebody waits for nothing") };
    assert!(reason.contains("AMQP carries 255"), "{reason}");
    drop(silent);
    connected(&broker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_or_virtual_host_is_said_in_words_and_never_shown() {
    let port = tokio::task::block_in_place(Node::shared).port();
    let wrong_password = format!("amqp://guest:s3cret@127.0.0.1:{port}");
    let wrong_host = format!("amqp://guest:guest@127.0.0.1:{port}/nowhere");
    for (url, words) in
        [(wrong_password, "user guest: is the password right?"), (wrong_host, "vhost nowhere not found")]
    {
        let broker = RabbitBroker::connect(&url, options()).expect("an address");
        let is_tried = |state: &State| matches!(state, State::Waiting { tries: 1.., .. });
        let tried = tokio::time::timeout(super::PATIENCE, broker.wait_for(is_tried)).await.expect("a try");
        let said = format!("{tried:?}");
        assert!(said.contains(words) && !said.contains("s3cret"), "{said}");
    }
}
