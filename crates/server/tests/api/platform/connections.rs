//! Database connections: one budget for all pools of a node, and no task that waits for a second connection.

use carrel_platform::database::{Pools, Work};
use carrel_testkit::queues::placed;
use carrel_testkit::{LendingServer, TestServer};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use uuid::Uuid;

/// Clearly below the ten seconds after which a call stops waiting for a connection.
const NO_WAIT: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_replacements_of_permissions_at_once_do_not_wait_for_each_other() {
    let server = TestServer::start().await;
    let mut holders = Vec::new();
    for _ in 0..16 {
        let (id, user) = (Uuid::new_v4(), Uuid::new_v4());
        let holder = json!({"id": id, "userId": user, "permissions": ["users.item.get"]});
        server.post("/perms/users", &holder).await.expect(201);
        holders.push(holder);
    }
    let started = Instant::now();
    let replaced = join_all(holders.into_iter().map(|mut holder| {
        let server = &server;
        async move {
            holder["permissions"] = json!(["users.item.get", "users.collection.get"]);
            let id = holder["id"].as_str().unwrap_or_default().to_owned();
            server.put(&format!("/perms/users/{id}"), &holder).await.expect(200)
        }
    }));
    assert_eq!(replaced.await.len(), 16);
    assert!(started.elapsed() < NO_WAIT, "they took {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_holds_right_after_a_change_of_the_rules_do_not_wait_for_each_other() {
    let server = LendingServer::open().await;
    let pairs =
        join_all((0..40).map(|_| async { (server.patron().await, server.item_on_loan().await) })).await;
    let policy = server.loan_policy_with(json!({})).await;
    server.lends_by(&format!("fallback-policy: {}", server.policies(policy))).await;
    let started = Instant::now();
    let placing = pairs.iter().map(|(patron, book)| async {
        placed(&server.place_request(book, patron, "Hold", server.main_desk).await)
    });
    assert_eq!(join_all(placing).await.len(), 40);
    assert!(started.elapsed() < NO_WAIT, "they took {:?}", started.elapsed());
}

#[tokio::test]
async fn a_task_with_a_connection_cannot_borrow_another_one() {
    let server = TestServer::start().await;
    let tenant = server.tenant.clone();
    let borrowing = tokio::spawn(async move {
        let first = tenant.writer().await.expect("a connection is free");
        let second = tenant.reader().await;
        drop((first, second));
    });
    let panic = borrowing.await.expect_err("builds with debug assertions panic");
    assert!(panic.is_panic());
    let tenant = server.tenant.clone();
    tokio::spawn(async move {
        drop(tenant.writer().await.expect("a connection is free"));
        drop(tenant.reader().await.expect("a connection is free"));
    })
    .await
    .expect("one after the other is well");
}

/// The number of open connections of the pools, as the server reports it.
async fn open_connections(looker: &tokio_postgres::Client, database: &str) -> i64 {
    looker
        .query_one(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'carrel'",
            &[&database],
        )
        .await
        .expect("activity can be read")
        .get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_share_the_budget_and_close_idle_connections() {
    const BUDGET: usize = 4;
    let server = TestServer::start().await;
    let looker = server.cluster.connect("postgres").await;
    let database = "postgres";
    let address = server.cluster.address(database).primary;
    let pools = Pools::with_idle_timeout(address, BUDGET, Duration::from_millis(600));
    // More pools, and more callers of each, than the budget has connections.
    let tenants: Vec<_> = (0..12).map(|_| pools.open(None, 3, Work::Writes, None)).collect();
    let callers = (0..60).map(|number| {
        let pool = tenants[number % tenants.len()].clone();
        tokio::spawn(async move {
            let connection = pool.get().await.expect("everybody gets a connection in the end");
            connection.query("SELECT pg_sleep(0.01)", vec![]).await.expect("it works");
        })
    });
    let callers: Vec<_> = callers.collect();
    for _ in 0..20 {
        let open = open_connections(&looker, database).await;
        // A connection that is closed in favor of another pool may still exist.
        assert!(open <= 2 * BUDGET as i64, "{open} are open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for caller in callers {
        caller.await.expect("no caller waits in vain");
    }
    let open: usize = tenants.iter().map(|pool| pool.usage().0).sum();
    assert!((1..=BUDGET).contains(&open), "{open} are open");
    let started = Instant::now();
    while open_connections(&looker, database).await > 0 {
        assert!(started.elapsed() < Duration::from_secs(30), "idle connections stay open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Roles with a schema and one table each, whose row is the role's name.
async fn make_roles(database: &tokio_postgres::Client, number: usize) -> Vec<String> {
    let names: Vec<String> =
        (0..number).map(|number| format!("library_r{number}_{}", Uuid::new_v4().simple())).collect();
    for name in &names {
        let made = format!(
            "CREATE ROLE {name} NOLOGIN; GRANT {name} TO CURRENT_USER; CREATE SCHEMA {name} AUTHORIZATION {name};
             SET ROLE {name}; CREATE TABLE {name}.owner (name text); INSERT INTO {name}.owner VALUES ('{name}');
             RESET ROLE"
        );
        database.batch_execute(&made).await.expect("a role with a table can be made");
    }
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_calls_of_twelve_tenants_get_their_turn_on_two_nodes_with_eight_connections() {
    const BUDGET: usize = 8;
    let server = TestServer::start().await;
    let roles = make_roles(&server.cluster.connect(&server.database).await, 12).await;
    let nodes: Vec<Pools> =
        (0..2).map(|_| Pools::new(server.cluster.address(&server.database).primary, BUDGET)).collect();
    let mut callers = Vec::new();
    for node in &nodes {
        let kinds = [Work::Writes, Work::Queries];
        let pools = kinds.map(|work| -> Vec<_> {
            roles.iter().map(|role| node.open(Some(role), 10, work, None)).collect()
        });
        for number in 0..50 {
            let tenant = number % roles.len();
            let role = roles[tenant].clone();
            let pools = [pools[0][tenant].clone(), pools[1][tenant].clone()];
            callers.push(tokio::spawn(async move {
                for (pool, plans) in
                    pools.iter().zip(["force_generic_plan", "force_custom_plan"]).cycle().take(6)
                {
                    let connection = pool.get().await.expect("every call gets its turn");
                    let asked =
                        "SELECT name, current_user::text, current_setting('plan_cache_mode') FROM owner";
                    let rows = connection.query(asked, vec![]).await.expect("the tenant's own table");
                    let found: [String; 3] = [0, 1, 2].map(|column| rows[0].get(column));
                    assert_eq!(
                        found,
                        [role.as_str(), role.as_str(), plans],
                        "the connection is the tenant's"
                    );
                }
            }));
        }
    }
    for caller in callers {
        caller.await.expect("no caller waits in vain");
    }
    for node in &nodes {
        let (open, limit) = node.usage();
        assert!(open <= BUDGET && limit == BUDGET, "{open} of {limit} are open");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_one_tenant_does_not_queue_before_the_check_outs_of_another() {
    const STORM: usize = 200;
    let server = LendingServer::open().await;
    let (patron, items) = (server.patron().await, join_all((0..5).map(|_| server.item())).await);
    let stormy = server.server.node.create_tenant("stormy", "Stormy", "").await.expect("a second tenant");
    // Few connections: two for the storm at most, one is left to others.
    let node = server.server.another_node().await;
    let busy = node.tenant(&stormy.id).expect("the other node has the tenant");
    let done = Arc::new(AtomicUsize::new(0));
    let mut storm = JoinSet::new();
    for number in 0..STORM {
        let (busy, done) = (Arc::clone(&busy), Arc::clone(&done));
        storm.spawn(async move {
            let connection = if number % 2 == 0 { busy.reader().await } else { busy.writer().await };
            // A call that has waited for too long is answered with 503.
            if let Ok(connection) = connection {
                let _ = connection.query("SELECT pg_sleep(0.25)", vec![]).await;
                done.fetch_add(1, Relaxed);
            }
        });
    }
    while busy.pool_use().iter().map(|(_, (_, _, waiting))| waiting).sum::<usize>() < STORM / 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let serving = tokio::spawn(carrel_platform::http::serve(
        carrel_server::serve::app(&node),
        listener,
        std::future::pending(),
    ));
    let desk = server.admin().at(address);
    for item in &items {
        let scan = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode, "servicePointId": server.main_desk.0});
        desk.post("/circulation/check-out-by-barcode", &scan).await.expect(201);
    }
    let waiting = STORM - done.load(Relaxed);
    assert!(
        waiting > STORM / 2,
        "only {waiting} calls of the storm still wait: the check-outs waited behind it"
    );
    storm.shutdown().await;
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_stops_waiting_does_not_lose_the_connection_for_others() {
    let server = TestServer::start().await;
    let pools = Pools::new(server.cluster.address(&server.database).primary, 1);
    let pool = pools.open(None, 1, Work::Writes, None);
    let held = pool.get().await.expect("the first caller gets it");
    let impatient = tokio::time::timeout(Duration::from_millis(50), pool.get()).await;
    assert!(impatient.is_err(), "there is only one connection");
    let other_pool = pools.open(None, 1, Work::Writes, None);
    let waiting = tokio::spawn(async move { other_pool.get().await.map(|_| ()) });
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(held);
    waiting.await.expect("no panic").expect("the next caller gets it, of whichever pool");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_aborted_call_leaves_no_half_read_connection() {
    let server = TestServer::start().await;
    let pools = Pools::new(server.cluster.address(&server.database).primary, 1);
    let pool = pools.open(None, 1, Work::Writes, None);
    let slow = pool.get().await.expect("a connection");
    let broken_off =
        tokio::time::timeout(Duration::from_millis(50), slow.query("SELECT pg_sleep(15)", vec![])).await;
    assert!(broken_off.is_err());
    drop(slow);
    let started = Instant::now();
    let rows = pool.get().await.expect("another one").query("SELECT 1", vec![]).await.expect("it works");
    assert_eq!(rows.len(), 1);
    assert!(started.elapsed() < NO_WAIT, "it waited for the statement that nobody waits for");
}

#[tokio::test]
async fn a_write_statement_ends_at_its_time_out() {
    let server = TestServer::start().await;
    let writer = server.tenant.writer().await.expect("a connection");
    let rows = writer.query("SHOW statement_timeout", vec![]).await.expect("a setting");
    assert_eq!(rows[0].get::<_, &str>(0), "20s");
}

/// The tenant's settings version as it is stored.
async fn version(database: &tokio_postgres::Client) -> i64 {
    database.query_one("SELECT value FROM settings_version", &[]).await.expect("a version").get(0)
}

/// The id of the first record of the collection, as a reference.
async fn first(server: &TestServer, path: &str, key: &str) -> Value {
    server.get(&format!("{path}?limit=1")).await.expect(200)[key][0]["id"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cached_table_moves_the_settings_version() {
    let server = LendingServer::open().await;
    let database = server.server.database().await;
    let admin = server.admin();
    let id = Uuid::new_v4;
    let institution = first(&server.server, "/location-units/institutions", "locinsts").await;
    let campus = first(&server.server, "/location-units/campuses", "loccamps").await;
    let building = first(&server.server, "/location-units/libraries", "loclibs").await;
    let rules = admin.get("/circulation/rules").await.expect(200);
    let condition =
        admin.get("/patron-block-conditions?limit=1").await.expect(200)["patronBlockConditions"][0].clone();
    let condition_path = format!("/patron-block-conditions/{}", condition["id"].as_str().unwrap_or_default());
    let user = id();
    let desk = server.main_desk.0;
    let staff =
        json!({"id": user, "username": "version-watcher", "active": true, "personal": {"lastName": "W"}});
    admin.post("/users", &staff).await.expect(201);
    // Method, path, body: a change of each cached table.
    let changes: Vec<(&str, &str, String, Value)> = vec![
        (
            "circulation_rules",
            "PUT",
            "/circulation/rules".into(),
            json!({"rulesAsText": rules["rulesAsText"]}),
        ),
        (
            "loan_policy",
            "POST",
            "/loan-policy-storage/loan-policies".into(),
            json!({"name": "P", "loanable": false, "renewable": false}),
        ),
        (
            "fixed_due_date_schedule",
            "POST",
            "/fixed-due-date-schedule-storage/fixed-due-date-schedules".into(),
            json!({"name": "S", "schedules": []}),
        ),
        (
            "request_policy",
            "POST",
            "/request-policy-storage/request-policies".into(),
            json!({"name": "R", "requestTypes": ["Hold"]}),
        ),
        (
            "patron_notice_policy",
            "POST",
            "/patron-notice-policy-storage/patron-notice-policies".into(),
            json!({"name": "N", "active": true}),
        ),
        ("overdue_fine_policy", "POST", "/overdue-fines-policies".into(), json!({"name": "O"})),
        ("lost_item_fee_policy", "POST", "/lost-item-fees-policies".into(), json!({"name": "L"})),
        ("owners", "POST", "/owners".into(), json!({"owner": "W"})),
        ("feefines", "POST", "/feefines".into(), json!({"feeFineType": "W", "automatic": false})),
        (
            "location",
            "POST",
            "/locations".into(),
            json!({"name": "V", "code": "V", "institutionId": institution,
            "campusId": campus, "libraryId": building, "primaryServicePoint": desk, "servicePointIds": [desk]}),
        ),
        (
            "locinstitution",
            "POST",
            "/location-units/institutions".into(),
            json!({"name": "VI", "code": "VI"}),
        ),
        (
            "loccampus",
            "POST",
            "/location-units/campuses".into(),
            json!({"name": "VC", "code": "VC", "institutionId": institution}),
        ),
        (
            "loclibrary",
            "POST",
            "/location-units/libraries".into(),
            json!({"name": "VL", "code": "VL", "campusId": campus}),
        ),
        (
            "service_point",
            "POST",
            "/service-points".into(),
            json!({"name": "VS", "code": "VS", "discoveryDisplayName": "VS"}),
        ),
        ("material_type", "POST", "/material-types".into(), json!({"name": "scroll", "source": "local"})),
        ("loan_type", "POST", "/loan-types".into(), json!({"name": "overnight"})),
        ("groups", "POST", "/groups".into(), json!({"group": "crew"})),
        ("departments", "POST", "/departments".into(), json!({"name": "Maps", "code": "M"})),
        ("addresstype", "POST", "/addresstypes".into(), json!({"addressType": "Ship"})),
        (
            "cancellation_reason",
            "POST",
            "/cancellation-reason-storage/cancellation-reasons".into(),
            json!({"name": "Lost at sea"}),
        ),
        ("patron_block_conditions", "PUT", condition_path, condition.clone()),
        (
            "patron_block_limits",
            "POST",
            "/patron-block-limits".into(),
            json!({"id": id(),
            "patronGroupId": server.group, "conditionId": condition["id"], "value": 7}),
        ),
        (
            "calendars",
            "POST",
            "/calendar/calendars".into(),
            json!({"name": "Always", "assignments": [],
            "startDate": "2030-01-01", "endDate": "2030-12-31", "normalHours": [], "exceptions": []}),
        ),
        (
            "circulation_settings",
            "POST",
            "/circulation/settings".into(),
            json!({"id": id(), "name": "regularTlr", "value": {"expirationPatronNoticeTemplateId": null}}),
        ),
        (
            "settings",
            "POST",
            "/settings/entries".into(),
            json!({"id": id(), "scope": "mod-circulation", "key": "checkoutLockFeature", "value": {}}),
        ),
        (
            "locale",
            "PUT",
            "/locale".into(),
            json!({"locale": "en-US", "timezone": "Europe/Oslo", "currency": "EUR", "numberingSystem": "latn"}),
        ),
        (
            "config_data",
            "POST",
            "/configurations/entries".into(),
            json!({"module": "ORG", "configName": "localeSettings", "enabled": true, "value": "{}"}),
        ),
        ("permissions", "POST", "/perms/permissions".into(), json!({"permissionName": "harbor.pilots"})),
        ("permissions_users", "POST", "/perms/users".into(), json!({"userId": user, "permissions": []})),
        (
            "token_revocation",
            "PUT",
            format!("/users/{user}"),
            json!({"id": user, "username": "version-watcher",
            "active": false, "personal": {"lastName": "W"}}),
        ),
    ];
    let node = &server.server.node;
    for table in node.cached_tables() {
        // Only tenants of public test suites have stand-in documents.
        assert!(
            *table == "stand_in" || changes.iter().any(|(changed, ..)| changed == table),
            "{table} is cached: change it in this test"
        );
    }
    for (table, method, path, body) in changes {
        assert!(node.cached_tables().contains(table), "{table} is not cached any more");
        let before = version(&database).await;
        let reply = match method {
            "PUT" => admin.put(&path, &body).await,
            _ => admin.post(&path, &body).await,
        };
        assert!((200..300).contains(&reply.status), "{method} {path}: {} {}", reply.status, reply.text());
        assert!(version(&database).await > before, "{table}: {method} {path} leaves the version as it was");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_settings_reaches_other_nodes_by_notification() {
    let server = TestServer::start().await;
    let other = server.another_node().await;
    let there = other.tenant(&server.tenant.id).expect("the other node has the tenant");
    // The other node may not be listening yet.
    let mut fastest = Duration::MAX;
    for number in 0..10 {
        let known = there.settings_version().await.expect("a version");
        server.post("/groups", &json!({"group": format!("group {number}")})).await.expect(201);
        let started = Instant::now();
        while there.settings_version().await.expect("a version") == known {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        fastest = fastest.min(started.elapsed());
    }
    assert!(fastest < Duration::from_millis(500), "the fastest took {fastest:?}: nobody was notified");
}
