use carrel_testkit::TestServer;

#[tokio::test]
async fn a_library_says_that_it_is_up() {
    let server = TestServer::start().await;
    let health = server.stranger().get("/admin/health").await.expect(200);
    assert_eq!(health["status"], "UP");
}

#[tokio::test]
async fn metrics_count_what_was_asked() {
    let server = TestServer::start().await;
    server.get("/users").await.expect(200);
    let metrics = server.stranger().get("/metrics").await.text();
    assert!(metrics.contains("carrel_requests_total{module=\"mod-users\",class=\"2xx\"} 1"), "{metrics}");
}
