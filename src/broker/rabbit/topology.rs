//! The topology: one topic exchange and the durable queues behind it.
//!
//! | queue | bound to | holds |
//! |---|---|---|
//! | `<prefix>.lane.<lane>` | `run.chunk.ready.<lane>` | chunks that may be claimed |
//! | `<prefix>.domain` | `run.*` | what happened to runs, for outsiders; drops its oldest |
//! | `<prefix>.quarantine` | `quarantine.#` | what a lane's queue gave up on (a policy's delivery limit) |
//!
//! `run.*` is two words, so that offers of chunks, of four and more, never end in the
//! domain queue. All are quorum queues: they lost no confirmed message and confirm
//! faster than classic ones. Everything is declared at each new session, after a
//! return, and before a lane is first used: declaring what exists changes nothing.
//!
//! A queue that had to be made had lost its messages, if it ever had any. That is
//! counted, so that whoever publishes can publish everything ready again.

use super::address::NAME_BYTES_MAX;
use super::session::{Session, Trouble, Word, within};
use amqprs::channel::{Channel, ExchangeDeclareArguments, ExchangeType, QueueBindArguments, QueueDeclareArguments};
use amqprs::{FieldTable, FieldValue};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tribunal_schema::wire::ChunkReady;

/// AMQP's code for something that does not exist.
const NOT_FOUND: u16 = 404;

/// A name that the protocol cannot carry, or that would mean something else to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Longer than AMQP's short strings.
    #[error("the name of {what} has {found} bytes, AMQP carries {NAME_BYTES_MAX}")]
    TooLong {
        /// What it names.
        what: &'static str,
        /// Its length in bytes.
        found: usize,
    },
    /// `*` and `#` in a binding stand for other words.
    #[error("lane {lane:?} holds a wildcard of AMQP; it would receive the messages of other lanes")]
    Wildcard {
        /// The lane.
        lane: String,
    },
}

/// Refuses what AMQP cannot carry; amqprs would panic.
pub(super) fn fits(what: &'static str, name: &str) -> Result<(), NameError> {
    if name.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong { what, found: name.len() });
    }
    Ok(())
}

/// A queue as it is declared.
struct Queue {
    name: String,
    binding: String,
    arguments: FieldTable,
}

/// The names, and the lanes known so far.
pub(super) struct Topology {
    prefix: String,
    domain_messages_max: u32,
    deadline: Duration,
    lanes: Mutex<BTreeSet<String>>,
    made: watch::Sender<u64>,
}

impl Topology {
    pub(super) fn new(prefix: &str, domain_messages_max: u32, deadline: Duration) -> Result<Topology, NameError> {
        let topology = Topology {
            prefix: prefix.to_owned(),
            domain_messages_max,
            deadline,
            lanes: Mutex::default(),
            made: watch::Sender::new(0),
        };
        fits("the exchange", &topology.exchange())?;
        fits("a queue", &topology.quarantine())?;
        Ok(topology)
    }

    pub(super) fn exchange(&self) -> String {
        format!("{}.events", self.prefix)
    }

    fn quarantine(&self) -> String {
        format!("{}.quarantine", self.prefix)
    }

    pub(super) fn lane_queue(&self, lane: &str) -> Result<String, NameError> {
        let name = format!("{}.lane.{lane}", self.prefix);
        fits("a lane's queue", &name)?;
        fits("a lane's routing key", &ChunkReady::routing_key(lane))?;
        if lane.contains(['*', '#']) {
            return Err(NameError::Wildcard { lane: lane.to_owned() });
        }
        Ok(name)
    }

    /// How often a queue had to be made.
    pub(super) fn made(&self) -> watch::Receiver<u64> {
        self.made.subscribe()
    }

    /// Remembers a lane; `true` when it is a new one, whose queue is to be declared.
    pub(super) fn add_lane(&self, lane: &str) -> Result<bool, NameError> {
        self.lane_queue(lane)?;
        Ok(self.lanes.lock().unwrap_or_else(PoisonError::into_inner).insert(lane.to_owned()))
    }

    /// Declares everything known, on a session's own channel.
    pub(super) async fn declare(&self, session: &mut Session) -> Result<(), Trouble> {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lane_queues = lanes.iter().map(|lane| self.of_lane(lane));
        let queues: Vec<Queue> = self.fixed().into_iter().chain(lane_queues).collect();
        self.declare_queues(session, &queues).await
    }

    /// Declares a lane's queue alone: a consumer needs no other one, and waits for no other one.
    pub(super) async fn declare_lane(&self, session: &mut Session, lane: &str) -> Result<(), Trouble> {
        self.declare_queues(session, &[self.of_lane(lane)]).await
    }

    async fn declare_queues(&self, session: &mut Session, queues: &[Queue]) -> Result<(), Trouble> {
        let is_missing = self.is_any_missing(session, queues).await?;
        if let Err(trouble) = self.declare_on(&session.channel, queues).await {
            return Err(session.reason(trouble));
        }
        if is_missing {
            tracing::info!("a queue had to be made; whatever was in it is to be published again");
            self.made.send_modify(|times| *times += 1);
        }
        Ok(())
    }

    fn fixed(&self) -> [Queue; 2] {
        let limit = FieldValue::l(i64::from(self.domain_messages_max));
        [
            Queue { name: self.quarantine(), binding: "quarantine.#".into(), arguments: arguments([]) },
            Queue {
                name: format!("{}.domain", self.prefix),
                binding: "run.*".into(),
                arguments: arguments([("x-max-length", limit), ("x-overflow", "drop-head".into())]),
            },
        ]
    }

    fn of_lane(&self, lane: &str) -> Queue {
        Queue {
            name: self.lane_queue(lane).expect("checked when the lane was added"),
            binding: ChunkReady::routing_key(lane),
            arguments: arguments([
                ("x-dead-letter-exchange", self.exchange().into()),
                ("x-dead-letter-routing-key", "quarantine.lane".into()),
            ]),
        }
    }

    async fn declare_on(&self, channel: &Channel, queues: &[Queue]) -> Result<(), Trouble> {
        let exchange = self.exchange();
        let declared = ExchangeDeclareArguments::of_type(&exchange, ExchangeType::Topic).durable(true).finish();
        within(self.deadline, "declaring the exchange", channel.exchange_declare(declared)).await?;
        for queue in queues {
            let mut declared = QueueDeclareArguments::durable_client_named(&queue.name);
            declared.arguments(queue.arguments.clone());
            let declared = within(self.deadline, "its declaration", channel.queue_declare(declared)).await;
            declared.map_err(|trouble| trouble.of_queue(&queue.name))?;
            let binding = QueueBindArguments::new(&queue.name, &exchange, &queue.binding);
            let bound = within(self.deadline, "its binding", channel.queue_bind(binding)).await;
            bound.map_err(|trouble| trouble.of_queue(&queue.name))?;
        }
        Ok(())
    }

    /// Whether a queue does not exist. The question closes the channel it is asked on when the answer is no,
    /// so it is asked on one of its own; one missing queue is as good as all.
    async fn is_any_missing(&self, session: &Session, queues: &[Queue]) -> Result<bool, Trouble> {
        let (channel, mut words) = session.side_channel().await?;
        for queue in queues {
            let mut asked = QueueDeclareArguments::new(&queue.name);
            asked.passive(true);
            let Err(trouble) = within(self.deadline, "the question for it", channel.queue_declare(asked)).await else {
                continue;
            };
            return match words.try_recv() {
                Ok(Word::Closed { code: NOT_FOUND, .. }) => Ok(true),
                Ok(Word::Closed { code, why }) => Err(Trouble::Closed { code, why }),
                _ => Err(trouble.of_queue(&queue.name)),
            };
        }
        within(self.deadline, "closing a channel", channel.close()).await?;
        Ok(false)
    }
}

fn arguments<const N: usize>(more: [(&str, FieldValue); N]) -> FieldTable {
    let mut table = FieldTable::new();
    for (name, value) in [("x-queue-type", FieldValue::from("quorum"))].into_iter().chain(more) {
        table.insert(name.try_into().expect("a short name"), value);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology() -> Topology {
        Topology::new("tribunal", 10, Duration::from_secs(1)).expect("a short prefix")
    }

    #[test]
    fn a_name_that_amqp_cannot_carry_is_refused_with_words() {
        let topology = topology();
        let longest = "l".repeat(NAME_BYTES_MAX - "tribunal.lane.".len()).split_off(2);
        assert!(topology.lane_queue(&longest).is_ok());
        let refusal = topology.lane_queue(&"l".repeat(NAME_BYTES_MAX)).expect_err("too long");
        assert_eq!(refusal.to_string(), "the name of a lane's queue has 269 bytes, AMQP carries 255");
        assert!(Topology::new(&"p".repeat(250), 1, Duration::ZERO).is_err());
    }

    #[test]
    fn a_lane_that_would_eat_other_lanes_is_refused() {
        for lane in ["*", "#", "a.*"] {
            assert!(topology().add_lane(lane).is_err(), "{lane}");
        }
        assert_eq!(topology().add_lane("a.b"), Ok(true));
    }

    #[test]
    fn a_lane_is_new_once() {
        let topology = topology();
        assert_eq!((topology.add_lane("a"), topology.add_lane("a")), (Ok(true), Ok(false)));
    }
}
