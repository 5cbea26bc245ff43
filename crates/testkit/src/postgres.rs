//! PostgreSQL servers for single tests, with settings of the test's choice: with TLS, with replicas, to be killed.

use carrel_embedded_postgres::{make_folder, program};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio_postgres::{Client, NoTls};

/// The longest time from its start until it answers.
const LONGEST_START: Duration = Duration::from_secs(60);

/// A server that listens on a port of the loopback address and on a socket; it stops when the value is dropped.
pub struct OwnPostgres {
    data: PathBuf,
    sockets: PathBuf,
    pub port: u16,
    process: Option<Child>,
}

impl OwnPostgres {
    /// A new server below the folder; `settings` are lines of `postgresql.conf`. Network connections need no
    /// password.
    pub fn start(folder: &Path, name: &str, settings: &str) -> OwnPostgres {
        let server = OwnPostgres::at(folder, name);
        run(program("initdb")
            .expect("PostgreSQL's programs are there")
            .args([
                "--auth=trust",
                "--username=carrel",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
                "-D",
            ])
            .arg(&server.data));
        // Durability is not needed in tests.
        server.write("postgresql.conf", "fsync = off\nshared_buffers = 64MB\nmax_connections = 120");
        server.write("postgresql.conf", settings);
        server.up()
    }

    /// A streaming replica of this server.
    pub fn replica(&self, folder: &Path, name: &str) -> OwnPostgres {
        let server = OwnPostgres::at(folder, name);
        run(program("pg_basebackup")
            .expect("PostgreSQL's programs are there")
            .args([
                "-R",
                "-X",
                "stream",
                "-c",
                "fast",
                "--no-sync",
                "-U",
                "carrel",
                "-p",
                &self.port.to_string(),
            ])
            .arg("-h")
            .arg(&self.sockets)
            .arg("-D")
            .arg(&server.data));
        server.up()
    }

    fn at(folder: &Path, name: &str) -> OwnPostgres {
        // Another process could take a port that was just free, which is rare.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = free.local_addr().expect("a listener has an address").port();
        let (data, sockets) = (folder.join(name), folder.join(format!("{name}-run")));
        std::fs::create_dir_all(folder).expect("a folder can be made");
        make_folder(&data).expect("a folder can be made");
        make_folder(&sockets).expect("a folder can be made");
        OwnPostgres { data, sockets, port, process: None }
    }

    fn up(mut self) -> OwnPostgres {
        self.start_again();
        self
    }

    /// Starts the server, also after it was killed, and waits until it answers.
    pub fn start_again(&mut self) {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.log())
            .expect("the server's log can be written");
        let mut command = program("postgres").expect("PostgreSQL's programs are there");
        command.arg("-D").arg(&self.data).arg("-k").arg(&self.sockets);
        command.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log can be shared")).stderr(log);
        self.process = Some(command.spawn().expect("postgres can be started"));
        let started = Instant::now();
        while !self.answers() {
            assert!(started.elapsed() < LONGEST_START, "a PostgreSQL of a test's own: {}", self.end_of_log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server as an operator does: its standbys have everything that was committed.
    pub fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        self.ctl(&["stop", "-m", "fast", "-w"]);
        let _ = process.wait();
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        self.ctl(&["promote", "-w"]);
    }

    /// Lets the server, when it is started next, be a standby of whichever of the servers takes writes.
    pub fn follow(&self, servers: &[&OwnPostgres]) {
        let ports: Vec<String> = servers.iter().map(|server| server.port.to_string()).collect();
        let hosts = vec!["127.0.0.1"; ports.len()].join(",");
        self.write(
            "postgresql.auto.conf",
            &format!(
                "primary_conninfo = 'host={hosts} port={} user=carrel target_session_attrs=read-write connect_timeout=2'",
                ports.join(",")
            ),
        );
        self.keep("standby.signal", "");
    }

    fn ctl(&self, arguments: &[&str]) {
        run(program("pg_ctl")
            .expect("PostgreSQL's programs are there")
            .args(arguments)
            .arg("-D")
            .arg(&self.data)
            .stdin(Stdio::null()));
    }

    fn answers(&self) -> bool {
        let mut command = program("pg_isready").expect("PostgreSQL's programs are there");
        command.args(["-q", "-U", "carrel", "-d", "postgres", "-p", &self.port.to_string(), "-h"]);
        command.arg(&self.sockets).status().is_ok_and(|status| status.success())
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.thaw();
        let Some(mut process) = self.process.take() else { return };
        // Killing only the postmaster would let its backends finish.
        let signaled = Command::new("kill").args(["-QUIT", &process.id().to_string()]).status();
        assert!(signaled.is_ok_and(|status| status.success()), "kill can be run");
        let _ = process.wait();
    }

    /// Kills all processes of the server with SIGKILL.
    pub fn kill_at_once(&mut self) {
        self.signal_all("KILL");
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }

    /// Freezes all processes of the server with SIGSTOP.
    pub fn freeze(&self) {
        // The first process first, so that it starts no others.
        self.signal_all("STOP");
    }

    /// Continues frozen processes.
    pub fn thaw(&self) {
        self.signal_all("CONT");
    }

    fn signal_all(&self, signal: &str) {
        let Some(process) = &self.process else { return };
        let first = process.id().to_string();
        let listed =
            Command::new("ps").args(["-o", "pid=", "--ppid", &first]).output().expect("ps can be run");
        let children = String::from_utf8_lossy(&listed.stdout).into_owned();
        for pid in std::iter::once(first.as_str()).chain(children.split_whitespace()) {
            // A backend may have ended in the meantime.
            let _ = Command::new("kill").args([&format!("-{signal}"), pid]).status();
        }
    }

    /// The address of a database by the socket, as text.
    pub fn by_socket(&self, database: &str) -> String {
        format!("host={} port={} user=carrel dbname={database}", self.sockets.display(), self.port)
    }

    /// The address of a database by the network, as text.
    pub fn by_network(&self, database: &str) -> String {
        format!("host=127.0.0.1 port={} user=carrel dbname={database}", self.port)
    }

    /// A connection with all rights, for checks that bypass the API.
    pub async fn connect(&self, database: &str) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.by_socket(database), NoTls)
            .await
            .unwrap_or_else(|error| panic!("{error:?}: {}", self.end_of_log()));
        tokio::spawn(connection);
        client
    }

    /// Adds lines to one of the server's files of settings.
    pub fn write(&self, file: &str, lines: &str) {
        let path = self.data.join(file);
        let mut text = std::fs::read_to_string(&path).expect("the server has its files of settings");
        let _ = writeln!(text, "\n{lines}");
        std::fs::write(&path, text).expect("a setting can be written");
    }

    /// A file that only the server's user can read, such as a key; returns its path.
    pub fn keep(&self, file: &str, text: &str) -> PathBuf {
        let path = self.data.join(file);
        std::fs::write(&path, text).expect("a file can be written");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .expect("a file can be closed to others");
        let owner = std::fs::metadata(&self.data).expect("the server has a folder");
        use std::os::unix::fs::MetadataExt as _;
        std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid()))
            .expect("a file can be handed over");
        path
    }

    fn log(&self) -> PathBuf {
        self.data.with_extension("log")
    }

    fn end_of_log(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(10).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for OwnPostgres {
    fn drop(&mut self) {
        self.thaw();
        self.kill();
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program can be started");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
