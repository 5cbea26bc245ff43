use carrel_server::administrator;
use carrel_testkit::{ADMIN, OTHER_TENANT, PASSWORD, TENANT, TestLibrary};
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn a_tenant_sees_nothing_of_another() {
    let library = TestLibrary::start().await;
    let other = library.library.create_tenant(OTHER_TENANT, "Other", "").await.expect("a second tenant");
    administrator::appoint(&other, "boss", "a-password").await.expect("an administrator");
    let group = json!({"id": Uuid::new_v4(), "group": "secret"});
    library.post("/groups", &group).await.expect(201);

    let login = library
        .stranger()
        .with_header("x-okapi-tenant", OTHER_TENANT)
        .post("/authn/login", &json!({"username": "boss", "password": "a-password"}))
        .await;
    login.expect(201);
    let token = login.header("x-okapi-token").expect("login gives a token");
    let boss = library.stranger().with_header("x-okapi-token", token);
    let found = boss.get("/groups?query=group==secret").await.expect(200);
    assert_eq!(found["totalRecords"], 0);
    boss.get(&format!("/groups/{}", group["id"].as_str().unwrap_or_default())).await.expect(404);
}

#[tokio::test]
async fn the_role_of_a_tenant_reaches_no_other_schema() {
    let library = TestLibrary::start().await;
    let other = library.library.create_tenant(OTHER_TENANT, "Other", "").await.expect("a second tenant");
    let connection = other.writer().await.expect("a connection");
    for table in ["library_diku.users", "platform.signing_key", "platform.tenant"] {
        let read = connection.client().batch_execute(&format!("SELECT * FROM {table}")).await;
        assert!(read.is_err(), "a tenant's connection can read {table}");
    }
}

#[tokio::test]
async fn a_dropped_tenant_is_gone() {
    let library = TestLibrary::start().await;
    library.post("/_/proxy/tenants", &json!({"id": OTHER_TENANT, "name": "Other"})).await.expect(201);
    library.delete(&format!("/_/proxy/tenants/{OTHER_TENANT}")).await.expect(204);
    library.get(&format!("/_/proxy/tenants/{OTHER_TENANT}")).await.expect(404);
    let database = library.database().await;
    let row =
        database.query_one("SELECT to_regnamespace('library_otherlib') IS NULL", &[]).await.expect("asked");
    assert!(row.get::<_, bool>(0), "the schema is still there");
}

#[tokio::test]
async fn a_second_start_finds_everything_as_it_was() {
    let library = TestLibrary::start().await;
    let before = library.get("/perms/permissions?limit=0").await.expect(200)["totalRecords"].clone();
    let tenant = library.library.create_tenant(TENANT, "Again", "").await.expect("the tenant is there");
    let appointed = administrator::appoint(&tenant, ADMIN, PASSWORD).await.expect("asked");
    assert_eq!(appointed, administrator::Appointed::NameTaken);
    let after = library.get("/perms/permissions?limit=0").await.expect(200)["totalRecords"].clone();
    assert_eq!(before, after);
}
