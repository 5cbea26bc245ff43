//! A PostgreSQL of our own: found on the machine, run in a private directory over a unix socket, kept alive,
//! and stopped with the server.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_postgres::Config;

/// What to say where no server programs are found.
pub const HOW_TO_INSTALL: &str = "PostgreSQL's server programs (15 or newer) were not found: install them, on Debian with 'apt-get install postgresql', or name a server with --database.";

/// How durable and how big the private server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Real data: every commit reaches the disk.
    Library,
    /// Tests: nothing has to survive.
    Test,
}

/// A running private server.
pub struct PrivatePostgres {
    data: PathBuf,
    socket: PathBuf,
    programs: PathBuf,
    runs_as: Option<(u32, u32)>,
    child: Arc<Mutex<Option<Child>>>,
    stopping: Arc<AtomicBool>,
}

/// The folder of PostgreSQL's server programs, newest first.
pub fn find_programs() -> Option<PathBuf> {
    let has_server = |folder: &Path| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    let mut candidates: Vec<PathBuf> = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output()
        && output.status.success()
    {
        candidates.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    if let Ok(entries) = std::fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<(u32, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let version = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .filter(|(version, _)| *version >= 15)
            .collect();
        versions.sort();
        candidates.extend(versions.into_iter().rev().map(|(_, path)| path));
    }
    candidates.push(PathBuf::from("/usr/local/pgsql/bin"));
    if let Some(path) = std::env::var_os("PATH") {
        candidates.extend(std::env::split_paths(&path));
    }
    candidates.into_iter().find(|folder| has_server(folder))
}

impl PrivatePostgres {
    /// Makes the data directory where it is new, starts the server where it does not run, and waits until it
    /// answers.
    pub fn start(data: &Path, purpose: Purpose) -> Result<PrivatePostgres, String> {
        let programs = find_programs().ok_or(HOW_TO_INSTALL)?;
        let runs_as = ordinary_user()?;
        std::fs::create_dir_all(data).map_err(|e| format!("The data directory {}: {e}", data.display()))?;
        let data =
            data.canonicalize().map_err(|error| format!("The data directory {}: {error}", data.display()))?;
        let server = PrivatePostgres {
            socket: socket_folder(&data),
            data: data.join("postgres"),
            programs,
            runs_as,
            child: Arc::default(),
            stopping: Arc::default(),
        };
        make_folder_for(&server.socket, runs_as)?;
        if !server.data.join("PG_VERSION").exists() {
            server.initialize(purpose)?;
        }
        server.wait_until_ready(Duration::from_secs(60))?;
        server.watch();
        Ok(server)
    }

    /// How to reach a database of this server.
    pub fn config(&self, database: &str) -> Config {
        let mut config = Config::new();
        config.host_path(&self.socket).user("carrel").dbname(database);
        config
    }

    /// The same as text, for other programs (`psql`, the lab).
    pub fn url(&self, database: &str) -> String {
        format!("host={} user=carrel dbname={database}", self.socket.display())
    }

    /// The server's process id.
    pub fn pid(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.data.join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    /// Stops the server; connections are ended, nothing acknowledged is lost.
    pub fn stop(&self) {
        if self.stopping.swap(true, SeqCst) {
            return;
        }
        let _ = self
            .command("pg_ctl")
            .args(["stop", "-m", "fast", "-w", "-t", "30", "-D"])
            .arg(&self.data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if let Some(mut child) = self.child.lock().expect("no holder of this lock panics").take() {
            let _ = child.wait();
        }
    }

    fn initialize(&self, purpose: Purpose) -> Result<(), String> {
        make_folder_for(&self.data, self.runs_as)?;
        let output = self
            .command("initdb")
            .args([
                "--auth=trust",
                "--username=carrel",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-instructions",
            ])
            .args(if purpose == Purpose::Test { &["--no-sync"][..] } else { &[] })
            .arg("-D")
            .arg(&self.data)
            .output()
            .map_err(|error| format!("initdb could not be run: {error}"))?;
        if !output.status.success() {
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let mut settings = String::from(
            "\n# Carrel's own settings\nlisten_addresses = ''\nmax_connections = 300\nshared_buffers = 256MB\n\
             effective_cache_size = 1GB\nwork_mem = 8MB\nmaintenance_work_mem = 128MB\nmax_wal_size = 4GB\n\
             checkpoint_timeout = 15min\nrandom_page_cost = 1.1\njit = off\nlog_min_messages = warning\n\
             max_locks_per_transaction = 256\nautovacuum_naptime = 15s\nwal_compression = on\n",
        );
        if purpose == Purpose::Test {
            settings.push_str(
                "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 400\n",
            );
        }
        let file = self.data.join("postgresql.conf");
        let before = std::fs::read_to_string(&file).map_err(|error| format!("postgresql.conf: {error}"))?;
        std::fs::write(&file, before + &settings).map_err(|error| format!("postgresql.conf: {error}"))
    }

    fn spawn(&self) -> Result<Child, String> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.data.with_file_name("postgres.log"))
            .map_err(|error| format!("postgres.log: {error}"))?;
        let errors = log.try_clone().map_err(|error| format!("postgres.log: {error}"))?;
        let mut command = self.command("postgres");
        command
            .arg("-D")
            .arg(&self.data)
            .arg("-k")
            .arg(&self.socket)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            // Its own process group: Ctrl-C at the terminal is ours to hand on, after the last answer.
            .process_group(0);
        command.spawn().map_err(|error| format!("postgres could not be started: {error}"))
    }

    /// Starts the server unless a child of ours is on its way up.
    fn spawn_again(&self) -> Result<(), String> {
        let mut child = self.child.lock().expect("no holder of this lock panics");
        let under_way = child.as_mut().is_some_and(|process| matches!(process.try_wait(), Ok(None)));
        if !under_way {
            *child = Some(self.spawn()?);
        }
        Ok(())
    }

    /// Starts the server again whenever it ends without having been told to.
    fn watch(&self) {
        let server = PrivatePostgres {
            data: self.data.clone(),
            socket: self.socket.clone(),
            programs: self.programs.clone(),
            runs_as: self.runs_as,
            child: Arc::clone(&self.child),
            stopping: Arc::clone(&self.stopping),
        };
        std::thread::Builder::new()
            .name("postgres-watch".into())
            .spawn(move || {
                while !server.stopping.load(SeqCst) {
                    std::thread::sleep(Duration::from_millis(100));
                    let ended = {
                        let mut child = server.child.lock().expect("no holder of this lock panics");
                        match child.as_mut() {
                            Some(process) => !matches!(process.try_wait(), Ok(None)),
                            None => !server.is_running(),
                        }
                    };
                    if ended && !server.stopping.load(SeqCst) {
                        tracing::warn!("the private PostgreSQL ended unexpectedly; starting it again");
                        match server.spawn() {
                            Ok(process) => {
                                *server.child.lock().expect("no holder of this lock panics") = Some(process);
                            }
                            Err(error) => tracing::error!("{error}"),
                        }
                        // Children of a killed server hold its memory for a moment; then the start succeeds.
                        std::thread::sleep(Duration::from_millis(300));
                    }
                }
                // The handle that watches is not the one that stops.
                std::mem::forget(server);
            })
            .expect("a thread can be started");
    }

    fn is_running(&self) -> bool {
        self.command("pg_ctl")
            .args(["status", "-D"])
            .arg(&self.data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn wait_until_ready(&self, longest: Duration) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let ready = self
                .command("pg_isready")
                .args(["-q", "-h"])
                .arg(&self.socket)
                .status()
                .is_ok_and(|status| status.success());
            if ready {
                return Ok(());
            }
            // Not there yet, or an earlier server of this directory has just gone: then a new one.
            if !self.is_running() {
                self.spawn_again()?;
            }
            if started.elapsed() > longest {
                return Err(format!(
                    "PostgreSQL did not start within {} seconds; its log is {}",
                    longest.as_secs(),
                    self.data.with_file_name("postgres.log").display()
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((user, group)) = self.runs_as {
            command.uid(user).gid(group);
        }
        // A folder that the ordinary user may be in.
        command.current_dir("/").env_remove("PGDATA").env("LC_ALL", "C.UTF-8");
        command
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where the server of a data directory listens.
pub fn socket_of(data: &Path) -> Result<PathBuf, String> {
    data.canonicalize()
        .map(|data| socket_folder(&data))
        .map_err(|error| format!("The data directory {}: {error}", data.display()))
}

/// Sockets have short names only: a deep data directory gets a folder beside the temporary files.
fn socket_folder(data: &Path) -> PathBuf {
    let beside = data.join("run");
    // "/.s.PGSQL.5432.lock" comes behind it, and the whole must stay below 108 bytes.
    if beside.as_os_str().len() + 20 < 100 {
        return beside;
    }
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in data.as_os_str().as_encoded_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    std::env::temp_dir().join(format!("carrel-{hash:016x}"))
}

fn make_folder_for(folder: &Path, user: Option<(u32, u32)>) -> Result<(), String> {
    let told = |error: std::io::Error| format!("The folder {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(told)?;
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).map_err(told)?;
    if let Some((user, group)) = user {
        std::os::unix::fs::chown(folder, Some(user), Some(group)).map_err(told)?;
        // The server's user must be able to reach its folder.
        if let Some(parent) = folder.parent() {
            let reachable =
                Command::new("test").arg("-x").arg(parent).uid(user).gid(group).current_dir("/").status();
            if !reachable.is_ok_and(|status| status.success()) {
                return Err(format!(
                    "PostgreSQL does not run as root, and its user cannot reach {}: name another place with --data",
                    parent.display()
                ));
            }
        }
    }
    Ok(())
}

/// PostgreSQL refuses to run as root; then it runs as `postgres`, or else as `nobody`.
fn ordinary_user() -> Result<Option<(u32, u32)>, String> {
    let own = std::fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m));
    if own.is_ok_and(|uid| uid != 0) {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    for name in ["postgres", "nobody"] {
        let entry = users.lines().find(|line| line.split(':').next() == Some(name));
        if let Some([_, _, user, group, ..]) =
            entry.map(|line| line.split(':').collect::<Vec<_>>()).as_deref()
            && let (Ok(user), Ok(group)) = (user.parse(), group.parse())
        {
            return Ok(Some((user, group)));
        }
    }
    Err("PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody' to run it as".into())
}
