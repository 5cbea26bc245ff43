//! Notifications between nodes: a transaction that changes cached tables notifies all nodes, which then read the
//! settings version before they use a cached value.
//!
//! The connection that listens to a database also announces the node there: the nodes of a server count each other, and
//! share its connections. A node that begins to listen notifies the others.
//!
//! Each database is listened to. A notification is only a hint. While a connection is lost nothing is heard; what was
//! missed is found by the next question for the version, at most two seconds later (`settings_version.rs`), or by the
//! next look at the table of tenants.

use super::{Database, Node};
use crate::database::{ANNOUNCED_AS, Server, node_share};
use crate::tenant::schema_of;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Notification};

/// The channel on which transactions send the schema whose cached tables they have changed.
const SETTINGS: &str = "carrel_settings";
/// The channel of the platform's own database that names tenants which have moved.
pub(super) const TENANTS: &str = "carrel_tenants";
/// The channel on which a node that begins to listen says so.
const NODES: &str = "carrel_nodes";
/// The interval of attempts to connect.
const RETRY: Duration = Duration::from_secs(1);
/// The interval of checks of the connection and of counts of the nodes, and the time-out of each.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// What a connection has heard.
enum Heard {
    /// Anything may have been missed.
    Gap,
    Notification(Notification),
    /// This node's share of the server's connections.
    Share(usize),
}

/// Listens for as long as the node and its database are there.
pub(super) async fn listen(node: Weak<Node>, database: Weak<Database>) {
    let Some(members) = database.upgrade().map(|database| Arc::clone(database.pools.members())) else {
        return;
    };
    let heard = |what: Heard| {
        let (Some(node), Some(database)) = (node.upgrade(), database.upgrade()) else { return false };
        note(&node, &database, what);
        true
    };
    loop {
        let chosen = members.chosen();
        let mut server = members.servers()[chosen.index].clone();
        server.config.application_name(ANNOUNCED_AS).connect_timeout(HEARTBEAT);
        let lost = tokio::select! {
            lost = follow(&server, &heard) => lost,
            () = members.moved_since(chosen) => "the primary has moved".to_owned(),
        };
        if !heard(Heard::Gap) {
            return;
        }
        tracing::debug!("notifications cannot be received at the moment: {lost}");
        tokio::time::sleep(RETRY).await;
    }
}

fn note(node: &Arc<Node>, database: &Arc<Database>, what: Heard) {
    let schema = match &what {
        Heard::Share(share) => return database.take_share(*share),
        Heard::Gap => None,
        Heard::Notification(notification) if notification.channel() == TENANTS => {
            let node = Arc::clone(node);
            // A failure is found by the calls that need the database; the table is looked at again anyway.
            tokio::spawn(async move { node.look_for_changes().await });
            return;
        }
        Heard::Notification(notification) => Some(notification.payload()),
    };
    for tenant in node.tenants() {
        let is_meant = schema.is_none_or(|schema| schema == schema_of(&tenant.id));
        if is_meant && Arc::ptr_eq(&tenant.database, database) {
            tenant.version.has_changed();
        }
    }
}

/// Passes on what is heard; ends with the connection, and says why it ended.
async fn follow(server: &Server, heard: &impl Fn(Heard) -> bool) -> String {
    let (client, mut connection) = match tokio::time::timeout(HEARTBEAT, server.connect()).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(error)) => return error.to_string(),
        Err(_) => return "the server does not answer".to_owned(),
    };
    let (sender, mut notifications) = mpsc::unbounded_channel();
    let driver = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && sender.send(notification).is_err()
            {
                return;
            }
        }
    });
    let ended = async {
        let listen =
            format!("LISTEN {SETTINGS}; LISTEN {TENANTS}; LISTEN {NODES}; SELECT pg_notify('{NODES}', '')");
        client.batch_execute(&listen).await.map_err(|error| error.to_string())?;
        // Notifications before the connection was established may have been missed.
        let mut goes_on = heard(Heard::Gap);
        let mut counted: Option<Instant> = None;
        while goes_on {
            if counted.is_none_or(|counted| counted.elapsed() >= HEARTBEAT) {
                let share = tokio::time::timeout(HEARTBEAT, node_share(&client, false)).await;
                let share = share.map_err(|_| "the server does not answer".to_owned())?;
                goes_on = heard(Heard::Share(share.map_err(|error| error.to_string())?));
                counted = Some(Instant::now());
            }
            match tokio::time::timeout(HEARTBEAT, notifications.recv()).await {
                Ok(Some(notification)) if notification.channel() == NODES => counted = None,
                Ok(Some(notification)) => goes_on = heard(Heard::Notification(notification)),
                Ok(None) => return Err("the connection ended".to_owned()),
                Err(_) => {}
            }
        }
        Ok::<_, String>(())
    };
    let ended = ended.await.err().unwrap_or_default();
    driver.abort();
    ended
}
