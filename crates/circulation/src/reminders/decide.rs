//! The decision about a due reminder.

use crate::desk::charged_item::charged_item;
use crate::loans::find::LoanAtDesk;
use crate::reminder_schedule::{policy_of, with_open_days};
use crate::settings::CirculationSettings;
use carrel_fees_fines::charge::{Charge, ChargedBy};
use carrel_loan_rules::reminder_fee::Reminder;
use carrel_records::{ItemStatus, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::{Uuid, uuid};

/// The automatic type of fees/fines, and its name.
const REMINDER_FEE: (Uuid, &str) = (uuid!("6b830703-f828-4e38-a0bb-ee81deacbd03"), "Reminder fee");

/// The decision about a reminder.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is deleted, for this reason.
    Delete(&'static str),
    /// It stays unchanged, for this reason.
    Wait(&'static str),
    Remind(Box<Reminded>),
}

/// A reminder that is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Reminded {
    pub reminder: Reminder,
    /// Absent if the reminder is free.
    pub charge: Option<Charge>,
    /// The loan as it will be stored.
    pub loan: Map<String, Value>,
    /// The reminder that follows, and when; `None` after the last one.
    pub next: Option<(Timestamp, Reminder)>,
}

/// Decides by the current loan. A reminder is sent on days on which the service point of the check-out is open, and
/// only while the patron is expected to return the item.
pub fn decide(
    loan: &LoanAtDesk,
    template_exists: bool,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Outcome {
    if !template_exists {
        return Outcome::Delete("its template does not exist");
    }
    let (Some(item), Some(patron)) = (&loan.item, &loan.patron) else {
        return Outcome::Delete("the item or the patron does not exist");
    };
    let sent = number_of_last_reminder(&loan.document);
    let policy = policy_of(&loan.document, settings);
    let Some((policy, reminder)) =
        policy.as_ref().and_then(|policy| Some((policy, policy.reminder_after(sent)?)))
    else {
        return Outcome::Delete("the policy has no further reminder");
    };
    with_open_days(&loan.document, settings, |days| {
        if !days.is_open_on(now) {
            return Outcome::Wait("the service point is closed today");
        }
        if loan.is_closed() || matches!(item.status, ItemStatus::DeclaredLost | ItemStatus::ClaimedReturned) {
            return Outcome::Delete("the patron no longer has the item, or it is lost or claimed returned");
        }
        let charge = match reminder.reminder_fee.is_positive() {
            false => None,
            true => {
                let location = item.record.effective_location_id.and_then(|id| settings.locations.get(&id));
                let primary = location.and_then(|location| location.primary_service_point);
                let Some(owner) = primary.and_then(|primary| settings.fees.owner_at(primary)) else {
                    return Outcome::Wait("the primary service point has no owner of fees/fines");
                };
                Some(Charge {
                    user: patron.id,
                    amount: reminder.reminder_fee,
                    fee_fine_type: (REMINDER_FEE.0, REMINDER_FEE.1.to_owned()),
                    owner,
                    loan: Some(loan.id),
                    item: Some(charged_item(item, settings)),
                    service_point: primary,
                    charged_by: ChargedBy::System,
                    comments: Some(format!("STAFF: Reminder fee {}", sent + 1)),
                    notifies_patron: false,
                    more: more(&loan.document),
                })
            }
        };
        let next = policy.reminder_after(sent + 1);
        let next = next.map(|next| (policy.next_due(next, now, days), next.clone()));
        let loan = reminded(&loan.document, sent + 1, now);
        Outcome::Remind(Box::new(Reminded { reminder: reminder.clone(), charge, loan, next }))
    })
}

fn number_of_last_reminder(loan: &Map<String, Value>) -> u64 {
    let number = loan.get("reminders").and_then(|reminders| reminders.pointer("/lastFeeBilled/number"));
    number.and_then(Value::as_u64).unwrap_or(0)
}

fn reminded(loan: &Map<String, Value>, number: u64, now: Timestamp) -> Map<String, Value> {
    let mut loan = loan.clone();
    loan.insert("reminders".into(), json!({"lastFeeBilled": {"number": number, "date": time::format(now)}}));
    loan.insert("action".into(), "reminderFee".into());
    loan
}

/// The loan's values in the account.
fn more(loan: &Map<String, Value>) -> Map<String, Value> {
    let names = [
        ("dueDate", "dueDate"),
        ("loanPolicyId", "loanPolicyId"),
        ("overdueFinePolicyId", "overdueFinePolicyId"),
        ("lostItemFeePolicyId", "lostItemPolicyId"),
    ];
    names
        .into_iter()
        .filter_map(|(name, of_loan)| Some((name.to_owned(), loan.get(of_loan)?.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::{ItemAtDesk, Patron};
    use crate::settings::{Location, fees_of};
    use std::sync::Arc;

    const ID: Uuid = Uuid::from_u128(1);
    const DESK: Uuid = Uuid::from_u128(2);

    /// Reminders after a day for 1.50, and after two more days for nothing; the main desk has an owner.
    fn library() -> CirculationSettings {
        let mut settings = CirculationSettings::blank();
        let schedule = json!([
            {"interval": 1, "timeUnitId": "day", "reminderFee": 1.5, "noticeTemplateId": ID},
            {"interval": 2, "timeUnitId": "day", "reminderFee": 0.0, "noticeTemplateId": DESK},
        ]);
        let policy = json!({"reminderFeesPolicy": {"countClosed": true, "reminderSchedule": schedule}});
        settings.overdue_fine_policies.insert(ID, Arc::new(policy));
        settings.locations.insert(ID, Location { primary_service_point: Some(DESK), ..Location::default() });
        settings.fees = fees_of(json!({"owner": "Main", "servicePointOwner": [{"value": DESK}]}));
        settings
    }

    fn lent(item_status: &str, differs: Value) -> LoanAtDesk {
        let mut loan = json!({"id": ID, "userId": ID, "status": {"name": "Open"}, "overdueFinePolicyId": ID,
            "dueDate": "2024-05-01T12:00:00.000+00:00", "lostItemPolicyId": DESK, "own": 1});
        loan.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
        let mut item = ItemAtDesk { id: ID, status: item_status.into(), ..ItemAtDesk::default() };
        item.record.effective_location_id = Some(ID);
        LoanAtDesk {
            id: ID,
            document: loan.as_object().expect("an object").clone(),
            item: Some(item),
            patron: Some(Patron { id: ID, ..Patron::default() }),
            ..LoanAtDesk::default()
        }
    }

    fn reminded_times(number: u64) -> Value {
        json!({"reminders": {"lastFeeBilled": {"number": number, "date": "2024-05-02T12:00:00.000+00:00"}}})
    }

    fn now() -> Timestamp {
        time::parse("2024-05-02T12:30:00Z").expect("a time")
    }

    #[test]
    fn a_reminder_is_charged_counted_and_followed_by_the_next() {
        let Outcome::Remind(sent) = decide(&lent("Checked out", json!({})), true, &library(), now()) else {
            unreachable!("a reminder")
        };
        assert_eq!(
            Value::Object(sent.loan),
            json!({"id": ID, "userId": ID, "status": {"name": "Open"}, "overdueFinePolicyId": ID,
                "dueDate": "2024-05-01T12:00:00.000+00:00", "lostItemPolicyId": DESK, "own": 1,
                "action": "reminderFee",
                "reminders": {"lastFeeBilled": {"number": 1, "date": "2024-05-02T12:30:00.000+00:00"}}})
        );
        let charge = sent.charge.expect("a fee");
        assert_eq!((charge.amount.to_string().as_str(), charge.service_point), ("1.50", Some(DESK)));
        assert_eq!(charge.comments.as_deref(), Some("STAFF: Reminder fee 1"));
        assert_eq!(charge.more["lostItemFeePolicyId"], json!(DESK));
        let (next, reminder) = sent.next.expect("a further reminder");
        assert_eq!(next, time::parse("2024-05-04T12:00:00Z").expect("a time"));
        assert_eq!(reminder.notice_template_id, Some(DESK.to_string()));
    }

    #[test]
    fn a_free_reminder_needs_no_owner_and_the_last_is_followed_by_none() {
        let mut settings = library();
        settings.fees = Default::default();
        let Outcome::Remind(sent) = decide(&lent("Aged to lost", reminded_times(1)), true, &settings, now())
        else {
            unreachable!("a reminder")
        };
        assert_eq!((sent.charge, sent.next), (None, None));
        let first = decide(&lent("Checked out", json!({})), true, &settings, now());
        assert!(matches!(first, Outcome::Wait(_)), "{first:?}");
    }

    #[test]
    fn reminders_end_with_the_loan_with_a_loss_or_claim_and_with_the_schedule() {
        let deleted = |loan: &LoanAtDesk| matches!(decide(loan, true, &library(), now()), Outcome::Delete(_));
        assert!(deleted(&lent("Available", json!({"status": {"name": "Closed"}}))));
        assert!(deleted(&lent("Declared lost", json!({}))));
        assert!(deleted(&lent("Claimed returned", json!({}))));
        assert!(deleted(&lent("Checked out", reminded_times(2))));
        assert!(deleted(&LoanAtDesk { patron: None, ..lent("Checked out", json!({})) }));
        assert!(!deleted(&lent("Checked out", json!({}))));
        assert!(matches!(
            decide(&lent("Checked out", json!({})), false, &library(), now()),
            Outcome::Delete(_)
        ));
    }

    #[test]
    fn reminders_wait_on_closed_days() {
        let mut settings = library();
        settings.open_without_calendar = false;
        let outcome = decide(&lent("Checked out", json!({})), true, &settings, now());
        assert_eq!(outcome, Outcome::Wait("the service point is closed today"));
    }
}
