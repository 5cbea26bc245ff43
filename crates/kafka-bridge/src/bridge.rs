//! Reads the outbox of every tenant and sends what it finds.

use crate::message::{self, Instances, Message};
use crate::sender::{Refused, Sender};
use crate::{Options, topics};
use carrel_platform::outbox::follow::{self, StoredEvent};
use carrel_platform::outbox::reader::{self, Attempt};
use carrel_platform::tenant_rounds::TenantRounds;
use carrel_platform::{Connection, Node, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Name of the bridge among the readers of the outbox.
pub const READER: &str = "kafka";
/// Time between two rounds for a tenant that had events, and for one that had none.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_WITHOUT_EVENTS: Duration = Duration::from_secs(3);
/// Events that are read and acknowledged together.
const BATCH: i64 = 500;
/// A round ends after this time, so that the other tenants get theirs.
const ROUND: Duration = Duration::from_secs(20);
/// Longest time for the acknowledgement of a batch; well below the lease.
const ACKNOWLEDGEMENT: Duration = Duration::from_secs(20);
/// Longest time between two attempts, in seconds.
const LONGEST_PAUSE: i64 = 60;

#[derive(Default)]
struct Bridge {
    rounds: Arc<TenantRounds>,
}

/// Begins to send for all tenants.
pub fn start(node: &Arc<Node>, options: Options) {
    let sender = Arc::new(Sender::new(options));
    let node_id = Uuid::new_v4();
    node.state.of::<Bridge>().rounds.start(node, move |tenant| {
        let sender = Arc::clone(&sender);
        async move {
            match send_due(&tenant, &sender, node_id).await {
                Ok(true) => PAUSE,
                Ok(false) => PAUSE_WITHOUT_EVENTS,
                Err(failure) => {
                    tracing::warn!(tenant = tenant.id, "events for Kafka cannot be read: {failure}");
                    PAUSE_WITHOUT_EVENTS
                }
            }
        }
    });
}

/// Stops; events that were not acknowledged yet are sent again by another node.
pub fn stop(node: &Arc<Node>) {
    node.state.of::<Bridge>().rounds.stop();
}

/// Sends what is due; gives whether there was something.
async fn send_due(tenant: &Tenant, sender: &Sender, node: Uuid) -> Result<bool, Failure> {
    let settled = follow::settled(tenant).await?;
    let Some(taken) = reader::take(tenant, READER, node, settled, Timestamp::now()).await? else {
        return Ok(false);
    };
    let topics = topics::sent();
    let mut position = taken.position;
    let begun = Instant::now();
    loop {
        let batch = follow::read(&tenant.writer().await?, &topics, position, settled, BATCH).await?;
        let messages = messages(tenant, &batch.events).await?;
        let sent = tokio::time::timeout(ACKNOWLEDGEMENT, sender.send(&tenant.id, messages)).await;
        match sent.unwrap_or_else(|_| Err("the brokers did not acknowledge the events in time".into())) {
            Ok(refused) => warn_of(tenant, &refused),
            Err(error) => {
                tracing::warn!(tenant = tenant.id, "events wait for Kafka: {error}");
                sender.disconnect().await;
                let failed = failed(taken.attempts, error, Timestamp::now());
                reader::release(tenant, READER, node, position, Some(&failed)).await?;
                return Ok(true);
            }
        }
        position = batch.position;
        if !batch.is_full || begun.elapsed() > ROUND {
            reader::release(tenant, READER, node, position, None).await?;
            return Ok(true);
        }
        if !reader::renew(tenant, READER, node, position, Timestamp::now()).await? {
            return Ok(true);
        }
    }
}

async fn messages(tenant: &Tenant, events: &[StoredEvent]) -> Result<Vec<Message>, Failure> {
    let mut holdings: Vec<Uuid> = events.iter().flat_map(message::holdings).collect();
    holdings.sort_unstable();
    holdings.dedup();
    let instances = match holdings.is_empty() {
        true => Instances::new(),
        false => instances(&tenant.writer().await?, holdings).await?,
    };
    Ok(events.iter().map(|event| message::message(&tenant.id, event, &instances)).collect())
}

/// Instances of the holdings that still exist.
async fn instances(connection: &Connection, holdings: Vec<Uuid>) -> Result<Instances, Failure> {
    let rows = connection
        .query(
            "SELECT id, instance_id FROM holdings_record WHERE id = ANY ($1) AND instance_id IS NOT NULL",
            vec![holdings.into()],
        )
        .await?;
    Ok(rows.iter().map(|row| (row.get("id"), row.get("instance_id"))).collect())
}

fn warn_of(tenant: &Tenant, refused: &[Refused]) {
    for Refused { number, topic, key, error } in refused {
        tracing::error!(
            tenant = tenant.id,
            number,
            topic,
            key,
            "an event is not in Kafka, as the brokers refuse it: {error}"
        );
    }
}

fn failed(before: i32, error: String, now: Timestamp) -> Attempt {
    let number = before.saturating_add(1);
    Attempt { number, error, next: now + reader::pause(number, LONGEST_PAUSE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_after_failures_grow_up_to_a_minute() {
        let now = Timestamp::UNIX_EPOCH;
        let pauses: Vec<i64> =
            [0, 1, 5, 6, i32::MAX].map(|before| failed(before, String::new(), now).next.as_second()).to_vec();
        assert_eq!(pauses, [1, 2, 32, 60, 60]);
    }
}
