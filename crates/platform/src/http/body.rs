//! Request bodies: how large they may be by route, how much memory all of them may take, and how slowly they may come.

use crate::http::lenient_target::exchange;
use crate::node::ServerOptions;
use crate::surface::Route;
use carrel_records::Failure;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a body for a route that needs no token: a name and a password, and some more.
const OPEN_ROUTE_BYTES: usize = 8 * 1024;
/// Bytes of a body for a desk action.
const DESK_ACTION_BYTES: usize = 64 * 1024;
/// Bytes of a body for a record.
const RECORD_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a picture of a user.
const PICTURE_BYTES: usize = 12 * 1024 * 1024;

/// A body up to this size is not counted: the bound on connections bounds them.
const UNCOUNTED_BYTES: usize = DESK_ACTION_BYTES;
/// The unit in which memory is counted.
const UNIT_BYTES: usize = 1024;
/// The time for which a body waits for memory.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(10);

/// The time after which a body is given up of which nothing more comes.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes per second that must come on average, looked at after [`SILENCE_TIMEOUT`].
const MIN_BYTES_PER_SECOND: u64 = 4 * 1024;

/// Bytes of a rejected body that are read so that the client can read the answer.
const DISCARDED_BYTES: usize = 1024 * 1024;
/// The time for which they are read.
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

/// The memory that the bodies of all requests under way may take together.
#[derive(Debug, Clone)]
pub(super) struct BodyMemory(Arc<Semaphore>);

/// A body with the memory that is counted for it; both are free when it is dropped.
#[derive(Debug)]
pub(super) struct CountedBody {
    pub bytes: Vec<u8>,
    pub memory: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    pub fn new(bytes: usize) -> BodyMemory {
        BodyMemory(Arc::new(Semaphore::new((bytes / UNIT_BYTES).min(Semaphore::MAX_PERMITS))))
    }

    /// Waits for memory for so many bytes.
    async fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Failure> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).map_err(|_| exhausted())?;
        tokio::time::timeout(MEMORY_TIMEOUT, Arc::clone(&self.0).acquire_many_owned(units))
            .await
            .map_err(|_| exhausted())?
            .map_err(|_| exhausted())
    }

    /// Takes memory for so many bytes where it is free now.
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

/// Reads a body of at most so many bytes.
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
    // What is announced is reserved as a whole, so that bodies do not wait for each other's second halves.
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

/// Adds to what is reserved for a body of unknown length that has grown to so many bytes.
fn reserve_up_to(
    length: usize,
    reserved: &mut Option<OwnedSemaphorePermit>,
    memory: &BodyMemory,
) -> Result<(), Failure> {
    let held = reserved.as_ref().map_or(UNCOUNTED_BYTES, |held| held.num_permits() * UNIT_BYTES);
    if length <= held {
        return Ok(());
    }
    // As the buffer does, which doubles.
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

/// Reads a part of what nobody wants: a client that is still sending when the connection closes does not see the answer.
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
