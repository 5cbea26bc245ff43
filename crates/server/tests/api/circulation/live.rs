//! The live figures, pushed to viewers.

use carrel_testkit::{LendingServer, TestServer};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Much longer than a figure needs, so that a busy machine does not fail the test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser that shows the live figures.
struct Viewer {
    stream: TcpStream,
    text: String,
}

impl Viewer {
    async fn of(server: &TestServer) -> Viewer {
        let token = server.token_of(server.admin_id, carrel_testkit::ADMIN, &server.tenant.id);
        let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
        let request = format!(
            "GET /circulation/live HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nX-Okapi-Tenant: {}\r\n\
             X-Okapi-Token: {token}\r\n\r\n",
            server.address, server.tenant.id
        );
        stream.write_all(request.as_bytes()).await.expect("the request is sent");
        Viewer { stream, text: String::new() }
    }

    /// The data received until it contains a text; the rest is kept for the next call.
    async fn until(&mut self, wanted: &str) -> String {
        let read = async {
            while !self.text.contains(wanted) {
                let mut buffer = [0; 4096];
                let length = self.stream.read(&mut buffer).await.expect("the connection stays");
                assert!(length > 0, "the answer ended before {wanted}:\n{}", self.text);
                self.text.push_str(&String::from_utf8_lossy(&buffer[..length]));
            }
        };
        timeout(PATIENCE, read).await.expect("it arrives in time");
        let end = self.text.find(wanted).map_or(0, |start| start + wanted.len());
        self.text.drain(..end).collect()
    }

    /// The next figures.
    async fn figures(&mut self) -> Value {
        self.until("event: figures\ndata: ").await;
        let line = self.until("\n\n").await;
        serde_json::from_str(line.trim()).expect("the data are JSON")
    }
}

fn total(figures: &Value, kind: &str) -> i64 {
    let quarters = figures["quarters"].as_array().map_or(&[][..], Vec::as_slice);
    quarters
        .iter()
        .filter(|quarter| quarter["kind"] == kind)
        .filter_map(|quarter| quarter["number"].as_i64())
        .sum()
}

#[tokio::test]
async fn the_figures_count_what_happens_at_the_desks() {
    let server = LendingServer::open().await;
    let (book, patron, other) = (server.item_on_loan().await, server.patron().await, server.patron().await);
    let test_item = server.item().await;
    server.check_out(&test_item, &patron).await.expect(201);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    server.place_request(&book, &other, "Hold", server.main_desk).await.expect(201);

    let figures = server.admin().get("/circulation/live").await.expect(200);

    assert_eq!((total(&figures, "checkOut"), total(&figures, "checkIn")), (2, 1), "{figures}");
    assert_eq!((&figures["openLoans"], &figures["overdueLoans"]), (&json!(1), &json!(0)));
    assert_eq!(
        figures["requests"],
        json!([{"requestType": "Hold", "status": "Open - Not yet filled",
                "pickupServicePointId": server.main_desk.0, "number": 1, "expiredOnHoldShelf": 0}])
    );
    assert_eq!(figures["quarters"][0]["servicePointId"], json!(server.main_desk.0));
}

#[tokio::test]
async fn refused_check_outs_and_items_that_are_long_in_transit_are_counted() {
    let server = LendingServer::open().await;
    let (first, second) = (server.patron().await, server.patron().await);
    let (lent, sent) = (server.item().await, server.item().await);
    server.check_out(&lent, &first).await.expect(201);
    server.check_out(&lent, &second).await.expect(422);
    server.check_out(&lent, &second).await.expect(422);
    server.check_in(&sent, server.other_desk).await.expect(200);
    let figures = server.admin().get("/circulation/live").await.expect(200);
    assert_eq!(figures["longTransits"], json!([]), "{figures}");
    let four_days_ago = "UPDATE item_state SET status_date = to_char(now() - interval '4 days', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') WHERE item_id = $1";
    server.server.database().await.execute(four_days_ago, &[&sent.id]).await.expect("the item exists");

    let figures = server.admin().get("/circulation/live").await.expect(200);

    assert_eq!(
        figures["longTransits"],
        json!([{"servicePointId": server.main_desk.0, "number": 1}]),
        "{figures}"
    );
    let refused: i64 = figures["refusals"].as_array().map_or(0, |refusals| {
        refusals
            .iter()
            .filter(|refusal| refusal["reason"] == "ITEM_HAS_OPEN_LOAN")
            .filter_map(|refusal| refusal["number"].as_i64())
            .sum()
    });
    assert_eq!(refused, 2, "{figures}");
    assert_eq!((&figures["noticesSent"], &figures["noticesFailed"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn the_time_of_each_kind_of_scan_is_in_the_metrics() {
    let server = LendingServer::open().await;
    let (item, patron) = (server.item().await, server.patron().await);
    server.check_out(&item, &patron).await.expect(201);
    server.check_in(&item, server.main_desk).await.expect(200);
    let metrics = server.admin().get("/metrics").await.text();
    for scan in ["check-out", "check-in"] {
        let labels = format!("tenant=\"{}\",scan=\"{scan}\"", server.server.tenant.id);
        assert!(
            metrics.contains(&format!("carrel_scan_seconds_bucket{{{labels},le=\"+Inf\"}}")),
            "{metrics}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_out_is_pushed_to_all_viewers() {
    let server = LendingServer::open().await;
    let (mut first, mut second) = (Viewer::of(&server.server).await, Viewer::of(&server.server).await);
    assert!(first.until("\r\n\r\n").await.to_lowercase().contains("content-type: text/event-stream"));
    assert_eq!(total(&first.figures().await, "checkOut"), 0);
    assert_eq!(total(&second.figures().await, "checkOut"), 0);

    server.check_out(&server.item().await, &server.patron().await).await.expect(201);

    assert_eq!(total(&first.figures().await, "checkOut"), 1);
    assert_eq!(total(&second.figures().await, "checkOut"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn viewers_are_bounded_and_hold_no_database_connection() {
    let server = TestServer::start().await;
    let mut viewers = Vec::new();
    for _ in 0..64 {
        let mut viewer = Viewer::of(&server).await;
        assert!(viewer.until("\r\n\r\n").await.starts_with("HTTP/1.1 200"));
        viewers.push(viewer);
    }
    // More viewers than database connections; other calls still succeed.
    server.get("/users").await.expect(200);
    let mut refused = Viewer::of(&server).await;
    assert!(refused.until("\r\n\r\n").await.starts_with("HTTP/1.1 429"));
    viewers.clear();
    // Disconnected viewers no longer count, as soon as the server notices.
    let again = async {
        loop {
            let mut viewer = Viewer::of(&server).await;
            if viewer.until("\r\n\r\n").await.starts_with("HTTP/1.1 200") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, again).await.expect("a place becomes free");
}

#[tokio::test]
async fn the_figures_need_the_permissions_for_loans_and_requests() {
    let server = TestServer::start().await;
    let staff = server.staff_with(&["circulation.loans.collection.get"]).await;
    staff.get("/circulation/live").await.expect(403);
    let staff =
        server.staff_with(&["circulation.loans.collection.get", "circulation.requests.collection.get"]).await;
    staff.get("/circulation/live").await.expect(200);
}
