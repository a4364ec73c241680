//! The publisher: a task that keeps one session for publishing, and publishes what
//! it is asked to.
//!
//! A batch goes out in windows. Every message has a tag, and the broker answers each
//! tag once; a message that came back before its answer was not wanted by any queue
//! and is not confirmed, whatever the answer says. When the session is lost in the
//! middle, what is unconfirmed is tried once more on the next one. So a message may
//! be there twice and is never confirmed without being there.
//!
//! The task lives as long as the adapter and dies of nothing: without a broker it
//! waits, and tells so by its link.

use super::House;
use super::links::{Backoff, Link};
use super::session::{Session, Trouble, Word, within};
use super::topology::fits;
use amqprs::BasicProperties;
use amqprs::channel::{BasicPublishArguments, ConfirmSelectArguments};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tribunal_actors::ports::broker::{Confirms, Publication};

/// How many messages are on the way unanswered. Confirms in windows of a thousand reach 55k messages/s,
/// one by one 2.5k; larger ones gain nothing and make more to be sent again.
const WINDOW: usize = 1_000;

/// A batch somebody waits for.
pub(super) struct Request {
    pub(super) batch: Vec<Publication>,
    /// After that nobody waits any more.
    pub(super) until: Instant,
    pub(super) answer: oneshot::Sender<Confirms>,
}

/// A batch on its way.
struct Work {
    request: Request,
    confirmed: Confirms,
    /// How many sessions were lost over it.
    lost: u32,
}

impl Work {
    fn new(request: Request) -> Work {
        Work { confirmed: vec![false; request.batch.len()], request, lost: 0 }
    }

    fn is_over(&self) -> bool {
        self.lost > 1 || Instant::now() >= self.request.until
    }

    fn answer(self) {
        // Whoever no longer waits has decided that nothing is confirmed.
        let _ = self.request.answer.send(self.confirmed);
    }
}

/// Keeps a session until the adapter is dropped.
pub(super) async fn run(house: Arc<House>, link: Link, mut requests: mpsc::Receiver<Request>) {
    let mut backoff = Backoff::new(house.options.wait_first, house.options.wait_longest);
    let mut held: Option<Work> = None;
    loop {
        match Publishing::open(&house).await {
            Ok(mut publishing) => {
                link.connected();
                let begun = Instant::now();
                match publishing.serve(&mut requests, &mut held).await {
                    Ok(()) => return publishing.session.close().await,
                    Err(trouble) => link.waiting(&trouble.to_string()),
                }
                backoff.session_lived(begun.elapsed());
            }
            Err(trouble) => link.waiting(&trouble.to_string()),
        }
        if let Some(work) = held.take_if(|work| work.is_over()) {
            work.answer();
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.next()) => {}
            () = house.ended.cancelled() => return,
        }
    }
}

/// A session for publishing.
struct Publishing<'a> {
    house: &'a House,
    session: Session,
    /// The tag of the last message sent; the broker counts from 1.
    last_tag: u64,
}

impl<'a> Publishing<'a> {
    async fn open(house: &'a House) -> Result<Publishing<'a>, Trouble> {
        let mut session = house.open("publisher").await?;
        house.topology.declare(&mut session).await?;
        let select = session.channel.confirm_select(ConfirmSelectArguments::default());
        within(house.options.step_within, "asking for confirms", select).await?;
        Ok(Publishing { house, session, last_tag: 0 })
    }

    /// Publishes what comes until the session is lost, or until nobody can ask any more.
    async fn serve(&mut self, requests: &mut mpsc::Receiver<Request>, held: &mut Option<Work>) -> Result<(), Trouble> {
        loop {
            let mut work = match held.take() {
                Some(work) => work,
                None => tokio::select! {
                    request = requests.recv() => match request {
                        Some(request) => Work::new(request),
                        None => return Ok(()),
                    },
                    word = self.session.words.recv() => match word {
                        None => return Err(Trouble::BrokenOff),
                        Some(Word::Closed { code, why }) => return Err(Trouble::Closed { code, why }),
                        Some(_) => continue,
                    },
                },
            };
            if work.request.answer.is_closed() {
                continue;
            }
            // A session that was dead before is no try.
            if !self.session.is_open() {
                *held = Some(work);
                return Err(self.session.reason(Trouble::BrokenOff));
            }
            if let Err(trouble) = self.publish(&mut work).await {
                tracing::warn!(%trouble, "a session was lost while publishing");
                work.lost += 1;
                *held = Some(work);
                return Err(self.session.reason(trouble));
            }
            work.answer();
        }
    }

    async fn publish(&mut self, work: &mut Work) -> Result<(), Trouble> {
        let open = self.sendable(&work.request.batch, &work.confirmed).await?;
        for window in open.chunks(WINDOW) {
            if Instant::now() >= work.request.until {
                return Ok(());
            }
            let in_flight = self.send(&work.request.batch, window).await?;
            let is_returned = self.hear(in_flight, work).await?;
            if is_returned {
                self.house.topology.declare(&mut self.session).await?;
            }
        }
        Ok(())
    }

    /// What is still to be sent and can be. A lane's first message makes its queue.
    async fn sendable(&mut self, batch: &[Publication], confirmed: &[bool]) -> Result<Vec<usize>, Trouble> {
        let mut is_lane_new = false;
        let mut open = Vec::with_capacity(batch.len());
        for (place, publication) in batch.iter().enumerate().filter(|(place, _)| !confirmed[*place]) {
            let Publication { message_id, routing_key, .. } = publication;
            let lane = routing_key.strip_prefix("run.chunk.ready.");
            let checked = fits("a message", message_id)
                .and_then(|()| fits("a routing key", routing_key))
                .and_then(|()| lane.map_or(Ok(false), |lane| self.house.topology.add_lane(lane)));
            match checked {
                Ok(is_new) => {
                    is_lane_new |= is_new;
                    open.push(place);
                }
                Err(refusal) => tracing::error!(%refusal, "a message cannot be published"),
            }
        }
        if is_lane_new {
            self.house.topology.declare(&mut self.session).await?;
        }
        Ok(open)
    }

    /// Sends a window; gives the place of each tag.
    async fn send(&mut self, batch: &[Publication], window: &[usize]) -> Result<BTreeMap<u64, usize>, Trouble> {
        let exchange = self.house.topology.exchange();
        let mut in_flight = BTreeMap::new();
        for place in window {
            // Publishing on a channel that the broker closed kills the whole connection.
            if !self.session.is_open() {
                return Err(Trouble::BrokenOff);
            }
            let Publication { message_id, routing_key, body } = &batch[*place];
            let properties = BasicProperties::default()
                .with_content_type("application/json")
                .with_app_id("tribunal")
                .with_message_id(message_id)
                .with_persistence(true)
                .finish();
            let arguments = BasicPublishArguments::new(&exchange, routing_key).mandatory(true).finish();
            let sent = self.session.channel.basic_publish(properties, body.clone(), arguments);
            within(self.house.options.step_within, "publishing", sent).await?;
            self.last_tag += 1;
            in_flight.insert(self.last_tag, *place);
        }
        Ok(in_flight)
    }

    /// Hears the broker's answer to each tag of a window; tells whether any message came back.
    async fn hear(&mut self, mut in_flight: BTreeMap<u64, usize>, work: &mut Work) -> Result<bool, Trouble> {
        let mut returned: HashSet<String> = HashSet::new();
        let step = self.house.options.step_within;
        while !in_flight.is_empty() {
            // Each word is news: the deadline is for silence.
            let word = tokio::time::timeout(step, self.session.words.recv()).await;
            let word = word.map_err(|_| silence(step, &in_flight, work))?;
            match word.ok_or(Trouble::BrokenOff)? {
                Word::Confirmed { tag, is_multiple } => {
                    for place in answered(&mut in_flight, tag, is_multiple) {
                        work.confirmed[place] = !returned.contains(&work.request.batch[place].message_id);
                    }
                }
                Word::Refused { tag, is_multiple } => {
                    let refused = answered(&mut in_flight, tag, is_multiple).len();
                    tracing::warn!(messages = refused, "the broker refused messages");
                }
                Word::Returned { message_id, why } => {
                    tracing::warn!(%message_id, %why, "no queue wanted a message");
                    returned.insert(message_id);
                }
                Word::Closed { code, why } => return Err(Trouble::Closed { code, why }),
                Word::Cancelled => {}
            }
        }
        Ok(!returned.is_empty())
    }
}

/// Why the rest of a window is not waited for: most likely the queue of its first message has no leader.
fn silence(step: Duration, in_flight: &BTreeMap<u64, usize>, work: &Work) -> Trouble {
    let silent = Trouble::Silent { what: "publishing", within_ms: step.as_millis() };
    match in_flight.first_key_value() {
        Some((_, place)) => silent.of_queue(&work.request.batch[*place].routing_key),
        None => silent,
    }
}

/// Takes out what an answer is about: one tag, or every one up to it.
fn answered(in_flight: &mut BTreeMap<u64, usize>, tag: u64, is_multiple: bool) -> Vec<usize> {
    if !is_multiple {
        return in_flight.remove(&tag).into_iter().collect();
    }
    let later = in_flight.split_off(&tag.saturating_add(1));
    std::mem::replace(in_flight, later).into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_about_its_tag_or_all_up_to_it() {
        let mut in_flight: BTreeMap<u64, usize> = (1..=5).map(|tag| (tag, tag as usize * 10)).collect();
        assert_eq!(answered(&mut in_flight, 2, false), [20]);
        assert_eq!(answered(&mut in_flight, 2, false), [0_usize; 0], "an answer that comes twice is about nothing");
        assert_eq!(answered(&mut in_flight, 4, true), [10, 30, 40]);
        assert_eq!(in_flight.into_keys().collect::<Vec<_>>(), [5]);
    }
}
