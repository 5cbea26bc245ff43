//! Automated patron blocks through the public API.

use carrel_testkit::LendingLibrary;
use serde_json::{Value, json};
use uuid::Uuid;

const CHARGED_OUT: &str = "3d7c52dc-c732-4223-8bf8-e5917801386f";

async fn set(library: &LendingLibrary, condition: &str, value: f64) {
    let path = format!("/patron-block-conditions/{condition}");
    let mut record = library.admin().get(&path).await.expect(200);
    for flag in ["blockBorrowing", "blockRenewals", "blockRequests"] {
        record[flag] = true.into();
    }
    record["message"] = "Too many items".into();
    library.admin().put(&path, &record).await.expect(204);
    let limit = json!({"id": Uuid::new_v4(), "patronGroupId": library.group, "conditionId": condition, "value": value});
    library.create("/patron-block-limits", &limit).await;
}

async fn blocks(library: &LendingLibrary, patron: Uuid) -> Value {
    library.admin().get(&format!("/automated-patron-blocks/{patron}")).await.expect(200)
        ["automatedPatronBlocks"]
        .clone()
}

#[tokio::test]
async fn a_patron_with_all_the_items_he_may_have_borrows_no_more() {
    let library = LendingLibrary::open().await;
    let patron = library.patron().await;
    set(&library, CHARGED_OUT, 1.0).await;
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
