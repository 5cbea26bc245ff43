//! The primary moves: a standby is promoted, every node finds it without a restart, and users read their own writes
//! throughout.

use crate::replicas::{ReplicaSetup, group, reads_of, refreshed, wait_for_server};
use carrel_testkit::{Client, Reply};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(60);

/// Writes a group as soon as the node can; the group.
async fn writes_as_soon_as_it_can(node: &Client, name: &str) -> Value {
    let (started, written) = (Instant::now(), group(name));
    loop {
        let reply = node.post("/groups", &written).await;
        if reply.status == 201 {
            return written;
        }
        assert!([422, 503].contains(&reply.status), "{}: {}", reply.status, reply.text());
        // A write whose answer got lost is there all the same.
        if reply.status == 422 {
            return written;
        }
        assert!(started.elapsed() < LONGEST, "the node finds no primary: {}", reply.text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Each node writes in turn, and both read it at once.
async fn both_read_what_either_writes(setup: &ReplicaSetup, about: &str, times: usize) {
    for number in 0..times {
        let name = format!("{about} {number}");
        let written = group(&name);
        setup.node(number % 2).post("/groups", &written).await.expect(201);
        let path = format!("/groups/{}", written["id"].as_str().unwrap_or_default());
        for node in [setup.node(0), setup.node(1)] {
            assert_eq!(node.get(&path).await.expect(200)["group"], written["group"]);
            let found = node.get(&format!("/groups?query=group==\"{name}\"")).await.expect(200);
            assert_eq!(found["totalRecords"], 1, "a query finds '{name}' as well");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_standby_is_found_by_every_node_and_own_writes_are_read_throughout() {
    let mut setup = ReplicaSetup::with_replicas("promotion", 2).await;
    for standby in &setup.replicas {
        standby.follow(&[&setup.primary, &setup.replicas[0], &setup.replicas[1]]);
    }
    for standby in &mut setup.replicas {
        standby.stop();
        standby.start_again();
    }
    for node in [setup.node(0), setup.node(1)] {
        wait_for_server(node, "replica 1", LONGEST).await;
        wait_for_server(node, "replica 2", LONGEST).await;
    }
    both_read_what_either_writes(&setup, "before", 10).await;
    let list = json!({"name": "Users", "entityTypeId": "ddc93926-d15a-4a45-9d9c-93eadc3d9bbf", "isActive": true,
        "isPrivate": false, "fqlQuery": "{\"_version\":\"24\",\"users.username\":{\"$empty\":false}}"});
    let list = setup.node(0).post("/lists", &list).await.expect(201);
    let list = list["id"].as_str().expect("a list has an id");
    let users = refreshed(setup.node(0), list).await;

    setup.primary.stop();
    setup.replicas[0].promote();
    let mut written = Vec::new();
    for (number, node) in [setup.node(0), setup.node(1)].into_iter().enumerate() {
        written.push(writes_as_soon_as_it_can(node, &format!("found by {number}")).await);
    }
    for node in [setup.node(0), setup.node(1)] {
        for group in &written {
            node.get(&format!("/groups/{}", group["id"].as_str().unwrap_or_default())).await.expect(200);
        }
        let kept = node.get("/groups?query=group==\"before 9\"").await.expect(200);
        assert_eq!(kept["totalRecords"], 1, "what was written before is there");
    }
    both_read_what_either_writes(&setup, "promoted", 10).await;
    assert_eq!(refreshed(setup.node(1), list).await, users);

    // The other standby follows the new primary and is read from again.
    for node in [setup.node(0), setup.node(1)] {
        wait_for_server(node, "replica 2", LONGEST).await;
    }
    both_read_what_either_writes(&setup, "followed", 10).await;

    // The former primary becomes a standby: it is read from, too.
    setup.primary.follow(&[&setup.replicas[0], &setup.replicas[1]]);
    setup.primary.start_again();
    let promoted_reads = reads_of(setup.node(0), "replica 1").await;
    wait_for_server(setup.node(0), "replica 3", LONGEST).await;
    both_read_what_either_writes(&setup, "rejoined", 10).await;
    assert_eq!(reads_of(setup.node(0), "replica 1").await, promoted_reads, "a primary is no replica");
    assert_eq!(refreshed(setup.node(0), list).await, users);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_primary_that_comes_back_unchanged_is_not_written_to() {
    let mut setup = ReplicaSetup::with_replicas("former-primary", 1).await;
    wait_for_server(setup.node(0), "replica 1", LONGEST).await;
    setup.primary.stop();
    setup.replicas[0].promote();
    for node in [setup.node(0), setup.node(1)] {
        writes_as_soon_as_it_can(node, &format!("after the promotion {}", uuid::Uuid::new_v4())).await;
    }

    // It takes writes again, and knows nothing of the promotion.
    setup.primary.start_again();
    let former = setup.primary.connect("postgres").await;
    let asked_by = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'carrel members'";
    let started = Instant::now();
    while former.query_one(asked_by, &[]).await.expect("activity can be read").get::<_, i64>(0) < 2 {
        assert!(started.elapsed() < LONGEST, "both nodes ask it whether it is the primary");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    both_read_what_either_writes(&setup, "afterwards", 10).await;
    let count = "SELECT count(*) FROM library_harbor.groups WHERE doc->>'group' LIKE 'after%'";
    let stray: i64 = former.query_one(count, &[]).await.expect("it has the table").get(0);
    assert_eq!(stray, 0, "nothing was written to the former primary");
}

/// Calls the path without pause until it is stopped; counts, and remembers what was not answered well.
async fn reads_on(
    node: Client,
    path: &'static str,
    done: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    while !done.load(SeqCst) {
        match node.try_call("GET", path, None).await {
            Ok(reply) if reply.status == 200 => _ = count.fetch_add(1, SeqCst),
            Ok(reply) => wrong.push(format!("{path}: {} {}", reply.status, reply.text())),
            Err(words) => wrong.push(words),
        }
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_stop_and_come_back_cost_no_read_an_error() {
    let mut setup = ReplicaSetup::with_replicas("restarted-replicas", 2).await;
    for node in [setup.node(0), setup.node(1)] {
        wait_for_server(node, "replica 1", LONGEST).await;
        wait_for_server(node, "replica 2", LONGEST).await;
    }
    let (done, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    // Short pages, long lists that are streamed, what the desk reads, and a query of the list engine.
    let paths = [
        "/groups?limit=10",
        "/groups?limit=5000",
        "/users?query=username==chief",
        "/circulation/loans?limit=10",
        "/inventory/items?limit=10",
        "/query?entityTypeId=ddc93926-d15a-4a45-9d9c-93eadc3d9bbf&query={\"users.username\":{\"$eq\":\"chief\"}}&fields=users.username",
    ];
    let reading: Vec<_> = paths
        .into_iter()
        .zip([0, 1].into_iter().cycle())
        .map(|(path, node)| {
            tokio::spawn(reads_on(setup.node(node).clone(), path, Arc::clone(&done), Arc::clone(&count)))
        })
        .collect();
    for round in 0..6 {
        let before = count.load(SeqCst);
        let replica = &mut setup.replicas[round % 2];
        // In the middle of what it answers, and in order.
        if round < 3 {
            replica.kill()
        } else {
            replica.stop()
        }
        let started = Instant::now();
        while count.load(SeqCst) < before + 50 {
            assert!(started.elapsed() < LONGEST, "reads go on without a replica");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        setup.replicas[round % 2].start_again();
    }
    done.store(true, SeqCst);
    for reader in reading {
        let wrong = reader.await.expect("no reader panics");
        assert!(wrong.is_empty(), "{} reads failed: {:?}", wrong.len(), wrong.first());
    }
}

const MANY_USERS: usize = 3_500;

/// Reads the contents of the list, or exports it, until told to stop: what is answered is whole, or refused with a time
/// to repeat it. Counts the times that all was there.
async fn reads_a_list_on(
    node: Client,
    (list, exports): (String, bool),
    done: Arc<AtomicBool>,
    whole: Arc<AtomicU64>,
) {
    let refused = |reply: &Reply| {
        let may_be_repeated = reply.status == 503 && reply.header("retry-after").is_some();
        assert!(may_be_repeated, "{}: {}", reply.status, reply.text());
    };
    while !done.load(SeqCst) {
        if exports {
            whole.fetch_add(exports_whole(&node, &list, &refused).await.into(), SeqCst);
            continue;
        }
        let mut found = 0;
        for offset in (0..MANY_USERS).step_by(1_000) {
            let path = format!("/lists/{list}/contents?fields=users.username&size=1000&offset={offset}");
            let reply = node.get(&path).await;
            if reply.status != 200 {
                refused(&reply);
                break;
            }
            let page = reply.json();
            let rows = page["content"].as_array().expect("contents are an array").len();
            assert_eq!(rows, (MANY_USERS - offset).min(1_000), "the page from {offset} on is whole");
            found += rows;
        }
        whole.fetch_add((found / MANY_USERS) as u64, SeqCst);
    }
}

/// Exports the list once; false if a call was refused, or if the export is unknown to the new primary.
async fn exports_whole(node: &Client, list: &str, refused: &impl Fn(&Reply)) -> bool {
    let begun = node.post(&format!("/lists/{list}/exports"), &Value::Null).await;
    // An export whose answer got lost may still be running.
    if begun.status != 201 {
        if begun.status != 400 {
            refused(&begun);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        return false;
    }
    let begun = begun.json();
    let path = format!("/lists/{list}/exports/{}", begun["exportId"].as_str().unwrap_or_default());
    let started = Instant::now();
    loop {
        assert!(started.elapsed() < LONGEST, "an export ends");
        let reply = node.get(&path).await;
        match reply.status {
            200 if reply.json()["status"] == "IN_PROGRESS" => {}
            200 => {
                assert_eq!(reply.json()["status"], "SUCCESS", "an export is not lost: {}", reply.text());
                break;
            }
            404 => return false,
            _ => refused(&reply),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let file = node.get(&format!("{path}/download")).await;
    if file.status != 200 {
        refused(&file);
        return false;
    }
    assert_eq!(file.text().lines().count(), MANY_USERS + 1, "the file is whole");
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_and_exports_of_a_list_are_whole_while_the_primary_moves() {
    let mut setup = ReplicaSetup::with_replicas("lists-promotion", 1).await;
    let users = format!(
        "INSERT INTO library_harbor.users (id, doc) SELECT id, jsonb_build_object('id', id, 'username', 'many' || n)
         FROM (SELECT n, gen_random_uuid() AS id FROM generate_series(1, {MANY_USERS}) AS n) AS new"
    );
    setup.primary.connect("postgres").await.batch_execute(&users).await.expect("users can be added");
    let list = json!({"name": "Many", "entityTypeId": "ddc93926-d15a-4a45-9d9c-93eadc3d9bbf", "isActive": true,
        "isPrivate": false, "fqlQuery": "{\"_version\":\"24\",\"users.username\":{\"$starts_with\":\"many\"}}"});
    let list = setup.node(0).post("/lists", &list).await.expect(201);
    let list = list["id"].as_str().expect("a list has an id").to_owned();
    assert_eq!(refreshed(setup.node(0), &list).await, MANY_USERS as u64);
    wait_for_server(setup.node(0), "replica 1", LONGEST).await;

    let done = Arc::new(AtomicBool::new(false));
    let mut readers = Vec::new();
    for (node, exports) in [(0, false), (1, false), (1, true)] {
        let whole = Arc::new(AtomicU64::new(0));
        let reading = reads_a_list_on(
            setup.node(node).clone(),
            (list.clone(), exports),
            Arc::clone(&done),
            Arc::clone(&whole),
        );
        readers.push((tokio::spawn(reading), whole));
    }
    every_reader_has_read_all(&readers).await;
    setup.primary.kill();
    setup.replicas[0].promote();
    for node in [setup.node(0), setup.node(1)] {
        writes_as_soon_as_it_can(node, &format!("while lists are read {}", uuid::Uuid::new_v4())).await;
    }
    every_reader_has_read_all(&readers).await;
    done.store(true, SeqCst);
    for (reader, _) in readers {
        reader.await.expect("what is read is whole");
    }
    assert_eq!(refreshed(setup.node(1), &list).await, MANY_USERS as u64);
}

/// Waits until each has read all twice: the first time may have begun before.
async fn every_reader_has_read_all(readers: &[(tokio::task::JoinHandle<()>, Arc<AtomicU64>)]) {
    for (reader, whole) in readers {
        let (started, before) = (Instant::now(), whole.load(SeqCst));
        while whole.load(SeqCst) < before + 2 && !reader.is_finished() {
            assert!(started.elapsed() < LONGEST * 2, "a reader reads on");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
