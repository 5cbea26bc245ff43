//! Preparation of a run: creates the request queues of the instances with many requests. Existing requests are reused,
//! and requests that an earlier run could not cancel are found.

use super::place::{self, REQUESTS};
use crate::client::{Connection, Session};
use crate::data::PopularInstances;
use crate::error::Result;
use crate::player::Worker;
use bytes::Bytes;
use http::Method;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

const PAGE: usize = 1000;

/// The open requests of a tenant.
#[derive(Default)]
pub struct Open {
    /// Ids of all of them.
    pub ids: HashSet<Uuid>,
    /// Those of the given patrons, whole.
    pub of_patrons: Vec<Bytes>,
}

/// Reads all open requests.
pub async fn open_requests(
    connection: &mut Connection,
    session: &Session,
    patrons: &HashSet<Uuid>,
) -> Result<Open> {
    let mut open = Open::default();
    let mut offset = 0;
    loop {
        let query = "query=status==%22Open*%22%20sortby%20id";
        let target = format!("{REQUESTS}?{query}&limit={PAGE}&offset={offset}");
        let page = session.get(connection, &target).await?;
        let requests = page["requests"].as_array().map(Vec::as_slice).unwrap_or_default();
        for request in requests {
            let id = |key: &str| request[key].as_str().and_then(|id| Uuid::parse_str(id).ok());
            open.ids.extend(id("id"));
            if id("requesterId").is_some_and(|patron| patrons.contains(&patron)) {
                open.of_patrons.push(request.to_string().into());
            }
        }
        if requests.len() < PAGE {
            return Ok(open);
        }
        offset += PAGE;
    }
}

/// A connection that places the requests of a queue; a turn is an instance.
pub struct QueueWorker {
    /// The connection.
    pub connection: Connection,
    /// The login.
    pub session: Session,
    /// The instances.
    pub popular: Arc<PopularInstances>,
    /// Ids of the existing requests.
    pub there: Arc<HashSet<Uuid>>,
    /// Pickup service point.
    pub pickup: Uuid,
}

impl Worker for QueueWorker {
    async fn act(&mut self, turn: u64) -> std::result::Result<(), String> {
        let popular = self.popular.clone();
        for waiting in popular.queue(&popular.titles[turn as usize]) {
            if self.there.contains(&waiting.id) {
                continue;
            }
            let request: Value = place::waiting(&waiting, &self.pickup);
            let sent = self.session.send(&mut self.connection, Method::POST, REQUESTS, &request).await;
            let answer = sent.map_err(|error| error.to_string())?;
            if !answer.status.is_success() {
                return Err(answer.brief());
            }
        }
        Ok(())
    }
}
