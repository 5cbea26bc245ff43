//! Loan history: one row for every insert and change of a loan.

use carrel_platform::{Bind, Flight};
use carrel_records::time;
use jiff::Timestamp;
use uuid::Uuid;

/// Adds the history row; `operation` is `I`, `U` or `D`, `loan` the stored document.
pub fn write(flight: &mut Flight, operation: &'static str, loan: &str, now: Timestamp) {
    let id = Uuid::new_v7(carrel_platform::record_store::write::uuid_time(now));
    let document = format!(
        "{{\"id\":\"{id}\",\"operation\":\"{operation}\",\"createdDate\":\"{}\",\"loan\":{loan}}}",
        time::format(now)
    );
    flight.change("INSERT INTO audit_loan (id, doc) VALUES ($1, $2)", vec![id.into(), Bind::Json(document)]);
}
