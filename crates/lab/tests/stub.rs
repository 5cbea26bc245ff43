//! The lab against a library that fits in a hash map: loading, loading again, scanning, placing holds, and the
//! report.

use carrel_lab::{
    CicoOptions, Credentials, Form, HoldsOptions, LoadOptions, Pace, PlayOptions, RunOptions, TestDataFiles,
    Timing, WatchOptions, Workload, load, play, run_cico, run_holds,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;

#[derive(Default)]
struct Shelves {
    /// Collection path → id → record.
    records: BTreeMap<String, BTreeMap<String, Value>>,
    rules: String,
    logins: usize,
    open_loans: usize,
    /// Item and requester of the open requests.
    waiting: BTreeSet<(String, String)>,
    /// Closing a request fails.
    keeps_requests: bool,
}

impl Shelves {
    fn answer(&mut self, method: &Method, target: &str, body: Value) -> (StatusCode, Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match (method.as_str(), path) {
            ("POST", "/authn/login") => {
                self.logins += 1;
                (StatusCode::CREATED, json!({}))
            }
            ("GET", "/circulation/rules") => (StatusCode::OK, json!({ "rulesAsText": self.rules })),
            ("PUT", "/circulation/rules") => {
                self.rules = body["rulesAsText"].as_str().unwrap().into();
                (StatusCode::NO_CONTENT, Value::Null)
            }
            ("POST", "/circulation/check-out-by-barcode") => self.scan(&body, "Available", "Checked out"),
            ("POST", "/circulation/check-in-by-barcode") => self.scan(&body, "Checked out", "Available"),
            ("POST", "/circulation/requests") => self.request(body),
            ("POST", "/circulation/requests/instances") => self.request_instance(body),
            ("POST", hold) if hold.starts_with("/patron/") => (StatusCode::NOT_IMPLEMENTED, Value::Null),
            ("PUT", path) if path.starts_with("/circulation/requests/") => self.close_request(body),
            ("POST", batch) if batch.ends_with("/batch/synchronous") => {
                let (key, records) = body.as_object().unwrap().iter().next().unwrap();
                let path = match key.as_str() {
                    "items" => "/item-storage/items",
                    "instances" => "/instance-storage/instances",
                    _ => "/holdings-storage/holdings",
                };
                records.as_array().unwrap().iter().for_each(|record| self.put(path, record.clone()));
                (StatusCode::CREATED, Value::Null)
            }
            ("POST", path) if !path.starts_with("/authn") => {
                self.put(path, body);
                (StatusCode::CREATED, Value::Null)
            }
            ("GET", path) => self.read(path, query),
            _ => (StatusCode::NOT_FOUND, Value::Null),
        }
    }

    fn put(&mut self, path: &str, mut record: Value) {
        if path == "/item-storage/items" {
            let holdings = record["holdingsRecordId"].as_str().unwrap();
            let location =
                self.records["/holdings-storage/holdings"][holdings]["permanentLocationId"].clone();
            record["effectiveLocationId"] = location;
        }
        let id = record["id"].as_str().unwrap().to_string();
        self.records.entry(path.into()).or_default().insert(id, record);
    }

    fn read(&self, path: &str, query: &str) -> (StatusCode, Value) {
        let key = match path {
            "/item-storage/items" => "items",
            "/users" => "users",
            "/locations" => "locations",
            "/request-storage/requests" => {
                return (StatusCode::OK, json!({ "totalRecords": self.waiting.len() }));
            }
            "/circulation/requests" => "requests",
            "/loan-storage/loans" => return (StatusCode::OK, json!({ "totalRecords": self.open_loans })),
            _ => {
                let (collection, id) = path.rsplit_once('/').unwrap();
                let found = self.records.get(collection).and_then(|records| records.get(id));
                return match found {
                    Some(record) => (StatusCode::OK, record.clone()),
                    None => (StatusCode::NOT_FOUND, Value::Null),
                };
            }
        };
        let number =
            |name: &str| query.split('&').find_map(|part| part.strip_prefix(name)?.parse::<usize>().ok());
        let popular = |record: &&Value| {
            let barcode = query.split_once("barcode==%22").and_then(|(_, rest)| rest.split_once("%22"));
            barcode.is_none_or(|(barcode, _)| record["barcode"] == barcode)
                && (!query.contains("==%22Available") || record["status"]["name"] == "Available")
                && (!query.contains("%3C%3E%22Available") || record["status"]["name"] != "Available")
                && (!query.contains("Open") || record["status"] == "Open - Not yet filled")
        };
        let all: Vec<&Value> =
            self.records.get(path).into_iter().flat_map(BTreeMap::values).filter(popular).collect();
        let page: Vec<&&Value> =
            all.iter().skip(number("offset=").unwrap_or(0)).take(number("limit=").unwrap_or(10)).collect();
        (StatusCode::OK, json!({ key: page, "totalRecords": all.len() }))
    }

    fn request(&mut self, mut request: Value) -> (StatusCode, Value) {
        let text = |key: &str| request[key].as_str().unwrap().to_string();
        let (id, patron) = (text("itemId"), text("requesterId"));
        let item = self.records.get_mut("/item-storage/items").unwrap().get_mut(&id).unwrap();
        let fits = match text("requestType").as_str() {
            "Page" => item["status"]["name"] == "Available",
            _ => item["status"]["name"] != "Available",
        };
        if !fits || !self.waiting.insert((id, patron)) {
            return (StatusCode::UNPROCESSABLE_ENTITY, json!({ "errors": [{ "message": "not possible" }] }));
        }
        item["status"]["name"] = "Paged".into();
        request["status"] = "Open - Not yet filled".into();
        if request["id"].is_null() {
            request["id"] = uuid::Uuid::now_v7().to_string().into();
        }
        self.put("/circulation/requests", request.clone());
        (StatusCode::CREATED, request)
    }

    fn request_instance(&mut self, mut request: Value) -> (StatusCode, Value) {
        let holdings = &self.records["/holdings-storage/holdings"];
        let of_title = |item: &&Value| {
            let holdings = &holdings[item["holdingsRecordId"].as_str().unwrap()];
            holdings["instanceId"] == request["instanceId"]
        };
        let mut items = self.records["/item-storage/items"].values().filter(of_title).peekable();
        let any = items.peek().copied();
        let available = items.find(|item| item["status"]["name"] == "Available");
        let kind = if available.is_some() { "Page" } else { "Hold" };
        let item = available.or(any).unwrap()["id"].clone();
        request["itemId"] = item;
        request["requestType"] = kind.into();
        self.request(request)
    }

    fn close_request(&mut self, request: Value) -> (StatusCode, Value) {
        if self.keeps_requests || request["status"] != "Closed - Cancelled" {
            return (StatusCode::UNPROCESSABLE_ENTITY, json!({ "errors": [{ "message": "it stays" }] }));
        }
        let text = |key: &str| request[key].as_str().unwrap().to_string();
        let (id, patron) = (text("itemId"), text("requesterId"));
        assert!(self.waiting.remove(&(id.clone(), patron)), "closed once");
        let next = self.waiting.range((id.clone(), String::new())..).next();
        if next.is_none_or(|(item, _)| *item != id) {
            let items = self.records.get_mut("/item-storage/items").unwrap();
            items.get_mut(&id).unwrap()["status"]["name"] = "Available".into();
        }
        self.put("/circulation/requests", request);
        (StatusCode::NO_CONTENT, Value::Null)
    }

    fn scan(&mut self, body: &Value, from: &str, to: &str) -> (StatusCode, Value) {
        let items = self.records.get_mut("/item-storage/items").unwrap();
        let item = items.values_mut().find(|item| item["barcode"] == body["itemBarcode"]).unwrap();
        if item["status"]["name"] != from || body["servicePointId"].as_str().is_none() {
            let text = format!("the item is {}", item["status"]["name"]);
            return (StatusCode::UNPROCESSABLE_ENTITY, json!({ "errors": [{ "message": text }] }));
        }
        item["status"]["name"] = to.into();
        if to == "Available" {
            self.open_loans -= 1
        } else {
            self.open_loans += 1
        }
        (StatusCode::CREATED, json!({}))
    }
}

async fn serve(shelves: Arc<Mutex<Shelves>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let shelves = shelves.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let shelves = shelves.clone();
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                    let target = parts.uri.to_string();
                    let login = target.starts_with("/authn");
                    let known = parts.headers.get("x-okapi-token").is_some_and(|token| token == "t");
                    let (status, body) = if known || login {
                        shelves.lock().unwrap().answer(&parts.method, &target, body)
                    } else {
                        (StatusCode::UNAUTHORIZED, Value::Null)
                    };
                    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
                    *response.status_mut() = status;
                    if login {
                        response.headers_mut().insert("x-okapi-token", "t".parse().unwrap());
                    }
                    Ok::<_, Infallible>(response)
                }
            });
            let http1 = hyper::server::conn::http1::Builder::new();
            tokio::spawn(http1.serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

fn credentials() -> Credentials {
    Credentials { tenant: "diku".into(), username: "u".into(), password: "p".into() }
}

fn load_options(address: &str) -> LoadOptions {
    LoadOptions {
        address: address.into(),
        credentials: credentials(),
        items: 300,
        users: 120,
        ..Default::default()
    }
}

fn short_run() -> RunOptions {
    RunOptions {
        database: None,
        pgbench: None,
        server: None,
        timing: Timing {
            levels: vec![1, 3],
            saturated: Duration::from_millis(50),
            paced: Duration::from_millis(100),
            rounds: 2,
            pace: Pace::PerSecond(200.0),
        },
        json: None,
        report: None,
        commit: Some("test".into()),
    }
}

#[tokio::test]
async fn a_library_is_loaded_once_however_often_it_is_loaded() {
    let shelves = Arc::new(Mutex::new(Shelves::default()));
    let address = serve(shelves.clone()).await;
    let first = load(load_options(&address)).await.unwrap();
    assert_eq!((first.instances, first.holdings, first.items, first.users), (200, 200, 300, 120));
    let again = load(load_options(&address)).await.unwrap();
    assert_eq!(again, Default::default());
    let shelves = shelves.lock().unwrap();
    assert_eq!(shelves.records["/item-storage/items"].len(), 300);
    assert!(shelves.rules.starts_with("priority:"));
    assert_eq!(shelves.logins, 2, "the old login is used if the new one is unknown");
}

#[tokio::test]
async fn scans_leave_the_shelves_as_they_were_and_are_reported() {
    let shelves = Arc::new(Mutex::new(Shelves::default()));
    let address = serve(shelves.clone()).await;
    load(load_options(&address)).await.unwrap();
    let report = run_cico(CicoOptions {
        address,
        credentials: credentials(),
        files: TestDataFiles::default(),
        most_items: 250,
        open_loans: 0,
        most_users: 100,
        run: short_run(),
    })
    .await
    .unwrap();
    assert_eq!(report.before, report.after);
    assert_eq!(report.left_behind(), None);
    let failures: Vec<_> = report.failure_texts().collect();
    assert!(failures.is_empty(), "{failures:?}");
    for level in &report.levels {
        let [out, back] = ["check_out", "check_in"].map(|name| level.operation(name).unwrap());
        assert_eq!(out.paced.count(), 40, "two rounds of 0.1 s at 200 a second");
        assert_eq!(back.paced.count(), 40);
        assert_eq!(back.saturated.count(), out.saturated.count());
    }
    let json = report.json();
    assert!(json["check_out"]["3"]["p95_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(json["data"]["items"], 300);
}

fn holds_options(address: &str) -> HoldsOptions {
    HoldsOptions {
        address: address.into(),
        credentials: credentials(),
        library: load_options(address).library(),
        run: short_run(),
    }
}

#[tokio::test]
async fn holds_are_placed_and_cancelled_and_a_way_that_the_server_does_not_know_drops_out() {
    let shelves = Arc::new(Mutex::new(Shelves::default()));
    let address = serve(shelves.clone()).await;
    load(load_options(&address)).await.unwrap();
    let report = run_holds(holds_options(&address)).await.unwrap();
    let failures: Vec<_> = report.failure_texts().collect();
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(report.left_behind(), None);
    assert_eq!(report.notes, ["patron hold: the server answers 501"]);
    for level in &report.levels {
        for name in ["item_level", "instance_level"] {
            let measured = level.operation(name).unwrap();
            assert_eq!(measured.paced.count(), 40, "two rounds of 0.1 s at 200 a second");
            assert!(measured.saturated.count() > 0);
        }
    }
    let json = report.json();
    assert!(json["instance_over_item"]["3"].as_f64().unwrap() > 0.0);
    assert_eq!(json["patron_hold"], Value::Null);

    let queues: BTreeSet<_> = shelves.lock().unwrap().waiting.clone();
    let again = run_holds(holds_options(&address)).await.unwrap();
    assert_eq!(again.before, report.after);
    assert_eq!(shelves.lock().unwrap().waiting, queues, "only the patrons who waited before still wait");
}

#[tokio::test]
async fn requests_that_stay_are_reported_and_the_next_run_clears_them_away() {
    let shelves = Arc::new(Mutex::new(Shelves::default()));
    let address = serve(shelves.clone()).await;
    load(load_options(&address)).await.unwrap();
    let options = || {
        let mut options = holds_options(&address);
        options.run.timing.levels = vec![1];
        options.run.timing.rounds = 1;
        options
    };
    shelves.lock().unwrap().keeps_requests = true;
    let report = run_holds(options()).await.unwrap();
    assert!(report.left_behind().is_some());
    assert!(report.notes[1].contains("could not be cancelled") && report.notes[1].contains("it stays"));

    shelves.lock().unwrap().keeps_requests = false;
    let report = run_holds(options()).await.unwrap();
    assert_eq!(report.left_behind(), None);
    let patrons: BTreeSet<String> =
        shelves.lock().unwrap().waiting.iter().map(|(_, patron)| patron.clone()).collect();
    assert_eq!(patrons.len(), 60, "half of the users wait, the requests of the others are cancelled");
}

const PLAN: &str = r#"
name = "small"
title = "Look up, then check out or in"
source = "this test"
[load]
mode = "closed"
login = "each"
after-failure = "login"
[data]
B = "users"
X = "available-items"
Y = "lent-items"
SP = "service-points"
[pauses]
T = [0, 0.01]
[addresses]
users = 'users?query=active=="true"&limit=1'
out = 'circulation/check-out-by-barcode'
in = 'circulation/check-in-by-barcode'
[bodies]
out = '{"itemBarcode":"{X}","userBarcode":"{B}","servicePointId":"{SP}"}'
in = '{"itemBarcode":"{Y}","servicePointId":"{SP}"}'
[[transaction]]
name = "check-out"
share = 57
calls = '''
T G users | totalRecords >= 1 | users[0].id -> U
P out out | !errors
'''
[[transaction]]
name = "check-in"
share = 43
calls = 'P in in'
"#;

#[tokio::test]
async fn a_workload_file_is_played_and_what_it_lent_comes_back() {
    let shelves = Arc::new(Mutex::new(Shelves::default()));
    let address = serve(shelves.clone()).await;
    load(LoadOptions { items: 1200, ..load_options(&address) }).await.unwrap();
    let file = std::env::temp_dir().join(format!("carrel-lab-plan-{}.toml", std::process::id()));
    std::fs::write(&file, PLAN).unwrap();
    let workload = Workload::find(&file.to_string_lossy()).unwrap();
    std::fs::remove_file(file).unwrap();
    let report = play(PlayOptions {
        form: Form {
            users: vec![3],
            length: Duration::from_millis(150),
            ramp_up: Duration::from_millis(5),
            pace: 1.0,
        },
        repeats: 1,
        address,
        tenants: vec![credentials()],
        most_items: 600,
        most_records: 100,
        most_per_second: None,
        most_users: 100,
        clean_up: true,
        dry_run: false,
        floor: None,
        live: None,
        watch: WatchOptions::default(),
        seed: 1,
        commit: None,
        command: "test".into(),
        condition: String::new(),
        workload,
    })
    .await
    .unwrap();
    let level = &report.levels[0];
    let out = &level.transactions["check-out"].samples;
    assert!(out.count() > 5, "{}", report.table());
    assert_eq!(level.calls["POST out"].samples.count(), out.count());
    assert!(level.calls["GET users"].samples.count() >= out.count());
    assert_eq!(report.before.open_loans, report.after.open_loans, "{}", report.table());
    assert_eq!(report.json()["levels"][0]["transactions"]["check-out"]["samples"], out.count());
}
