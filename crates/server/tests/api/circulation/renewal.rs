//! Renewal through the public API.

use carrel_testkit::{Book, LendingLibrary, TestPatron};
use serde_json::{Value, json};

fn by_barcode(book: &Book, patron: &TestPatron) -> Value {
    json!({"itemBarcode": book.barcode, "userBarcode": patron.barcode})
}

#[tokio::test]
async fn a_patron_keeps_a_book_for_longer_in_two_flights() {
    let manner = carrel_platform::tenant::Manner { counts_flights: true, ..Default::default() };
    let library = LendingLibrary::on(carrel_testkit::TestLibrary::start_in(manner).await).await;
    let (book, patron) = (library.book().await, library.patron().await);
    let loan = library.check_out(&book, &patron).await.expect(201);

    let answer = library.admin().post("/circulation/renew-by-barcode", &by_barcode(&book, &patron)).await;

    let renewed = answer.expect(200);
    assert_eq!(renewed["id"], loan["id"]);
    assert_eq!((&renewed["action"], &renewed["renewalCount"]), (&json!("renewed"), &json!(1)));
    assert!(renewed["dueDate"].as_str() > loan["dueDate"].as_str());
    assert_eq!(answer.header("x-carrel-flights"), Some("2"), "facts and changes");
    let by_id = json!({"itemId": book.id, "userId": patron.id});
    let again = library.admin().post("/circulation/renew-by-id", &by_id).await.expect(200);
    assert_eq!(again["renewalCount"], 2);
}

#[tokio::test]
async fn who_asks_for_somebody_elses_book_is_refused() {
    let library = LendingLibrary::open().await;
    let (book, patron, other) = (library.book().await, library.patron().await, library.patron().await);
    library.check_out(&book, &patron).await.expect(201);
    let answer = library.admin().post("/circulation/renew-by-barcode", &by_barcode(&book, &other)).await;
    assert_eq!(answer.refusals(), ["Cannot renew item checked out to different user"]);
    let unknown = json!({"itemBarcode": "nothing", "userBarcode": patron.barcode});
    let answer = library.admin().post("/circulation/renew-by-barcode", &unknown).await;
    assert_eq!(answer.refusals(), ["No item with barcode nothing exists"]);
}

#[tokio::test]
async fn a_lost_book_is_renewed_by_who_may_insist() {
    let library = LendingLibrary::open().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let loan = library.check_out(&book, &patron).await.expect(201);
    let mut item = library.look_at(&book).await;
    item["status"] = json!({"name": "Declared lost"});
    library.admin().put(&format!("/item-storage/items/{}", book.id), &item).await.expect(204);
    let refused = library.admin().post("/circulation/renew-by-barcode", &by_barcode(&book, &patron)).await;
    assert_eq!(refused.refusals(), ["item is Declared lost"]);

    let mut order = by_barcode(&book, &patron);
    order["overrideBlocks"] = json!({"renewalBlock": {}, "comment": "found under the bed"});
    let clerk = library.library.staff_with(&["circulation.renew-by-barcode.post"]).await;
    let refused = clerk.post("/circulation/renew-by-barcode", &order).await;
    assert_eq!(refused.refusals(), ["Insufficient override permissions"]);
    let renewed = library.admin().post("/circulation/renew-by-barcode", &order).await.expect(200);

    assert_eq!(renewed["action"], "renewedThroughOverride");
    assert_eq!(library.status_of(&book).await, "Checked out");
    let history = format!("/loan-storage/loan-history?query=loan.id=={}", loan["id"].as_str().unwrap_or(""));
    let rows = library.admin().get(&history).await.expect(200);
    assert_eq!(rows["loansHistory"][0]["loan"]["actionComment"], "found under the bed");
}
