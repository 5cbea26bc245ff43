//! Cancels the requests of a phase through the public API, so that the next phase, and the next run, begin with the
//! same queues.

use super::place::{REQUESTS, now};
use crate::client::{Connection, Session};
use crate::error::{LabError, Result};
use crate::player::Worker;
use bytes::Bytes;
use http::Method;
use serde_json::Value;
use std::sync::Arc;

/// A connection on which requests are cancelled.
pub struct CancelWorker {
    /// The connection, taken back afterwards.
    pub connection: Connection,
    /// The login.
    pub session: Session,
    /// Answers to the requests placed; turn n takes the nth.
    pub placed: Arc<Vec<Bytes>>,
}

impl CancelWorker {
    async fn cancel(&mut self, turn: usize) -> Result<()> {
        let mut request: Value = serde_json::from_slice(&self.placed[turn])
            .map_err(|error| LabError::new(format!("a response is not a request: {error}")))?;
        // The patron API returns a hold, the staff API the request.
        if let Some(id) = request["requestId"].as_str() {
            request = self.session.get(&mut self.connection, &format!("{REQUESTS}/{id}")).await?;
        }
        let target = format!("{REQUESTS}/{}", request["id"].as_str().unwrap_or_default());
        request["status"] = "Closed - Cancelled".into();
        request["cancelledDate"] = now().into();
        request["cancellationAdditionalInformation"] = "the run is over".into();
        let answer = self.session.send(&mut self.connection, Method::PUT, &target, &request).await?;
        if answer.status.is_success() { Ok(()) } else { Err(LabError::new(answer.brief())) }
    }
}

impl Worker for CancelWorker {
    async fn act(&mut self, turn: u64) -> std::result::Result<(), String> {
        self.cancel(turn as usize).await.map_err(|error| error.to_string())
    }
}
