//! `carrel backup` and `carrel restore`: base backups, the write-ahead log after them, and recovery to a moment.
//!
//! Tenants may have databases of their own (`carrel tenant create --at`). Those on other servers are backed up as well,
//! each in a directory below, named by its host and port.
//!
//! The backup directory has `base-<time>`, a plain base backup that was complete at this time (UTC), and `wal`, the
//! segments received since. Both consist of PostgreSQL's own files, so its own tools can restore them as well.

mod catalog;
mod others;
mod restore;

pub use restore::{RestoreArguments, restore};

use crate::config::{Resolved, Settings};
use crate::postgres_programs::{failed, not_started, succeeded, with_address};
use crate::{database, serve};
use carrel_embedded_postgres::{EmbeddedPostgres, Purpose, make_folder, program};
use carrel_platform::database::Server;
use clap::Args;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub struct BackupArguments {
    /// Directory of the backup; several base backups may be in it.
    #[arg(long)]
    to: PathBuf,
    /// Continue receiving the write-ahead log until stopped, so that any later moment can be restored.
    #[arg(long)]
    follow: bool,
    /// Delete older base backups than this many, and the write-ahead log that only they need.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    #[command(flatten)]
    settings: Box<Settings>,
}

/// The replication slot that keeps the write-ahead log until the backup has received it.
const SLOT: &str = "carrel_backup";
/// The longest time for which a stopped backup waits for the rest of the write-ahead log.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Writes a base backup while desks work, and follows the write-ahead log if requested.
pub async fn backup(arguments: BackupArguments) -> Result<(), String> {
    let BackupArguments { to, follow, keep, settings } = arguments;
    let source = Source::open(&settings.resolve()?).await?;
    let folder = std::path::absolute(&to).map_err(|error| format!("{}: {error}", to.display()))?;
    let mut servers = vec![(folder.clone(), source.server.clone())];
    let mut missed = Vec::new();
    for other in others::of(&source.server).await? {
        match other {
            Ok(other) => servers.push((folder.join(other.folder), other.server)),
            Err(words) => missed.push(words),
        }
    }
    let mut receivers = Vec::new();
    for (folder, server) in &servers {
        make_folder(folder)?;
        if follow {
            // The log is received before the base backup begins, so that nothing is missing between them.
            receivers.push((Receiver::start(&folder.join("wal"), server)?, server));
        }
        let written = serve::unless_stopped({
            let (folder, server) = (folder.clone(), server.clone());
            blocking(move || base_backup(&folder, &server))
        });
        println!("{}: {}", folder.display(), written.await?);
        if let Some(keep) = keep {
            catalog::prune(folder, keep as usize)?;
        }
    }
    // Said before the log is followed, and again by the exit status.
    missed.iter().for_each(|words| eprintln!("carrel: {words}"));
    if follow {
        println!("following the write-ahead log until stopped");
        let ended = tokio::select! {
            ended = first_ended(&mut receivers) => Some(ended),
            _ = serve::asked_to_stop() => None,
        };
        for (receiver, server) in receivers {
            receiver.stop(server).await;
        }
        if let Some(ended) = ended {
            return Err(ended);
        }
    }
    match missed.len() {
        0 => Ok(()),
        number => Err(format!("the backup is not complete: {number} databases of tenants are missing")),
    }
}

/// The server that is backed up.
struct Source {
    server: Server,
    /// Started by this program, if no other one runs the private server; stops with the value.
    _private: Option<EmbeddedPostgres>,
}

impl Source {
    async fn open(settings: &Resolved) -> Result<Source, String> {
        if let Some(address) = &settings.database {
            return Ok(Source { server: database::read(address)?, _private: None });
        }
        let data = settings.data.clone();
        if !data.join("postgres").is_dir() {
            return Err(format!("there is no database in {}", data.display()));
        }
        let postgres = blocking(move || EmbeddedPostgres::start(&data, Purpose::Production)).await?;
        Ok(Source { server: postgres.config("postgres").into(), _private: Some(postgres) })
    }
}

/// Runs `pg_basebackup`; the result is a message with size and time. An unfinished backup keeps the name `partial`.
fn base_backup(folder: &Path, server: &Server) -> Result<String, String> {
    let started = Instant::now();
    let partial = folder.join("partial");
    let with_path = |error: std::io::Error| format!("{}: {error}", partial.display());
    if partial.exists() {
        std::fs::remove_dir_all(&partial).map_err(with_path)?;
    }
    let mut command = with_address(program("pg_basebackup")?, server);
    command.args(["--wal-method=stream", "--checkpoint=fast", "--no-password", "--pgdata"]).arg(&partial);
    succeeded("pg_basebackup", command.stdin(Stdio::null()).output())?;
    let name = catalog::name_of(Timestamp::now());
    std::fs::rename(&partial, folder.join(&name)).map_err(with_path)?;
    let megabytes = catalog::size_of(&folder.join(&name)).map_err(with_path)?.div_ceil(1 << 20);
    Ok(format!("{name} is written: {megabytes} MiB in {:.1} s", started.elapsed().as_secs_f64()))
}

/// A running `pg_receivewal`.
struct Receiver {
    child: Child,
}

impl Receiver {
    fn start(folder: &Path, server: &Server) -> Result<Receiver, String> {
        make_folder(folder)?;
        let command = || -> Result<_, String> {
            let mut command = with_address(program("pg_receivewal")?, server);
            command.args(["--no-password", "--slot", SLOT, "--directory"]).arg(folder).stdin(Stdio::null());
            Ok(command)
        };
        succeeded("pg_receivewal", command()?.args(["--create-slot", "--if-not-exists"]).output())?;
        let child = command()?.arg("--synchronous").stdout(Stdio::null()).spawn();
        Ok(Receiver { child: child.map_err(|error| not_started("pg_receivewal", &error))? })
    }

    /// Why the program has ended on its own, if it has.
    fn has_ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => {
                let mut text = Vec::new();
                if let Some(mut stderr) = self.child.stderr.take() {
                    let _ = std::io::Read::read_to_end(&mut stderr, &mut text);
                }
                Some(failed("pg_receivewal", status, &text))
            }
            Err(error) => Some(format!("pg_receivewal: {error}")),
        }
    }

    /// Ends it when everything committed so far has been received, or after ten seconds.
    async fn stop(mut self, server: &Server) {
        let _ = tokio::time::timeout(LONGEST_END, has_arrived(server)).await;
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = blocking(move || self.child.wait().map_err(|error| error.to_string())).await;
    }
}

/// Completes when one of the programs has ended on its own, with the reason.
async fn first_ended(receivers: &mut [(Receiver, &Server)]) -> String {
    loop {
        if let Some(words) = receivers.iter_mut().find_map(|(receiver, _)| receiver.has_ended()) {
            return words;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Waits until the slot's receiver has stored everything that the server has written so far; returns at once if the
/// server is down.
async fn has_arrived(server: &Server) {
    let Ok((client, connection)) = server.connect().await else { return };
    let connection = tokio::spawn(connection);
    if let Ok(row) = client.query_one("SELECT pg_current_wal_flush_lsn()::text", &[]).await {
        let target: String = row.get(0);
        let has_arrived = "SELECT coalesce(bool_or(restart_lsn >= $1::text::pg_lsn), true) AS arrived
             FROM pg_replication_slots WHERE slot_name = 'carrel_backup'";
        while client.query_one(has_arrived, &[&target]).await.is_ok_and(|row| !row.get::<_, bool>("arrived"))
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    connection.abort();
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}
