//! Small changes of a loan at the desk: due date and comments.
//!
//! Routes: `POST /circulation/loans/{id}/change-due-date`, `…/add-info`. Each reads and locks the loan and changes it
//! with a history row; announces `circulation.loan`.

use super::find::{self, LoanAtDesk};
use super::{log, store};
use crate::desk::QueuedRequest;
use crate::document::text_at;
use crate::patron_notices::{self, About, NoticeEvent};
use crate::reminder_schedule;
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log::{self, Action, LogEntry};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, ItemStatus, Refusal, time};
use serde_json::{Map, Value};

/// Statuses of items whose due date no longer matters.
pub const KEEPS_DUE_DATE: [ItemStatus; 3] =
    [ItemStatus::DeclaredLost, ItemStatus::ClaimedReturned, ItemStatus::AgedToLost];

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/loans/{id}/change-due-date", |call| async move {
        let sent = call.object()?;
        if !sent.contains_key("dueDate") {
            let refusal = Refusal::new("A new due date is required in order to change the due date");
            return Err(refusal.with_null("dueDate").into());
        }
        let notices = [NoticeEvent::ManualDueDateChange, NoticeEvent::DueDate];
        apply(&call, "due-date-change", &notices, |loan, settings| {
            let changed = change_due_date(loan, &sent)?;
            let by = call.caller.user_id;
            let entry = log::new_due_date(loan, &changed, Action::ChangedDueDate, by, &settings.zone);
            Ok((changed, entry))
        })
        .await
    });
    router.on("POST", "/circulation/loans/{id}/add-info", |call| async move {
        let sent = call.object()?;
        let info = info(&sent)?;
        let added =
            if info.0 == "patronInfoAdded" { Action::PatronInfoAdded } else { Action::StaffInfoAdded };
        apply(&call, "info-added", &[], |loan, _| {
            let entry = log::entry(loan, added, info.1.to_owned(), call.caller.user_id);
            Ok((add_info(loan, info), Some(entry)))
        })
        .await
    });
}

async fn apply(
    call: &Call,
    cause: &'static str,
    notices: &[NoticeEvent],
    decide: impl FnOnce(
        &LoanAtDesk,
        &CirculationSettings,
    ) -> Result<(Map<String, Value>, Option<LogEntry>), Failure>,
) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let (tx, loan, settings) = find::locked(tenant, call.id(0)?).await?;
    let (changed, entry) = decide(&loan, &settings)?;
    let changed = store::versioned(changed, call.caller.user_id, call.now);
    let mut pipeline = Pipeline::new();
    store::replace(&mut pipeline, &tenant.id, loan.id, &loan.document, &changed, Some(cause), call.now);
    if let Some(entry) = entry {
        circulation_log::write(&mut pipeline, &entry, call.now);
    }
    let notices = settings.notice_causes(notices, About::Loan(loan.id));
    patron_notices::record(&mut pipeline, &notices, call.now);
    if changed.get("dueDate") != loan.document.get("dueDate")
        && let Some(first) = reminder_schedule::first_reminder(&changed, &settings)
    {
        reminder_schedule::reschedule(&mut pipeline, &first, call.now);
    }
    tx.send_and_commit(pipeline).await?;
    if !notices.is_empty() {
        patron_notices::process_soon(tenant);
    }
    Ok(Answer::no_content())
}

/// The refusal of a change of a closed loan.
pub fn refuse_if_closed(loan: &LoanAtDesk) -> Option<Refusal> {
    loan.is_closed().then(|| Refusal::new("Loan is closed").with("loanId", loan.id.to_string()))
}

/// Whether the queue has a recall that is not yet filled.
pub fn has_open_recall(queue: &[QueuedRequest]) -> bool {
    queue.iter().any(|request| request.is_recall() && request.is_not_yet_filled())
}

/// The loan with another due date; its reminders start again.
fn change_due_date(loan: &LoanAtDesk, sent: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    if let Some(refusal) = refuse_if_closed(loan) {
        return Err(refusal.into());
    }
    if KEEPS_DUE_DATE.contains(&loan.item_status()) {
        let refusal = Refusal::new(format!("item is {}", loan.item_status()));
        return Err(refusal.with("itemId", text_at(&loan.document, "itemId")).into());
    }
    let due_date = time::parse(text_at(sent, "dueDate"))
        .ok_or_else(|| Failure::Invalid("dueDate must be a date and time in ISO 8601".into()))?;
    let mut changed = loan.document.clone();
    // FOLIO quirk: the loan keeps its action.
    changed.insert("dueDate".into(), time::format(due_date).into());
    changed.remove("reminders");
    if changed.get("dueDateChangedByRecall") == Some(&Value::Bool(true)) && !has_open_recall(&loan.queue) {
        changed.insert("dueDateChangedByRecall".into(), false.into());
    }
    if let Some(item) = &loan.item {
        changed.insert("itemStatus".into(), (&item.status).into());
    }
    Ok(changed)
}

/// The action, for staff or for the patron, and the comment.
fn info(sent: &Map<String, Value>) -> Result<(&str, &str), Refusal> {
    let (action, comment) = (text_at(sent, "action"), text_at(sent, "actionComment"));
    if ["patronInfoAdded", "staffInfoAdded"].contains(&action) && !comment.trim().is_empty() {
        return Ok((action, comment));
    }
    Err(Refusal::new(
        "An action of type patronInfoAdded or staffInfoAdded, with associated actionComment, required in order to add info",
    )
    .with_null("action"))
}

fn add_info(loan: &LoanAtDesk, (action, comment): (&str, &str)) -> Map<String, Value> {
    let mut changed = loan.document.clone();
    changed.insert("action".into(), action.into());
    changed.insert("actionComment".into(), comment.into());
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => unreachable!("{other} is an object"),
        }
    }

    fn loan(document: Value) -> LoanAtDesk {
        LoanAtDesk { document: object(document), ..LoanAtDesk::default() }
    }

    fn to_june() -> Map<String, Value> {
        object(json!({"dueDate": "2024-06-01T10:00:00Z"}))
    }

    fn message(refused: Result<Map<String, Value>, Failure>) -> String {
        match refused {
            Err(Failure::Refused(refusals)) => refusals[0].message.clone(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_new_due_date_resets_the_reminders() {
        let stored = json!({"status": {"name": "Open"}, "dueDate": "2024-05-01", "reminders": {}, "own": 1});
        let changed = change_due_date(&loan(stored), &to_june()).expect("allowed");
        assert_eq!(
            Value::Object(changed),
            json!({"status": {"name": "Open"}, "dueDate": "2024-06-01T10:00:00.000+00:00", "own": 1})
        );
    }

    #[test]
    fn a_loan_stays_recalled_only_as_long_as_a_recall_waits() {
        let stored = json!({"status": {"name": "Open"}, "dueDateChangedByRecall": true});
        let recall = QueuedRequest {
            id: uuid::Uuid::nil(),
            document: object(json!({"requestType": "Recall", "status": "Open - Not yet filled"})),
            requester: None,
            queue: None,
        };
        let waiting = LoanAtDesk { queue: vec![recall], ..loan(stored.clone()) };
        let by_recall = |loan: &LoanAtDesk| {
            change_due_date(loan, &to_june()).expect("allowed")["dueDateChangedByRecall"].clone()
        };
        assert_eq!(by_recall(&waiting), json!(true));
        assert_eq!(by_recall(&loan(stored)), json!(false));
    }

    #[test]
    fn a_lost_item_and_a_closed_loan_keep_their_due_date() {
        let lost = loan(json!({"status": {"name": "Open"}, "itemStatus": "Declared lost"}));
        assert_eq!(message(change_due_date(&lost, &to_june())), "item is Declared lost");
        let closed = loan(json!({"status": {"name": "Closed"}}));
        assert_eq!(message(change_due_date(&closed, &to_june())), "Loan is closed");
    }

    #[test]
    fn a_remark_needs_a_known_action_and_text() {
        assert!(info(&object(json!({"action": "staffInfoAdded", "actionComment": "worn"}))).is_ok());
        assert!(info(&object(json!({"action": "staffInfoAdded", "actionComment": " "}))).is_err());
        assert!(info(&object(json!({"action": "renewed", "actionComment": "worn"}))).is_err());
    }
}
