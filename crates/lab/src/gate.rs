//! `lab gate`: fails when a desk action costs more than a committed baseline allows.
//!
//! Counts (statements, round trips, buffers, records of write-ahead log) are medians over single actions, so neither a
//! background job nor a busy machine changes them. Processor time is compared as a ratio to the floor's in the same run,
//! with a wide margin.

use crate::cico::{TestData, TestDataFiles};
use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{Context, LabError, Result};
use crate::floor::connect;
use crate::player::on_own_thread;
use http::Method;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tokio_postgres::Client;
use uuid::Uuid;

/// Single actions of each kind.
const ACTIONS: usize = 41;
/// Actions before them, which fill caches and prepare statements.
const WARM_UP: usize = 30;
/// By how much buffers and records of write-ahead log may grow: pages split. Bytes of write-ahead log are not compared,
/// since full page images come and go with checkpoints.
const PAGES_MARGIN: f64 = 0.10;
/// By how much a ratio of processor times may fall before it counts as worse: repeats on a busy machine differ by less
/// than a quarter, as a rule.
const RATIO_MARGIN: f64 = 0.25;

/// What is counted, and how it may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Statements, round trips, missing indexes: never more.
    Count,
    /// Buffers and records of write-ahead log: at most 10 % more.
    Pages,
    /// The floor's processor time divided by ours: at most 25 % less.
    Ratio,
}

impl Kind {
    fn of(name: &str) -> Kind {
        match name {
            name if name.starts_with("cpu ratio") => Kind::Ratio,
            name if name.ends_with("buffers") || name.ends_with("WAL records") => Kind::Pages,
            _ => Kind::Count,
        }
    }

    fn allows(self, value: f64, baseline: f64) -> bool {
        match self {
            Kind::Count => value <= baseline,
            Kind::Pages => value <= baseline * (1.0 + PAGES_MARGIN),
            Kind::Ratio => value >= baseline * (1.0 - RATIO_MARGIN),
        }
    }
}

/// Figures by name.
pub type GateFigures = BTreeMap<String, f64>;

/// Counts what single check-outs and check-ins cost on a server with its database.
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
        for action in ["check-out", "check-in"] {
            let mut costs: Vec<[f64; 4]> = Vec::new();
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
                if turn >= WARM_UP {
                    costs.push([0, 1, 2, 3].map(|index| after[index] - before[index]));
                }
            }
            for (index, name) in ["statements", "round trips", "buffers", "WAL records"].into_iter().enumerate() {
                figures.insert(format!("{action}: {name}"), median(costs.iter().map(|cost| cost[index]).collect()));
            }
        }
        let missing = session.get(&mut connection, "/admin/missing-indexes").await?;
        figures.insert("missing indexes".into(), missing["totalRecords"].as_f64().unwrap_or(0.0));
        Ok(figures)
    })
    .await
}

/// Statements, round trips, buffers and records of write-ahead log so far.
async fn cost(
    client: &Client,
    role: &str,
    connection: &mut Connection,
    session: &Session,
) -> Result<[f64; 4]> {
    let row = client
        .query_one(
            "select coalesce(sum(calls), 0)::float8, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8,
                 coalesce(sum(wal_records), 0)::float8
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
    Ok([row.get(0), round_trips, row.get(1), row.get(2)])
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The table of all figures beside the baseline's, and the sentences that say what got worse.
pub fn judge(figures: &GateFigures, baseline: &GateFigures) -> (String, Vec<String>) {
    let mut table = format!("{:<32}{:>12}{:>12}  verdict\n", "", "baseline", "now");
    let mut worse = Vec::new();
    for (name, value) in figures {
        let verdict = match baseline.get(name) {
            None => "new",
            Some(allowed) if Kind::of(name).allows(*value, *allowed) => "good",
            Some(allowed) => {
                worse.push(format!("{name}: {value:.2}, the baseline allows {allowed:.2}"));
                "WORSE"
            }
        };
        let before = baseline.get(name).map_or(String::new(), |value| format!("{value:.2}"));
        table.push_str(&format!("{name:<32}{before:>12}{value:>12.2}  {verdict}\n"));
    }
    for name in baseline.keys().filter(|name| !figures.contains_key(*name)) {
        table.push_str(&format!("{name:<32} not measured this time\n"));
    }
    (table, worse)
}

/// Figures as they stand in a file.
pub fn gate_json(figures: &GateFigures) -> Value {
    let rounded =
        figures.iter().map(|(name, value)| (name.clone(), json!((value * 1000.0).round() / 1000.0)));
    Value::Object(rounded.collect::<Map<_, _>>())
}

/// Reads figures from a file's text.
pub fn gate_figures(text: &str) -> Result<GateFigures> {
    serde_json::from_str(text).context("reading the gate's baseline")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worse(name: &str, value: f64, baseline: f64) -> bool {
        let one = |value| GateFigures::from([(name.to_string(), value)]);
        !judge(&one(value), &one(baseline)).1.is_empty()
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
        let (table, worse) = judge(&GateFigures::from([("x".into(), 1.0)]), &GateFigures::new());
        assert!(worse.is_empty() && table.contains("new"));
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written() {
        let figures = GateFigures::from([("a: buffers".to_string(), 49.0)]);
        assert_eq!(gate_figures(&gate_json(&figures).to_string()).unwrap(), figures);
    }

    #[test]
    fn a_median_leaves_out_what_a_background_job_did_once() {
        assert_eq!(median(vec![3.0, 3.0, 90.0, 3.0, 4.0]), 3.0);
    }
}
