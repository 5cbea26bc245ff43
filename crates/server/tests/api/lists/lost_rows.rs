//! Rows that the database has acknowledged and lost, as when a standby without the last of them becomes the primary:
//! what is shown is whole or refused, and a refresh is repeated.

use super::{barcodes, create, library_with_items, list_of_items, refreshed, until};
use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use std::time::Duration;

/// Executes the statement once it changes rows, of tables that the engine writes in the background.
async fn once_it_changes_rows(lending: &LendingServer, statement: &str) {
    let database = lending.server.database().await;
    for _ in 0..3_000 {
        if database.execute(statement, &[]).await.expect("rows can be removed") > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no row within half a minute for: {statement}");
}

#[tokio::test]
async fn a_refresh_whose_rows_are_lost_is_repeated() {
    let (lending, items) = library_with_items(2).await;
    let options = carrel_lists::Options { visible_for: Duration::from_secs(5), ..Default::default() };
    carrel_lists::configure(&lending.server.node, options);
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({}))).await;
    admin.post(&format!("/lists/{id}/refresh"), &Value::Null).await.expect(200);
    once_it_changes_rows(&lending, "DELETE FROM list_result_chunk").await;
    let list = until(admin, &format!("/lists/{id}"), |list| list["inProgressRefresh"].is_null()).await;
    assert_eq!(list["successRefresh"]["recordsCount"], 2, "{list}");
    let mut wanted: Vec<String> = items.iter().map(|item| item.barcode.clone()).collect();
    wanted.sort();
    assert_eq!(barcodes(admin, &id).await, wanted);
    let database = lending.server.database().await;
    let row = database.query_one("SELECT attempts FROM list_job WHERE kind = 'refresh'", &[]).await;
    assert_eq!(row.expect("the job is there").get::<_, i32>(0), 2);
}

#[tokio::test]
async fn contents_and_downloads_that_are_not_wholly_there_are_refused() {
    let (lending, _) = library_with_items(2).await;
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({}))).await;
    refreshed(admin, &id).await;
    let begun = admin.post(&format!("/lists/{id}/exports"), &Value::Null).await.expect(201);
    let export = format!("/lists/{id}/exports/{}", begun["exportId"].as_str().expect("an id"));
    until(admin, &export, |export| export["status"] == "SUCCESS").await;
    let contents = format!("/lists/{id}/contents");
    admin.get(&contents).await.expect_status(200);
    admin.get(&format!("{export}/download")).await.expect_status(200);

    once_it_changes_rows(&lending, "DELETE FROM list_result_chunk").await;
    once_it_changes_rows(&lending, "DELETE FROM list_export_part").await;
    for path in [contents.clone(), format!("{export}/download")] {
        let refused = admin.get(&path).await;
        assert_eq!(refused.status, 503, "{path}: {}", refused.text());
        assert!(refused.header("retry-after").is_some(), "{path} can be repeated");
    }
    let beyond = admin.get(&format!("{contents}?offset=2")).await.expect(200);
    assert_eq!(beyond["content"], json!([]), "after the last record nothing is missing");
    refreshed(admin, &id).await;
    assert_eq!(barcodes(admin, &id).await.len(), 2);
}
