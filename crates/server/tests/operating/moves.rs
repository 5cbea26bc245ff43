//! Tenants move from one PostgreSQL to another while two nodes serve them.

use crate::program::{ADMIN, PASSWORD, TENANT, admin_of, carrel_output, carrel_refused, serve};
use carrel_testkit::{Client, OwnPostgres, Program, Scratch};
use serde_json::json;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time for anything that happens by itself.
const LONGEST: Duration = Duration::from_secs(120);

/// Two PostgreSQL servers, two nodes on the first one, and a tenant.
struct Setup {
    here: OwnPostgres,
    there: OwnPostgres,
    nodes: Vec<Program>,
    /// The administrator, logged in once, at each node.
    admins: Vec<Client>,
    folder: Scratch,
}

impl Setup {
    async fn new(name: &str, settings: &str) -> Setup {
        let folder = Scratch::named(name);
        let here = OwnPostgres::start(&folder.folder, "here", settings);
        let there = OwnPostgres::start(&folder.folder, "there", "");
        let from = here.by_network("postgres");
        carrel_output(&["tenant", "create", TENANT, "--admin", ADMIN, "--database", &from]);
        let mut setup = Setup { here, there, nodes: Vec::new(), admins: Vec::new(), folder };
        setup.start_node("first");
        setup.start_node("second");
        let admin = admin_of(&setup.nodes[0]).await;
        admin.get("/groups").await.expect(200);
        setup.admins = setup.nodes.iter().map(|node| admin.at(node.address)).collect();
        setup
    }

    fn start_node(&mut self, name: &str) {
        let folder = self.folder.folder.join(name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        self.nodes.push(serve(&folder, &["--database", &self.here.by_network("postgres")]));
    }

    /// Starts the command that moves the tenant there.
    fn start_move(&self) -> Child {
        Command::new(env!("CARGO_BIN_EXE_carrel"))
            .args(["tenant", "move", TENANT, "--to", &self.there.by_network("postgres")])
            .args(["--database", &self.here.by_network("postgres")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program can be started")
    }

    /// Moves the tenant, and gives what the command printed.
    async fn moves(&self, to: &OwnPostgres) -> String {
        let (to, database) = (to.by_network("postgres"), self.here.by_network("postgres"));
        let moved = tokio::task::spawn_blocking(move || {
            carrel_output(&["tenant", "move", TENANT, "--to", &to, "--database", &database])
        });
        moved.await.expect("the command goes well")
    }

    async fn wait_for(&self, what: &str, server: &OwnPostgres, condition: &str) {
        let looker = server.connect("postgres").await;
        let started = Instant::now();
        loop {
            let holds = looker.query_one(condition, &[]).await.expect("a valid statement");
            if holds.get::<_, bool>(0) {
                return;
            }
            assert!(started.elapsed() < LONGEST, "{what}:\n{}", self.nodes[0].log_text());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Nothing of a move is left, and the tenant's schema is only here or only there.
    async fn is_whole(&self, at: &OwnPostgres, not_at: &OwnPostgres) {
        let none = "SELECT NOT EXISTS (SELECT 1 FROM platform.tenant_move)";
        self.wait_for("the move is finished", &self.here, none).await;
        for server in [&self.here, &self.there] {
            let slots = "SELECT NOT EXISTS (SELECT 1 FROM pg_replication_slots)
                         AND NOT EXISTS (SELECT 1 FROM pg_publication)";
            self.wait_for("nothing is kept for a move", server, slots).await;
        }
        let whole = "SELECT to_regclass('library_harbor.groups') IS NOT NULL";
        self.wait_for("the tenant is there", at, whole).await;
        let gone = "SELECT NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname LIKE '%library_harbor')
                    AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'library_harbor')";
        self.wait_for("nothing of it is at the other place", not_at, gone).await;
    }

    async fn writes(&self, name: &str) {
        for (node, admin) in self.admins.iter().enumerate() {
            let started = Instant::now();
            loop {
                let reply = admin.post("/groups", &json!({"group": format!("{name} {node}")})).await;
                if reply.status == 201 {
                    break;
                }
                assert_eq!(reply.status, 503, "{}", reply.text());
                assert!(started.elapsed() < LONGEST, "writes are refused: {}", reply.text());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// A desk that works on at one node until it is stopped.
struct Desk {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    work: tokio::task::JoinHandle<Duration>,
}

impl Desk {
    fn at(node: usize, admin: &Client) -> Desk {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, count, admin) = (Arc::clone(&stop), Arc::clone(&acknowledged), admin.clone());
        let work = tokio::spawn(async move {
            let mut longest = Duration::ZERO;
            let mut refused_since: Option<Instant> = None;
            for number in 0.. {
                if stopped.load(Relaxed) {
                    break;
                }
                let reply = admin.post("/groups", &json!({"group": format!("Crew {node} {number}")})).await;
                match reply.status {
                    201 => {
                        count.fetch_add(1, Relaxed);
                        longest = longest.max(refused_since.take().map_or(Duration::ZERO, |at| at.elapsed()));
                    }
                    503 => {
                        assert!(reply.header("retry-after").is_some(), "a refusal has Retry-After");
                        refused_since.get_or_insert_with(Instant::now);
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    other => panic!("{other}: {}", reply.text()),
                }
            }
            longest
        });
        Desk { stop, acknowledged, work }
    }

    async fn has_done(&self, more: u64) {
        let until = self.acknowledged.load(Relaxed) + more;
        let started = Instant::now();
        while self.acknowledged.load(Relaxed) < until {
            assert!(started.elapsed() < LONGEST && !self.work.is_finished(), "the desk does not get on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Gives the number of acknowledged writes and the longest time for which they were refused.
    async fn ends(self) -> (u64, Duration) {
        self.stop.store(true, Relaxed);
        let longest = self.work.await.expect("the desk gets valid answers");
        (self.acknowledged.load(Relaxed), longest)
    }
}

async fn crews_at(server: &OwnPostgres) -> u64 {
    let sql = "SELECT count(*) FROM library_harbor.groups WHERE doc->>'group' LIKE 'Crew %'";
    let row = server.connect("postgres").await.query_one(sql, &[]).await.expect("the tenant is there");
    row.get::<_, i64>(0).unsigned_abs()
}

/// Two desks work before, during and after a move; nothing that was acknowledged is lost, on any node.
async fn moves_under_load(setup: &Setup, how: &str) {
    let desks: Vec<Desk> =
        setup.admins.iter().enumerate().map(|(node, admin)| Desk::at(node, admin)).collect();
    for desk in &desks {
        desk.has_done(50).await;
    }
    let message = setup.moves(&setup.there).await;
    assert!(message.contains("'harbor' has moved") && message.contains(how), "{message}");
    assert!(!message.contains("password="), "{message}");
    for desk in &desks {
        desk.has_done(50).await;
    }
    let mut acknowledged = 0;
    for desk in desks {
        let (done, longest) = desk.ends().await;
        println!("{message}a desk did {done} writes and was refused for {longest:?} at most");
        acknowledged += done;
    }
    assert_eq!(crews_at(&setup.there).await, acknowledged, "all that was acknowledged was carried");
    setup.is_whole(&setup.there, &setup.here).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_moves_while_desks_work_if_the_source_gives_logical_changes() {
    let setup = Setup::new("moved-logically", "wal_level = logical").await;
    let timers = "/_/proxy/tenants/harbor/timers";
    let changed = json!({"id": "mod-circulation_0", "routingEntry": {"unit": "hour", "delay": "7"}});
    setup.admins[0].call("PATCH", timers, Some(changed.to_string().into())).await.expect_status(204);
    moves_under_load(&setup, "desks worked while it was copied").await;
    let timers = setup.admins[1].get(timers).await.expect(200);
    let timer = timers.as_array().and_then(|all| all.iter().find(|one| one["id"] == "mod-circulation_0"));
    assert_eq!(timer.map(|timer| &timer["routingEntry"]["delay"]), Some(&json!("7")), "timers go with it");

    let listed = carrel_output(&["tenant", "list", "--database", &setup.here.by_network("postgres")]);
    assert!(listed.contains(&format!("port={}", setup.there.port)), "{listed}");
    // A dump and an upgrade find it where it is.
    let file = setup.folder.folder.join("dump").to_string_lossy().into_owned();
    let database = setup.here.by_network("postgres");
    carrel_output(&["tenant", "dump", TENANT, "--to", &file, "--database", &database]);
    carrel_output(&["tenant", "upgrade", TENANT, "--database", &database]);
    let metrics = setup.admins[1].get("/metrics").await.text();
    assert!(metrics.contains("carrel_events_total{tenant=\"harbor\"}"), "its events are counted there");
    assert!(
        carrel_output(&["tenant", "drop", TENANT, "--yes", "--database", &database]).contains("was dropped")
    );
    let gone = "SELECT NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname LIKE '%library_harbor')";
    setup.wait_for("a dropped tenant is gone", &setup.there, gone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_moves_with_writes_refused_if_the_source_gives_no_logical_changes() {
    let setup = Setup::new("moved-plainly", "").await;
    moves_under_load(&setup, "it was copied in that time").await;
    let again = carrel_refused(&[
        "tenant",
        "move",
        TENANT,
        "--to",
        // The same place by another name.
        &setup.there.by_socket("postgres"),
        "--database",
        &setup.here.by_network("postgres"),
    ]);
    assert!(again.contains("in that database already"), "{again}");
    // And back.
    setup.moves(&setup.here).await;
    setup.is_whole(&setup.here, &setup.there).await;
    setup.writes("back").await;
    let looker = setup.here.connect("postgres").await;
    let own = "SELECT database IS NULL FROM platform.tenant WHERE id = 'harbor'";
    assert!(looker.query_one(own, &[]).await.expect("the tenant's line").get::<_, bool>(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_whose_move_is_killed_while_it_is_copied_stays_where_it_was() {
    let setup = Setup::new("killed-early", "").await;
    let blocker = setup.there.connect("postgres").await;
    // A table with a default value is not restored for now.
    blocker.batch_execute("BEGIN; LOCK TABLE pg_catalog.pg_attrdef IN SHARE MODE").await.expect("a lock");
    let mut moving = setup.start_move();
    let started = Instant::now();
    loop {
        let reply = setup.admins[0].post("/groups", &json!({"group": format!("{:?}", Instant::now())})).await;
        match reply.status {
            201 => assert!(started.elapsed() < LONGEST, "the move does not come to the copy"),
            503 => break,
            other => panic!("{other}: {}", reply.text()),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    setup.admins[1].get("/groups").await.expect(200);
    moving.kill().expect("it was running");
    moving.wait().expect("it ends");
    blocker.batch_execute("ROLLBACK").await.expect("the lock ends");
    setup.writes("stayed").await;
    setup.is_whole(&setup.here, &setup.there).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_whose_move_is_killed_while_the_old_copy_is_dropped_is_at_its_new_address() {
    let setup = Setup::new("killed-late", "wal_level = logical").await;
    let reader = setup.here.connect("postgres").await;
    reader.batch_execute("BEGIN; SELECT 1 FROM library_harbor.location LIMIT 1").await.expect("a reader");
    let mut moving = setup.start_move();
    let switched = "SELECT database IS NOT NULL FROM platform.tenant WHERE id = 'harbor'";
    setup.wait_for("the address is switched", &setup.here, switched).await;
    setup.writes("moved").await;
    moving.kill().expect("it waits for the reader");
    moving.wait().expect("it ends");
    reader.batch_execute("ROLLBACK").await.expect("the reader ends");
    setup.is_whole(&setup.there, &setup.here).await;
    setup.writes("moved for good").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_no_copy_is_not_touched_by_a_move() {
    let setup = Setup::new("in-the-way", "").await;
    let looker = setup.there.connect("postgres").await;
    looker.batch_execute("CREATE SCHEMA library_harbor").await.expect("a schema can be made");
    let (to, database) = (setup.there.by_network("postgres"), setup.here.by_network("postgres"));
    let refused = carrel_refused(&["tenant", "move", TENANT, "--to", &to, "--database", &database]);
    assert!(refused.contains("has a schema library_harbor"), "{refused}");
    let role = "SELECT 1 FROM pg_roles WHERE rolname = 'library_harbor'";
    assert!(looker.query(role, &[]).await.expect("roles can be read").is_empty(), "no role was made");
    setup.writes("stayed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_down_stops_its_own_tenants_only() {
    let mut setup = Setup::new("partly-down", "").await;
    let (here, there) = (setup.here.by_network("postgres"), setup.there.by_network("postgres"));
    carrel_output(&["tenant", "create", "island", "--admin", ADMIN, "--at", &there, "--database", &here]);
    setup.there.kill();
    setup.start_node("third");
    let node = setup.nodes[2].address;
    setup.admins[0].at(node).get("/groups").await.expect(200);
    let stranger = Client::new(node).with_header("x-okapi-tenant", "island");
    let login = json!({"username": ADMIN, "password": PASSWORD});
    assert_eq!(stranger.post("/authn/login", &login).await.status, 503);
    setup.there.start_again();
    let started = Instant::now();
    while stranger.post("/authn/login", &login).await.status != 201 {
        assert!(started.elapsed() < LONGEST, "{}", setup.nodes[2].log_text());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
