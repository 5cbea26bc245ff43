//! Policies for loans, requests and notices, and the schedules of fixed due dates.
//!
//! Routes: POST, PUT and DELETE of `/loan-policy-storage`, `/fixed-due-date-schedule-storage`,
//! `/request-policy-storage` and `/patron-notice-policy-storage` for which FOLIO checks more than the shape; the other
//! routes are those of plain records. Reads service points and the rules' text; every change increments the settings
//! version.

pub mod closed_pickup;
mod loan_policy;
mod notice_policy;
mod request_policy;
mod unique_name;

use carrel_platform::record_store::{routes, write::Document};
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, RecordType, Refusal};

pub use unique_name::message_of;

pub fn connect(router: &mut Router) {
    loan_policy::connect(router);
    request_policy::connect(router);
    notice_policy::connect(router);
}

/// The reasons why a document may not be saved, from the document alone.
pub type Check = fn(&Document) -> Vec<Refusal>;

/// Runs a check before creation and replacement of a plain record.
pub fn check_before_saving(router: &mut Router, record: &'static RecordType, check: Check) {
    // Some records are created with the tenant only.
    if router.knows("POST", record.path) {
        router.on("POST", record.path, move |call| async move {
            refuse(&call, check)?;
            routes::create(record, call).await
        });
    }
    let item = router.item_path("PUT", record.path).expect("what is checked is replaced by id");
    router.on("PUT", item, move |call| async move {
        refuse(&call, check)?;
        routes::replace(record, call).await
    });
}

/// Tenants of public test suites store policies without these checks.
fn refuse(call: &Call, check: Check) -> Result<(), Failure> {
    if call.caller.profile.unchecked_records {
        return Ok(());
    }
    let refusals = check(&call.object()?);
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

/// The answer of a write; a duplicate value is reported with FOLIO's text.
type Written = Result<Answer, Failure>;
