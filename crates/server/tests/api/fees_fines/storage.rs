//! Answers about stored records of fees/fines that differ from those of other modules.

use carrel_testkit::{LendingServer, TestServer};
use serde_json::json;
use uuid::Uuid;

const RECORDS: [(&str, &str); 11] = [
    ("/accounts", "Account"),
    ("/feefineactions", "Feefineaction"),
    ("/feefines", "Feefine"),
    ("/owners", "Owner"),
    ("/payments", "Payment"),
    ("/refunds", "Refund"),
    ("/waives", "Waive"),
    ("/transfers", "Transfer"),
    ("/transfer-criterias", "TransferCriteria"),
    ("/comments", "Comment"),
    ("/manualblocks", "Manualblock"),
];

#[tokio::test]
async fn an_unknown_record_has_the_modules_404_text() {
    let server = TestServer::start().await;
    for (path, name) in RECORDS {
        let address = format!("{path}/{}", Uuid::new_v4());
        assert_eq!(server.get(&address).await.expect(404), format!("{name}Object does not exist"), "{path}");
        assert_eq!(server.delete(&address).await.expect(404), "Record Not Found", "{path}");
    }
    let address = format!("/owners/{}", Uuid::new_v4());
    assert_eq!(server.put(&address, &json!({"owner": "Desk"})).await.expect(404), "Record Not Found");
}

#[tokio::test]
async fn a_duplicate_fee_fine_type_of_an_owner_is_refused_with_400() {
    let server = TestServer::start().await;
    let owner = server.post("/owners", &json!({"owner": "Main desk"})).await.expect(201);
    assert_eq!(owner["servicePointOwner"], json!([]));
    let fee = json!({"feeFineType": "Damaged item", "ownerId": owner["id"]});
    server.post("/feefines", &fee).await.expect(201);
    assert_eq!(server.post("/feefines", &fee).await.expect(400), "Unable to process request");
    server.post("/feefines", &json!({"ownerId": owner["id"]})).await.expect_status(422);
}

#[tokio::test]
async fn an_automatic_fee_fine_type_cannot_be_changed() {
    let server = TestServer::start().await;
    let path = "/feefines/9523cb96-e752-40c2-89da-60f3961a488d";
    let fee = server.get(path).await.expect(200);
    for reply in [server.put(path, &fee).await, server.delete(path).await] {
        assert_eq!(reply.refusals(), ["Attempt to change an automatic fee/fine type"]);
    }
}

#[tokio::test]
async fn an_account_shows_contributors_and_the_title_of_its_item() {
    let server = LendingServer::open().await;
    let (patron, test_item) = (server.patron().await, server.item().await);
    let owner = server.create("/owners", &json!({"owner": "Main desk"})).await;
    let fee = server.create("/feefines", &json!({"feeFineType": "Torn page", "ownerId": owner["id"]})).await;
    let account = json!({"id": Uuid::new_v4(), "amount": 5.0, "remaining": 5.0, "status": {"name": "Open"},
        "paymentStatus": {"name": "Outstanding"}, "userId": patron.id, "feeFineId": fee["id"],
        "ownerId": owner["id"], "itemId": test_item.id});
    let created = server.create("/accounts", &account).await;
    assert_eq!(created["contributors"], json!([]));
    let path = format!("/accounts/{}", account["id"].as_str().unwrap_or_default());
    let stored = server.admin().get(&path).await.expect(200);
    assert_eq!(stored["contributors"], json!([]));
    assert_eq!(stored["instanceId"], json!(test_item.instance));
    assert_eq!(stored["holdingsRecordId"], json!(test_item.holdings));

    let action = json!({"accountId": account["id"], "userId": patron.id, "typeAction": "Torn page"});
    let action = server.create("/feefineactions", &action).await;
    assert!(action.get("metadata").is_none(), "actions have no metadata: {action}");
}

#[tokio::test]
async fn a_policy_with_the_id_and_the_name_of_another_is_refused_for_its_id() {
    let server = TestServer::start().await;
    let policy = json!({"id": Uuid::new_v4(), "name": "Lost", "chargeAmountItem": {"amount": "10.00",
        "chargeType": "anotherCost"}, "lostItemProcessingFee": "5.00", "chargeAmountItemPatron": false,
        "chargeAmountItemSystem": false, "returnedLostItemProcessingFee": false, "replacedLostItemProcessingFee": false,
        "replacementProcessingFee": "0.00", "replacementAllowed": false, "lostItemReturned": "Charge"});
    server.post("/lost-item-fees-policies", &policy).await.expect(201);
    let refused = server.post("/lost-item-fees-policies", &policy).await.refusals();
    let id = policy["id"].as_str().unwrap_or_default();
    assert_eq!(refused, [format!("id value already exists in table lost_item_fee_policy: {id}")]);
}
