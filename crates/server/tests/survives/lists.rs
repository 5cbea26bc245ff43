//! Refreshes of lists under `kill -9`: whatever dies, afterwards no list is in refresh, each shows a whole result, and
//! each can be refreshed again.

use crate::desks::log_in;
use crate::running::Running;
use carrel_testkit::Client;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::{Duration, Instant};

const LISTS: usize = 12;
const ITEMS: &str = "d0213d22-32cf-490f-9196-d81c3c66e53f";
/// From a kill until every refresh has ended: the lease of the dead node, and what another one then does.
const LONGEST_RECOVERY: Duration = Duration::from_secs(60);

#[test]
fn no_list_stays_in_refresh_after_kill_9() {
    let kills: usize = std::env::var("CARREL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let mut running = Running::sample_library();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime for the clients can be started");
    runtime.block_on(async {
        let client = log_in(running.address()).await;
        let mut lists = Vec::new();
        for number in 0..LISTS {
            lists.push(create(&client, number).await);
        }
        for round in 0..kills {
            for list in &lists {
                refresh(&client, list).await;
            }
            tokio::time::sleep(Duration::from_millis((round as u64 * 217) % 900)).await;
            running.kill_server();
            if round % 2 == 1 {
                running.kill_postmaster_unseen();
            }
            running.start_server();
            let client = log_in(running.address()).await;
            let ended = Instant::now() + LONGEST_RECOVERY;
            for list in &lists {
                while get(&client, &format!("/lists/{list}")).await["inProgressRefresh"].is_object() {
                    assert!(
                        Instant::now() < ended,
                        "kill {round}: list {list} stays in refresh\n{}",
                        running.last_words()
                    );
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                holds_a_whole_result(&client, list).await;
            }
        }
    });
    running.stops_when_asked();
}

async fn create(client: &Client, number: usize) -> String {
    // Every other list asks for the same, so that some runs are shared.
    let letters = if number.is_multiple_of(2) { String::new() } else { number.to_string() };
    let query = json!({"_version": "24", "items.status_name": {"$ne": format!("Lost{letters}")}}).to_string();
    let list = json!({"name": format!("List {number}"), "entityTypeId": ITEMS, "fqlQuery": query, "isActive": true,
        "isPrivate": false});
    let created = client.post("/lists", &list).await.expect(201);
    created["id"].as_str().expect("a list has an id").to_owned()
}

async fn refresh(client: &Client, list: &str) {
    client.post(&format!("/lists/{list}/refresh"), &Value::Null).await.expect_status(200);
}

/// An answer, also from a server that has just come up and finds a database that recovers.
async fn get(client: &Client, path: &str) -> Value {
    for _ in 0..600 {
        if let Ok(reply) = client.try_call("GET", path, None).await
            && reply.status == 200
        {
            return reply.json();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{path} was not answered within half a minute");
}

async fn holds_a_whole_result(client: &Client, list: &str) {
    let shown = get(client, &format!("/lists/{list}")).await;
    if let Some(failed) = shown.get("failedRefresh") {
        assert!(failed["error"]["code"].is_string(), "a failure has a reason: {failed}");
    }
    let contents = get(client, &format!("/lists/{list}/contents?fields=items.id&size=10000")).await;
    let rows = contents["content"].as_array().expect("contents are an array");
    let ids: HashSet<&str> = rows.iter().filter_map(|row| row["items.id"].as_str()).collect();
    let counted = shown["successRefresh"]["recordsCount"].as_u64().unwrap_or(0) as usize;
    assert_eq!((rows.len(), ids.len()), (counted, counted), "the contents of {list} are whole");
    let items = get(client, "/item-storage/items?limit=0").await["totalRecords"].as_u64().unwrap_or(0);
    assert!(counted == 0 || counted as u64 == items, "{list} shows {counted} of {items} items");
}
