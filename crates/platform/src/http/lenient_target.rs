//! Characters that clients send in a request target without escaping them.
//!
//! FOLIO's modules accept `"`, `<` and `>` in a query (`?query=(status.name<>"Closed")`), and public load plans send
//! them. The HTTP library refuses them, and it silently drops everything after a `#`, which would widen a `DELETE` by
//! query. So each connection exchanges single bytes in pairs ([`exchange`]) before the library parses them, and the
//! request is exchanged back after parsing.
//!
//! The exchange keeps the number and order of bytes and affects none that delimits a message: no letter, digit, blank,
//! colon, comma, semicolon or line end. Only the library decides where a message ends, so no second parser can disagree
//! with it. Ambiguous messages are answered with 400, 414 or 431, and the connection is closed.
//!
//! The drawback: the partners `` ` ``, `^` and `|` must be escaped in a target, and so must `#`; unescaped they are
//! 400.

use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Pairs of bytes that are exchanged. The first three make characters acceptable in a query; `#` becomes a byte that no
/// UTF-8 text contains, and is refused.
const PAIRS: [(u8, u8); 4] = [(b'"', b'`'), (b'<', b'^'), (b'>', b'|'), (b'#', 0xff)];

/// The partner of each byte; applied twice, the exchange changes nothing.
const EXCHANGED: [u8; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        table[index] = index as u8;
        index += 1;
    }
    let mut index = 0;
    while index < PAIRS.len() {
        let (one, other) = PAIRS[index];
        table[one as usize] = other;
        table[other as usize] = one;
        index += 1;
    }
    table
};

/// Exchanges the bytes of each pair.
pub(super) fn exchange(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = EXCHANGED[usize::from(*byte)];
    }
}

/// The text as the client has sent it.
pub(super) fn restored(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    exchange(&mut bytes);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Restores header values to what the client has sent.
pub(super) fn restore_headers(headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        if value.as_bytes().iter().any(|byte| is_exchanged(*byte)) {
            let mut bytes = value.as_bytes().to_vec();
            exchange(&mut bytes);
            // Both bytes of a pair are valid in a header value.
            if let Ok(restored) = HeaderValue::from_bytes(&bytes) {
                *value = restored;
            }
        }
    }
}

/// Whether the method or a header's name contains a byte of a pair: the library would have refused the original bytes,
/// or parsed another name.
pub(super) fn is_misread(head: &Parts) -> bool {
    let mut names = head.headers.keys().map(|name| name.as_str()).chain([head.method.as_str()]);
    names.any(|name| name.bytes().any(is_exchanged))
}

fn is_exchanged(byte: u8) -> bool {
    EXCHANGED[usize::from(byte)] != byte
}

/// A connection whose received bytes are exchanged; sent bytes are unchanged.
pub(super) struct Exchanging<S>(pub S);

impl<S: AsyncRead + Unpin> AsyncRead for Exchanging<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.0).poll_read(context, buffer))?;
        exchange(&mut buffer.filled_mut()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Exchanging<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }
    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
