//! Users who have forgotten their password or username get a mail.

use carrel_notices::email::DELIVERY;
use carrel_platform::jobs::{self, Pace};
use carrel_testkit::{Client, MailServer, TENANT, TestServer};
use serde_json::{Value, json};
use std::time::Duration;

/// A client like the login page: with the tenant, without a token.
fn visitor(server: &TestServer) -> Client {
    server.stranger().with_header("x-okapi-tenant", TENANT)
}

async fn user(server: &TestServer, differs: Value) -> Value {
    let mut user = json!({"username": "ada", "active": true, "personal": {"lastName": "Byron", "firstName": "Ada",
        "email": "ada@example.org", "phone": "555 123", "preferredContactTypeId": "002"}});
    carrel_testkit::alter(&mut user, &differs);
    server.post("/users", &user).await.expect(201)
}

/// The stored mails.
async fn mails(server: &TestServer) -> Vec<Value> {
    server.get("/email").await.expect(200)["emailEntity"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_link_arrives_by_mail_and_sets_a_new_password() {
    let (server, mail_server) = (TestServer::start().await, MailServer::start().await);
    let configuration = json!({"host": "127.0.0.1", "port": mail_server.address.port(), "username": "desk",
        "password": "secret", "startTlsOptions": "DISABLED", "from": "library@example.org"});
    server.post("/smtp-configuration", &configuration).await.expect(201);
    server.put("/base-url", &json!({"baseUrl": "https://library.example.org"})).await;
    let ada = user(&server, json!({})).await;
    let credentials = json!({"userId": ada["id"], "password": "lost"});
    server.post("/authn/credentials", &credentials).await.expect_status(201);

    let body = json!({"id": "ADA@example.org"});
    visitor(&server).post("/bl-users/forgotten/password", &body).await.expect_status(204);

    let quick = Pace { lease: Duration::from_secs(5), poll: Duration::from_millis(50), at_once: 2 };
    let node = jobs::start_with(&server.node, vec![&DELIVERY], quick);
    let platform = server.node.platform().await.expect("a connection");
    jobs::soon(&platform, TENANT, DELIVERY.name).await.expect("a job can be wanted soon");
    drop(platform);
    for _ in 0..1_200 {
        if !mail_server.mails().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    node.stop().await;
    let [mail] = &mail_server.mails()[..] else { panic!("one mail: {:?}", mail_server.mails()) };
    assert_eq!(mail.to, ["ada@example.org"]);
    let stored = mails(&server).await;
    let body = stored[0]["body"].as_str().unwrap_or_default();
    let token = body.split("/reset-password/").nth(1).and_then(|rest| rest.split('?').next());
    let bearer = server.client_with(token.unwrap_or_else(|| panic!("no link in {body}")));
    bearer.post("/bl-users/password-reset/reset", &json!({"newPassword": "found"})).await.expect_status(204);
    let login = json!({"username": "ada", "password": "found"});
    visitor(&server).post("/authn/login", &login).await.expect_status(201);
    let notes = server.get("/notify").await.expect(200);
    let listed = notes["notifications"].as_array().into_iter().flatten();
    let mut events: Vec<&str> = listed.filter_map(|note| note["eventConfigName"].as_str()).collect();
    events.sort_unstable();
    assert_eq!(events, ["PASSWORD_CHANGED_EVENT", "RESET_PASSWORD_EVENT"]);
    assert_eq!(mails(&server).await.len(), 2, "the link, and that the password was changed");
    assert!(!notes.to_string().contains("reset-password/"), "the link is in the mail only");
}

#[tokio::test]
async fn a_username_arrives_by_mail_once_a_minute_at_most() {
    let server = TestServer::start().await;
    user(&server, json!({})).await;
    for _ in 0..3 {
        visitor(&server)
            .post("/bl-users/forgotten/username", &json!({"id": "555 123"}))
            .await
            .expect_status(204);
    }
    let mails = mails(&server).await;
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert!(mails[0]["body"].as_str().is_some_and(|body| body.contains("ada")), "{}", mails[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_calls_at_once_one_sends_a_mail() {
    let server = TestServer::start().await;
    user(&server, json!({})).await;
    let forgot = async || {
        let body = json!({"id": "ada@example.org"});
        visitor(&server).post("/bl-users/forgotten/username", &body).await.expect_status(204);
    };
    tokio::join!(forgot(), forgot(), forgot(), forgot(), forgot(), forgot());
    assert_eq!(mails(&server).await.len(), 1);
}

#[tokio::test]
async fn unknown_ambiguous_and_inactive_users_are_answered_as_in_folio() {
    let server = TestServer::start().await;
    user(&server, json!({})).await;
    user(&server, json!({"username": "bea", "personal": {"lastName": "Bea", "email": "bea@example.org", "phone": "555 123"}})).await;
    let gone = json!({"username": "gone", "active": false, "personal": {"lastName": "Gone", "email": "gone@example.org", "phone": "9"}});
    user(&server, gone).await;
    let forgot =
        async |id: &str| visitor(&server).post("/bl-users/forgotten/password", &json!({"id": id})).await;
    let nobody = forgot("nobody").await;
    assert_eq!((nobody.status, nobody.text().as_str()), (400, "User is not found: nobody"));
    forgot("*").await.expect_status(400);
    forgot("\" or username==\"ada").await.expect_status(400);
    let inactive = forgot("gone").await;
    assert_eq!(inactive.expect(422)["errors"][0]["code"], "forgotten.password.found.inactive");
    forgot("555 123").await.expect_status(204);
    assert_eq!(mails(&server).await, Vec::<Value>::new(), "two users have the number, and neither is mailed");
}

#[tokio::test]
async fn the_configuration_determines_the_fields_by_which_users_are_found() {
    let server = TestServer::start().await;
    user(&server, json!({"barcode": "4711"})).await;
    let entry = json!({"module": "USERSBL", "configName": "fogottenData", "code": "userName", "enabled": true,
        "value": "barcode"});
    server.post("/configurations/entries", &entry).await.expect(201);
    let forgot = async |id: &str| {
        visitor(&server).post("/bl-users/forgotten/password", &json!({"id": id})).await.status
    };
    assert_eq!(forgot("ada").await, 400);
    assert_eq!(forgot("4711").await, 204);
    let mails = mails(&server).await;
    let first = mails.first().cloned().unwrap_or_default();
    assert_eq!(first["to"], "ada@example.org", "who has no password yet gets a link to set one");
}

#[tokio::test]
async fn a_link_requested_by_staff_is_mailed_too() {
    let server = TestServer::start().await;
    let ada = user(&server, json!({})).await;
    let answer =
        server.post("/bl-users/password-reset/link", &json!({"userId": ada["id"]})).await.expect(200);
    let mails = mails(&server).await;
    let body = mails.first().map(|mail| mail["body"].as_str().unwrap_or_default().to_owned());
    let link = answer["link"].as_str().unwrap_or_default();
    assert!(body.is_some_and(|body| body.contains(link.split('?').next().unwrap_or_default())), "{mails:?}");
}
