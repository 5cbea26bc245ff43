//! Counters of calls, times and bytes by FOLIO module, for `/metrics`.

use crate::meter::Meter;
use http::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the latency histogram, in microseconds.
pub const BOUNDS: [u64; 12] =
    [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 250_000, 1_000_000, 8_000_000];

/// Counters of the routes of one FOLIO module since the start.
#[derive(Debug, Default)]
pub struct ModuleFigures {
    pub by_class: [AtomicU64; 5],
    pub histogram: [AtomicU64; BOUNDS.len() + 1],
    pub micros: AtomicU64,
    pub busy_nanos: AtomicU64,
    pub pipelines: AtomicU64,
    pub database_nanos: AtomicU64,
    pub bytes: AtomicU64,
}

impl ModuleFigures {
    /// Adds one call.
    pub(super) fn count(&self, status: StatusCode, took: Duration, bytes: u64, meter: &Meter) {
        let micros = took.as_micros() as u64;
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.by_class[class].fetch_add(1, Relaxed);
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.histogram[bucket].fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
        self.busy_nanos.fetch_add(meter.busy.load(Relaxed), Relaxed);
        self.pipelines.fetch_add(meter.pipelines.load(Relaxed), Relaxed);
        self.database_nanos.fetch_add(meter.database.load(Relaxed), Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }
}
