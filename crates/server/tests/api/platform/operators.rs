use carrel_testkit::TestServer;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_flame_graph_shows_what_the_server_does() {
    let server = TestServer::start().await;
    let caller = server.admin.clone();
    let busy = tokio::spawn(async move {
        loop {
            caller.get("/users?query=username==\"nobody*\" sortby username").await.expect(200);
        }
    });
    let reply = server.get("/admin/flame-graph?seconds=2").await;
    busy.abort();
    let drawn = reply.text();
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("image/svg+xml")), "{drawn}");
    assert!(
        drawn.contains("carrel_platform::http::serve"),
        "{}",
        drawn.chars().take(3000).collect::<String>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn flame_graphs_are_bounded_in_number_and_duration() {
    let server = TestServer::start().await;
    server.get("/admin/flame-graph").await.expect(400);
    server.get("/admin/flame-graph?seconds=0").await.expect(400);
    server.get("/admin/flame-graph?seconds=3600").await.expect(400);
    server.stranger().get("/admin/flame-graph").await.expect(401);
}

#[tokio::test]
async fn without_pg_stat_statements_the_answer_says_how_to_load_it() {
    let server = TestServer::start().await;
    let none = server.get("/admin/slow-statements").await.expect(200);
    assert_eq!(none["totalRecords"], 0);
    assert!(none["reason"].as_str().is_some_and(|reason| reason.contains("CREATE EXTENSION")), "{none}");
}

#[tokio::test]
async fn metrics_contain_caches_connections_and_reads() {
    let server = TestServer::start().await;
    for _ in 0..5 {
        server.get("/groups").await.expect(200);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let metrics = server.get("/metrics").await.text();
    let figure = |name: &str| -> f64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("{name} is missing in\n{metrics}"))
    };
    assert!(figure("carrel_cache_hits_total{tenant=\"diku\",value=\"PermissionCatalog\"}") >= 4.0);
    assert_eq!(figure("carrel_cache_misses_total{tenant=\"diku\",value=\"PermissionCatalog\"}"), 1.0);
    assert_eq!(figure("carrel_reads_total{tenant=\"diku\",server=\"primary\"}"), 5.0);
    assert!(figure("carrel_connections{tenant=\"diku\",pool=\"queries\",state=\"open\"}") >= 1.0);
}
