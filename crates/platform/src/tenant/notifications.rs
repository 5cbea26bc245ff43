//! Hints between nodes: a tenant's settings version has moved.
//!
//! A hint only makes a node read the version at once instead of within two seconds. It may be lost: the version in
//! the database is what counts.

use super::{Node, schema_of};
use crate::database::failure;
use carrel_records::Failure;
use futures_util::FutureExt;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio_postgres::AsyncMessage;

/// Sent as a statement of its own; the payload is the tenant's schema.
pub(super) const NOTIFY: &str = "SELECT pg_notify('carrel_settings', current_schema()::text)";
const LISTEN: &str = "LISTEN carrel_settings";

/// Time before a broken connection is opened again.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

impl Node {
    /// Listens for hints on a connection of its own until the node is dropped. Ends never by itself while the node
    /// is there: a broken connection is opened again.
    pub async fn listen_for_settings_changes(node: Weak<Node>) {
        while node.strong_count() > 0 {
            if let Err(failure) = listen(&node).await {
                tracing::debug!(%failure, "listening for changed settings");
            }
            tokio::time::sleep(RECONNECT_AFTER).await;
        }
    }
}

/// Listens until the connection breaks or the node is dropped.
async fn listen(node: &Weak<Node>) -> Result<(), Failure> {
    let Some(server) = node.upgrade().map(|node| node.address.primary.clone()) else { return Ok(()) };
    let failed = |error| failure(error, "listening for changed settings");
    let (client, mut connection) = server.connect().await.map_err(failed)?;
    let mut listening = Box::pin(client.batch_execute(LISTEN)).fuse();
    loop {
        tokio::select! {
            listens = &mut listening => {
                listens.map_err(failed)?;
                // What was sent before this moment is lost.
                let Some(node) = node.upgrade() else { return Ok(()) };
                node.tenants().iter().for_each(|tenant| tenant.settings_version_is_stale());
            }
            message = poll_fn(|context| connection.poll_message(context)) => match message {
                None => return Ok(()),
                Some(Err(error)) => return Err(failed(error)),
                Some(Ok(AsyncMessage::Notification(hint))) => {
                    let Some(node) = node.upgrade() else { return Ok(()) };
                    read_version(&node, hint.payload());
                }
                Some(Ok(_)) => {}
            },
        }
    }
}

fn read_version(node: &Arc<Node>, schema: &str) {
    let Some(tenant) = node.tenants().into_iter().find(|tenant| schema_of(&tenant.id) == schema) else {
        return;
    };
    tenant.settings_version_is_stale();
    // Read here and now: an action under way may report an older version after this moment and keep it for fresh.
    tokio::spawn(async move { tenant.read_settings_version().await });
}
