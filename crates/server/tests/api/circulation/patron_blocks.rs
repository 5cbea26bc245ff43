//! Automated patron blocks through the public API.

use carrel_platform::tenant::Manner;
use carrel_testkit::{Book, LendingLibrary, Reply, TestLibrary, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

const OVERDUE: &str = "584fbd4f-6a34-4730-a6ca-73a6a6a9d845";
const CHARGED_OUT: &str = "3d7c52dc-c732-4223-8bf8-e5917801386f";

async fn blocks(library: &LendingLibrary, patron: Uuid) -> Value {
    library.admin().get(&format!("/automated-patron-blocks/{patron}")).await.expect(200)
        ["automatedPatronBlocks"]
        .clone()
}

#[tokio::test]
async fn a_patron_with_all_the_items_he_may_have_borrows_no_more() {
    let library = LendingLibrary::open().await;
    let patron = library.patron().await;
    library.blocks_above(CHARGED_OUT, 1.0, "Too many items").await;
    assert_eq!(blocks(&library, patron.id).await, json!([]));

    library.check_out(&library.book().await, &patron).await.expect(201);

    assert_eq!(
        blocks(&library, patron.id).await,
        json!([{"patronBlockConditionId": CHARGED_OUT, "blockBorrowing": true, "blockRenewals": false,
            "blockRequests": false, "message": "Too many items"}])
    );
    let summary = library.admin().get(&format!("/user-summary/{}", patron.id)).await.expect(200);
    assert_eq!(summary["openLoans"].as_array().map(Vec::len), Some(1));
    assert_eq!(summary["openLoans"][0]["itemLost"], false);
}

#[tokio::test]
async fn nobody_is_under_no_blocks_and_a_word_is_nobody() {
    let library = LendingLibrary::open().await;
    assert_eq!(blocks(&library, Uuid::new_v4()).await, json!([]));
    assert_eq!(library.admin().get(&format!("/user-summary/{}", Uuid::new_v4())).await.status, 404);
    let answer = library.admin().get("/automated-patron-blocks/somebody").await;
    assert_eq!((answer.status, answer.text().as_str()), (400, "Invalid user UUID: \"somebody\""));
}

#[tokio::test]
async fn a_block_needs_words_and_a_limit_needs_bounds() {
    let library = LendingLibrary::open().await;
    let path = format!("/patron-block-conditions/{CHARGED_OUT}");
    let mut record = library.admin().get(&path).await.expect(200);
    record["blockBorrowing"] = true.into();
    let answer = library.admin().put(&path, &record).await;
    answer.expect(422);
    assert_eq!(
        answer.refusals(),
        ["Message to be displayed is a required field if one or more blocked actions selected"]
    );
    let limit = json!({"id": Uuid::new_v4(), "patronGroupId": library.group, "conditionId": CHARGED_OUT, "value": 1.5});
    let answer = library.admin().post("/patron-block-limits", &limit).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Must be blank or an integer from 0 to 999999"]);
}

/// A patron with a book on loan who is late with another one, in a library that blocks for that.
async fn late_reader(library: &LendingLibrary) -> (Book, TestPatron) {
    let (kept, late, patron) = (library.book().await, library.book().await, library.patron().await);
    library.check_out(&kept, &patron).await.expect(201);
    let long_ago = json!({"loanDate": "2024-01-01T00:00:00Z"});
    library.check_out_with(&late, &patron, long_ago).await.expect(201);
    library.blocks_above(OVERDUE, 0.0, "Too late").await;
    library.blocks_by_hand(&patron, "rude").await;
    (kept, patron)
}

/// Messages and codes of a refusal.
fn told(answer: &Reply) -> Vec<(Value, Value)> {
    let errors = answer.expect(422)["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| (error["message"].clone(), error["code"].clone())).collect()
}

fn pair(message: &str, code: &str) -> (Value, Value) {
    (message.into(), code.into())
}

#[tokio::test]
async fn a_patron_who_is_late_renews_nothing_unless_staff_insist() {
    let library = LendingLibrary::on(TestLibrary::start_in(counting()).await).await;
    let (kept, patron) = late_reader(&library).await;
    let order = json!({"itemId": kept.id, "userId": patron.id});
    let path = "/circulation/renew-by-id";
    let clerk = library.library.staff_with(&["circulation.renew-by-id.post"]).await;

    let refused = clerk.post(path, &order).await;

    assert_eq!(
        told(&refused),
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
        told(&refused),
        [pair("Insufficient override permissions", "INSUFFICIENT_OVERRIDE_PERMISSIONS")]
    );
    let renewed = library.admin().post(path, &order).await;
    assert_eq!(renewed.expect(200)["action"], "renewedThroughOverride");
    assert_eq!(renewed.header("x-carrel-flights"), Some("2"), "blocks are read with the other facts");
}

#[tokio::test]
async fn a_patron_who_is_late_asks_for_nothing_unless_staff_insist() {
    let library = LendingLibrary::on(TestLibrary::start_in(counting()).await).await;
    let (_, patron) = late_reader(&library).await;
    let book = library.book().await;

    let refused = library.ask_for("Page", &book, &patron).await;

    assert_eq!(
        told(&refused),
        [
            pair("Too late", "USER_IS_BLOCKED_AUTOMATICALLY"),
            pair("Patron blocked from requesting", "USER_IS_BLOCKED_MANUALLY")
        ]
    );
    let insisting =
        json!({"requestProcessingParameters": {"overrideBlocks": {"patronBlock": {}, "comment": "ill"}}});
    let placed = library.ask_with("Page", &book, &patron, insisting).await;
    placed.expect(201);
    assert_eq!(placed.header("x-carrel-flights"), Some("2"), "blocks are read with the other facts");
}

#[tokio::test]
async fn a_client_that_names_the_item_only_gets_its_title_in_the_same_two_flights() {
    let library = LendingLibrary::on(TestLibrary::start_in(counting()).await).await;
    library.lets_readers_ask_for_titles().await;
    let (book, patron) = (library.book().await, library.patron().await);
    // The first request of a node reads the rulebook.
    library.ask_for("Page", &library.book().await, &patron).await.expect(201);
    let order = json!({"requestType": "Page", "requestDate": "2024-05-01T10:00:00Z", "requesterId": patron.id,
        "itemId": book.id, "fulfillmentPreference": "Hold Shelf", "pickupServicePointId": library.main_desk.0});

    let placed = library.admin().post("/circulation/requests", &order).await;

    let request = placed.expect(201);
    assert_eq!(request["instanceId"], json!(book.instance));
    assert_eq!(request["holdingsRecordId"], json!(book.holdings));
    assert_eq!((&request["requestLevel"], &request["position"]), (&json!("Item"), &json!(1)));
    assert_eq!(placed.header("x-carrel-flights"), Some("2"), "its title is read with the other facts");
}

fn counting() -> Manner {
    Manner { counts_flights: true, ..Manner::default() }
}
