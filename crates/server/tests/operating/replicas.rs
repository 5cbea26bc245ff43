//! Reads from streaming replicas: users read their own writes on every node, and lagging, dead and recovered replicas
//! are detected.

use crate::program::carrel_refused;
use carrel_platform::Node;
use carrel_platform::ServerOptions;
use carrel_platform::database::{Address, Server};
use carrel_server::{administrator, first_records, modules, serve};
use carrel_testkit::{Client, OwnPostgres, Scratch};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TENANT: &str = "harbor";

/// A primary, its replicas, and two nodes that use all of them.
pub struct ReplicaSetup {
    _scratch: Scratch,
    pub primary: OwnPostgres,
    pub replicas: Vec<OwnPostgres>,
    nodes: Vec<Standby>,
}

/// One of several nodes of the same library.
struct Standby {
    _library: Arc<Node>,
    admin: Client,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ReplicaSetup {
    async fn with_a_replica(name: &str) -> ReplicaSetup {
        ReplicaSetup::with_replicas(name, 1).await
    }

    pub async fn with_replicas(name: &str, number: usize) -> ReplicaSetup {
        let scratch = Scratch::named(name);
        let primary = OwnPostgres::start(&scratch.folder, "primary", "max_wal_senders = 10");
        let address = |replicas: Vec<Server>| Address {
            primary: Server::read(&primary.by_network("postgres")).expect("an address"),
            replicas,
            per_tenant: 4,
        };
        let first = Node::open(
            address(Vec::new()),
            8,
            modules::modules(),
            ServerOptions::default(),
            first_records::all(),
        )
        .await
        .expect("an empty database becomes a library");
        let tenant = first.create_tenant(TENANT, "Harbor", "").await.expect("a tenant can be made");
        administrator::appoint(&tenant, "chief", "a-password").await.expect("it gets an administrator");
        let replicas: Vec<OwnPostgres> = (1..=number)
            .map(|number| primary.replica(&scratch.folder, &format!("replica-{number}")))
            .collect();
        let read = |replica: &OwnPostgres| Server::read(&replica.by_network("postgres")).expect("an address");
        let mut nodes = Vec::new();
        for _ in 0..2 {
            nodes.push(Standby::open(address(replicas.iter().map(read).collect())).await);
        }
        ReplicaSetup { _scratch: scratch, primary, replicas, nodes }
    }

    pub fn node(&self, number: usize) -> &Client {
        &self.nodes[number].admin
    }

    async fn pause_replay(&self) {
        let replica = self.replicas[0].connect("postgres").await;
        replica.batch_execute("SELECT pg_wal_replay_pause()").await.expect("replay can be paused");
        // The pause takes effect after a moment.
        while replica
            .query_one("SELECT pg_get_wal_replay_pause_state()", &[])
            .await
            .expect("a state is reported")
            .get::<_, &str>(0)
            != "paused"
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn resume_replay(&self) {
        let replica = self.replicas[0].connect("postgres").await;
        replica.batch_execute("SELECT pg_wal_replay_resume()").await.expect("replay can go on");
    }
}

impl Standby {
    async fn open(address: Address) -> Standby {
        let server = Node::open(address, 16, modules::modules(), ServerOptions::default(), Vec::new())
            .await
            .expect("the library is there");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let at = listener.local_addr().expect("a listener has an address");
        let serving =
            tokio::spawn(carrel_platform::http::serve(serve::app(&server), listener, std::future::pending()));
        let stranger = Client::new(at).with_header("x-okapi-tenant", TENANT);
        let login =
            stranger.post("/authn/login", &json!({"username": "chief", "password": "a-password"})).await;
        let admin = stranger.with_header("x-okapi-token", login.header("x-okapi-token").expect("a token"));
        Standby { _library: server, admin, serving }
    }
}

/// The reads of the node that each server has served: the primary, the replica.
pub async fn reads_of(node: &Client, server: &str) -> u64 {
    let metrics = node.get("/metrics").await.text();
    let label = format!("carrel_reads_total{{tenant=\"{TENANT}\",server=\"{server}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&label)?.parse().ok()).unwrap_or(0)
}

/// How many the primary and the first replica have answered.
async fn reads(node: &Client) -> (u64, u64) {
    (reads_of(node, "primary").await, reads_of(node, "replica 1").await)
}

async fn wait_for_the_replica(node: &Client, longest: Duration) {
    wait_for_server(node, "replica 1", longest).await;
}

/// Reads until the server answers.
pub async fn wait_for_server(node: &Client, server: &str, longest: Duration) {
    let started = Instant::now();
    let before = reads_of(node, server).await;
    while reads_of(node, server).await == before {
        assert!(started.elapsed() < longest, "{server} is not read from: {:?}", reads(node).await);
        node.get("/groups?limit=1").await.expect(200);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub fn group(name: &str) -> Value {
    json!({"id": uuid::Uuid::new_v4(), "group": name})
}

#[tokio::test(flavor = "multi_thread")]
async fn users_read_their_own_writes_on_every_node_while_a_replica_lags() {
    let setup = ReplicaSetup::with_a_replica("late-replica").await;
    let (here, there) = (setup.node(0), setup.node(1));
    wait_for_the_replica(here, Duration::from_secs(60)).await;
    wait_for_the_replica(there, Duration::from_secs(60)).await;

    setup.pause_replay().await;
    let (_, before) = reads(there).await;
    let written = group("written while the replica stood still");
    here.post("/groups", &written).await.expect(201);
    let path = format!("/groups/{}", written["id"].as_str().unwrap_or_default());
    for node in [here, there] {
        assert_eq!(node.get(&path).await.expect(200)["group"], written["group"]);
        let found = node.get("/groups?query=group==\"written while*\"").await.expect(200);
        assert_eq!(found["totalRecords"], 1, "a list knows of it as well");
    }
    assert_eq!(reads(there).await.1, before, "the replica knows nothing of it, so the primary has answered");
    let late = here.get("/metrics").await.text();
    let behind = late.lines().find(|line| line.starts_with("carrel_replica_bytes_behind{")).unwrap_or("");
    assert!(!behind.is_empty() && !behind.ends_with(" 0"), "an operator sees how late it is: {behind}");

    setup.resume_replay().await;
    wait_for_the_replica(there, Duration::from_secs(60)).await;
    assert_eq!(there.get(&path).await.expect(200)["group"], written["group"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_primary_serves_reads_while_a_replica_is_down() {
    let mut setup = ReplicaSetup::with_a_replica("dead-replica").await;
    wait_for_the_replica(setup.node(0), Duration::from_secs(60)).await;

    setup.replicas[0].kill();
    let (before, _) = reads(setup.node(0)).await;
    for _ in 0..20 {
        setup.node(0).get("/groups?limit=1").await.expect(200);
    }
    assert!(reads(setup.node(0)).await.0 >= before + 20, "the primary has answered");
    let metrics = setup.node(0).get("/metrics").await.text();
    let in_use = format!("carrel_replica_in_use{{tenant=\"{TENANT}\",replica=\"1\"}} 0");
    assert!(metrics.contains(&in_use), "an operator sees that it is left alone");

    setup.replicas[0].start_again();
    wait_for_the_replica(setup.node(0), Duration::from_secs(120)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asynchronous_commit_is_read_from_the_replica() {
    let setup = ReplicaSetup::with_a_replica("lazy-commits").await;
    let primary = setup.primary.connect("postgres").await;
    for statement in [
        "ALTER SYSTEM SET synchronous_commit = off",
        "ALTER SYSTEM SET wal_writer_delay = '10s'",
        "SELECT pg_reload_conf()",
    ] {
        primary.batch_execute(statement).await.expect("settings can be changed");
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for number in 0..20 {
        let written = group(&format!("lazy {number}"));
        setup.node(0).post("/groups", &written).await.expect(201);
        let path = format!("/groups/{}", written["id"].as_str().unwrap_or_default());
        setup.node(1).get(&path).await.expect(200);
    }
}

/// Refreshes a list of users and returns their number in it.
pub async fn refreshed(node: &Client, list: &str) -> u64 {
    node.post(&format!("/lists/{list}/refresh"), &Value::Null).await.expect(200);
    for _ in 0..1_200 {
        let shown = node.get(&format!("/lists/{list}")).await.expect(200);
        if shown["inProgressRefresh"].is_null() {
            assert!(shown["failedRefresh"].is_null(), "the refresh has failed: {shown}");
            let contents = node.get(&format!("/lists/{list}/contents?size=10000")).await.expect(200);
            let rows = contents["content"].as_array().map_or(0, Vec::len) as u64;
            assert_eq!(shown["successRefresh"]["recordsCount"], rows, "the contents are whole");
            return rows;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the refresh did not end within a minute");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_refreshed_from_a_replica_and_survive_its_failure() {
    let mut setup = ReplicaSetup::with_a_replica("lists-of-a-replica").await;
    wait_for_the_replica(setup.node(0), Duration::from_secs(10)).await;
    let list = json!({"name": "Users", "entityTypeId": "ddc93926-d15a-4a45-9d9c-93eadc3d9bbf", "isActive": true,
        "isPrivate": false, "fqlQuery": "{\"_version\":\"24\",\"users.username\":{\"$empty\":false}}"});
    let created = setup.node(0).post("/lists", &list).await.expect(201);
    let list = created["id"].as_str().expect("a list has an id");
    let before = refreshed(setup.node(0), list).await;

    // Recent writes are found, however late the replica is.
    setup.pause_replay().await;
    let user = json!({"id": uuid::Uuid::new_v4(), "username": "late", "personal": {"lastName": "Late"}});
    setup.node(0).post("/users", &user).await.expect(201);
    assert_eq!(refreshed(setup.node(1), list).await, before + 1);
    setup.resume_replay().await;

    setup.replicas[0].kill();
    assert_eq!(refreshed(setup.node(0), list).await, before + 1);
    setup.replicas[0].start_again();
    assert_eq!(refreshed(setup.node(1), list).await, before + 1);
}

#[test]
fn a_replica_of_another_server_is_refused_at_the_start() {
    let scratch = Scratch::named("foreign-replica");
    let [first, second] =
        ["first", "second"].map(|name| OwnPostgres::start(&scratch.folder, name, "max_wal_senders = 2"));
    let [database, replica] = [&first, &second].map(|server| server.by_network("postgres"));
    let words = carrel_refused(&["serve", "--port", "0", "--database", &database, "--replica", &replica]);
    assert!(words.contains("is no standby of --database"), "{words}");
}
