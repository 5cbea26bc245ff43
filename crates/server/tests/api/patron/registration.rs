//! Patrons who register themselves.

use carrel_testkit::{LendingServer, Reply, TestServer};
use serde_json::{Value, json};
use uuid::Uuid;

fn registration() -> Value {
    json!({"generalInfo": {"firstName": "Ada", "lastName": "Byron"}, "contactInfo": {"email": "ada@example.org"}})
}

/// Status and code.
fn reported(answer: &Reply) -> (u16, Value) {
    (answer.status, answer.expect(answer.status)["errors"][0]["code"].clone())
}

#[tokio::test]
async fn a_registration_creates_a_staging_user() {
    let server = TestServer::start().await;
    let registered = server.post("/patron", &registration()).await.expect(201);
    assert_eq!((&registered["status"], &registered["isEmailVerified"]), (&json!("TIER-1"), &json!(false)));
    let path = format!("/patron/{}", registered["externalSystemId"].as_str().unwrap_or_default());
    let mut change = registration();
    change["generalInfo"]["lastName"] = "Lovelace".into();
    let changed = server.put(&path, &change).await.expect(200);
    assert_eq!(changed["id"], registered["id"]);
    assert_eq!(changed["generalInfo"]["lastName"], "Lovelace");
    let waiting = server.get("/staging-users").await.expect(200);
    assert_eq!(waiting["staging_users"][0]["generalInfo"]["lastName"], "Lovelace");
}

#[tokio::test]
async fn a_registration_has_a_name_and_an_address() {
    let server = TestServer::start().await;
    let nameless = json!({"contactInfo": {"email": "ada@example.org"}});
    server.post("/patron", &nameless).await.expect(422);
    server.put(&format!("/patron/{}", Uuid::new_v4()), &nameless).await.expect(422);
    let unknown = server.put(&format!("/patron/{}", Uuid::new_v4()), &registration()).await;
    assert_eq!(reported(&unknown), (404, json!("STAGING_USER_NOT_FOUND")));
}

#[tokio::test]
async fn the_status_of_a_registration_is_found_by_email_or_external_id() {
    let server = LendingServer::open().await;
    let foreign = Uuid::new_v4();
    let person = |email: &str| json!({"lastName": "Byron", "email": email, "preferredContactTypeId": "002"});
    let ada =
        server.patron_with(json!({"externalSystemId": foreign, "personal": person("ada@example.org")})).await;
    server.patron_with(json!({"active": false, "personal": person("former@example.org")})).await;
    server.patron_with(json!({"type": "staff", "personal": person("clerk@example.org")})).await;
    for _ in 0..2 {
        server.patron_with(json!({"personal": person("both@example.org")})).await;
    }
    let registration_status =
        async |who: &str| server.admin().get(&format!("/patron/registration-status/{who}")).await;
    for known in [foreign.to_string(), "ada@example.org".to_owned()] {
        let user = registration_status(&known).await.expect(200);
        assert_eq!((&user["id"], user.get("_version")), (&json!(ada.id), None), "{known}");
    }
    assert_eq!(
        reported(&registration_status("former@example.org").await),
        (404, json!("USER_ACCOUNT_INACTIVE"))
    );
    assert_eq!(
        reported(&registration_status("both@example.org").await),
        (400, json!("MULTIPLE_USER_WITH_EMAIL"))
    );
    for nobody in ["clerk@example.org", "nobody@example.org", "*", "ada*", &Uuid::new_v4().to_string()] {
        assert_eq!(reported(&registration_status(nobody).await), (404, json!("USER_NOT_FOUND")), "{nobody}");
    }
}
