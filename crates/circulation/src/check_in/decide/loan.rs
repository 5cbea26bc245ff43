//! The loan that a check-in ends.

use crate::check_in::CheckInRequest;
use crate::desk::{ItemAtDesk, Patron, RecordChange};
use crate::settings::CirculationSettings;
use carrel_inventory::item_state::StateChange;
use carrel_loan_rules::LoanStatus;
use carrel_records::{Failure, ItemStatus, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The loan that ends.
#[derive(Debug, Clone)]
pub struct ClosedLoan {
    pub change: RecordChange,
    /// Absent if the loan was anonymized.
    pub patron: Option<Uuid>,
    pub borrower: Option<Patron>,
}

/// Ends the loan of an item that is returned.
pub(super) fn closed(
    loan: &Map<String, Value>,
    borrower: Option<Patron>,
    item: &ItemAtDesk,
    state: &StateChange,
    command: &CheckInRequest,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Result<ClosedLoan, Failure> {
    let id_at = |key: &str| loan.get(key).and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
    let id = id_at("id").ok_or_else(|| Failure::internal("a stored loan has an id"))?;
    let mut change = RecordChange::of(id, loan);
    let claimed = item.status == ItemStatus::ClaimedReturned;
    let action = command.resolution.filter(|_| claimed).map_or("checkedin", |resolution| resolution.action());
    change.set("status", json!({"name": LoanStatus::Closed}));
    change.set("action", action);
    change.remove("actionComment");
    change.set("itemStatus", &state.status);
    change.set("returnDate", time::format(command.returned));
    change.set("systemReturnDate", time::format(now));
    change.set("checkinServicePointId", command.service_point.to_string());
    if item.status == ItemStatus::AgedToLost
        && let Some(mut billing) = loan.get("agedToLostDelayedBilling").and_then(Value::as_object).cloned()
    {
        // A fee that is not billed yet will not be billed.
        billing.remove("lostItemHasBeenBilled");
        billing.remove("dateLostItemShouldBeBilled");
        change.set("agedToLostDelayedBilling", billing);
    }
    if settings.features.for_use_at_location
        && let Some(mut used) = loan.get("forUseAtLocation").and_then(Value::as_object).cloned()
    {
        used.insert("status".into(), "Returned".into());
        used.insert("statusDate".into(), time::format(now).into());
        change.set("forUseAtLocation", used);
    }
    change.signed(Some(command.by), now);
    Ok(ClosedLoan { change, patron: id_at("userId"), borrower })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use crate::check_in::{CheckInRequest, Resolution};
    use serde_json::{Value, json};

    #[test]
    fn the_loan_ends_when_the_item_came_back_not_when_it_is_scanned() {
        let check_in = done(lent("Checked out", json!({})), MAIN_DESK);
        let loan = check_in.loan.expect("a loan").change;
        let loan = Value::Object(loan.document().clone());
        assert_eq!(loan["status"]["name"], "Closed");
        assert_eq!(loan["action"], "checkedin");
        assert_eq!(loan["returnDate"], "2024-05-08T18:00:00.000+00:00");
        assert_eq!(loan["systemReturnDate"], "2024-05-10T10:00:00.000+00:00");
        assert_eq!(loan["itemStatus"], "Available");
        assert_eq!(loan["shelfMark"], "kept");
        assert!(loan.get("actionComment").is_none());
    }

    #[test]
    fn a_claim_ends_as_the_desk_says() {
        for (resolution, action) in [
            (Resolution::FoundByLibrary, "checkedInFoundByLibrary"),
            (Resolution::ReturnedByPatron, "checkedInReturnedByPatron"),
        ] {
            let command = CheckInRequest { resolution: Some(resolution), ..at(MAIN_DESK) };
            let check_in = decided(lent("Claimed returned", json!({})), &command).expect("a check-in");
            assert_eq!(check_in.loan.expect("a loan").change.document()["action"], action);
            let unclaimed = decided(lent("Checked out", json!({})), &command).expect("a check-in");
            assert_eq!(unclaimed.loan.expect("a loan").change.document()["action"], "checkedin");
        }
    }

    #[test]
    fn an_item_aged_to_lost_that_comes_back_is_not_billed_any_more() {
        let billing = json!({"agedToLostDelayedBilling":
            {"lostItemHasBeenBilled": false, "dateLostItemShouldBeBilled": "2024-06-01", "agedToLostDate": "2024-05-01"}});
        let check_in = done(lent("Aged to lost", billing), MAIN_DESK);
        let loan = check_in.loan.expect("a loan").change;
        assert_eq!(loan.document()["agedToLostDelayedBilling"], json!({"agedToLostDate": "2024-05-01"}));
    }
}
