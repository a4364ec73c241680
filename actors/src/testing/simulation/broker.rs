//! The broker: at-least-once, as a real one that has a bad day. What it confirms
//! it may still lose; nothing above it may rely on a message.

use super::nemesis::{Blow, Point};
use super::plug::{Plug, Way};
use crate::ports::broker::{Acker, Broker, Confirms, Delivery, Publication};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tribunal_schema::wire::ChunkReady;

/// How long a message takes that was to be acked and was not.
const REDELIVERY: Duration = Duration::from_secs(3);

/// All queues, shared by all processes.
#[derive(Clone, Default)]
pub(super) struct Queues(Arc<Mutex<State>>);

#[derive(Clone)]
struct Message {
    key: String,
    body: Vec<u8>,
    redelivered: bool,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<String, VecDeque<Message>>,
    /// By tag: which process holds it, by which consumer.
    unacked: BTreeMap<u64, (u64, u64, Message)>,
    consumers: BTreeMap<u64, Consumer>,
    confirmed: BTreeSet<String>,
    next: u64,
}

struct Consumer {
    process: Arc<Plug>,
    key: String,
    prefetch: usize,
    held: usize,
    sender: mpsc::Sender<Delivery>,
}

impl Queues {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, message: Message) {
        self.state().waiting.entry(message.key.clone()).or_default().push_back(message);
        self.pump();
    }

    fn put_later(&self, message: Message, delay: Duration) {
        let queues = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            queues.put(message);
        });
    }

    /// Gives waiting messages to consumers that have room, the idlest first.
    fn pump(&self) {
        // Sent when nothing is locked: what finds nobody is given back at once.
        for (sender, delivery) in self.assign() {
            drop(sender.try_send(delivery));
        }
    }

    fn assign(&self) -> Vec<(mpsc::Sender<Delivery>, Delivery)> {
        let mut assigned = vec![];
        let mut state = self.state();
        let State { waiting, unacked, consumers, next, .. } = &mut *state;
        for (key, messages) in waiting {
            while !messages.is_empty() {
                let free = consumers.iter().filter(|(_, one)| {
                    one.key == *key && one.held < one.prefetch && !one.process.is_dead() && !one.sender.is_closed()
                });
                let Some((id, _)) = free.min_by_key(|(id, one)| (one.held, **id)) else { break };
                let (id, message) = (*id, messages.pop_front().expect("it is not empty"));
                *next += 1;
                let tag = *next;
                let consumer = consumers.get_mut(&id).expect("it was found");
                let acker = Answer { queues: self.clone(), process: consumer.process.clone(), tag, answered: false };
                let (body, redelivered) = (message.body.clone(), message.redelivered);
                let delivery = Delivery { body, redelivered, acker: Box::new(acker) };
                unacked.insert(tag, (consumer.process.number, id, message));
                consumer.held += 1;
                assigned.push((consumer.sender.clone(), delivery));
            }
        }
        assigned
    }

    /// Takes a delivery off its consumer; gives the message.
    fn take(&self, tag: u64) -> Option<Message> {
        let mut state = self.state();
        let (_, consumer, message) = state.unacked.remove(&tag)?;
        if let Some(consumer) = state.consumers.get_mut(&consumer) {
            consumer.held -= 1;
        }
        Some(message)
    }

    fn give_back(&self, tag: u64) {
        if let Some(message) = self.take(tag) {
            self.put(Message { redelivered: true, ..message });
        }
    }

    /// A process is gone: what it held comes again.
    pub(super) fn gone(&self, process: u64) {
        let tags: Vec<u64> = {
            let mut state = self.state();
            state.consumers.retain(|_, consumer| consumer.process.number != process);
            state.unacked.iter().filter(|(_, (of, _, _))| *of == process).map(|(tag, _)| *tag).collect()
        };
        tags.into_iter().for_each(|tag| self.give_back(tag));
    }

    /// Whether a message was confirmed.
    pub(super) fn is_confirmed(&self, message_id: &str) -> bool {
        self.state().confirmed.contains(message_id)
    }

    /// Lets go of everything: the simulation ends.
    pub(super) fn clear(&self) {
        *self.state() = State::default();
    }
}

struct Answer {
    queues: Queues,
    process: Arc<Plug>,
    tag: u64,
    answered: bool,
}

impl Acker for Answer {
    fn ack(mut self: Box<Self>) {
        self.answered = true;
        if self.process.is_dead() {
            return;
        }
        match self.process.strike(Point::Ack) {
            Some(Blow::CrashBefore) => self.process.die(),
            Some(Blow::LoseReply) => {
                if let Some(message) = self.queues.take(self.tag) {
                    self.queues.put_later(Message { redelivered: true, ..message }, REDELIVERY);
                }
            }
            blow => {
                drop(self.queues.take(self.tag));
                self.queues.pump();
                if blow == Some(Blow::CrashAfter) {
                    self.process.die();
                }
            }
        }
    }

    fn requeue(mut self: Box<Self>) {
        self.answered = true;
        if !self.process.is_dead() {
            self.queues.give_back(self.tag);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.answered && !self.process.is_dead() {
            self.queues.give_back(self.tag);
        }
    }
}

/// The broker of one process.
pub(super) struct PluggedBroker {
    pub(super) plug: Arc<Plug>,
    pub(super) queues: Queues,
}

impl PluggedBroker {
    /// Puts one message into its queue, in whatever way; whether it is confirmed.
    fn publish_one(&self, publication: Publication) -> bool {
        let id = publication.message_id.clone();
        let is_confirmed = self.queue_one(publication);
        if is_confirmed {
            self.queues.state().confirmed.insert(id);
        }
        is_confirmed
    }

    fn queue_one(&self, publication: Publication) -> bool {
        let message = Message { key: publication.routing_key, body: publication.body, redelivered: false };
        match self.plug.strike(Point::Message) {
            Some(Blow::LoseMessage) => true,
            Some(Blow::Nack) => false,
            Some(Blow::Delay(ms)) => {
                self.queues.put_later(message, Duration::from_millis(ms));
                true
            }
            Some(Blow::Repeat) => {
                self.queues.put_later(message.clone(), REDELIVERY);
                self.queues.put(message);
                true
            }
            _ => {
                self.queues.put(message);
                true
            }
        }
    }
}

#[async_trait]
impl Broker for PluggedBroker {
    async fn publish(&self, batch: Vec<Publication>) -> Confirms {
        let nothing = vec![false; batch.len()];
        match self.plug.way(Point::Publish).await {
            Way::Refuse => nothing,
            Way::Go => batch.into_iter().map(|publication| self.publish_one(publication)).collect(),
            Way::LoseReply => {
                batch.into_iter().for_each(|publication| {
                    self.publish_one(publication);
                });
                nothing
            }
            Way::DieAfter => {
                batch.into_iter().for_each(|publication| {
                    self.publish_one(publication);
                });
                self.plug.die();
                pending().await
            }
        }
    }

    async fn consume(&self, lane: &str, prefetch: usize) -> mpsc::Receiver<Delivery> {
        let (sender, receiver) = mpsc::channel(prefetch.max(1));
        let (process, key) = (self.plug.clone(), ChunkReady::routing_key(lane));
        {
            let mut state = self.queues.state();
            state.next += 1;
            let id = state.next;
            state.consumers.insert(id, Consumer { process, key, prefetch, held: 0, sender });
        }
        self.queues.pump();
        receiver
    }
}
