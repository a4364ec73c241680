//! A server that follows a script per connection.

use socket2::SockRef;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What a connection does next. At the end of its script it closes.
pub(super) enum Step {
    /// Reads one whole request and reports it.
    Read,
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends a byte every few milliseconds until the other side has had enough.
    Drip(u8),
    /// Reads until the other side closes, and reports that.
    AwaitClose,
    /// Closes at once with a reset.
    Reset,
}

/// What the server saw.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// A request, head and body.
    Request(String),
    /// The other side closed.
    PeerClosed,
    /// The script is over and the connection closed.
    Closed,
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    seen: UnboundedReceiver<Seen>,
}

impl Server {
    /// A server whose n-th connection follows the n-th script; one more is refused.
    pub(super) async fn start(scripts: Vec<Vec<Step>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = unbounded_channel();
        tokio::spawn(async move {
            for script in scripts {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(follow(stream, script, sender.clone()));
            }
        });
        Server { address, seen }
    }

    /// A server that reads one request and answers it so.
    pub(super) async fn answering(bytes: impl Into<Vec<u8>>) -> Server {
        Server::start(vec![vec![Step::Read, Step::Send(bytes.into())]]).await
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1/chat/completions", self.address)
    }

    /// What it sees next.
    pub(super) async fn next(&mut self) -> Seen {
        self.seen.recv().await.expect("the server is still there")
    }

    /// The next request.
    pub(super) async fn request(&mut self) -> String {
        match self.next().await {
            Seen::Request(text) => text,
            other => panic!("no request but {other:?}"),
        }
    }

    /// What it saw so far and was not asked for.
    pub(super) fn rest(&mut self) -> Vec<Seen> {
        std::iter::from_fn(|| self.seen.try_recv().ok()).collect()
    }
}

async fn follow(mut stream: TcpStream, script: Vec<Step>, seen: UnboundedSender<Seen>) {
    for step in script {
        match step {
            Step::Read => match read_request(&mut stream).await {
                Some(request) => drop(seen.send(Seen::Request(request))),
                None => break,
            },
            Step::Send(bytes) => drop(stream.write_all(&bytes).await),
            Step::Drip(byte) => {
                while stream.write_all(&[byte]).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            Step::AwaitClose => {
                while matches!(stream.read(&mut [0; 4096]).await, Ok(1..)) {}
                drop(seen.send(Seen::PeerClosed));
            }
            Step::Reset => SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap(),
        }
    }
    drop(stream);
    drop(seen.send(Seen::Closed));
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(String::from_utf8(bytes).unwrap());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
