//! Readers who want whichever copy, where each copy has a queue of its own.

use carrel_platform::tenant::Manner;
use carrel_testkit::{Book, LendingLibrary, Reply, TestLibrary};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::HashSet;
use uuid::Uuid;

async fn library() -> LendingLibrary {
    let manner = Manner { counts_flights: true, ..Manner::default() };
    LendingLibrary::on(TestLibrary::start_in(manner).await).await
}

async fn copies(library: &LendingLibrary, number: usize) -> Vec<Book> {
    let first = library.book().await;
    let mut copies = vec![first.clone()];
    for _ in 1..number {
        copies.push(library.copy_of(&first).await);
    }
    copies
}

async fn asks_for_whatever_copy(library: &LendingLibrary, book: &Book, patron: Uuid) -> Reply {
    let wish = json!({"instanceId": book.instance, "requesterId": patron,
        "requestDate": jiff::Timestamp::now().to_string(), "pickupServicePointId": library.main_desk.0});
    library.admin().post("/circulation/requests/instances", &wish).await
}

fn item_of(request: &Value) -> String {
    request["itemId"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn one_of_many_copies_is_found_in_two_flights() {
    let library = library().await;
    let copies = copies(&library, 12).await;
    for copy in &copies[..11] {
        library.check_out(copy, &library.patron().await).await.expect(201);
    }
    // What is read once and kept is read now.
    asks_for_whatever_copy(&library, &library.book().await, library.patron().await.id).await.expect(201);
    let reply = asks_for_whatever_copy(&library, &copies[0], library.patron().await.id).await;
    let request = reply.expect(201);
    assert_eq!((item_of(&request), &request["requestType"]), (copies[11].id.to_string(), &json!("Page")));
    assert_eq!(reply.header("x-carrel-flights"), Some("2"), "facts and changes");
}

#[tokio::test]
async fn of_copies_that_are_out_the_one_with_the_shortest_queue_is_asked_for() {
    let library = library().await;
    let copies = copies(&library, 5).await;
    for copy in &copies {
        library.check_out(copy, &library.patron().await).await.expect(201);
    }
    for copy in &copies[..4] {
        library.ask_for("Hold", copy, &library.patron().await).await.expect(201);
    }
    let request = asks_for_whatever_copy(&library, &copies[0], library.patron().await.id).await.expect(201);
    assert_eq!((item_of(&request), &request["requestType"]), (copies[4].id.to_string(), &json!("Recall")));
}

#[tokio::test]
async fn copies_that_cannot_be_had_do_not_stand_in_the_way() {
    let library = library().await;
    let copies = copies(&library, 6).await;
    for copy in &copies[..5] {
        let path = format!("/inventory/items/{}/mark-withdrawn", copy.id);
        library.admin().post(&path, &json!({})).await.expect_status(200);
    }
    library.check_out(&copies[5], &library.patron().await).await.expect(201);
    library.ask_for("Hold", &copies[5], &library.patron().await).await.expect(201);
    let request = asks_for_whatever_copy(&library, &copies[0], library.patron().await.id).await.expect(201);
    assert_eq!((item_of(&request), request["position"].as_i64()), (copies[5].id.to_string(), Some(2)));
}

#[tokio::test]
async fn where_no_copy_can_be_had_each_refusal_is_told_once() {
    let library = library().await;
    let copies = copies(&library, 5).await;
    for copy in &copies {
        let path = format!("/inventory/items/{}/mark-withdrawn", copy.id);
        library.admin().post(&path, &json!({})).await.expect_status(200);
    }
    let refused = asks_for_whatever_copy(&library, &copies[0], library.patron().await.id).await;
    assert_eq!(
        refused.refusals(),
        ["Page", "Recall", "Hold"]
            .map(|kind| format!("{kind} requests are not allowed for this patron and item combination"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_who_ask_at_once_get_a_copy_each() {
    let library = library().await;
    let copies = copies(&library, 8).await;
    let readers = join_all((0..8).map(|_| library.patron())).await;
    // A desk lends two of the copies meanwhile, and two readers insist on just one of them.
    let (lent_to, insists) = (library.patron().await, library.patron().await);
    let desk = library.check_out(&copies[0], &lent_to);
    let page = library.ask_for("Page", &copies[1], &insists);
    let asking =
        join_all(readers.iter().map(|reader| asks_for_whatever_copy(&library, &copies[0], reader.id)));
    let (asked, (lent, paged)) =
        futures_util::future::join(asking, futures_util::future::join(desk, page)).await;
    let requests: Vec<Value> = asked.iter().map(|reply| reply.expect(201)).collect();
    let pages: Vec<&Value> = requests.iter().filter(|request| request["requestType"] == "Page").collect();
    let taken = usize::from(lent.status == 201) + usize::from(paged.status == 201);
    let mut promised: Vec<String> = pages.iter().map(|request| item_of(request)).collect();
    if paged.status == 201 {
        promised.push(copies[1].id.to_string());
    }
    let different: HashSet<&String> = promised.iter().collect();
    assert_eq!(different.len(), promised.len(), "no copy is promised twice");
    assert_eq!(pages.len(), 8 - taken, "every copy on the shelf is given to somebody");
    for copy in &promised {
        let item = library.admin().get(&format!("/item-storage/items/{copy}")).await.expect(200);
        assert_eq!(item["status"]["name"], "Paged");
    }
}

#[tokio::test]
async fn copies_that_are_lent_between_choice_and_lock_are_left_for_another_one() {
    let library = library().await;
    let copies = copies(&library, 4).await;
    let reader = library.patron().await;
    // A desk has the first copies in hand; the reader's choice falls on them and waits.
    let database = library.library.database().await;
    database.batch_execute("BEGIN").await.expect("a transaction");
    let lend = "UPDATE item_state SET status = 'Checked out' WHERE item_id = $1";
    for copy in &copies[..3] {
        database.execute(lend, &[&copy.id]).await.expect("lent");
    }
    let asking = asks_for_whatever_copy(&library, &copies[0], reader.id);
    let lending = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        database.batch_execute("COMMIT").await.expect("committed");
    };
    let (asked, ()) = futures_util::future::join(asking, lending).await;
    let request = asked.expect(201);
    assert_eq!((item_of(&request), &request["requestType"]), (copies[3].id.to_string(), &json!("Page")));
}
