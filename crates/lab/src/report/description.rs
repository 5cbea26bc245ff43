//! The description of a workload in a report: purpose, method, targets.

/// The description of a workload in its report.
#[derive(Debug)]
pub struct Description {
    /// The heading.
    pub title: &'static str,
    /// The purpose of the run, in one or two sentences.
    pub purpose: &'static str,
    /// How it was measured, as a Markdown list.
    pub method: &'static str,
    /// The target of the throughput, as a share of the floor's.
    pub bar_tps: Option<f64>,
    /// The operation that is compared with another one.
    pub against: Option<Against>,
}

/// The target of one operation's 95th percentile, as a multiple of another's in the same run.
#[derive(Debug, Clone, Copy)]
pub struct Against {
    /// The operation.
    pub operation: &'static str,
    /// The operation that it is compared with.
    pub other: &'static str,
    /// The largest allowed multiple.
    pub bar: f64,
    /// The comparison's name in the JSON file.
    pub key: &'static str,
}
