//! The arrival schedule: when each action is due, regardless of how long earlier ones take.
//!
//! Arrivals are evenly spaced. A separate thread releases them, because the timers of the asynchronous
//! runtime have steps of a millisecond, longer than a whole scan takes.

use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// A number of arrivals at a fixed rate from a given moment on.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// Time of the first arrival.
    pub start: Instant,
    /// Arrivals per second, more than zero.
    pub rate: f64,
    /// Total number of arrivals.
    pub arrivals: u64,
}

impl Schedule {
    /// The arrivals at `rate` per second within `length`, at least one, starting shortly.
    pub fn new(rate: f64, length: Duration) -> Schedule {
        let arrivals = (rate * length.as_secs_f64()).round().max(1.0) as u64;
        Schedule { start: Instant::now() + Duration::from_millis(2), rate, arrivals }
    }

    /// The due time of the given arrival, counted from 0.
    pub fn due(&self, arrival: u64) -> Instant {
        self.start + Duration::from_secs_f64(arrival as f64 / self.rate)
    }

    /// The number of arrivals until `now`.
    fn arrived(&self, now: Instant) -> u64 {
        match now.checked_duration_since(self.start) {
            None => 0,
            Some(passed) => ((passed.as_secs_f64() * self.rate).floor() as u64 + 1).min(self.arrivals),
        }
    }

    /// Starts to release one permit per arrival when it is due, independent of everything but the clock.
    pub fn release(self, permits: Arc<Semaphore>) {
        std::thread::Builder::new()
            .name("lab-arrivals".into())
            .spawn(move || {
                sharpen_sleep();
                let mut released = 0;
                // The player closes the semaphore when it gives up early.
                while released < self.arrivals && !permits.is_closed() {
                    let arrived = self.arrived(Instant::now());
                    if arrived > released {
                        permits.add_permits((arrived - released) as usize);
                        released = arrived;
                    } else {
                        let due = self.due(released);
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    }
                }
            })
            .expect("the machine can start one more thread");
    }
}

/// Starts to call `act` at each due time until it returns false; `dues` are relative to `start`.
pub fn release_at(
    start: Instant,
    dues: impl Iterator<Item = Duration> + Send + 'static,
    mut act: impl FnMut(Instant) -> bool + Send + 'static,
) {
    std::thread::Builder::new()
        .name("lab-arrivals".into())
        .spawn(move || {
            sharpen_sleep();
            for due in dues.map(|due| start + due) {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                if !act(due) {
                    return;
                }
            }
        })
        .expect("the machine can start one more thread");
}

/// Asks the kernel to wake this thread within a microsecond instead of fifty. Failing is harmless: every arrival is
/// then late by as much, and the delay is measured.
fn sharpen_sleep() {
    if let Ok(link) = std::fs::read_link("/proc/thread-self")
        && let Some(thread) = link.file_name().and_then(|name| name.to_str())
    {
        let _ = std::fs::write(format!("/proc/{thread}/timerslack_ns"), "1000");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_evenly_spaced() {
        let schedule = Schedule::new(200.0, Duration::from_secs(1));
        assert_eq!(schedule.arrivals, 200);
        assert_eq!(schedule.due(0), schedule.start);
        assert_eq!(schedule.due(100) - schedule.start, Duration::from_millis(500));
    }

    #[test]
    fn as_many_have_arrived_as_are_due() {
        let schedule = Schedule::new(1000.0, Duration::from_secs(1));
        let after = |ms: u64| schedule.arrived(schedule.start + Duration::from_micros(ms * 1000 + 500));
        assert_eq!(after(0), 1);
        assert_eq!(after(9), 10);
        assert_eq!(after(5000), 1000, "at most as many as scheduled");
        assert_eq!(schedule.arrived(schedule.start - Duration::from_millis(1)), 0);
    }

    #[test]
    fn a_slow_rate_still_has_an_arrival() {
        assert_eq!(Schedule::new(0.1, Duration::from_secs(1)).arrivals, 1);
    }
}
