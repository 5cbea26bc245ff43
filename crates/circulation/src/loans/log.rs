//! Entries of the circulation log about changes of a loan.

use super::find::LoanAtDesk;
use crate::desk::log;
use crate::document::text_at;
use carrel_audit::circulation_log::{Action, LogEntry, LogObject, LoggedPatron, description};
use carrel_records::time;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use uuid::Uuid;

/// An entry about a loan, at the service point where it ended or otherwise began.
pub fn entry(loan: &LoanAtDesk, action: Action, description: String, by: Option<Uuid>) -> LogEntry {
    let id_at = |key: &str| Uuid::parse_str(text_at(&loan.document, key)).ok();
    let patron = loan.patron.as_ref().map(log::patron);
    let item = loan.item.as_ref().map(|item| log::item(item, Some(loan.id)));
    LogEntry {
        patron: patron.unwrap_or_else(|| LoggedPatron { id: id_at("userId"), barcode: None }),
        items: vec![item.unwrap_or_else(|| carrel_audit::circulation_log::LoggedItem {
            id: id_at("itemId"),
            loan: Some(loan.id),
            ..Default::default()
        })],
        source: by.into(),
        service_point: id_at("checkinServicePointId").or_else(|| id_at("checkoutServicePointId")),
        description: Some(description),
        ..LogEntry::new(LogObject::Loan, action)
    }
}

/// An entry about a new due date.
pub fn new_due_date(
    loan: &LoanAtDesk,
    changed: &Map<String, Value>,
    action: Action,
    by: Option<Uuid>,
    zone: &TimeZone,
) -> Option<LogEntry> {
    let new = time::parse(text_at(changed, "dueDate"))?;
    let old = time::parse(text_at(&loan.document, "dueDate"));
    Some(entry(loan, action, description::due_date_changed(new, old, zone), by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_loan_without_its_records_is_named_by_ids() {
        let id = Uuid::from_u128(1);
        let document = json!({"userId": id, "itemId": id, "checkoutServicePointId": id,
            "dueDate": "2024-05-01T00:00:00Z"});
        let document = document.as_object().expect("an object").clone();
        let loan = LoanAtDesk { id, document: document.clone(), ..LoanAtDesk::default() };
        let mut changed = document;
        changed.insert("dueDate".into(), "2024-06-01T00:00:00Z".into());
        let entry = new_due_date(&loan, &changed, Action::Renewed, None, &TimeZone::UTC).expect("an entry");
        assert_eq!((entry.patron.id, entry.items[0].id, entry.items[0].loan), (Some(id), Some(id), Some(id)));
        assert_eq!(entry.service_point, Some(id));
        assert_eq!(
            entry.description.as_deref(),
            Some("New due date: 2024-06-01T00:00:00.000Z (from 2024-05-01T00:00:00.000Z)")
        );
    }
}
