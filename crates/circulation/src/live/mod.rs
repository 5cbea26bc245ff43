//! Live figures of circulation for dashboards, pushed to browsers.
//!
//! Route: `GET /circulation/live`, as server-sent events if the client accepts them, otherwise once as JSON. Reads
//! loans and their history, check-ins and requests; changes nothing. While a tenant has viewers on a node, one task
//! queries the database for all of them: every two seconds whether an event was stored, and if so the figures.

mod figures;

use carrel_platform::http::event_stream;
use carrel_platform::{Answer, Call, Router, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Viewers of a tenant on this node, at most.
const MAX_VIEWERS: usize = 64;
/// The interval of checks of the outbox.
const INTERVAL: Duration = Duration::from_secs(2);
/// Figures that change with time alone, such as overdue loans, are at most this old.
const MAX_AGE: Duration = Duration::from_secs(60);

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/live", show);
}

async fn show(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let accepts_events = call.header("accept").is_some_and(|accepted| accepted.contains("text/event-stream"));
    if !accepts_events {
        return Ok(Answer::json(&figures::load(tenant, call.now).await?));
    }
    let (values, viewer) = tenant.state.of::<Viewers>().watch(tenant)?;
    Ok(event_stream(&call.node, "figures", values, viewer))
}

/// The viewers of a tenant on this node.
struct Viewers {
    places: Arc<Semaphore>,
    /// The newest figures as JSON, empty before the first; present while the task runs.
    figures: Mutex<Option<watch::Sender<Arc<str>>>>,
}

impl Default for Viewers {
    fn default() -> Viewers {
        Viewers { places: Arc::new(Semaphore::new(MAX_VIEWERS)), figures: Mutex::default() }
    }
}

impl Viewers {
    /// Adds a viewer; the first one starts the task.
    fn watch(
        self: Arc<Self>,
        tenant: &Arc<Tenant>,
    ) -> Result<(watch::Receiver<Arc<str>>, OwnedSemaphorePermit), Failure> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| Failure::TooMany("The live figures have too many viewers".into()))?;
        let mut figures = self.figures.lock().expect("no holder of this lock panics");
        if let Some(sender) = figures.as_ref() {
            return Ok((sender.subscribe(), place));
        }
        let (sender, receiver) = watch::channel(Arc::from(""));
        *figures = Some(sender);
        tokio::spawn(Arc::clone(&self).follow(Arc::clone(tenant)));
        Ok((receiver, place))
    }

    /// Updates the figures until there are no viewers.
    async fn follow(self: Arc<Self>, tenant: Arc<Tenant>) {
        let mut known = None;
        while self.is_watched() {
            let now = Timestamp::now();
            match renewed(&tenant, known, now).await {
                Ok(Some((position, text))) => {
                    known = Some((position, now));
                    let figures = self.figures.lock().expect("no holder of this lock panics");
                    if let Some(sender) = figures.as_ref() {
                        sender.send_replace(text);
                    }
                }
                Ok(None) => {}
                // The next attempt follows soon; viewers keep the last figures.
                Err(failure) => {
                    tracing::debug!(tenant = tenant.id, "the live figures could not be read: {failure:?}")
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Ends the task, under the lock, if the last viewer has disconnected.
    fn is_watched(&self) -> bool {
        let mut figures = self.figures.lock().expect("no holder of this lock panics");
        if figures.as_ref().is_some_and(|sender| sender.receiver_count() > 0) {
            return true;
        }
        *figures = None;
        false
    }
}

/// The end of the outbox and the figures, if an event was stored since they were read or they are too old.
async fn renewed(
    tenant: &Tenant,
    known: Option<(i64, Timestamp)>,
    now: Timestamp,
) -> Result<Option<(i64, Arc<str>)>, Failure> {
    let position = figures::outbox_end(tenant).await?;
    let is_fresh =
        known.is_some_and(|(at, read)| at == position && now.duration_since(read).unsigned_abs() < MAX_AGE);
    if is_fresh {
        return Ok(None);
    }
    let figures = figures::load(tenant, now).await?;
    Ok(Some((position, Arc::from(figures.to_string()))))
}
