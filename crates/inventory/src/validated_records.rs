//! Plain records with a validation rule, checked before POST and PUT.

use carrel_platform::record_store::routes as plain;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Call, Router};
use carrel_records::{RecordType, Refusal};

/// Connects POST and PUT of a record type whose records are validated.
pub fn connect(router: &mut Router, record: &'static RecordType, check: fn(&Document) -> Vec<Refusal>) {
    router.on("POST", record.path, move |call: Call| async move {
        refuse(&call, check)?;
        plain::create(record, call).await
    });
    let Some(path) = router.item_path("PUT", record.path) else { return };
    router.on("PUT", path, move |call: Call| async move {
        refuse(&call, check)?;
        plain::replace(record, call).await
    });
}

fn refuse(call: &Call, check: fn(&Document) -> Vec<Refusal>) -> Result<(), carrel_records::Failure> {
    if call.caller.profile.unchecked_records {
        return Ok(());
    }
    let refusals = check(&call.object()?);
    if refusals.is_empty() { Ok(()) } else { Err(carrel_records::Failure::Refused(refusals)) }
}
