//! Many tenants on a server with few connections, served by two nodes.

use crate::program::{ADMIN, PASSWORD, serve};
use carrel_platform::Node;
use carrel_platform::ServerOptions;
use carrel_platform::database::{Address, Server};
use carrel_server::{administrator, first_records, modules};
use carrel_testkit::{Client, OwnPostgres, Scratch};
use futures_util::future::join_all;
use serde_json::json;

/// More than the server has connections for; `CARREL_TEST_TENANTS` sets another number.
fn tenants() -> usize {
    std::env::var("CARREL_TEST_TENANTS").ok().and_then(|number| number.parse().ok()).unwrap_or(6)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_serve_more_tenants_than_the_database_has_connections_for() {
    let tenants = tenants();
    let scratch = Scratch::named("many-tenants");
    let settings = format!("max_connections = {}", 2 * tenants);
    let postgres = OwnPostgres::start(&scratch.folder, "primary", &settings);
    let address = postgres.by_network("postgres");
    let server = Server::read(&address).expect("an address");
    {
        let place = Address { primary: server, replicas: Vec::new(), per_tenant: 2 };
        let node = Node::open(place, 4, modules::modules(), ServerOptions::default(), first_records::all())
            .await
            .expect("an empty database is set up");
        for number in 0..tenants {
            let tenant = node.create_tenant(&format!("t{number}"), "T", "").await.expect("a tenant");
            administrator::appoint(&tenant, ADMIN, PASSWORD).await.expect("an administrator");
        }
    }
    let folders = ["first", "second"].map(|name| scratch.folder.join(name));
    let nodes: Vec<_> = folders
        .iter()
        .map(|folder| {
            std::fs::create_dir_all(folder).expect("a folder can be made");
            serve(folder, &["--database", &address])
        })
        .collect();
    let mut desks = Vec::new();
    for number in 0..tenants {
        let id = format!("t{number}");
        let stranger = Client::new(nodes[0].address).with_header("x-okapi-tenant", &id);
        let login = stranger.post("/authn/login", &json!({"username": ADMIN, "password": PASSWORD})).await;
        login.expect(201);
        let token = login.header("x-okapi-token").expect("a token").to_owned();
        for node in &nodes {
            let desk = Client::new(node.address).with_header("x-okapi-tenant", &id);
            desks.push(desk.with_header("x-okapi-token", &token));
        }
    }
    let work = desks.iter().enumerate().map(|(number, desk)| async move {
        for round in 0..5 {
            let calls = (0..4).map(|call| async move {
                let group = json!({"group": format!("{number} {round} {call}")});
                desk.post("/groups", &group).await.expect(201);
                desk.get("/groups").await.expect(200);
            });
            join_all(calls).await;
        }
    });
    join_all(work).await;
}
