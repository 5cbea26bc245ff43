//! The report of a workload file: times per transaction and per call.

use super::{About, DataSize, rounded, write};
use crate::error::Result;
use crate::samples::Samples;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The figures of a played workload.
#[derive(Debug)]
pub struct PlanReport {
    /// Program and machine.
    pub about: About,
    /// Where the API answered.
    pub address: String,
    /// The workload's name.
    pub name: String,
    /// The workload in a line.
    pub title: String,
    /// Where the plan comes from.
    pub source: String,
    /// Number of virtual users.
    pub users: usize,
    /// From the first user's start to the last one's end.
    pub elapsed: Duration,
    /// What the plan's pauses were multiplied with.
    pub pause_factor: f64,
    /// The data before the run.
    pub before: DataSize,
    /// The data after the run and after the lab has returned what was lent.
    pub after: DataSize,
    /// Samples by transaction: the sum of its calls.
    pub transactions: BTreeMap<String, Samples>,
    /// Samples by method and address.
    pub calls: BTreeMap<String, Samples>,
    /// Where the JSON goes.
    pub json: Option<PathBuf>,
    /// Where the Markdown goes.
    pub markdown: Option<PathBuf>,
}

impl PlanReport {
    /// A table for the terminal.
    pub fn table(&self) -> String {
        let mut text = format!("{}, {} users, {:.0} s\n", self.title, self.users, self.elapsed.as_secs_f64());
        let heads = ["samples", "failed", "average", "p50 ms", "p95 ms", "p99 ms", "a minute"];
        let _ = write!(text, "{:<36}", "");
        heads.iter().for_each(|head| text.push_str(&format!("{head:>10}")));
        text.push('\n');
        for (name, samples) in self.transactions.iter().chain(&self.calls) {
            let _ = writeln!(
                text,
                "{name:<36}{:>10}{:>10}{:>10.2}{:>10.2}{:>10.2}{:>10.2}{:>10.1}",
                samples.count(),
                samples.failures(),
                samples.mean_ms(),
                samples.percentile_ms(50.0),
                samples.percentile_ms(95.0),
                samples.percentile_ms(99.0),
                self.per_minute(samples)
            );
        }
        for (name, samples) in &self.calls {
            samples.failure_texts().iter().for_each(|failure| {
                let _ = writeln!(text, "failed {name}: {failure}");
            });
        }
        text
    }

    /// The figures as JSON.
    pub fn json(&self) -> Value {
        let figures = |all: &BTreeMap<String, Samples>| -> Map<String, Value> {
            let figure = |samples: &Samples| {
                json!({
                    "samples": samples.count(),
                    "failures": samples.failures(),
                    "average_ms": rounded(samples.mean_ms(), 3),
                    "p50_ms": rounded(samples.percentile_ms(50.0), 3),
                    "p75_ms": rounded(samples.percentile_ms(75.0), 3),
                    "p95_ms": rounded(samples.percentile_ms(95.0), 3),
                    "p99_ms": rounded(samples.percentile_ms(99.0), 3),
                    "per_minute": rounded(self.per_minute(samples), 2),
                })
            };
            all.iter().map(|(name, samples)| (name.clone(), figure(samples))).collect()
        };
        json!({
            "workload": self.name,
            "users": self.users,
            "seconds": rounded(self.elapsed.as_secs_f64(), 1),
            "pause_factor": self.pause_factor,
            "transactions": figures(&self.transactions),
            "calls": figures(&self.calls),
            "commit": self.about.commit,
            "machine": self.about.machine,
            "data": self.before.json(),
            "when": self.about.when.to_string(),
        })
    }

    /// Writes the files that were asked for.
    pub fn save(&self) -> Result<()> {
        if let Some(path) = &self.json {
            write(path, &format!("{:#}\n", self.json()))?;
        }
        if let Some(path) = &self.markdown {
            write(path, &self.text())?;
        }
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = format!(
            "# {}\n\nProgram `{}` at {}, {}; plan: {}.\n\n{} users for {:.0} s; pauses of the plan × {}; {}.\n\n",
            self.title,
            self.about.commit,
            self.address,
            self.about.when.strftime("%Y-%m-%d %H:%M UTC"),
            self.source,
            self.users,
            self.elapsed.as_secs_f64(),
            self.pause_factor,
            self.about.machine
        );
        for (heading, all) in [("Transactions", &self.transactions), ("Calls", &self.calls)] {
            let _ = writeln!(
                text,
                "## {heading}, times in ms\n\n| | samples | failed | average | p50 | p75 | p95 | p99 | max | a minute |\n\
                |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
            );
            for (name, samples) in all {
                let _ = write!(text, "| {name} | {} | {} |", samples.count(), samples.failures());
                let _ = write!(text, " {:.2} |", samples.mean_ms());
                for percent in [50.0, 75.0, 95.0, 99.0] {
                    let _ = write!(text, " {:.2} |", samples.percentile_ms(percent));
                }
                let _ = writeln!(text, " {:.2} | {:.1} |", samples.max_ms(), self.per_minute(samples));
            }
            text.push('\n');
        }
        let _ = writeln!(text, "## Errors\n");
        let failed: Vec<_> = self.calls.iter().filter(|(_, samples)| samples.failures() > 0).collect();
        if failed.is_empty() {
            text.push_str("None.\n");
        }
        for (name, samples) in failed {
            for failure in samples.failure_texts() {
                let _ = writeln!(
                    text,
                    "- {name}, {} in all: `{}`",
                    samples.failures(),
                    failure.replace('`', "'")
                );
            }
        }
        let _ = writeln!(
            text,
            "\n## Data\n\n- Before: {}.\n- After what the run lent was returned through the API: {}.\n\n## Method\n\n\
            The load is closed: each user does one thing after the other, as in the public plans. A transaction's \
            time is the sum of its calls, preflights included, pauses excluded; a failed call ends it and sends the \
            user back to the login.",
            self.before, self.after
        );
        text
    }

    fn per_minute(&self, samples: &Samples) -> f64 {
        samples.count() as f64 / self.elapsed.as_secs_f64().max(0.001) * 60.0
    }
}
