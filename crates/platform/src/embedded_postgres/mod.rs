//! A PostgreSQL of our own: found on the machine, run in a private directory over a unix socket, kept alive,
//! and stopped with the program that keeps it.
//!
//! One program at a time keeps the server of a data directory; it holds the lock on `keeper.lock`, which the
//! system takes back however the program ends. Others (`carrel tenant …` beside a running `carrel serve`) are
//! guests: they use the server, leave it running, and the longest-lived of them takes over when the keeper dies.

mod place;
mod programs;
mod settings;

pub use place::{socket_of, usual_data_directory};
pub use programs::{HOW_TO_INSTALL, find_programs};

use place::{RunsAs, make_folder_for, ordinary_user, socket_folder};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_postgres::Config;

/// How durable and how big the private server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Real data: every commit reaches the disk.
    Node,
    /// Tests: nothing has to survive.
    Test,
}

/// A running private server; dropped, it stops unless another program keeps it.
pub struct EmbeddedPostgres {
    server: Arc<Server>,
}

/// Crash recovery of a big library takes its time.
const LONGEST_START: Duration = Duration::from_secs(120);
/// How often the keeper looks after its server.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl EmbeddedPostgres {
    /// Makes the data directory where it is new, starts the server where it does not run, and waits until it
    /// answers.
    pub fn start(data: &Path, purpose: Purpose) -> Result<EmbeddedPostgres, String> {
        let programs = find_programs().ok_or(HOW_TO_INSTALL)?;
        let runs_as = ordinary_user()?;
        let reported = |error: std::io::Error| format!("The data directory {}: {error}", data.display());
        std::fs::create_dir_all(data).map_err(reported)?;
        let folder = data.canonicalize().map_err(reported)?;
        let server = Arc::new(Server {
            socket: socket_folder(&folder),
            data: folder.join("postgres"),
            programs,
            runs_as,
            lock: File::create(folder.join("keeper.lock")).map_err(reported)?,
            kept_here: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            child: Mutex::default(),
        });
        if server.is_kept_here() {
            make_folder_for(&server.socket, runs_as)?;
            if !server.data.join("PG_VERSION").exists() {
                server.initialize(purpose)?;
            }
        }
        server.wait_until_ready()?;
        let watched = Arc::clone(&server);
        std::thread::Builder::new()
            .name("postgres-watch".into())
            .spawn(move || watched.watch())
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

    /// Stops the server, if this program keeps it; connections are ended, nothing acknowledged is lost.
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
    /// Locked by the keeper.
    lock: File,
    kept_here: AtomicBool,
    stopping: AtomicBool,
    /// The server process, where this program has started it.
    child: Mutex<Option<Child>>,
}

impl Server {
    /// Whether this program keeps the server; it does from the moment at which nobody else does.
    fn is_kept_here(&self) -> bool {
        if self.kept_here.load(SeqCst) {
            return true;
        }
        let kept = self.lock.try_lock().is_ok();
        self.kept_here.store(kept, SeqCst);
        kept
    }

    fn pid(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.data.join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    fn stop(&self) {
        if self.stopping.swap(true, SeqCst) || !self.kept_here.load(SeqCst) {
            return;
        }
        // Held until the end, so that the watch cannot start the server again meanwhile.
        let mut child = self.child.lock().expect("no holder of this lock panics");
        // The gentlest way that works; the last one leaves the rest to the next start's recovery.
        for (options, seconds) in [("fast", "30"), ("fast", "30"), ("immediate", "10")] {
            let stopped = self
                .command("pg_ctl")
                .args(["stop", "-w", "-m", options, "-t", seconds, "-D"])
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
        let settings = settings::settings(purpose, settings::memory(), self.knows("wal_compression", "lz4"));
        let file = self.data.join("postgresql.conf");
        let before = std::fs::read_to_string(&file).map_err(|error| format!("postgresql.conf: {error}"))?;
        std::fs::write(&file, before + &settings).map_err(|error| format!("postgresql.conf: {error}"))
    }

    /// Whether this build of PostgreSQL takes a setting.
    fn knows(&self, setting: &str, value: &str) -> bool {
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
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        command.spawn().map_err(|error| format!("postgres could not be started: {error}"))
    }

    fn log(&self) -> PathBuf {
        self.data.with_file_name("postgres.log")
    }

    /// Starts the server where none runs; true where that was needed.
    ///
    /// While processes of a killed server still hold its memory the new one ends at once; the next look starts it
    /// again.
    fn start_if_down(&self) -> Result<bool, String> {
        let mut child = self.child.lock().expect("no holder of this lock panics");
        let up = match child.as_mut() {
            Some(process) => matches!(process.try_wait(), Ok(None)),
            None => self.runs_without_us(),
        };
        if up || self.stopping.load(SeqCst) {
            return Ok(false);
        }
        self.clear_stale_pid_file();
        *child = Some(self.spawn()?);
        Ok(true)
    }

    /// Whether a server of this directory runs that an earlier program has started.
    fn runs_without_us(&self) -> bool {
        let Some(pid) = self.pid() else { return false };
        match std::fs::read(format!("/proc/{pid}/cmdline")) {
            // Its number may have gone to another program since.
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

    /// A killed server that nobody has waited for keeps its number, and the lock file seems to be a living one's.
    ///
    /// A parent's number in it is taken for old, and only then does PostgreSQL look for processes of the dead
    /// server by the rest of the file: so the number is replaced, and the rest is kept.
    fn clear_stale_pid_file(&self) {
        let file = self.data.join("postmaster.pid");
        let (Some(pid), Ok(text)) = (self.pid(), std::fs::read_to_string(&file)) else { return };
        if is_dead(pid)
            && let Some((_, rest)) = text.split_once('\n')
        {
            let _ = std::fs::write(&file, format!("{}\n{rest}", std::process::id()));
        }
    }

    /// Starts the server again whenever it has ended without having been told to.
    fn watch(&self) {
        let mut quiet_until = Instant::now();
        while !self.stopping.load(SeqCst) {
            std::thread::sleep(BETWEEN_LOOKS);
            if !self.is_kept_here() {
                continue;
            }
            match self.start_if_down() {
                Ok(false) => {}
                // One line for all tries of one recovery.
                Ok(true) if Instant::now() < quiet_until => {}
                Ok(true) => {
                    tracing::warn!("the private PostgreSQL ended unexpectedly; starting it again");
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
            if self.is_kept_here() {
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

/// One of PostgreSQL's programs of this machine (`initdb`, `pg_basebackup`), run as the user that its servers run as.
pub fn program(name: &str) -> Result<Command, String> {
    let programs = find_programs().ok_or(HOW_TO_INSTALL)?;
    Ok(command(&programs, ordinary_user()?, name))
}

/// The same run as whoever runs this program, who may read what the other may not (`pg_dump`, `pg_restore`).
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
    // Its own process group: Ctrl-C at the terminal is ours to hand on, after the last answer, and a second one
    // must not end the program that stops the server.
    command.process_group(0);
    // A folder that the ordinary user may be in.
    command.current_dir("/").env_remove("PGDATA").env("LC_ALL", "C.UTF-8");
    command
}

/// A folder that the user of PostgreSQL's programs alone can read.
pub fn make_folder(folder: &Path) -> Result<(), String> {
    make_folder_for(folder, ordinary_user()?)
}

/// Whether the process has ended and its parent has not asked how.
fn is_dead(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state stands behind the name, which may hold anything.
    status.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}
