use carrel_platform::ServerOptions;
use carrel_testkit::TestServer;
use std::time::{Duration, Instant};

/// For what happens at once on a machine that is not busy.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_healthy_server_reports_up() {
    let server = TestServer::start().await;
    let health = server.stranger().get("/admin/health").await.expect(200);
    assert_eq!(health["status"], "UP");
}

#[tokio::test]
async fn metrics_count_calls() {
    let server = TestServer::start().await;
    server.get("/users").await.expect(200);
    let metrics = server.get("/metrics").await.text();
    assert!(metrics.contains("carrel_requests_total{module=\"mod-users\",class=\"2xx\"} 1"), "{metrics}");
}

#[tokio::test]
async fn metrics_need_a_permission_unless_they_are_open() {
    let server = TestServer::start().await;
    server.stranger().get("/metrics").await.expect_status(401);
    server.staff_with(&[]).await.get("/metrics").await.expect_status(403);
    server.staff_with(&["carrel.admin.read"]).await.get("/metrics").await.expect_status(200);
    let open = TestServer::start_in(ServerOptions { open_metrics: true, ..ServerOptions::default() }).await;
    open.stranger().get("/metrics").await.expect_status(200);
}

#[tokio::test]
async fn a_streamed_list_is_counted_with_all_its_bytes() {
    let server = TestServer::start().await;
    let list = server.get("/instance-formats?limit=100000").await;
    let length = list.body.len() as f64;
    list.expect(200);
    let bytes = || async {
        let metrics = server.get("/metrics").await.text();
        let figure = "carrel_answer_bytes_total{module=\"mod-inventory-storage\"} ";
        let figure = metrics.lines().find_map(|line| line.strip_prefix(figure)?.parse::<f64>().ok());
        figure.unwrap_or_default()
    };
    // The count is made when the connection has taken the last byte, which the client may see before.
    let started = Instant::now();
    while bytes().await < length {
        assert!(started.elapsed() < PATIENCE, "{} of {length} bytes are counted", bytes().await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn health_reports_a_read_only_database() {
    let server = TestServer::start().await;
    assert_eq!(server.stranger().get("/admin/health").await.expect(200)["status"], "UP");
    let database = server.database().await;
    let read_only = format!("ALTER DATABASE {} SET default_transaction_read_only = on", server.database);
    database.batch_execute(&read_only).await.expect("the setting can be changed");
    let close = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    database.batch_execute(close).await.expect("connections can be closed");
    let started = Instant::now();
    loop {
        let health = server.stranger().get("/admin/health").await;
        if health.status == 503 && health.json()["reason"] == "The database does not accept writes" {
            return;
        }
        assert!(started.elapsed() < PATIENCE, "{}", health.text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
