//! The program as an operator runs it: a separate process, whose log is kept in a folder.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running program; it is killed when the value is dropped.
pub struct Program {
    child: Child,
    pub address: SocketAddr,
    log: PathBuf,
}

/// A free port. Another process could take it before it is used, which is rare.
pub fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    free.local_addr().expect("a listener has an address").port()
}

impl Program {
    /// Starts a command that takes `--port`.
    pub fn start(mut command: Command, folder: &Path, port: u16) -> Program {
        let log = folder.join("server.log");
        let file = File::options().create(true).append(true).open(&log).expect("a log can be written");
        let child = command
            .args(["--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a log can be shared"))
            .stderr(file)
            .spawn()
            .expect("the program can be started");
        // The guard of the folder stops this process.
        let _ = std::fs::write(folder.join("server.pid"), child.id().to_string());
        Program { child, address: (Ipv4Addr::LOCALHOST, port).into(), log }
    }

    /// Sends the process a signal, by its name without `SIG`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill can be run");
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().expect("the program was running");
        let _ = self.child.wait();
    }

    /// Waits for the end; returns the exit status and the time that it took.
    pub fn ends(&mut self, longest: Duration) -> (ExitStatus, Duration) {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                return (status, started.elapsed());
            }
            assert!(started.elapsed() < longest, "it does not end:\n{}", self.log_text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The log so far.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until a condition holds.
    pub fn wait_until(&mut self, what: &str, longest: Duration, holds: impl Fn(&mut Program) -> bool) {
        let started = Instant::now();
        while !holds(self) {
            assert!(self.is_alive(), "{what}: the program has ended:\n{}", self.log_text());
            assert!(started.elapsed() < longest, "{what}: not within {longest:?}:\n{}", self.log_text());
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
