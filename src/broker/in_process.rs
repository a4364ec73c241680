//! The in-process broker: the queues of an embedded Tribunal.
//!
//! It keeps the promises of a real one, so that nothing above it knows the
//! difference: a queue per routing key, at-least-once delivery, no more than
//! `prefetch` deliveries unacked per consumer, and whatever a consumer held when
//! it went is delivered again and marked so. It confirms whatever it queued.
//!
//! It deliberately keeps nothing: messages are hints, and at start everything
//! that is ready is published again. Its memory is bounded by its publisher:
//! dispatch keeps no more messages of a lane out than twice the lane's permits.

use async_trait::async_trait;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tribunal_actors::ports::broker::{Acker, Broker, Confirms, Delivery, Publication};
use tribunal_schema::wire::ChunkReady;

/// A broker that lives in this process.
#[derive(Clone, Default)]
pub struct InProcessBroker {
    queues: Arc<Mutex<HashMap<String, Arc<Queue>>>>,
}

impl InProcessBroker {
    /// A broker without messages.
    pub fn new() -> InProcessBroker {
        InProcessBroker::default()
    }

    fn queue(&self, routing_key: &str) -> Arc<Queue> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        match queues.get(routing_key) {
            Some(queue) => Arc::clone(queue),
            None => Arc::clone(queues.entry(routing_key.to_owned()).or_default()),
        }
    }
}

struct Message {
    body: Vec<u8>,
    redelivered: bool,
}

#[derive(Default)]
struct Queue {
    messages: Mutex<VecDeque<Message>>,
    arrived: Notify,
}

impl Queue {
    fn push(&self, message: Message) {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
        self.arrived.notify_one();
    }

    /// Puts a message back to where it was: it has waited longest.
    fn put_back(&self, body: Vec<u8>) {
        let message = Message { body, redelivered: true };
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push_front(message);
        self.arrived.notify_one();
    }

    fn take(&self) -> Option<Message> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    async fn next(&self) -> Message {
        loop {
            if let Some(message) = self.take() {
                return message;
            }
            // A push between the two leaves a permit, so the wait ends at once.
            self.arrived.notified().await;
        }
    }
}

/// A delivery's place in its queue: unless it is acked, the message goes back.
struct Held {
    queue: Arc<Queue>,
    body: Option<Vec<u8>>,
    _permit: OwnedSemaphorePermit,
}

impl Acker for Held {
    fn ack(mut self: Box<Self>) {
        self.body = None;
    }

    fn requeue(self: Box<Self>) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            self.queue.put_back(body);
        }
    }
}

#[async_trait]
impl Broker for InProcessBroker {
    async fn publish(&self, batch: Vec<Publication>) -> Confirms {
        batch
            .into_iter()
            .map(|publication| {
                self.queue(&publication.routing_key).push(Message { body: publication.body, redelivered: false });
                true
            })
            .collect()
    }

    async fn consume(&self, lane: &str, prefetch: usize) -> mpsc::Receiver<Delivery> {
        let queue = self.queue(&ChunkReady::routing_key(lane));
        let (deliveries, receiver) = mpsc::channel(1);
        tokio::spawn(deliver(queue, deliveries, Arc::new(Semaphore::new(prefetch.max(1)))));
        receiver
    }
}

/// Feeds one consumer until it goes. A delivery that it no longer takes goes back by being dropped.
async fn deliver(queue: Arc<Queue>, deliveries: mpsc::Sender<Delivery>, prefetch: Arc<Semaphore>) {
    loop {
        let permit = tokio::select! {
            () = deliveries.closed() => return,
            permit = Arc::clone(&prefetch).acquire_owned() => match permit {
                Ok(permit) => permit,
                Err(_) => return,
            },
        };
        // Room first, message after: a message that nobody takes yet stays in the queue for others.
        let Ok(slot) = deliveries.reserve().await else { return };
        let message = tokio::select! {
            () = deliveries.closed() => return,
            message = queue.next() => message,
        };
        let held = Held { queue: Arc::clone(&queue), body: Some(message.body.clone()), _permit: permit };
        slot.send(Delivery { body: message.body, redelivered: message.redelivered, acker: Box::new(held) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publication(lane: &str, body: &str) -> Publication {
        let routing_key = ChunkReady::routing_key(lane);
        Publication { message_id: body.into(), routing_key, body: body.into() }
    }

    async fn take(receiver: &mut mpsc::Receiver<Delivery>) -> Delivery {
        receiver.recv().await.expect("a delivery")
    }

    #[tokio::test]
    async fn messages_come_in_order_and_only_to_their_lane() {
        let broker = InProcessBroker::new();
        let batch = vec![publication("a", "1"), publication("b", "x"), publication("a", "2")];
        assert_eq!(broker.publish(batch).await, vec![true, true, true]);
        let mut lane = broker.consume("a", 2).await;
        let (first, second) = (take(&mut lane).await, take(&mut lane).await);
        assert_eq!((first.body.as_slice(), second.body.as_slice()), (&b"1"[..], &b"2"[..]));
        assert!(!first.redelivered);
    }

    #[tokio::test]
    async fn no_more_than_prefetch_is_held_unacked() {
        let broker = InProcessBroker::new();
        broker.publish(vec![publication("a", "1"), publication("a", "2"), publication("a", "3")]).await;
        let mut lane = broker.consume("a", 2).await;
        let (first, _second) = (take(&mut lane).await, take(&mut lane).await);
        // Every task that could run has run: a third delivery would be there.
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
        assert!(lane.try_recv().is_err());
        first.acker.ack();
        assert_eq!(take(&mut lane).await.body, b"3");
    }

    #[tokio::test]
    async fn a_delivery_that_is_dropped_or_requeued_comes_again_and_says_so() {
        let broker = InProcessBroker::new();
        broker.publish(vec![publication("a", "1")]).await;
        let mut lane = broker.consume("a", 1).await;
        drop(take(&mut lane).await);
        let again = take(&mut lane).await;
        assert!(again.redelivered);
        again.acker.requeue();
        let third = take(&mut lane).await;
        assert!(third.redelivered);
        third.acker.ack();
        broker.publish(vec![publication("a", "2")]).await;
        assert_eq!(take(&mut lane).await.body, b"2", "an acked message never comes again");
    }

    #[tokio::test]
    async fn what_a_consumer_held_when_it_went_goes_to_the_next() {
        let broker = InProcessBroker::new();
        broker.publish(vec![publication("a", "1"), publication("a", "2")]).await;
        let mut gone = broker.consume("a", 8).await;
        let held = take(&mut gone).await;
        drop(gone);
        drop(held);
        let mut next = broker.consume("a", 8).await;
        let mut bodies = vec![take(&mut next).await.body, take(&mut next).await.body];
        bodies.sort();
        assert_eq!(bodies, [b"1".to_vec(), b"2".to_vec()]);
    }

    #[tokio::test]
    async fn two_consumers_share_a_lane_and_none_misses_a_wake_up() {
        let broker = InProcessBroker::new();
        let (mut one, mut two) = (broker.consume("a", 1).await, broker.consume("a", 1).await);
        for round in 0..50 {
            broker.publish(vec![publication("a", &round.to_string()), publication("a", "other")]).await;
            let (first, second) = (take(&mut one).await, take(&mut two).await);
            first.acker.ack();
            second.acker.ack();
        }
    }
}
