//! The report of a run: its operations beside the floor.

use super::{About, DataSize, Description, Measured, markdown, rounded, write};
use crate::error::Result;
use crate::samples::ratio;
use crate::timing::Timing;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// The bar for the 95th percentile, as a multiple of the floor's.
pub const BAR_P95: f64 = 3.0;

/// All sides at one number of users.
#[derive(Debug)]
pub struct RunLevel {
    /// Number of workers.
    pub users: usize,
    /// Arrivals per second in each round.
    pub rates: Vec<f64>,
    /// The floor, where a database was given.
    pub floor: Option<Measured>,
    /// The operations with the names that they have in the JSON file.
    pub operations: Vec<(&'static str, Measured)>,
}

impl RunLevel {
    /// Nothing measured yet.
    pub fn new(users: usize, operations: &[&'static str], with_floor: bool) -> RunLevel {
        RunLevel {
            users,
            rates: Vec::new(),
            floor: with_floor.then(Measured::default),
            operations: operations.iter().map(|&name| (name, Measured::default())).collect(),
        }
    }

    /// The operation of the given name.
    pub fn operation(&self, name: &str) -> Option<&Measured> {
        self.operations.iter().find(|(other, _)| *other == name).map(|(_, measured)| measured)
    }

    /// Throughput of each side per second when saturated.
    pub fn capacities(&self) -> Vec<f64> {
        let operations = self.operations.iter().map(|(_, measured)| measured);
        operations.chain(&self.floor).map(|measured| measured.saturated.per_second()).collect()
    }

    /// The operation's 95th percentile as a multiple of the floor's.
    pub fn ratio_p95(&self, operation: &Measured) -> Option<f64> {
        ratio(operation.paced.percentile_ms(95.0), self.floor.as_ref()?.paced.percentile_ms(95.0))
    }

    /// The operation's throughput as a share of the floor's.
    pub fn ratio_tps(&self, operation: &Measured) -> Option<f64> {
        ratio(operation.saturated.per_second(), self.floor.as_ref()?.saturated.per_second())
    }

    /// The floor's processor time as a share of the operation's, when saturated.
    pub fn cpu_ratio(&self, operation: &Measured) -> Option<f64> {
        ratio(self.floor.as_ref()?.saturated.total_cpu_us()?, operation.saturated.total_cpu_us()?)
    }

    /// The same at the common arrival rate.
    pub fn cpu_ratio_paced(&self, operation: &Measured) -> Option<f64> {
        ratio(self.floor.as_ref()?.paced.total_cpu_us()?, operation.paced.total_cpu_us()?)
    }

    /// The 95th percentile of one operation as a multiple of another's.
    pub fn ratio_between(&self, operation: &str, other: &str) -> Option<f64> {
        let p95 = |name| Some(self.operation(name)?.paced.percentile_ms(95.0));
        ratio(p95(operation)?, p95(other)?)
    }

    /// Arrivals per second, the mean of the rounds.
    pub fn rate(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len().max(1) as f64
    }
}

/// The figures of a run.
#[derive(Debug)]
pub struct RunReport {
    /// Program, machine, database.
    pub about: About,
    /// Address of the API.
    pub address: String,
    /// Description of the workload.
    pub story: &'static Description,
    /// How it was measured.
    pub timing: Timing,
    /// The data before the run.
    pub before: DataSize,
    /// The data after it, which must be as before.
    pub after: DataSize,
    /// The figures.
    pub levels: Vec<RunLevel>,
    /// Further remarks, in sentences.
    pub notes: Vec<String>,
    /// Where the JSON goes.
    pub json: Option<PathBuf>,
    /// Where the Markdown goes.
    pub markdown: Option<PathBuf>,
}

impl RunReport {
    /// A table for the terminal.
    pub fn table(&self) -> String {
        let heads =
            ["p50 ms", "p95 ms", "max tps", "cpu us", "p95 ratio", "tps ratio", "cpu ratio", "failed"];
        let mut text = format!("{:>6} {:>9}  {:<15}", "users", "rate /s", "");
        heads.iter().for_each(|head| text.push_str(&format!("{head:>10}")));
        text.push('\n');
        for level in &self.levels {
            let (users, rate) = (level.users, level.rate());
            if let Some(floor) = &level.floor {
                let cpu = floor.saturated.total_cpu_us().map_or("-".into(), |cpu| format!("{cpu:.0}"));
                let _ = writeln!(text, "{users:>6} {rate:>9.0}  {:<15}{}{cpu:>10}", "floor", floor.cells());
            }
            for (name, measured) in &level.operations {
                let name = name.replace('_', "-");
                let times = level.ratio_p95(measured).map_or("-".into(), |ratio| format!("{ratio:.2}"));
                let share = level.ratio_tps(measured).map_or("-".into(), |ratio| format!("{ratio:.2}"));
                let cpu = measured.saturated.total_cpu_us().map_or("-".into(), |cpu| format!("{cpu:.0}"));
                let cpu_ratio = level.cpu_ratio(measured).map_or("-".into(), |ratio| format!("{ratio:.2}"));
                let _ = writeln!(
                    text,
                    "{users:>6} {rate:>9.0}  {name:<15}{}{cpu:>10}{times:>10}{share:>10}{cpu_ratio:>10}{:>10}",
                    measured.cells(),
                    measured.failures()
                );
            }
        }
        let _ = write!(text, "bars: p95 ratio at most {BAR_P95}");
        if let Some(bar) = self.story.bar_tps {
            let _ = write!(text, ", tps ratio at least {bar}");
        }
        text.push('\n');
        self.compared().for_each(|sentence| {
            let _ = writeln!(text, "{sentence}");
        });
        for (what, failure) in self.failure_texts() {
            let _ = writeln!(text, "failed {what}: {failure}");
        }
        for sentence in self.notes.iter().chain(&self.left_behind()) {
            let _ = writeln!(text, "{sentence}");
        }
        text
    }

    /// A sentence per level about the operation that is compared with another one.
    pub fn compared(&self) -> impl Iterator<Item = String> {
        self.levels.iter().filter_map(|level| {
            let against = self.story.against?;
            let times = level.ratio_between(against.operation, against.other)?;
            Some(format!(
                "{} at {} users: p95 {times:.2} × that of {} (bar {}: {})",
                spoken(against.operation),
                level.users,
                against.other.replace('_', "-"),
                against.bar,
                verdict(times <= against.bar)
            ))
        })
    }

    /// A sentence if the data after the run differ from those before it.
    pub fn left_behind(&self) -> Option<String> {
        let (before, after) = (&self.before, &self.after);
        let state = |size: &DataSize| (size.away, size.open_loans, size.open_requests);
        (state(before) != state(after)).then(|| format!("the data changed: before {before}; after {after}"))
    }

    /// Operation and text of the failures, each text once per operation and level.
    pub fn failure_texts(&self) -> impl Iterator<Item = (String, &str)> {
        self.levels.iter().flat_map(|level| {
            level.operations.iter().flat_map(move |(name, measured)| {
                let texts = measured.saturated.failure_texts().iter().chain(measured.paced.failure_texts());
                texts.map(move |text| (format!("{name} at {} users", level.users), text.as_str()))
            })
        })
    }

    /// The figures as JSON: `floor`, each operation, `ratio_p95`, `ratio_tps`, `cpu_ratio`, each by number of users,
    /// and what they depend on.
    pub fn json(&self) -> Value {
        let by_users = |figure: &dyn Fn(&RunLevel) -> Option<Value>| -> Value {
            let levels =
                self.levels.iter().filter_map(|level| Some((level.users.to_string(), figure(level)?)));
            Value::Object(levels.collect::<Map<_, _>>())
        };
        let names: Vec<&str> = self
            .levels
            .first()
            .map_or_else(Vec::new, |level| level.operations.iter().map(|(name, _)| *name).collect());
        let by_operation = |figure: &dyn Fn(&RunLevel, &Measured) -> Option<Value>| -> Map<String, Value> {
            let each = names
                .iter()
                .map(|name| (name.to_string(), by_users(&|level| figure(level, level.operation(name)?))));
            each.collect()
        };
        let ratio = |of: fn(&RunLevel, &Measured) -> Option<f64>| {
            by_operation(&|level, measured| Some(json!(rounded(of(level, measured)?, 3))))
        };
        let mut json = json!({
            "floor": by_users(&|level| Some(level.floor.as_ref()?.figures())),
            "ratio_p95": ratio(RunLevel::ratio_p95),
            "ratio_tps": ratio(RunLevel::ratio_tps),
            "cpu_ratio": ratio(RunLevel::cpu_ratio),
            "cpu_ratio_paced": ratio(RunLevel::cpu_ratio_paced),
            "arrivals_per_second": by_users(&|level| Some(json!(rounded(level.rate(), 1)))),
            "failures": by_operation(&|_, measured| Some(json!(measured.failures()))),
            "notes": self.notes,
            "left_as_found": self.left_behind().is_none(),
            "commit": self.about.commit,
            "machine": self.about.machine,
            "database": self.about.database,
            "data": self.before.json(),
            "when": self.about.when.to_string(),
        });
        for (name, figures) in by_operation(&|_, measured| Some(measured.figures())) {
            json[name] = figures;
        }
        if let Some(against) = self.story.against {
            let times = |level: &RunLevel| level.ratio_between(against.operation, against.other);
            json[against.key] = by_users(&|level| Some(json!(rounded(times(level)?, 3))));
        }
        json
    }

    /// Writes the requested files.
    pub fn save(&self) -> Result<()> {
        if let Some(path) = &self.json {
            write(path, &format!("{:#}\n", self.json()))?;
        }
        if let Some(path) = &self.markdown {
            write(path, &markdown::text(self))?;
        }
        Ok(())
    }
}

/// Whether a bar is met, as a word.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

/// An operation's name at the beginning of a sentence.
pub fn spoken(name: &str) -> String {
    let name = name.replace('_', "-");
    name[..1].to_uppercase() + &name[1..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor_time::ProcessorTime;
    use crate::report::Against;
    use crate::samples::Samples;
    use std::time::Duration;

    fn measured(ms: u64, per_second: u64) -> Measured {
        let mut paced = Samples::default();
        (0..20).for_each(|_| paced.succeeded(Duration::from_millis(ms), Duration::ZERO));
        let mut saturated = Samples::default();
        let each =
            ProcessorTime { server: Duration::from_micros(ms * 100 * per_second), ..Default::default() };
        saturated.cost(each, 0);
        (0..per_second).for_each(|_| saturated.succeeded(Duration::from_millis(ms), Duration::ZERO));
        saturated.lasted(Duration::from_secs(1));
        Measured { paced, saturated }
    }

    const DESCRIPTION: Description = Description {
        title: "Scans",
        purpose: "To see.",
        method: "## Method",
        bar_tps: None,
        against: Some(Against { operation: "check_in", other: "check_out", bar: 1.2, key: "in_over_out" }),
    };

    fn report(floor: Option<Measured>) -> RunReport {
        let data = DataSize { items: 100, users: 10, away: 10, open_loans: 5, open_requests: 7 };
        RunReport {
            about: About::here(Some("abc".into())),
            address: "http://localhost:9130".into(),
            story: &DESCRIPTION,
            timing: Timing::quick(),
            before: data,
            after: data,
            levels: vec![RunLevel {
                users: 8,
                rates: vec![90.0, 110.0],
                floor,
                operations: vec![("check_out", measured(4, 500)), ("check_in", measured(6, 250))],
            }],
            notes: vec!["it rained".into()],
            json: None,
            markdown: None,
        }
    }

    #[test]
    fn the_json_has_figures_and_ratios_by_operation_and_users() {
        let json = report(Some(measured(2, 1000))).json();
        assert_eq!(json["floor"]["8"]["tps"], 1000.0);
        assert_eq!(json["check_out"]["8"]["p95_ms"].as_f64().unwrap().round(), 4.0);
        assert_eq!(json["ratio_p95"]["check_out"]["8"].as_f64().unwrap().round(), 2.0);
        assert_eq!(json["ratio_tps"]["check_in"]["8"], 0.25);
        assert_eq!(json["check_out"]["8"]["cpu_us"]["saturated"]["server"], 400.0);
        assert_eq!(json["cpu_ratio"]["check_out"]["8"], 0.5);
        assert_eq!(json["commit"], "abc");
        assert_eq!(json["arrivals_per_second"]["8"], 100.0);
    }

    #[test]
    fn one_operation_is_held_against_another() {
        let report = report(None);
        assert_eq!(report.json()["in_over_out"]["8"].as_f64().unwrap(), 1.5);
        assert!(
            report.table().contains("Check-in at 8 users: p95 1.50 × that of check-out (bar 1.2: missed)")
        );
    }

    #[test]
    fn notes_stand_in_every_form() {
        let report = report(None);
        assert!(report.table().contains("it rained"));
        assert!(markdown::text(&report).contains("- it rained"));
        assert_eq!(report.json()["notes"][0], "it rained");
    }

    #[test]
    fn without_a_floor_there_are_no_ratios() {
        let report = report(None);
        assert_eq!(report.json()["ratio_p95"]["check_out"], json!({}));
        assert!(report.table().contains("check-out"));
    }

    #[test]
    fn shelves_that_changed_are_reported() {
        let mut report = report(None);
        assert_eq!(report.left_behind(), None);
        report.after.away += 1;
        assert!(report.table().contains("the data changed"));
    }
}
