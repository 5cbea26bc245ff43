//! Delivery to subscribers: at least once, in the order of the outbox, each subscription independently.
//!
//! A node takes the subscriptions of a tenant that lag, under a lease that it renews with each position that it stores.
//! So one node serves a subscription, and if it dies, another one does when the lease ends; events since the last
//! stored position are delivered again. A subscriber that does not answer is called again at growing intervals, at most
//! five minutes, until its events are no longer in the outbox. An event that a subscriber refuses is sent five times,
//! then skipped. Desks only write to the outbox and are not delayed.

pub mod address;
mod callback;
mod store;
mod translate;

pub use address::Addresses;

use crate::history::{Message, State};
use callback::{Caller, Outcome};
use carrel_platform::outbox::follow::{self, StoredEvent};
use carrel_platform::outbox::reader;
use carrel_platform::tenant_rounds::TenantRounds;
use carrel_platform::{Node, Tenant};
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use store::{Progress, Subscription};
use tokio::task::JoinSet;
use uuid::Uuid;

/// Time between two rounds for a tenant with subscribers, and for one without.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_WITHOUT_SUBSCRIBERS: Duration = Duration::from_secs(60);
/// Events that are read at once for a subscription.
const BATCH: i64 = 100;
/// A position is stored after this many events, or after this time.
const EVENTS_PER_POSITION: usize = 50;
const TIME_PER_POSITION: Duration = Duration::from_secs(5);
/// A run for a subscription ends after this time, so that others are served.
const RUN: Duration = Duration::from_secs(20);
/// Attempts to deliver an event that the subscriber refuses.
const ATTEMPTS: i32 = 5;
/// Longest time between two attempts, in seconds.
const LONGEST_PAUSE: i64 = 300;
/// The interval of checks for a module without a configured address.
const WITHOUT_ADDRESS: SignedDuration = SignedDuration::from_mins(1);

/// The state of this node's deliveries.
#[derive(Default)]
struct Delivery {
    addresses: OnceLock<Addresses>,
    caller: Caller,
    rounds: Arc<TenantRounds>,
}

/// Sets the addresses of subscribing modules, once, before [`start`].
pub fn configure(node: &Arc<Node>, addresses: Addresses) {
    let _ = node.state.of::<Delivery>().addresses.set(addresses);
}

/// Starts to deliver for all tenants.
pub fn start(node: &Arc<Node>) {
    let delivery = node.state.of::<Delivery>();
    let node_id = Uuid::new_v4();
    Arc::clone(&delivery.rounds).start(node, move |tenant| {
        let delivery = Arc::clone(&delivery);
        async move {
            match deliver_due(&tenant, &delivery, node_id).await {
                Ok(true) => PAUSE,
                Ok(false) => PAUSE_WITHOUT_SUBSCRIBERS,
                Err(failure) => {
                    tracing::warn!(tenant = tenant.id, "events cannot be delivered: {failure}");
                    PAUSE
                }
            }
        }
    });
}

/// Stops; another node repeats the deliveries that are interrupted.
pub fn stop(node: &Arc<Node>) {
    node.state.of::<Delivery>().rounds.stop();
}

/// Checks the tenant now, because it has a new event or subscriber.
pub fn wake(node: &Arc<Node>, tenant: &str) {
    node.state.of::<Delivery>().rounds.wake(tenant);
}

/// Delivers due events to all subscribers of a tenant; returns whether it has any.
async fn deliver_due(tenant: &Arc<Tenant>, delivery: &Arc<Delivery>, node: Uuid) -> Result<bool, Failure> {
    if !store::has_subscribers(tenant).await? {
        return Ok(false);
    }
    let settled = follow::settled(tenant).await?;
    let taken = store::take(tenant, node, settled, Timestamp::now()).await?;
    // One task each, since a task must not hold more than one connection.
    let mut runs = JoinSet::new();
    for subscription in taken {
        let (tenant, delivery) = (Arc::clone(tenant), Arc::clone(delivery));
        runs.spawn(async move {
            let name = format!("{} for {}", subscription.event_type, subscription.module);
            if let Err(failure) = deliver(&tenant, subscription, settled, &delivery, node).await {
                // The lease expires, and the subscription is taken again.
                tracing::warn!(tenant = tenant.id, "events {name} are delivered later: {failure}");
            }
        });
    }
    while let Some(run) = runs.join_next().await {
        if let Err(error) = run {
            tracing::error!(tenant = tenant.id, "a delivery of events was aborted: {error}");
        }
    }
    Ok(true)
}

/// Delivers to one subscriber until it has received everything, does not answer, or the time of the run is over.
async fn deliver(
    tenant: &Tenant,
    mut subscription: Subscription,
    settled: i64,
    delivery: &Delivery,
    node: Uuid,
) -> Result<(), Failure> {
    let now = Timestamp::now();
    let base = delivery.addresses.get().and_then(|addresses| addresses.of(&subscription.module));
    let Some(base) = base else {
        let error = format!("no address is configured for {}", subscription.module);
        let progress = Progress {
            last_error: Some(error),
            next_attempt: Some(now + WITHOUT_ADDRESS),
            ends: true,
            ..Progress::default()
        };
        return store::store(tenant, node, &subscription, &progress, now).await.map(|_| ());
    };
    let url = format!("{base}{}", subscription.callback);
    let topics = translate::topics(&subscription.event_type);
    let begun = Instant::now();
    let mut progress = Progress::default();
    let mut stored = (Instant::now(), 0);
    while !progress.ends {
        let batch =
            follow::read(&tenant.writer().await?, &topics, subscription.position, settled, BATCH).await?;
        for event in &batch.events {
            progress.ends =
                !attempt(tenant, &mut subscription, event, &url, &delivery.caller, &mut progress).await;
            stored.1 += 1;
            let is_over = begun.elapsed() > RUN;
            if progress.ends
                || is_over
                || stored.1 >= EVENTS_PER_POSITION
                || stored.0.elapsed() > TIME_PER_POSITION
            {
                progress.ends |= is_over;
                if !store::store(tenant, node, &subscription, &progress, Timestamp::now()).await? {
                    return Ok(());
                }
                progress.messages.clear();
                stored = (Instant::now(), 0);
            }
            if progress.ends {
                return Ok(());
            }
        }
        subscription.position = batch.position;
        progress.ends = !batch.is_full;
    }
    store::store(tenant, node, &subscription, &progress, Timestamp::now()).await.map(|_| ())
}

/// One attempt to deliver an event; false if the subscriber must be called again later.
async fn attempt(
    tenant: &Tenant,
    subscription: &mut Subscription,
    event: &StoredEvent,
    url: &str,
    caller: &Caller,
    progress: &mut Progress,
) -> bool {
    let Some(body) = translate::body(&subscription.event_type, &event.topic, &event.payload) else {
        subscription.position = event.id;
        return true;
    };
    let message = message(tenant, &subscription.event_type, event);
    let (error, is_refused) = match caller.call(url, &tenant.id, message.event_id, body).await {
        Outcome::Delivered => {
            subscription.position = event.id;
            subscription.attempts = 0;
            (progress.last_error, progress.next_attempt) = (None, None);
            progress.messages.push((message, State::Delivered, None));
            return true;
        }
        Outcome::Refused(error) => (error, true),
        Outcome::Unavailable(error) => (error, false),
    };
    subscription.attempts = subscription.attempts.saturating_add(1);
    let is_given_up = is_refused && subscription.attempts >= ATTEMPTS;
    if subscription.attempts == 1 || is_given_up {
        progress.messages.push((message, State::Rejected, Some(error.clone())));
    }
    progress.last_error = Some(error);
    if is_given_up {
        subscription.position = event.id;
        subscription.attempts = 0;
        return true;
    }
    progress.next_attempt = Some(Timestamp::now() + reader::pause(subscription.attempts, LONGEST_PAUSE));
    false
}

/// The history's message for an event; one of the server itself gets an id that is the same in every attempt.
fn message(tenant: &Tenant, event_type: &str, event: &StoredEvent) -> Message {
    let published = event.topic.starts_with("pubsub.");
    let read = published.then(|| serde_json::from_str(&event.payload).ok()).flatten();
    if let Some(message) = read.and_then(|event| crate::publish::read(&event).ok()) {
        return message;
    }
    let name = format!("{}/{}/{event_type}", tenant.id, event.id);
    Message {
        event_id: Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()),
        event_type: event_type.to_owned(),
        correlation_id: None,
        created_by: None,
        published_by: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_five_minutes() {
        let seconds: Vec<i64> = [1, 2, 3, 9, 10, i32::MAX]
            .into_iter()
            .map(|n| reader::pause(n, LONGEST_PAUSE).as_secs())
            .collect();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }
}
