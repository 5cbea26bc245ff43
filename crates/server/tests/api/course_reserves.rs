//! Course reserves below a course listing.

use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use uuid::Uuid;

/// A listing of a term, with its address.
async fn listing(server: &LendingServer) -> String {
    let id = || Uuid::new_v4();
    let (term, listing) = (id(), id());
    let record = json!({"id": term, "name": "Spring", "startDate": "2026-01-01", "endDate": "2026-06-30"});
    server.create("/coursereserves/terms", &record).await;
    let location = server.admin().get("/locations?limit=1").await.expect(200)["locations"][0]["id"].clone();
    let record = json!({"id": listing, "termId": term, "locationId": location});
    server.create("/coursereserves/courselistings", &record).await;
    format!("/coursereserves/courselistings/{listing}")
}

fn id_of(listing: &str) -> &str {
    listing.rsplit('/').next().unwrap_or_default()
}

#[tokio::test]
async fn a_listing_has_courses_of_its_own() {
    let server = LendingServer::open().await;
    let (one, other) = (listing(&server).await, listing(&server).await);
    let department = Uuid::new_v4();
    server.create("/coursereserves/departments", &json!({"id": department, "name": "History"})).await;
    let course = json!({"name": "Rome", "departmentId": department, "courseListingId": id_of(&one)});
    let made = server.admin().post(&format!("{one}/courses"), &course).await.expect(201);
    let refused = server.admin().post(&format!("{other}/courses"), &course).await;
    assert_eq!(refused.refusals(), [format!("listingId should be {}", id_of(&other))]);
    let count = async |path: String| server.admin().get(&path).await.expect(200)["totalRecords"].clone();
    assert_eq!(count(format!("{one}/courses")).await, 1);
    assert_eq!(count(format!("{one}/courses?query=name==Rome")).await, 1);
    assert_eq!(count(format!("{one}/courses?query=name==Athens")).await, 0);
    assert_eq!(count(format!("{other}/courses")).await, 0);
    let path = format!("{one}/courses/{}", made["id"].as_str().unwrap_or_default());
    let mut changed = server.admin().get(&path).await.expect(200);
    changed["courseNumber"] = "HIS-1".into();
    server.admin().put(&path, &changed).await.expect_status(204);
    assert_eq!(server.admin().get(&path).await.expect(200)["courseNumber"], "HIS-1");
    server.admin().delete(&path).await.expect_status(204);
    server.admin().get(&path).await.expect_status(404);
}

#[tokio::test]
async fn a_listing_shows_its_instructors_and_they_go_with_it() {
    let server = LendingServer::open().await;
    let (listing, patron) = (listing(&server).await, server.patron().await);
    let instructor = json!({"name": "Prof. Byron", "userId": patron.id, "courseListingId": id_of(&listing)});
    let made = server.admin().post(&format!("{listing}/instructors"), &instructor).await.expect(201);
    assert_eq!(made["barcode"], patron.barcode);
    assert!(made["patronGroupObject"]["group"].is_string(), "{made}");
    let shown = server.admin().get(&listing).await.expect(200);
    assert_eq!(shown["instructorObjects"][0]["name"], "Prof. Byron");
    let path = format!("{listing}/instructors/{}", made["id"].as_str().unwrap_or_default());
    let mut changed = made.clone();
    changed["name"] = "Dr. Byron".into();
    server.admin().put(&path, &changed).await.expect_status(204);
    assert_eq!(server.admin().get(&listing).await.expect(200)["instructorObjects"][0]["name"], "Dr. Byron");
    server.admin().delete(&listing).await.expect_status(204);
    server.admin().get(&path).await.expect_status(404);
}

#[tokio::test]
async fn a_reserve_copies_its_item_and_a_listing_has_it_once() {
    let server = LendingServer::open().await;
    let (listing, item) = (listing(&server).await, server.item().await);
    let reserves = format!("{listing}/reserves");
    let reserve = json!({"courseListingId": id_of(&listing), "copiedItem": {"barcode": item.barcode},
        "startDate": "2026-02-01"});
    let made = server.admin().post(&reserves, &reserve).await.expect(201);
    assert_eq!((&made["itemId"], &made["startDate"]), (&json!(item.id), &json!("2026-02-01T00:00:00Z")));
    assert_eq!(made["copiedItem"]["instanceId"], json!(item.instance));
    assert!(made["copiedItem"]["title"].is_string() && made["copiedItem"]["temporaryLocationId"].is_string());
    let again = server.admin().post("/coursereserves/reserves", &reserve).await;
    let text = format!("itemId {} is already in use for courseListing {}", item.id, id_of(&listing));
    assert_eq!(again.refusals(), [text]);
    let unknown = json!({"courseListingId": id_of(&listing), "copiedItem": {"barcode": "nothing"}});
    let refused = server.admin().post(&reserves, &unknown).await;
    assert_eq!((refused.status, refused.text().as_str()), (400, "No item found for barcode nothing"));
    let path = format!("{reserves}/{}", made["id"].as_str().unwrap_or_default());
    let mut changed = made.clone();
    changed["endDate"] = "2026-03-01".into();
    server.admin().put(&path, &changed).await.expect_status(204);
    let shown: Value = server.admin().get(&path).await.expect(200);
    assert_eq!(shown["copiedItem"]["temporaryLocationId"], made["copiedItem"]["temporaryLocationId"]);
    let found = server.admin().get(&reserves).await.expect(200);
    assert_eq!(
        (&found["totalRecords"], &found["reserves"][0]["endDate"]),
        (&json!(1), &json!("2026-03-01T00:00:00Z"))
    );
    server.admin().delete(&path).await.expect_status(204);
}

#[tokio::test]
async fn an_item_has_the_temporary_location_and_loan_type_of_its_reserve() {
    let server = LendingServer::open().await;
    let (listing, item) = (listing(&server).await, server.item().await);
    let admin = server.admin();
    let stored = async || admin.get(&format!("/item-storage/items/{}", item.id)).await.expect(200);
    let loan_type = Uuid::new_v4();
    server.create("/loan-types", &json!({"id": loan_type, "name": "Two hours"})).await;
    let place = admin.get(&listing).await.expect(200)["locationId"].clone();
    let before = stored().await;
    assert!(before.get("temporaryLocationId").is_none());

    let reserve =
        json!({"courseListingId": id_of(&listing), "itemId": item.id, "temporaryLoanTypeId": loan_type});
    let made = admin.post(&format!("{listing}/reserves"), &reserve).await.expect(201);
    let reserved = stored().await;
    assert_eq!((&reserved["temporaryLocationId"], &reserved["effectiveLocationId"]), (&place, &place));
    assert_eq!(reserved["temporaryLoanTypeId"], json!(loan_type));

    let path = format!("{listing}/reserves/{}", made["id"].as_str().unwrap_or_default());
    let mut changed = made.clone();
    changed["copiedItem"].as_object_mut().expect("a copy").remove("temporaryLocationId");
    admin.put(&path, &changed).await.expect_status(204);
    let moved = stored().await;
    assert_eq!(moved.get("temporaryLocationId"), None, "a replaced reserve without location");
    assert_eq!(moved["effectiveLocationId"], before["effectiveLocationId"]);

    changed["copiedItem"]["temporaryLocationId"] = place.clone();
    admin.put(&path, &changed).await.expect_status(204);
    assert_eq!(stored().await["temporaryLocationId"], place);
    admin.delete(&path).await.expect_status(204);
    admin.get(&path).await.expect_status(404);
    let returned = stored().await;
    assert_eq!(returned.get("temporaryLocationId"), None, "the reserve is deleted");
    assert_eq!(returned["temporaryLoanTypeId"], json!(loan_type));
    admin.delete(&path).await.expect_status(404);
}

#[tokio::test]
async fn a_reserve_with_an_unknown_location_changes_nothing() {
    let server = LendingServer::open().await;
    let (listing, item) = (listing(&server).await, server.item().await);
    let mut record = server.admin().get(&listing).await.expect(200);
    record["locationId"] = json!(Uuid::new_v4());
    server.admin().put(&listing, &record).await.expect_status(204);
    let reserve = json!({"courseListingId": id_of(&listing), "itemId": item.id});
    let refused = server.admin().post("/coursereserves/reserves", &reserve).await;
    assert!((400..500).contains(&refused.status), "{}", refused.text());
    assert_eq!(server.admin().get(&format!("{listing}/reserves")).await.expect(200)["totalRecords"], 0);
}
