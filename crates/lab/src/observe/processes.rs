//! Processor time and memory of named processes, from `/proc`.

use crate::processor_time::{children_of, process_time};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const PAGE: u64 = 4096;

/// A process to observe.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its name in the report.
    pub name: String,
    /// Its id.
    pub id: u32,
    /// Whether to include its child processes, as for PostgreSQL's postmaster.
    pub with_children: bool,
}

/// Processor time so far and memory now.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    cpu: Duration,
    memory: u64,
}

impl Reading {
    /// Reads a process; zero for one that has ended.
    pub fn take(process: &Process) -> Reading {
        let mut reading = Reading { cpu: process_time(process.id), memory: private_memory(process.id) };
        if process.with_children {
            for (id, time) in children_of(process.id) {
                reading.cpu += time;
                reading.memory += private_memory(id);
            }
        }
        reading
    }

    /// Private memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory
    }

    /// Percent of one core since an earlier reading.
    pub fn cpu_percent(&self, earlier: &Reading, seconds: f64) -> f64 {
        self.cpu.saturating_sub(earlier.cpu).as_secs_f64() / seconds.max(1e-3) * 100.0
    }
}

/// Resident memory without what is shared with other processes, in bytes.
fn private_memory(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/statm")).unwrap_or_default();
    let mut pages = text.split_whitespace().skip(1).filter_map(|field| field.parse::<u64>().ok());
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * PAGE
}

/// A process over time.
#[derive(Debug, Clone)]
pub struct ProcessSeries {
    /// Its name.
    pub name: String,
    /// Percent of one core between two samples.
    pub cpu_percent: Vec<f64>,
    /// Private memory at each sample, in MiB.
    pub memory_mib: Vec<f64>,
    /// Processor time in all.
    pub cpu: Duration,
}

impl ProcessSeries {
    /// Average, minimum and maximum of its processor time, in percent of one core.
    pub fn cpu_summary(&self) -> [f64; 3] {
        let values = &self.cpu_percent;
        let sum: f64 = values.iter().sum();
        [
            sum / values.len().max(1) as f64,
            values.iter().copied().fold(f64::INFINITY, f64::min).min(f64::MAX),
            values.iter().copied().fold(0.0, f64::max),
        ]
    }

    /// The figures as JSON.
    pub fn json(&self) -> Value {
        let [average, least, most] = self.cpu_summary().map(tenths);
        json!({
            "name": self.name,
            "cpu_seconds": self.cpu.as_secs_f64(),
            "cpu_percent": { "average": average, "min": least, "max": most },
            "memory_mib": { "start": self.memory_mib.first(), "end": self.memory_mib.last() },
            "cpu_percent_over_time": self.cpu_percent.iter().copied().map(tenths).collect::<Vec<_>>(),
            "memory_mib_over_time": self.memory_mib,
        })
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The series of all processes.
pub fn series(processes: &[Process], readings: &[Vec<Reading>], times: &[f64]) -> Vec<ProcessSeries> {
    let each = |(index, process): (usize, &Process)| {
        let of: Vec<Reading> = readings.iter().map(|reading| reading[index]).collect();
        let between = of.windows(2).zip(times.windows(2));
        ProcessSeries {
            name: process.name.clone(),
            cpu_percent: between.map(|(of, at)| of[1].cpu_percent(&of[0], at[1] - at[0])).collect(),
            memory_mib: of.iter().map(|reading| tenths(reading.memory as f64 / 1_048_576.0)).collect(),
            cpu: of.last().map_or(Duration::ZERO, |last| last.cpu.saturating_sub(of[0].cpu)),
        }
    };
    processes.iter().enumerate().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_uses_processor_time() {
        let own = [Process { name: "test".into(), id: std::process::id(), with_children: false }];
        let first = vec![Reading::take(&own[0])];
        let mut second = Reading::take(&own[0]);
        second.cpu = first[0].cpu + Duration::from_millis(500);
        let series = &series(&own, &[first, vec![second]], &[0.0, 1.0])[0];
        assert!(series.memory_mib[0] > 0.0);
        assert_eq!(series.cpu_summary(), [50.0, 50.0, 50.0]);
        assert_eq!(series.cpu, Duration::from_millis(500));
    }
}
