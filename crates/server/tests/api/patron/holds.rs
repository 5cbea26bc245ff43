//! Holds that patrons place and cancel.

use super::counting_server;
use carrel_testkit::{LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

async fn stored(server: &LendingServer, hold: &Value) -> Value {
    let id = hold["requestId"].as_str().unwrap_or_default();
    server.admin().get(&format!("/request-storage/requests/{id}")).await.expect(200)
}

#[tokio::test]
async fn an_available_item_is_paged_in_two_round_trips() {
    for by_title in [false, true] {
        let server = counting_server().await;
        if by_title {
            server.enable_title_requests_by_tlr_setting().await;
        }
        let (test_item, patron) = (server.item().await, server.patron().await);
        // The first request of a node reads the settings.
        server.patron_places_hold(&server.item().await, &patron).await.expect(201);

        let answer = server.patron_places_hold(&test_item, &patron).await;

        let hold = answer.expect(201);
        assert_eq!(answer.header("x-carrel-round-trips"), Some("2"), "no more than a request at the desk");
        assert_eq!(server.status_of(&test_item).await, "Paged");
        assert_eq!(hold["item"]["itemId"], json!(test_item.id));
        assert_eq!(hold["item"]["instanceId"], json!(test_item.instance));
        assert!(hold["item"]["title"].is_string());
        assert_eq!((&hold["status"], &hold["queuePosition"]), (&json!("Open - Not yet filled"), &json!(1)));
        assert_eq!(hold["pickupLocationId"], json!(server.main_desk.0));
        assert_eq!(
            (&hold["requestDate"], &hold["expirationDate"], &hold["patronComments"]),
            (
                &json!("2024-05-01T10:00:00.000+00:00"),
                &json!("2099-01-01T23:59:59.000+00:00"),
                &json!("soon, please")
            )
        );
        let request = stored(&server, &hold).await;
        assert_eq!((&request["requestType"], &request["requestLevel"]), (&json!("Page"), &json!("Item")));
        assert_eq!(request["holdingsRecordId"], json!(test_item.holdings));
    }
}

#[tokio::test]
async fn an_item_on_loan_is_requested_by_the_first_type_of_the_policy() {
    let server = LendingServer::open().await;
    let (test_item, reader, patron) = (server.item().await, server.patron().await, server.patron().await);
    server.check_out(&test_item, &reader).await.expect(201);
    let hold = server.patron_places_hold(&test_item, &patron).await.expect(201);
    assert_eq!(stored(&server, &hold).await["requestType"], "Hold");
}

#[tokio::test]
async fn a_title_level_hold_takes_two_round_trips() {
    let server = counting_server().await;
    server.enable_title_requests_by_tlr_setting().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let copy = server.copy_of(&test_item).await;
    server.check_out(&test_item, &server.patron().await).await.expect(201);
    // The first request of a node reads the settings.
    server.patron_places_title_hold(&server.item().await, &patron).await.expect(201);

    let answer = server.patron_places_title_hold(&test_item, &patron).await;

    let hold = answer.expect(201);
    assert_eq!(answer.header("x-carrel-round-trips"), Some("2"));
    assert_eq!(hold["item"]["itemId"], json!(copy.id), "the copy on the shelf");
    assert_eq!(stored(&server, &hold).await["requestLevel"], "Title");
    let again = server.patron_places_title_hold(&test_item, &patron).await;
    let words = "This requester already has an open request for this instance";
    assert!(again.refusals().contains(&words.to_owned()), "{:?}", again.refusals());
}

#[tokio::test]
async fn without_title_level_requests_a_hold_of_an_instance_takes_two_round_trips() {
    let server = counting_server().await;
    let (lent, patron) = (server.item().await, server.patron().await);
    let test_item = server.copy_of(&lent).await;
    server.check_out(&lent, &server.patron().await).await.expect(201);
    // The first request of a node reads the settings.
    server.patron_places_title_hold(&server.item().await, &patron).await.expect(201);

    let answer = server.patron_places_title_hold(&test_item, &patron).await;

    let hold = answer.expect(201);
    assert_eq!(answer.header("x-carrel-round-trips"), Some("2"), "all copies are looked at together");
    assert_eq!(hold["item"]["itemId"], json!(test_item.id), "the copy on the shelf");
    assert_eq!((&hold["queuePosition"], server.status_of(&test_item).await), (&json!(1), "Paged".to_owned()));
    let next = server.patron_places_title_hold(&test_item, &server.patron().await).await.expect(201);
    assert_eq!(next["item"]["itemId"], json!(lent.id), "the shorter queue");
    let third = server.patron_places_title_hold(&test_item, &server.patron().await).await.expect(201);
    assert_eq!(third["queuePosition"], 2, "behind those who wait for the same copy");
    let again = server.patron_places_title_hold(&test_item, &patron).await;
    assert_eq!(again.refusals(), ["This requester already has an open request for an item of this instance"]);
    let nothing = TestItem { instance: Uuid::new_v4(), ..test_item };
    let answer = server.patron_places_title_hold(&nothing, &patron).await;
    assert_eq!(answer.refusals(), ["There are no holdings for this instance"]);
}

#[tokio::test]
async fn an_item_without_a_possible_request_type_is_refused() {
    let server = LendingServer::open().await;
    let policy = format!("/request-policy-storage/request-policies/{}", server.request_policy);
    let mut record = server.admin().get(&policy).await.expect(200);
    record["requestTypes"] = json!(["Hold", "Recall"]);
    server.admin().put(&policy, &record).await.expect(204);
    let (test_item, patron) = (server.item().await, server.patron().await);
    let answer = server.patron_places_hold(&test_item, &patron).await;
    assert_eq!(
        answer.expect(422)["errors"],
        json!([{"message": "Cannot find a valid request type for this item",
            "code": "CANNOT_FIND_VALID_REQUEST_FOR_ITEM",
            "parameters": [{"key": "itemId", "value": test_item.id}]}])
    );
}

#[tokio::test]
async fn a_patron_is_refused_with_the_texts_of_the_desk_and_cannot_override() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    server.blocks_by_hand(&patron, "rude").await;
    let expected = json!([{"message": "Patron blocked from requesting", "code": "USER_IS_BLOCKED_MANUALLY",
        "parameters": [{"key": "reason", "value": "rude"}]}]);
    let answer = server.patron_places_hold(&test_item, &patron).await;
    assert_eq!(answer.expect(422)["errors"], expected);
    let answer = server.patron_places_title_hold(&test_item, &patron).await;
    assert_eq!(answer.expect(422)["errors"][0], expected[0]);
    assert_eq!(server.status_of(&test_item).await, "Available");
}

#[tokio::test]
async fn a_hold_stores_dates_pickup_service_point_item_and_patron() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    for path in [
        format!("/patron/account/{}/item/{}/hold", patron.id, test_item.id),
        format!("/patron/account/{}/instance/{}/hold", patron.id, test_item.instance),
        format!("/patron/account/{}/hold/{}/cancel", patron.id, Uuid::new_v4()),
    ] {
        let answer = server.admin().post(&path, &json!({})).await;
        let errors = answer.expect(422)["errors"].clone();
        let keys: Vec<&Value> = errors
            .as_array()
            .iter()
            .flat_map(|errors| errors.iter())
            .map(|e| &e["parameters"][0]["key"])
            .collect();
        assert_eq!(keys, ["pickupLocationId", "requestDate"], "{path}");
    }
    let unknown = TestItem { id: Uuid::new_v4(), ..test_item.clone() };
    assert_eq!(server.patron_places_hold(&unknown, &patron).await.status, 404);
    let nobody = TestPatron { id: Uuid::new_v4(), barcode: String::new() };
    assert_eq!(server.patron_places_hold(&test_item, &nobody).await.status, 404);
}

#[tokio::test]
async fn concurrent_holds_are_numbered_consecutively() {
    let server = Arc::new(LendingServer::open().await);
    server.enable_title_requests_by_tlr_setting().await;
    let test_item = server.item_on_loan().await;
    let mut requests = Vec::new();
    for _ in 0..24 {
        let (server, test_item, patron) = (Arc::clone(&server), test_item.clone(), server.patron().await);
        requests.push(tokio::spawn(async move {
            server.patron_places_hold(&test_item, &patron).await.expect(201)["queuePosition"].as_i64()
        }));
    }
    let mut positions = BTreeSet::new();
    for placed in requests {
        positions.extend(placed.await.expect("nobody fails"));
    }
    assert_eq!(positions, (1..=24).collect());
}

#[tokio::test]
async fn a_cancellation_leaves_the_queue_in_two_round_trips() {
    let server = counting_server().await;
    let (test_item, first, second) = (server.item().await, server.patron().await, server.patron().await);
    let hold = server.patron_places_hold(&test_item, &first).await.expect(201);
    let next = server.patron_places_hold(&test_item, &second).await.expect(201);
    assert_eq!(next["queuePosition"], 2);
    let staff = Uuid::new_v4();
    let note = json!({"cancellationAdditionalInformation": "bought it", "canceledByUserId": staff,
        "canceledDate": "2024-05-02T10:00:00+0000"});

    let answer = server.patron_cancels_with(&hold, &first, note).await;

    let cancelled = answer.expect(200);
    assert_eq!(answer.header("x-carrel-round-trips"), Some("2"));
    assert_eq!(cancelled["status"], "Closed - Cancelled");
    assert_eq!(cancelled["canceledDate"], "2024-05-02T10:00:00.000+00:00");
    assert_eq!(cancelled["item"], hold["item"]);
    let request = stored(&server, &hold).await;
    assert_eq!(
        (&request["cancelledByUserId"], &request["cancellationAdditionalInformation"]),
        (&json!(staff), &json!("bought it"))
    );
    assert!(request["requestExpirationDate"].is_string(), "the rest of the request stays");
    assert_eq!(stored(&server, &next).await["position"], 1);
    server.patron_cancels(&next, &second).await.expect(200);
    assert_eq!(server.status_of(&test_item).await, "Available", "nobody waits for it any more");
}

#[tokio::test]
async fn patrons_can_cancel_only_their_own_requests_and_only_once() {
    let server = LendingServer::open().await;
    let (test_item, patron, other) = (server.item().await, server.patron().await, server.patron().await);
    let hold = server.patron_places_hold(&test_item, &patron).await.expect(201);
    let words = format!(
        "requests record with ID \"{}\" cannot be found",
        hold["requestId"].as_str().unwrap_or_default()
    );
    let answer = server.patron_cancels(&hold, &other).await;
    assert_eq!((answer.status, answer.text()), (404, words));
    let no_reason = json!({"cancellationReasonId": Uuid::new_v4()});
    let answer = server.patron_cancels_with(&hold, &patron, no_reason).await;
    assert_eq!(answer.expect(422)["errors"][0]["code"], "INVALID_CANCELLATION_REASON");
    assert_eq!(stored(&server, &hold).await["status"], "Open - Not yet filled");

    server.patron_cancels(&hold, &patron).await.expect(200);

    let answer = server.patron_cancels(&hold, &patron).await;
    assert_eq!(answer.expect(422)["errors"][0]["code"], "REQUEST_ALREADY_CLOSED");
    let nothing = json!({"requestId": Uuid::new_v4()});
    assert_eq!(server.patron_cancels(&nothing, &patron).await.status, 404);
}
