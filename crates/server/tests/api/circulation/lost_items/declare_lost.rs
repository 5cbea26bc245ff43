//! Items declared lost: charges, refusals, and the end of the loan.

use super::{LOST_FEE, Library, PROCESSING, id, state, usual};
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn a_declared_loss_is_charged_to_the_patron_by_the_owner_of_the_permanent_location() {
    let library = Library::open(usual()).await;
    let (loan, item, patron) = library.lent(0).await;

    library.declare_lost(&loan).await.expect(204);

    let stored = library.stored(&loan).await;
    assert_eq!((&stored["action"], &stored["actionComment"]), (&json!("declaredLost"), &json!("gone")));
    assert_eq!((&stored["itemStatus"], &stored["status"]["name"]), (&json!("Declared lost"), &json!("Open")));
    assert!(stored["declaredLostDate"].is_string());
    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    assert_eq!(library.history(&loan).await[0], "declaredLost");
    let fee = library.account(&loan, LOST_FEE).await;
    assert_eq!(state(&fee), (10.0, 10.0, "Outstanding"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 5.0, "Outstanding"));
    for (property, expected) in [
        ("userId", json!(patron.id)),
        ("itemId", json!(item.id)),
        ("barcode", json!(item.barcode)),
        ("ownerId", json!(library.owner)),
        ("feeFineOwner", json!("Main desk")),
        ("location", json!("Stacks")),
        ("loanPolicyId", stored["loanPolicyId"].clone()),
        ("overdueFinePolicyId", stored["overdueFinePolicyId"].clone()),
        ("lostItemFeePolicyId", stored["lostItemPolicyId"].clone()),
        ("dueDate", stored["dueDate"].clone()),
        ("holdingsRecordId", json!(item.holdings)),
        ("instanceId", json!(item.instance)),
    ] {
        assert_eq!(fee[property], expected, "{property}");
    }
    assert!(fee["materialType"].is_string() && fee["callNumber"].is_string() && fee["title"].is_string());
    let charge = &library.actions(&fee).await[0];
    assert_eq!((&charge["typeAction"], &charge["balance"]), (&json!(LOST_FEE), &json!(10.0)));
    assert_eq!(charge["createdAt"], json!(library.lending.main_desk.0));
    assert!(charge["source"].is_string(), "{charge}");
}

#[tokio::test]
async fn a_refused_loss_has_folios_text_and_changes_nothing() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    let path = format!("/circulation/loans/{}/declare-item-lost", id(&loan));
    let refused = library.lending.admin().post(&path, &json!({"comment": "gone"})).await;
    assert_eq!(refused.refusals(), ["A service point is required for item to be declared lost"]);
    let nowhere = format!("/circulation/loans/{}/declare-item-lost", Uuid::new_v4());
    let body = json!({"servicePointId": library.lending.main_desk.0});
    library.lending.admin().post(&nowhere, &body).await.expect(404);

    library.lending.admin().delete(&format!("/owners/{}", library.owner)).await.expect(204);
    let refused = library.declare_lost(&loan).await;
    assert_eq!(refused.refusals(), ["No fee/fine owner found for item's permanent location"]);
    let key = &refused.json()["errors"][0]["parameters"][0];
    assert_eq!(key, &json!({"key": "locationId", "value": library.lending.location}));
    assert_eq!(library.lending.status_of(&item).await, "Checked out");
    assert_eq!(library.stored(&loan).await["action"], "checkedout");

    library.lending.check_in(&item, library.lending.main_desk).await.expect(200);
    assert_eq!(library.declare_lost(&loan).await.refusals(), ["Loan is closed"]);
}

#[tokio::test]
async fn an_item_is_declared_lost_once() {
    let library = Library::open(usual()).await;
    let (loan, _, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    assert_eq!(library.declare_lost(&loan).await.refusals(), ["The item is already declared lost"]);
    assert_eq!(library.accounts(&loan).await.len(), 2);
}

#[tokio::test]
async fn a_loss_without_charges_closes_the_loan_as_lost_and_paid() {
    let library = Library::open(json!({})).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["status"]["name"], &stored["action"]), (&json!("Closed"), &json!("closedLoan")));
    assert!(stored["returnDate"].is_string() && stored.get("actionComment").is_none());
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
    assert_eq!(library.history(&loan).await[..2], ["closedLoan", "declaredLost"]);
    assert!(library.accounts(&loan).await.is_empty());
}

#[tokio::test]
async fn a_lost_item_keeps_its_due_date_and_cannot_be_requested() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let path = format!("/circulation/loans/{}/change-due-date", id(&loan));
    let refused = library.lending.admin().post(&path, &json!({"dueDate": "2030-01-01T10:00:00Z"})).await;
    assert_eq!(refused.refusals(), ["item is Declared lost"]);
    let requester = library.lending.patron().await;
    for kind in ["Hold", "Recall", "Page"] {
        let request = json!({"requestType": kind, "requestLevel": "Item", "requestDate": "2026-01-01T10:00:00Z",
            "requesterId": requester.id, "itemId": item.id, "instanceId": item.instance,
            "holdingsRecordId": item.holdings, "fulfillmentPreference": "Hold Shelf",
            "pickupServicePointId": library.lending.main_desk.0});
        let refused = library.lending.admin().post("/circulation/requests", &request).await;
        assert_eq!(refused.status, 422, "{kind}");
    }
}
