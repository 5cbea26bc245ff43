//! Lists that are too long to stand in memory are sent as they are read, and look like any other.

use carrel_testkit::{LendingLibrary, TestLibrary};
use futures_util::future::join_all;
use serde_json::json;

#[tokio::test]
async fn a_long_list_says_the_same_as_a_short_one() {
    let library = TestLibrary::start().await;
    let query = "/instance-formats?query=cql.allRecords=1 sortBy name/sort.descending";
    let short = library.get(&format!("{query}&limit=1000")).await.expect(200);
    let long = library.get(&format!("{query}&limit=100000")).await.expect(200);
    assert!(short["totalRecords"].as_u64() > Some(20));
    assert_eq!(short, long);
}

#[tokio::test]
async fn a_long_list_of_nothing_is_an_empty_one() {
    let library = TestLibrary::start().await;
    let none = library.get("/instance-formats?limit=5000&query=name==nothing").await.expect(200);
    assert_eq!(none, serde_json::json!({"instanceFormats": [], "totalRecords": 0}));
}

#[tokio::test]
async fn a_connection_is_given_back_after_a_long_list() {
    let library = TestLibrary::start().await;
    // More than the tenant has connections.
    for _ in 0..30 {
        library.get("/instance-formats?limit=100000").await.expect(200);
    }
}

#[tokio::test]
async fn a_long_list_has_its_time_and_the_next_query_a_minute_again() {
    let library = TestLibrary::start().await;
    join_all((0..4).map(|_| library.get("/instance-formats?limit=100000"))).await;
    let connections: Vec<_> = join_all((0..4).map(|_| library.tenant.reader())).await;
    for connection in connections {
        let connection = connection.expect("a connection is free");
        let time = connection.query("SHOW statement_timeout", vec![]).await.expect("the time is told");
        assert_eq!(time[0].get::<_, String>(0), "1min");
    }
}

#[tokio::test]
async fn long_lists_of_loans_requests_items_and_titles_say_the_same_as_short_ones() {
    let library = LendingLibrary::open().await;
    let patron = library.patron().await;
    for _ in 0..3 {
        let lent = library.book().await;
        library.check_out(&lent, &patron).await.expect(201);
        library.asks_for(&lent, &library.patron().await, "Hold", library.main_desk).await.expect(201);
    }
    let book = library.book().await;
    let other = library.book().await;
    let before = json!({"precedingInstanceId": other.instance, "succeedingInstanceId": book.instance});
    library.create("/preceding-succeeding-titles", &before).await;
    for (query, number) in [
        ("/circulation/loans?query=status.name==Open sortBy dueDate", 3),
        ("/circulation/requests?query=status==Open* sortBy requestDate", 3),
        ("/loan-storage/loan-history?query=operation==I", 3),
        ("/inventory/items?query=cql.allRecords=1 sortBy barcode", 5),
        ("/item-storage/items?query=cql.allRecords=1 sortBy barcode", 5),
        ("/inventory/instances?query=cql.allRecords=1 sortBy title", 5),
    ] {
        let short = library.admin().get(&format!("{query}&limit=1000")).await.expect(200);
        let long = library.admin().get(&format!("{query}&limit=100000")).await.expect(200);
        assert_eq!(short["totalRecords"], number, "{query}");
        assert_eq!(short, long, "{query}");
        let rest = library.admin().get(&format!("{query}&limit=5000&offset=2&totalRecords=none")).await;
        assert_eq!(
            rest.expect(200)["totalRecords"],
            number,
            "uncounted: those before and those shown, {query}"
        );
    }
    let shown = library.admin().get(&format!("/inventory/instances/{}", book.instance)).await.expect(200);
    assert_eq!(shown["precedingTitles"][0]["precedingInstanceId"], json!(other.instance));
    assert!(shown["precedingTitles"][0]["title"].is_string(), "{shown}");
}
