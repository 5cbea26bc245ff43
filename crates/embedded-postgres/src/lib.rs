//! A PostgreSQL server that belongs to this program: found on the machine, run in a private directory on a Unix
//! socket, restarted after a crash, and stopped with the program.
//!
//! One program at a time controls the server of a data directory: the one that holds the lock on `keeper.lock`, which
//! the operating system releases however the program ends. Other programs (`carrel tenant …` beside a running `carrel
//! serve`) use the server and leave it running; one of them takes the lock when its holder dies.

mod directories;
mod programs;
mod settings;

pub use directories::{socket_of, usual_data_directory};
pub use programs::{HOW_TO_INSTALL, find_programs};

use directories::{RunsAs, make_folder_for, ordinary_user, socket_folder};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_postgres::Config;

/// Durability and size of the private server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Real data: every commit reaches the disk.
    Production,
    /// Tests: no data has to survive.
    Test,
}

/// A running server. It stops when the value is dropped, unless another program controls it.
pub struct EmbeddedPostgres {
    server: Arc<Server>,
}

/// The longest time until the server answers; recovery of a large database after a crash takes minutes.
const LONGEST_START: Duration = Duration::from_secs(120);
/// Time between two checks whether the server runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

impl EmbeddedPostgres {
    /// Initializes the data directory if it is new, starts the server if it does not run, and waits at most two
    /// minutes until it answers.
    pub fn start(data: &Path, purpose: Purpose) -> Result<EmbeddedPostgres, String> {
        let programs = find_programs().ok_or(HOW_TO_INSTALL)?;
        let runs_as = ordinary_user()?;
        let failed = |error: std::io::Error| format!("The data directory {}: {error}", data.display());
        std::fs::create_dir_all(data).map_err(failed)?;
        let folder = data.canonicalize().map_err(failed)?;
        let server = Arc::new(Server {
            socket: socket_folder(&folder),
            data: folder.join("postgres"),
            programs,
            runs_as,
            lock: File::create(folder.join("keeper.lock")).map_err(failed)?,
            owns_lock: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            child: Mutex::default(),
        });
        if server.take_lock() {
            make_folder_for(&server.socket, runs_as)?;
            if !server.data.join("PG_VERSION").exists() {
                server.initialize(purpose)?;
            }
        }
        server.wait_until_ready()?;
        let supervised = Arc::clone(&server);
        std::thread::Builder::new()
            .name("postgres-supervisor".into())
            .spawn(move || supervised.supervise())
            .map_err(|error| format!("a thread could not be started: {error}"))?;
        Ok(EmbeddedPostgres { server })
    }

    /// How to reach a database of this server.
    pub fn config(&self, database: &str) -> Config {
        let mut config = Config::new();
        config.host_path(&self.server.socket).user("carrel").dbname(database);
        config
    }

    /// The same as text, for other programs (`psql`, the lab).
    pub fn url(&self, database: &str) -> String {
        format!("host={} user=carrel dbname={database}", self.server.socket.display())
    }

    /// The file to which the server writes its messages.
    pub fn log(&self) -> PathBuf {
        self.server.log()
    }

    /// The server's process id.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// Stops the server if this program controls it. Connections end; nothing that was committed is lost.
    pub fn stop(&self) {
        self.server.stop();
    }
}

impl Drop for EmbeddedPostgres {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Server {
    data: PathBuf,
    socket: PathBuf,
    programs: PathBuf,
    runs_as: RunsAs,
    /// Locked by the program that controls the server.
    lock: File,
    owns_lock: AtomicBool,
    stopping: AtomicBool,
    /// The server process, if this program started it.
    child: Mutex<Option<Child>>,
}

impl Server {
    /// Whether this program controls the server; it takes over as soon as no other program does.
    fn take_lock(&self) -> bool {
        if self.owns_lock.load(SeqCst) {
            return true;
        }
        let taken = self.lock.try_lock().is_ok();
        self.owns_lock.store(taken, SeqCst);
        taken
    }

    fn pid(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.data.join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    fn stop(&self) {
        if self.stopping.swap(true, SeqCst) || !self.owns_lock.load(SeqCst) {
            return;
        }
        // Held until the end, so that the supervisor thread cannot restart the server meanwhile.
        let mut child = self.child.lock().expect("no holder of this lock panics");
        // `immediate` is the last resort: the next start recovers.
        for (mode, seconds) in [("fast", "30"), ("fast", "30"), ("immediate", "10")] {
            let stopped = self
                .command("pg_ctl")
                .args(["stop", "-w", "-m", mode, "-t", seconds, "-D"])
                .arg(&self.data)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            if stopped.is_ok_and(|status| status.success()) || self.pid().is_none() {
                break;
            }
        }
        if let Some(child) = child.as_mut() {
            let _ = child.try_wait();
        }
        let _ = self.lock.unlock();
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
        let settings =
            settings::settings(purpose, settings::memory(), self.accepts("wal_compression", "lz4"));
        let file = self.data.join("postgresql.conf");
        let before = std::fs::read_to_string(&file).map_err(|error| format!("postgresql.conf: {error}"))?;
        std::fs::write(&file, before + &settings).map_err(|error| format!("postgresql.conf: {error}"))
    }

    /// Whether this build of PostgreSQL accepts a setting.
    fn accepts(&self, setting: &str, value: &str) -> bool {
        self.command("postgres")
            .arg("-D")
            .arg(&self.data)
            .args(["-C", setting, "-c"])
            .arg(format!("{setting}={value}"))
            .output()
            .is_ok_and(|output| output.status.success())
    }

    fn spawn(&self) -> Result<Child, String> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log())
            .map_err(|error| format!("postgres.log: {error}"))?;
        let errors = log.try_clone().map_err(|error| format!("postgres.log: {error}"))?;
        let mut command = self.command("postgres");
        command
            .arg("-D")
            .arg(&self.data)
            .arg("-k")
            .arg(&self.socket)
            .args(self.preload())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        command.spawn().map_err(|error| format!("postgres could not be started: {error}"))
    }

    /// Loads `pg_stat_statements` if it is installed, unless the operator has set which libraries to load.
    fn preload(&self) -> &'static [&'static str] {
        let installed = self.programs.join("../lib/pg_stat_statements.so").is_file();
        let is_set = ["postgresql.conf", "postgresql.auto.conf"].iter().any(|file| {
            let text = std::fs::read_to_string(self.data.join(file)).unwrap_or_default();
            text.lines().any(|line| line.trim_start().starts_with("shared_preload_libraries"))
        });
        if installed && !is_set { &["-c", "shared_preload_libraries=pg_stat_statements"] } else { &[] }
    }

    fn log(&self) -> PathBuf {
        self.data.with_file_name("postgres.log")
    }

    /// Starts the server if none runs; true if that was needed.
    ///
    /// While processes of a killed server still hold its shared memory, a new one ends at once; the next check starts
    /// another.
    fn start_if_down(&self) -> Result<bool, String> {
        let mut child = self.child.lock().expect("no holder of this lock panics");
        let up = match child.as_mut() {
            Some(process) => matches!(process.try_wait(), Ok(None)),
            None => self.runs_independently(),
        };
        if up || self.stopping.load(SeqCst) {
            return Ok(false);
        }
        self.clear_stale_pid_file();
        *child = Some(self.spawn()?);
        Ok(true)
    }

    /// Whether a server of this directory runs that another program has started.
    fn runs_independently(&self) -> bool {
        let Some(pid) = self.pid() else { return false };
        match std::fs::read(format!("/proc/{pid}/cmdline")) {
            // The process id may have been reused.
            Ok(words) => {
                words.split(|byte| *byte == 0).any(|word| word == self.data.as_os_str().as_encoded_bytes())
            }
            Err(_) if Path::new("/proc/self").exists() => false,
            Err(_) => self
                .command("pg_ctl")
                .args(["status", "-D"])
                .arg(&self.data)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
        }
    }

    /// Makes a pid file that a killed server left behind recognizable as stale.
    ///
    /// A killed server whose parent has not waited for it is a zombie and keeps its process id, so PostgreSQL would
    /// assume that the server of the file runs. It considers a file with the process id of its own parent stale, and
    /// then searches for remaining backends by the other lines. So only the process id is replaced.
    fn clear_stale_pid_file(&self) {
        let file = self.data.join("postmaster.pid");
        let (Some(pid), Ok(text)) = (self.pid(), std::fs::read_to_string(&file)) else { return };
        if is_dead(pid)
            && let Some((_, rest)) = text.split_once('\n')
        {
            let _ = std::fs::write(&file, format!("{}\n{rest}", std::process::id()));
        }
    }

    /// Restarts the server whenever it has ended unexpectedly.
    fn supervise(&self) {
        let mut quiet_until = Instant::now();
        while !self.stopping.load(SeqCst) {
            std::thread::sleep(CHECK_INTERVAL);
            if !self.take_lock() {
                continue;
            }
            match self.start_if_down() {
                Ok(false) => {}
                // One line for all attempts of one recovery.
                Ok(true) if Instant::now() < quiet_until => {}
                Ok(true) => {
                    tracing::warn!("the private PostgreSQL ended unexpectedly; restarting it");
                    quiet_until = Instant::now() + Duration::from_secs(5);
                }
                Err(error) => {
                    tracing::error!("{error}");
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
        }
    }

    fn wait_until_ready(&self) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let ready = self
                .command("pg_isready")
                .args(["-q", "-U", "carrel", "-d", "postgres", "-h"])
                .arg(&self.socket)
                .status()
                .is_ok_and(|status| status.success());
            if ready {
                return Ok(());
            }
            if self.take_lock() {
                self.start_if_down()?;
            }
            if started.elapsed() > LONGEST_START {
                return Err(format!(
                    "PostgreSQL did not start within {} seconds; its log is {}",
                    LONGEST_START.as_secs(),
                    self.log().display()
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn command(&self, program: &str) -> Command {
        command(&self.programs, self.runs_as, program)
    }
}

/// One of PostgreSQL's programs (`initdb`, `pg_basebackup`), run as the user that the server runs as.
pub fn program(name: &str) -> Result<Command, String> {
    let programs = find_programs().ok_or(HOW_TO_INSTALL)?;
    Ok(command(&programs, ordinary_user()?, name))
}

/// One of PostgreSQL's client programs (`pg_dump`, `pg_restore`), run as the user of this program, who may read files
/// that the server's user may not.
pub fn own_program(name: &str) -> Result<Command, String> {
    let programs = find_programs().ok_or(HOW_TO_INSTALL)?;
    if !programs.join(name).is_file() {
        let folder = programs.display();
        return Err(format!("'{name}' is missing in {folder}: install PostgreSQL's client programs"));
    }
    Ok(command(&programs, None, name))
}

fn command(programs: &Path, runs_as: RunsAs, program: &str) -> Command {
    let mut command = Command::new(programs.join(program));
    if let Some((user, group)) = runs_as {
        command.uid(user).gid(group);
    }
    // Its own process group: Ctrl-C at the terminal must reach PostgreSQL only after the last answer, and a second
    // one must not end `pg_ctl`.
    command.process_group(0);
    // A directory that the server's user may enter.
    command.current_dir("/").env_remove("PGDATA").env("LC_ALL", "C.UTF-8");
    command
}

/// Creates a directory that only the server's user can read.
pub fn make_folder(folder: &Path) -> Result<(), String> {
    make_folder_for(folder, ordinary_user()?)
}

/// Whether the process is a zombie.
fn is_dead(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name in parentheses, which may contain anything.
    status.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}
