//! The pool: connections to one target that wait for their next call.
//!
//! A connection is handed out again only if it is provably alive at that moment:
//! idle for a short time, not closed, and with nothing to read at the kernel. A
//! server that closed it in between is noticed before a byte of the call is
//! written, so that a stale connection does not surface as a lost call.

use super::connect::Origin;
use super::wire::{Socket, Watch, Wire};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

/// How long a connection waits for its next call: below the 5 s after which common
/// servers (Node, uvicorn) close an idle one.
const IDLE_MAX: Duration = Duration::from_secs(4);
/// How long a connection may take from the last byte of a response to being ready.
/// It takes microseconds, unless the server answered before it had read the request.
const READY_MAX: Duration = Duration::from_millis(10);

/// A connection, in use or idle. Dropping it closes it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) sender: SendRequest<Full<Bytes>>,
    pub(super) watch: Arc<Watch>,
    pub(super) reused: bool,
    origin: Origin,
    socket: Socket,
    driver: AbortHandle,
    idle_since: Instant,
}

impl Line {
    /// Begins HTTP/1.1 on a fresh connection.
    pub(super) async fn open(origin: Origin, wire: Wire, socket: Socket) -> hyper::Result<Line> {
        let watch = Arc::clone(&wire.watch);
        let (sender, connection) = handshake(TokioIo::new(wire)).await?;
        // Its error reaches the exchange as well.
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Line { sender, watch, reused: false, origin, socket, driver, idle_since: Instant::now() })
    }

    async fn is_alive(&mut self) -> bool {
        self.idle_since.elapsed() < IDLE_MAX
            && matches!(timeout(READY_MAX, self.sender.ready()).await, Ok(Ok(())))
            && self.socket.is_quiet()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Idle connections, the last used on top.
#[derive(Debug)]
pub(super) struct Pool {
    idle: Mutex<Vec<Line>>,
    idle_max: usize,
}

impl Pool {
    /// A pool of at most `idle_max` idle connections.
    pub(super) fn new(idle_max: usize) -> Pool {
        Pool { idle: Mutex::new(Vec::new()), idle_max }
    }

    /// A connection to this origin that is alive, if there is one.
    pub(super) async fn take(&self, origin: &Origin) -> Option<Line> {
        loop {
            let mut line = self.idle().pop()?;
            if line.origin == *origin && line.is_alive().await {
                line.reused = true;
                return Some(line);
            }
        }
    }

    /// Gives a connection back after its response was read to the end.
    pub(super) fn give_back(&self, mut line: Line) {
        if line.sender.is_closed() {
            return;
        }
        line.idle_since = Instant::now();
        let mut idle = self.idle();
        let stale = idle.iter().take_while(|line| line.idle_since.elapsed() >= IDLE_MAX).count();
        idle.drain(..stale);
        if idle.len() < self.idle_max {
            idle.push(line);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Line>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
