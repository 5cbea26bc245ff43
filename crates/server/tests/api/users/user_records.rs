//! User records and what belongs to them.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

fn user(name: &str) -> Value {
    json!({"id": Uuid::new_v4(), "username": name, "active": true, "personal": {"lastName": name}})
}

fn with(mut user: Value, key: &str, value: Value) -> Value {
    user[key] = value;
    user
}

fn path_of(user: &Value) -> String {
    format!("/users/{}", user["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn username_and_barcode_are_unique_regardless_of_case() {
    let server = TestServer::start().await;
    let first = with(user("Amélie"), "barcode", json!("B1"));
    server.post("/users", &first).await.expect(201);
    let refusals = async |user: &Value| server.post("/users", user).await.refusals();
    assert_eq!(refusals(&user("amelie")).await, ["User with this username already exists"]);
    let same_barcode = with(user("other"), "barcode", json!("b1"));
    assert_eq!(refusals(&same_barcode).await, ["This barcode has already been taken"]);
    assert_eq!(refusals(&first).await, ["User with this id already exists"]);
    let other = user("other");
    server.post("/users", &other).await.expect(201);
    let renamed = server.put(&path_of(&other), &with(other.clone(), "username", json!("Amelie"))).await;
    assert_eq!((renamed.status, renamed.text()), (400, "User with this username already exists".into()));
}

#[tokio::test]
async fn a_user_is_found_by_keywords_and_by_the_name_of_their_group() {
    let server = TestServer::start().await;
    let groups = server.get("/groups?query=group==staff").await.expect(200);
    let group = groups["usergroups"][0]["id"].clone();
    server.post("/users", &with(user("Wilhelmina"), "patronGroup", group)).await.expect(201);
    let found = async |query: &str| {
        server.get(&format!("/users?query={query}")).await.expect(200)["totalRecords"].clone()
    };
    assert_eq!(found("keywords=wilh*").await, 1);
    assert_eq!(found("patronGroup.group==staff and username==wilhelmina").await, 1);
    assert_eq!(found("patronGroup.group==undergrad and username==wilhelmina").await, 0);
}

#[tokio::test]
async fn departments_and_address_types_in_use_cannot_be_deleted() {
    let server = TestServer::start().await;
    let department = server.post("/departments", &json!({"name": "Law", "code": "L"})).await.expect(201);
    let types = server.get("/addresstypes?limit=1").await.expect(200);
    let kind = types["addressTypes"][0]["id"].clone();
    let mut lawyer = with(user("lawyer"), "departments", json!([department["id"]]));
    lawyer["personal"]["addresses"] = json!([{"addressTypeId": kind, "primaryAddress": true}]);
    server.post("/users", &lawyer).await.expect(201);
    let department = format!("/departments/{}", department["id"].as_str().expect("an id"));
    let kind = format!("/addresstypes/{}", kind.as_str().expect("an id"));
    assert_eq!(server.get(&department).await.expect(200)["usageNumber"], 1);
    server.delete(&department).await.expect_status(400);
    assert!(server.delete(&kind).await.text().ends_with("as it is being used"));
    server.delete(&path_of(&lawyer)).await.expect(204);
    server.delete(&department).await.expect(204);
    server.delete(&kind).await.expect(204);
}

#[tokio::test]
async fn a_proxy_relationship_is_unique_even_when_created_concurrently() {
    let server = TestServer::start().await;
    let (sponsor, proxy) = (user("sponsor"), user("proxy"));
    for user in [&sponsor, &proxy] {
        server.post("/users", user).await.expect(201);
    }
    let pair = json!({"userId": sponsor["id"], "proxyUserId": proxy["id"]});
    let (one, two) = tokio::join!(server.post("/proxiesfor", &pair), server.post("/proxiesfor", &pair));
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 422]);
}

#[tokio::test]
async fn the_timer_deactivates_expired_users() {
    let server = TestServer::start().await;
    let past = with(user("past"), "expirationDate", json!("2020-01-01T00:00:00.000+00:00"));
    let future = with(user("future"), "expirationDate", json!("2999-01-01T00:00:00.000+00:00"));
    for user in [&past, &future] {
        server.post("/users", user).await.expect(201);
    }
    server.post("/users/expire/timer", &json!({})).await.expect(204);
    assert_eq!(server.get(&path_of(&past)).await.expect(200)["active"], false);
    assert_eq!(server.get(&path_of(&future)).await.expect(200)["active"], true);
}

#[tokio::test]
async fn a_user_with_open_transactions_cannot_be_deleted() {
    let server = TestServer::start().await;
    let (sponsor, proxy) = (user("sponsor"), user("proxy"));
    for user in [&sponsor, &proxy] {
        server.post("/users", user).await.expect(201);
    }
    let pair = json!({"userId": sponsor["id"], "proxyUserId": proxy["id"]});
    let pair = server.post("/proxiesfor", &pair).await.expect(201);
    let path = format!("/bl-users/by-id/{}", proxy["id"].as_str().expect("an id"));
    assert_eq!(server.delete(&path).await.expect(409)["proxies"], 1);
    server.delete(&format!("/proxiesfor/{}", pair["id"].as_str().expect("an id"))).await.expect(204);
    server.delete(&path).await.expect(204);
    server.get(&path).await.expect_status(404);
}

#[tokio::test]
async fn a_patron_pin_is_verified() {
    let server = TestServer::start().await;
    let pin = |pin: &str| json!({"id": "11111111-1111-4111-8111-111111111111", "pin": pin});
    server.post("/patron-pin", &pin("1234")).await.expect_status(201);
    server.post("/patron-pin/verify", &pin("1234")).await.expect_status(200);
    server.post("/patron-pin/verify", &pin("4321")).await.expect_status(422);
}

#[tokio::test]
async fn a_staging_user_becomes_a_user() {
    let server = TestServer::start().await;
    let staging = json!({"generalInfo": {"firstName": "Ada", "lastName": "Byron"},
        "contactInfo": {"email": "ada@example.org"}, "addressInfo": {"city": "London"}});
    let staging = server.post("/staging-users", &staging).await.expect(201);
    let id = staging["id"].as_str().expect("an id");
    let merged = server.put(&format!("/staging-users/{id}/mergeOrCreateUser"), &json!({})).await.expect(200);
    let user = server.get(&format!("/users/{}", merged["userId"].as_str().expect("an id"))).await.expect(200);
    assert_eq!((&user["personal"]["lastName"], &user["active"]), (&json!("Byron"), &json!(true)));
    assert_eq!(user["personal"]["addresses"][0]["primaryAddress"], true);
    assert_eq!(server.get("/staging-users").await.expect(200)["totalRecords"], 0);
}

#[tokio::test]
async fn an_expiration_date_of_9999_is_accepted_and_searchable() {
    let server = TestServer::start().await;
    let user = json!({"username": "forever", "expirationDate": "9999-12-31T23:59:59.000Z"});
    let stored = server.admin.post("/users", &user).await.expect(201);
    assert_eq!(stored["expirationDate"], "9999-12-31T23:59:59.000+00:00");
    for (query, found) in [
        ("expirationDate==\"9999-12-31T23:59:59Z\"", 1),
        ("expirationDate>9999-12-30", 1),
        ("expirationDate>9999", 1),
        ("expirationDate<9999-12-31", 0),
        ("username==forever and expirationDate>2030", 1),
    ] {
        let page = server.admin.get(&format!("/users?query={query}")).await.expect(200);
        assert_eq!(page["totalRecords"], found, "{query}");
    }
}

#[tokio::test]
async fn a_profile_picture_is_stored_where_the_setting_allows_it() {
    let server = TestServer::start().await;
    let bytes = server.admin.with_header("content-type", "application/octet-stream");
    let picture = || Some(b"\x89PNG\r\n\x1a\npicture".to_vec().into());
    let off = bytes.call("POST", "/users/profile-picture", picture()).await;
    assert_eq!(
        (off.status, off.text().as_str()),
        (500, "Profile picture feature is not enabled for tenant diku")
    );
    let text = bytes.call("POST", "/users/profile-picture", Some("GIF89a".into())).await;
    assert_eq!(
        (text.status, text.text().as_str()),
        (500, "Requested image should be of supported type-[PNG,JPG,JPEG]")
    );
    let value =
        json!({"enabled": true, "enabledObjectStorage": false, "encryptionKey": "k", "maxFileSize": 1});
    let setting = json!({"scope": "mod-users", "key": "PROFILE_PICTURE_CONFIG", "value": value});
    let stored = server.post("/user/settings", &setting).await.expect(201);
    let again = server.post("/user/settings", &setting).await;
    assert_eq!(again.status, 400);
    assert!(again.text().contains("value already exists in table settings: "), "{}", again.text());
    let mut setting = stored;
    let made = bytes.call("POST", "/users/profile-picture", picture()).await.expect(201);
    let path = format!("/users/profile-picture/{}", made["id"].as_str().expect("an id"));
    bytes.get(&path).await.expect(200);
    let large = [b"\xff\xd8\xff".as_slice(), &vec![0; 1024 * 1024]].concat();
    bytes.call("PUT", &path, Some(large.into())).await.expect_status(500);
    bytes.delete(&path).await.expect(204);
    let setting_path = format!("/user/settings/{}", setting["id"].as_str().expect("an id"));
    setting["value"]["maxFileSize"] = json!(14);
    server.put(&setting_path, &setting).await.expect_status(500);
    setting["value"]["encryptionKey"] = json!("another");
    let other_key = server.put(&setting_path, &setting).await;
    assert_eq!((other_key.status, other_key.text().as_str()), (400, "Cannot update the Encryption key"));
    let unknown = format!("/user/settings/{}", Uuid::new_v4());
    assert_eq!(server.put(&unknown, &setting).await.expect(404)["code"], "not_found_error");
}

#[tokio::test]
async fn the_id_of_a_user_may_lack_leading_zeros() {
    let library = TestServer::start().await;
    let short = "00000000-1111-2222-9999-44444444444";
    let user = json!({"id": short, "username": "short_id", "personal": {"lastName": "Short"}});
    let created = library.post("/users", &user).await.expect(201);
    assert_eq!(created["id"], "00000000-1111-2222-9999-044444444444");
    assert_eq!(library.get(&format!("/users/{short}")).await.expect(200)["username"], "short_id");
    library.delete(&format!("/users/{short}")).await.expect(204);
    library.get(&format!("/users/{short}")).await.expect(404);
}
