//! PostgreSQL's client programs (`pg_dump`, `pg_basebackup`), with their errors as sentences.

use carrel_platform::database::Server;
use std::process::{Command, ExitStatus, Output, Stdio};

/// The program with the address of a server; its messages are captured.
pub fn with_address(mut program: Command, server: &Server) -> Command {
    program.envs(server.environment()).env("PGAPPNAME", "carrel").stderr(Stdio::piped());
    program
}

/// The error of a program that has ended, if it failed.
pub fn succeeded(name: &str, output: std::io::Result<Output>) -> Result<(), String> {
    let output = output.map_err(|error| not_started(name, &error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(name, output.status, &output.stderr)),
    }
}

/// The message if a program could not be started.
pub fn not_started(name: &str, error: &std::io::Error) -> String {
    format!("{name} could not be started: {error}")
}

/// The message if a program failed, with the first five lines that it wrote.
pub fn failed(name: &str, status: ExitStatus, stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(5).collect();
    format!("{name} failed ({status}): {}", lines.join("; "))
}
