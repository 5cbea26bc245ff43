//! Scans: one call per item, nothing before or after it.

use crate::client::Connection;
use crate::player::Worker;
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::json;
use std::sync::Arc;

/// The call of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// `POST /circulation/check-out-by-barcode`.
    CheckOut,
    /// `POST /circulation/check-in-by-barcode`.
    CheckIn,
}

/// State shared by the workers of a phase.
pub struct WorkQueue {
    /// The call.
    pub scan: Scan,
    /// Item barcodes; turn n takes the nth.
    pub items: Vec<String>,
    /// User barcodes; turn n takes the nth after `first_user`, cyclically. Neighboring turns never use
    /// the same patron, whose loans are serialized.
    pub users: Arc<Vec<String>>,
    /// Index of the first user.
    pub first_user: usize,
    /// The service point's id.
    pub service_point: String,
    /// Headers of the login.
    pub headers: Arc<HeaderMap>,
}

impl WorkQueue {
    /// Path and body of a turn's call.
    pub fn request(&self, turn: usize) -> (&'static str, Bytes) {
        let now = jiff::Timestamp::now().to_string();
        let item = &self.items[turn];
        let (target, body) = match self.scan {
            Scan::CheckOut => {
                let user = &self.users[(self.first_user + turn) % self.users.len()];
                let body = json!({ "itemBarcode": item, "userBarcode": user, "servicePointId": self.service_point,
                    "loanDate": now });
                ("/circulation/check-out-by-barcode", body)
            }
            Scan::CheckIn => {
                let body =
                    json!({ "itemBarcode": item, "servicePointId": self.service_point, "checkInDate": now });
                ("/circulation/check-in-by-barcode", body)
            }
        };
        (target, body.to_string().into())
    }
}

/// A connection that works through a queue.
pub struct ScanWorker {
    /// The connection, taken back after the phase.
    pub connection: Connection,
    /// The queue.
    pub queue: Arc<WorkQueue>,
    /// The turns that succeeded.
    pub done: Vec<usize>,
}

impl Worker for ScanWorker {
    async fn act(&mut self, turn: u64) -> Result<(), String> {
        let turn = turn as usize;
        let (target, body) = self.queue.request(turn);
        match self.connection.call(Method::POST, target, &self.queue.headers, body).await {
            Ok(answer) if answer.status.is_success() => {
                self.done.push(turn);
                Ok(())
            }
            Ok(answer) => Err(answer.brief()),
            Err(error) => Err(error.to_string()),
        }
    }
}
