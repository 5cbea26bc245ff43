//! Patrons renew for themselves.

use super::counting_server;
use carrel_testkit::{LendingServer, TestItem};
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn a_patron_keeps_an_item_for_longer_in_two_round_trips() {
    let server = counting_server().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let then = json!({"loanDate": "2024-01-01T00:00:00Z"});
    let loan = server.check_out_with(&test_item, &patron, then).await.expect(201);

    let answer = server.patron_renews(&test_item, &patron).await;

    let renewed = answer.expect(201);
    assert_eq!(answer.header("x-carrel-round-trips"), Some("2"));
    assert_eq!(renewed["id"], loan["id"]);
    assert_eq!(renewed["item"]["itemId"], json!(test_item.id));
    assert_eq!(
        (&renewed["overdue"], &renewed["loanDate"]),
        (&json!(false), &json!("2024-01-01T00:00:00.000+00:00"))
    );
    assert!(renewed["dueDate"].as_str() > loan["dueDate"].as_str());
}

#[tokio::test]
async fn a_patron_is_refused_with_the_texts_of_the_desk() {
    let server = LendingServer::open().await;
    let (test_item, patron, other) = (server.item().await, server.patron().await, server.patron().await);
    server.check_out(&test_item, &patron).await.expect(201);
    let answer = server.patron_renews(&test_item, &other).await;
    assert_eq!(answer.expect(422)["errors"][0]["code"], "ITEM_CHECKED_OUT_TO_DIFFERENT_USER");
    let unknown = TestItem { id: Uuid::new_v4(), ..test_item.clone() };
    let answer = server.patron_renews(&unknown, &patron).await;
    assert_eq!(answer.refusals(), [format!("No item with ID {} exists", unknown.id)]);
    server.blocks_by_hand(&patron, "rude").await;
    let answer = server.patron_renews(&test_item, &patron).await;
    assert_eq!(
        answer.expect(422)["errors"],
        json!([{"message": "Patron blocked from renewing", "code": "USER_IS_BLOCKED_MANUALLY",
            "parameters": [{"key": "reason", "value": "rude"}]}])
    );
}
