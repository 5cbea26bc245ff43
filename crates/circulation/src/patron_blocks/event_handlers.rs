//! Events that other modules send to FOLIO's mod-patron-blocks: an item was checked out, a balance changed.
//!
//! Routes: `POST /automated-patron-blocks/handlers/…`. FOLIO builds a patron's summary from these events. Here the
//! summary is computed from loans and fees/fines, which already contain the change: an event is validated and
//! discarded.

use crate::records::patron_block_events as events;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Router};
use carrel_records::RecordType;

static EVENTS: [&RecordType; 8] = [
    &events::FEE_FINE_BALANCE_CHANGED_EVENT,
    &events::ITEM_CHECKED_OUT_EVENT,
    &events::ITEM_CHECKED_IN_EVENT,
    &events::ITEM_DECLARED_LOST_EVENT,
    &events::ITEM_AGED_TO_LOST_EVENT,
    &events::ITEM_CLAIMED_RETURNED_EVENT,
    &events::LOAN_DUE_DATE_CHANGED_EVENT,
    &events::LOAN_CLOSED_EVENT,
];

pub(super) fn connect(router: &mut Router) {
    for event in EVENTS {
        router.on("POST", event.path, move |call| async move {
            write::check(event, &mut call.object()?, &call.caller)?;
            Ok(Answer::no_content())
        });
    }
}
