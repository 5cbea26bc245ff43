//! The health page while the database hangs, or has no disk space left.

use crate::program::{carrel_output, serve};
use carrel_testkit::{Client, OwnPostgres, Program, Scratch};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The bound of the health route, and a margin for busy machines.
const HEALTH_BOUND: Duration = Duration::from_secs(2 + 3);
const PATIENCE: Duration = Duration::from_secs(120);

fn served(folder: &Path, postgres: &OwnPostgres) -> Program {
    let database = postgres.by_socket("postgres");
    carrel_output(&["tenant", "create", "harbor", "--admin", "chief", "--database", &database]);
    serve(folder, &["--database", &database])
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_reported_in_time_while_the_database_hangs() {
    let scratch = Scratch::named("frozen-health");
    let postgres = OwnPostgres::start(&scratch.folder, "primary", "");
    let program = served(&scratch.folder, &postgres);
    let stranger = Client::new(program.address);
    stranger.get("/admin/health").await.expect(200);

    postgres.freeze();
    // The newest result is good for a second.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    for _ in 0..5 {
        let started = Instant::now();
        let health = stranger.get("/admin/health").await;
        let took = started.elapsed();
        assert_eq!((health.status, &health.json()["status"]), (503, &json!("DOWN")), "{}", health.text());
        assert!(took < HEALTH_BOUND, "{took:?}");
    }
    postgres.thaw();
    let thawed = Instant::now();
    while stranger.get("/admin/health").await.status != 200 {
        assert!(thawed.elapsed() < PATIENCE, "the server does not recover:\n{}", program.log_text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A small file system, which needs root, as in the containers of continuous integration.
struct SmallDisk<'a>(&'a Path);

impl SmallDisk<'_> {
    fn mount(folder: &Path, megabytes: usize) -> SmallDisk<'_> {
        std::fs::create_dir_all(folder).expect("a folder can be made");
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).status();
        assert!(mounted.is_ok_and(|status| status.success()), "a file system can be mounted as root");
        SmallDisk(folder)
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "mounts a file system, which only root may: cargo test --test operating -- --ignored"]
async fn health_reports_a_full_disk() {
    let scratch = Scratch::named("full-disk");
    let folder = scratch.folder.join("disk");
    let _disk = SmallDisk::mount(&folder, 300);
    let postgres = OwnPostgres::start(&folder, "primary", "wal_keep_size=0\nmax_wal_size=64MB");
    let program = served(&scratch.folder, &postgres);
    let stranger = Client::new(program.address);
    assert_eq!(stranger.get("/admin/health").await.expect(200)["status"], "UP");

    let filling = folder.join("filling");
    let _ =
        Command::new("dd").args(["if=/dev/zero", "bs=64k"]).arg(format!("of={}", filling.display())).output();
    let full = Instant::now();
    loop {
        let health = stranger.get("/admin/health").await;
        if health.status == 503 && health.json()["reason"] == "The database's disk is full" {
            break;
        }
        assert!(full.elapsed() < PATIENCE, "{}", health.text());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    std::fs::remove_file(&filling).expect("the file can be removed");
    let freed = Instant::now();
    while stranger.get("/admin/health").await.status != 200 {
        assert!(freed.elapsed() < PATIENCE, "the server does not recover");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
