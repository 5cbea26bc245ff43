//! Entries of the circulation log about a check-out.

use super::{Permitted, Scan};
use crate::desk::log;
use carrel_audit::circulation_log::{Action, LogEntry, LogObject, description};
use carrel_loan_rules::request::RequestStatus;
use serde_json::{Map, Value};
use uuid::Uuid;

impl Scan<'_> {
    /// The check-out, and the request that it fulfills.
    pub(super) fn log(
        &self,
        permitted: &Permitted,
        loan: &Map<String, Value>,
        service_point: Uuid,
    ) -> Vec<LogEntry> {
        let overridden = loan.get("action").and_then(Value::as_str) == Some("checkedOutThroughOverride");
        let proxy = self.facts.proxy.as_ref().and_then(|proxy| proxy.barcode.as_deref());
        let check_out = LogEntry {
            patron: log::patron(permitted.patron),
            items: vec![log::item(permitted.item, Some(self.actor.loan_id))],
            source: self.actor.by.into(),
            service_point: Some(service_point),
            description: Some(description::checked_out(proxy)),
            ..LogEntry::new(
                LogObject::Loan,
                if overridden { Action::CheckedOutThroughOverride } else { Action::CheckedOut },
            )
        };
        let filled = permitted
            .fills
            .and_then(|filled| self.facts.queue.iter().find(|request| request.id == filled))
            .map(|request| log::request_moved(&check_out, request, RequestStatus::Filled, self.settings));
        [check_out].into_iter().chain(filled).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::fixtures::*;
    use crate::desk::Patron;
    use serde_json::json;

    #[test]
    fn the_log_names_patron_item_loan_and_desk() {
        let log = decided(&facts(), &command(), &usual()).expect("a loan").log;
        assert_eq!(log.len(), 1);
        assert_eq!((log[0].object.name(), log[0].action.name()), ("Loan", "Checked out"));
        assert_eq!((log[0].patron.id, log[0].patron.barcode.as_deref()), (Some(PATRON), Some("card")));
        let item = &log[0].items[0];
        assert_eq!((item.id, item.barcode.as_deref(), item.loan), (Some(BOOK), Some("036"), Some(LOAN)));
        assert_eq!(log[0].service_point, Some(DESK));
        assert_eq!(log[0].description.as_deref(), Some("Checked out to proxy: no."));
    }

    #[test]
    fn the_request_that_is_filled_has_an_entry_of_its_own() {
        let queue = vec![request(1, PATRON, json!({"status": "Open - Awaiting pickup"}))];
        let log = decided(&Facts { queue, ..facts() }, &command(), &usual()).expect("a loan").log;
        assert_eq!(log[1].action.name(), "Request status changed");
        assert_eq!(log[1].links.request, Some(id_of_request(1)));
        assert_eq!(
            log[1].description.as_deref(),
            Some("Type: Hold. New request status: Closed - Filled (from: Open - Awaiting pickup).")
        );
    }

    #[test]
    fn a_proxy_is_named_by_barcode() {
        let proxy =
            Patron { id: OTHER, barcode: Some("4711".into()), active: Some(true), ..Patron::default() };
        let relation = json!({"status": "Active", "userId": PATRON, "proxyUserId": OTHER});
        let facts = Facts { proxy: Some(proxy), proxy_relations: vec![relation], ..facts() };
        let command =
            crate::check_out::CheckOutRequest { proxy_user_barcode: Some("4711".into()), ..command() };
        let log = decided(&facts, &command, &usual()).expect("a loan").log;
        assert_eq!(log[0].description.as_deref(), Some("Checked out to proxy: 4711."));
    }
}
