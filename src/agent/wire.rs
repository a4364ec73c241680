//! Breaking a connection on purpose.
//!
//! HTTP servers are built to finish what they began; a fault needs the
//! opposite. So the listener hands each connection out as a [`WireStream`],
//! and the handler of a call gets its [`Link`]: through it, it can order what
//! goes over the wire in place of the reply that the HTTP layer is about to
//! write. The same link learns when a reply was written whole, which is the
//! only honest moment to log it as sent.

use crate::agent::call::Receipt;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// What goes over the wire in place of the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WireFault {
    /// A reset (RST), nothing else.
    Reset,
    /// An orderly end (FIN), nothing else.
    Close,
    /// These bytes, then an orderly end.
    Instead(Vec<u8>),
    /// The reply's head and this many bytes of its body, then an orderly end.
    Cut(usize),
}

/// What handler and connection know of the reply being written.
#[derive(Debug, Default)]
struct LinkState {
    fault: Option<WireFault>,
    receipt: Option<Receipt>,
    body_given: bool,
}

/// A handler's hold on the connection its call came in on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link(Arc<Mutex<LinkState>>);

impl Link {
    /// Orders a fault in place of the reply that the handler returns next.
    pub fn order(&self, fault: WireFault) {
        self.state().fault = Some(fault);
    }

    /// Hands over the receipt of the call whose reply is being written. Whatever
    /// happens to the connection from here on, the receipt tells.
    pub fn hold(&self, receipt: Receipt) {
        let mut state = self.state();
        state.body_given = false;
        state.receipt = Some(receipt);
    }

    /// The last piece of the reply's body is with the HTTP layer: the next flush means it is out.
    pub fn body_given(&self) {
        self.state().body_given = true;
    }

    fn flushed(&self) {
        let mut state = self.state();
        if state.body_given {
            state.body_given = false;
            if let Some(receipt) = state.receipt.take() {
                receipt.sent();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connected<IncomingStream<'_, WireListener>> for Link {
    fn connect_info(stream: IncomingStream<'_, WireListener>) -> Link {
        stream.io().link.clone()
    }
}

/// A TCP listener whose connections can be broken on purpose.
#[derive(Debug)]
pub(crate) struct WireListener(pub TcpListener);

impl Listener for WireListener {
    type Io = WireStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (WireStream, SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok((tcp, peer)) => {
                    // Without it a small reply may wait 40 ms for the peer's delayed ACK.
                    if let Err(error) = tcp.set_nodelay(true) {
                        tracing::debug!(%error, "nodelay refused");
                    }
                    return (WireStream { tcp, link: Link::default(), last_words: None }, peer);
                }
                // Out of descriptors, or a peer that left at once: neither ends the agent.
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection that obeys the faults ordered through its [`Link`].
#[derive(Debug)]
pub(crate) struct WireStream {
    tcp: TcpStream,
    link: Link,
    /// The bytes that still go out before the connection ends; `None` while all is well.
    last_words: Option<Vec<u8>>,
}

impl WireStream {
    /// Takes up an ordered fault. `reply` is what the HTTP layer wanted to write: its
    /// head is in it whole, because this stream declines vectored writes.
    fn take_up(&mut self, fault: WireFault, reply: &[u8]) {
        let words = match fault {
            WireFault::Reset => {
                if let Err(error) = self.tcp.set_zero_linger() {
                    tracing::warn!(%error, "reset sent as an orderly end");
                }
                Vec::new()
            }
            WireFault::Close => Vec::new(),
            WireFault::Instead(bytes) => bytes,
            WireFault::Cut(body_bytes) => {
                let head = reply.windows(4).position(|four| four == b"\r\n\r\n").map_or(reply.len(), |at| at + 4);
                reply[..reply.len().min(head.saturating_add(body_bytes))].to_vec()
            }
        };
        self.last_words = Some(words);
    }

    /// Writes what is left of the last words, then fails for good: the HTTP layer drops the connection.
    fn poll_last_words(&mut self, cx: &mut Context<'_>, mut words: Vec<u8>) -> Poll<io::Error> {
        while !words.is_empty() {
            match Pin::new(&mut self.tcp).poll_write(cx, &words) {
                Poll::Ready(Ok(written)) => drop(words.drain(..written)),
                Poll::Ready(Err(error)) => return Poll::Ready(error),
                Poll::Pending => {
                    self.last_words = Some(words);
                    return Poll::Pending;
                }
            }
        }
        self.last_words = Some(words);
        Poll::Ready(io::Error::new(io::ErrorKind::BrokenPipe, "broken on purpose"))
    }
}

impl AsyncWrite for WireStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, reply: &[u8]) -> Poll<io::Result<usize>> {
        let ordered = self.link.state().fault.take();
        if let Some(fault) = ordered {
            self.take_up(fault, reply);
        }
        match self.last_words.take() {
            None => Pin::new(&mut self.tcp).poll_write(cx, reply),
            Some(words) => Poll::Ready(Err(ready!(self.poll_last_words(cx, words)))),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.tcp).poll_flush(cx))?;
        self.link.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

impl AsyncRead for WireStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, into)
    }
}
