//! Loan history: one row for each insert and change of a loan.

use carrel_platform::{Bind, Pipeline, RowChange};
use carrel_records::time;
use jiff::Timestamp;
use uuid::Uuid;

/// Adds the history row; `operation` is `I`, `U` or `D`, `loan` the stored document.
pub fn write(pipeline: &mut Pipeline, operation: &'static str, loan: &str, now: Timestamp) {
    let id = Uuid::new_v7(carrel_platform::record_store::write::uuid_time(now));
    let document = format!(
        "{{\"id\":\"{id}\",\"operation\":\"{operation}\",\"createdDate\":\"{}\",\"loan\":{loan}}}",
        time::format(now)
    );
    pipeline.change_row(&HISTORY, vec![id.into(), Bind::Json(document)]);
}

static HISTORY: RowChange = RowChange {
    one: "INSERT INTO audit_loan (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO audit_loan (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};
