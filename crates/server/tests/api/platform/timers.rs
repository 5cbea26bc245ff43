//! Timers by Okapi's routes and by mod-scheduler's: both show and change the same timers, on every node.

use carrel_platform::jobs::timers::{RouteCall, TimerSetting};
use carrel_platform::jobs::timing::{Next, Timing};
use carrel_platform::jobs::{self, Pace};
use carrel_testkit::{LendingServer, Reply, TENANT, TestServer};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const QUICK: Pace = Pace { lease: Duration::from_millis(900), poll: Duration::from_millis(50), at_once: 2 };
const EXPIRE_USERS: &str = "/users/expire/timer";
const EXPIRE_REQUESTS: &str = "/scheduled-request-expiration";

fn okapi() -> String {
    format!("/_/proxy/tenants/{TENANT}/timers")
}

async fn patch(server: &TestServer, path: &str, body: Value) -> Reply {
    server.admin.call("PATCH", path, Some(body.to_string().into())).await
}

/// The timer of the path as Okapi shows it.
async fn of_okapi(server: &TestServer, path: &str) -> Value {
    let timers = server.get(&okapi()).await.expect(200);
    let timers = timers.as_array().cloned().unwrap_or_default();
    timers.into_iter().find(|timer| timer["routingEntry"]["pathPattern"] == path).unwrap_or_default()
}

/// The timer of the path as mod-scheduler shows it.
async fn of_scheduler(server: &TestServer, path: &str) -> Value {
    let timers = server.get("/scheduler/timers?limit=500").await.expect(200);
    let timers = timers["timerDescriptors"].as_array().cloned().unwrap_or_default();
    timers.into_iter().find(|timer| timer["routingEntry"]["pathPattern"] == path).unwrap_or_default()
}

async fn runs(server: &TestServer, name: &str) -> i64 {
    let platform = server.node.platform().await.expect("a connection");
    let states = jobs::of_tenant(&platform, TENANT).await.expect("jobs can be listed");
    states.into_iter().find(|state| state.name == name).map_or(0, |state| state.runs)
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1_200 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited thirty seconds in vain: {what}");
}

#[tokio::test]
async fn a_timer_shows_the_declaration_of_its_module() {
    let server = TestServer::start().await;
    let timer = of_okapi(&server, EXPIRE_USERS).await;
    assert_eq!(
        timer,
        json!({"id": "mod-users_0", "modified": false,
            "routingEntry": {"methods": ["POST"], "pathPattern": EXPIRE_USERS, "unit": "minute", "delay": "1"}})
    );
    assert_eq!(server.get(&format!("{}/mod-users_0", okapi())).await.expect(200), timer);
    let scheduled = of_scheduler(&server, EXPIRE_USERS).await;
    assert_eq!(
        scheduled,
        json!({"id": scheduled["id"], "type": "system", "modified": false, "enabled": true,
            "moduleName": "mod-users", "moduleId": "mod-users-19.6.0", "routingEntry": timer["routingEntry"]})
    );
    let path = format!("/scheduler/timers/{}", scheduled["id"].as_str().unwrap_or_default());
    assert_eq!(server.get(&path).await.expect(200), scheduled);
    let of_users = server.get("/scheduler/timers?query=moduleName==mod-users&limit=1").await.expect(200);
    assert_eq!(of_users["timerDescriptors"].as_array().map(Vec::len), Some(1));
    assert!(of_users["totalRecords"].as_u64().is_some_and(|number| number > 1), "{of_users}");
}

#[tokio::test]
async fn a_changed_interval_is_shown_by_both_apis_and_can_be_reset() {
    let server = TestServer::start().await;
    let declared = of_okapi(&server, EXPIRE_REQUESTS).await;
    let path = format!("{}/{}", okapi(), declared["id"].as_str().unwrap_or_default());

    patch(&server, &path, json!({"unit": "second", "delay": "7"})).await.expect_status(204);

    let changed = of_okapi(&server, EXPIRE_REQUESTS).await;
    assert_eq!((&changed["modified"], &changed["routingEntry"]["delay"]), (&json!(true), &json!("7")));
    let mut scheduled = of_scheduler(&server, EXPIRE_REQUESTS).await;
    assert_eq!(scheduled["routingEntry"]["unit"], "second");

    let of_scheduler_path = format!("/scheduler/timers/{}", scheduled["id"].as_str().unwrap_or_default());
    scheduled["enabled"] = false.into();
    let off = server.put(&of_scheduler_path, &scheduled).await.expect(200);
    assert_eq!((&off["enabled"], &off["modified"]), (&json!(false), &json!(true)));
    assert_eq!(of_okapi(&server, EXPIRE_REQUESTS).await["routingEntry"]["delay"], "0");

    patch(&server, &path, json!({})).await.expect_status(204);
    assert_eq!(of_okapi(&server, EXPIRE_REQUESTS).await, declared);
    assert_eq!(of_scheduler(&server, EXPIRE_REQUESTS).await["enabled"], true);
}

#[tokio::test]
async fn a_malformed_patch_changes_nothing() {
    let server = TestServer::start().await;
    let declared = of_okapi(&server, EXPIRE_USERS).await;
    let one = format!("{}/mod-users_0", okapi());
    for body in [
        json!({"unit": "week", "delay": "1"}),
        json!({"unit": "second", "delay": "soon"}),
        json!({"schedule": {"cron": "60 * * * *"}}),
        json!({"interval": "1"}),
    ] {
        patch(&server, &one, body).await.expect_status(400);
    }
    patch(&server, &okapi(), json!({"id": "mod-users_0"})).await.expect_status(400);
    patch(&server, &format!("{}/mod-users_99", okapi()), json!({})).await.expect_status(404);
    patch(&server, "/_/proxy/tenants/nowhere/timers/mod-users_0", json!({})).await.expect_status(404);
    server.get(&format!("{}/mod-users_99", okapi())).await.expect_status(404);
    assert_eq!(server.get("/_/proxy/tenants/nowhere/timers").await.expect(200), json!([]));
    assert_eq!(of_okapi(&server, EXPIRE_USERS).await, declared);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_interval_counts_on_a_running_node_and_after_a_restart() {
    let server = TestServer::start().await;
    let body = |timing: Value| json!({"id": of_job(), "routingEntry": timing});
    fn of_job() -> &'static str {
        "mod-circulation-storage_0"
    }
    let node = jobs::start_at(&server.node, QUICK);

    patch(&server, &okapi(), body(json!({"unit": "second", "delay": "1"}))).await.expect_status(204);

    until("the job runs every second", async || runs(&server, "request-expiration").await >= 2).await;
    patch(&server, &okapi(), body(json!({"unit": "second", "delay": "0"}))).await.expect_status(204);
    // A run that started earlier may end after this.
    node.stop().await;
    let before = runs(&server, "request-expiration").await;
    let again = jobs::start_at(&server.node, QUICK);
    patch(&server, &format!("{}/mod-users_0", okapi()), json!({"unit": "second", "delay": "1"}))
        .await
        .expect_status(204);
    until("another timer runs", async || runs(&server, "users-expire-timer").await >= 2).await;
    assert_eq!(runs(&server, "request-expiration").await, before, "a timer that is off runs no more");
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_call_the_route_of_a_timer_once() {
    let server = TestServer::start().await;
    let user = json!({"username": "gone", "active": true, "expirationDate": "2020-01-01T00:00:00Z",
        "personal": {"lastName": "Gone"}});
    let user = server.post("/users", &user).await.expect(201);
    let nodes = [0, 1].map(|_| jobs::start_at(&server.node, QUICK));
    until("the timer is known", async || {
        let platform = server.node.platform().await.expect("a connection");
        let states = jobs::of_tenant(&platform, TENANT).await.expect("jobs can be listed");
        states.iter().any(|state| state.name == "users-expire-timer")
    })
    .await;

    server.post("/admin/jobs/users-expire-timer/run", &json!({})).await.expect_status(202);

    until("the user is inactive", async || {
        let path = format!("/users/{}", user["id"].as_str().unwrap_or_default());
        server.get(&path).await.expect(200)["active"] == false
    })
    .await;
    until("the run is noted", async || runs(&server, "users-expire-timer").await == 1).await;
    for node in nodes {
        node.stop().await;
    }
    assert_eq!(runs(&server, "users-expire-timer").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_timer_calls_a_route_with_the_users_permissions() {
    let server = TestServer::start().await;
    let clerk = server.staff_with(&["scheduler.all", "addresstypes.collection.get"]).await;
    let timer = |path: &str| {
        json!({"type": "user", "enabled": true, "moduleName": "mod-users",
            "routingEntry": {"methods": ["GET"], "path": path, "unit": "second", "delay": "1"}})
    };
    let allowed = clerk.post("/scheduler/timers", &timer("/addresstypes?limit=1")).await.expect(201);
    let forbidden = clerk.post("/scheduler/timers", &timer("/users?limit=1")).await.expect(201);
    let node = jobs::start_at(&server.node, QUICK);
    let outcome = async |timer: &Value| {
        let platform = server.node.platform().await.expect("a connection");
        let states = jobs::of_tenant(&platform, TENANT).await.expect("jobs can be listed");
        let name = format!("timer-{}", timer["id"].as_str().unwrap_or_default());
        states.into_iter().find(|state| state.name == name).and_then(|state| state.outcome)
    };

    until("both have run", async || outcome(&allowed).await.is_some() && outcome(&forbidden).await.is_some())
        .await;

    assert_eq!(outcome(&allowed).await.as_deref(), Some("answered 200 OK"));
    let refused = outcome(&forbidden).await.unwrap_or_default();
    assert!(refused.contains("users.collection.get"), "{refused}");
    node.stop().await;

    let path = format!("/scheduler/timers/{}", allowed["id"].as_str().unwrap_or_default());
    let mut slower = allowed.clone();
    slower["routingEntry"]["delay"] = "30".into();
    let changed = clerk.put(&path, &slower).await.expect(200);
    assert_eq!((&changed["modified"], &changed["userId"]), (&json!(true), &allowed["userId"]));
    clerk.delete(&path).await.expect_status(204);
    clerk.get(&path).await.expect_status(404);
    clerk.delete(&path).await.expect_status(204);
}

#[tokio::test]
async fn invalid_timers_are_refused_with_the_texts_of_mod_scheduler() {
    let server = TestServer::start().await;
    let refused = async |body: Value| {
        let answer = server.post("/scheduler/timers", &body).await;
        let error = answer.expect(400)["errors"][0].clone();
        (error["message"].as_str().unwrap_or_default().to_owned(), error["code"].clone())
    };
    let body = json!({"type": "user", "enabled": true, "routingEntry": {"path": "/users"}});
    assert_eq!(
        refused(body).await,
        ("Module id or module name is required".into(), json!("validation_error"))
    );

    let timer = of_scheduler(&server, EXPIRE_USERS).await;
    let path = format!("/scheduler/timers/{}", timer["id"].as_str().unwrap_or_default());
    assert_eq!(refused(timer.clone()).await.1, "found_error");
    let mut elsewhere = timer.clone();
    elsewhere["moduleName"] = "mod-inventory".into();
    elsewhere["moduleId"] = Value::Null;
    let answer = server.put(&path, &elsewhere).await;
    assert_eq!(answer.expect(400)["errors"][0]["message"], "Timer module name cannot be changed");
    server.delete(&path).await.expect_status(400);
    let unknown = Uuid::new_v4();
    let missing = server.get(&format!("/scheduler/timers/{unknown}")).await;
    assert_eq!(
        missing.expect(404),
        json!({"errors": [{"message": format!("Unable to find timer descriptor with id {unknown}"),
            "type": "EntityNotFoundException", "code": "not_found_error"}], "total_records": 1})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_and_timer_succeeds_on_two_nodes() {
    let server = LendingServer::on(TestServer::start().await).await;
    server.check_out(&server.item().await, &server.patron().await).await.expect(201);
    let server = &server.server;
    let other = server.another_node().await;
    let states = async || {
        let platform = server.node.platform().await.expect("a connection");
        jobs::of_tenant(&platform, TENANT).await.expect("jobs can be listed")
    };
    let first = jobs::start_at(&server.node, QUICK);
    let second = jobs::start_with(&other, other.jobs(), QUICK);
    until("the timers are known", async || {
        states().await.iter().any(|state| state.name == "users-expire-timer")
    })
    .await;
    for round in 1..=2 {
        let platform = server.node.platform().await.expect("a connection");
        for state in states().await {
            jobs::soon(&platform, TENANT, &state.name).await.expect("a job can be wanted soon");
        }
        drop(platform);
        until("all have run", async || states().await.iter().all(|state| state.runs >= round)).await;
    }
    first.stop().await;
    second.stop().await;
    let failed: Vec<String> = states()
        .await
        .into_iter()
        .filter(|state| state.failures > 0)
        .map(|state| format!("{}: {}", state.name, state.outcome.unwrap_or_default()))
        .collect();
    assert_eq!(failed, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timer_replaced_by_a_job_keeps_its_interval_and_calls_no_route() {
    let server = TestServer::start().await;
    let call = |path: &str| RouteCall { method: "POST".into(), path: path.into(), user_timer: None };
    let timing = Timing { unit: Some("hour".into()), delay: Some("5".into()), schedule: None };
    let platform = server.node.platform().await.expect("a connection");
    // The rows of an older release: a timer that called the route, and one for a route that is no longer a timer.
    for (name, path) in [("request-expiration", EXPIRE_REQUESTS), ("gone", "/gone")] {
        let setting =
            TimerSetting { timing: timing.clone(), call: Some(call(path)), ..TimerSetting::default() };
        let next = Next::Every(Duration::from_secs(5 * 3_600));
        jobs::set(&platform, TENANT, name, &setting, next).await.expect("a row");
    }
    let node = jobs::start_at(&server.node, QUICK);

    let row = async |name: &str| {
        let states = jobs::of_tenant(&platform, TENANT).await.expect("jobs can be listed");
        states.into_iter().find(|state| state.name == name)
    };
    until("the rows are looked through", async || row("gone").await.is_none()).await;
    node.stop().await;
    let kept = row("request-expiration").await.expect("the job");
    assert_eq!((kept.setting.call, kept.setting.timing), (None, timing));
}
