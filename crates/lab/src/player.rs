//! The load generator: workers that process arrivals.
//!
//! Paced: arrivals follow a schedule and do not wait for slow answers; if every worker is busy they queue, and
//! a latency is measured from the scheduled arrival, so a stalled server cannot hide the calls that wait
//! meanwhile. Saturated: every worker takes the next one as soon as it is free, which gives the throughput.

use crate::error::{LabError, Result};
use crate::samples::Samples;
use crate::schedule::Schedule;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Performs one action after another on a separate connection.
pub trait Worker: Send + 'static {
    /// Carries out the action for the given turn, counted from 0 over all workers; the text says why it failed.
    fn act(&mut self, turn: u64) -> impl Future<Output = std::result::Result<(), String>> + Send;
}

/// When the actions of a phase begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tempo {
    /// Every worker takes the next action as soon as it is free, for this long.
    Saturated(Duration),
    /// Arrivals follow a schedule.
    Paced {
        /// Arrivals per second.
        rate: f64,
        /// Duration of the arrivals.
        length: Duration,
    },
}

impl Tempo {
    /// The same with another length.
    pub fn lasting(self, length: Duration) -> Tempo {
        match self {
            Tempo::Saturated(_) => Tempo::Saturated(length),
            Tempo::Paced { rate, .. } => Tempo::Paced { rate, length },
        }
    }

    /// The time during which actions begin.
    pub fn length(self) -> Duration {
        match self {
            Tempo::Saturated(length) | Tempo::Paced { length, .. } => length,
        }
    }
}

/// Plays a phase of at most `most` actions.
pub async fn play<D: Worker>(workers: Vec<D>, tempo: Tempo, most: u64) -> Result<(Vec<D>, Samples)> {
    match tempo {
        Tempo::Saturated(length) => play_saturated(workers, length, most).await,
        Tempo::Paced { .. } if most == 0 => Ok((workers, Samples::default())),
        Tempo::Paced { rate, length } => {
            let mut schedule = Schedule::new(rate, length);
            schedule.arrivals = schedule.arrivals.min(most);
            play_paced(workers, schedule).await
        }
    }
}

/// Plays the schedule; at most as many actions are under way as there are workers.
async fn play_paced<D: Worker>(workers: Vec<D>, schedule: Schedule) -> Result<(Vec<D>, Samples)> {
    let permits = Arc::new(Semaphore::new(0));
    let next = Arc::new(AtomicU64::new(0));
    schedule.release(permits.clone());
    let work = workers.into_iter().map(|mut worker| {
        let (permits, next) = (permits.clone(), next.clone());
        tokio::spawn(async move {
            let mut samples = Samples::default();
            while let Ok(permit) = permits.acquire().await {
                permit.forget();
                let turn = next.fetch_add(1, Ordering::Relaxed);
                if turn + 1 >= schedule.arrivals {
                    // No arrival is left: waiting workers end.
                    permits.close();
                }
                if turn >= schedule.arrivals {
                    break;
                }
                let due = schedule.due(turn);
                let wait = due.elapsed();
                match worker.act(turn).await {
                    Ok(()) => samples.succeeded(due.elapsed(), wait),
                    Err(text) => samples.failed(text),
                }
            }
            (worker, samples)
        })
    });
    gather(work.collect(), schedule.start).await
}

/// Keeps every worker busy for `length` or until `most` actions have begun.
pub async fn play_saturated<D: Worker>(
    workers: Vec<D>,
    length: Duration,
    most: u64,
) -> Result<(Vec<D>, Samples)> {
    let start = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let work = workers.into_iter().map(|mut worker| {
        let next = next.clone();
        tokio::spawn(async move {
            let mut samples = Samples::default();
            while start.elapsed() < length {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                if turn >= most {
                    break;
                }
                let begun = Instant::now();
                match worker.act(turn).await {
                    Ok(()) => samples.succeeded(begun.elapsed(), Duration::ZERO),
                    Err(text) => samples.failed(text),
                }
            }
            (worker, samples)
        })
    });
    gather(work.collect(), start).await
}

async fn gather<D>(
    work: Vec<tokio::task::JoinHandle<(D, Samples)>>,
    start: Instant,
) -> Result<(Vec<D>, Samples)> {
    let mut workers = Vec::with_capacity(work.len());
    let mut all = Samples::default();
    for task in work {
        let (worker, samples) =
            task.await.map_err(|error| LabError::new(format!("a worker panicked: {error}")))?;
        workers.push(worker);
        all.merge(samples);
    }
    all.lasted(start.elapsed());
    Ok((workers, all))
}

/// Runs `work` on a thread and a single-threaded runtime of its own. The generator shares its cores with the
/// server and the database: one thread has no wake-ups across cores and leaves the other core to them.
pub async fn on_own_thread<F, Fut, T>(work: F) -> Result<T>
where
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output = Result<T>>,
    T: Send + 'static,
{
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("lab".into())
        .spawn(move || {
            let outcome = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(work()),
                Err(error) => Err(LabError::new(format!("starting the lab's runtime: {error}"))),
            };
            let _ = send.send(outcome);
        })
        .map_err(|error| LabError::new(format!("starting the lab's thread: {error}")))?;
    receive.await.map_err(|_| LabError::new("the lab's thread panicked"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SlowWorker(Duration);

    impl Worker for SlowWorker {
        async fn act(&mut self, turn: u64) -> std::result::Result<(), String> {
            tokio::time::sleep(self.0).await;
            if turn == 3 { Err("the fourth always fails".into()) } else { Ok(()) }
        }
    }

    fn workers(number: usize, answer_ms: u64) -> Vec<SlowWorker> {
        (0..number).map(|_| SlowWorker(Duration::from_millis(answer_ms))).collect()
    }

    #[tokio::test]
    async fn the_schedule_keeps_its_rate_when_answers_are_slow_and_the_queue_is_counted() {
        // 30 arrivals in 0.3 s, but two workers of 50 ms serve only 40 a second: the last one, due after
        // 0.29 s, is answered after some 0.75 s and has waited for most of that.
        let schedule = Schedule::new(100.0, Duration::from_millis(300));
        let (workers, samples) = play_paced(workers(2, 50), schedule).await.unwrap();
        assert_eq!(workers.len(), 2);
        assert_eq!((samples.count(), samples.failures()), (29, 1));
        assert!(samples.max_ms() > 400.0, "queueing is part of the latency: {}", samples.max_ms());
        assert!(samples.wait_percentile_ms(95.0) > 300.0);
        assert!(samples.percentile_ms(50.0) > 150.0, "not only the last one waited");
    }

    #[tokio::test]
    async fn arrivals_that_are_served_at_once_do_not_queue() {
        let schedule = Schedule::new(100.0, Duration::from_millis(300));
        let (_, samples) = play_paced(workers(8, 2), schedule).await.unwrap();
        assert_eq!(samples.count() + samples.failures(), 30);
        // Never faster than the schedule; how much slower depends on the test machine.
        assert!((10.0..=110.0).contains(&samples.per_second()), "{}", samples.per_second());
    }

    #[tokio::test]
    async fn more_desks_than_arrivals_all_come_home() {
        let schedule = Schedule::new(100.0, Duration::from_millis(20));
        let (workers, samples) = play_paced(workers(20, 1), schedule).await.unwrap();
        assert_eq!((workers.len(), samples.count()), (20, 2));
    }

    #[tokio::test]
    async fn saturation_keeps_all_desks_busy_and_stops_in_time() {
        let begun = Instant::now();
        let (_, samples) =
            play_saturated(workers(4, 10), Duration::from_millis(200), u64::MAX).await.unwrap();
        assert!(samples.count() >= 20, "{}", samples.count());
        assert!(begun.elapsed() < Duration::from_millis(600));
    }

    #[tokio::test]
    async fn saturation_stops_when_the_stock_is_used_up() {
        let (_, samples) = play_saturated(workers(4, 1), Duration::from_secs(5), 12).await.unwrap();
        assert_eq!(samples.count() + samples.failures(), 12);
    }
}
