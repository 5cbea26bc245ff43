//! Series of a Prometheus server over the time of a level: how FOLIO installations measure their modules.

use crate::client::{Address, Connection};
use crate::error::{LabError, Result};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

/// The default queries: processor time and memory of every process that exports them.
const USUAL: [(&str, &str); 2] = [
    ("CPU, percent of a core", "rate(process_cpu_seconds_total[1m]) * 100"),
    ("memory, MiB", "process_resident_memory_bytes / 1048576"),
];

/// A Prometheus server and the queries sent to it.
#[derive(Debug, Clone)]
pub struct PrometheusOptions {
    /// Its address.
    pub address: Address,
    /// Name and expression of each query; empty for the default ones.
    pub queries: Vec<(String, String)>,
}

/// A series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the query.
    pub query: String,
    /// Labels of the series.
    pub labels: String,
    /// Average of its values.
    pub average: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// First value.
    pub first: f64,
    /// Last value.
    pub last: f64,
}

impl Series {
    /// The figures as JSON.
    pub fn json(&self) -> Value {
        json!({ "query": self.query, "labels": self.labels, "average": self.average, "min": self.min,
            "max": self.max, "first": self.first, "last": self.last })
    }
}

/// Reads the series between two moments.
pub async fn read(
    options: &PrometheusOptions,
    from: jiff::Timestamp,
    to: jiff::Timestamp,
) -> Result<Vec<Series>> {
    let mut connection = Connection::new(options.address.clone());
    let usual = USUAL.iter().map(|(name, query)| (name.to_string(), query.to_string()));
    let queries: Vec<_> = if options.queries.is_empty() { usual.collect() } else { options.queries.clone() };
    let mut all = Vec::new();
    for (name, query) in queries {
        let step = (to.as_second() - from.as_second()).max(1) / 60 + 1;
        let address = format!(
            "api/v1/query_range?query={query}&start={}&end={}&step={step}",
            from.as_second(),
            to.as_second()
        );
        let target = crate::workload::target(&address, &Default::default());
        let answer = connection.call(Method::GET, &target, &HeaderMap::new(), Default::default()).await?;
        if !answer.status.is_success() {
            return Err(LabError::new(format!("{name} answered {}", answer.brief())));
        }
        all.extend(series(&name, &answer.json()?));
    }
    Ok(all)
}

fn series(query: &str, answer: &Value) -> Vec<Series> {
    let results = answer["data"]["result"].as_array().map(Vec::as_slice).unwrap_or_default();
    let one = |result: &Value| {
        let values: Vec<f64> = result["values"]
            .as_array()?
            .iter()
            .filter_map(|pair| pair[1].as_str()?.parse().ok())
            .filter(|value: &f64| value.is_finite())
            .collect();
        let labels = result["metric"].as_object()?.iter();
        let labels: Vec<_> = labels
            .filter(|(name, _)| *name != "__name__")
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
            .collect();
        Some(Series {
            query: query.to_string(),
            labels: labels.join(" "),
            average: values.iter().sum::<f64>() / values.len() as f64,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
            first: *values.first()?,
            last: *values.last()?,
        })
    };
    results.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_summed_up() {
        let answer = json!({ "data": { "result": [{ "metric": { "__name__": "m", "job": "mod-users" },
            "values": [[1, "10"], [2, "30"], [3, "NaN"]] }] } });
        let series = &series("CPU", &answer)[0];
        assert_eq!((series.labels.as_str(), series.average, series.max), ("job=mod-users", 20.0, 30.0));
    }
}
