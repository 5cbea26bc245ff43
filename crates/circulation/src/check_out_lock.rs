//! Waiting for a patron: how long check-outs waited because another one of the same patron was under way.

use carrel_platform::Tenant;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// Shorter waits are the round trip, not a lock.
const A_WAIT: Duration = Duration::from_millis(5);
/// How many waits are remembered a tenant.
const REMEMBERED: usize = 100;

#[derive(Default)]
struct Waits {
    scans: u64,
    waits: u64,
    total: Duration,
    longest: Duration,
    last: VecDeque<(Timestamp, Duration)>,
}

static WAITS: LazyLock<Mutex<HashMap<String, Waits>>> = LazyLock::new(Mutex::default);

/// Notes how long the lock statements of a scan took beyond the statement before them.
pub fn waited(tenant: &Tenant, _patron_locked: Duration, all_read: Duration) {
    let mut all = WAITS.lock().expect("no holder of this lock panics");
    let waits = all.entry(tenant.id.clone()).or_default();
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
    waits.last.push_back((Timestamp::now(), all_read));
}

/// The figures of a tenant.
pub fn figures(tenant: &str) -> Value {
    let all = WAITS.lock().expect("no holder of this lock panics");
    let Some(waits) = all.get(tenant) else { return json!({"checkOuts": 0, "waits": 0}) };
    let last: Vec<Value> = waits
        .last
        .iter()
        .map(|(at, time)| json!({"at": at.to_string(), "milliseconds": time.as_millis() as u64}))
        .collect();
    json!({
        "checkOuts": waits.scans,
        "waits": waits.waits,
        "longestMilliseconds": waits.longest.as_millis() as u64,
        "meanMilliseconds": if waits.waits == 0 { 0 } else { waits.total.as_millis() as u64 / waits.waits },
        "last": last,
    })
}
