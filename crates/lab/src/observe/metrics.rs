//! The server's own figures: work by module from `/metrics`, queries without an index from `/admin/missing-indexes`.
//! Other servers than Carrel have neither; then nothing is listed.

use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{LabError, Result};
use http::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A line of `/metrics`.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// What a module of the server did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModuleFigures {
    /// The FOLIO module.
    pub module: String,
    /// Answers.
    pub answers: f64,
    /// Answers with status 400 and more.
    pub failures: f64,
    /// Processor time of its work, in seconds.
    pub busy: f64,
    /// Round trips to the database.
    pub round_trips: f64,
    /// Time between sending statements and receiving their results, in seconds.
    pub database: f64,
}

impl ModuleFigures {
    /// The figures as JSON.
    pub fn json(&self) -> Value {
        json!({ "module": self.module, "answers": self.answers, "failures": self.failures,
            "busy_seconds": self.busy, "round_trips": self.round_trips, "database_seconds": self.database })
    }
}

/// A query that no index serves.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingIndex {
    /// Table of the records.
    pub record: String,
    /// Field of the query.
    pub field: String,
    /// Relation of the query.
    pub relation: String,
    /// Number of such queries since the server started.
    pub queries: u64,
}

impl MissingIndex {
    /// The figures as JSON.
    pub fn json(&self) -> Value {
        json!({ "record": self.record, "field": self.field, "relation": self.relation, "queries": self.queries })
    }
}

/// Reads `/metrics`.
pub async fn read(connection: &mut Connection, session: &Session) -> Result<Vec<Metric>> {
    let answer = connection.call(Method::GET, "/metrics", &session.headers(), Default::default()).await?;
    if !answer.status.is_success() {
        return Ok(Vec::new());
    }
    Ok(String::from_utf8_lossy(&answer.body).lines().filter_map(parse).collect())
}

/// `name{label="value",…} number`.
fn parse(line: &str) -> Option<Metric> {
    let (series, value) = line.rsplit_once(' ')?;
    if line.starts_with('#') {
        return None;
    }
    let (name, labels) = match series.split_once('{') {
        None => (series, ""),
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
    };
    let label = |label: &str| {
        let (name, value) = label.split_once('=')?;
        Some((name.to_string(), value.trim_matches('"').to_string()))
    };
    let labels = labels.split(',').filter_map(label).collect();
    Some(Metric { name: name.to_string(), labels, value: value.parse().ok()? })
}

/// What each module did between two readings, the busiest first.
pub fn by_module(before: &[Metric], after: &[Metric]) -> Vec<ModuleFigures> {
    let mut modules: BTreeMap<String, ModuleFigures> = BTreeMap::new();
    for (metrics, sign) in [(before, -1.0), (after, 1.0)] {
        for metric in metrics {
            let Some(module) = metric.labels.get("module") else { continue };
            let figures = modules.entry(module.clone()).or_default();
            let value = metric.value * sign;
            match metric.name.as_str() {
                "carrel_requests_total" => {
                    figures.answers += value;
                    if metric.labels.get("class").is_some_and(|class| class.starts_with(['4', '5'])) {
                        figures.failures += value;
                    }
                }
                "carrel_busy_seconds_total" => figures.busy += value,
                "carrel_database_round_trips_total" => figures.round_trips += value,
                "carrel_database_seconds_total" => figures.database += value,
                _ => {}
            }
        }
    }
    let named = modules.into_iter().map(|(module, figures)| ModuleFigures { module, ..figures });
    let mut busy: Vec<_> = named.filter(|figures| figures.answers > 0.0).collect();
    busy.sort_by(|a, b| b.busy.total_cmp(&a.busy));
    busy
}

/// A flame graph of the server over this many seconds, as SVG.
pub async fn flame_graph(address: Address, credentials: Credentials, seconds: u64) -> Result<String> {
    let mut connection = Connection::new(address);
    let session = Session::login(&mut connection, credentials).await?;
    let target = format!("/admin/flame-graph?seconds={seconds}");
    let answer = connection.call(Method::GET, &target, &session.headers(), Default::default()).await?;
    if !answer.status.is_success() {
        return Err(LabError::new(format!("the server answered {}", answer.brief())));
    }
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

/// Queries without an index.
pub async fn missing_indexes(connection: &mut Connection, session: &Session) -> Vec<MissingIndex> {
    let Ok(found) = session.get(connection, "/admin/missing-indexes").await else { return Vec::new() };
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_string();
    let entries = found["missingIndexes"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .map(|entry| MissingIndex {
            record: text(entry, "record"),
            field: text(entry, "field"),
            relation: text(entry, "relation"),
            queries: entry["queries"].as_u64().unwrap_or(0),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_did_is_the_difference_of_two_readings() {
        let read = |text: &str| text.lines().filter_map(parse).collect::<Vec<_>>();
        let before = read("# HELP x\ncarrel_requests_total{module=\"a\",class=\"2xx\"} 5\n");
        let after = read(
            "carrel_requests_total{module=\"a\",class=\"2xx\"} 8\ncarrel_requests_total{module=\"a\",class=\"4xx\"} 1\n\
             carrel_busy_seconds_total{module=\"a\"} 0.5\nprocess_resident_memory_bytes 7\n",
        );
        let figures = &by_module(&before, &after)[0];
        assert_eq!(
            (figures.module.as_str(), figures.answers, figures.failures, figures.busy),
            ("a", 4.0, 1.0, 0.5)
        );
    }
}
