//! What a report says of its workload besides figures: what was asked, how it was measured, which bars hold.

/// A workload's own part of the report.
#[derive(Debug)]
pub struct Description {
    /// The heading.
    pub title: &'static str,
    /// What the run is to find out, in a sentence or two.
    pub purpose: &'static str,
    /// How it was measured, as a Markdown list.
    pub method: &'static str,
    /// The bar for the throughput, as a share of the floor's.
    pub bar_tps: Option<f64>,
    /// The operation that is held against another one.
    pub against: Option<Against>,
}

/// The bar of one operation's 95th percentile, as a multiple of another's in the same run.
#[derive(Debug, Clone, Copy)]
pub struct Against {
    /// The operation.
    pub operation: &'static str,
    /// The one that it is compared with.
    pub other: &'static str,
    /// At most so many times the other's.
    pub bar: f64,
    /// The comparison's name in the JSON file.
    pub key: &'static str,
}
