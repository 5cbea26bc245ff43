//! The body of an answer, and the count of its costs once it has been sent.

use crate::http::Rest;
use crate::http::figures::ModuleFigures;
use crate::meter::Meter;
use futures_util::Stream;
use http::StatusCode;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// A body of known length, followed by a stream for a long list.
pub(super) struct ResponseBody {
    first: Bytes,
    rest: Option<Rest>,
    count: Option<CallCount>,
}

/// What is counted for a call when its answer is complete or abandoned.
pub(super) struct CallCount {
    pub figures: Arc<ModuleFigures>,
    pub status: StatusCode,
    pub started: Instant,
    pub meter: Arc<Meter>,
    pub bytes: u64,
}

impl Drop for CallCount {
    fn drop(&mut self) {
        self.figures.count(self.status, self.started.elapsed(), self.bytes, &self.meter);
    }
}

impl ResponseBody {
    /// An answer of known length is counted now, a streamed one at its end.
    pub fn new(first: Bytes, rest: Option<Rest>, mut count: Option<CallCount>) -> ResponseBody {
        if let Some(count) = &mut count {
            count.bytes = first.len() as u64;
        }
        let count = count.filter(|_| rest.is_some());
        ResponseBody { first, rest, count }
    }

    pub fn empty() -> ResponseBody {
        ResponseBody { first: Bytes::new(), rest: None, count: None }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.first)))));
        }
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        let chunk = ready!(Pin::new(rest).poll_next(context));
        match &chunk {
            Some(Ok(bytes)) => {
                if let Some(count) = &mut self.count {
                    count.bytes += bytes.len() as u64;
                }
            }
            Some(Err(_)) | None => {
                self.rest = None;
                self.count = None;
            }
        }
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.rest.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.rest {
            None => SizeHint::with_exact(self.first.len() as u64),
            Some(_) => SizeHint::default(),
        }
    }
}
