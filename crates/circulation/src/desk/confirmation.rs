//! Confirmations by staff before a scan.
//!
//! A client that sends `X-Carrel-Refuse-Unconfirmed: true` with a check-out or check-in gets a refusal instead of a
//! change if the item needs a confirmation. It then shows the question, and sends the scan again without the header. So
//! the many scans that need no confirmation are one call each.

use super::ItemAtDesk;
use carrel_platform::Call;
use carrel_records::{ItemStatus, Refusal, RefusalCode};

pub const HEADER: &str = "X-Carrel-Refuse-Unconfirmed";

/// Statuses that staff confirm at both desks.
const CONFIRMED: [ItemStatus; 10] = [
    ItemStatus::AgedToLost,
    ItemStatus::DeclaredLost,
    ItemStatus::InProcessNonRequestable,
    ItemStatus::LongMissing,
    ItemStatus::LostAndPaid,
    ItemStatus::Missing,
    ItemStatus::Restricted,
    ItemStatus::Unavailable,
    ItemStatus::Unknown,
    ItemStatus::Withdrawn,
];

/// Whether the client wants unconfirmed scans refused.
pub fn is_wanted(call: &Call) -> bool {
    call.header(HEADER).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// Refuses a scan that staff must confirm first; `note_type` is `Check out` or `Check in`. An item that is in use at
/// the location may be kept for its patron instead of being checked in.
pub fn refuse(item: &ItemAtDesk, note_type: &str, in_use_at_location: bool) -> Option<Refusal> {
    let record = &item.record;
    let has = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
    let pieces = record.number_of_pieces.as_deref().and_then(|number| number.trim().parse::<f64>().ok());
    let reasons = [
        // At the check-out a claimed returned item is refused for its status; the check-in needs the resolution of the
        // claim.
        ("status", CONFIRMED.contains(&item.status) || item.status == ItemStatus::ClaimedReturned),
        (
            "pieces",
            pieces.is_some_and(|pieces| pieces > 1.0)
                || has(&record.number_of_missing_pieces)
                || has(&record.missing_pieces),
        ),
        ("useAtLocation", in_use_at_location),
        ("notes", record.circulation_notes.iter().any(|note| note.note_type.as_deref() == Some(note_type))),
    ];
    let mut reasons =
        reasons.into_iter().filter(|(_, applies)| *applies).map(|(reason, _)| reason).peekable();
    reasons.peek()?;
    let refusal = Refusal::new("Staff must confirm this scan").code(RefusalCode::ConfirmationRequired);
    Some(reasons.fold(refusal, |refusal, reason| refusal.with("reason", reason)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::item::ItemRecord;
    use serde_json::{Value, json};

    fn reasons(status: &str, record: Value) -> Vec<String> {
        let record: ItemRecord = serde_json::from_value(record).expect("a record");
        let item = ItemAtDesk { status: status.into(), record, ..ItemAtDesk::default() };
        let parameters =
            refuse(&item, "Check out", false).map(|refusal| refusal.parameters).unwrap_or_default();
        parameters.into_iter().filter_map(|(_, value)| value).collect()
    }

    #[test]
    fn an_ordinary_item_needs_no_confirmation() {
        assert!(reasons("Available", json!({"numberOfPieces": "1", "missingPieces": " "})).is_empty());
        assert!(reasons("Checked out", json!({"circulationNotes": null})).is_empty());
    }

    #[test]
    fn status_pieces_and_notes_are_confirmed() {
        assert_eq!(reasons("Missing", json!({})), ["status"]);
        assert_eq!(reasons("Available", json!({"numberOfPieces": "3"})), ["pieces"]);
        assert_eq!(reasons("Available", json!({"missingPieces": "map"})), ["pieces"]);
        let notes =
            json!([{"noteType": "Check in", "note": "Look"}, {"noteType": "Check out", "note": "Count"}]);
        assert_eq!(reasons("Withdrawn", json!({"circulationNotes": notes})), ["status", "notes"]);
        assert!(reasons("Available", json!({"circulationNotes": [notes[0]]})).is_empty());
    }

    #[test]
    fn an_item_in_use_at_the_location_may_be_kept() {
        let refusal = refuse(&ItemAtDesk::default(), "Check in", true).expect("a refusal");
        assert_eq!(refusal.parameters, [("reason".to_owned(), Some("useAtLocation".to_owned()))]);
    }
}
