//! Entries of the circulation log about a check-in: the item, the loan that ends, the request that changes.

use super::{CheckInRequest, ClosedLoan};
use crate::desk::{ItemAtDesk, QueuedRequest, log};
use crate::moved_request::MovedRequest;
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log::{Action, LogEntry, LogObject, LoggedPatron, Source, description};
use carrel_inventory::item_state::StateChange;
use carrel_records::time;
use jiff::Timestamp;
use serde_json::Value;

/// The entries of a check-in; `moved` is the request before and after it.
pub(super) fn entries(
    item: &ItemAtDesk,
    state: &StateChange,
    loan: Option<&ClosedLoan>,
    moved: Option<(&QueuedRequest, &MovedRequest)>,
    command: &CheckInRequest,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Vec<LogEntry> {
    let destination = state.in_transit_destination.and_then(|id| settings.service_points.get(&id));
    let destination = destination.map(|point| point.name.as_str());
    let patron = loan.map(|loan| LoggedPatron {
        id: loan.patron,
        barcode: loan.borrower.as_ref().and_then(|borrower| borrower.barcode.clone()),
    });
    let check_in = LogEntry {
        patron: patron.unwrap_or_default(),
        items: vec![log::item(item, loan.map(|loan| loan.change.id))],
        source: Source::User(command.by),
        service_point: Some(command.service_point),
        description: Some(description::item_checked_in(state.status.as_str(), destination)),
        ..LogEntry::new(LogObject::NotApplicable, Action::CheckedIn)
    };
    let closed = loan.map(|loan| {
        let due = loan.change.document().get("dueDate").and_then(Value::as_str).and_then(time::parse);
        let returned = description::ReturnedLoan {
            item_status: state.status.as_str(),
            returned: command.returned,
            recorded: now,
            due,
        };
        LogEntry {
            object: LogObject::Loan,
            action: Action::ClosedLoan,
            description: Some(description::loan_closed(&returned, &settings.zone)),
            ..check_in.clone()
        }
    });
    let request = moved.map(|(before, after)| log::request_moved(&check_in, before, after.status, settings));
    [Some(check_in), closed, request].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use crate::check_in::facts::Facts;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn an_item_that_nobody_had_has_one_entry_without_patron() {
        let log = done(facts("Available"), BRANCH_DESK).log;
        assert_eq!(log.len(), 1);
        assert_eq!((log[0].object.name(), log[0].action.name()), ("N/A", "Checked in"));
        assert_eq!(log[0].patron, Default::default());
        assert_eq!(log[0].description.as_deref(), Some("Item status: In transit to Main desk."));
    }

    #[test]
    fn the_loan_that_ends_and_the_request_that_moves_on_have_entries_of_their_own() {
        let queue = vec![request(1, json!({}))];
        let log = done(Facts { queue, ..lent("Checked out", json!({})) }, MAIN_DESK).log;
        let actions: Vec<_> = log.iter().map(|entry| (entry.object.name(), entry.action.name())).collect();
        assert_eq!(
            actions,
            [("N/A", "Checked in"), ("Loan", "Closed loan"), ("Request", "Request status changed")]
        );
        assert!(
            log.iter().all(|entry| entry.patron.id == Some(PATRON) && entry.items[0].loan == Some(PATRON))
        );
        assert_eq!(
            log[1].description.as_deref(),
            Some("Item status: Awaiting pickup. Backdated to: 2024-05-08 18:00:00.")
        );
        assert_eq!(log[2].links.request, Some(Uuid::from_u128(101)));
        assert_eq!(
            log[2].description.as_deref(),
            Some(
                "Type: Hold. Pickup service point: Main desk. New request status: Open - Awaiting pickup \
                 (from: Open - Not yet filled)."
            )
        );
    }
}
