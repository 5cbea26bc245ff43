//! Lost items that are billed at their actual cost.

use super::{ACTUAL_COST, Library, PROCESSING, actual_cost, id, state, with};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn an_actual_cost_is_recorded_until_staff_bill_it() {
    let library = Library::open(actual_cost()).await;
    let (loan, item, patron) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let record = library.cost_records(&loan).await.remove(0);
    assert_eq!((&record["status"], &record["lossType"]), (&json!("Open"), &json!("Declared lost")));
    assert_eq!(
        (&record["user"]["id"], &record["user"]["barcode"]),
        (&json!(patron.id), &json!(patron.barcode))
    );
    assert_eq!(
        (&record["item"]["barcode"], &record["item"]["permanentLocation"]),
        (&json!(item.barcode), &json!("Stacks"))
    );
    assert_eq!(record["feeFine"]["type"], ACTUAL_COST);
    assert_eq!(library.accounts(&loan).await.len(), 1, "the processing fee is charged at once");
    let processing = library.account(&loan, PROCESSING).await;
    library.settle(&processing, "pay", "5").await;
    assert_eq!(library.lending.status_of(&item).await, "Declared lost", "the item is not paid");

    let admin = library.lending.admin();
    let nothing = json!({"actualCostRecordId": Uuid::new_v4(), "amount": 1});
    let unknown = admin.post("/actual-cost-fee-fine/bill", &nothing).await;
    assert_eq!(unknown.status, 422);
    assert!(unknown.text().ends_with("was not found"), "{}", unknown.text());
    let mut bill = json!({"actualCostRecordId": record["id"], "amount": -1, "additionalInfoForStaff": "worn",
        "additionalInfoForPatron": "sorry", "servicePointId": library.lending.main_desk.0});
    assert_eq!(admin.post("/actual-cost-fee-fine/bill", &bill).await.status, 422);
    bill["amount"] = 19.99.into();
    let billed = admin.post("/actual-cost-fee-fine/bill", &bill).await.expect(201);
    assert_eq!((&billed["status"], &billed["feeFine"]["billedAmount"]), (&json!("Billed"), &json!(19.99)));
    let again = admin.post("/actual-cost-fee-fine/bill", &bill).await;
    assert_eq!(again.status, 422);
    assert_eq!(again.text(), format!("Actual cost record {} is already Billed", id(&record)));

    let fee = library.account(&loan, ACTUAL_COST).await;
    assert_eq!(fee["id"], billed["feeFine"]["accountId"]);
    assert_eq!(state(&fee), (19.99, 19.99, "Outstanding"));
    let charge = &library.actions(&fee).await[0];
    assert_eq!(charge["comments"], "STAFF : worn \n PATRON : sorry");
    library.settle(&fee, "pay", "19.99").await;
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_actual_cost_that_staff_cancel_is_not_owed() {
    let library = Library::open(with(json!({"chargeAmountItem": {"chargeType": "actualCost"},
        "chargeAmountItemPatron": false})))
    .await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let record = library.cost_records(&loan).await.remove(0);
    let body = json!({"actualCostRecordId": record["id"], "additionalInfoForStaff": "too cheap"});
    let cancelled = library.lending.admin().post("/actual-cost-fee-fine/cancel", &body).await.expect(201);
    assert_eq!(
        (&cancelled["status"], &cancelled["additionalInfoForStaff"]),
        (&json!("Cancelled"), &json!("too cheap"))
    );
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
    assert_eq!(library.stored(&loan).await["status"]["name"], "Closed");
    let again = library.lending.admin().post("/actual-cost-fee-fine/cancel", &body).await;
    assert_eq!(again.text(), format!("Actual cost record {} is already Cancelled", id(&record)));
}

#[tokio::test]
async fn an_actual_cost_that_is_not_billed_in_time_expires() {
    let library = Library::open(with(json!({"chargeAmountItem": {"chargeType": "actualCost"},
        "chargeAmountItemPatron": false, "lostItemChargeFeeFine": {"duration": 1, "intervalId": "Weeks"}})))
    .await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let mut record = library.cost_records(&loan).await.remove(0);
    library.run("/circulation/actual-cost-expiration-by-timeout").await;
    assert_eq!(library.cost_records(&loan).await[0]["status"], "Open");
    record["expirationDate"] = "2026-01-01T10:00:00.000+00:00".into();
    let path = format!("/actual-cost-record-storage/actual-cost-records/{}", id(&record));
    library.lending.admin().put(&path, &record).await.expect(204);
    library.run("/circulation/actual-cost-expiration-by-timeout").await;
    assert_eq!(library.cost_records(&loan).await[0]["status"], "Expired");
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_actual_cost_is_cancelled_when_the_item_is_returned() {
    let library = Library::open(actual_cost()).await;
    let (loan, item, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    library.declare_lost(&loan).await.expect(204);
    let records = library.cost_records(&loan).await;
    let status_and_note =
        |record: &Value| (record["status"].clone(), record["additionalInfoForStaff"].clone());
    assert_eq!(status_and_note(&records[0]), (json!("Open"), Value::Null));
    assert_eq!(
        status_and_note(&records[1]),
        (json!("Cancelled"), json!("Aged to lost item was declared lost"))
    );
    library.lending.check_in(&item, library.lending.main_desk).await.expect(200);
    let records = library.cost_records(&loan).await;
    assert_eq!(status_and_note(&records[0]), (json!("Cancelled"), json!("Lost item was returned")));
    for account in library.accounts(&loan).await {
        assert_eq!(account["status"]["name"], "Closed");
    }
}
