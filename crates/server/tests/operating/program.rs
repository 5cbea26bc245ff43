//! The program as an operator starts it, and data directories for it.

use carrel_testkit::{Client, Program, Scratch, free_port};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

pub const TENANT: &str = "harbor";
pub const ADMIN: &str = "chief";
pub const PASSWORD: &str = "a-long-password";

/// Starts the server with more arguments and waits until it listens.
pub fn serve(folder: &Path, arguments: &[&str]) -> Program {
    serve_by(Command::new(env!("CARGO_BIN_EXE_carrel")), folder, arguments)
}

/// [`serve`] by a command that starts the program, such as a shell.
pub fn serve_by(mut command: Command, folder: &Path, arguments: &[&str]) -> Program {
    let port = free_port();
    command.arg("serve").args(arguments);
    let mut program = Program::start(command, folder, port);
    let words = format!("{port}");
    program.wait_until("it listens", Duration::from_secs(60), |program| {
        program.log_text().lines().any(|line| line.contains("listening on") && line.contains(&words))
    });
    program
}

/// The administrator, logged in with their password.
pub async fn admin_of(program: &Program) -> Client {
    let stranger = Client::new(program.address).with_header("x-okapi-tenant", TENANT);
    let login = stranger.post("/authn/login", &json!({"username": ADMIN, "password": PASSWORD})).await;
    login.expect(201);
    stranger.with_header("x-okapi-token", login.header("x-okapi-token").expect("login gives a token"))
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

/// The output of a command that must succeed.
#[track_caller]
pub fn carrel_output(arguments: &[&str]) -> String {
    let output = carrel(arguments);
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "carrel {arguments:?}: {words}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    words
}

/// The error of a command that must fail.
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
        carrel_output(&["tenant", "create", TENANT, "--admin", ADMIN, "--data", &data]);
        scratch
    });
    let scratch = Scratch::named(name);
    let copied =
        Command::new("cp").arg("-a").arg(&MADE.folder).arg(&scratch.folder).status().expect("cp can be run");
    assert!(copied.success(), "a data directory can be copied");
    scratch
}
