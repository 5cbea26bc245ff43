//! The figures of a phase: response times in a histogram, number and texts of failures, and the duration. Percentiles
//! are over raw samples, never averages of percentiles.

use crate::processor_time::ProcessorTime;
use hdrhistogram::Histogram;
use std::time::Duration;

/// An hour: refreshing a large list takes minutes. Later answers are recorded as an hour.
const LONGEST: u64 = 3_600_000_000;
/// Different texts of failures that are kept; enough to see the cause.
const FAILURES_SHOWN: usize = 3;

/// The samples of one phase or of several phases of the same kind.
#[derive(Debug, Clone)]
pub struct Samples {
    /// From the scheduled arrival to the last byte of the answer, in microseconds; successes only.
    answers: Histogram<u64>,
    /// From the scheduled arrival to the start of the call, in microseconds.
    waits: Histogram<u64>,
    elapsed: Duration,
    failures: u64,
    failure_texts: Vec<String>,
    processor_time: ProcessorTime,
    wal_bytes: u64,
}

impl Default for Samples {
    fn default() -> Self {
        let empty = || Histogram::new_with_bounds(1, LONGEST, 3).expect("the bounds are constants in range");
        Samples {
            answers: empty(),
            waits: empty(),
            elapsed: Duration::ZERO,
            failures: 0,
            failure_texts: Vec::new(),
            processor_time: ProcessorTime::default(),
            wal_bytes: 0,
        }
    }
}

impl Samples {
    /// Counts a success that took `answer`, of which `wait` passed before a worker was free.
    pub fn succeeded(&mut self, answer: Duration, wait: Duration) {
        self.answers.saturating_record(micros(answer));
        self.waits.saturating_record(micros(wait));
    }

    /// Counts a failure. Its time is left out, since quick refusals would lower the percentiles.
    pub fn failed(&mut self, text: String) {
        self.failures += 1;
        if self.failure_texts.len() < FAILURES_SHOWN && !self.failure_texts.contains(&text) {
            self.failure_texts.push(text);
        }
    }

    /// Adds the duration of a phase; the durations of phases of one kind are summed.
    pub fn lasted(&mut self, elapsed: Duration) {
        self.elapsed += elapsed;
    }

    /// Adds the samples of another worker or of another phase of the same kind.
    pub fn merge(&mut self, other: Samples) {
        self.answers.add(&other.answers).expect("both histograms have the same bounds");
        self.waits.add(&other.waits).expect("both histograms have the same bounds");
        self.elapsed += other.elapsed;
        self.processor_time.add(&other.processor_time);
        self.wal_bytes += other.wal_bytes;
        self.failures += other.failures;
        for text in other.failure_texts {
            if self.failure_texts.len() < FAILURES_SHOWN && !self.failure_texts.contains(&text) {
                self.failure_texts.push(text);
            }
        }
    }

    /// Adds a phase's processor time of all processes, and its bytes of write-ahead log.
    pub fn cost(&mut self, processor_time: ProcessorTime, wal_bytes: u64) {
        self.processor_time.add(&processor_time);
        self.wal_bytes += wal_bytes;
    }

    /// Processor time of a success, in microseconds: of the generator, the server and the database. The time of
    /// failures is included.
    pub fn cpu_us(&self) -> [f64; 3] {
        let time = &self.processor_time;
        [time.generator, time.server, time.database]
            .map(|part| part.as_secs_f64() * 1e6 / self.count().max(1) as f64)
    }

    /// Processor time of a success in all processes, in microseconds; nothing where it was not measured.
    pub fn total_cpu_us(&self) -> Option<f64> {
        let total = self.processor_time.total();
        (!total.is_zero() && self.count() > 0).then(|| total.as_secs_f64() * 1e6 / self.count() as f64)
    }

    /// Bytes of write-ahead log per success, including those that autovacuum and checkpoints wrote meanwhile.
    pub fn wal_bytes_each(&self) -> f64 {
        self.wal_bytes as f64 / self.count().max(1) as f64
    }

    /// Successes.
    pub fn count(&self) -> u64 {
        self.answers.len()
    }

    /// Failures.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Up to three different texts of failures.
    pub fn failure_texts(&self) -> &[String] {
        &self.failure_texts
    }

    /// Successes per second over the time of the phases.
    pub fn per_second(&self) -> f64 {
        if self.elapsed.is_zero() { 0.0 } else { self.count() as f64 / self.elapsed.as_secs_f64() }
    }

    /// The time within which `percent` of the calls were answered, in milliseconds.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        self.answers.value_at_quantile(percent / 100.0) as f64 / 1000.0
    }

    /// The mean time of an answer, in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        self.answers.mean() / 1000.0
    }

    /// The longest time of an answer, in milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.answers.max() as f64 / 1000.0
    }

    /// The time within which a worker took up `percent` of the arrivals, in milliseconds.
    pub fn wait_percentile_ms(&self, percent: f64) -> f64 {
        self.waits.value_at_quantile(percent / 100.0) as f64 / 1000.0
    }
}

/// `ours` as a multiple of `floor`, or nothing where there is no floor to compare with.
pub fn ratio(ours: f64, floor: f64) -> Option<f64> {
    (floor > 0.0).then(|| ours / floor)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(LONGEST).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(millis: impl IntoIterator<Item = u64>) -> Samples {
        let mut samples = Samples::default();
        for ms in millis {
            samples.succeeded(Duration::from_millis(ms), Duration::ZERO);
        }
        samples
    }

    fn assert_close(seen: f64, expected: f64) {
        assert!((seen - expected).abs() <= expected * 0.002, "{seen} is not {expected}");
    }

    #[test]
    fn percentiles_are_those_of_the_raw_samples() {
        let hundred = samples(1..=100);
        assert_close(hundred.percentile_ms(50.0), 50.0);
        assert_close(hundred.percentile_ms(95.0), 95.0);
        assert_close(hundred.max_ms(), 100.0);
        assert_close(hundred.mean_ms(), 50.5);
    }

    #[test]
    fn merged_phases_have_the_percentiles_of_all_samples_together() {
        let mut both = samples(1..=50);
        both.merge(samples(51..=100));
        assert_eq!(both.count(), 100);
        assert_close(both.percentile_ms(95.0), 95.0);
    }

    #[test]
    fn throughput_counts_successes_over_the_sum_of_the_phases() {
        let mut first = samples(vec![1; 30]);
        first.lasted(Duration::from_secs(1));
        let mut second = samples(vec![1; 10]);
        second.lasted(Duration::from_secs(1));
        second.failed("422".into());
        first.merge(second);
        assert_close(first.per_second(), 20.0);
        assert_eq!(first.failures(), 1);
    }

    #[test]
    fn equal_failures_are_shown_once() {
        let mut samples = Samples::default();
        for _ in 0..5 {
            samples.failed("the same".into());
        }
        assert_eq!((samples.failures(), samples.failure_texts().len()), (5, 1));
    }

    #[test]
    fn a_ratio_needs_a_floor() {
        assert_eq!(ratio(3.0, 2.0), Some(1.5));
        assert_eq!(ratio(3.0, 0.0), None);
    }
}
