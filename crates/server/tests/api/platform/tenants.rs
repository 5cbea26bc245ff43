use carrel_server::administrator;
use carrel_testkit::{ADMIN, OTHER_TENANT, PASSWORD, TENANT, TestServer};
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn a_tenant_cannot_read_data_of_another() {
    let server = TestServer::start().await;
    let other = server.node.create_tenant(OTHER_TENANT, "Other", "").await.expect("a second tenant");
    administrator::appoint(&other, "boss", "a-password").await.expect("an administrator");
    let group = json!({"id": Uuid::new_v4(), "group": "secret"});
    server.post("/groups", &group).await.expect(201);

    let login = server
        .stranger()
        .with_header("x-okapi-tenant", OTHER_TENANT)
        .post("/authn/login", &json!({"username": "boss", "password": "a-password"}))
        .await;
    login.expect(201);
    let token = login.header("x-okapi-token").expect("login gives a token");
    let boss = server.stranger().with_header("x-okapi-token", token);
    let found = boss.get("/groups?query=group==secret").await.expect(200);
    assert_eq!(found["totalRecords"], 0);
    boss.get(&format!("/groups/{}", group["id"].as_str().unwrap_or_default())).await.expect(404);
}

#[tokio::test]
async fn the_role_of_a_tenant_reaches_no_other_schema() {
    let server = TestServer::start().await;
    let other = server.node.create_tenant(OTHER_TENANT, "Other", "").await.expect("a second tenant");
    let connection = other.writer().await.expect("a connection");
    for table in ["library_diku.users", "platform.signing_key", "platform.tenant"] {
        let read = connection.client().batch_execute(&format!("SELECT * FROM {table}")).await;
        assert!(read.is_err(), "a tenant's connection can read {table}");
    }
}

#[tokio::test]
async fn a_dropped_tenant_does_not_exist_any_more() {
    let server = TestServer::start().await;
    server.post("/_/proxy/tenants", &json!({"id": OTHER_TENANT, "name": "Other"})).await.expect(201);
    server.delete(&format!("/_/proxy/tenants/{OTHER_TENANT}")).await.expect(204);
    server.get(&format!("/_/proxy/tenants/{OTHER_TENANT}")).await.expect(404);
    let database = server.database().await;
    let row =
        database.query_one("SELECT to_regnamespace('library_otherlib') IS NULL", &[]).await.expect("request");
    assert!(row.get::<_, bool>(0), "the schema is still there");
}

#[tokio::test]
async fn a_second_start_changes_nothing() {
    let server = TestServer::start().await;
    let before = server.get("/perms/permissions?limit=0").await.expect(200)["totalRecords"].clone();
    let tenant = server.node.create_tenant(TENANT, "Again", "").await.expect("the tenant is there");
    let appointed = administrator::appoint(&tenant, ADMIN, PASSWORD).await.expect("request");
    assert_eq!(appointed, administrator::Appointed::NameTaken);
    let after = server.get("/perms/permissions?limit=0").await.expect(200)["totalRecords"].clone();
    assert_eq!(before, after);
}

#[tokio::test]
async fn calls_to_a_tenant_that_another_node_has_dropped_are_refused_like_those_to_none() {
    let server = TestServer::start().await;
    let other = server.node.create_tenant(OTHER_TENANT, "Other", "").await.expect("a second tenant");
    administrator::appoint(&other, "boss", "a-password").await.expect("an administrator");
    let token = server.token_of(Uuid::new_v4(), "boss", OTHER_TENANT);
    let login = json!({"username": "boss", "password": "a-password"});
    let stranger = server.stranger().with_header("x-okapi-tenant", OTHER_TENANT);
    let entered = stranger.post("/authn/login", &login).await;
    entered.expect(201);
    let boss = stranger.with_header("x-okapi-token", entered.header("x-okapi-token").expect("a token"));
    boss.get("/groups").await.expect(200);

    let elsewhere = server.another_node().await;
    assert!(elsewhere.drop_tenant(OTHER_TENANT).await.expect("the tenant can be dropped"));
    for reply in [
        boss.get("/groups").await,
        boss.post("/groups", &json!({"group": "too late"})).await,
        stranger.post("/authn/login", &login).await,
        stranger.with_header("x-okapi-token", &token).get("/users").await,
    ] {
        assert_eq!(
            (reply.status, reply.text().as_str()),
            (400, "No such Tenant otherlib"),
            "{}",
            reply.request
        );
    }
}

#[tokio::test]
async fn a_recreated_tenant_does_not_use_cached_rules_of_the_dropped_one() {
    let server = TestServer::start().await;
    let elsewhere = server.another_node().await;
    elsewhere.create_tenant(OTHER_TENANT, "Other", "").await.expect("a second tenant");
    let settings_version = |database: std::sync::Arc<carrel_platform::Node>| async move {
        let tenant = database.find_tenant(OTHER_TENANT).await.expect("request").expect("it is there");
        tenant.settings_version_is_stale();
        tenant.settings_version().await.expect("a tenant has a settings version")
    };
    let before = settings_version(std::sync::Arc::clone(&elsewhere)).await;
    elsewhere.drop_tenant(OTHER_TENANT).await.expect("dropped");
    elsewhere.create_tenant(OTHER_TENANT, "Other", "").await.expect("a second tenant");
    let after = settings_version(elsewhere).await;
    assert!(after > before, "a node that has cached rules under {before} takes those of {after} for newer");
}

#[tokio::test]
async fn a_tenant_can_be_created_without_reference_records() {
    let server = TestServer::start().await;
    let path = "/_/proxy/tenants?tenantParameters=loadReference=false,loadSample=false";
    server.post(path, &json!({"id": OTHER_TENANT, "name": "Other"})).await.expect(201);
    let other = server.node.tenant(OTHER_TENANT).expect("the tenant was created");
    administrator::appoint(&other, "boss", "a-password").await.expect("an administrator");
    let login = server
        .stranger()
        .with_header("x-okapi-tenant", OTHER_TENANT)
        .post("/authn/login", &json!({"username": "boss", "password": "a-password"}))
        .await;
    let token = login.header("x-okapi-token").expect("login gives a token");
    let boss = server.stranger().with_header("x-okapi-token", token);
    for (path, expected) in [
        ("/material-types", 0),
        ("/service-points", 0),
        ("/groups", 0),
        ("/loan-policy-storage/loan-policies", 0),
        ("/authority-source-files", 0),
        ("/circulation-settings-storage/circulation-settings", 0),
        ("/staff-slips-storage/staff-slips", 7),
        ("/feefines", 6),
        ("/patron-block-conditions", 6),
        ("/eventConfig", 5),
    ] {
        assert_eq!(boss.get(path).await.expect(200)["totalRecords"], expected, "{path}");
    }
    // The tenant works: what it needs is its own to add.
    boss.post("/material-types", &json!({"name": "scroll", "source": "local"})).await.expect_status(201);
    boss.get("/circulation/rules").await.expect_status(200);
    boss.get("/hrid-settings-storage/hrid-settings").await.expect_status(200);
}
