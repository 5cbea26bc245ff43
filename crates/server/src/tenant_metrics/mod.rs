//! Metrics by tenant: connections, replicas, lock waits, jobs, events.

mod outbox_lag;

use carrel_circulation::check_out_lock;
use carrel_circulation::desk::scan_figures::{self, ScanKind};
use carrel_circulation::{check_in, check_out};
use carrel_platform::http::BOUNDS;
use carrel_platform::tenant::schema_of;
use carrel_platform::{Node, Tenant};
use std::fmt::Write;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Tenants whose events are counted at each scrape, at most.
const MAX_TENANTS: usize = 100;

/// One sample of a metric: its labels and its value.
type Sample = (String, f64);

/// All metrics as text. Those that need the database are omitted while it is unreachable.
pub async fn text(node: &Arc<Node>) -> String {
    let tenants = node.tenants();
    let mut text = String::new();
    family(
        &mut text,
        "carrel_connections",
        "gauge",
        "Database connections by tenant.",
        connections(&tenants),
    );
    family(
        &mut text,
        "carrel_database_connections",
        "gauge",
        "Connections of this node to each database: open ones, and as many as may be.",
        database_connections(&tenants),
    );
    let (hits, misses) = caches(&tenants);
    family(
        &mut text,
        "carrel_cache_hits_total",
        "counter",
        "Cached values (rules, permissions and others) that were found up to date.",
        hits,
    );
    family(
        &mut text,
        "carrel_cache_misses_total",
        "counter",
        "Cached values that were reloaded because the settings version had changed.",
        misses,
    );
    let (scans, transactions) = scans(&tenants);
    family(&mut text, "carrel_scans_total", "counter", "Check-outs and check-ins.", scans);
    family(
        &mut text,
        "carrel_scan_transactions_total",
        "counter",
        "Transactions of check-outs and check-ins; concurrent ones share a transaction.",
        transactions,
    );
    let (buckets, counts) = scan_times(&tenants);
    family(
        &mut text,
        "carrel_scan_seconds_bucket",
        "gauge",
        "Check-outs, check-ins and renewals by the time that they took, cumulative.",
        buckets,
    );
    family(&mut text, "carrel_scan_seconds_count", "gauge", "Scans that were timed.", counts);
    family(
        &mut text,
        "carrel_reads_total",
        "counter",
        "Reads by the server that answered them.",
        reads(&tenants),
    );
    let (behind, in_use) = replicas(&tenants);
    family(
        &mut text,
        "carrel_replica_bytes_behind",
        "gauge",
        "Bytes of WAL that a replica had not yet replayed at the last check.",
        behind,
    );
    family(
        &mut text,
        "carrel_replica_in_use",
        "gauge",
        "1 while a replica is used, 0 while it is skipped.",
        in_use,
    );
    for (name, kind, help, key, scale) in [
        (
            "carrel_check_outs_total",
            "counter",
            "Check-outs whose facts this node has read.",
            "checkOuts",
            1.0,
        ),
        (
            "carrel_check_out_waits_total",
            "counter",
            "Check-outs that waited for another one of the same patron or item.",
            "waits",
            1.0,
        ),
        (
            "carrel_check_out_longest_wait_seconds",
            "gauge",
            "The longest wait of a check-out for a lock since the start.",
            "longestMilliseconds",
            1e-3,
        ),
    ] {
        let figure = |tenant: &Arc<Tenant>| {
            let value = check_out_lock::figures(tenant)[key].as_f64().unwrap_or(0.0) * scale;
            (format!("tenant=\"{}\"", tenant.id), value)
        };
        family(&mut text, name, kind, help, tenants.iter().map(figure).collect());
    }
    let (runs, failures, late) = jobs(node).await.unwrap_or_default();
    family(&mut text, "carrel_job_runs_total", "counter", "Runs of background work, by all nodes.", runs);
    family(&mut text, "carrel_job_failures_total", "counter", "Runs that failed.", failures);
    family(&mut text, "carrel_job_late_seconds", "gauge", "Time for which due jobs have not started.", late);
    let events = events(&tenants).await;
    family(&mut text, "carrel_events_total", "counter", "Events written to the outbox.", events);
    let (unread, ages) = outbox_lag::samples(&tenants).await;
    family(
        &mut text,
        "carrel_unread_events",
        "gauge",
        "Events that a reader has not read yet; at most 10000 are counted.",
        unread,
    );
    family(&mut text, "carrel_oldest_unread_event_seconds", "gauge", "Age of the oldest unread event.", ages);
    text
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: Vec<Sample>) {
    if samples.is_empty() {
        return;
    }
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{{{labels}}} {value}");
    }
}

fn connections(tenants: &[Arc<Tenant>]) -> Vec<Sample> {
    let of = |tenant: &Arc<Tenant>| {
        let of_pool = |(work, (open, idle, waiting)): (&'static str, (usize, usize, usize))| {
            [("open", open), ("idle", idle), ("waiting", waiting)].map(|(state, number)| {
                (format!("tenant=\"{}\",pool=\"{work}\",state=\"{state}\"", tenant.id), number as f64)
            })
        };
        tenant.pool_use().into_iter().flat_map(of_pool).collect::<Vec<_>>()
    };
    tenants.iter().flat_map(of).collect()
}

/// Databases are numbered in the order of their first tenants.
fn database_connections(tenants: &[Arc<Tenant>]) -> Vec<Sample> {
    let of_databases = by_database(tenants);
    let of = |(number, tenants): (usize, &Vec<Arc<Tenant>>)| {
        let (open, limit) = tenants[0].database().connections();
        [("open", open), ("limit", limit)].map(|(state, connections)| {
            (format!("database=\"{number}\",state=\"{state}\""), connections as f64)
        })
    };
    (1..).zip(&of_databases).flat_map(of).collect()
}

fn replicas(tenants: &[Arc<Tenant>]) -> (Vec<Sample>, Vec<Sample>) {
    let (mut behind, mut in_use) = (Vec::new(), Vec::new());
    for tenant in tenants {
        for (place, state) in tenant.replicas().into_iter().enumerate() {
            let labels = format!("tenant=\"{}\",replica=\"{}\"", tenant.id, place + 1);
            behind.push((labels.clone(), state.behind as f64));
            in_use.push((labels, f64::from(u8::from(state.in_use))));
        }
    }
    (behind, in_use)
}

/// Reads by server: the primary and each replica.
fn reads(tenants: &[Arc<Tenant>]) -> Vec<Sample> {
    let of = |tenant: &Arc<Tenant>| {
        let id = tenant.id.clone();
        let sample =
            move |server: String, reads: u64| (format!("tenant=\"{id}\",server=\"{server}\""), reads as f64);
        let replicas = tenant.replicas();
        std::iter::once(("primary".to_owned(), tenant.reads_of_the_primary()))
            .chain(
                replicas.into_iter().zip(1..).map(|(state, place)| (format!("replica {place}"), state.reads)),
            )
            .map(move |(server, reads)| sample(server, reads))
            .collect::<Vec<_>>()
    };
    tenants.iter().flat_map(of).collect()
}

fn scans(tenants: &[Arc<Tenant>]) -> (Vec<Sample>, Vec<Sample>) {
    let (mut scans, mut transactions) = (Vec::new(), Vec::new());
    for tenant in tenants {
        let kinds =
            [("check-out", check_out::batch_figures(tenant)), ("check-in", check_in::batch_figures(tenant))];
        for (kind, (calls, batches)) in kinds {
            let labels = format!("tenant=\"{}\",scan=\"{kind}\"", tenant.id);
            scans.push((labels.clone(), calls as f64));
            transactions.push((labels, batches as f64));
        }
    }
    (scans, transactions)
}

/// Cumulative counts of scans by kind and upper bound in seconds, and their totals; none of kinds without a scan.
fn scan_times(tenants: &[Arc<Tenant>]) -> (Vec<Sample>, Vec<Sample>) {
    let (mut buckets, mut counts) = (Vec::new(), Vec::new());
    for tenant in tenants {
        for kind in ScanKind::ALL {
            let histogram = scan_figures::times(tenant, kind);
            let total: u64 = histogram.iter().sum();
            if total == 0 {
                continue;
            }
            let labels = format!("tenant=\"{}\",scan=\"{}\"", tenant.id, kind.name());
            let mut sum = 0;
            for (index, number) in histogram.iter().enumerate() {
                sum += number;
                let bound =
                    BOUNDS.get(index).map_or("+Inf".to_owned(), |micros| (*micros as f64 / 1e6).to_string());
                buckets.push((format!("{labels},le=\"{bound}\""), sum as f64));
            }
            counts.push((labels, total as f64));
        }
    }
    (buckets, counts)
}

fn caches(tenants: &[Arc<Tenant>]) -> (Vec<Sample>, Vec<Sample>) {
    let (mut hits, mut misses) = (Vec::new(), Vec::new());
    for tenant in tenants {
        for served in tenant.cache.served() {
            let labels = format!("tenant=\"{}\",value=\"{}\"", tenant.id, served.name);
            hits.push((labels.clone(), served.hits as f64));
            misses.push((labels, served.misses as f64));
        }
    }
    (hits, misses)
}

async fn jobs(node: &Node) -> Option<(Vec<Sample>, Vec<Sample>, Vec<Sample>)> {
    let connection = node.platform().await.ok()?;
    let rows = connection
        .query(
            "SELECT tenant, name, runs::float8, failures::float8,
                 CASE WHEN due < 'infinity'
                     THEN greatest(extract(epoch FROM clock_timestamp() - due), 0)::float8 ELSE 0 END
             FROM platform.job ORDER BY tenant, name",
            vec![],
        )
        .await
        .ok()?;
    let all = |column: usize| -> Vec<Sample> {
        rows.iter()
            .map(|row| {
                let (tenant, name): (String, String) = (row.get(0), row.get(1));
                (format!("tenant=\"{tenant}\",job=\"{name}\""), row.get(column))
            })
            .collect()
    };
    Some((all(2), all(3), all(4)))
}

async fn events(tenants: &[Arc<Tenant>]) -> Vec<Sample> {
    let of_databases = by_database(&tenants[..tenants.len().min(MAX_TENANTS)]);
    let tasks: JoinSet<_> = of_databases.into_iter().map(events_of).collect();
    tasks.join_all().await.into_iter().flatten().flatten().collect()
}

/// The tenants of each database.
fn by_database(tenants: &[Arc<Tenant>]) -> Vec<Vec<Arc<Tenant>>> {
    let mut by_database: Vec<Vec<Arc<Tenant>>> = Vec::new();
    for tenant in tenants {
        let same = |others: &&mut Vec<Arc<Tenant>>| Arc::ptr_eq(others[0].database(), tenant.database());
        match by_database.iter_mut().find(same) {
            Some(others) => others.push(Arc::clone(tenant)),
            None => by_database.push(vec![Arc::clone(tenant)]),
        }
    }
    by_database
}

/// The events of tenants in one database.
async fn events_of(tenants: Vec<Arc<Tenant>>) -> Option<Vec<Sample>> {
    // The names contain only characters of tenant ids.
    let one = |tenant: &Arc<Tenant>| {
        format!("SELECT '{}', coalesce(max(id), 0)::float8 FROM {}.outbox", tenant.id, schema_of(&tenant.id))
    };
    let all: Vec<String> = tenants.iter().map(one).collect();
    let connection = tenants.first()?.upkeep().await.ok()?;
    // The text depends on the set of tenants, so it is not prepared.
    let answers = connection.client().simple_query(&all.join(" UNION ALL ")).await.ok()?;
    let sample = |answer: &tokio_postgres::SimpleQueryMessage| match answer {
        tokio_postgres::SimpleQueryMessage::Row(row) => {
            Some((format!("tenant=\"{}\"", row.get(0)?), row.get(1)?.parse().ok()?))
        }
        _ => None,
    };
    Some(answers.iter().filter_map(sample).collect())
}
