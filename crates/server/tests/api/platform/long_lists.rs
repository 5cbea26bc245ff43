//! Long lists are streamed, and look like short ones.

use carrel_testkit::{LendingServer, TestServer};
use futures_util::future::join_all;
use serde_json::json;

#[tokio::test]
async fn a_long_list_has_the_same_form_as_a_short_one() {
    let server = TestServer::start().await;
    let query = "/instance-formats?query=cql.allRecords=1 sortBy name/sort.descending";
    let short = server.get(&format!("{query}&limit=1000")).await.expect(200);
    let long = server.get(&format!("{query}&limit=100000")).await.expect(200);
    assert!(short["totalRecords"].as_u64() > Some(20));
    assert_eq!(short, long);
}

#[tokio::test]
async fn a_long_list_without_records_is_empty() {
    let server = TestServer::start().await;
    let none = server.get("/instance-formats?limit=5000&query=name==nothing").await.expect(200);
    assert_eq!(none, serde_json::json!({"instanceFormats": [], "totalRecords": 0}));
}

#[tokio::test]
async fn a_connection_returns_to_its_pool_after_a_long_list() {
    let server = TestServer::start().await;
    // More than the tenant has connections.
    for _ in 0..30 {
        server.get("/instance-formats?limit=100000").await.expect(200);
    }
}

#[tokio::test]
async fn a_long_list_has_no_statement_time_out_but_the_next_query_has() {
    let server = TestServer::start().await;
    join_all((0..4).map(|_| server.get("/instance-formats?limit=100000"))).await;
    let connections: Vec<_> = join_all((0..4).map(|_| server.tenant.reader())).await;
    for connection in connections {
        let connection = connection.expect("a connection is free");
        let time = connection.query("SHOW statement_timeout", vec![]).await.expect("the setting is shown");
        assert_eq!(time[0].get::<_, String>(0), "1min");
    }
}

#[tokio::test]
async fn long_lists_of_composed_records_have_the_same_form_as_short_ones() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    for _ in 0..3 {
        let lent = server.item().await;
        server.check_out(&lent, &patron).await.expect(201);
        server.place_request(&lent, &server.patron().await, "Hold", server.main_desk).await.expect(201);
    }
    let test_item = server.item().await;
    let other = server.item().await;
    let before = json!({"precedingInstanceId": other.instance, "succeedingInstanceId": test_item.instance});
    server.create("/preceding-succeeding-titles", &before).await;
    for (query, number) in [
        ("/circulation/loans?query=status.name==Open sortBy dueDate", 3),
        ("/circulation/requests?query=status==Open* sortBy requestDate", 3),
        ("/loan-storage/loan-history?query=operation==I", 3),
        ("/inventory/items?query=cql.allRecords=1 sortBy barcode", 5),
        ("/item-storage/items?query=cql.allRecords=1 sortBy barcode", 5),
        ("/inventory/instances?query=cql.allRecords=1 sortBy title", 5),
    ] {
        let short = server.admin().get(&format!("{query}&limit=1000")).await.expect(200);
        let long = server.admin().get(&format!("{query}&limit=100000")).await.expect(200);
        assert_eq!(short["totalRecords"], number, "{query}");
        assert_eq!(short, long, "{query}");
        let rest = server.admin().get(&format!("{query}&limit=5000&offset=2&totalRecords=none")).await;
        assert_eq!(
            rest.expect(200)["totalRecords"],
            number,
            "uncounted: those before and those shown, {query}"
        );
    }
    let shown = server.admin().get(&format!("/inventory/instances/{}", test_item.instance)).await.expect(200);
    assert_eq!(shown["precedingTitles"][0]["precedingInstanceId"], json!(other.instance));
    assert!(shown["precedingTitles"][0]["title"].is_string(), "{shown}");
}
