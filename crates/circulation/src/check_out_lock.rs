//! Lock waits of check-outs: how often and how long they waited for another check-out of the same patron or another
//! scan of the same item.
//!
//! Route: `GET /admin/check-out-locks`. Figures of this node since its start; the number of current waits comes from
//! the database.

use carrel_platform::{Answer, Call, Router, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

pub fn connect(router: &mut Router) {
    router.on("GET", "/admin/check-out-locks", show);
}

async fn show(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    // The tenant's role may not see the activity of other connections.
    let connection = tenant.upkeep().await?;
    let rows = connection
        .query(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = $1 AND wait_event_type = 'Lock'",
            vec![format!("carrel {}", tenant.schema).into()],
        )
        .await?;
    let mut figures = figures(tenant);
    figures["waitingNow"] = rows.first().map_or(0, |row| row.get::<_, i64>(0)).into();
    Ok(Answer::json(&figures))
}

/// Shorter times are the round trip, not a lock.
const A_WAIT: Duration = Duration::from_millis(5);
/// Waits that are stored per tenant, at most.
const REMEMBERED: usize = 100;

#[derive(Default)]
struct Waits {
    scans: u64,
    waits: u64,
    total: Duration,
    longest: Duration,
    last: VecDeque<Wait>,
}

#[derive(Debug)]
struct Wait {
    at: Timestamp,
    took: Duration,
    user_barcode: String,
    item_barcode: String,
}

/// Records how long the facts of a check-out took to arrive: one round trip if no lock was taken. The barcodes of the
/// last waits stay in memory only, for operators.
pub fn waited(tenant: &Tenant, all_read: Duration, user_barcode: &str, item_barcode: &str) {
    let waits = tenant.state.of::<Mutex<Waits>>();
    let mut waits = waits.lock().expect("no holder of this lock panics");
    waits.scans += 1;
    if all_read < A_WAIT {
        return;
    }
    waits.waits += 1;
    waits.total += all_read;
    waits.longest = waits.longest.max(all_read);
    if waits.last.len() == REMEMBERED {
        waits.last.pop_front();
    }
    waits.last.push_back(Wait {
        at: Timestamp::now(),
        took: all_read,
        user_barcode: user_barcode.into(),
        item_barcode: item_barcode.into(),
    });
}

/// The figures of a tenant.
pub fn figures(tenant: &Tenant) -> Value {
    let waits = tenant.state.of::<Mutex<Waits>>();
    let waits = waits.lock().expect("no holder of this lock panics");
    let last: Vec<Value> = waits
        .last
        .iter()
        .map(|wait| {
            json!({
                "at": wait.at.to_string(),
                "milliseconds": wait.took.as_millis() as u64,
                "userBarcode": wait.user_barcode,
                "itemBarcode": wait.item_barcode,
            })
        })
        .collect();
    json!({
        "checkOuts": waits.scans,
        "waits": waits.waits,
        "rate": waits.waits as f64 / waits.scans.max(1) as f64,
        "longestMilliseconds": waits.longest.as_millis() as u64,
        "meanMilliseconds": (waits.total.as_millis() as u64).checked_div(waits.waits).unwrap_or(0),
        "last": last,
    })
}
