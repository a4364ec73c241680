//! A connection beside the adapter: what anybody else would find in a queue.

use amqprs::BasicProperties;
use amqprs::channel::{BasicConsumeArguments, BasicGetArguments, Channel, QueueDeclareArguments};
use amqprs::connection::{Connection, OpenConnectionArguments};

/// A stranger with a connection.
pub(crate) struct Outsider {
    channel: Channel,
    _connection: Connection,
}

impl Outsider {
    pub(crate) async fn new(port: u16) -> Outsider {
        let arguments = OpenConnectionArguments::new("127.0.0.1", port, "guest", "guest");
        let connection = Connection::open(&arguments).await.expect("the node runs");
        let channel = connection.open_channel(None).await.expect("a channel");
        Outsider { channel, _connection: connection }
    }

    /// Takes a message off a queue, if there is one.
    pub(crate) async fn get(&self, queue: &str) -> Option<(BasicProperties, String)> {
        let mut arguments = BasicGetArguments::new(queue);
        arguments.no_ack(true);
        let (_, properties, body) = self.channel.basic_get(arguments).await.expect("the queue exists")?;
        Some((properties, String::from_utf8(body).expect("text")))
    }

    /// Takes everything off a queue that nobody publishes to.
    pub(crate) async fn drain(&self, queue: &str) -> Vec<String> {
        let mut asked = QueueDeclareArguments::new(queue);
        asked.passive(true);
        let (_, count, _) = self.channel.queue_declare(asked).await.expect("the queue exists").expect("an answer");
        let mut arguments = BasicConsumeArguments::new(queue, "");
        arguments.auto_ack(true);
        let (_, mut messages) = self.channel.basic_consume_rx(arguments).await.expect("the queue exists");
        let mut bodies = Vec::new();
        for _ in 0..count {
            let message = messages.recv().await.expect("as many as the broker said");
            bodies.push(String::from_utf8(message.content.expect("a body")).expect("text"));
        }
        bodies
    }

    /// Declares a queue as nobody else would: classic and transient.
    pub(crate) async fn declare_otherwise(&self, queue: &str) {
        let arguments = QueueDeclareArguments::new(queue);
        self.channel.queue_declare(arguments).await.expect("there is none of that name");
    }
}
