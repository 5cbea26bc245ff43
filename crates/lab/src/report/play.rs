//! The report of a played workload: figures as JSON, and the sections that FOLIO's performance reports have.

use super::compare::Figures;
use super::document::{Block, Document, Table, number};
use super::plot::Plot;
use super::{About, DataSize, rounded, sections, write};
use crate::error::Result;
use crate::samples::Samples;
use crate::workload::{LevelFigures, PlayOptions, Track};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Calls and statements above this are listed, in milliseconds.
pub const SLOW_MS: f64 = 100.0;
/// Marks files that `lab compare` reads.
pub const FORMAT: &str = "carrel-lab-play-1";

/// The figures of a played workload.
#[derive(Debug)]
pub struct PlayReport {
    /// Program, machine, database.
    pub about: About,
    /// The first tenant's data before the run.
    pub before: DataSize,
    /// The first tenant's data after the run.
    pub after: DataSize,
    /// The result of the invariant checks after a run, a sentence for each tenant.
    pub consistency: Vec<String>,
    /// By number of users.
    pub levels: Vec<LevelFigures>,
    /// False if the run was ended early.
    pub is_complete: bool,
    /// Options of the run.
    pub options: PlayOptions,
}

impl PlayReport {
    /// A table for the terminal.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n{:<36}", self.options.workload.title, "");
        for head in
            ["users", "samples", "failed", "average", "p50 ms", "p75 ms", "p95 ms", "p99 ms", "a minute"]
        {
            let _ = write!(text, "{head:>10}");
        }
        text.push('\n');
        for level in &self.levels {
            for (name, track) in &level.transactions {
                let samples = &track.samples;
                let _ = write!(
                    text,
                    "{name:<36}{:>10}{:>10}{:>10}",
                    level.users,
                    samples.count(),
                    samples.failures()
                );
                let times = [
                    samples.mean_ms(),
                    at(samples, 50.0),
                    at(samples, 75.0),
                    at(samples, 95.0),
                    at(samples, 99.0),
                ];
                times.into_iter().for_each(|time| {
                    let _ = write!(text, "{time:>10.2}");
                });
                let _ = writeln!(text, "{:>10.1}", per_minute(level, samples));
            }
            for (name, track) in &level.calls {
                for (kind, (count, first)) in &track.errors {
                    let _ = writeln!(text, "  failed {count} times, {kind}: {name}: {first}");
                }
            }
            let _ = writeln!(
                text,
                "  generator's lag: p50 {:.2} ms, p95 {:.2} ms, max {:.2} ms",
                level.lag_ms[0], level.lag_ms[1], level.lag_ms[2]
            );
        }
        text
    }

    /// The figures as JSON; such a file can be the baseline of another run.
    pub fn json(&self) -> Value {
        let workload = &self.options.workload;
        json!({
            "format": FORMAT,
            "workload": workload.name,
            "title": workload.title,
            "condition": self.options.condition,
            "is_complete": self.is_complete,
            "pace": self.options.form.pace,
            "repeats": self.options.repeats,
            "consistency": self.consistency,
            "levels": self.levels.iter().map(level_json).collect::<Vec<_>>(),
            "commit": self.about.commit,
            "machine": self.about.machine,
            "database": self.about.database,
            "data": { "before": self.before.json(), "after": self.after.json() },
            "command": self.options.command,
            "when": self.about.when.to_string(),
        })
    }

    /// The report for people, with the baseline's figures if one is given.
    pub fn document(&self, baseline: Option<&Figures>) -> Document {
        let workload = &self.options.workload;
        let mut document = Document {
            title: workload.title.clone(),
            subtitle: format!(
                "Workload `{}` against {}, program {}, {}{}",
                workload.name,
                self.options.address,
                self.about.commit,
                self.about.when.strftime("%Y-%m-%d %H:%M UTC"),
                if self.is_complete { "" } else { "; ended early" }
            )
            .replace('`', ""),
            sections: Vec::new(),
        };
        document.section("Purpose", vec![Block::Text(workload.purpose.clone())]);
        document.section("Summary", vec![Block::List(sections::summary(self, baseline))]);
        document.section("Recommendations", vec![Block::List(sections::recommendations(self))]);
        document.section("Test runs", vec![self.runs()]);
        document.section("Response times", self.response_times());
        if let Some(baseline) = baseline {
            let figures = Figures::of(&self.json(), "this run");
            document.section("Comparison", vec![super::compare::table(&[baseline.clone(), figures])]);
        }
        document.section("Errors", vec![sections::errors(self)]);
        document.section("Floor", sections::floor(self));
        document.section("Processor time and memory", sections::processes(self));
        let flames = self.levels.iter().filter_map(|level| level.observed.flame_graph.clone());
        let flames: Vec<_> = flames.map(Block::Picture).collect();
        if !flames.is_empty() {
            document.section("Flame graph of the server", flames);
        }
        document.section("Database", sections::database(self));
        document.section("Missing indexes", vec![sections::missing_indexes(self)]);
        document.section("Log volume", vec![sections::log(self)]);
        document.section("Environment", vec![Block::List(sections::environment(self))]);
        document.section("Data", vec![Block::List(sections::data(self))]);
        document.section("Method", sections::method(self));
        document.section("Appendix: all calls", vec![self.calls(0.0)]);
        document
    }

    /// Writes `PREFIX.html`, `PREFIX.md` and `PREFIX.json`.
    pub fn save(&self, prefix: &Path, baseline: Option<&Figures>) -> Result<()> {
        let document = self.document(baseline);
        let file = |ending: &str| {
            let mut name = prefix.as_os_str().to_owned();
            name.push(ending);
            name
        };
        write(Path::new(&file(".json")), &format!("{:#}\n", self.json()))?;
        write(Path::new(&file(".md")), &document.markdown())?;
        write(Path::new(&file(".html")), &document.html())
    }

    fn runs(&self) -> Block {
        let head = [
            "users",
            "runs",
            "seconds in all",
            "ramp-up per user, s",
            "planned turns/s",
            "turns/s",
            "failed",
            "lag p95, ms",
            "lag max, ms",
        ];
        let mut table = Table::new("Runs", 0, &head);
        for level in &self.levels {
            let seconds = level.elapsed.as_secs_f64();
            table.rows.push(vec![
                level.users.to_string(),
                level.repeats.values().map(Vec::len).max().unwrap_or(0).to_string(),
                number(seconds),
                number(self.options.form.ramp_up.as_secs_f64()),
                level.planned_rate.map_or("closed".into(), number),
                number(level.successes() as f64 / seconds.max(1e-3)),
                level.failures().to_string(),
                number(level.lag_ms[1]),
                number(level.lag_ms[2]),
            ]);
        }
        table.or("Nothing was played.")
    }

    fn response_times(&self) -> Vec<Block> {
        let head = [
            "transaction",
            "users",
            "samples",
            "failed",
            "average",
            "p50",
            "p75",
            "p90",
            "p95",
            "p99",
            "max",
            "a minute",
            "noise, %",
        ];
        let mut table = Table::new("Response times of transactions, ms", 1, &head);
        let mut by_users: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let mut blocks = Vec::new();
        for level in &self.levels {
            for (name, track) in &level.transactions {
                let samples = &track.samples;
                let mut row = vec![name.clone(), level.users.to_string()];
                row.extend(time_cells(samples));
                row.push(number(per_minute(level, samples)));
                row.push(level.noise_percent(name).map_or(String::new(), number));
                table.rows.push(row);
            }
            for (name, track) in level.whole() {
                let points = by_users.entry(name.clone()).or_default();
                points.push((level.users as f64, at(&track.samples, 95.0)));
            }
        }
        blocks.push(table.or("No transaction ended."));
        if self.levels.len() > 1 {
            let lines = by_users.into_iter().collect();
            blocks.push(Block::Plot(Plot {
                title: "p95 by number of users, ms".into(),
                x: "users".into(),
                lines,
            }));
        }
        for level in &self.levels {
            let lines: Vec<_> = level
                .whole()
                .flat_map(|(name, track)| {
                    [(0.5, "p50"), (0.95, "p95")]
                        .map(|(share, label)| (format!("{name} {label}"), over_time(level, track, share)))
                })
                .collect();
            let title = format!("Latency over time at {} users, ms", level.users);
            blocks.push(Block::Plot(Plot { title, x: "seconds".into(), lines }));
        }
        blocks.push(self.calls(SLOW_MS));
        blocks
    }

    /// The calls with a 95th percentile above `least` milliseconds.
    fn calls(&self, least: f64) -> Block {
        let head =
            ["call", "users", "samples", "failed", "average", "p50", "p75", "p90", "p95", "p99", "max"];
        let caption = if least > 0.0 { "Calls with a p95 above 100 ms" } else { "All calls, ms" };
        let mut table = Table::new(caption, 1, &head);
        for level in &self.levels {
            for (name, track) in level.calls.iter().filter(|(_, track)| at(&track.samples, 95.0) >= least) {
                let mut row = vec![name.clone(), level.users.to_string()];
                row.extend(time_cells(&track.samples));
                table.rows.push(row);
            }
        }
        table.or("No call has a p95 above 100 ms.")
    }
}

fn time_cells(samples: &Samples) -> Vec<String> {
    let mut cells =
        vec![samples.count().to_string(), samples.failures().to_string(), number(samples.mean_ms())];
    cells.extend([50.0, 75.0, 90.0, 95.0, 99.0].map(|percent| number(at(samples, percent))));
    cells.push(number(samples.max_ms()));
    cells
}

fn over_time(level: &LevelFigures, track: &Track, share: f64) -> Vec<(f64, f64)> {
    let slice = level.slice.as_secs_f64();
    let slices = track.slices.iter().enumerate().filter(|(_, slice)| !slice.times.is_empty());
    slices
        .map(|(index, one)| ((index as f64 + 0.5) * slice, one.times.value_at_quantile(share) as f64 / 1e3))
        .collect()
}

/// Percentile in milliseconds.
pub fn at(samples: &Samples, percent: f64) -> f64 {
    samples.percentile_ms(percent)
}

/// Successes per minute.
pub fn per_minute(level: &LevelFigures, samples: &Samples) -> f64 {
    samples.count() as f64 / level.elapsed.as_secs_f64().max(1e-3) * 60.0
}

fn level_json(level: &LevelFigures) -> Value {
    let track = |(name, track): (&String, &Track)| {
        let samples = &track.samples;
        let errors: Map<String, Value> = track
            .errors
            .iter()
            .map(|(kind, (count, first))| (kind.clone(), json!({ "count": count, "first": first })))
            .collect();
        let figures = json!({
            "samples": samples.count(),
            "failures": samples.failures(),
            "average_ms": rounded(samples.mean_ms(), 3),
            "p50_ms": rounded(at(samples, 50.0), 3),
            "p75_ms": rounded(at(samples, 75.0), 3),
            "p90_ms": rounded(at(samples, 90.0), 3),
            "p95_ms": rounded(at(samples, 95.0), 3),
            "p99_ms": rounded(at(samples, 99.0), 3),
            "max_ms": rounded(samples.max_ms(), 3),
            "per_minute": rounded(per_minute(level, samples), 2),
            "noise_percent": level.noise_percent(name).map(|noise| rounded(noise, 1)),
            "errors": errors,
        });
        (name.clone(), figures)
    };
    let floor = level.floor.as_ref().map(|floor| {
        json!({ "tps": rounded(floor.per_second(), 1), "cpu_us": floor.total_cpu_us().map(|us| rounded(us, 1)) })
    });
    json!({
        "users": level.users,
        "seconds": rounded(level.elapsed.as_secs_f64(), 1),
        "planned_per_second": level.planned_rate.map(|rate| rounded(rate, 2)),
        "lag_ms": { "p50": level.lag_ms[0], "p95": level.lag_ms[1], "max": level.lag_ms[2] },
        "transactions": level.transactions.iter().map(track).collect::<Map<_, _>>(),
        "calls": level.calls.iter().map(track).collect::<Map<_, _>>(),
        "floor": floor,
        "utilization_percent": level.utilization().map(|percent| rounded(percent, 1)),
        "observed": level.observed.json(),
    })
}
