use carrel_testkit::TestServer;

#[tokio::test]
async fn the_desk_opens_without_a_token() {
    let server = TestServer::start().await;
    let page = server.stranger().get("/desk").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
}

#[tokio::test]
async fn a_file_that_the_desk_does_not_have_is_not_found() {
    let server = TestServer::start().await;
    for path in ["/desk/nothing.js", "/desk/assets/nothing.js", "/desk/assets/..%2findex.html"] {
        server.stranger().get(path).await.expect_status(404);
    }
}

#[tokio::test]
async fn each_file_is_served_with_type_and_tag_and_not_sent_again_while_unchanged() {
    let server = TestServer::start().await;
    for page in carrel_desk_pages::PAGES {
        let path = format!("/desk/{}", page.name);
        let reply = server.stranger().get(&path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("content-type"), Some(page.content_type), "{path}");
        assert_eq!(
            reply.header("cache-control").is_some_and(|cache| cache.contains("immutable")),
            page.is_immutable()
        );
        let again = server.stranger().with_header("if-none-match", page.etag).get(&path).await;
        assert_eq!((again.status, again.text().len()), (304, 0), "{path}");
    }
}
