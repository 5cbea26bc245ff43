//! `lab gate`: fails when a desk action costs more than a committed baseline allows.
//!
//! Counts (statements, round trips, buffers, records and bytes of write-ahead log) are medians over single actions, so
//! neither a background job nor a busy machine changes them. Processor time is compared as a ratio to the floor's in the
//! same run, with the noise that the baseline's own repeats had.

use crate::cico::{TestData, TestDataFiles};
use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{Context, LabError, Result};
use crate::floor::connect;
use crate::player::on_own_thread;
use http::Method;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Client;
use uuid::Uuid;

/// Single actions of each kind.
const ACTIONS: usize = 41;
/// Actions before them, which fill caches and prepare statements.
const WARM_UP: usize = 30;
/// By how much buffers and write-ahead log may grow: pages split.
const PAGES_MARGIN: f64 = 0.10;
/// By how much a ratio of processor times may fall where the baseline has no repeats to tell the noise: those on a busy
/// machine differ by less than a quarter, as a rule.
const RATIO_MARGIN: f64 = 0.25;
/// How much below the lowest repeat of the baseline a ratio may be.
const BELOW_THE_NOISE: f64 = 0.05;

/// The kind of a figure, which determines the allowed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Statements, round trips, missing indexes: never more.
    Count,
    /// Buffers, records and bytes of write-ahead log: at most 10 % more.
    Pages,
    /// The floor's processor time divided by ours: at most 5 % less than the lowest of the baseline's repeats, or 25 % less
    /// than the only one.
    Ratio,
}

impl Kind {
    fn of(name: &str) -> Kind {
        match name {
            name if name.starts_with("cpu ratio") => Kind::Ratio,
            name if ["buffers", "WAL records", "WAL bytes"].iter().any(|pages| name.ends_with(pages)) => {
                Kind::Pages
            }
            _ => Kind::Count,
        }
    }

    fn allows(self, value: f64, baseline: &Allowed) -> bool {
        match (self, baseline.lowest) {
            (Kind::Count, _) => value <= baseline.value,
            (Kind::Pages, _) => value <= baseline.value * (1.0 + PAGES_MARGIN),
            (Kind::Ratio, None) => value >= baseline.value * (1.0 - RATIO_MARGIN),
            (Kind::Ratio, Some(lowest)) => value >= lowest * (1.0 - BELOW_THE_NOISE),
        }
    }
}

/// Figures by name.
pub type GateFigures = BTreeMap<String, f64>;

/// What the baseline says of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowed {
    /// The figure, or the median of its repeats.
    pub value: f64,
    /// The lowest of its repeats.
    pub lowest: Option<f64>,
}

/// A committed baseline: figures by name.
pub type GateBaseline = BTreeMap<String, Allowed>;

/// What repeated runs say together.
#[derive(Debug, Default)]
pub struct GateRuns {
    runs: Vec<GateFigures>,
}

impl GateRuns {
    /// Adds a run.
    pub fn add(&mut self, figures: GateFigures) {
        self.runs.push(figures);
    }

    /// The median of each figure.
    pub fn medians(&self) -> GateFigures {
        self.named().map(|(name, values)| (name.to_owned(), median(values))).collect()
    }

    /// The medians with the noise of the ratios.
    pub fn baseline(&self) -> GateBaseline {
        let allowed = |(name, values): (&str, Vec<f64>)| {
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
            let has_noise = Kind::of(name) == Kind::Ratio && values.len() > 1;
            let value = median(values);
            (name.to_owned(), Allowed { value, lowest: has_noise.then_some(lowest) })
        };
        self.named().map(allowed).collect()
    }

    /// A table of the lowest, the median and the highest value of each figure, and of how many runs alone would have
    /// failed for it.
    pub fn steadiness(&self, baseline: &GateBaseline) -> String {
        let mut table =
            format!("{:<32}{:>12}{:>12}{:>12}  runs that fail\n", "", "lowest", "median", "highest");
        for (name, values) in self.named() {
            let fails = baseline.get(name).map_or(0, |allowed| {
                values.iter().filter(|value| !Kind::of(name).allows(**value, allowed)).count()
            });
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (runs, median) = (values.len(), median(values));
            table.push_str(&format!(
                "{name:<32}{lowest:>12.2}{median:>12.2}{highest:>12.2}  {fails} of {runs}\n"
            ));
        }
        table
    }

    fn named(&self) -> impl Iterator<Item = (&str, Vec<f64>)> {
        let names: BTreeSet<&str> = self.runs.iter().flatten().map(|(name, _)| name.as_str()).collect();
        names
            .into_iter()
            .map(|name| (name, self.runs.iter().filter_map(|run| run.get(name)).copied().collect()))
    }
}

/// Measures the counts of single check-outs and check-ins on a server with its database.
pub async fn count_actions(
    address: String,
    credentials: Credentials,
    database: String,
) -> Result<GateFigures> {
    on_own_thread(move || async move {
        let address = Address::parse(&address)?;
        let mut connection = Connection::new(address);
        let session = Session::login(&mut connection, credentials.clone()).await?;
        let most = WARM_UP + ACTIONS;
        let data = TestData::find(&mut connection, &session, &TestDataFiles::default(), most, most).await?;
        if data.items.len() < most {
            return Err(LabError::new(format!("the gate needs {most} available items, {} were found", data.items.len())));
        }
        let client = connect(&database.parse().context("reading the database's address")?).await?;
        let role = format!("library_{}", credentials.tenant);
        let mut figures = GateFigures::new();
        // The first round touches each page, which costs a whole image of it in the log after a checkpoint.
        for (round, action) in [(0, "check-out"), (0, "check-in"), (1, "check-out"), (1, "check-in")] {
            let mut costs: Vec<Cost> = Vec::new();
            for (turn, item) in data.items[..most].iter().enumerate() {
                let user = &data.users[turn % data.users.len()];
                let body = match action {
                    "check-out" => json!({ "id": Uuid::new_v4(), "itemBarcode": item, "userBarcode": user,
                        "servicePointId": data.service_point, "loanDate": jiff::Timestamp::now().to_string() }),
                    _ => json!({ "id": Uuid::new_v4(), "itemBarcode": item, "servicePointId": data.service_point,
                        "checkInDate": jiff::Timestamp::now().to_string() }),
                };
                let before = cost(&client, &role, &mut connection, &session).await?;
                let target = format!("/circulation/{action}-by-barcode");
                let answer = session.send(&mut connection, Method::POST, &target, &body).await?;
                if !answer.status.is_success() {
                    return Err(LabError::new(format!("{action} of {item} answered {}", answer.brief())));
                }
                let after = cost(&client, &role, &mut connection, &session).await?;
                if round > 0 && turn >= WARM_UP {
                    costs.push(after.since(&before));
                }
            }
            if round > 0 {
                figures.extend(medians_of(action, &costs));
            }
        }
        let missing = session.get(&mut connection, "/admin/missing-indexes").await?;
        figures.insert("missing indexes".into(), missing["totalRecords"].as_f64().unwrap_or(0.0));
        Ok(figures)
    })
    .await
}

/// What the statements of a tenant have cost so far, or what one action cost.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    statements: f64,
    round_trips: f64,
    buffers: f64,
    wal_records: f64,
    wal_bytes: f64,
    /// Whole pages in the log.
    page_images: f64,
}

impl Cost {
    fn since(&self, before: &Cost) -> Cost {
        Cost {
            statements: self.statements - before.statements,
            round_trips: self.round_trips - before.round_trips,
            buffers: self.buffers - before.buffers,
            wal_records: self.wal_records - before.wal_records,
            wal_bytes: self.wal_bytes - before.wal_bytes,
            page_images: self.page_images - before.page_images,
        }
    }
}

/// The medians of an action's figures. Bytes of write-ahead log are those of actions without whole pages in it.
fn medians_of(action: &str, costs: &[Cost]) -> GateFigures {
    let mut figures = GateFigures::new();
    let mut add = |name: &str, values: Vec<f64>| {
        if !values.is_empty() {
            figures.insert(format!("{action}: {name}"), median(values));
        }
    };
    add("statements", costs.iter().map(|cost| cost.statements).collect());
    add("round trips", costs.iter().map(|cost| cost.round_trips).collect());
    add("buffers", costs.iter().map(|cost| cost.buffers).collect());
    add("WAL records", costs.iter().map(|cost| cost.wal_records).collect());
    let without_images = costs.iter().filter(|cost| cost.page_images == 0.0);
    add("WAL bytes", without_images.map(|cost| cost.wal_bytes).collect());
    figures
}

/// What the tenant's statements have cost so far.
async fn cost(client: &Client, role: &str, connection: &mut Connection, session: &Session) -> Result<Cost> {
    let row = client
        .query_one(
            "select coalesce(sum(calls), 0)::float8, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8,
                 coalesce(sum(wal_records), 0)::float8, coalesce(sum(wal_bytes), 0)::float8,
                 coalesce(sum(wal_fpi), 0)::float8
             from pg_stat_statements s join pg_roles r on r.oid = s.userid
             where r.rolname = $1 and query ~* '^ *(SELECT|WITH|INSERT|UPDATE|DELETE)'",
            &[&role],
        )
        .await
        .context("reading pg_stat_statements")?;
    let answer = connection.call(Method::GET, "/metrics", &session.headers(), Default::default()).await?;
    let text = String::from_utf8_lossy(&answer.body);
    let round_trips = text
        .lines()
        .find_map(|line| line.strip_prefix("carrel_database_round_trips_total{module=\"mod-circulation\"} "))
        .and_then(|number| number.parse().ok())
        .unwrap_or(0.0);
    Ok(Cost {
        statements: row.get(0),
        round_trips,
        buffers: row.get(1),
        wal_records: row.get(2),
        wal_bytes: row.get(3),
        page_images: row.get(4),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The table of all figures with the baseline's, and a sentence for each figure that got worse.
pub fn judge(figures: &GateFigures, baseline: &GateBaseline) -> (String, Vec<String>) {
    let mut table = format!("{:<32}{:>12}{:>12}  verdict\n", "", "baseline", "now");
    let mut worse = Vec::new();
    for (name, value) in figures {
        let verdict = match baseline.get(name) {
            None => "new",
            Some(allowed) if Kind::of(name).allows(*value, allowed) => "good",
            Some(allowed) => {
                let allowed = allowed.lowest.unwrap_or(allowed.value);
                worse.push(format!("{name}: {value:.2}, the baseline allows {allowed:.2}"));
                "WORSE"
            }
        };
        let before = baseline.get(name).map_or(String::new(), |allowed| format!("{:.2}", allowed.value));
        table.push_str(&format!("{name:<32}{before:>12}{value:>12.2}  {verdict}\n"));
    }
    for name in baseline.keys().filter(|name| !figures.contains_key(*name)) {
        table.push_str(&format!("{name:<32} not measured this time\n"));
    }
    (table, worse)
}

/// A baseline as it stands in a file: a number, or an object of median and lowest.
pub fn gate_json(baseline: &GateBaseline) -> Value {
    let rounded = |value: f64| json!((value * 1000.0).round() / 1000.0);
    let figure = |allowed: &Allowed| match allowed.lowest {
        None => rounded(allowed.value),
        Some(lowest) => json!({ "median": rounded(allowed.value), "lowest": rounded(lowest) }),
    };
    Value::Object(
        baseline.iter().map(|(name, allowed)| (name.clone(), figure(allowed))).collect::<Map<_, _>>(),
    )
}

/// Reads a baseline from a file's text.
pub fn gate_baseline(text: &str) -> Result<GateBaseline> {
    let file: Map<String, Value> = serde_json::from_str(text).context("reading the gate's baseline")?;
    let figure = |(name, figure): (String, Value)| {
        let value = figure.as_f64().or_else(|| figure["median"].as_f64());
        let value =
            value.ok_or_else(|| LabError::new(format!("the gate's baseline: {name} is no number")))?;
        Ok((name, Allowed { value, lowest: figure["lowest"].as_f64() }))
    };
    file.into_iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worse(name: &str, value: f64, baseline: f64) -> bool {
        let allowed = Allowed { value: baseline, lowest: None };
        let (figures, baseline) = ([(name.to_string(), value)], [(name.to_string(), allowed)]);
        !judge(&figures.into(), &baseline.into()).1.is_empty()
    }

    fn runs(name: &str, values: &[f64]) -> GateRuns {
        GateRuns {
            runs: values.iter().map(|value| GateFigures::from([(name.to_string(), *value)])).collect(),
        }
    }

    #[test]
    fn one_statement_more_is_worse() {
        assert!(worse("check-out: statements", 4.0, 3.0));
        assert!(!worse("check-out: statements", 2.0, 3.0));
    }

    #[test]
    fn pages_and_ratios_have_a_margin() {
        assert!(
            !worse("check-out: WAL records", 109.0, 100.0) && worse("check-out: WAL records", 111.0, 100.0)
        );
        assert!(
            !worse("cpu ratio: check-out, 8 users", 0.31, 0.4)
                && worse("cpu ratio: check-out, 8 users", 0.29, 0.4)
        );
    }

    #[test]
    fn a_figure_without_baseline_is_new_and_not_worse() {
        let (table, worse) = judge(&GateFigures::from([("x".into(), 1.0)]), &GateBaseline::new());
        assert!(worse.is_empty() && table.contains("new"));
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        for name in ["a: buffers", "cpu ratio: check-out, 8 users"] {
            let baseline = runs(name, &[0.25, 0.375, 0.5]).baseline();
            assert_eq!(gate_baseline(&gate_json(&baseline).to_string()).unwrap(), baseline);
        }
    }

    #[test]
    fn repeats_widen_what_a_baseline_allows_a_ratio() {
        let name = "cpu ratio: check-out, 8 users";
        let baseline = runs(name, &[0.40, 0.24, 0.42]).baseline();
        let is_worse = |value| !judge(&runs(name, &[value]).medians(), &baseline).1.is_empty();
        assert!(!is_worse(0.23) && is_worse(0.22));
        let steadiness = runs(name, &[0.40, 0.20]).steadiness(&baseline);
        assert!(steadiness.contains("1 of 2"), "{steadiness}");
    }

    #[test]
    fn log_bytes_are_those_of_actions_that_write_no_whole_page() {
        let cost = |wal_bytes, page_images| Cost { wal_bytes, page_images, ..Cost::default() };
        let figures = medians_of("check-in", &[cost(9000.0, 1.0), cost(700.0, 0.0), cost(8000.0, 1.0)]);
        assert_eq!(figures["check-in: WAL bytes"], 700.0);
        assert!(!medians_of("check-in", &[cost(9000.0, 1.0)]).contains_key("check-in: WAL bytes"));
    }

    #[test]
    fn a_median_leaves_out_what_a_background_job_did_once() {
        assert_eq!(median(vec![3.0, 3.0, 90.0, 3.0, 4.0]), 3.0);
    }
}
