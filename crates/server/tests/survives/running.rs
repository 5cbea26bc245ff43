//! The program as an operator runs it: `carrel demo` once, then `carrel serve`, as separate processes.

use carrel_testkit::{Program, Scratch, free_port};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_postgres::NoTls;

/// Tests of this binary kill processes and use one directory, so they run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A server on the sample library.
pub struct Running {
    scratch: Scratch,
    server: Program,
    /// Released last.
    _alone: MutexGuard<'static, ()>,
}

impl Running {
    /// Loads the sample library, stops, and starts the server on these data.
    pub fn sample_library() -> Running {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = Scratch::new();
        std::fs::create_dir_all(&scratch.folder).expect("the folder can be made");
        let mut server = start(&scratch, free_port(), "demo");
        // An interrupted load is continued by the next start.
        for after in [300, 2000] {
            let heard = server.log_text().matches("listening on").count();
            server.wait_until("the server listens", Duration::from_secs(120), |server| {
                let output = server.log_text();
                output.matches("listening on").count() > heard || output.contains("Ctrl-C stops it")
            });
            std::thread::sleep(Duration::from_millis(after));
            server.kill();
            server = start(&scratch, server.address.port(), "demo");
        }
        server.wait_until("the sample library is ready", Duration::from_secs(240), |server| {
            let output = server.log_text();
            output.rsplit("listening on").next().is_some_and(|since| since.contains("Ctrl-C stops it"))
        });
        let mut running = Running { scratch, server, _alone: alone };
        running.stops_when_asked();
        running.start_server();
        running
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    pub fn start_server(&mut self) {
        self.server = start(&self.scratch, self.server.address.port(), "serve");
    }

    pub fn kill_server(&mut self) {
        self.server.kill();
    }

    /// Kills the postmaster and waits for its successor: the backends continue until they notice.
    pub async fn kill_postmaster(&self) {
        let killed = self.kill_postmaster_unseen();
        for _ in 0..600 {
            if self.postmaster().is_some_and(|postmaster| postmaster != killed) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("PostgreSQL was not started again within 30 seconds\n{}", self.end_of_log());
    }

    pub fn kill_postmaster_unseen(&self) -> String {
        let postmaster = self.postmaster().expect("PostgreSQL has left its number");
        signal("-KILL", &postmaster);
        postmaster
    }

    fn postmaster(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.scratch.folder.join("postgres/postmaster.pid")).ok()?;
        Some(text.lines().next()?.trim().to_owned())
    }

    /// A second program on the same data directory uses the server and leaves it running.
    pub fn leaves_the_server_running(&self) {
        let before = self.postmaster();
        let output = Command::new(env!("CARGO_BIN_EXE_carrel"))
            .args(["tenant", "list", "--data"])
            .arg(&self.scratch.folder)
            .output()
            .expect("the program can be started");
        let tenants = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && tenants.starts_with("diku\t"), "carrel tenant list: {output:?}");
        assert_eq!(before, self.postmaster(), "PostgreSQL goes on after a guest has left");
    }

    /// Kills a backend that works for the tenant; PostgreSQL then ends all others and recovers.
    pub async fn kill_backend(&self) {
        let row = self
            .database()
            .await
            .query_one(
                "SELECT pid::text FROM pg_stat_activity WHERE application_name = 'carrel library_diku'
                 ORDER BY state = 'active' DESC, query_start DESC LIMIT 1",
                &[],
            )
            .await
            .expect("the server has connections");
        signal("-KILL", row.get(0));
    }

    /// A connection with all rights, in the tenant's schema; waits for a PostgreSQL that is starting.
    pub async fn database(&self) -> tokio_postgres::Client {
        let mut config = tokio_postgres::Config::new();
        config.host_path(self.scratch.folder.join("run")).user("carrel").dbname("postgres");
        config.options("-c search_path=library_diku,carrel");
        for _ in 0..600 {
            if let Ok((client, connection)) = config.connect(NoTls).await {
                tokio::spawn(connection);
                return client;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("PostgreSQL did not come back within 30 seconds\n{}", self.end_of_log());
    }

    /// Commits are acknowledged some seconds before they reach the disk.
    pub async fn makes_commits_lazy(&self) {
        let database = self.database().await;
        for statement in [
            "ALTER SYSTEM SET synchronous_commit = off",
            "ALTER SYSTEM SET wal_writer_delay = '10s'",
            "SELECT pg_reload_conf()",
        ] {
            database.batch_execute(statement).await.expect("settings can be changed");
        }
    }

    pub fn server_is_alive(&mut self) -> bool {
        self.server.is_alive()
    }

    /// A regular stop: the server ends, and PostgreSQL with it.
    pub fn stops_when_asked(&mut self) {
        self.server.signal("INT");
        self.server.ends(Duration::from_secs(40));
        let left = self.scratch.folder.join("postgres/postmaster.pid");
        assert!(!left.exists(), "PostgreSQL stops with the server that keeps it");
    }

    /// The end of the server's log, for a message.
    pub fn end_of_log(&self) -> String {
        let log = self.server.log_text();
        let database = std::fs::read_to_string(self.scratch.folder.join("postgres.log")).unwrap_or_default();
        let tail = |text: &str| text.lines().rev().take(15).map(str::to_owned).collect::<Vec<_>>();
        let turned = |mut lines: Vec<String>| {
            lines.reverse();
            lines.join("\n")
        };
        format!("server:\n{}\nPostgreSQL:\n{}", turned(tail(&log)), turned(tail(&database)))
    }
}

fn start(scratch: &Scratch, port: u16, word: &str) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carrel"));
    command.args([word, "--data"]).arg(&scratch.folder);
    Program::start(command, &scratch.folder, port)
}

fn signal(which: &str, process: &str) {
    let sent = Command::new("kill").args([which, process]).stderr(Stdio::null()).status();
    assert!(sent.is_ok(), "kill can be run");
}
