//! Lists that are too long to stand in memory are sent as they are read, and look like any other.

use carrel_testkit::TestLibrary;

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
