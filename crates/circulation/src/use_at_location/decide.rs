//! The decision of use at location: the open loan, and its expiration on the hold shelf.

use super::UseAtLocationRequest;
use super::facts::Facts;
use crate::desk::{ItemAtDesk, RecordChange, log};
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log::{Action, LogEntry, LogObject, LoggedPatron};
use carrel_loan_rules::due_date::use_at_location_expiration;
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The changed loan, and its item.
#[derive(Debug, Clone)]
pub struct Changed {
    pub loan: RecordChange,
    pub item: ItemAtDesk,
    /// Its entry in the circulation log.
    pub log: LogEntry,
}

/// The refusal, or the changed loan.
pub fn decide(
    facts: Facts,
    command: &UseAtLocationRequest,
    settings: &CirculationSettings,
    by: Option<Uuid>,
    now: Timestamp,
) -> Result<Changed, Failure> {
    let refuse = |text: String| Failure::Invalid(text);
    if !settings.features.for_use_at_location {
        return Err(refuse("For-use-at-location is not enabled for this tenant.".into()));
    }
    let (loan, item) = match (facts.loan, facts.item) {
        (Some(loan), Some(item)) if is_borrower(command, facts.borrower_barcode.as_deref()) => (loan, item),
        _ => return Err(refuse(no_open_loan(command))),
    };
    let Some(used) = loan.get("forUseAtLocation").and_then(Value::as_object) else {
        let dot = if matches!(command, UseAtLocationRequest::Hold { .. }) { "." } else { "" };
        return Err(refuse(format!(
            "The loan is open but is not for use at location{dot}, item barcode ({})",
            command.item_barcode()
        )));
    };
    let (status, action) = match command {
        UseAtLocationRequest::Hold { .. } => ("Held", "heldForUseAtLocation"),
        UseAtLocationRequest::PickUp { .. } => ("In use", "pickedUpForUseAtLocation"),
    };
    let mut used = used.clone();
    used.insert("status".into(), status.into());
    used.insert("statusDate".into(), time::format(now).into());
    if let UseAtLocationRequest::Hold { .. } = command
        && let Some(expires) = expiration(&loan, settings, now)?
    {
        used.insert("holdShelfExpirationDate".into(), time::format(expires).into());
    }
    let id = id_at(&loan, "id").ok_or_else(|| Failure::internal("a stored loan has an id"))?;
    let mut change = RecordChange::of(id, &loan);
    change.set("forUseAtLocation", used);
    change.set("action", action);
    change.signed(by, now);
    let done = match command {
        UseAtLocationRequest::Hold { .. } => Action::HeldForUseAtLocation,
        UseAtLocationRequest::PickUp { .. } => Action::PickedUpForUseAtLocation,
    };
    let log = LogEntry {
        patron: LoggedPatron { id: id_at(&loan, "userId"), barcode: facts.borrower_barcode },
        items: vec![log::item(&item, Some(id))],
        source: by.into(),
        service_point: id_at(&loan, "checkoutServicePointId"),
        description: Some(done.name().to_owned()),
        ..LogEntry::new(LogObject::Loan, done)
    };
    Ok(Changed { loan: change, item, log })
}

fn is_borrower(command: &UseAtLocationRequest, borrower: Option<&str>) -> bool {
    match command {
        UseAtLocationRequest::Hold { .. } => true,
        UseAtLocationRequest::PickUp { user_barcode, .. } => borrower == Some(user_barcode),
    }
}

fn no_open_loan(command: &UseAtLocationRequest) -> String {
    match command {
        UseAtLocationRequest::Hold { item_barcode } => {
            format!("No open loan found for the item barcode. ({item_barcode})")
        }
        UseAtLocationRequest::PickUp { item_barcode, user_barcode } => {
            format!("No open loan found for item barcode and user  ({item_barcode} and {user_barcode}).")
        }
    }
}

fn id_at(loan: &Map<String, Value>, key: &str) -> Option<Uuid> {
    loan.get(key).and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok())
}

/// When the item's time at the desk expires, by the loan policy's period and the calendar of the service point of the
/// check-out; `None` without a period.
fn expiration(
    loan: &Map<String, Value>,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Result<Option<Timestamp>, Failure> {
    let policy = id_at(loan, "loanPolicyId").and_then(|id| settings.loan_policies.get(&id));
    let loans = policy.and_then(|policy| policy.loans_policy.as_ref());
    let loans = loans.filter(|loans| loans.for_use_at_location == Some(true));
    let Some(period) = loans.and_then(|loans| loans.hold_shelf_expiry_period_for_use_at_location.as_ref())
    else {
        return Ok(None);
    };
    let desk = id_at(loan, "checkoutServicePointId").unwrap_or_default();
    let closed = settings
        .service_points
        .get(&desk)
        .and_then(|point| point.hold_shelf_closed_library_date_management.as_deref());
    let calendar = settings.calendar(desk);
    Ok(Some(use_at_location_expiration(now, period, closed, &settings.zone, &calendar)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_loan_rules::loan_policy::{Interval, LoanPolicy, LoansPolicy, Period};
    use serde_json::json;

    const POLICY: Uuid = Uuid::from_u128(1);

    fn reading_room() -> CirculationSettings {
        let mut settings = CirculationSettings::blank();
        settings.features.for_use_at_location = true;
        let loans = LoansPolicy {
            for_use_at_location: Some(true),
            hold_shelf_expiry_period_for_use_at_location: Some(Period::of(2, Interval::Days)),
            ..LoansPolicy::default()
        };
        settings
            .loan_policies
            .insert(POLICY, LoanPolicy { loans_policy: Some(loans), ..LoanPolicy::default() });
        settings
    }

    fn facts() -> Facts {
        let loan = json!({"id": POLICY, "loanPolicyId": POLICY, "forUseAtLocation": {"status": "In use"}});
        Facts {
            item: Some(ItemAtDesk::default()),
            loan: loan.as_object().cloned(),
            borrower_barcode: Some("12".into()),
        }
    }

    fn hold() -> UseAtLocationRequest {
        UseAtLocationRequest::Hold { item_barcode: "0360".into() }
    }

    fn pick_up(user: &str) -> UseAtLocationRequest {
        UseAtLocationRequest::PickUp { item_barcode: "0360".into(), user_barcode: user.into() }
    }

    fn decided(
        facts: Facts,
        command: &UseAtLocationRequest,
        settings: &CirculationSettings,
    ) -> Result<Value, String> {
        let now = time::parse("2024-05-10T10:00:00Z").expect("a time");
        decide(facts, command, settings, None, now)
            .map(|changed| Value::Object(changed.loan.document().clone()))
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn refusals_say_what_is_missing() {
        let off = CirculationSettings::blank();
        let settings = reading_room();
        let table = [
            (decided(facts(), &hold(), &off), "For-use-at-location is not enabled for this tenant."),
            (
                decided(Facts::default(), &hold(), &settings),
                "No open loan found for the item barcode. (0360)",
            ),
            (
                decided(facts(), &pick_up("13"), &settings),
                "No open loan found for item barcode and user  (0360 and 13).",
            ),
        ];
        for (answer, text) in table {
            assert_eq!(answer.expect_err("a refusal"), text);
        }
    }

    #[test]
    fn a_held_item_expires_by_the_loan_policy() {
        let loan = decided(facts(), &hold(), &reading_room()).expect("a held item");
        assert_eq!(loan["action"], "heldForUseAtLocation");
        assert_eq!(loan["forUseAtLocation"]["status"], "Held");
        assert_eq!(loan["forUseAtLocation"]["holdShelfExpirationDate"], "2024-05-12T23:59:59.000+00:00");
    }

    #[test]
    fn its_reader_picks_it_up_again() {
        let loan = decided(facts(), &pick_up("12"), &reading_room()).expect("an item in use");
        assert_eq!(loan["action"], "pickedUpForUseAtLocation");
        assert_eq!(loan["forUseAtLocation"]["status"], "In use");
    }
}
