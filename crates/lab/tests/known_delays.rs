//! The lab against a server whose delays are known: its report must match the delays.

use carrel_lab::{Credentials, Form, PlayOptions, PlayReport, WatchOptions, Workload, compare, play};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// A server whose delay depends on the path; stores the times of its calls.
#[derive(Clone, Default)]
struct StandIn {
    asked: Arc<Mutex<Vec<(String, Instant)>>>,
    /// Answers to `/stalled` are held back from the first such call on, after some time, for some time.
    first: Arc<Mutex<Option<Instant>>>,
}

const STALL_AFTER: Duration = Duration::from_millis(200);
const STALL: Duration = Duration::from_millis(400);

impl StandIn {
    async fn answer(&self, path: &str) -> (StatusCode, &'static str) {
        self.asked.lock().unwrap().push((path.to_string(), Instant::now()));
        let turn = path.rsplit('/').next().and_then(|turn| turn.parse::<u64>().ok()).unwrap_or(0);
        let mut status = StatusCode::OK;
        if path.starts_with("/authn") {
            return (StatusCode::CREATED, "{}");
        } else if path.starts_with("/delay/") {
            // Nine of ten answers after 20 ms, one after 120 ms.
            let delay = if turn % 10 == 9 { 120 } else { 20 };
            tokio::time::sleep(Duration::from_millis(delay)).await;
        } else if path.starts_with("/fail/") {
            status = match turn % 4 {
                0 => StatusCode::INTERNAL_SERVER_ERROR,
                1 => StatusCode::UNPROCESSABLE_ENTITY,
                _ => StatusCode::OK,
            };
        } else if path.starts_with("/stalled") {
            let first = *self.first.lock().unwrap().get_or_insert_with(Instant::now);
            let stall = first + STALL_AFTER..first + STALL_AFTER + STALL;
            if stall.contains(&Instant::now()) {
                tokio::time::sleep_until(stall.end.into()).await;
            }
        }
        (status, "{\"totalRecords\": 0, \"id\": \"x\"}")
    }

    async fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stand_in = self.clone();
        // In a separate thread: the server's delays must not depend on the test's runtime.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let listener = listener.into_std().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    let stand_in = stand_in.clone();
                    let service = service_fn(move |request: Request<Incoming>| {
                        let stand_in = stand_in.clone();
                        async move {
                            let (status, body) = stand_in.answer(request.uri().path()).await;
                            let mut response = Response::new(Full::new(Bytes::from(body)));
                            *response.status_mut() = status;
                            response.headers_mut().insert("x-okapi-token", "t".parse().unwrap());
                            Ok::<_, Infallible>(response)
                        }
                    });
                    let http1 = hyper::server::conn::http1::Builder::new();
                    tokio::spawn(http1.serve_connection(TokioIo::new(stream), service));
                }
            });
        });
        address
    }

    fn asked(&self, start: &str) -> Vec<Instant> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(path, _)| path.starts_with(start)).map(|(_, at)| *at).collect()
    }
}

/// A workload of one call.
fn one_call(load: &str, address: &str) -> Workload {
    let text = format!(
        "name = 'one'\ntitle = 'One call'\npurpose = 'To see.'\nsource = 'this test'\n[load]\n{load}\n\
         [addresses]\ncall = '{address}'\n[[transaction]]\nname = 'call'\nshare = 1\ncalls = 'G call'\n"
    );
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("carrel-lab-one-{}-{number}.toml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let workload = Workload::find(&file.to_string_lossy());
    std::fs::remove_file(file).unwrap();
    workload.unwrap()
}

fn options(workload: Workload, address: String, users: usize, millis: u64) -> PlayOptions {
    PlayOptions {
        workload,
        form: Form {
            users: vec![users],
            length: Duration::from_millis(millis),
            ramp_up: Duration::ZERO,
            pace: 1.0,
        },
        repeats: 1,
        address,
        tenants: vec![Credentials { tenant: "diku".into(), username: "u".into(), password: "p".into() }],
        most_items: 10,
        most_records: 10,
        most_per_second: None,
        most_users: 500,
        clean_up: false,
        dry_run: false,
        floor: None,
        live: None,
        watch: WatchOptions::default(),
        seed: 1,
        commit: Some("test".into()),
        command: "test".into(),
        condition: String::new(),
    }
}

fn samples(report: &PlayReport) -> &carrel_lab::Samples {
    &report.levels[0].transactions["call"].samples
}

#[tokio::test]
async fn percentiles_are_the_delays_of_the_server() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let workload = one_call("per-minute = 6000", "delay/{turn}");
    let report = play(options(workload, address, 1, 2000)).await.unwrap();
    let samples = samples(&report);
    assert_eq!((samples.count(), samples.failures()), (200, 0), "{}", report.table());
    let [p50, p95] = [50.0, 95.0].map(|percent| samples.percentile_ms(percent));
    // Never less than the delay; how much more depends on the test machine.
    assert!((20.0..110.0).contains(&p50), "{p50}");
    assert!(p95 >= 120.0, "{p95}");
    assert!(samples.mean_ms() >= 30.0, "{}", samples.mean_ms());
}

#[tokio::test]
async fn an_open_load_counts_the_turns_that_a_stalled_server_kept_waiting() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let report = play(options(one_call("per-minute = 6000", "stalled"), address, 1, 1000)).await.unwrap();
    assert_eq!(samples(&report).count(), 100, "arrivals do not wait for answers");
    // Forty arrivals fall into the stall and wait 200 ms on average.
    let p75 = samples(&report).percentile_ms(75.0);
    assert!(p75 > 100.0, "a quarter of the turns waited: {p75}");
}

#[tokio::test]
async fn a_closed_load_hides_them_and_says_that_it_is_closed() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let report = play(options(one_call("mode = 'closed'", "stalled"), address, 1, 1000)).await.unwrap();
    let samples = samples(&report);
    assert!(samples.max_ms() >= 300.0, "one turn was in the stall: {}", samples.max_ms());
    assert!(samples.percentile_ms(75.0) < 100.0, "{}", report.table());
    assert!(report.document(None).markdown().contains("closed load"));
}

#[tokio::test]
async fn turns_that_find_no_free_user_wait_and_their_wait_is_counted() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let mut options = options(one_call("per-minute = 6000", "delay/0"), address, 1, 500);
    options.most_users = 1;
    let report = play(options).await.unwrap();
    // One user serves at most fifty a second, a hundred arrive.
    assert_eq!(samples(&report).count(), 50);
    assert!(samples(&report).max_ms() > 300.0, "{}", report.table());
}

#[tokio::test]
async fn errors_are_counted_by_kind_and_have_no_time() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let workload = one_call("per-minute = 6000", "fail/{turn}");
    let report = play(options(workload, address, 1, 1000)).await.unwrap();
    let call = &report.levels[0].transactions["call"];
    assert_eq!((call.samples.count(), call.samples.failures()), (50, 50));
    assert_eq!(call.errors["HTTP 500"].0, 25);
    assert_eq!(call.errors["HTTP 422"].0, 25);
    let page = report.document(None).html();
    assert!(page.contains("HTTP 422") && page.contains("50 of 100 turns failed"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_of_its_own_kind() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let workload = one_call("per-minute = 6000", "delay/0");
    let mut nobody = options(workload, address, 1, 100);
    nobody.address = "http://127.0.0.1:1".into();
    let error = play(nobody).await.unwrap_err().to_string();
    assert!(error.contains("connecting to http://127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn users_arrive_over_the_ramp_up() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let mut options = options(one_call("per-minute = 600", "ramp/{turn}"), address, 10, 2000);
    options.form.ramp_up = Duration::from_millis(100);
    let begun = Instant::now();
    play(options).await.unwrap();
    let asked = stand_in.asked("/ramp");
    assert_eq!(asked.len(), 150, "half of a hundred in the first second, a hundred in the second");
    // The schedule is never early.
    let first = asked[0].max(begun);
    let early = asked.iter().filter(|at| **at < first + Duration::from_millis(500)).count();
    assert!(early <= 14, "an eighth of a hundred arrives in the first half second, not {early}");
}

#[tokio::test]
async fn a_cap_on_calls_holds_whatever_the_load_asks() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let mut options = options(one_call("per-minute = 6000", "ramp/{turn}"), address, 1, 400);
    options.most_per_second = Some(50.0);
    play(options).await.unwrap();
    let asked = stand_in.asked("/ramp");
    let span = asked.last().unwrap().duration_since(asked[0]).as_secs_f64();
    assert!(asked.len() as f64 - 1.0 <= span * 50.0 * 1.1 + 1.0, "{} calls in {span} s", asked.len());
}

#[tokio::test]
async fn a_dry_run_plays_each_transaction_once() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let mut options = options(one_call("per-minute = 6000", "ramp/{turn}"), address, 20, 5000);
    options.dry_run = true;
    let report = play(options).await.unwrap();
    assert_eq!(stand_in.asked("/ramp").len(), 1);
    assert!(report.levels.is_empty());
}

#[tokio::test]
async fn two_runs_are_compared_with_their_noise() {
    let stand_in = StandIn::default();
    let address = stand_in.serve().await;
    let mut files = Vec::new();
    for (name, path) in [("fast", "ramp/{turn}"), ("slow", "delay/9")] {
        let mut options = options(one_call("per-minute = 3000", path), address.clone(), 1, 300);
        options.repeats = 2;
        let report = play(options).await.unwrap();
        assert!(report.levels[0].noise_percent("call").is_some());
        let prefix = std::env::temp_dir().join(format!("carrel-lab-{name}-{}", std::process::id()));
        report.save(&prefix, None).unwrap();
        files.push(prefix);
    }
    let names: Vec<String> = files.iter().map(|prefix| format!("{}.json", prefix.display())).collect();
    let text = compare(&names).unwrap().markdown();
    for prefix in files {
        for ending in ["json", "md", "html"] {
            std::fs::remove_file(format!("{}.{ending}", prefix.display())).unwrap();
        }
    }
    assert!(text.contains("difference, %") && text.contains("| call | 1 | p95 |"), "{text}");
}
