//! Compares the figures of several runs, with differences in percent, and which of them are noise; published figures of
//! FOLIO's performance reports can be compared like a run.

use super::document::{Block, Document, Table, number};
use super::play::FORMAT;
use crate::error::{Context, LabError, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Differences below this are noise unless repeats say otherwise, in percent: repeats of FOLIO's own half-hour runs
/// differ by 3.4 to 6.7 %, short ones by more.
const USUAL_NOISE: f64 = 10.0;
const STATISTICS: [&str; 4] = ["average_ms", "p50_ms", "p75_ms", "p95_ms"];
const REFERENCES: &str = include_str!("../../../../lab/reference-figures.json");

/// The figures of one run.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Its name in the table.
    pub label: String,
    /// Value by transaction, number of users and statistic.
    pub values: BTreeMap<(String, u64, &'static str), f64>,
    /// Spread of the repeats by transaction and number of users, in percent.
    pub noise: BTreeMap<(String, u64), f64>,
}

impl Figures {
    /// The figures in the JSON file of a run.
    pub fn of(run: &Value, label: &str) -> Figures {
        let mut figures = Figures { label: label.into(), ..Figures::default() };
        for level in run["levels"].as_array().into_iter().flatten() {
            let users = level["users"].as_u64().unwrap_or(0);
            for (name, transaction) in level["transactions"].as_object().into_iter().flatten() {
                for statistic in STATISTICS {
                    if let Some(value) = transaction[statistic].as_f64() {
                        figures.values.insert((name.clone(), users, statistic), value);
                    }
                }
                if let Some(noise) = transaction["noise_percent"].as_f64() {
                    figures.noise.insert((name.clone(), users), noise);
                }
            }
        }
        figures
    }

    /// Reads `reference:NAME` or the JSON file of a run.
    pub fn read(name: &str) -> Result<Figures> {
        if let Some(reference) = name.strip_prefix("reference:") {
            return published(reference);
        }
        let text = std::fs::read_to_string(name).context(format!("reading {name}"))?;
        let run: Value = serde_json::from_str(&text).context(format!("reading {name}"))?;
        if run["format"] != FORMAT {
            return Err(LabError::new(format!("{name} is not the JSON file of `lab play`")));
        }
        let stem = Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
        let condition = run["condition"].as_str().filter(|condition| !condition.is_empty());
        let label = condition.map_or(stem.to_string(), |condition| format!("{stem} ({condition})"));
        Ok(Figures::of(&run, &label))
    }
}

/// A published run: selects its figures in the file.
struct Reference {
    name: &'static str,
    report: &'static str,
    /// The release of the figures; empty for any.
    release: &'static str,
    /// A dimension that the figures have.
    dimension: Option<(&'static str, &'static str)>,
    /// Scenario or operation, and the transaction of the shipped workloads.
    transactions: &'static [(&'static str, &'static str)],
}

const CICO: &[(&str, &str)] = &[("check-in transaction", "check-in"), ("check-out transaction", "check-out")];
const PUBLISHED: [Reference; 8] = [
    Reference {
        name: "holds-fameflower",
        report: "place-holds-fameflower",
        release: "",
        dimension: None,
        transactions: &[
            ("patron hold", "holds-patron"),
            ("instance-level request", "holds-instance"),
            ("item-level request", "holds-item"),
        ],
    },
    Reference {
        name: "cico-goldenrod",
        report: "cico-goldenrod-honeysuckle",
        release: "Goldenrod",
        dimension: None,
        transactions: CICO,
    },
    Reference {
        name: "cico-honeysuckle",
        report: "cico-goldenrod-honeysuckle",
        release: "Honeysuckle",
        dimension: None,
        transactions: CICO,
    },
    Reference {
        name: "cico-fameflower",
        report: "cico-fameflower-okapi-2.40",
        release: "Fameflower, Okapi 2.40.0",
        dimension: Some(("table", "\"response times\"")),
        transactions: CICO,
    },
    Reference {
        name: "cico-fameflower-okapi-2.38",
        report: "cico-fameflower-okapi-2.40",
        release: "Fameflower, Okapi 2.38.0",
        dimension: None,
        transactions: CICO,
    },
    Reference {
        name: "lists-poppy",
        report: "lists-refresh-poppy-multitenant-rw-split",
        release: "Poppy",
        dimension: Some(("tenants", "3")),
        transactions: &[("list refresh", "refresh list")],
    },
    Reference {
        name: "lock-on-poppy",
        report: "checkout-lock-poppy",
        release: "",
        dimension: Some(("lockEnabled", "true")),
        transactions: &[("check-out API", "check-out API")],
    },
    Reference {
        name: "lock-off-poppy",
        report: "checkout-lock-poppy",
        release: "",
        dimension: Some(("lockEnabled", "false")),
        transactions: &[("check-out API", "check-out API")],
    },
];

/// The names of the published runs.
pub fn reference_names() -> Vec<&'static str> {
    PUBLISHED.iter().map(|reference| reference.name).collect()
}

fn published(name: &str) -> Result<Figures> {
    let reference = PUBLISHED.iter().find(|reference| reference.name == name).ok_or_else(|| {
        LabError::new(format!("{name} is none of the published runs: {}", reference_names().join(", ")))
    })?;
    let file: Value = serde_json::from_str(REFERENCES).context("reading the published figures")?;
    let title =
        file["reports"].as_array().into_iter().flatten().find(|report| report["id"] == reference.report);
    let title = title.and_then(|report| report["title"].as_str()).unwrap_or(reference.report);
    let mut figures = Figures { label: format!("{name} ({title})"), ..Figures::default() };
    for figure in file["figures"].as_array().into_iter().flatten() {
        let is_ours = figure["report"] == reference.report
            && (reference.release.is_empty() || figure["release"] == reference.release)
            && reference.dimension.is_none_or(|(name, value)| {
                serde_json::from_str::<Value>(value).is_ok_and(|value| figure["dim"][name] == value)
            })
            && figure["dim"]["superseded"] != true;
        let transaction = reference
            .transactions
            .iter()
            .find(|(named, _)| figure["scenario"] == *named || figure["operation"] == *named);
        let (true, Some((_, transaction))) = (is_ours, transaction) else { continue };
        let users = figure["users"].as_u64().or_else(|| figure["dim"]["lists"].as_u64());
        let statistic = match figure["statistic"].as_str().unwrap_or_default() {
            "average" | "duration, average" => "average_ms",
            "p50" => "p50_ms",
            "p75" => "p75_ms",
            "p95" => "p95_ms",
            _ => continue,
        };
        let factor = match figure["unit"].as_str().unwrap_or_default() {
            "ms" => 1.0,
            "s" => 1e3,
            "min" => 60e3,
            _ => continue,
        };
        if let (Some(users), Some(value)) = (users, figure["value"].as_f64()) {
            figures.values.insert((transaction.to_string(), users, statistic), value * factor);
        }
    }
    Ok(figures)
}

/// The table of several runs; the others are compared with the first.
pub fn table(runs: &[Figures]) -> Block {
    let mut head = vec!["transaction", "users", "statistic"];
    let (first, others) = match runs.split_first() {
        Some(split) if !split.1.is_empty() => split,
        _ => return Block::Text("There is nothing to compare with.".into()),
    };
    head.push(&first.label);
    for run in others {
        head.extend([run.label.as_str(), "difference, %", "noise, %", "verdict"]);
    }
    let mut table = Table::new("Times, ms", 1, &head);
    for ((name, users, statistic), value) in &first.values {
        let mut row =
            vec![name.clone(), users.to_string(), statistic.trim_end_matches("_ms").into(), number(*value)];
        let mut is_shared = false;
        for run in others {
            match run.values.get(&(name.clone(), *users, *statistic)) {
                None => row.extend(["", "", "", ""].map(String::from)),
                Some(other) => {
                    is_shared = true;
                    let noise = noise_of(first, run, &(name.clone(), *users));
                    let difference = if *value > 0.0 { (other - value) / value * 100.0 } else { 0.0 };
                    let verdict = verdict(difference, noise);
                    row.extend([number(*other), format!("{difference:+.1}"), number(noise), verdict.into()]);
                }
            }
        }
        if is_shared {
            table.rows.push(row);
        }
    }
    table.or("The runs have no transaction at the same number of users in common.")
}

fn noise_of(first: &Figures, other: &Figures, key: &(String, u64)) -> f64 {
    let seen = [first, other].into_iter().filter_map(|run| run.noise.get(key)).copied();
    seen.reduce(f64::max).unwrap_or(USUAL_NOISE)
}

fn verdict(difference: f64, noise: f64) -> &'static str {
    match difference {
        difference if difference.abs() <= noise => "noise",
        difference if difference > 0.0 => "slower",
        _ => "faster",
    }
}

/// `lab compare`: a document that compares runs with the first one.
pub fn compare(names: &[String]) -> Result<Document> {
    if names.len() < 2 {
        return Err(LabError::new("a comparison needs at least two runs"));
    }
    let runs = names.iter().map(|name| Figures::read(name)).collect::<Result<Vec<_>>>()?;
    let labels: Vec<_> = runs.iter().map(|run| run.label.clone()).collect();
    let mut document = Document {
        title: "Comparison of runs".into(),
        subtitle: labels.join(" against "),
        sections: Vec::new(),
    };
    document.section("Response times", vec![table(&runs)]);
    let noise = format!(
        "Noise is the spread of a level's repeats (p95), the larger of both runs; {USUAL_NOISE} % for runs without \
         repeats. Differences within it are not called faster or slower."
    );
    document.section("Method", vec![Block::Text(noise)]);
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(p95: f64, noise: Option<f64>) -> Figures {
        let transaction = json!({ "t": { "p95_ms": p95, "noise_percent": noise } });
        Figures::of(&json!({ "levels": [{ "users": 8, "transactions": transaction }] }), "run")
    }

    fn row(a: &Figures, b: &Figures) -> Vec<String> {
        match table(&[a.clone(), b.clone()]) {
            Block::Table(table) => table.rows[0].clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_difference_within_the_repeats_spread_is_noise() {
        assert_eq!(row(&run(10.0, Some(30.0)), &run(12.0, Some(5.0)))[5..], ["+20.0", "30.0", "noise"]);
        assert_eq!(row(&run(10.0, Some(3.0)), &run(12.0, Some(5.0)))[5..], ["+20.0", "5.00", "slower"]);
        assert_eq!(row(&run(10.0, None), &run(5.0, None))[5..], ["-50.0", "10.0", "faster"]);
    }

    #[test]
    fn every_published_run_has_figures_of_each_of_its_transactions() {
        for reference in &PUBLISHED {
            let figures = published(reference.name).unwrap();
            for (_, transaction) in reference.transactions {
                assert!(
                    figures.values.keys().any(|(name, ..)| name == transaction),
                    "{}: {transaction}",
                    reference.name
                );
            }
        }
        let average = |name: &str, users| {
            published(name).unwrap().values[&("check-in".to_string(), users, "average_ms")]
        };
        assert_eq!(average("cico-goldenrod", 1), 1060.0);
        assert_eq!(average("cico-fameflower", 1), 881.0);
    }
}
