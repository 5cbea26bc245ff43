//! Items aged to lost and billed by jobs.

use super::{LOST_FEE, Library, id, state, usual, with};
use jiff::Timestamp;
use serde_json::json;

#[tokio::test]
async fn an_item_ages_to_lost_once_and_is_billed_once() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(29).await;
    let (on_time, borrowed, _) = library.lent(27).await;

    library.age().await;

    let aged = library.stored(&loan).await;
    assert_eq!((&aged["action"], &aged["itemStatus"]), (&json!("itemAgedToLost"), &json!("Aged to lost")));
    assert_eq!(aged["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], false);
    assert_eq!(
        aged["agedToLostDelayedBilling"]["dateLostItemShouldBeBilled"],
        aged["agedToLostDelayedBilling"]["agedToLostDate"]
    );
    assert_eq!(library.lending.status_of(&item).await, "Aged to lost");
    assert_eq!(library.lending.status_of(&borrowed).await, "Checked out");
    assert!(library.stored(&on_time).await.get("agedToLostDelayedBilling").is_none());
    library.age().await;
    assert_eq!(library.stored(&loan).await, aged);

    library.bill().await;
    library.bill().await;
    assert_eq!(library.stored(&loan).await["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], true);
    assert_eq!(library.history(&loan).await, ["", "itemAgedToLost", "checkedout"]);
    assert_eq!(library.accounts(&loan).await.len(), 2);
    let fee = library.account(&loan, LOST_FEE).await;
    let charge = &library.actions(&fee).await[0];
    assert_eq!((&charge["source"], charge.get("createdAt")), (&json!("System"), None));
}

#[tokio::test]
async fn billing_waits_for_its_date_and_for_an_owner() {
    let later = json!({"patronBilledAfterAgedLost": {"duration": 1, "intervalId": "Weeks"}});
    let library = Library::open(with(later)).await;
    let (loan, _, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    assert!(library.accounts(&loan).await.is_empty(), "not before its date");
    let mut stored = library.stored(&loan).await;
    stored["agedToLostDelayedBilling"]["dateLostItemShouldBeBilled"] = "2026-01-01T10:00:00.000+00:00".into();
    library.lending.admin().put(&format!("/loan-storage/loans/{}", id(&loan)), &stored).await.expect(204);

    library.lending.admin().delete(&format!("/owners/{}", library.owner)).await.expect(204);
    library.bill().await;
    assert!(library.accounts(&loan).await.is_empty());
    assert_eq!(library.stored(&loan).await["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], false);
    let record = json!({"id": library.owner, "owner": "Main desk",
        "servicePointOwner": [{"value": library.lending.main_desk.0}]});
    library.lending.create("/owners", &record).await;
    library.bill().await;
    assert_eq!(library.accounts(&loan).await.len(), 2);
}

#[tokio::test]
async fn an_aged_item_without_charges_is_lost_and_paid() {
    let library = Library::open(json!({"itemAgedLostOverdue": {"duration": 1, "intervalId": "Weeks"}})).await;
    let (loan, item, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["status"]["name"], &stored["action"]), (&json!("Closed"), &json!("closedLoan")));
    assert_eq!(stored["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], true);
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_item_claimed_returned_does_not_age_and_can_be_declared_lost() {
    let library = Library::open(usual()).await;
    let (loan, item, patron) = library.lent(60).await;
    let path = format!("/circulation/loans/{}/claim-item-returned", id(&loan));
    let claim = json!({"itemClaimedReturnedDateTime": Timestamp::now().to_string()});
    library.lending.admin().post(&path, &claim).await.expect(204);
    library.age().await;
    assert_eq!(library.lending.status_of(&item).await, "Claimed returned");

    library.declare_lost(&loan).await.expect(204);
    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    let notes = library.lending.admin().get("/notes?limit=100").await.expect(200);
    let note = &notes["notes"][0];
    assert_eq!(note["title"], "Claimed returned item marked declared lost");
    assert_eq!(note["links"][0]["id"], json!(patron.id));
}

#[tokio::test]
async fn declaring_an_aged_item_lost_replaces_its_fees() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    let fee = library.account(&loan, LOST_FEE).await;
    library.settle(&fee, "pay", "6.50").await;

    library.declare_lost(&loan).await.expect(204);

    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    let accounts = library.accounts(&loan).await;
    let states: Vec<_> = accounts.iter().map(state).collect();
    let dropped = "Cancelled item declared lost";
    assert_eq!(states.len(), 4, "{states:?}");
    for expected in
        [(10.0, 0.0, dropped), (5.0, 0.0, dropped), (10.0, 10.0, "Outstanding"), (5.0, 5.0, "Outstanding")]
    {
        assert!(states.contains(&expected), "{expected:?} among {states:?}");
    }
    // After both new fees are paid, the loan ends.
    for account in accounts.iter().filter(|account| account["status"]["name"] == "Open") {
        library.settle(account, "pay", &account["amount"].to_string()).await;
    }
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn two_nodes_age_and_bill_each_item_once() {
    let library = Library::open(usual()).await;
    let mut loans = Vec::new();
    for _ in 0..6 {
        loans.push(library.lent(60).await.0);
    }
    for path in ["/circulation/scheduled-age-to-lost", "/circulation/scheduled-age-to-lost-fee-charging"] {
        let runs = [library.run(path), library.run(path), library.run(path)];
        futures_util::future::join_all(runs).await;
    }
    for loan in &loans {
        assert_eq!(library.history(loan).await, ["", "itemAgedToLost", "checkedout"]);
        assert_eq!(library.accounts(loan).await.len(), 2);
    }
}
