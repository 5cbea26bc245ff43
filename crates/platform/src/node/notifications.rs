//! Notifications between nodes: a node that changes what others cache says so, and they ask the database before they
//! decide anything by it.
//!
//! A notification is only a hint. While the connection is lost nothing is heard; what was missed is found by the next
//! question for the version, at most two seconds later (`settings_version.rs`).

use super::Node;
use crate::database::{Members, Server};
use crate::tenant::schema_of;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_postgres::AsyncMessage;

/// The channel on which transactions name the schema whose cached tables they have changed.
const CHANNEL: &str = "carrel_settings";
/// Between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);
/// The connection is asked whether it is alive this often, and has as long to answer.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Listens for as long as the node is there.
pub(super) async fn listen(node_id: Weak<Node>, members: Arc<Members>) {
    loop {
        let chosen = members.chosen();
        let mut server = members.servers()[chosen.index].clone();
        server.config.application_name("carrel notifications").connect_timeout(HEARTBEAT);
        let heard = |schema: Option<&str>| {
            let Some(node_id) = node_id.upgrade() else { return false };
            for tenant in node_id.tenants() {
                if schema.is_none_or(|schema| schema == schema_of(&tenant.id)) {
                    tenant.version.has_changed();
                }
            }
            true
        };
        let lost = tokio::select! {
            lost = follow(&server, &heard) => lost,
            () = members.moved_since(chosen) => "the primary has moved".to_owned(),
        };
        if !heard(None) {
            return;
        }
        tracing::debug!("notifications are not heard for the moment: {lost}");
        tokio::time::sleep(RETRY).await;
    }
}

/// Passes on the name of each schema heard of; ends with the connection, and says why it ended.
async fn follow(server: &Server, heard: &impl Fn(Option<&str>) -> bool) -> String {
    let (client, mut connection) = match tokio::time::timeout(HEARTBEAT, server.connect()).await {
        Ok(Ok(connected)) => connected,
        Ok(Err(error)) => return error.to_string(),
        Err(_) => return "the server does not answer".to_owned(),
    };
    let (sender, mut names) = mpsc::unbounded_channel();
    let driver = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && sender.send(notification.payload().to_owned()).is_err()
            {
                return;
            }
        }
    });
    let ended = async {
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(|error| error.to_string())?;
        // What was announced before may have been missed.
        let mut goes_on = heard(None);
        while goes_on {
            goes_on = match tokio::time::timeout(HEARTBEAT, names.recv()).await {
                Ok(Some(name)) => heard(Some(&name)),
                Ok(None) => return Err("the connection ended".to_owned()),
                Err(_) => match tokio::time::timeout(HEARTBEAT, client.simple_query("")).await {
                    Ok(Ok(_)) => heard(Some("")),
                    Ok(Err(error)) => return Err(error.to_string()),
                    Err(_) => return Err("the server does not answer".to_owned()),
                },
            };
        }
        Ok::<_, String>(())
    };
    let ended = ended.await.err().unwrap_or_default();
    driver.abort();
    ended
}
