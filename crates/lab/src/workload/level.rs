//! The figures of one number of users, over all its repeats.

use super::recorder::{State, Track};
use crate::observe::Observed;
use crate::samples::Samples;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a level measured.
#[derive(Debug, Clone, Default)]
pub struct LevelFigures {
    /// Number of users.
    pub users: usize,
    /// Length of all repeats together.
    pub elapsed: Duration,
    /// Length of a slice of time.
    pub slice: Duration,
    /// Planned arrivals per second after ramp-up, of an open load.
    pub planned_rate: Option<f64>,
    /// By transaction; with several tenants also by transaction and tenant.
    pub transactions: BTreeMap<String, Track>,
    /// By method and address.
    pub calls: BTreeMap<String, Track>,
    /// Median, 95th percentile and maximum of the generator's own lag, in milliseconds, of the worst repeat.
    pub lag_ms: [f64; 3],
    /// Average, median and 95th percentile of each transaction in each repeat, in milliseconds.
    pub repeats: BTreeMap<String, Vec<[f64; 3]>>,
    /// What went on beside, in the last repeat.
    pub observed: Observed,
    /// The floor before and after each repeat, saturated with as many connections.
    pub floor: Option<Samples>,
}

impl LevelFigures {
    /// Adds a repeat.
    pub fn add(&mut self, mut state: State, elapsed: Duration, observed: Observed) {
        self.elapsed += elapsed;
        self.observed = observed;
        let lag = [0.5, 0.95, 1.0].map(|share| state.lag.value_at_quantile(share) as f64 / 1e3);
        if !state.lag.is_empty() {
            self.lag_ms = [0, 1, 2].map(|index| self.lag_ms[index].max(lag[index]));
        }
        for (name, mut track) in std::mem::take(&mut state.transactions) {
            track.samples.lasted(elapsed);
            let samples = &track.samples;
            let figures = [samples.mean_ms(), samples.percentile_ms(50.0), samples.percentile_ms(95.0)];
            self.repeats.entry(name.clone()).or_default().push(figures);
            self.transactions.entry(name).or_default().merge(track);
        }
        for (name, track) in state.calls {
            self.calls.entry(name).or_default().merge(track);
        }
    }

    /// How far the repeats of a transaction's 95th percentile lie apart, in percent of their mean; nothing for one
    /// repeat.
    pub fn noise_percent(&self, transaction: &str) -> Option<f64> {
        let values: Vec<f64> = self.repeats.get(transaction)?.iter().map(|figures| figures[2]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        (values.len() > 1 && mean > 0.0).then(|| (most - least) / mean * 100.0)
    }

    /// Turns that succeeded, without counting a tenant's again.
    pub fn successes(&self) -> u64 {
        self.whole().map(|(_, track)| track.samples.count()).sum()
    }

    /// Turns that failed.
    pub fn failures(&self) -> u64 {
        self.whole().map(|(_, track)| track.samples.failures()).sum()
    }

    /// The transactions over all tenants.
    pub fn whole(&self) -> impl Iterator<Item = (&String, &Track)> {
        self.transactions.iter().filter(|(name, _)| !name.contains(" @ "))
    }

    /// Percent of all processors that the watched processes used.
    pub fn utilization(&self) -> Option<f64> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let processes = &self.observed.processes;
        let sum: f64 = processes.iter().map(|process| process.cpu_summary()[0]).sum();
        (!processes.is_empty()).then_some(sum / cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_how_far_the_repeats_lie_apart() {
        let mut level = LevelFigures::default();
        level.repeats.insert("t".into(), vec![[0.0, 0.0, 90.0], [0.0, 0.0, 110.0]]);
        level.repeats.insert("once".into(), vec![[0.0, 0.0, 90.0]]);
        assert_eq!(level.noise_percent("t"), Some(20.0));
        assert_eq!(level.noise_percent("once"), None);
    }
}
