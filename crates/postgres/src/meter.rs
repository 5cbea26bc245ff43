//! The cost of a request: database round trips, database time, and time in which its future was polled.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

tokio::task_local! {
    static METER: Arc<Meter>;
}

/// Counts for one request.
#[derive(Debug, Default)]
pub struct Meter {
    pub pipelines: AtomicU64,
    /// Nanoseconds between sending pipelines and receiving their results.
    pub database: AtomicU64,
    /// Nanoseconds in which the request's future was polled.
    pub busy: AtomicU64,
}

/// Counts one round trip for the current request, if there is one.
pub(crate) fn count_round_trip(time: Duration) {
    let _ = METER.try_with(|meter| {
        meter.pipelines.fetch_add(1, Relaxed);
        meter.database.fetch_add(time.as_nanos() as u64, Relaxed);
    });
}

/// Adds to the current request its part of the cost of a batch of this many requests: all round trips, and an equal
/// share of the time.
pub fn charge(cost: &Meter, batch: usize) {
    let _ = METER.try_with(|meter| {
        meter.pipelines.fetch_add(cost.pipelines.load(Relaxed), Relaxed);
        meter.database.fetch_add(cost.database.load(Relaxed), Relaxed);
        meter.busy.fetch_add(cost.busy.load(Relaxed) / batch as u64, Relaxed);
    });
}

/// Runs the future of a request with a meter.
pub async fn metered<F: Future>(meter: Arc<Meter>, work: F) -> F::Output {
    let timed = Timed { work: Box::pin(work), meter: Arc::clone(&meter) };
    METER.scope(meter, timed).await
}

/// Starts work that continues after a request's answer and is counted for the request.
pub fn spawn_metered(work: impl Future<Output = ()> + Send + 'static) {
    match METER.try_with(Arc::clone) {
        Ok(meter) => tokio::spawn(metered(meter, work)),
        Err(_) => tokio::spawn(work),
    };
}

struct Timed<F> {
    work: Pin<Box<F>>,
    meter: Arc<Meter>,
}

impl<F: Future> Future for Timed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let started = Instant::now();
        let polled = self.work.as_mut().poll(context);
        self.meter.busy.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        polled
    }
}
