//! Lists, entity types and queries.

mod costs;
mod custom_types;
mod engine;
mod entity_types;
mod exports;
mod lost_rows;
mod plans;
mod queries;
mod saved_lists;

use carrel_testkit::{Client, LendingServer};
use serde_json::{Value, json};
use std::time::Duration;

pub const ITEMS: &str = "d0213d22-32cf-490f-9196-d81c3c66e53f";
pub const USERS: &str = "ddc93926-d15a-4a45-9d9c-93eadc3d9bbf";

/// A query in the current version.
pub fn fql(condition: Value) -> String {
    let mut query = condition;
    query["_version"] = "24".into();
    query.to_string()
}

/// A list of the items that meet a condition.
pub fn list_of_items(name: &str, condition: Value) -> Value {
    json!({"name": name, "entityTypeId": ITEMS, "fqlQuery": fql(condition), "isActive": true, "isPrivate": false})
}

/// Creates a list; returns its id.
pub async fn create(client: &Client, list: &Value) -> String {
    let created = client.post("/lists", list).await.expect(201);
    created["id"].as_str().expect("a list has an id").to_owned()
}

/// Repeats the call until the answer meets the condition; the engine works in the background.
pub async fn until(client: &Client, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..1_200 {
        let answer = client.get(path).await.expect(200);
        if wanted(&answer) {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{path} did not become as wanted within a minute");
}

/// Refreshes a list, waits for the end, and returns the list.
pub async fn refreshed(client: &Client, id: &str) -> Value {
    client.post(&format!("/lists/{id}/refresh"), &Value::Null).await.expect(200);
    until(client, &format!("/lists/{id}"), |list| list["inProgressRefresh"].is_null()).await
}

/// Barcodes that a list shows.
pub async fn barcodes(client: &Client, id: &str) -> Vec<String> {
    let contents =
        client.get(&format!("/lists/{id}/contents?fields=items.barcode&size=1000")).await.expect(200);
    let rows = contents["content"].as_array().expect("contents are an array");
    let mut found: Vec<String> =
        rows.iter().filter_map(|row| row["items.barcode"].as_str()).map(str::to_owned).collect();
    found.sort();
    found
}

/// A library with a few items, and their barcodes.
pub async fn library_with_items(count: usize) -> (LendingServer, Vec<carrel_testkit::TestItem>) {
    let library = LendingServer::open().await;
    let mut books = Vec::new();
    for _ in 0..count {
        books.push(library.item().await);
    }
    (library, books)
}
