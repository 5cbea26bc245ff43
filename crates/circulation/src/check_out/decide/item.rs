//! Refusals about the item and its requests.

use super::{Scan, with_maybe};
use crate::desk::QueuedRequest;
use carrel_records::{ItemStatus, Refusal, RefusalCode};

/// Items that are lost, claimed returned or intellectual cannot be checked out; missing and withdrawn ones can, once
/// found.
const NOT_LENT: [ItemStatus; 4] = [
    ItemStatus::DeclaredLost,
    ItemStatus::ClaimedReturned,
    ItemStatus::AgedToLost,
    ItemStatus::IntellectualItem,
];

impl Scan<'_> {
    pub(super) fn refuse_for_item(&self) -> Vec<Refusal> {
        let Some(item) = &self.facts.item else {
            let barcode = self.command.item_barcode.as_deref().unwrap_or("null");
            return vec![with_maybe(
                Refusal::new(format!("No item with barcode {barcode} could be found")),
                "itemBarcode",
                &self.command.item_barcode,
            )];
        };
        let mut refusals = Vec::new();
        if item.status == ItemStatus::CheckedOut {
            refusals.push(Refusal::new("Item is already checked out"));
        }
        if NOT_LENT.contains(&item.status) {
            refusals.push(Refusal::new(format!(
                "{} ({}) (Barcode: {}) has the item status {} and cannot be checked out",
                item.title(),
                item.material_type_name(self.settings),
                item.barcode(),
                item.status
            )));
        }
        if self.facts.item_has_open_loan {
            refusals.push(
                Refusal::new("Cannot check out item that already has an open loan")
                    .code(RefusalCode::ItemHasOpenLoan),
            );
        }
        refusals.into_iter().map(|refusal| refusal.with("itemBarcode", item.barcode())).collect()
    }

    pub(super) fn refuse_for_request(&self, request: &QueuedRequest) -> Option<Refusal> {
        let (patron, item) = (self.facts.patron.as_ref()?, self.facts.item.as_ref()?);
        (request.requester_id() != Some(patron.id)).then(|| {
            with_maybe(
                Refusal::new(format!(
                    "{} (Barcode: {}) cannot be checked out to user {} because it has been requested by another patron",
                    item.title(),
                    item.barcode(),
                    patron.display_name()
                )),
                "userBarcode",
                &self.command.user_barcode,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::fixtures::*;
    use carrel_inventory::records::items::statuses;
    use carrel_records::RefusalCode;
    use serde_json::json;

    #[test]
    fn an_item_is_lent_in_any_status_but_five() {
        let refused: Vec<String> = statuses()
            .into_iter()
            .filter(|status| decided(&item_that_is(status), &command(), &usual()).is_err())
            .collect();
        assert_eq!(
            refused,
            ["Aged to lost", "Checked out", "Claimed returned", "Declared lost", "Intellectual item"]
        );
        assert_eq!(
            messages(decided(&item_that_is("Checked out"), &command(), &usual())),
            ["Item is already checked out"]
        );
        assert_eq!(
            messages(decided(&item_that_is("Declared lost"), &command(), &usual())),
            ["Nod (Book) (Barcode: 036) has the item status Declared lost and cannot be checked out"]
        );
    }

    #[test]
    fn an_item_with_an_open_loan_is_refused_whatever_its_status() {
        let refusals =
            refusals(decided(&Facts { item_has_open_loan: true, ..facts() }, &command(), &usual()));
        assert_eq!(refusals[0].code, Some(RefusalCode::ItemHasOpenLoan));
        assert_eq!(refusals[0].parameters, [("itemBarcode".to_owned(), Some("036".to_owned()))]);
    }

    #[test]
    fn an_item_is_lent_only_to_the_first_requester() {
        let refused = |queue: Vec<crate::desk::QueuedRequest>| {
            decided(&Facts { queue, ..facts() }, &command(), &usual()).is_err()
        };
        let item_of_others = json!({"itemId": OTHER});
        let for_title = json!({"requestLevel": "Title", "itemId": null});
        assert!(refused(vec![request(1, OTHER, json!({}))]));
        assert!(refused(vec![request(1, OTHER, json!({})), request(2, PATRON, json!({}))]));
        assert!(!refused(vec![request(1, PATRON, json!({})), request(2, OTHER, json!({}))]));
        assert!(!refused(vec![request(1, OTHER, item_of_others)]), "another item is requested");
        assert!(refused(vec![request(1, OTHER, for_title)]), "any item is requested");
        assert!(refused(vec![request(1, OTHER, json!({"fulfillmentPreference": "Delivery"}))]));
    }

    #[test]
    fn a_refusal_names_a_patron_without_full_name_by_username() {
        let mut facts = Facts { queue: vec![request(1, OTHER, json!({}))], ..facts() };
        facts.patron.as_mut().expect("a patron").personal.first_name = None;
        assert!(messages(decided(&facts, &command(), &usual()))[0].contains("to user joan because"));
    }
}
