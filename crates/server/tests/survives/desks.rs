//! Desks that scan random items without pause, and record the acknowledged scans.

use crate::running::Running;
use carrel_testkit::{ADMIN, Client, PASSWORD, TENANT};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use uuid::{Uuid, uuid};

/// The sample library's first desk.
const CIRC_DESK_1: Uuid = uuid!("3a40852d-49fd-4df2-a1f9-6e2641a6e91f");
/// The loan type of items that can be checked out.
const CAN_CIRCULATE: Uuid = uuid!("2b94c631-fca9-4892-a730-03ee529ffe27");
/// A later answer counts as none.
const PATIENCE: Duration = Duration::from_secs(25);

/// A pause, so that the checks after each kill stay fast.
const BETWEEN_SCANS: Duration = Duration::from_millis(4);

/// Answers that all desks got.
#[derive(Default)]
pub struct Scans {
    /// Loans of acknowledged check-outs.
    pub lent: HashSet<Uuid>,
    /// Loans that acknowledged check-ins have closed.
    pub returned: HashSet<Uuid>,
    /// Acknowledged check-ins by item, and all that were sent.
    pub check_ins: HashMap<Uuid, (u64, u64)>,
    /// Refused: already checked out, limit reached.
    refused: u64,
    /// 503.
    unavailable: u64,
    /// The connection broke or could not be opened.
    unanswered: u64,
    /// Answers that must not occur.
    wrong: Vec<String>,
}

impl Scans {
    pub fn summary(&self) -> String {
        let acknowledged: u64 = self.check_ins.values().map(|(acknowledged, _)| acknowledged).sum();
        format!(
            "acknowledged: {} check-outs, {acknowledged} check-ins, {} of them closed a loan; refused {}, 503 {}, unanswered {}",
            self.lent.len(),
            self.returned.len(),
            self.refused,
            self.unavailable,
            self.unanswered
        )
    }
}

/// State shared by all desks.
struct SharedState {
    scans: Mutex<Scans>,
    acknowledged: AtomicU64,
    closed: AtomicBool,
    client: Client,
    items: Vec<(Uuid, String)>,
    patrons: Vec<String>,
}

pub struct Desks {
    shared: Arc<SharedState>,
    at_work: Vec<JoinHandle<()>>,
}

impl Desks {
    /// Logs in once and starts this many desks.
    pub async fn open(address: SocketAddr, number: usize) -> Desks {
        let client = log_in(address).await;
        let items = client
            .get(&format!(
                "/item-storage/items?limit=60&query=permanentLoanTypeId=={CAN_CIRCULATE} and status.name==Available sortBy barcode"
            ))
            .await
            .expect(200);
        let patrons = client
            .get("/users?limit=40&query=active==true and barcode=2900000* sortBy barcode")
            .await
            .expect(200);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let shared = Arc::new(SharedState {
            scans: Mutex::default(),
            acknowledged: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            client,
            items: list(&items["items"])
                .iter()
                .filter_map(|item| Some((item["id"].as_str()?.parse().ok()?, text(&item["barcode"]))))
                .collect(),
            patrons: list(&patrons["users"]).iter().map(|user| text(&user["barcode"])).collect(),
        });
        assert!(
            shared.items.len() == 60 && shared.patrons.len() == 40,
            "the sample library has books and patrons"
        );
        let at_work = (0..number as u64).map(|desk| tokio::spawn(work(Arc::clone(&shared), desk))).collect();
        Desks { shared, at_work }
    }

    pub fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(SeqCst)
    }

    /// Waits until this many more scans are acknowledged.
    pub async fn wait_for_scans(&self, more: u64, longest: Duration) -> Result<(), String> {
        let (from, started) = (self.acknowledged(), Instant::now());
        while self.acknowledged() < from + more {
            if started.elapsed() > longest {
                let scans = self.shared.scans.lock().expect("no desk panics");
                return Err(format!(
                    "{} scans instead of {more} were acknowledged within {longest:?}; {}; {:?}",
                    self.acknowledged() - from,
                    scans.summary(),
                    scans.wrong
                ));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// A call during an outage of the database is answered with 503, never with 500.
    pub fn refuse_any_answer_that_blames_us(&self, running: &Running) {
        let scans = self.shared.scans.lock().expect("no desk panics");
        assert!(scans.wrong.is_empty(), "{:?}\n{}", scans.wrong, running.end_of_log());
    }

    /// The desks finish their current scan and stop.
    pub async fn close(self) -> Scans {
        self.shared.closed.store(true, SeqCst);
        for desk in self.at_work {
            desk.await.expect("no desk panics");
        }
        std::mem::take(&mut *self.shared.scans.lock().expect("no desk panics"))
    }
}

pub async fn log_in(address: SocketAddr) -> Client {
    let client = Client::new(address).with_header("x-okapi-tenant", TENANT);
    let login = json!({"username": ADMIN, "password": PASSWORD}).to_string();
    for _ in 0..400 {
        if let Ok(reply) = client.try_call("POST", "/authn/login", Some(login.clone().into())).await
            && reply.status == 201
        {
            return client.with_header("x-okapi-token", reply.header("x-okapi-token").unwrap_or_default());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody can log in");
}

async fn work(shared: Arc<SharedState>, desk: u64) {
    let mut dice = Dice(desk.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    while !shared.closed.load(SeqCst) {
        let (id, barcode) = &shared.items[dice.below(shared.items.len())];
        let rest = if dice.below(2) == 0 {
            let patron = &shared.patrons[dice.below(shared.patrons.len())];
            let body = json!({"itemBarcode": barcode, "userBarcode": patron, "servicePointId": CIRC_DESK_1});
            scan(&shared, "/circulation/check-out-by-barcode", &body, 201, None).await
        } else {
            let body = json!({"itemBarcode": barcode, "servicePointId": CIRC_DESK_1,
                "checkInDate": jiff::Timestamp::now().to_string()});
            scan(&shared, "/circulation/check-in-by-barcode", &body, 200, Some(*id)).await
        };
        tokio::time::sleep(rest).await;
    }
}

/// Sends one scan; returns how long to wait before the next one.
async fn scan(
    shared: &SharedState,
    path: &str,
    body: &Value,
    good: u16,
    checked_in: Option<Uuid>,
) -> Duration {
    if let Some(item) = checked_in {
        shared.scans.lock().expect("no desk panics").check_ins.entry(item).or_default().1 += 1;
    }
    let call = shared.client.try_call("POST", path, Some(body.to_string().into()));
    let reply = tokio::time::timeout(PATIENCE, call).await;
    let mut scans = shared.scans.lock().expect("no desk panics");
    let a_moment = Duration::from_millis(15);
    match reply {
        Ok(Ok(reply)) if reply.status == good => {
            let answer = reply.json();
            let loan = |value: &Value| value["id"].as_str().and_then(|id| id.parse::<Uuid>().ok());
            match checked_in {
                None => scans.lent.extend(loan(&answer)),
                Some(item) => {
                    scans.returned.extend(loan(&answer["loan"]));
                    scans.check_ins.entry(item).or_default().0 += 1;
                }
            }
            shared.acknowledged.fetch_add(1, SeqCst);
            BETWEEN_SCANS
        }
        Ok(Ok(reply)) if reply.status == 422 => {
            scans.refused += 1;
            BETWEEN_SCANS
        }
        Ok(Ok(reply)) if reply.status == 503 => {
            scans.unavailable += 1;
            a_moment
        }
        Ok(Ok(reply)) => {
            scans.wrong.push(format!(
                "{} was answered with {}: {}",
                reply.request,
                reply.status,
                reply.text()
            ));
            a_moment
        }
        Ok(Err(_)) => {
            scans.unanswered += 1;
            a_moment
        }
        Err(_) => {
            scans.wrong.push(format!("{path} was not answered within {PATIENCE:?}"));
            a_moment
        }
    }
}

/// A random number generator with the same sequence in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}
