//! Background jobs: each due run happens once, on any node, and is taken over from a dead node.

use carrel_platform::jobs::{self, Job, Pace};
use carrel_testkit::{LendingServer, TestServer};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

const QUICK: Pace = Pace { lease: Duration::from_millis(900), poll: Duration::from_millis(50), at_once: 2 };

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..400 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited ten seconds in vain: {what}");
}

async fn state(server: &TestServer, name: &str) -> Option<jobs::State> {
    let platform = server.node.platform().await.expect("a connection");
    let states = jobs::all(&platform).await.expect("jobs can be listed");
    states.into_iter().find(|state| state.name == name && state.tenant == server.tenant.id)
}

async fn due_now(server: &TestServer, name: &str) {
    let platform = server.node.platform().await.expect("a connection");
    jobs::soon(&platform, &server.tenant.id, name).await.expect("a job can be wanted soon");
}

static COUNTED: AtomicUsize = AtomicUsize::new(0);
static COUNT: Job = Job {
    name: "count",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(5),
    run: |_| {
        Box::pin(async {
            COUNTED.fetch_add(1, Relaxed);
            tokio::time::sleep(Duration::from_millis(60)).await;
            Ok("counted".to_owned())
        })
    },
};

#[tokio::test]
async fn two_nodes_run_a_due_job_once() {
    let server = TestServer::start().await;
    due_now(&server, "count").await;
    let nodes = [0, 1].map(|_| jobs::start_with(&server.node, vec![&COUNT], QUICK));
    until("the job is done", async || state(&server, "count").await.is_some_and(|state| state.runs == 1))
        .await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(COUNTED.load(Relaxed), 1);
    let state = state(&server, "count").await.expect("a row");
    assert_eq!((state.outcome.as_deref(), state.failed, state.owner), (Some("counted"), false, None));
    for node in nodes {
        node.stop().await;
    }
}

static STARTED: AtomicUsize = AtomicUsize::new(0);
/// Hangs the first time.
static HANGS_ONCE: Job = Job {
    name: "hangs-once",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(60),
    run: |_| {
        Box::pin(async {
            if STARTED.fetch_add(1, Relaxed) == 0 {
                std::future::pending::<()>().await;
            }
            Ok("done by the other".to_owned())
        })
    },
};

#[tokio::test]
async fn a_job_of_a_dead_node_is_taken_over() {
    let server = TestServer::start().await;
    due_now(&server, "hangs-once").await;
    let first = jobs::start_with(&server.node, vec![&HANGS_ONCE], QUICK);
    until("the first node is at it", async || STARTED.load(Relaxed) == 1).await;
    let second = jobs::start_with(&server.node, vec![&HANGS_ONCE], QUICK);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(STARTED.load(Relaxed), 1, "a node that is alive keeps its job");
    // A dead node releases nothing.
    drop(first);
    until("the second node has done it", async || {
        state(&server, "hangs-once").await.is_some_and(|state| state.runs == 1)
    })
    .await;
    assert_eq!(STARTED.load(Relaxed), 2);
    second.stop().await;
}

static CANCELLED: Job = Job {
    name: "endless",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(60),
    run: |_| Box::pin(std::future::pending()),
};

#[tokio::test]
async fn a_run_can_be_cancelled() {
    let server = TestServer::start().await;
    due_now(&server, "endless").await;
    let node = jobs::start_with(&server.node, vec![&CANCELLED], QUICK);
    until("it runs", async || state(&server, "endless").await.is_some_and(|state| state.owner.is_some()))
        .await;
    let platform = server.node.platform().await.expect("a connection");
    assert!(jobs::cancel(&platform, &server.tenant.id, "endless").await.expect("cancelled"));
    until("it has ended", async || state(&server, "endless").await.is_some_and(|state| state.failed)).await;
    node.stop().await;
}

static LATE: Job = Job {
    name: "too-slow",
    every: Duration::from_secs(3600),
    deadline: Duration::from_millis(200),
    run: |_| Box::pin(std::future::pending()),
};

#[tokio::test]
async fn a_run_past_its_deadline_is_aborted_and_repeated() {
    let server = TestServer::start().await;
    due_now(&server, "too-slow").await;
    let node = jobs::start_with(&server.node, vec![&LATE], QUICK);
    until("it is given up", async || state(&server, "too-slow").await.is_some_and(|state| state.failed))
        .await;
    let state = state(&server, "too-slow").await.expect("a row");
    assert!(state.due > Some(jiff::Timestamp::now()), "due again in an hour, not at once");
    node.stop().await;
}

static BREAKS: Job = Job {
    name: "breaks",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(5),
    run: |_| Box::pin(async { panic!("a mistake of ours") }),
};

#[tokio::test]
async fn a_job_that_panics_does_not_affect_others() {
    let server = TestServer::start().await;
    due_now(&server, "breaks").await;
    let node = jobs::start_with(&server.node, vec![&BREAKS], QUICK);
    until("it is noted", async || state(&server, "breaks").await.is_some_and(|state| state.failures == 1))
        .await;
    node.stop().await;
}

#[tokio::test]
async fn every_job_of_the_node_is_entered_for_the_tenant() {
    let server = TestServer::start().await;
    let node = jobs::start(&server.node);
    until("all are entered", async || {
        let shown = server.get("/admin/jobs").await.expect(200);
        let names: Vec<&str> =
            shown["jobs"].as_array().into_iter().flatten().filter_map(|job| job["name"].as_str()).collect();
        server.node.jobs().iter().all(|job| names.contains(&job.name))
    })
    .await;
    node.stop().await;
}

#[tokio::test]
async fn requests_expire_by_the_job() {
    let server = LendingServer::open().await;
    let item = server.item_on_loan().await;
    let hold = server.hold(&item, &server.patron().await).await;
    server.time_passes_for(hold).await;
    let node = jobs::start(&server.server.node);
    server.admin().post("/admin/jobs/request-expiration/run", &Value::Null).await.expect(202);
    until("the hold is closed", async || server.request_status(hold).await == "Closed - Unfilled").await;
    node.stop().await;
}

#[tokio::test]
async fn only_known_jobs_can_be_run_or_cancelled() {
    let server = TestServer::start().await;
    server.post("/admin/jobs/wash-the-windows/run", &Value::Null).await.expect_status(404);
    server.post("/admin/jobs/request-expiration/cancel", &Value::Null).await.expect_status(404);
}
