//! Random histories with several concurrent writers: a queue is always numbered 1..n, no request is lost, and an item
//! fulfills one request.

use carrel_testkit::queues::{placed, positions};
use carrel_testkit::{LendingServer, TestItem, TestPatron};
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Concurrent desks.
const WRITERS: usize = 5;
/// Duration of a history: enough for some hundred actions on a slow machine.
const AT_MOST: Duration = Duration::from_secs(8);

struct Description {
    server: LendingServer,
    titles: bool,
    items: Vec<TestItem>,
    patrons: Vec<TestPatron>,
    placed: Mutex<Vec<Uuid>>,
    /// Items to which staff moved a request whose fulfillment had begun, which FOLIO allows.
    promised_twice: Mutex<HashSet<String>>,
    /// A cancellation reads a request and sends it back; after a deletion that would place the request again.
    deletes: tokio::sync::RwLock<()>,
    reported: Mutex<Vec<String>>,
}

impl Description {
    async fn begin(titles: bool) -> Description {
        let server = LendingServer::open().await;
        if titles {
            server.enable_title_requests().await;
        }
        let first = server.item().await;
        let mut items = vec![server.copy_of(&first).await, server.copy_of(&first).await];
        items.insert(0, first);
        let mut patrons = Vec::new();
        for _ in 0..12 {
            patrons.push(server.patron().await);
        }
        Description {
            server,
            titles,
            items,
            patrons,
            placed: Mutex::default(),
            promised_twice: Mutex::default(),
            deletes: tokio::sync::RwLock::default(),
            reported: Mutex::default(),
        }
    }

    /// One action of a desk; it may be refused, but must not fail.
    async fn action(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        let test_item = self.items.choose(&mut random).expect("books");
        let patron = self.patrons.choose(&mut random).expect("patrons");
        let desk = if random.random_bool(0.7) { self.server.main_desk } else { self.server.other_desk };
        let server = &self.server;
        let what = random.random_range(0..100);
        let (words, status) = match what {
            0..38 => {
                let kind = *["Hold", "Hold", "Recall", "Page"].choose(&mut random).expect("kinds");
                let reply = if self.titles && random.random_bool(0.6) {
                    server.place_title_request(test_item, patron, kind, desk).await
                } else {
                    server.place_request(test_item, patron, kind, desk).await
                };
                if reply.status == 201 {
                    self.placed.lock().expect("one writer at a time").push(placed(&reply));
                }
                (format!("{kind} of {}: {}", test_item.barcode, reply.text()), reply.status)
            }
            38..50 => {
                let Some(id) = self.some_request(&mut random) else { return };
                let _no_deletion = self.deletes.read().await;
                if !self.is_placed(id) {
                    return;
                }
                let reply = server.cancel(id).await;
                (format!("cancel {id}: {}", reply.text()), reply.status)
            }
            50..58 => {
                let Some(id) = self.some_request(&mut random) else { return };
                let request_body = json!({"destinationItemId": test_item.id});
                let reply =
                    server.admin().post(&format!("/circulation/requests/{id}/move"), &request_body).await;
                if reply.status == 200 && reply.json()["status"] != "Open - Not yet filled" {
                    let item = reply.json()["itemId"].to_string();
                    self.promised_twice.lock().expect("one writer at a time").insert(item);
                }
                (format!("move {id} to {}: {}", test_item.barcode, reply.text()), reply.status)
            }
            58..68 => self.reorder(test_item, &mut random).await,
            68..82 => {
                let reply = server.check_out(test_item, patron).await;
                (format!("check out {}: {}", test_item.barcode, reply.text()), reply.status)
            }
            82..97 => {
                let reply = server.check_in(test_item, desk).await;
                (format!("check in {}: {}", test_item.barcode, reply.text()), reply.status)
            }
            _ => {
                let Some(id) = self.some_request(&mut random) else { return };
                let _alone = self.deletes.write().await;
                let reply = server.admin().delete(&format!("/circulation/requests/{id}")).await;
                if reply.status == 204 {
                    self.placed.lock().expect("one writer at a time").retain(|placed| *placed != id);
                }
                (format!("delete {id}: {}", reply.text()), reply.status)
            }
        };
        let words: String =
            words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
        assert!(status < 500, "a action broke with {status}: {words}");
        self.reported.lock().expect("one writer at a time").push(format!("{status} {words}"));
    }

    fn is_placed(&self, id: Uuid) -> bool {
        self.placed.lock().expect("one writer at a time").contains(&id)
    }

    fn some_request(&self, random: &mut StdRng) -> Option<Uuid> {
        self.placed.lock().expect("one writer at a time").choose(random).copied()
    }

    async fn queue(&self, test_item: &TestItem) -> Vec<Value> {
        if self.titles {
            self.server.queue_of_title(test_item).await
        } else {
            self.server.queue_of(test_item).await
        }
    }

    async fn reorder(&self, test_item: &TestItem, random: &mut StdRng) -> (String, u16) {
        let mut queue = self.queue(test_item).await;
        let begun = queue.iter().filter(|request| request["status"] != "Open - Not yet filled").count();
        queue[begun..].shuffle(random);
        let order: Vec<Value> = queue
            .iter()
            .zip(1..)
            .map(|(request, place)| json!({"id": request["id"], "newPosition": place}))
            .collect();
        let (of, id) = if self.titles { ("instance", test_item.instance) } else { ("item", test_item.id) };
        let path = format!("/circulation/requests/queue/{of}/{id}/reorder");
        let reply = self.server.admin().post(&path, &json!({"reorderedQueue": order})).await;
        (format!("reorder: {}", reply.text()), reply.status)
    }

    /// Invariants when no writer is active.
    async fn check(&self, seed: u64) {
        let reported = || self.reported.lock().expect("nobody is at it").join("\n");
        let mut open = 0;
        let queues = if self.titles { &self.items[..1] } else { &self.items[..] };
        let mut promised: HashMap<String, usize> = HashMap::new();
        for test_item in queues {
            let queue = self.queue(test_item).await;
            let expected: Vec<i64> = (1..=queue.len() as i64).collect();
            assert_eq!(
                positions(&queue),
                expected,
                "seed {seed}: positions are not 1..n after\n{}",
                reported()
            );
            open += queue.len();
            for request in queue.iter().filter(|request| request["status"] != "Open - Not yet filled") {
                *promised.entry(request["itemId"].to_string()).or_default() += 1;
            }
        }
        promised.retain(|item, _| !self.promised_twice.lock().expect("nobody is at it").contains(item));
        assert!(
            promised.values().all(|times| *times == 1),
            "seed {seed}: {promised:?} after\n{}",
            reported()
        );
        let all = self.server.admin().get("/request-storage/requests?limit=2000").await.expect(200);
        let stored = all["requests"].as_array().cloned().unwrap_or_default();
        let placed = self.placed.lock().expect("nobody is at it").len();
        assert_eq!(stored.len(), placed, "seed {seed}: a request was lost or doubled after\n{}", reported());
        let is_open =
            |request: &&Value| request["status"].as_str().is_some_and(|status| status.starts_with("Open"));
        let still_open = stored.iter().filter(is_open).count();
        assert_eq!(still_open, open, "seed {seed}: an open request stands in no queue after\n{}", reported());
    }
}

async fn history(titles: bool, seed: u64) {
    let story = Description::begin(titles).await;
    let reported = &story;
    let mut random = StdRng::seed_from_u64(seed);
    let started = Instant::now();
    while started.elapsed() < AT_MOST {
        let seeds: Vec<u64> = (0..WRITERS * 2).map(|_| random.random()).collect();
        join_all(seeds.chunks(2).map(|own| async move {
            for seed in own {
                reported.action(*seed).await;
            }
        }))
        .await;
        story.check(seed).await;
    }
    let reported = story.reported.into_inner().expect("nobody is at it");
    let done = reported.iter().filter(|words| words.starts_with('2')).count();
    assert!(
        done > 20,
        "only {done} of {} deeds were done: a story of refusals proves little",
        reported.len()
    );
}

/// The seed in `CARREL_TEST_SEED`, to repeat a history.
fn seed(usual: u64) -> u64 {
    std::env::var("CARREL_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(usual)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_of_a_title_stays_whole_whatever_happens() {
    history(true, seed(20_261_121)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queues_of_items_stay_whole_whatever_happens() {
    history(false, seed(61_803)).await;
}
