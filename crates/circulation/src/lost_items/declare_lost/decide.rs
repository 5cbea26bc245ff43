//! The rule of declaring an item lost: refusals in FOLIO's order, and the loan afterwards.

use crate::desk::ItemAtDesk;
use crate::document::text_at;
use crate::loans::change::refuse_if_closed;
use crate::loans::find::LoanAtDesk;
use crate::lost_items::charge::Unchargeable;
use carrel_records::{ItemStatus, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The request of staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclareLostRequest {
    pub service_point: Uuid,
    /// When the item was lost.
    pub declared: Option<Timestamp>,
    pub comment: String,
}

impl DeclareLostRequest {
    /// Reads the body; refuses the first field that is missing.
    pub fn read(body: &Map<String, Value>) -> Result<DeclareLostRequest, Refusal> {
        let point = text_at(body, "servicePointId").trim();
        if point.is_empty() {
            let words = "A service point is required for item to be declared lost";
            return Err(Refusal::new(words).with_null("servicePointId"));
        }
        let service_point = Uuid::parse_str(point)
            .map_err(|_| Refusal::new("servicePointId must be a UUID").with("servicePointId", point))?;
        let date = text_at(body, "declaredLostDateTime");
        let declared = time::parse(date);
        if declared.is_none() && !date.is_empty() {
            let words = format!("Text '{date}' could not be parsed at index 0");
            return Err(Refusal::new(words).with("declaredLostDateTime", date));
        }
        let comment = text_at(body, "comment").trim();
        Ok(DeclareLostRequest { service_point, declared, comment: comment.to_owned() })
    }
}

/// The item that can be declared lost, or why it cannot.
pub fn refuse(loan: &LoanAtDesk) -> Result<&ItemAtDesk, Refusal> {
    let item_id = || text_at(&loan.document, "itemId");
    if let Some(refusal) = refuse_if_closed(loan) {
        return Err(refusal);
    }
    if loan.item_status() == ItemStatus::DeclaredLost {
        return Err(Refusal::new("The item is already declared lost").with("itemId", item_id()));
    }
    loan.item.as_ref().ok_or_else(|| Refusal::new("The item does not exist").with("itemId", item_id()))
}

/// The refusal of a loss that cannot be charged.
pub fn refused_charge(reason: Unchargeable, permanent_location: Option<Uuid>) -> Refusal {
    match reason {
        Unchargeable::NoOwner => {
            let refusal = Refusal::new("No fee/fine owner found for item's permanent location");
            match permanent_location {
                Some(location) => refusal.with("locationId", location.to_string()),
                None => refusal.with_null("locationId"),
            }
        }
        Unchargeable::NoType(name) => {
            Refusal::new(format!("Expected automated fee of type {name}")).with("feeFineType", name)
        }
    }
}

/// The loan of the lost item.
pub fn declared_lost(loan: &Map<String, Value>, request: &DeclareLostRequest) -> Map<String, Value> {
    let mut changed = loan.clone();
    changed.insert("action".into(), "declaredLost".into());
    changed.insert("actionComment".into(), request.comment.as_str().into());
    changed.insert("itemStatus".into(), (&ItemStatus::DeclaredLost).into());
    if let Some(declared) = request.declared {
        changed.insert("declaredLostDate".into(), time::format(declared).into());
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const POINT: &str = "4431826f-d634-497d-9151-d21404d2fbf3";

    fn read(body: Value) -> Result<DeclareLostRequest, Refusal> {
        DeclareLostRequest::read(body.as_object().expect("an object"))
    }

    fn loan(status: &str, item_status: &str) -> LoanAtDesk {
        let document = json!({"itemId": POINT, "status": {"name": status}});
        let item = ItemAtDesk { status: item_status.into(), ..ItemAtDesk::default() };
        let document = document.as_object().expect("an object").clone();
        LoanAtDesk { document, item: Some(item), ..LoanAtDesk::default() }
    }

    #[test]
    fn a_loss_is_declared_at_a_service_point() {
        let refusal = read(json!({"servicePointId": " "})).expect_err("no service point");
        assert_eq!(refusal.message, "A service point is required for item to be declared lost");
        let refusal = read(json!({"servicePointId": POINT, "declaredLostDateTime": "soon"}));
        assert_eq!(refusal.expect_err("no date").parameters[0].0, "declaredLostDateTime");
        let request = read(json!({"servicePointId": POINT, "comment": "gone"})).expect("complete");
        assert_eq!((request.comment.as_str(), request.declared), ("gone", None));
    }

    #[test]
    fn a_closed_loan_and_a_lost_item_are_refused() {
        let message = |loan: &LoanAtDesk| refuse(loan).map(|_| ()).expect_err("refused").message;
        assert_eq!(message(&loan("Closed", "Declared lost")), "Loan is closed");
        assert_eq!(message(&loan("Open", "Declared lost")), "The item is already declared lost");
        assert!(refuse(&loan("Open", "Aged to lost")).is_ok());
        assert!(refuse(&loan("Open", "Claimed returned")).is_ok());
    }

    #[test]
    fn a_loan_without_a_comment_gets_an_empty_one() {
        let request = read(json!({"servicePointId": POINT})).expect("complete");
        let stored = json!({"actionComment": "before", "declaredLostDate": "2026-01-01", "own": 1});
        let changed = declared_lost(stored.as_object().expect("an object"), &request);
        assert_eq!(
            Value::Object(changed),
            json!({"action": "declaredLost", "actionComment": "", "itemStatus": "Declared lost",
                "declaredLostDate": "2026-01-01", "own": 1})
        );
    }
}
