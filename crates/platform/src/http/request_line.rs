//! What clients write on the first line of a request although it should be escaped there, such as `"`, `<` or `é` in
//! a query: FOLIO's modules take it, the HTTP library below does not, so it is escaped before the library reads it.
//! What is too long for the library's first line goes on in a header; what is too much for that, too, is cut off and
//! marked, so that the answer can say so.

use axum::serve::Listener;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The header that marks a request of which something was cut off; its value is the status to answer.
pub const CUT: &str = "x-carrel-cut";

/// The header in which a long target goes on.
pub const REST: &str = "x-carrel-rest-of-target";

/// Bytes of a target that are passed on in their place; the library takes some more.
pub const LONGEST_TARGET: usize = 65_000;
/// Bytes of a target that are passed on in the header.
const LONGEST_REST: usize = 200_000;
/// Headers that are passed on; the library takes some more.
const MOST_HEADERS: usize = 90;
/// Bytes of all headers together that are passed on.
const LARGEST_HEADERS: usize = 100_000;
/// No header whose value matters here is longer.
const LONGEST_KNOWN: usize = 100;

/// A listener whose connections are read in this way.
pub struct Escaping<L>(pub L);

impl<L: Listener> Listener for Escaping<L> {
    type Io = Escaped<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, peer) = self.0.accept().await;
        (Escaped { stream, reader: Reader::default(), ready: Vec::new(), reported: 0 }, peer)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// A connection read in this way; what is written passes as it is.
pub struct Escaped<S> {
    stream: S,
    reader: Reader,
    /// Changed bytes, of which so many are reported.
    ready: Vec<u8>,
    reported: usize,
}

impl<S: AsyncRead + Unpin> AsyncRead for Escaped<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.reported < this.ready.len() {
                let rest = &this.ready[this.reported..];
                let count = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..count]);
                this.reported += count;
                return Poll::Ready(Ok(()));
            }
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
            match this.reader.read(&buffer.filled()[before..]) {
                None => return Poll::Ready(Ok(())),
                Some(changed) => {
                    buffer.set_filled(before);
                    (this.ready, this.reported) = (changed, 0);
                }
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Escaped<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Where in the stream of requests the reading stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum At {
    /// Before or in the method.
    #[default]
    Method,
    Target,
    Version,
    Header,
    /// So many bytes of a body are still to come.
    Body(u64),
    ChunkSize,
    /// So many bytes of a chunk and the line end behind it.
    Chunk(u64),
    Trailer,
    /// This is not HTTP as known here: everything passes as it is.
    Unknown,
}

/// Follows the requests of one connection.
#[derive(Debug, Default)]
struct Reader {
    at: At,
    /// Bytes of the present method, target, header, chunk size or trailer.
    length: usize,
    /// The beginning of the present header or chunk size.
    line: Vec<u8>,
    /// The first half of a line's end is kept back.
    held: bool,
    /// Something of the present header was passed on.
    begun: bool,
    headers: usize,
    header_bytes: usize,
    body: u64,
    chunked: bool,
    /// What of the target did not fit.
    rest: Vec<u8>,
    cut: Option<&'static str>,
}

/// Bytes that pass, copied only once they differ from what came.
struct Passing<'a> {
    came: &'a [u8],
    changed: Option<Vec<u8>>,
}

impl Passing<'_> {
    fn keep(&mut self, from: usize, to: usize) {
        if let Some(changed) = &mut self.changed {
            changed.extend_from_slice(&self.came[from..to]);
        }
    }
    /// What passes from here on differs from what came.
    fn differing(&mut self, from: usize) -> &mut Vec<u8> {
        let came = self.came;
        self.changed.get_or_insert_with(|| came[..from].to_vec())
    }
}

impl Reader {
    /// The bytes to pass on; nothing where they are those that came.
    fn read(&mut self, came: &[u8]) -> Option<Vec<u8>> {
        let mut passing = Passing { came, changed: None };
        let mut place = 0;
        while place < came.len() {
            let rest = &came[place..];
            let end = match self.at {
                At::Unknown => came.len(),
                At::Body(left) | At::Chunk(left) => {
                    let count = left.min(rest.len() as u64);
                    let left = left - count;
                    self.at = match self.at {
                        At::Body(_) if left == 0 => At::Method,
                        At::Body(_) => At::Body(left),
                        _ if left == 0 => At::ChunkSize,
                        _ => At::Chunk(left),
                    };
                    place + count as usize
                }
                At::Target => {
                    self.target(&mut passing, place);
                    place += 1;
                    continue;
                }
                At::Header => {
                    let end = line_end(rest).map_or(came.len(), |end| place + end);
                    self.header(&mut passing, place, end);
                    place = end;
                    continue;
                }
                At::Version | At::ChunkSize | At::Trailer => {
                    let end = line_end(rest).map_or(came.len(), |end| place + end);
                    self.other_line(&came[place..end]);
                    end
                }
                At::Method => {
                    self.method(rest[0]);
                    place + 1
                }
            };
            passing.keep(place, end);
            place = end;
        }
        passing.changed
    }

    fn method(&mut self, byte: u8) {
        match byte {
            // Line ends before a request are nothing.
            b'\r' | b'\n' if self.length == 0 => {}
            b'A'..=b'Z' if self.length < 20 => self.length += 1,
            b' ' if self.length > 0 => self.go(At::Target),
            _ => self.at = At::Unknown,
        }
    }

    fn target(&mut self, passing: &mut Passing<'_>, place: usize) {
        let byte = passing.came[place];
        match byte {
            b' ' => {
                self.go(At::Version);
                passing.keep(place, place + 1);
            }
            b'\n' | b'\r' => {
                self.at = At::Unknown;
                passing.keep(place, place + 1);
            }
            _ if self.rest.len() >= LONGEST_REST => {
                passing.differing(place);
                self.cut = Some("414");
            }
            // What may not stand there unescaped.
            0..=0x1f | b'"' | b'<' | b'>' | b'`' | 0x7f.. => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                self.length += 3;
                let escaped = [b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
                let passed = passing.differing(place);
                if self.length > LONGEST_TARGET { &mut self.rest } else { passed }
                    .extend_from_slice(&escaped);
            }
            _ if self.length >= LONGEST_TARGET => {
                passing.differing(place);
                self.rest.push(byte);
            }
            _ => {
                self.length += 1;
                passing.keep(place, place + 1);
            }
        }
    }

    /// A header or a part of one, up to and with the line's end where that has come.
    fn header(&mut self, passing: &mut Passing<'_>, from: usize, to: usize) {
        let part = &passing.came[from..to];
        let ends = part.last() == Some(&b'\n');
        let begins = self.length == 0;
        if begins && part == b"\r" && (self.cut.is_some() || !self.rest.is_empty()) {
            // Half of a blank line: the mark must stand before it.
            passing.differing(from);
            self.line.push(b'\r');
            self.length = 1;
            self.held = true;
            return;
        }
        let held = std::mem::take(&mut self.held);
        self.remember(part);
        self.length += part.len();
        if ends && self.line.iter().all(|byte| matches!(byte, b'\r' | b'\n')) && self.length <= 2 {
            if self.cut.is_some() || !self.rest.is_empty() {
                let added = passing.differing(from);
                if let Some(status) = self.cut {
                    added.extend_from_slice(format!("{CUT}: {status}\r\n").as_bytes());
                } else {
                    added.extend_from_slice(format!("{REST}: ").as_bytes());
                    added.append(&mut self.rest);
                    added.extend_from_slice(b"\r\n");
                }
                if held {
                    added.push(b'\r');
                }
            }
            passing.keep(from, to);
            return self.headers_end();
        }
        if held {
            passing.differing(from).push(b'\r');
        }
        self.header_bytes += part.len();
        self.headers += usize::from(begins);
        if self.headers > MOST_HEADERS || self.header_bytes > LARGEST_HEADERS {
            self.cut = self.cut.or(Some("431"));
            let passed = passing.differing(from);
            // Of a header that is cut in its middle, the line's end remains.
            if ends && self.begun {
                passed.extend_from_slice(b"\r\n");
            }
        } else {
            passing.keep(from, to);
            self.begun = true;
        }
        if ends {
            self.header_is_known();
            self.go(At::Header);
        }
    }

    /// The two headers that say how long the body is.
    fn header_is_known(&mut self) {
        let Some((name, value)) = std::str::from_utf8(&self.line).ok().and_then(|line| line.split_once(':'))
        else {
            return;
        };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            match value.parse() {
                Ok(length) => self.body = length,
                Err(_) => self.at = At::Unknown,
            }
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.chunked |= value.to_ascii_lowercase().ends_with("chunked");
        }
    }

    fn headers_end(&mut self) {
        let next = match (self.chunked, self.body) {
            (true, _) => At::ChunkSize,
            (false, 0) => At::Method,
            (false, length) => At::Body(length),
        };
        *self = Reader { at: next, ..Reader::default() };
    }

    /// A line that passes as it is, or a part of one.
    fn other_line(&mut self, part: &[u8]) {
        self.remember(part);
        self.length += part.len();
        if part.last() != Some(&b'\n') {
            return;
        }
        match self.at {
            At::Version => self.go(At::Header),
            At::Trailer if self.length <= 2 => self.go(At::Method),
            At::Trailer => self.go(At::Trailer),
            _ => {
                let digits = std::str::from_utf8(&self.line).unwrap_or_default();
                let digits = digits.split([';', '\r', '\n']).next().unwrap_or_default().trim();
                match u64::from_str_radix(digits, 16) {
                    Ok(0) => self.go(At::Trailer),
                    Ok(size) => self.go(At::Chunk(size.saturating_add(2))),
                    Err(_) => self.at = At::Unknown,
                }
            }
        }
    }

    fn remember(&mut self, part: &[u8]) {
        let room = LONGEST_KNOWN.saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn go(&mut self, at: At) {
        if self.at == At::Unknown {
            return;
        }
        self.at = at;
        self.length = 0;
        self.begun = false;
        self.line.clear();
    }
}

/// The place behind the line's end.
fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n').map(|place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What passes when the bytes come in pieces of a size.
    fn passed(came: &[u8], size: usize) -> Vec<u8> {
        let mut reader = Reader::default();
        came.chunks(size).flat_map(|piece| reader.read(piece).unwrap_or_else(|| piece.to_vec())).collect()
    }

    /// However the bytes come in, the same passes.
    fn passes(came: &str, expected: &str) {
        for size in 1..=came.len() {
            let reported = passed(came.as_bytes(), size);
            assert_eq!(String::from_utf8_lossy(&reported), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn what_needs_no_escape_passes_untouched() {
        let plain = "GET /users?query=(a==%22b%22)&limit=0 HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(Reader::default().read(plain.as_bytes()), None);
        passes(plain, plain);
    }

    #[test]
    fn quotation_marks_angles_and_accents_of_a_target_are_escaped() {
        passes(
            "GET /users?query=a==\"é\" HTTP/1.1\r\nHost: \"x\"\r\n\r\n",
            "GET /users?query=a==%22%C3%A9%22 HTTP/1.1\r\nHost: \"x\"\r\n\r\n",
        );
        passes("GET /a?b<>c HTTP/1.1\r\n\r\n", "GET /a?b%3C%3Ec HTTP/1.1\r\n\r\n");
    }

    #[test]
    fn bodies_pass_untouched_and_the_request_behind_them_is_found() {
        let body = "GET /\"x\" HTTP/1.1\r\n";
        let length = body.len();
        passes(
            &format!("POST /a?\" HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}GET /\" HTTP/1.1\r\n\r\n"),
            &format!(
                "POST /a?%22 HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}GET /%22 HTTP/1.1\r\n\r\n"
            ),
        );
    }

    #[test]
    fn bodies_in_chunks_pass_untouched_too() {
        let body = "12;x=y\r\nGET /\"\" HTTP/1.1\r\n\r\n0\r\nTrailer: \"\r\n\r\n";
        passes(
            &format!(
                "POST /\" HTTP/1.1\r\ntransfer-encoding: gzip, Chunked\r\n\r\n{body}GET /\" HTTP/1.1\r\n\r\n"
            ),
            &format!(
                "POST /%22 HTTP/1.1\r\ntransfer-encoding: gzip, Chunked\r\n\r\n{body}GET /%22 HTTP/1.1\r\n\r\n"
            ),
        );
    }

    #[test]
    fn what_is_no_http_passes_untouched() {
        for other in ["\x16\x03\"<>", "hello \"you\"\r\n\r\nGET /\" HTTP/1.1\r\n", "GET /\r\n\"\"", "GET  "] {
            passes(other, other);
        }
    }

    #[test]
    fn a_target_that_is_long_goes_on_in_a_header() {
        let came = format!("GET /?{}\"b HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(LONGEST_TARGET));
        for size in [1, 1000, came.len()] {
            let reported = String::from_utf8(passed(came.as_bytes(), size)).expect("text");
            assert_eq!(reported.find(" HTTP/1.1"), Some(LONGEST_TARGET + 4));
            let end = " HTTP/1.1\r\nHost: x\r\nx-carrel-rest-of-target: aa%22b\r\n\r\n";
            assert!(reported.ends_with(end), "{}", &reported[LONGEST_TARGET..]);
        }
    }

    #[test]
    fn a_target_that_is_too_long_is_cut_and_marked() {
        let came = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(300_000));
        for size in [1, 1000, came.len()] {
            let reported = String::from_utf8(passed(came.as_bytes(), size)).expect("text");
            assert_eq!(reported.find(" HTTP/1.1"), Some(LONGEST_TARGET + 4));
            assert!(reported.ends_with(" HTTP/1.1\r\nHost: x\r\nx-carrel-cut: 414\r\n\r\n"));
        }
    }

    #[test]
    fn headers_that_are_too_many_are_cut_and_marked() {
        let came = format!("GET / HTTP/1.1\r\n{}\r\nGET /\" HTTP/1.1\r\n\r\n", "a: b\r\n".repeat(200));
        let reported = String::from_utf8(passed(came.as_bytes(), 7)).expect("text");
        let expected = "a: b\r\n".repeat(MOST_HEADERS);
        assert_eq!(
            reported,
            format!("GET / HTTP/1.1\r\n{expected}x-carrel-cut: 431\r\n\r\nGET /%22 HTTP/1.1\r\n\r\n")
        );
    }

    #[test]
    fn a_header_that_is_too_long_is_cut_and_marked() {
        let came = format!("GET / HTTP/1.1\r\na: {}\r\nb: c\r\n\r\n", "x".repeat(LARGEST_HEADERS + 10));
        for size in [999, came.len()] {
            let reported = String::from_utf8(passed(came.as_bytes(), size)).expect("text");
            assert!(
                reported.ends_with("\r\nx-carrel-cut: 431\r\n\r\n"),
                "{}",
                &reported[reported.len().min(100)..]
            );
            assert!(reported.len() < came.len());
        }
    }
}
