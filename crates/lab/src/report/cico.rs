//! The report of the scans beside the floor.

use super::{About, DataSize, Measured, markdown, rounded, write};
use crate::error::Result;
use crate::samples::ratio;
use crate::timing::Timing;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// The bar for the 95th percentile, as a multiple of the floor's.
pub const BAR_P95: f64 = 3.0;
/// The bar for the throughput, as a share of the floor's.
pub const BAR_TPS: f64 = 0.3;

/// All sides at one number of users.
#[derive(Debug)]
pub struct CicoLevel {
    /// Number of desks.
    pub users: usize,
    /// Arrivals per second in each round.
    pub rates: Vec<f64>,
    /// The floor, where a database was given.
    pub floor: Option<Measured>,
    /// Check-outs.
    pub check_out: Measured,
    /// Check-ins.
    pub check_in: Measured,
}

impl CicoLevel {
    /// Nothing measured yet.
    pub fn new(users: usize, with_floor: bool) -> CicoLevel {
        CicoLevel {
            users,
            rates: Vec::new(),
            floor: with_floor.then(Measured::default),
            check_out: Measured::default(),
            check_in: Measured::default(),
        }
    }

    /// Both operations with the names that they have in the JSON file.
    pub fn operations(&self) -> [(&'static str, &Measured); 2] {
        [("check_out", &self.check_out), ("check_in", &self.check_in)]
    }

    /// The operation's 95th percentile as a multiple of the floor's.
    pub fn ratio_p95(&self, operation: &Measured) -> Option<f64> {
        ratio(operation.paced.percentile_ms(95.0), self.floor.as_ref()?.paced.percentile_ms(95.0))
    }

    /// The operation's throughput as a share of the floor's.
    pub fn ratio_tps(&self, operation: &Measured) -> Option<f64> {
        ratio(operation.saturated.per_second(), self.floor.as_ref()?.saturated.per_second())
    }

    /// Arrivals per second, the mean of the rounds.
    pub fn rate(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len().max(1) as f64
    }
}

/// The figures of a run.
#[derive(Debug)]
pub struct CicoReport {
    /// Program, machine, database.
    pub about: About,
    /// Where the API answered.
    pub address: String,
    /// How it was measured.
    pub timing: Timing,
    /// The data before the run.
    pub before: DataSize,
    /// The data after it; available items and open loans must be as before.
    pub after: DataSize,
    /// The figures.
    pub levels: Vec<CicoLevel>,
    /// Where the JSON goes.
    pub json: Option<PathBuf>,
    /// Where the Markdown goes.
    pub markdown: Option<PathBuf>,
}

impl CicoReport {
    /// A table for the terminal.
    pub fn table(&self) -> String {
        let heads = ["p50 ms", "p95 ms", "max tps", "p95 ratio", "tps ratio", "failed"];
        let mut text = format!("{:>6} {:>9}  {:<10}", "users", "rate /s", "");
        heads.iter().for_each(|head| text.push_str(&format!("{head:>10}")));
        text.push('\n');
        for level in &self.levels {
            let (users, rate) = (level.users, level.rate());
            if let Some(floor) = &level.floor {
                let _ = writeln!(text, "{users:>6} {rate:>9.0}  {:<10}{}", "floor", floor.cells());
            }
            for (name, measured) in level.operations() {
                let name = name.replace('_', "-");
                let times = level.ratio_p95(measured).map_or("-".into(), |ratio| format!("{ratio:.2}"));
                let share = level.ratio_tps(measured).map_or("-".into(), |ratio| format!("{ratio:.2}"));
                let _ = writeln!(
                    text,
                    "{users:>6} {rate:>9.0}  {name:<10}{}{times:>10}{share:>10}{:>10}",
                    measured.cells(),
                    measured.failures()
                );
            }
        }
        let _ = writeln!(text, "bars: p95 ratio at most {BAR_P95}, tps ratio at least {BAR_TPS}");
        for (what, failure) in self.failure_texts() {
            let _ = writeln!(text, "failed {what}: {failure}");
        }
        if let Some(warning) = self.left_behind() {
            let _ = writeln!(text, "{warning}");
        }
        text
    }

    /// A sentence when the run did not leave the shelves as it found them.
    pub fn left_behind(&self) -> Option<String> {
        let (before, after) = (&self.before, &self.after);
        let same = before.available == after.available && before.open_loans == after.open_loans;
        (!same).then(|| format!("the shelves changed: before {before}; after {after}"))
    }

    /// Operation and text of the failures, each text once per operation and level.
    pub fn failure_texts(&self) -> impl Iterator<Item = (String, &str)> {
        self.levels.iter().flat_map(|level| {
            level.operations().into_iter().flat_map(move |(name, measured)| {
                let texts = measured.saturated.failure_texts().iter().chain(measured.paced.failure_texts());
                texts.map(move |text| (format!("{name} at {} users", level.users), text.as_str()))
            })
        })
    }

    /// The figures as JSON: `floor`, `check_out`, `check_in`, `ratio_p95`, `ratio_tps`, each by number of users,
    /// and what they depend on.
    pub fn json(&self) -> Value {
        let by_users = |figure: &dyn Fn(&CicoLevel) -> Option<Value>| -> Value {
            let levels =
                self.levels.iter().filter_map(|level| Some((level.users.to_string(), figure(level)?)));
            Value::Object(levels.collect::<Map<_, _>>())
        };
        let ratios = |ratio: fn(&CicoLevel, &Measured) -> Option<f64>| {
            json!({
                "check_out": by_users(&|level| Some(json!(rounded(ratio(level, &level.check_out)?, 3)))),
                "check_in": by_users(&|level| Some(json!(rounded(ratio(level, &level.check_in)?, 3)))),
            })
        };
        json!({
            "floor": by_users(&|level| Some(level.floor.as_ref()?.figures())),
            "check_out": by_users(&|level| Some(level.check_out.figures())),
            "check_in": by_users(&|level| Some(level.check_in.figures())),
            "ratio_p95": ratios(CicoLevel::ratio_p95),
            "ratio_tps": ratios(CicoLevel::ratio_tps),
            "arrivals_per_second": by_users(&|level| Some(json!(rounded(level.rate(), 1)))),
            "failures": {
                "check_out": by_users(&|level| Some(json!(level.check_out.failures()))),
                "check_in": by_users(&|level| Some(json!(level.check_in.failures()))),
            },
            "commit": self.about.commit,
            "machine": self.about.machine,
            "database": self.about.database,
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
            write(path, &markdown::cico(self))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Samples;
    use std::time::Duration;

    fn measured(ms: u64, per_second: u64) -> Measured {
        let mut paced = Samples::default();
        (0..20).for_each(|_| paced.succeeded(Duration::from_millis(ms), Duration::ZERO));
        let mut saturated = Samples::default();
        (0..per_second).for_each(|_| saturated.succeeded(Duration::from_millis(ms), Duration::ZERO));
        saturated.lasted(Duration::from_secs(1));
        Measured { paced, saturated }
    }

    fn report(floor: Option<Measured>) -> CicoReport {
        let data = DataSize { items: 100, users: 10, available: 90, open_loans: 5 };
        CicoReport {
            about: About::here(Some("abc".into())),
            address: "http://localhost:9130".into(),
            timing: Timing::quick(),
            before: data,
            after: data,
            levels: vec![CicoLevel {
                users: 8,
                rates: vec![90.0, 110.0],
                floor,
                check_out: measured(4, 500),
                check_in: measured(6, 250),
            }],
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
        assert_eq!(json["commit"], "abc");
        assert_eq!(json["arrivals_per_second"]["8"], 100.0);
    }

    #[test]
    fn without_a_floor_there_are_no_ratios() {
        let report = report(None);
        assert_eq!(report.json()["ratio_p95"]["check_out"], json!({}));
        assert!(report.table().contains("check-out"));
    }

    #[test]
    fn shelves_that_changed_are_told() {
        let mut report = report(None);
        assert_eq!(report.left_behind(), None);
        report.after.available -= 1;
        assert!(report.table().contains("the shelves changed"));
    }
}
