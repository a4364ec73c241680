//! A consumer: a task that keeps one session on one lane's queue, as long as somebody
//! listens.
//!
//! The broker never gives more than `prefetch` messages unanswered, and each answer
//! goes to the session the message came on: when that is gone, the broker has given
//! the message to somebody else already, and the answer means nothing. A lost session
//! and a cancelled consumer (its queue was deleted) are made good in here; the
//! listener sees a pause, nothing else.
//!
//! When the listener goes, the consumer is cancelled and what nobody had taken yet
//! goes back at once; the session stays until the last message that somebody still
//! works on is answered.

use super::House;
use super::links::{Backoff, Link};
use super::session::{Session, Trouble, Word, within};
use amqprs::channel::{
    BasicAckArguments, BasicCancelArguments, BasicConsumeArguments, BasicNackArguments, BasicQosArguments,
    ConsumerMessage,
};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tribunal_actors::ports::broker::{Acker, Delivery};

/// An answer to the delivery of a tag.
struct Answer {
    tag: u64,
    is_done: bool,
}

/// Where the answer to one delivery goes: unless it is acked, the message goes back.
struct Held {
    tag: u64,
    is_done: bool,
    answers: mpsc::UnboundedSender<Answer>,
}

impl Acker for Held {
    fn ack(mut self: Box<Self>) {
        self.is_done = true;
    }

    fn requeue(self: Box<Self>) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        // A session that is gone has given the message back already.
        let _ = self.answers.send(Answer { tag: self.tag, is_done: self.is_done });
    }
}

/// Keeps consuming until the listener goes.
pub(super) async fn run(house: Arc<House>, link: Link, lane: Lane, deliveries: mpsc::Sender<Delivery>) {
    let mut backoff = Backoff::new(house.options.wait_first, house.options.wait_longest);
    loop {
        let opened = tokio::select! {
            () = deliveries.closed() => return,
            opened = Consuming::open(&house, &lane) => opened,
        };
        match opened {
            Ok(mut consuming) => {
                link.connected();
                let begun = Instant::now();
                match consuming.serve(&deliveries).await {
                    Ok(()) => return consuming.wind_down().await,
                    Err(trouble) => link.waiting(&consuming.session.reason(trouble).to_string()),
                }
                backoff.session_lived(begun.elapsed());
            }
            Err(trouble) => link.waiting(&trouble.to_string()),
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.next()) => {}
            () = deliveries.closed() => return,
        }
    }
}

/// What is consumed.
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) queue: String,
    pub(super) prefetch: u16,
}

/// A session for consuming.
struct Consuming<'a> {
    house: &'a House,
    session: Session,
    consumer: String,
    messages: mpsc::UnboundedReceiver<ConsumerMessage>,
    answer: mpsc::UnboundedSender<Answer>,
    answers: mpsc::UnboundedReceiver<Answer>,
}

impl<'a> Consuming<'a> {
    async fn open(house: &'a House, lane: &Lane) -> Result<Consuming<'a>, Trouble> {
        let step = house.options.step_within;
        let mut session = house.open(&format!("consumer of lane {}", lane.name)).await?;
        house.topology.declare_lane(&mut session, &lane.name).await?;
        let permits = session.channel.basic_qos(BasicQosArguments::new(0, lane.prefetch, false));
        within(step, "setting the prefetch", permits).await?;
        let wanted = BasicConsumeArguments::new(&lane.queue, "").manual_ack(true).finish();
        let begun = within(step, "consuming", session.channel.basic_consume_rx(wanted)).await;
        let (consumer, messages) = begun.map_err(|trouble| session.reason(trouble))?;
        let (answer, answers) = mpsc::unbounded_channel();
        Ok(Consuming { house, session, consumer, messages, answer, answers })
    }

    /// Hands over what comes and gives back the answers, until the session is lost or the listener goes.
    async fn serve(&mut self, deliveries: &mpsc::Sender<Delivery>) -> Result<(), Trouble> {
        let mut next: Option<Delivery> = None;
        loop {
            tokio::select! {
                biased;
                () = deliveries.closed() => return Ok(()),
                word = self.session.words.recv() => match word {
                    None => return Err(Trouble::BrokenOff),
                    Some(Word::Closed { code, why }) => return Err(Trouble::Closed { code, why }),
                    Some(Word::Cancelled) => return Err(Trouble::Cancelled),
                    Some(_) => {}
                },
                Some(answer) = self.answers.recv() => self.give(answer).await?,
                // Room first: a message that nobody takes yet stays here, and is given back from here.
                slot = deliveries.reserve(), if next.is_some() => {
                    if let (Ok(slot), Some(delivery)) = (slot, next.take()) {
                        slot.send(delivery);
                    }
                }
                message = self.messages.recv(), if next.is_none() => match message {
                    Some(message) => next = self.delivery(message),
                    // The word that says why is on its way: the consumer went before its channel.
                    None => return Err(self.last_word().await),
                },
            }
        }
    }

    fn delivery(&self, message: ConsumerMessage) -> Option<Delivery> {
        let deliver = message.deliver?;
        let held = Held { tag: deliver.delivery_tag(), is_done: false, answers: self.answer.clone() };
        let body = message.content.unwrap_or_default();
        Some(Delivery { body, redelivered: deliver.redelivered(), acker: Box::new(held) })
    }

    async fn last_word(&mut self) -> Trouble {
        match tokio::time::timeout(self.house.options.step_within, self.session.words.recv()).await {
            Ok(Some(Word::Cancelled)) => Trouble::Cancelled,
            Ok(Some(Word::Closed { code, why })) => Trouble::Closed { code, why },
            _ => Trouble::BrokenOff,
        }
    }

    async fn give(&self, answer: Answer) -> Result<(), Trouble> {
        if !self.session.is_open() {
            return Err(Trouble::BrokenOff);
        }
        let (channel, step) = (&self.session.channel, self.house.options.step_within);
        if answer.is_done {
            within(step, "acking", channel.basic_ack(BasicAckArguments::new(answer.tag, false))).await
        } else {
            within(step, "giving back", channel.basic_nack(BasicNackArguments::new(answer.tag, false, true))).await
        }
    }

    /// The listener is gone: no more deliveries, what nobody took goes back, what is worked on is waited for.
    async fn wind_down(mut self) {
        let cancelled = self.session.channel.basic_cancel(BasicCancelArguments::new(&self.consumer));
        if within(self.house.options.step_within, "cancelling", cancelled).await.is_err() {
            // The end of the connection gives everything back.
            return self.session.close().await;
        }
        self.messages.close();
        while let Some(message) = self.messages.recv().await {
            drop(self.delivery(message));
        }
        let (unused, _) = mpsc::unbounded_channel();
        self.answer = unused;
        loop {
            tokio::select! {
                answer = self.answers.recv() => match answer {
                    None => break,
                    Some(answer) => if self.give(answer).await.is_err() {
                        break;
                    },
                },
                word = self.session.words.recv() => if matches!(word, None | Some(Word::Closed { .. })) {
                    break;
                },
            }
        }
        self.session.close().await;
    }
}
