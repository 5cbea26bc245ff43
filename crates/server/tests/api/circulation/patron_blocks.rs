//! Automated patron blocks through the public API.

use carrel_platform::ServerOptions;
use carrel_testkit::{LendingServer, Reply, TestItem, TestPatron, TestServer};
use serde_json::{Value, json};
use uuid::Uuid;

const OVERDUE: &str = "584fbd4f-6a34-4730-a6ca-73a6a6a9d845";
const CHARGED_OUT: &str = "3d7c52dc-c732-4223-8bf8-e5917801386f";

async fn blocks(server: &LendingServer, patron: Uuid) -> Value {
    server.admin().get(&format!("/automated-patron-blocks/{patron}")).await.expect(200)
        ["automatedPatronBlocks"]
        .clone()
}

#[tokio::test]
async fn a_patron_with_all_the_items_he_may_have_borrows_no_more() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    server.blocks_above(CHARGED_OUT, 1.0, "Too many items").await;
    assert_eq!(blocks(&server, patron.id).await, json!([]));

    server.check_out(&server.item().await, &patron).await.expect(201);

    assert_eq!(
        blocks(&server, patron.id).await,
        json!([{"patronBlockConditionId": CHARGED_OUT, "blockBorrowing": true, "blockRenewals": false,
            "blockRequests": false, "message": "Too many items"}])
    );
    let summary = server.admin().get(&format!("/user-summary/{}", patron.id)).await.expect(200);
    assert_eq!(summary["openLoans"].as_array().map(Vec::len), Some(1));
    assert_eq!(summary["openLoans"][0]["itemLost"], false);
}

#[tokio::test]
async fn nobody_is_under_no_blocks_and_a_word_is_nobody() {
    let server = LendingServer::open().await;
    assert_eq!(blocks(&server, Uuid::new_v4()).await, json!([]));
    assert_eq!(server.admin().get(&format!("/user-summary/{}", Uuid::new_v4())).await.status, 404);
    let answer = server.admin().get("/automated-patron-blocks/somebody").await;
    assert_eq!((answer.status, answer.text().as_str()), (400, "Invalid user UUID: \"somebody\""));
}

#[tokio::test]
async fn a_block_needs_words_and_a_limit_needs_bounds() {
    let server = LendingServer::open().await;
    let path = format!("/patron-block-conditions/{CHARGED_OUT}");
    let mut record = server.admin().get(&path).await.expect(200);
    record["blockBorrowing"] = true.into();
    let answer = server.admin().put(&path, &record).await;
    answer.expect(422);
    assert_eq!(
        answer.refusals(),
        ["Message to be displayed is a required field if one or more blocked actions selected"]
    );
    let limit = json!({"id": Uuid::new_v4(), "patronGroupId": server.group, "conditionId": CHARGED_OUT, "value": 1.5});
    let answer = server.admin().post("/patron-block-limits", &limit).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Must be blank or an integer from 0 to 999999"]);
}

/// A patron with a book on loan who is late with another one, in a library that blocks for that.
async fn late_reader(server: &LendingServer) -> (TestItem, TestPatron) {
    let (kept, late, patron) = (server.item().await, server.item().await, server.patron().await);
    server.check_out(&kept, &patron).await.expect(201);
    let long_ago = json!({"loanDate": "2024-01-01T00:00:00Z"});
    server.check_out_with(&late, &patron, long_ago).await.expect(201);
    server.blocks_above(OVERDUE, 0.0, "Too late").await;
    server.blocks_by_hand(&patron, "rude").await;
    (kept, patron)
}

/// Messages and codes of a refusal.
fn reported(answer: &Reply) -> Vec<(Value, Value)> {
    let errors = answer.expect(422)["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| (error["message"].clone(), error["code"].clone())).collect()
}

fn pair(message: &str, code: &str) -> (Value, Value) {
    (message.into(), code.into())
}

#[tokio::test]
async fn a_patron_who_is_late_renews_nothing_unless_staff_insist() {
    let server = LendingServer::on(TestServer::start_in(counting()).await).await;
    let (kept, patron) = late_reader(&server).await;
    let order = json!({"itemId": kept.id, "userId": patron.id});
    let path = "/circulation/renew-by-id";
    let clerk = server.server.staff_with(&["circulation.renew-by-id.post"]).await;

    let refused = clerk.post(path, &order).await;

    assert_eq!(
        reported(&refused),
        [
            pair("Patron blocked from renewing", "USER_IS_BLOCKED_MANUALLY"),
            pair("Too late", "USER_IS_BLOCKED_AUTOMATICALLY")
        ]
    );
    assert_eq!(
        refused.expect(422)["errors"][1]["overridableBlock"],
        json!({"name": "patronBlock", "missingPermissions": ["circulation.override-patron-block.post"]})
    );
    let mut order = order;
    order["overrideBlocks"] = json!({"patronBlock": {}, "comment": "he is ill"});
    let refused = clerk.post(path, &order).await;
    assert_eq!(
        reported(&refused),
        [pair("Insufficient override permissions", "INSUFFICIENT_OVERRIDE_PERMISSIONS")]
    );
    let renewed = server.admin().post(path, &order).await;
    assert_eq!(renewed.expect(200)["action"], "renewedThroughOverride");
    assert_eq!(renewed.header("x-carrel-round-trips"), Some("2"), "blocks are read with the other facts");
}

#[tokio::test]
async fn a_patron_who_is_late_asks_for_nothing_unless_staff_insist() {
    let server = LendingServer::on(TestServer::start_in(counting()).await).await;
    let (_, patron) = late_reader(&server).await;
    let item = server.item().await;

    let refused = server.ask_for("Page", &item, &patron).await;

    assert_eq!(
        reported(&refused),
        [
            pair("Too late", "USER_IS_BLOCKED_AUTOMATICALLY"),
            pair("Patron blocked from requesting", "USER_IS_BLOCKED_MANUALLY")
        ]
    );
    let insisting =
        json!({"requestProcessingParameters": {"overrideBlocks": {"patronBlock": {}, "comment": "ill"}}});
    let placed = server.ask_with("Page", &item, &patron, insisting).await;
    placed.expect(201);
    assert_eq!(placed.header("x-carrel-round-trips"), Some("2"), "blocks are read with the other facts");
}

#[tokio::test]
async fn a_client_that_names_the_item_only_gets_its_title_in_the_same_two_round_trips() {
    let server = LendingServer::on(TestServer::start_in(counting()).await).await;
    server.lets_patrons_ask_for_titles().await;
    let (item, patron) = (server.item().await, server.patron().await);
    // The first request of a node reads the settings.
    server.ask_for("Page", &server.item().await, &patron).await.expect(201);
    let order = json!({"requestType": "Page", "requestDate": "2024-05-01T10:00:00Z", "requesterId": patron.id,
        "itemId": item.id, "fulfillmentPreference": "Hold Shelf", "pickupServicePointId": server.main_desk.0});

    let placed = server.admin().post("/circulation/requests", &order).await;

    let request = placed.expect(201);
    assert_eq!(request["instanceId"], json!(item.instance));
    assert_eq!(request["holdingsRecordId"], json!(item.holdings));
    assert_eq!((&request["requestLevel"], &request["position"]), (&json!("Item"), &json!(1)));
    assert_eq!(placed.header("x-carrel-round-trips"), Some("2"), "its title is read with the other facts");
}

fn counting() -> ServerOptions {
    ServerOptions { counts_round_trips: true, ..ServerOptions::default() }
}
