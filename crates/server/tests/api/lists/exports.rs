use super::{create, library_with_items, list_of_items, refreshed, until};
use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn an_export_is_a_file_of_the_chosen_columns() {
    let (lending, items) = library_with_items(2).await;
    let admin = lending.admin();
    let path = format!("/item-storage/items/{}", items[0].id);
    let mut item = admin.get(&path).await.expect(200);
    item["copyNumber"] = "=HYPERLINK(\"http://evil\")".into();
    item["formerIds"] = json!(["a", "b,c"]);
    admin.put(&path, &item).await.expect_status(204);
    let id = create(admin, &list_of_items("Vermißt", json!({}))).await;
    refreshed(admin, &id).await;
    let body = json!(["items.former_ids", "items.copy_number", "items.barcode", "items.nope"]);
    let begun = admin.post(&format!("/lists/{id}/exports"), &body).await.expect(201);
    let export = begun["exportId"].as_str().expect("an id");
    let path = format!("/lists/{id}/exports/{export}");
    let ended = until(admin, &path, |export| export["status"] != "IN_PROGRESS").await;
    assert_eq!(ended["status"], "SUCCESS");
    let file = admin.get(&format!("{path}/download")).await;
    file.expect_status(200);
    assert_eq!(file.header("content-type"), Some("application/octet-stream"));
    assert!(file.header("content-disposition").expect("a name").contains("Vermi%C3%9Ft.csv"));
    let text = file.text();
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines.remove(0),
        "\u{feff}Item - Barcode,Item - Copy number,Item - Former identifiers,Item - Item UUID"
    );
    assert_eq!(lines.len(), 2);
    let first = lines.iter().find(|line| line.contains(&items[0].barcode)).expect("the item is there");
    assert!(first.contains("\"'=HYPERLINK(\"\"http://evil\"\")\",\"a;b,c\","), "{first}");
    assert_eq!(
        admin.post(&format!("{path}/cancel"), &Value::Null).await.expect(404)["code"],
        "cancel_export-export.not.in.progress"
    );
    let unknown = format!("/lists/{id}/exports/{}", Uuid::new_v4());
    assert_eq!(admin.get(&unknown).await.expect(404)["code"], "export-export.not.found");
}

#[tokio::test]
async fn an_export_without_columns_has_those_of_the_list() {
    let (lending, _) = library_with_items(1).await;
    let admin = lending.admin();
    let mut list = list_of_items("All", json!({}));
    list["fields"] = json!(["items.barcode"]);
    let id = create(admin, &list).await;
    refreshed(admin, &id).await;
    let begun = admin.call("POST", &format!("/lists/{id}/exports"), None).await.expect(201);
    let path = format!("/lists/{id}/exports/{}", begun["exportId"].as_str().expect("an id"));
    until(admin, &path, |export| export["status"] == "SUCCESS").await;
    let text = admin.get(&format!("{path}/download")).await.text();
    assert!(text.starts_with("\u{feff}Item - Barcode,Item - Item UUID\n"), "{text}");
}

#[tokio::test]
async fn an_inactive_private_list_is_refused_as_inactive_by_exports_only() {
    let library = TestServer::start().await;
    let other = library.staff_with(&super::saved_lists::PERMISSIONS).await;
    let list = |is_active: bool| {
        json!({"name": "Mine", "entityTypeId": super::USERS, "isActive": is_active, "isPrivate": true,
            "fqlQuery": "{\"users.active\": {\"$eq\": true}}"})
    };
    let code = async |id: &str| {
        let refused = other.call("POST", &format!("/lists/{id}/exports"), None).await;
        (refused.status, refused.json()["code"].clone())
    };
    let active = create(&library.admin, &list(true)).await;
    assert_eq!(code(&active).await, (401, json!("export-list.is.private")));
    let inactive = create(&library.admin, &list(false)).await;
    assert_eq!(code(&inactive).await, (400, json!("export-list.is.inactive")));
    let refresh = other.post(&format!("/lists/{inactive}/refresh"), &Value::Null).await.expect(401);
    assert_eq!(refresh["code"], "refresh-list.is.private");
    let export = format!("/lists/{}/exports/{}", Uuid::new_v4(), Uuid::new_v4());
    assert_eq!(other.get(&export).await.expect(404)["code"], "export-export.not.found");
}
