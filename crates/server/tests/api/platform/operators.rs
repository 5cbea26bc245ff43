use carrel_testkit::TestServer;
use serde_json::json;
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

#[tokio::test]
async fn metrics_show_how_far_readers_of_events_lag() {
    let server = TestServer::start().await;
    server.post("/groups", &json!({"group": "Crew"})).await.expect(201);
    let database = server.database().await;
    database
        .batch_execute(
            "INSERT INTO outbox (topic, key, payload, created)
                 SELECT 'users.users', 'k', '{}', now() - interval '1 hour' FROM generate_series(1, 3);
             INSERT INTO outbox_reader (name, position) SELECT 'kafka', max(id) - 3 FROM outbox;
             INSERT INTO outbox_reader (name, position) SELECT 'a \"reader\"', max(id) FROM outbox;
             INSERT INTO notice_event (id, event, happened)
                 VALUES (gen_random_uuid(), 'Check out', now() - interval '1 minute')",
        )
        .await
        .expect("events and readers");
    let metrics = server.get("/metrics").await.text();
    let figure = |name: &str, reader: &str| -> f64 {
        let line = format!("{name}{{tenant=\"diku\",reader=\"{reader}\"}} ");
        let value = metrics.lines().find_map(|shown| shown.strip_prefix(&line)?.parse().ok());
        value.unwrap_or_else(|| panic!("{line} is missing in\n{metrics}"))
    };
    assert_eq!(figure("carrel_unread_events", "kafka"), 3.0);
    assert!(figure("carrel_oldest_unread_event_seconds", "kafka") >= 3_600.0);
    assert_eq!(figure("carrel_unread_events", "a \\\"reader\\\""), 0.0);
    assert_eq!(figure("carrel_oldest_unread_event_seconds", "a \\\"reader\\\""), 0.0);
    assert_eq!(figure("carrel_unread_events", "notices"), 1.0);
    assert!(figure("carrel_oldest_unread_event_seconds", "notices") >= 60.0);
    figure("carrel_unread_events", "change histories");
}
