//! The program as an operator starts it, and data directories for it.

use carrel_testkit::{Client, Scratch};
use serde_json::json;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub const TENANT: &str = "harbor";
pub const ADMIN: &str = "chief";
pub const PASSWORD: &str = "a-long-password";

/// A running `carrel serve`.
pub struct Program {
    child: Child,
    pub address: SocketAddr,
    log: PathBuf,
}

impl Program {
    /// Starts the server with more arguments and waits until it listens.
    pub fn serve(folder: &Path, arguments: &[&str]) -> Program {
        Program::spawn(Command::new(env!("CARGO_BIN_EXE_carrel")), folder, arguments)
    }

    /// The same by a command that starts the program, such as a shell's.
    pub fn spawn(mut command: Command, folder: &Path, arguments: &[&str]) -> Program {
        // Nobody else takes a port that was just free, as a rule.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = free.local_addr().expect("a listener has an address").port();
        drop(free);
        let log = folder.join("server.log");
        let file = File::options().create(true).append(true).open(&log).expect("a log can be written");
        let child = command
            .args(["serve", "--port", &port.to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a log can be shared"))
            .stderr(file)
            .spawn()
            .expect("the program can be started");
        let _ = std::fs::write(folder.join("server.pid"), child.id().to_string());
        let mut program = Program { child, address: (Ipv4Addr::LOCALHOST, port).into(), log };
        let words = format!("{port}");
        program.wait_until("it listens", Duration::from_secs(60), |program| {
            program.said().lines().any(|line| line.contains("listening on") && line.contains(&words))
        });
        program
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill can be run");
    }

    /// Waits for the end; gives how the program ended and how long it took.
    pub fn ends(&mut self, longest: Duration) -> (ExitStatus, Duration) {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                return (status, started.elapsed());
            }
            assert!(started.elapsed() < longest, "it does not end:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The administrator, logged in with his password.
    pub async fn admin(&self) -> Client {
        let stranger = Client::new(self.address).with_header("x-okapi-tenant", TENANT);
        let login = stranger.post("/authn/login", &json!({"username": ADMIN, "password": PASSWORD})).await;
        login.expect(201);
        stranger.with_header("x-okapi-token", login.header("x-okapi-token").expect("login gives a token"))
    }

    pub fn wait_until(&mut self, what: &str, longest: Duration, holds: impl Fn(&mut Program) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            assert!(self.is_alive(), "{what}: the program has ended:\n{}", self.said());
            assert!(started.elapsed() < longest, "{what}: not within {longest:?}:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command of the program to its end.
pub fn carrel(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_carrel"))
        .args(arguments)
        .env("CARREL_ADMIN_PASSWORD", PASSWORD)
        .stdin(Stdio::null())
        .output()
        .expect("the program can be started")
}

/// What the command printed, which must have gone well.
#[track_caller]
pub fn carrel_said(arguments: &[&str]) -> String {
    let output = carrel(arguments);
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "carrel {arguments:?}: {words}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    words
}

/// What the command complained of, which must have failed.
#[track_caller]
pub fn carrel_refused(arguments: &[&str]) -> String {
    let output = carrel(arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "carrel {arguments:?} went well: {words}");
    words
}

/// A data directory with one tenant and its administrator, copied for each test.
pub fn library_data(name: &str) -> Scratch {
    static MADE: LazyLock<Scratch> = LazyLock::new(|| {
        let scratch = Scratch::named("library");
        let data = scratch.folder.to_string_lossy().into_owned();
        carrel_said(&["tenant", "create", TENANT, "--admin", ADMIN, "--data", &data]);
        scratch
    });
    let scratch = Scratch::named(name);
    let copied =
        Command::new("cp").arg("-a").arg(&MADE.folder).arg(&scratch.folder).status().expect("cp can be run");
    assert!(copied.success(), "a data directory can be copied");
    scratch
}
