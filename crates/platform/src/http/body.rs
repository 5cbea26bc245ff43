//! Bounds on request bodies: their size by route, the memory of all bodies together, and the speed at which they
//! arrive.

use crate::http::lenient_target::exchange;
use crate::node::ServerOptions;
use crate::surface::Route;
use carrel_records::Failure;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a body on a route without token, which has a username and a password.
const OPEN_ROUTE_BYTES: usize = 8 * 1024;
/// Bytes of a body of a desk action.
const DESK_ACTION_BYTES: usize = 64 * 1024;
/// Bytes of a body of a record.
const RECORD_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a profile picture.
const PICTURE_BYTES: usize = 12 * 1024 * 1024;

/// Smaller bodies are not counted: the bound on connections bounds them.
const UNCOUNTED_BYTES: usize = DESK_ACTION_BYTES;
/// The unit in which memory is counted.
const UNIT_BYTES: usize = 1024;
/// The time for which a body waits for memory.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(10);

/// A body is abandoned if no bytes arrive for this time.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes per second that must arrive on average, checked after [`SILENCE_TIMEOUT`].
const MIN_BYTES_PER_SECOND: u64 = 4 * 1024;

/// Bytes of a rejected body that are read so that the client can read the answer.
const DISCARDED_BYTES: usize = 1024 * 1024;
/// The longest time for reading them.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// Paths with bodies of many records.
const BATCHES: &[&str] = &[
    "batch",
    "/bulk",
    "-bulk/",
    "/_/proxy/import/",
    "/retrieve",
    "/upload",
    "/inventory/items/move",
    "/inventory/holdings/move",
    "/source-storage/",
    "/data-import/",
    "/perms/users",
];

/// The largest body of a route, in bytes.
pub(super) fn max_bytes(route: &Route, is_open: bool, options: &ServerOptions) -> usize {
    let path = route.path.as_str();
    let by_route = if is_open {
        OPEN_ROUTE_BYTES
    } else if BATCHES.iter().any(|part| path.contains(part)) {
        usize::MAX
    } else if path.contains("profile-picture") {
        PICTURE_BYTES
    } else if path.starts_with("/circulation/") && path.ends_with("-by-barcode") {
        DESK_ACTION_BYTES
    } else {
        RECORD_BYTES
    };
    by_route.min(options.largest_body)
}

/// The memory that all request bodies may use together.
#[derive(Debug, Clone)]
pub(super) struct BodyMemory(Arc<Semaphore>);

/// A body and its reserved memory; dropping it releases both.
#[derive(Debug)]
pub(super) struct CountedBody {
    pub bytes: Vec<u8>,
    pub memory: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    pub fn new(bytes: usize) -> BodyMemory {
        BodyMemory(Arc::new(Semaphore::new((bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS))))
    }

    /// Waits for this amount of memory.
    async fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Failure> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).map_err(|_| exhausted())?;
        tokio::time::timeout(MEMORY_TIMEOUT, Arc::clone(&self.0).acquire_many_owned(units))
            .await
            .map_err(|_| exhausted())?
            .map_err(|_| exhausted())
    }

    /// Reserves this amount of memory if it is free now.
    fn reserve_now(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Failure> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).map_err(|_| exhausted())?;
        Arc::clone(&self.0).try_acquire_many_owned(units).map_err(|_| exhausted())
    }
}

fn exhausted() -> Failure {
    Failure::Unavailable(
        "The server is reading as many large bodies as it has memory for. Try again in a moment.".into(),
    )
}

/// Reads a body of at most `max` bytes.
pub(super) async fn read(
    mut body: Incoming,
    max: usize,
    memory: &BodyMemory,
) -> Result<CountedBody, Failure> {
    let announced = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced.is_some_and(|length| length > max) {
        discard(body).await;
        return Err(too_large(max));
    }
    // The announced length is reserved as a whole, so that two half-read bodies cannot wait for each other.
    let mut reserved = match announced {
        Some(length) if length > UNCOUNTED_BYTES => Some(memory.reserve(length).await?),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(announced.unwrap_or(0).min(UNCOUNTED_BYTES));
    let started = Instant::now();
    while let Some(frame) =
        tokio::time::timeout(SILENCE_TIMEOUT, body.frame()).await.map_err(|_| too_slow())?
    {
        let frame =
            frame.map_err(|error| Failure::Invalid(format!("The body could not be read: {error}")))?;
        let data = frame.into_data().unwrap_or_default();
        let length = bytes.len() + data.len();
        if length > max {
            drop(bytes);
            discard(body).await;
            return Err(too_large(max));
        }
        if announced.is_none() {
            reserve_up_to(length, &mut reserved, memory)?;
        }
        bytes.extend_from_slice(&data);
        let elapsed = started.elapsed();
        if elapsed > SILENCE_TIMEOUT && (bytes.len() as u64) < MIN_BYTES_PER_SECOND * elapsed.as_secs() {
            return Err(too_slow());
        }
    }
    exchange(&mut bytes);
    Ok(CountedBody { bytes, memory: reserved })
}

/// Extends the reservation for a body of unknown length that has grown to this size.
fn reserve_up_to(
    length: usize,
    reserved: &mut Option<OwnedSemaphorePermit>,
    memory: &BodyMemory,
) -> Result<(), Failure> {
    let held = reserved.as_ref().map_or(UNCOUNTED_BYTES, |held| held.num_permits() * UNIT_BYTES);
    if length <= held {
        return Ok(());
    }
    // Doubles the reservation, as the buffer doubles its capacity.
    let more = memory.reserve_now(held.max(length - held))?;
    match reserved {
        Some(held) => held.merge(more),
        None => *reserved = Some(more),
    }
    Ok(())
}

fn too_large(max: usize) -> Failure {
    Failure::TooLarge(format!("The body is larger than the {max} bytes that this route takes"))
}

fn too_slow() -> Failure {
    Failure::Invalid(format!(
        "The body came too slowly: nothing in {SILENCE_TIMEOUT:?}, or less than {MIN_BYTES_PER_SECOND} bytes a second"
    ))
}

/// Reads a part of an unwanted body: a client that is still sending when the connection closes does not see the answer.
async fn discard(mut body: Incoming) {
    let mut length = 0;
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            length += frame.data_ref().map_or(0, |data| data.len());
            if length > DISCARDED_BYTES {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIMEOUT, reading).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::ROUTES;

    fn limit(method: &str, path: &str) -> usize {
        let route = ROUTES.iter().find(|route| route.method == method && route.path == path);
        let route = route.unwrap_or_else(|| panic!("no route {method} {path}"));
        max_bytes(route, path == "/authn/login", &ServerOptions::default())
    }

    #[test]
    fn open_routes_take_a_few_kilobytes_records_some_megabytes_and_batches_the_configured_size() {
        assert_eq!(limit("POST", "/authn/login"), 8 * 1024);
        assert_eq!(limit("POST", "/circulation/check-out-by-barcode"), 64 * 1024);
        assert_eq!(limit("POST", "/users"), 4 * 1024 * 1024);
        assert_eq!(limit("POST", "/item-storage/batch/synchronous"), 64 * 1024 * 1024);
        assert_eq!(limit("POST", "/accounts-bulk/pay"), 64 * 1024 * 1024);
    }

    #[tokio::test]
    async fn memory_is_given_up_to_its_bound_and_is_free_again_at_once() {
        let memory = BodyMemory::new(100 * 1024);
        let first = memory.reserve(60 * 1024).await.expect("free");
        assert!(matches!(memory.reserve_now(60 * 1024), Err(Failure::Unavailable(_))));
        drop(first);
        let _all = memory.reserve_now(100 * 1024).expect("free again");
    }
}
