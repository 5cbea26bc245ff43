//! The live figures, read in one round trip: the last day by quarter hours, and the current state.

use crate::desk::scan_figures;
use crate::records::loans::LOAN;
use crate::records::requests::REQUEST;
use carrel_audit::circulation_log::{Action, LogObject};
use carrel_platform::{Pipeline, Tenant};
use carrel_records::{Failure, RecordType, time};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The period of the figures by quarter hours.
const PERIOD: SignedDuration = SignedDuration::from_hours(24);
/// Seconds of a quarter hour.
const QUARTER: i64 = 900;
/// Items that are in transit for longer may be lost on their way.
const LONG_TRANSIT: SignedDuration = SignedDuration::from_hours(3 * 24);
const OPEN_STATUSES: [&str; 4] =
    ["open - not yet filled", "open - awaiting pickup", "open - in transit", "open - awaiting delivery"];

/// A field by the expression of its index.
fn field(record: &RecordType, name: &str) -> String {
    let field = record.fields.iter().find(|field| field.name == name).expect("the record declares the field");
    carrel_cql::sql::expression(field, record.table)
}

/// Check-outs, renewals and check-ins since `$1` by quarter hour and service point, from the circulation log, which is
/// written with them and has an index on the time.
static QUARTERS: LazyLock<String> = LazyLock::new(|| {
    let named = |actions: &[Action]| -> String {
        let names: Vec<String> = actions.iter().map(|action| format!("'{}'", action.name())).collect();
        names.join(", ")
    };
    let check_outs = named(&[Action::CheckedOut, Action::CheckedOutThroughOverride]);
    let renewals = named(&[Action::Renewed, Action::RenewedThroughOverride]);
    let check_ins = named(&[Action::CheckedIn]);
    format!(
        "SELECT CASE WHEN action IN ({check_outs}) THEN 'checkOut' WHEN action IN ({renewals}) THEN 'renewal'
                 ELSE 'checkIn' END AS kind,
             service_point_id::text AS service_point, floor(extract(epoch FROM at) / {QUARTER})::bigint AS quarter,
             count(*) AS number
         FROM circulation_log WHERE at >= $1 AND action IN ({check_outs}, {renewals}, {check_ins})
         GROUP BY 1, 2, 3 ORDER BY 3, 1, 2"
    )
});

/// Open loans, and those that are due before `$1`.
static LOANS: LazyLock<String> = LazyLock::new(|| {
    let (status, due) = (field(&LOAN, "status.name"), field(&LOAN, "dueDate"));
    format!(
        "SELECT count(*) AS open, count(*) FILTER (WHERE {due} < $1) AS overdue FROM loan WHERE {status} = 'open'"
    )
});

/// Open requests by type, status and pickup service point, and those whose hold shelf expiration date is before `$2`.
static REQUESTS: LazyLock<String> = LazyLock::new(|| {
    let status = field(&REQUEST, "status");
    format!(
        "SELECT coalesce(doc->>'requestType', '') AS type, coalesce(doc->>'status', '') AS status,
             pickup_service_point_id::text AS service_point, count(*) AS number,
             count(*) FILTER (WHERE doc->>'status' = 'Open - Awaiting pickup'
                 AND carrel.instant(doc->>'holdShelfExpirationDate') < $2) AS expired
         FROM request WHERE {status} = ANY($1) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
});

/// Items that are in transit since before `$1`, by the service point to which they go.
const TRANSITS: &str =
    "SELECT in_transit_destination::text AS destination, count(*) AS number FROM item_state
    WHERE rare_status IS NOT NULL AND (left(carrel.f_lower(rare_status), 600) COLLATE \"C\") = 'in transit'
        AND carrel.instant(status_date) < $1
    GROUP BY 1 ORDER BY 1";

/// Notices that were sent, and those that failed, since `$1`, from the circulation log.
static NOTICES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT count(*) FILTER (WHERE action = '{sent}') AS sent, count(*) FILTER (WHERE action = '{failed}') AS failed
         FROM circulation_log WHERE at >= $1 AND object = '{notice}' AND action IN ('{sent}', '{failed}')",
        sent = Action::Send.name(),
        failed = Action::SendError.name(),
        notice = LogObject::Notice.name(),
    )
});

/// The number of the newest event; it increases with every change.
pub async fn outbox_end(tenant: &Tenant) -> Result<i64, Failure> {
    let connection = tenant.background().await?;
    let rows = connection.query("SELECT coalesce(max(id), 0) AS last FROM outbox", vec![]).await?;
    Ok(rows.first().map_or(0, |row| row.get("last")))
}

/// The figures at an instant.
pub async fn load(tenant: &Tenant, now: Timestamp) -> Result<Value, Failure> {
    let mut pipeline = Pipeline::new();
    let quarters = pipeline.add(QUARTERS.as_str(), vec![(now - PERIOD).into()]);
    let loans = pipeline.add(LOANS.as_str(), vec![now.into()]);
    let statuses: Vec<String> = OPEN_STATUSES.map(str::to_owned).into();
    let requests = pipeline.add(REQUESTS.as_str(), vec![statuses.into(), now.into()]);
    let transits = pipeline.add(TRANSITS, vec![(now - LONG_TRANSIT).into()]);
    let notices = pipeline.add(NOTICES.as_str(), vec![(now - PERIOD).into()]);
    let results = tenant.background().await?.send(pipeline).await?;
    let quarters: Vec<Value> = results
        .rows(quarters)
        .iter()
        .filter_map(|row| {
            let start = Timestamp::from_second(row.get::<_, i64>("quarter") * QUARTER).ok()?;
            Some(json!({
                "start": time::format(start),
                "kind": row.get::<_, &str>("kind"),
                "servicePointId": row.get::<_, Option<&str>>("service_point"),
                "number": row.get::<_, i64>("number"),
            }))
        })
        .collect();
    let requests: Vec<Value> = results
        .rows(requests)
        .iter()
        .map(|row| {
            json!({
                "requestType": row.get::<_, &str>("type"),
                "status": row.get::<_, &str>("status"),
                "pickupServicePointId": row.get::<_, Option<&str>>("service_point"),
                "number": row.get::<_, i64>("number"),
                "expiredOnHoldShelf": row.get::<_, i64>("expired"),
            })
        })
        .collect();
    let transits: Vec<Value> = results
        .rows(transits)
        .iter()
        .map(|row| json!({"servicePointId": row.get::<_, Option<&str>>("destination"), "number": row.get::<_, i64>("number")}))
        .collect();
    let refusals: Vec<Value> = scan_figures::refusals(tenant, now)
        .into_iter()
        .map(|(start, reason, number)| json!({"start": time::format(start), "reason": reason, "number": number}))
        .collect();
    let (loans, notices) = (results.first(loans), results.first(notices));
    let count = |name: &str| loans.map_or(0, |row| row.get::<_, i64>(name));
    let notices_of = |name: &str| notices.map_or(0, |row| row.get::<_, i64>(name));
    Ok(json!({
        "at": time::format(now),
        "quarters": quarters,
        "openLoans": count("open"),
        "overdueLoans": count("overdue"),
        "requests": requests,
        "longTransits": transits,
        "noticesSent": notices_of("sent"),
        "noticesFailed": notices_of("failed"),
        // Of this node: a refusal stores nothing.
        "refusals": refusals,
    }))
}
