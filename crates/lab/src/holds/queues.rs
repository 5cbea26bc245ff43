//! Before a run: the queues that the titles in demand have. Those who wait already are left waiting; what an
//! earlier run placed and could not cancel is found.

use super::ask::{self, REQUESTS};
use crate::client::{Connection, Session};
use crate::data::Wanted;
use crate::error::Result;
use crate::player::Desk;
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
    /// Those of the given readers, whole.
    pub of_readers: Vec<Bytes>,
}

/// Reads all open requests.
pub async fn open_requests(
    connection: &mut Connection,
    session: &Session,
    readers: &HashSet<Uuid>,
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
            if id("requesterId").is_some_and(|reader| readers.contains(&reader)) {
                open.of_readers.push(request.to_string().into());
            }
        }
        if requests.len() < PAGE {
            return Ok(open);
        }
        offset += PAGE;
    }
}

/// A connection on which readers queue up; a turn is a title.
pub struct QueueDesk {
    /// The connection.
    pub connection: Connection,
    /// The login.
    pub session: Session,
    /// The titles.
    pub wanted: Arc<Wanted>,
    /// Ids of the requests that are there.
    pub there: Arc<HashSet<Uuid>>,
    /// Where everything is picked up.
    pub pickup: Uuid,
}

impl Desk for QueueDesk {
    async fn act(&mut self, turn: u64) -> std::result::Result<(), String> {
        let wanted = self.wanted.clone();
        for waiting in wanted.queue(&wanted.titles[turn as usize]) {
            if self.there.contains(&waiting.id) {
                continue;
            }
            let request: Value = ask::waiting(&waiting, &self.pickup);
            let sent = self.session.send(&mut self.connection, Method::POST, REQUESTS, &request).await;
            let answer = sent.map_err(|error| error.to_string())?;
            if !answer.status.is_success() {
                return Err(answer.brief());
            }
        }
        Ok(())
    }
}
