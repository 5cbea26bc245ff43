//! `carrel restore`: a new data directory from a base backup and the write-ahead log, as of a moment.

use super::{blocking, catalog};
use crate::config::Settings;
use crate::postgres_programs::{not_started, succeeded};
use crate::serve;
use carrel_embedded_postgres::{make_folder, program, socket_of};
use carrel_platform::database::Server;
use clap::Args;
use jiff::Timestamp;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio_postgres::Config;

#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// Directory that `carrel backup` wrote.
    #[arg(long)]
    from: PathBuf,
    /// The last moment that is restored, such as 2026-11-22T09:30:00Z; all that was received if not given.
    #[arg(long)]
    until: Option<Timestamp>,
    #[command(flatten)]
    settings: Box<Settings>,
}

/// Characters that have a special meaning in a shell or in PostgreSQL's settings.
const UNSAFE: &[char] = &['"', '\'', '$', '`', '\\', '%', '\n'];

/// Restores into the data directory of the settings, which must not have a database yet.
pub async fn restore(arguments: RestoreArguments) -> Result<(), String> {
    let RestoreArguments { from, until, settings } = arguments;
    let settings = settings.resolve()?;
    if settings.database.is_some() {
        return Err("a restore makes a private PostgreSQL: name its directory with --data".into());
    }
    let from = from.canonicalize().map_err(|error| format!("{}: {error}", from.display()))?;
    if from.to_string_lossy().contains(UNSAFE) {
        return Err(format!("{}: a path with quotes, $, %, ` or \\ cannot be restored from", from.display()));
    }
    let base = catalog::choose(catalog::names(&from)?, until)
        .ok_or_else(|| format!("{} has no base backup from before that moment", from.display()))?;
    let data = settings.data.clone();
    let prepared = blocking({
        let data = data.clone();
        move || prepare(&from, &base, &data, until)
    });
    serve::unless_stopped(prepared).await?;
    let last = recover(&data).await?;
    println!("restored as of {last}: serve it with --data {}", data.display());
    Ok(())
}

/// Copies the base backup and writes what PostgreSQL needs to recover from it.
fn prepare(from: &Path, base: &str, data: &Path, until: Option<Timestamp>) -> Result<(), String> {
    let with_path = |error: std::io::Error| format!("{}: {error}", data.display());
    let postgres = data.join("postgres");
    if postgres.exists() {
        return Err(format!("{} has a database already: name a new directory with --data", data.display()));
    }
    make_folder(&postgres)?;
    // `cp -a` keeps the owner, which is PostgreSQL's user.
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(from.join(base).join(".")).arg(&postgres);
    succeeded("cp", copy.output())?;
    let mut auto =
        OpenOptions::new().append(true).open(postgres.join("postgresql.auto.conf")).map_err(with_path)?;
    auto.write_all(recovery_settings(&from.join("wal"), until).as_bytes()).map_err(with_path)?;
    std::fs::write(postgres.join("recovery.signal"), "").map_err(with_path)
}

/// The segment that was being received last has the suffix `partial`.
fn recovery_settings(wal: &Path, until: Option<Timestamp>) -> String {
    let wal = wal.display();
    let mut text = format!(
        "restore_command = 'cp \"{wal}/%f\" \"%p\" 2>/dev/null || cp \"{wal}/%f.partial\" \"%p\" 2>/dev/null'\n"
    );
    if let Some(until) = until {
        // PostgreSQL accepts neither nanoseconds nor the zone `Z` here.
        let until = until.strftime("%Y-%m-%d %H:%M:%S.%6f+00");
        let _ = writeln!(text, "recovery_target_time = '{until}'\nrecovery_target_action = 'promote'");
    }
    text
}

/// Settings of the recovery, which have no effect afterwards.
const RECOVERY_SETTINGS: [&str; 3] = ["restore_command", "recovery_target_time", "recovery_target_action"];
/// PostgreSQL's message if the moment is later than everything that was received.
const NOT_REACHED: &str = "recovery ended before configured recovery target was reached";

/// Lets PostgreSQL recover and stops it; returns the time of the last change.
async fn recover(data: &Path) -> Result<String, String> {
    let server = Recovering { data: data.to_owned(), socket: socket_of(data)? };
    let address: Server =
        Config::new().host_path(&server.socket).user("carrel").dbname("postgres").clone().into();
    let recovered = serve::unless_stopped(async {
        let starts = server.clone();
        blocking(move || starts.start()).await?;
        loop {
            if let Some(last) = last_change(&address).await {
                return Ok(last);
            }
            let runs = server.clone();
            blocking(move || runs.refuse_if_it_ended()).await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await;
    let stopped = blocking(move || server.stop()).await;
    let last = recovered?;
    stopped.map(|()| last)
}

/// A server during recovery; it is not restarted if it ends.
#[derive(Clone)]
struct Recovering {
    data: PathBuf,
    socket: PathBuf,
}

impl Recovering {
    fn start(&self) -> Result<(), String> {
        make_folder(&self.socket)?;
        let mut command = self.pg_ctl("start")?;
        // Recovery has no bound; Ctrl-C ends the wait.
        command.args(["-t", "604800", "-l"]).arg(self.log());
        command.arg("-o").arg(format!("-c listen_addresses='' -k '{}'", self.socket.display()));
        match command.stdout(Stdio::null()).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(self.reason()),
            Err(error) => Err(not_started("pg_ctl", &error)),
        }
    }

    fn refuse_if_it_ended(&self) -> Result<(), String> {
        let status = self.pg_ctl("status")?.stdout(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) { Ok(()) } else { Err(self.reason()) }
    }

    fn stop(&self) -> Result<(), String> {
        let _ = self.pg_ctl("stop")?.args(["-m", "fast"]).stdout(Stdio::null()).status();
        if self.data.join("postgres/postmaster.pid").exists() {
            return Err("PostgreSQL did not stop after the recovery".into());
        }
        let _ = std::fs::remove_file(self.log());
        Ok(())
    }

    /// Why the server ended, from its log.
    fn reason(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        if log.contains(NOT_REACHED) {
            return "nothing was received from after that moment: restore without --until, into a new directory".into();
        }
        let fatal = log.lines().rev().find(|line| line.contains("FATAL") || line.contains("PANIC"));
        format!("PostgreSQL did not recover: {}", fatal.unwrap_or("its log says nothing"))
    }

    fn pg_ctl(&self, action: &str) -> Result<Command, String> {
        let mut command = program("pg_ctl")?;
        command.args([action, "-w", "-s", "-D"]).arg(self.data.join("postgres"));
        command.stderr(Stdio::null());
        Ok(command)
    }

    fn log(&self) -> PathBuf {
        self.data.join("postgres/recovery.log")
    }
}

/// The time of the last change that was recovered, when the recovery is over.
async fn last_change(server: &Server) -> Option<String> {
    let (client, connection) = server.connect().await.ok()?;
    let connection = tokio::spawn(connection);
    let row = client
        .query_one(
            "SELECT pg_is_in_recovery() AS recovers,
                 coalesce(pg_last_xact_replay_timestamp()::text, 'the base backup') AS last",
            &[],
        )
        .await
        .ok()
        .filter(|row| !row.get::<_, bool>("recovers"));
    if row.is_some() {
        for setting in RECOVERY_SETTINGS {
            client.batch_execute(&format!("ALTER SYSTEM RESET {setting}")).await.ok()?;
        }
    }
    connection.abort();
    row.map(|row| row.get("last"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_target_of_the_recovery() {
        let wal = Path::new("/backup/wal");
        let until = "2026-11-22T09:30:00Z".parse().expect("a time");
        assert!(!recovery_settings(wal, None).contains("recovery_target"));
        let text = recovery_settings(wal, Some(until));
        assert!(text.contains("recovery_target_time = '2026-11-22 09:30:00.000000+00'\n"), "{text}");
        assert!(text.contains("/backup/wal/%f.partial"), "{text}");
    }
}
