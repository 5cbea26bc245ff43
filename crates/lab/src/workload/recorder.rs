//! Records the results of a level's users: times by transaction and by call, errors by kind, both over time, and the
//! delay of the generator itself.

use crate::client::Failed;
use crate::live::LiveSecond;
use crate::samples::Samples;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Points of a graph over time, at most.
const MOST_SLICES: f64 = 120.0;
/// Two digits are enough for a graph.
const DIGITS: u8 = 2;
const LONGEST: u64 = 600_000_000;

/// Figures of a transaction or call.
#[derive(Debug, Clone, Default)]
pub struct Track {
    /// Times of the successes.
    pub samples: Samples,
    /// Number and first text of each kind of error.
    pub errors: BTreeMap<String, (u64, String)>,
    /// Successes and failures by slice of time.
    pub slices: Vec<Slice>,
}

/// A time slice of a level.
#[derive(Debug, Clone)]
pub struct Slice {
    /// Times of the turns that ended in it.
    pub times: Histogram<u64>,
    /// Turns that failed in it.
    pub failures: u64,
}

impl Default for Slice {
    fn default() -> Self {
        Slice { times: histogram(), failures: 0 }
    }
}

impl Track {
    /// Adds the figures of another run of the same level.
    pub fn merge(&mut self, other: Track) {
        self.samples.merge(other.samples);
        for (kind, (number, text)) in other.errors {
            self.errors.entry(kind).or_insert((0, text)).0 += number;
        }
        for (index, slice) in other.slices.into_iter().enumerate() {
            self.slices.resize_with(self.slices.len().max(index + 1), Slice::default);
            let _ = self.slices[index].times.add(&slice.times);
            self.slices[index].failures += slice.failures;
        }
    }
}

/// Records times and errors.
#[derive(Debug)]
pub struct Recorder {
    slice: Duration,
    state: Mutex<State>,
}

/// The recorded figures.
#[derive(Debug)]
pub struct State {
    /// When the level began.
    start: Instant,
    /// By transaction; with several tenants, also by transaction and tenant.
    pub transactions: BTreeMap<String, Track>,
    /// By method and address.
    pub calls: BTreeMap<String, Track>,
    /// Delays of turns that began later than planned although a user was free.
    pub lag: Histogram<u64>,
    /// Turns under way.
    pub under_way: u64,
    /// Figures since the last call of `look`.
    recent: Slice,
}

impl Recorder {
    /// A recorder of a level that begins now and has the given length.
    pub fn new(length: Duration) -> Recorder {
        let slice = Duration::from_secs_f64((length.as_secs_f64() / MOST_SLICES).max(0.25));
        let state = State {
            start: Instant::now(),
            transactions: BTreeMap::new(),
            calls: BTreeMap::new(),
            lag: histogram(),
            under_way: 0,
            recent: Slice::default(),
        };
        Recorder { slice, state: Mutex::new(state) }
    }

    /// The length of a slice of time.
    pub fn slice(&self) -> Duration {
        self.slice
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().expect("recording does not panic"))
    }

    /// Counts a turn that begins.
    pub fn began(&self) {
        self.with(|state| state.under_way += 1);
    }

    /// Records the delay of the generator for a turn.
    pub fn late(&self, lag: Duration) {
        self.with(|state| state.lag.saturating_record(micros(lag)));
    }

    /// Counts a turn that ended: `wait` is the part of `time` in which it waited for a free user.
    pub fn transaction(&self, names: &[&str], outcome: &Result<(), Failed>, time: Duration, wait: Duration) {
        self.with(|state| {
            let slice = (state.start.elapsed().as_secs_f64() / self.slice.as_secs_f64()) as usize;
            state.under_way = state.under_way.saturating_sub(1);
            count(&mut state.recent, outcome, time);
            for name in names {
                let track = record(&mut state.transactions, name, outcome, time, wait);
                track.slices.resize_with(track.slices.len().max(slice + 1), Slice::default);
                count(&mut track.slices[slice], outcome, time);
            }
        });
    }

    /// Counts a call.
    pub fn call(&self, name: &str, outcome: &Result<(), Failed>, time: Duration) {
        self.with(|state| {
            record(&mut state.calls, name, outcome, time, Duration::ZERO);
        });
    }

    /// Turns that ended since the last look, and turns under way.
    pub fn look(&self) -> LiveSecond {
        self.with(|state| {
            let recent = std::mem::take(&mut state.recent);
            let percentile = |share| recent.times.value_at_quantile(share) as f64 / 1e3;
            LiveSecond {
                good: recent.times.len(),
                failed: recent.failures,
                p50_ms: percentile(0.50),
                p95_ms: percentile(0.95),
                p99_ms: percentile(0.99),
                under_way: state.under_way,
                ..LiveSecond::default()
            }
        })
    }

    /// Returns the figures so far and starts again.
    pub fn take(&self) -> State {
        let fresh = Recorder::new(Duration::ZERO).state;
        let fresh = fresh.into_inner().expect("no holder of this lock panics");
        self.with(|state| std::mem::replace(state, fresh))
    }
}

fn record<'a>(
    all: &'a mut BTreeMap<String, Track>,
    name: &str,
    outcome: &Result<(), Failed>,
    time: Duration,
    wait: Duration,
) -> &'a mut Track {
    if !all.contains_key(name) {
        all.insert(name.to_string(), Track::default());
    }
    let track = all.get_mut(name).expect("it has just been inserted");
    match outcome {
        Ok(()) => track.samples.succeeded(time, wait),
        Err(failed) => {
            track.samples.failed(failed.text.clone());
            track.errors.entry(failed.kind.to_string()).or_insert((0, failed.text.clone())).0 += 1;
        }
    }
    track
}

fn count(slice: &mut Slice, outcome: &Result<(), Failed>, time: Duration) {
    match outcome {
        Ok(()) => slice.times.saturating_record(micros(time)),
        Err(_) => slice.failures += 1,
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the bounds are constants in range")
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(LONGEST).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ErrorKind;

    #[test]
    fn errors_are_counted_by_kind_with_the_first_text_of_each() {
        let recorder = Recorder::new(Duration::from_secs(1));
        for (status, text) in [(422, "first"), (422, "second"), (500, "third")] {
            let failed = Failed { kind: ErrorKind::Status(status), text: text.into() };
            recorder.transaction(&["t"], &Err(failed), Duration::ZERO, Duration::ZERO);
        }
        let track = &recorder.take().transactions["t"];
        assert_eq!(track.errors["HTTP 422"], (2, "first".into()));
        assert_eq!(track.errors["HTTP 500"], (1, "third".into()));
        assert_eq!(track.samples.failures(), 3);
    }
}
