//! While the database hangs, every call is answered, and service resumes when it continues.

use crate::program::{ADMIN, TENANT, admin_of, carrel_output, serve};
use carrel_testkit::{Client, OwnPostgres, Scratch};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Every call is answered within this time, whatever the database does.
const BOUND: Duration = Duration::from_secs(30);

async fn answered(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Duration) {
    let started = Instant::now();
    let calling = async {
        match method {
            "POST" => client.post(path, body).await.status,
            "PUT" => client.put(path, body).await.status,
            _ => client.get(path).await.status,
        }
    };
    let status = tokio::time::timeout(2 * BOUND, calling).await;
    (status.unwrap_or_else(|_| panic!("{method} {path} is not answered")), started.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_answered_while_the_database_hangs() {
    let scratch = Scratch::named("frozen");
    let postgres = OwnPostgres::start(&scratch.folder, "primary", "");
    let address = postgres.by_network("postgres");
    carrel_output(&["tenant", "create", TENANT, "--admin", ADMIN, "--database", &address]);
    let program = serve(&scratch.folder, &["--database", &address]);
    let admin = admin_of(&program).await;
    admin.post("/groups", &json!({"group": "before"})).await.expect(201);
    admin.get("/groups").await.expect(200);

    postgres.freeze();
    let scan = json!({"itemBarcode": "1", "userBarcode": "2", "servicePointId": uuid::Uuid::new_v4()});
    let nothing = Value::Null;
    let group = json!({"group": "meanwhile"});
    let calls = [
        ("GET", "/groups", &nothing),
        ("GET", "/groups?limit=2000", &nothing),
        ("GET", "/users?query=username==a", &nothing),
        ("GET", "/admin/jobs", &nothing),
        ("POST", "/groups", &group),
        ("POST", "/circulation/check-out-by-barcode", &scan),
        ("PUT", "/circulation/rules", &json!({"rulesAsText": ""})),
    ]
    .map(|(method, path, body)| (method, path, body.clone()));
    // Twice as many as the tenant has connections, so that some calls wait for one.
    let all = (0..20).flat_map(|_| calls.clone()).map(|(method, path, body)| {
        let admin = &admin;
        async move { (path, answered(admin, method, path, &body).await) }
    });
    for (path, (status, time)) in join_all(all).await {
        assert_eq!(status, 503, "{path}");
        assert!(time < BOUND, "{path} took {time:?}");
    }

    postgres.thaw();
    let started = Instant::now();
    while answered(&admin, "POST", "/groups", &json!({"group": "afterwards"})).await.0 != 201 {
        assert!(started.elapsed() < BOUND, "the desk does not work again");
    }
}
