//! A new release takes over from an older one while desks work.
//!
//! `CARREL_TEST_OLDER` names the program of an older release. Without it the older node is of this build, on a tenant
//! whose upgrade is made due again: this shows that upgrading beside a node that serves, draining and handing over
//! cost no call, and not that two releases agree on the tables.

use crate::program::{ADMIN, TENANT, admin_of, carrel_output, serve, serve_by};
use carrel_testkit::{Client, OwnPostgres, Program, Scratch};
use serde_json::json;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(120);

/// A program of an older release.
fn older() -> Option<String> {
    std::env::var("CARREL_TEST_OLDER").ok().filter(|path| !path.is_empty())
}

fn folder(scratch: &Scratch, name: &str) -> std::path::PathBuf {
    let folder = scratch.folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn start_older(scratch: &Scratch, database: &str) -> Program {
    let folder = folder(scratch, "older");
    match older() {
        // It may not know how to drain.
        Some(path) => serve_by(Command::new(path), &folder, &["--database", database]),
        None => serve(&folder, &["--database", database, "--drain", "300"]),
    }
}

/// Works at the older node until its health page or its end says otherwise, as behind a proxy; then at the newer one.
async fn work(nodes: [Client; 2], stop: Arc<AtomicBool>, done: Arc<AtomicU64>) -> u64 {
    let mut at_the_newer = 0;
    for number in 0.. {
        if stop.load(Relaxed) {
            break;
        }
        let health = nodes[0].try_call("GET", "/admin/health", None).await;
        let mut node = usize::from(!health.is_ok_and(|reply| reply.status == 200));
        let group = json!({"group": format!("Crew {number}")}).to_string();
        let mut reply = nodes[node].try_call("POST", "/groups", Some(group.clone().into())).await;
        if node == 0 && reply.is_err() {
            // An older program that does not drain closes its port between two calls.
            node = 1;
            reply = nodes[1].try_call("POST", "/groups", Some(group.into())).await;
        }
        reply.unwrap_or_else(|words| panic!("{words}")).expect(201);
        nodes[1].get("/groups?limit=1").await.expect(200);
        at_the_newer += node as u64;
        done.fetch_add(1, Relaxed);
    }
    at_the_newer
}

#[tokio::test(flavor = "multi_thread")]
async fn desks_work_on_while_a_new_release_takes_over() {
    let scratch = Scratch::named("rolling-upgrade");
    let postgres = OwnPostgres::start(&scratch.folder, "primary", "");
    let database = postgres.by_network("postgres");
    let looker = postgres.connect("postgres").await;
    match older() {
        Some(path) => {
            let created = Command::new(path)
                .args(["tenant", "create", TENANT, "--admin", ADMIN, "--database", &database])
                .env("CARREL_ADMIN_PASSWORD", crate::program::PASSWORD)
                .status();
            assert!(created.is_ok_and(|status| status.success()), "the older program makes a tenant");
        }
        None => {
            carrel_output(&["tenant", "create", TENANT, "--admin", ADMIN, "--database", &database]);
        }
    }
    let mut old = start_older(&scratch, &database);
    let admin = admin_of(&old).await;
    if older().is_none() {
        let due = "UPDATE platform.tenant SET declarations = 'of an older release'";
        looker.batch_execute(due).await.expect("an upgrade can be made due");
    }
    // Named before the newer node listens: nobody calls it before the older one drains.
    let new = serve(&folder(&scratch, "newer"), &["--database", &database]);
    let upgraded = "SELECT declarations <> 'of an older release' FROM platform.tenant";
    let is_upgraded: bool = looker.query_one(upgraded, &[]).await.expect("the tenant's line").get(0);
    assert!(is_upgraded, "the newer node upgrades before it listens");
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let nodes = [admin.clone(), admin.at(new.address)];
    let desk = tokio::spawn(work(nodes, Arc::clone(&stop), Arc::clone(&done)));
    wait_for(&done, 40).await;
    old.signal("TERM");
    if older().is_none() {
        // Once the proxy has seen that it drains.
        let started = Instant::now();
        while admin.get("/admin/health").await.status == 200 {
            assert!(started.elapsed() < LONGEST, "{}", old.log_text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        wait_for(&done, 20).await;
        old.signal("TERM");
    }
    old.ends(LONGEST);
    wait_for(&done, 40).await;
    stop.store(true, Relaxed);
    let at_the_newer = desk.await.expect("no call of the desk fails");
    assert!(at_the_newer >= 40, "{at_the_newer}");
    let sql = "SELECT count(*) FROM library_harbor.groups WHERE doc->>'group' LIKE 'Crew %'";
    let written: i64 = looker.query_one(sql, &[]).await.expect("the tenant is there").get(0);
    assert_eq!(written.unsigned_abs(), done.load(Relaxed), "each group was written once");
}

async fn wait_for(done: &AtomicU64, more: u64) {
    let (until, started) = (done.load(Relaxed) + more, Instant::now());
    while done.load(Relaxed) < until {
        assert!(started.elapsed() < LONGEST, "the desk does not get on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
