//! The result of a run: a table for the terminal, Markdown for people, JSON for later runs and checks.

mod about;
mod compare;
mod description;
mod document;
mod floor;
mod markdown;
mod play;
mod plot;
mod run;
mod sections;

pub use about::{About, DataSize};
pub use compare::{Figures, compare, reference_names};
pub use description::{Against, Description};
pub use document::{Block, Document, Table, escaped, number};
pub use floor::FloorReport;
pub use play::PlayReport;
pub use plot::Plot;
pub use run::{RunLevel, RunReport};

use crate::error::{Context, Result};
use crate::player::Tempo;
use crate::samples::Samples;
use serde_json::{Value, json};
use std::path::Path;

/// The two measurements of one side at one number of users.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Answer times at the common arrival rate.
    pub paced: Samples,
    /// Throughput with all workers busy.
    pub saturated: Samples,
}

impl Measured {
    /// The figures that are compared: median and 95th percentile at the common rate, throughput when saturated,
    /// processor time and write-ahead log of one operation.
    pub fn figures(&self) -> Value {
        json!({
            "p50_ms": rounded(self.paced.percentile_ms(50.0), 3),
            "p95_ms": rounded(self.paced.percentile_ms(95.0), 3),
            "tps": rounded(self.saturated.per_second(), 1),
            "cpu_us": { "saturated": cpu_us(&self.saturated), "paced": cpu_us(&self.paced) },
            "wal_bytes": rounded(self.saturated.wal_bytes_each(), 0),
        })
    }

    /// Adds what a phase of the given tempo measured.
    pub fn add(&mut self, tempo: Tempo, samples: Samples) {
        match tempo {
            Tempo::Saturated(_) => self.saturated.merge(samples),
            Tempo::Paced { .. } => self.paced.merge(samples),
        }
    }

    /// Failures of both measurements.
    pub fn failures(&self) -> u64 {
        self.paced.failures() + self.saturated.failures()
    }

    /// The same three figures for the table.
    fn cells(&self) -> String {
        format!(
            "{:>10.3}{:>10.3}{:>10.0}",
            self.paced.percentile_ms(50.0),
            self.paced.percentile_ms(95.0),
            self.saturated.per_second()
        )
    }
}

/// Processor time of one operation in microseconds, by process.
fn cpu_us(samples: &Samples) -> Value {
    let [generator, server, database] = samples.cpu_us().map(|part| rounded(part, 1));
    let total = samples.total_cpu_us().map(|total| rounded(total, 1));
    json!({ "generator": generator, "server": server, "database": database, "total": total })
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).context(format!("writing {}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
