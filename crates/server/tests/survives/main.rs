//! Reliability: the real program on a private PostgreSQL, desks that scan without pause, and `kill -9` twenty times: of
//! the server, of PostgreSQL's postmaster, of one of its backends. Every acknowledged scan must be stored exactly once,
//! none in part, and the processes that were not killed must recover without help.
//!
//! `CARREL_KILLS` sets another number of kills. With `CARREL_LAZY_COMMITS`, PostgreSQL acknowledges commits before they
//! are flushed: then the test must fail, which shows that it can.

mod desks;
mod emails;
mod invariants;
mod lists;
mod running;

use desks::Desks;
use running::Running;
use std::time::{Duration, Instant};

const DESKS: usize = 5;
/// The longest time from a kill until scans are acknowledged again.
const LONGEST_RECOVERY: Duration = Duration::from_secs(30);

const ORDER: [Victim; 6] = {
    use Victim::*;
    [Server, Postmaster, Server, Postmaster, Backend, Both]
};

/// The killed process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Server,
    Postmaster,
    Backend,
    Both,
}

#[test]
fn every_acknowledged_scan_survives_kill_9_exactly_once() {
    let kills: usize = std::env::var("CARREL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let mut running = Running::sample_library();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime for the desks can be started");
    runtime.block_on(async {
        let desks = Desks::open(running.address(), DESKS).await;
        running.leaves_the_server_running();
        desks.wait_for_scans(20, LONGEST_RECOVERY).await.expect("scans are acknowledged before any kill");
        if std::env::var_os("CARREL_LAZY_COMMITS").is_some() {
            running.makes_commits_lazy().await;
        }
        let mut story = Vec::new();
        // The moments of the kills differ between rounds, and are the same in every run.
        for round in 0..kills {
            tokio::time::sleep(Duration::from_millis(60 + (round as u64 * 137) % 240)).await;
            let victim = ORDER[round % ORDER.len()];
            let before = desks.acknowledged();
            let killed = Instant::now();
            kill(&mut running, victim).await;
            desks.wait_for_scans(3 * DESKS as u64, LONGEST_RECOVERY).await.unwrap_or_else(|words| {
                panic!("kill {round}, of {victim:?}: {words}\n{}", running.end_of_log())
            });
            story.push(format!(
                "{victim:?} after {before} scans: scans again in {} ms",
                killed.elapsed().as_millis()
            ));
            assert!(
                running.server_is_alive(),
                "kill {round}, of {victim:?}: the server ended\n{}",
                running.end_of_log()
            );
            desks.refuse_any_answer_that_blames_us(&running);
            invariants::hold(&running).await;
        }
        let scans = desks.close().await;
        println!("{}\n{}", story.join("\n"), scans.summary());
        invariants::hold(&running).await;
        invariants::hold_every_acknowledged_scan(&running, &scans).await;
    });
    running.stops_when_asked();
}

async fn kill(running: &mut Running, victim: Victim) {
    match victim {
        Victim::Server => {
            running.kill_server();
            running.start_server();
        }
        Victim::Postmaster => running.kill_postmaster().await,
        Victim::Both => {
            running.kill_server();
            running.kill_postmaster_unseen();
            running.start_server();
        }
        Victim::Backend => running.kill_backend().await,
    }
}
