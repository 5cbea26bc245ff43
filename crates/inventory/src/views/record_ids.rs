//! All ids of instances or holdings records.

use super::field_prefix::replace_prefix;
use crate::records::holdings::HOLDINGS_RECORD;
use crate::records::instances::INSTANCE;
use carrel_platform::record_store::read::{Page, PageRequest};
use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Call};
use carrel_records::Failure;

/// `GET /record-bulk/ids`.
pub async fn list(call: Call) -> Result<Answer, Failure> {
    let record = match call.query.get("recordType") {
        None | Some("" | "INSTANCE") => &INSTANCE,
        Some("HOLDING") => &HOLDINGS_RECORD,
        Some(other) => {
            return Err(Failure::Invalid(format!(
                "'recordType' parameter is incorrect. parameter value {{{other}}} is not valid: must be INSTANCE or HOLDING"
            )));
        }
    };
    let mut requested = PageRequest::read(&call.query)?;
    requested.limit = call.query.number("limit", i64::from(i32::MAX), 0, i64::from(i32::MAX))?;
    requested.query = requested.query.map(|query| replace_prefix(query, "items.", "item."));
    let select = |page: &str| format!("SELECT jsonb_build_object('id', {}.id) {page}", record.table);
    stream::composed(&call, record, &requested, ("ids", Page::closing), select).await
}
