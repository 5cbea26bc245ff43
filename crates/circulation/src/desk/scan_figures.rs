//! How long scans take on this node, by kind, and why check-outs are refused. Kept in memory only.

use carrel_platform::Tenant;
use carrel_platform::http::BOUNDS;
use carrel_records::{Failure, Refusal, RefusalCode};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The kinds of scans that are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanKind {
    CheckOut,
    CheckIn,
    Renewal,
}

impl ScanKind {
    pub const ALL: [ScanKind; 3] = [ScanKind::CheckOut, ScanKind::CheckIn, ScanKind::Renewal];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            ScanKind::CheckOut => "check-out",
            ScanKind::CheckIn => "check-in",
            ScanKind::Renewal => "renewal",
        }
    }
}

/// Number of scans whose time is at most each of `BOUNDS`, not cumulative; the last counts the slower ones.
pub type Histogram = [u64; BOUNDS.len() + 1];

#[derive(Debug, Default)]
struct Times([[AtomicU64; BOUNDS.len() + 1]; ScanKind::ALL.len()]);

/// Adds a scan, answered or refused.
pub fn record_time(tenant: &Tenant, kind: ScanKind, took: Duration) {
    let micros = took.as_micros() as u64;
    let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
    tenant.state.of::<Times>().0[kind as usize][bucket].fetch_add(1, Relaxed);
}

/// The times of a kind of scans since the start.
pub fn times(tenant: &Tenant, kind: ScanKind) -> Histogram {
    let times = tenant.state.of::<Times>();
    std::array::from_fn(|bucket| times.0[kind as usize][bucket].load(Relaxed))
}

/// The time for which refusals are counted.
const PERIOD: SignedDuration = SignedDuration::from_hours(24);
/// Seconds of a quarter hour.
const QUARTER: i64 = 900;

/// Refused check-outs by the start of the quarter hour, in seconds since 1970, and reason.
#[derive(Debug, Default)]
struct Refusals(Mutex<BTreeMap<(i64, &'static str), u64>>);

/// Counts a refused check-out once, by its first reason.
pub fn record_failure(tenant: &Tenant, failure: &Failure, now: Timestamp) {
    let Failure::Refused(refusals) = failure else { return };
    let Some(reason) = reason_of(refusals) else { return };
    let refusals = tenant.state.of::<Refusals>();
    let mut refusals = refusals.0.lock().expect("no holder of this lock panics");
    let oldest = (now - PERIOD).as_second();
    refusals.retain(|(start, _), _| *start + QUARTER > oldest);
    *refusals.entry((now.as_second().div_euclid(QUARTER) * QUARTER, reason)).or_default() += 1;
}

/// The name of a block or a code, of which there are few. A question to staff is no refusal.
fn reason_of(refusals: &[Refusal]) -> Option<&'static str> {
    if refusals.iter().any(|refusal| refusal.code == Some(RefusalCode::ConfirmationRequired)) {
        return None;
    }
    let named = |refusal: &Refusal| {
        let block = refusal.overridable.as_ref().map(|block| block.name);
        block.or_else(|| refusal.code.map(RefusalCode::as_str))
    };
    Some(refusals.iter().find_map(named).unwrap_or("other"))
}

/// Refused check-outs of the last 24 hours by quarter hour and reason.
pub fn refusals(tenant: &Tenant, now: Timestamp) -> Vec<(Timestamp, &'static str, u64)> {
    let oldest = (now - PERIOD).as_second();
    let refusals = tenant.state.of::<Refusals>();
    let refusals = refusals.0.lock().expect("no holder of this lock panics");
    refusals
        .iter()
        .filter(|((start, _), _)| *start + QUARTER > oldest)
        .filter_map(|((start, reason), number)| {
            Some((Timestamp::from_second(*start).ok()?, *reason, *number))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_counted_by_its_block_or_code_and_a_question_not_at_all() {
        let block = Refusal::new("Patron blocked").overridable("patronBlock", vec![]);
        let lent = Refusal::new("On loan").code(RefusalCode::ItemHasOpenLoan);
        let unnamed = Refusal::new("No such item");
        let question = Refusal::new("Confirm").code(RefusalCode::ConfirmationRequired);
        assert_eq!(reason_of(&[unnamed.clone(), block]), Some("patronBlock"));
        assert_eq!(reason_of(&[lent]), Some("ITEM_HAS_OPEN_LOAN"));
        assert_eq!(reason_of(&[unnamed]), Some("other"));
        assert_eq!(reason_of(&[question]), None);
    }
}
