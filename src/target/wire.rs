//! The wire: a socket that a pool can look at and a stream that remembers what it saw.
//!
//! HTTP libraries report "the message was incomplete" alike for a server that
//! never answered and for one that stopped in the middle of its headers. The
//! difference decides whether a call may be repeated under the same key, so the
//! wire notes it where it is certain: at the bytes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// How much of a response's beginning is kept to show what came instead of HTTP.
const BEGINNING_BYTES: usize = 1024;

/// A TCP socket shared by the connection that uses it and the pool that checks it.
#[derive(Clone, Debug)]
pub(super) struct Socket(Arc<TcpStream>);

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Socket {
        Socket(Arc::new(stream))
    }

    /// Whether nothing has arrived and the peer has not closed, asked of the
    /// kernel itself: the runtime may not have noticed yet.
    pub(super) fn is_quiet(&self) -> bool {
        let mut byte = [std::mem::MaybeUninit::uninit()];
        match socket2::SockRef::from(&*self.0).peek(&mut byte) {
            Ok(_) => false,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read_buf(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done.map(drop)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write_vectored(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(socket2::SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}

/// What one exchange has received so far.
#[derive(Debug, Default)]
pub(super) struct Watch(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    bytes: u64,
    beginning: Vec<u8>,
    line_ended: bool,
}

impl Watch {
    /// Forgets the exchange before.
    pub(super) fn begin(&self) {
        *self.seen() = Seen::default();
    }

    /// Bytes received, headers and framing included.
    pub(super) fn bytes(&self) -> u64 {
        self.seen().bytes
    }

    /// Whether a whole status line was received.
    pub(super) fn has_status_line(&self) -> bool {
        let seen = self.seen();
        seen.line_ended && seen.beginning.starts_with(b"HTTP/")
    }

    /// The first bytes received, at most [`BEGINNING_BYTES`].
    pub(super) fn beginning(&self) -> Vec<u8> {
        self.seen().beginning.clone()
    }

    fn saw(&self, bytes: &[u8]) {
        let mut seen = self.seen();
        seen.bytes += bytes.len() as u64;
        if !seen.line_ended {
            let room = BEGINNING_BYTES - seen.beginning.len();
            seen.beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
            seen.line_ended = bytes.contains(&b'\n');
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stream that HTTP runs over.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// A stream and the watch over what it receives.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) stream: Stream,
    pub(super) watch: Arc<Watch>,
}

/// Does the same with either stream.
macro_rules! either {
    ($wire:expr, $stream:ident => $call:expr) => {
        match &mut $wire.get_mut().stream {
            Stream::Plain(inner) => {
                let $stream = Pin::new(inner);
                $call
            }
            Stream::Tls(inner) => {
                let $stream = Pin::new(&mut **inner);
                $call
            }
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let watch = Arc::clone(&self.watch);
        let read = either!(self, stream => stream.poll_read(cx, buf));
        watch.saw(&buf.filled()[before..]);
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, stream => stream.poll_write_vectored(cx, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(inner) => inner.is_write_vectored(),
            Stream::Tls(inner) => inner.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_quiet_until_its_peer_sends_or_closes() {
        for sends in [true, false] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (far, _) = listener.accept().await.unwrap();
            let socket = Socket::new(near);
            assert!(socket.is_quiet());
            if sends {
                assert_eq!(far.try_write(b"x").unwrap(), 1);
            } else {
                drop(far);
            }
            assert!(!socket.is_quiet());
        }
    }

    #[test]
    fn a_status_line_counts_once_its_end_was_seen() {
        let watch = Watch::default();
        watch.saw(b"HTTP/1.1 200");
        assert!(!watch.has_status_line());
        watch.saw(b" OK\r\nContent-");
        assert!(watch.has_status_line());
        assert_eq!(watch.bytes(), 25);
        watch.begin();
        assert!(!watch.has_status_line());
    }

    #[test]
    fn what_is_not_http_is_no_status_line_and_only_its_beginning_is_kept() {
        let watch = Watch::default();
        for _ in 0..200 {
            watch.saw(b"SSH-2.0-x ");
        }
        watch.saw(b"\n");
        assert!(!watch.has_status_line());
        assert_eq!(watch.beginning().len(), BEGINNING_BYTES);
    }
}
