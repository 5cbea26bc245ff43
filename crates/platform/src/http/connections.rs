//! Connections: accepted, counted by address, given time-outs for heads and writes, and served until the server stops.
//!
//! Bounds: connections of the process and of one address, the time for TLS, the time for a request's head (which is
//! also the time that a kept connection may be idle), the size of a head, the time in which a client must read some of
//! its answer.

use crate::http::App;
use crate::http::event_stream::Stopping;
use crate::http::lenient_target::Exchanging;
use crate::http::serve::answer;
use crate::http::tls::{self, Certificate};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;

/// Bytes of a request's head, its target included; more is 431. A target of more than 65,534 bytes is 414.
const MAX_HEAD_BYTES: usize = 128 * 1024;
/// Bytes that are buffered for a connection in each direction.
const MAX_BUFFER_BYTES: usize = 192 * 1024;
/// A client that reads nothing of its answer for this long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// File descriptors reserved for the database, the log and the like.
const RESERVED_DESCRIPTORS: usize = 200;

/// HTTP/1.1 with at most 100 headers.
pub(super) fn http1(header_timeout: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_BUFFER_BYTES);
    builder
}

/// Serves until the shutdown future ends, then lets running requests finish.
pub async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    accept(app, listener, None, shutdown).await;
    Ok(())
}

/// Serves HTTPS in the same way.
pub async fn serve_with_tls(
    app: Arc<App>,
    listener: TcpListener,
    certificate: Arc<Certificate>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let acceptor = tls::acceptor(&certificate)?;
    let renewal = tokio::spawn(async move { certificate.reload_when_changed().await });
    accept(app, listener, Some(acceptor), shutdown).await;
    renewal.abort();
    Ok(())
}

async fn accept(
    app: Arc<App>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let options = &app.node.options;
    let limits = ConnectionLimits::new(options.connections_in_all, options.connections_per_address);
    let (stop, stopping) = watch::channel(false);
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // No file descriptor is left, or the client has already disconnected.
                tracing::debug!("a connection could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let is_proxy = options.trusted_proxies.contains(&peer.ip().to_canonical());
        let permit = match limits.admit(peer.ip(), is_proxy) {
            Ok(permit) => permit,
            Err(excess) => {
                if tls.is_none() {
                    // The socket's send buffer is empty, so this does not block.
                    let _ = stream.try_write(excess.response());
                }
                continue;
            }
        };
        // Without TCP_NODELAY, filling packets would add 40 ms to each call.
        let _ = stream.set_nodelay(true);
        let (app, tls, stopping) = (Arc::clone(&app), tls.clone(), stopping.clone());
        tokio::spawn(async move {
            let _permit = permit;
            serve_connection(app, stream, peer, tls, stopping).await;
        });
    }
    drop((listener, stopping));
    let _ = stop.send(true);
    app.node.state.of::<Stopping>().0.send_replace(true);
    // Each connection owns a receiver until it ends.
    stop.closed().await;
}

async fn serve_connection(
    app: Arc<App>,
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
    mut stopping: watch::Receiver<bool>,
) {
    let Some(tls) = tls else { return serve_http(app, stream, peer, stopping).await };
    let handshake = tokio::select! {
        handshake = tls::handshake(stream, tls) => handshake,
        _ = stopping.changed() => return,
    };
    match handshake {
        Ok(Some(stream)) => serve_http(app, stream, peer, stopping).await,
        Ok(None) => {}
        Err(error) => tracing::debug!("no TLS with {peer}: {error}"),
    }
}

async fn serve_http<S>(app: Arc<App>, stream: S, peer: SocketAddr, mut stopping: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let builder = http1(app.node.options.header_timeout);
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(answer(app, peer, request).await) }
    });
    let stream = TokioIo::new(Exchanging(TimedWrites::new(stream, WRITE_TIMEOUT)));
    let mut connection = pin!(builder.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stopping.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("the connection of {peer} ended early: {error}");
    }
}

/// Bounds on the number of connections.
#[derive(Debug)]
struct ConnectionLimits {
    in_all: usize,
    per_address: usize,
    open: Arc<Mutex<OpenConnections>>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    in_all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Which bound a connection exceeds.
#[derive(Debug, PartialEq, Eq)]
enum Excess {
    InAll,
    OfAddress,
}

impl Excess {
    fn response(&self) -> &'static [u8] {
        match self {
            Excess::InAll => {
                b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 36\r\n\r\nThe server has too many connections."
            }
            Excess::OfAddress => {
                b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: 38\r\n\r\nThis address has too many connections."
            }
        }
    }
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
struct ConnectionPermit {
    open: Arc<Mutex<OpenConnections>>,
    address: IpAddr,
}

impl ConnectionLimits {
    /// Limits that the process can keep: no more connections than it may have files, and half of them for one address.
    fn new(in_all: usize, per_address: usize) -> ConnectionLimits {
        let in_all = match max_open_files() {
            Some(files) => in_all.min(files.saturating_sub(RESERVED_DESCRIPTORS)).max(1),
            None => in_all,
        };
        ConnectionLimits { in_all, per_address: per_address.min(in_all.div_ceil(2)), open: Arc::default() }
    }

    /// Counts a connection of this address. A proxy may have all connections, since it represents many addresses.
    fn admit(&self, address: IpAddr, is_proxy: bool) -> Result<ConnectionPermit, Excess> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.in_all >= self.in_all {
            return Err(Excess::InAll);
        }
        let of_address = open.by_address.entry(address).or_default();
        if *of_address >= self.per_address && !is_proxy {
            return Err(Excess::OfAddress);
        }
        *of_address += 1;
        open.in_all += 1;
        Ok(ConnectionPermit { open: Arc::clone(&self.open), address })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.in_all -= 1;
        if let Some(of_address) = open.by_address.get_mut(&self.address) {
            *of_address -= 1;
            if *of_address == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

/// The soft limit of open files of this process; `None` if unknown.
fn max_open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A connection that fails if the client reads nothing for a time.
struct TimedWrites<S> {
    stream: S,
    timeout: Duration,
    /// Runs while a write waits for the client.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedWrites<S> {
    fn new(stream: S, timeout: Duration) -> TimedWrites<S> {
        TimedWrites { stream, timeout, waiting: None }
    }

    fn in_time<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.timeout)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedWrites<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedWrites<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, polled)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.in_time(context, polled)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, polled)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.in_time(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    fn address(number: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, number])
    }

    #[test]
    fn an_address_with_all_its_connections_is_refused_and_others_are_not() {
        let limits = ConnectionLimits::new(5, 2);
        let first = limits.admit(address(1), false).expect("one of two");
        let _second = limits.admit(address(1), false).expect("two of two");
        assert_eq!(limits.admit(address(1), false).expect_err("three of two"), Excess::OfAddress);
        let proxy = limits.admit(address(1), true).expect("a proxy");
        let _other = limits.admit(address(2), false).expect("another address");
        drop((first, proxy));
        let _again = limits.admit(address(1), false).expect("one was closed");
    }

    #[test]
    fn a_server_with_all_its_connections_refuses_every_address() {
        let limits = ConnectionLimits::new(2, 1);
        let _one = limits.admit(address(1), false).expect("one of two");
        let other = limits.admit(address(2), false).expect("two of two");
        assert_eq!(limits.admit(address(3), false).expect_err("three of two"), Excess::InAll);
        drop(other);
        let _another = limits.admit(address(3), false).expect("one was closed");
    }

    #[test]
    fn a_refused_connection_gets_a_whole_response() {
        for excess in [Excess::InAll, Excess::OfAddress] {
            let response = String::from_utf8_lossy(excess.response()).into_owned();
            let (head, body) = response.split_once("\r\n\r\n").expect("a head and a body");
            assert!(head.contains(&format!("content-length: {}", body.len())), "{response}");
        }
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_disconnected() {
        let (server, _client) = tokio::io::duplex(10);
        let mut server = TimedWrites::new(server, Duration::from_millis(20));
        let error = server.write_all(&[0; 100]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
