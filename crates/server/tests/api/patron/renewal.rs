//! Patrons renew for themselves.

use super::counting_library;
use carrel_testkit::{Book, LendingLibrary};
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn a_patron_keeps_a_book_for_longer_in_two_flights() {
    let library = counting_library().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let then = json!({"loanDate": "2024-01-01T00:00:00Z"});
    let loan = library.check_out_with(&book, &patron, then).await.expect(201);

    let answer = library.patron_renews(&book, &patron).await;

    let renewed = answer.expect(201);
    assert_eq!(answer.header("x-carrel-flights"), Some("2"));
    assert_eq!(renewed["id"], loan["id"]);
    assert_eq!(renewed["item"]["itemId"], json!(book.id));
    assert_eq!(
        (&renewed["overdue"], &renewed["loanDate"]),
        (&json!(false), &json!("2024-01-01T00:00:00.000+00:00"))
    );
    assert!(renewed["dueDate"].as_str() > loan["dueDate"].as_str());
}

#[tokio::test]
async fn a_patron_is_refused_in_the_words_of_the_desk() {
    let library = LendingLibrary::open().await;
    let (book, patron, other) = (library.book().await, library.patron().await, library.patron().await);
    library.check_out(&book, &patron).await.expect(201);
    let answer = library.patron_renews(&book, &other).await;
    assert_eq!(answer.expect(422)["errors"][0]["code"], "ITEM_CHECKED_OUT_TO_DIFFERENT_USER");
    let unknown = Book { id: Uuid::new_v4(), ..book.clone() };
    let answer = library.patron_renews(&unknown, &patron).await;
    assert_eq!(answer.refusals(), [format!("No item with ID {} exists", unknown.id)]);
    library.blocks_by_hand(&patron, "rude").await;
    let answer = library.patron_renews(&book, &patron).await;
    assert_eq!(
        answer.expect(422)["errors"],
        json!([{"message": "Patron blocked from renewing", "code": "USER_IS_BLOCKED_MANUALLY",
            "parameters": [{"key": "reason", "value": "rude"}]}])
    );
}
