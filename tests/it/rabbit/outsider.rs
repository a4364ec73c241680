//! A connection beside the adapter: what anybody else would find in a queue.

use amqprs::BasicProperties;
use amqprs::channel::{BasicGetArguments, Channel};
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

    /// Takes everything off a queue.
    pub(crate) async fn drain(&self, queue: &str) -> Vec<String> {
        let mut bodies = Vec::new();
        while let Some((_, body)) = self.get(queue).await {
            bodies.push(body);
        }
        bodies
    }
}
