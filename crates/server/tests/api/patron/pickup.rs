//! Where patrons may pick up.

use carrel_testkit::LendingLibrary;
use serde_json::{Value, json};
use uuid::Uuid;

fn both_desks(library: &LendingLibrary) -> Value {
    json!([{"id": library.main_desk.0, "name": "Main desk", "discoveryName": "Main desk"},
        {"id": library.other_desk.0, "name": "Other desk", "discoveryName": "Other desk"}])
}

/// The points that are desks of the test's own.
fn desks(points: &Value) -> Value {
    let points = points.as_array().into_iter().flatten();
    points
        .filter(|point| point["name"].as_str().is_some_and(|name| name.ends_with(" desk")))
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_patron_picks_up_where_the_policy_allows_it() {
    let library = LendingLibrary::open().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let account = format!("/patron/account/{}", patron.id);
    for what in [format!("item/{}", book.id), format!("instance/{}", book.instance)] {
        let path = format!("{account}/{what}/allowed-service-points");
        let points = library.admin().get(&path).await.expect(200);
        assert_eq!(desks(&points["allowedServicePoints"]), both_desks(&library), "{what}");
    }
    let policy = format!("/request-policy-storage/request-policies/{}", library.request_policy);
    let mut record = library.admin().get(&policy).await.expect(200);
    record["allowedServicePoints"] = json!({"Page": [library.other_desk.0]});
    library.admin().put(&policy, &record).await.expect(204);
    let path = format!("{account}/item/{}/allowed-service-points", book.id);
    let points = library.admin().get(&path).await.expect(200);
    assert_eq!(points["allowedServicePoints"], json!([both_desks(&library)[1]]));
}

#[tokio::test]
async fn many_copies_are_asked_about_at_once() {
    let library = LendingLibrary::open().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let copy = library.copy_of(&book).await;
    let mut lost = library.look_at(&copy).await;
    lost["status"] = json!({"name": "Declared lost"});
    library.admin().put(&format!("/item-storage/items/{}", copy.id), &lost).await.expect(204);
    let path =
        format!("/patron/account/{}/instance/{}/allowed-service-points-multi-item", patron.id, book.instance);
    let points = library.admin().post(&path, &json!({"itemIds": [copy.id, book.id]})).await.expect(200);
    let each = &points["allowedServicePointsPerItem"];
    assert_eq!(each[0], json!({"itemId": copy.id, "allowedServicePoints": []}));
    assert_eq!(each[1]["itemId"], json!(book.id));
    assert_eq!(desks(&each[1]["allowedServicePoints"]), both_desks(&library));
    library.admin().post(&path, &json!({})).await.expect(422);
}

#[tokio::test]
async fn for_what_is_not_there_nothing_is_picked_up() {
    let library = LendingLibrary::open().await;
    let (book, patron, nothing) = (library.book().await, library.patron().await, Uuid::new_v4());
    for (account, what, words) in [
        (patron.id, format!("item/{nothing}"), format!("Item with id={nothing} cannot be found")),
        (patron.id, format!("instance/{nothing}"), format!("Instance with ID {nothing} was not found")),
        (nothing, format!("item/{}", book.id), format!("User with ID {nothing} was not found")),
    ] {
        let path = format!("/patron/account/{account}/{what}/allowed-service-points");
        let answer = library.admin().get(&path).await;
        answer.expect(422);
        assert_eq!(answer.refusals(), [words]);
    }
}
