//! Marking an item by hand.

use carrel_testkit::LendingLibrary;
use serde_json::json;

#[tokio::test]
async fn an_available_item_is_marked_missing_once() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let path = format!("/inventory/items/{}/mark-missing", book.id);
    let view = library.admin().post(&path, &json!({})).await.expect(200);
    assert_eq!(view["status"]["name"], "Missing");
    assert_eq!(library.status_of(&book).await, "Missing");
    let answer = library.admin().post(&path, &json!({})).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Item is not allowed to be marked as Missing"]);
}

#[tokio::test]
async fn a_book_in_a_patrons_hands_is_not_missing() {
    let library = LendingLibrary::open().await;
    let (book, patron) = (library.book().await, library.patron().await);
    library.check_out(&book, &patron).await.expect(201);
    let path = format!("/inventory/items/{}/mark-missing", book.id);
    library.admin().post(&path, &json!({})).await.expect(422);
    assert_eq!(library.status_of(&book).await, "Checked out");
}

#[tokio::test]
async fn the_request_that_a_missing_item_was_filling_waits_again() {
    let library = LendingLibrary::open().await;
    let patron = library.patron().await;
    for (shelf_until, status) in [
        ("2999-01-01T00:00:00.000+00:00", "Open - Not yet filled"),
        ("2001-01-01T00:00:00.000+00:00", "Open - Awaiting pickup"),
    ] {
        let book = library.book().await;
        let admin = library.admin();
        let request = json!({"requestLevel": "Item", "requestType": "Hold", "requestDate": "2024-01-01T00:00:00.000+00:00",
            "requesterId": patron.id, "instanceId": book.instance, "holdingsRecordId": book.holdings, "itemId": book.id,
            "status": "Open - Awaiting pickup", "position": 1, "fulfillmentPreference": "Hold Shelf",
            "pickupServicePointId": library.main_desk.0, "holdShelfExpirationDate": shelf_until});
        let request = admin.post("/request-storage/requests", &request).await.expect(201);
        admin.post(&format!("/inventory/items/{}/mark-missing", book.id), &json!({})).await.expect(200);
        let path = format!("/request-storage/requests/{}", request["id"].as_str().unwrap_or_default());
        assert_eq!(admin.get(&path).await.expect(200)["status"], status);
        let events = library
            .library
            .database()
            .await
            .query(
                "SELECT 1 FROM outbox WHERE topic = 'circulation.request' AND key = $1
                     AND payload->'new'->>'status' = 'Open - Not yet filled'
                     AND payload->'old'->>'status' = 'Open - Awaiting pickup'",
                &[&request["id"].as_str()],
            )
            .await
            .expect("the outbox can be read");
        assert_eq!(events.len(), usize::from(status == "Open - Not yet filled"));
    }
}
