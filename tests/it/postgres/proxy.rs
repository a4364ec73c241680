//! A proxy that loses answers: it passes everything on, and when it is told to, a
//! COMMIT reaches the server and its answer reaches nobody.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A simple query that says COMMIT, as it is on the wire.
const COMMIT: &[u8] = b"COMMIT\n\0";

/// A proxy; its connections end with it.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

struct State {
    server: SocketAddr,
    commits: AtomicU32,
    /// Every so many commits one is cut; 0 = none.
    cut_every: AtomicU32,
    cut: AtomicU32,
}

impl Proxy {
    /// A proxy before a server of this machine.
    pub(crate) async fn before(port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let server = SocketAddr::from(([127, 0, 0, 1], port));
        let [commits, cut_every, cut] = [const { AtomicU32::new(0) }; 3];
        let state = Arc::new(State { server, commits, cut_every, cut });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, Arc::clone(&shared)));
            }
        });
        Proxy { address, state, task }
    }

    /// The address of a database behind it.
    pub(crate) fn url(&self, direct: &str) -> String {
        let database = direct.rsplit('/').next().expect("an address ends in its database");
        format!("postgres://tribunal@{}/{database}", self.address)
    }

    /// Cuts the answer of each so-manyth commit from now on.
    pub(crate) fn cut_every(&self, commits: u32) {
        self.state.cut_every.store(commits, Ordering::SeqCst);
    }

    /// How many answers were lost.
    pub(crate) fn cuts(&self) -> u32 {
        self.state.cut.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    /// Whether the answer to this commit is to be lost.
    fn loses(&self) -> bool {
        let number = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        let every = self.cut_every.load(Ordering::SeqCst);
        every > 0 && number.is_multiple_of(every)
    }
}

async fn pass(client: TcpStream, state: Arc<State>) {
    let Ok(server) = TcpStream::connect(state.server).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let back = tokio::spawn(async move {
        // Either side may end first; the other is told by its closed half.
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
        (from_server, to_client)
    });
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from_client.read(&mut bytes).await {
        let sent = &bytes[..read];
        if sent.ends_with(COMMIT) && state.loses() {
            back.abort();
            // The half that read is gone with its task; a fresh connection shows when the commit is done.
            let _ = to_server.write_all(sent).await;
            let _ = to_server.flush().await;
            state.cut.fetch_add(1, Ordering::SeqCst);
            // Dropping the socket now would be a reset that could overtake the commit.
            let _ = to_server.shutdown().await;
            return;
        }
        if to_server.write_all(sent).await.is_err() {
            return;
        }
    }
}
