//! The report of the floor alone.

use super::{About, Measured, write};
use crate::error::Result;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// The floor's figures at each number of users.
#[derive(Debug)]
pub struct FloorReport {
    /// Program, machine, database.
    pub about: About,
    /// Rows in the item table.
    pub items: u64,
    /// Rows in the user table.
    pub users: u64,
    /// Users, arrivals per second, figures.
    pub levels: Vec<(usize, f64, Measured)>,
    /// Where the JSON goes.
    pub json: Option<PathBuf>,
}

impl FloorReport {
    /// A table for the terminal.
    pub fn table(&self) -> String {
        let mut text = format!(
            "floor of a scan, {} items, {} users\n{}\n{:>6}{:>10}{:>10}{:>10}{:>10}\n",
            self.items,
            self.users,
            self.about.database.as_deref().unwrap_or(""),
            "users",
            "rate /s",
            "p50 ms",
            "p95 ms",
            "max tps"
        );
        for (users, rate, measured) in &self.levels {
            let _ = writeln!(text, "{users:>6}{rate:>10.0}{}", measured.cells());
            for failure in measured.paced.failure_texts().iter().chain(measured.saturated.failure_texts()) {
                let _ = writeln!(text, "       failed: {failure}");
            }
        }
        text
    }

    /// The figures as JSON.
    pub fn json(&self) -> Value {
        let levels: Map<String, Value> =
            self.levels.iter().map(|(users, _, measured)| (users.to_string(), measured.figures())).collect();
        json!({
            "floor": levels,
            "commit": self.about.commit,
            "machine": self.about.machine,
            "database": self.about.database,
            "data": { "items": self.items, "users": self.users },
            "when": self.about.when.to_string(),
        })
    }

    /// Writes the requested file.
    pub fn save(&self) -> Result<()> {
        match &self.json {
            Some(path) => write(path, &format!("{:#}\n", self.json())),
            None => Ok(()),
        }
    }
}
