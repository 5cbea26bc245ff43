//! The texts of entries, as mod-circulation and mod-audit write them. Times are those of the tenant's time zone.

use super::Action;
use carrel_records::{Money, time};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::fmt::Write as _;

/// A check-in, by the item's status after it: `Item status: In transit to Branch desk.`
pub fn item_checked_in(status: &str, destination: Option<&str>) -> String {
    match destination.filter(|_| status == "In transit") {
        Some(destination) => format!("Item status: {status} to {destination}."),
        None => format!("Item status: {status}."),
    }
}

/// The loan that a check-in ends.
#[derive(Debug, Clone, Copy)]
pub struct ReturnedLoan<'a> {
    /// The item's status after the check-in.
    pub item_status: &'a str,
    /// When the item was returned, and when that was recorded.
    pub returned: Timestamp,
    pub recorded: Timestamp,
    pub due: Option<Timestamp>,
}

/// The end of a loan by a check-in: `Item status: Available. Backdated to: 2024-05-08 20:00:00.`
pub fn loan_closed(loan: &ReturnedLoan, zone: &TimeZone) -> String {
    let mut text = format!("Item status: {}", loan.item_status);
    let local = |time: Timestamp| time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let minute = |time: Timestamp| time.as_second().div_euclid(60);
    if minute(loan.returned) != minute(loan.recorded) {
        let _ = write!(text, ". Backdated to: {}", local(loan.returned));
    }
    // FOLIO quirk: the due date is shown as overdue if the loan is not overdue.
    if let Some(due) = loan.due.filter(|due| *due > loan.returned) {
        let _ = write!(text, ". Overdue due date: {}", local(due));
    }
    text.push('.');
    text
}

/// A check-out, with the barcode of the proxy who took the item.
pub fn checked_out(proxy_barcode: Option<&str>) -> String {
    format!("Checked out to proxy: {}.", proxy_barcode.unwrap_or("no"))
}

/// The values of a request in descriptions.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestNames<'a> {
    pub kind: Option<&'a str>,
    pub pickup_service_point: Option<&'a str>,
    pub address_type: Option<&'a str>,
}

/// A scan that changes the status of a request.
pub fn request_status_changed(request: &RequestNames, new: &str, old: &str) -> String {
    let mut text = String::new();
    for (name, value) in [
        ("Type", request.kind),
        ("Pickup service point", request.pickup_service_point),
        ("Address type", request.address_type),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = write!(text, "{name}: {value}. ");
        }
    }
    let _ = write!(text, "New request status: {new} (from: {old}).");
    text
}

/// A new request: `Type: Hold.`
pub fn request_placed(kind: &str) -> String {
    format!("Type: {kind}.")
}

/// The values of a request that an edit may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestVersion<'a> {
    pub kind: &'a str,
    pub expires: Option<Timestamp>,
    pub fulfillment: &'a str,
    pub pickup_service_point: Option<&'a str>,
    pub address_type: Option<&'a str>,
}

/// An edited request: its type, and what changed.
pub fn request_edited(old: &RequestVersion, new: &RequestVersion) -> String {
    let mut text = request_placed(old.kind);
    if old.kind != new.kind {
        let _ = write!(text, " New request type: {} (from: {}).", new.kind, old.kind);
    }
    let date = |time: Option<Timestamp>| match time {
        Some(time) => time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        None => "not set".to_owned(),
    };
    let mut changed = |name: &str, new: &str, old: &str| {
        if new != old {
            let _ = write!(text, " New {name}: {new} (from: {old}).");
        }
    };
    changed("expiration date", &date(new.expires), &date(old.expires));
    changed("fulfilment preference", new.fulfillment, old.fulfillment);
    let or_null = |name: Option<&'_ str>| name.unwrap_or("null").to_owned();
    changed("pickup service point", &or_null(new.pickup_service_point), &or_null(old.pickup_service_point));
    changed("address type", &or_null(new.address_type), &or_null(old.address_type));
    text
}

/// A cancelled request.
pub fn request_cancelled(kind: &str, reason: Option<&str>) -> String {
    format!("Type: {kind}. Reason for cancellation: {}.", reason.unwrap_or("null"))
}

/// A request that is moved to another item.
pub fn request_moved(kind: &str, new_barcode: Option<&str>, old_barcode: Option<&str>) -> String {
    let mut text = request_placed(kind);
    if let Some(new) = new_barcode {
        let _ = write!(text, " New item barcode: {new}");
    }
    if let Some(old) = old_barcode {
        let _ = write!(text, " (from: {old}).");
    }
    text
}

/// A request that gets another position in its queue, from 1 on.
pub fn request_reordered(kind: &str, new: i64, old: i64) -> String {
    format!("Type: {kind}. New queue position: {new} (from: {old}).")
}

/// A request that expires.
pub fn request_expired(kind: &str, new: &str, old: &str) -> String {
    format!("Type: {kind}. New request status: {new} (from: {old}).")
}

/// Another due date: by staff, renewal or recall.
pub fn due_date_changed(new: Timestamp, old: Option<Timestamp>, zone: &TimeZone) -> String {
    let old = old.map_or_else(|| "null".to_owned(), |old| with_offset(old, zone));
    format!("New due date: {} (from {old})", with_offset(new, zone))
}

/// A comment of staff on an action: declared lost, claimed returned, marked missing, aged to lost.
pub fn action_comment(comment: Option<&str>) -> String {
    format!("Additional information: {}", comment.unwrap_or_default())
}

/// A notice, by the name of its template and what triggered it, with the reason if it was not sent.
pub fn notice(template: Option<&str>, triggering_event: Option<&str>, error: Option<&str>) -> String {
    let unknown = |text: Option<&str>| text.unwrap_or("unknown").to_owned();
    let mut text =
        format!("Template: {}. Triggering event: {}.", unknown(template), unknown(triggering_event));
    if let Some(error) = error {
        let _ = write!(text, " Error message: {error}");
    }
    text
}

/// An action on a fee/fine.
#[derive(Debug, Clone, Copy, Default)]
pub struct FeeFineAction<'a> {
    /// Name of the fee/fine type.
    pub kind: Option<&'a str>,
    pub owner: Option<&'a str>,
    pub amount: Option<Money>,
    pub balance: Option<Money>,
    /// For a payment its method, for a waiver or refund its reason, for a transfer the account.
    pub payment_method: Option<&'a str>,
    /// Lines that begin with `STAFF : ` or `PATRON : `.
    pub comments: Option<&'a str>,
    pub is_automated: bool,
}

/// A charge, payment, waiver, transfer, refund or cancellation, or a remark.
pub fn fee_fine(action: Action, what: &FeeFineAction) -> String {
    let or_null = |text: Option<&str>| text.unwrap_or("null").to_owned();
    let money = |amount: Option<Money>| amount.map_or_else(|| "null".to_owned(), |amount| amount.to_string());
    let comments = |whom: &str| -> String {
        let lines = what.comments.unwrap_or_default().lines().map(str::trim);
        lines.filter(|line| line.contains(whom)).map(|line| line.replace(whom, "")).collect()
    };
    let method = match action {
        Action::PaidFully | Action::PaidPartially => "Payment method",
        Action::WaivedFully | Action::WaivedPartially => "Waive reason",
        Action::RefundedFully | Action::RefundedPartially => "Refund reason",
        Action::TransferredFully | Action::TransferredPartially => "Transfer account",
        Action::Billed => {
            return format!(
                "Fee/Fine type: {}. Fee/Fine owner: {}. Amount: {}. {}. Additional information to staff: {}",
                or_null(what.kind),
                or_null(what.owner),
                money(what.amount),
                if what.is_automated { "automated" } else { "manual" },
                or_null(what.comments)
            );
        }
        Action::CancelledAsError => {
            return format!(
                "Amount: {}. Cancellation reason: {}. Additional information to patron: {}.",
                money(what.amount),
                comments("STAFF : "),
                comments("PATRON : ")
            );
        }
        Action::StaffInformationOnlyAdded => return comments("STAFF : "),
        _ => return String::new(),
    };
    format!(
        "Fee/Fine type: {}. Amount: {}. Balance: {}. {method}: {}. Additional information to staff: {}. Additional \
         information to patron: {}.",
        or_null(what.kind),
        money(what.amount),
        money(what.balance),
        or_null(what.payment_method),
        comments("STAFF : "),
        comments("PATRON : ")
    )
}

/// A manual block, by its record.
pub fn manual_block(block: &Value) -> String {
    let actions = ["borrowing", "renewals", "requests"];
    let actions: Vec<&str> =
        actions.into_iter().filter(|action| block[*action] == Value::Bool(true)).collect();
    let mut parts = Vec::new();
    if !actions.is_empty() {
        parts.push(format!("Block actions: {}.", actions.join(", ")));
    }
    for (name, key) in [
        ("Description", "desc"),
        ("Staff only information", "staffInformation"),
        ("Message to patron", "patronMessage"),
    ] {
        if let Some(text) = block[key].as_str().filter(|text| !text.trim().is_empty()) {
            parts.push(format!("{name}: {text}."));
        }
    }
    if let Some(expires) = block["expirationDate"].as_str().and_then(time::parse) {
        parts.push(format!("Expiration date: {}.", expires.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d")));
    }
    parts.join(" ")
}

/// When a loan aged to lost.
pub fn aged_to_lost(at: Timestamp, zone: &TimeZone) -> String {
    // FOLIO quirk: the text calls it the due date.
    format!("Due date: {}", with_offset(at, zone))
}

/// `2024-05-20T23:59:59.000+0200`, in UTC with `Z`.
fn with_offset(time: Timestamp, zone: &TimeZone) -> String {
    let zoned = time.to_zoned(zone.clone());
    let format = if zoned.offset().is_zero() { "%Y-%m-%dT%H:%M:%S.%3fZ" } else { "%Y-%m-%dT%H:%M:%S.%3f%z" };
    zoned.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").expect("a time zone")
    }

    #[test]
    fn a_check_in_reports_where_the_item_goes() {
        assert_eq!(item_checked_in("Available", Some("Branch")), "Item status: Available.");
        assert_eq!(item_checked_in("In transit", Some("Branch")), "Item status: In transit to Branch.");
    }

    #[test]
    fn the_end_of_a_loan_reports_a_backdated_return_and_the_due_date() {
        let loan = ReturnedLoan {
            item_status: "Available",
            returned: at("2024-05-10T10:00:01Z"),
            recorded: at("2024-05-10T10:00:58Z"),
            due: Some(at("2024-05-01T21:59:59Z")),
        };
        assert_eq!(loan_closed(&loan, &berlin()), "Item status: Available.");
        let early = ReturnedLoan { returned: at("2024-04-30T18:00:00Z"), ..loan };
        assert_eq!(
            loan_closed(&early, &berlin()),
            "Item status: Available. Backdated to: 2024-04-30 20:00:00. Overdue due date: 2024-05-01 23:59:59."
        );
    }

    #[test]
    fn a_check_out_names_the_proxy() {
        assert_eq!(checked_out(None), "Checked out to proxy: no.");
        assert_eq!(checked_out(Some("4711")), "Checked out to proxy: 4711.");
    }

    #[test]
    fn a_changed_request_is_named_by_what_is_known_of_it() {
        let request =
            RequestNames { kind: Some("Hold"), pickup_service_point: Some("Main"), ..Default::default() };
        assert_eq!(
            request_status_changed(&request, "Open - Awaiting pickup", "Open - Not yet filled"),
            "Type: Hold. Pickup service point: Main. New request status: Open - Awaiting pickup \
             (from: Open - Not yet filled)."
        );
    }

    #[test]
    fn an_edit_names_what_changed() {
        let old = RequestVersion {
            kind: "Hold",
            expires: None,
            fulfillment: "Hold Shelf",
            pickup_service_point: Some("Main"),
            address_type: None,
        };
        assert_eq!(request_edited(&old, &old), "Type: Hold.");
        let new = RequestVersion {
            kind: "Recall",
            expires: Some(at("2024-06-01T23:59:59Z")),
            pickup_service_point: Some("Branch"),
            ..old
        };
        assert_eq!(
            request_edited(&old, &new),
            "Type: Hold. New request type: Recall (from: Hold). New expiration date: 2024-06-01 23:59:59 \
             (from: not set). New pickup service point: Branch (from: Main)."
        );
    }

    #[test]
    fn due_dates_are_written_with_the_offset_of_the_tenants_zone() {
        let (new, old) = (at("2024-06-01T21:59:59Z"), at("2024-01-01T22:59:59Z"));
        assert_eq!(
            due_date_changed(new, Some(old), &berlin()),
            "New due date: 2024-06-01T23:59:59.000+0200 (from 2024-01-01T23:59:59.000+0100)"
        );
        assert_eq!(
            due_date_changed(new, None, &TimeZone::UTC),
            "New due date: 2024-06-01T21:59:59.000Z (from null)"
        );
    }
}
