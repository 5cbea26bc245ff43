//! Dump, restore and move of a tenant: `carrel tenant dump`, `restore`, `move`.
//!
//! The file begins with two lines, its format and the tenant's row of the table of tenants, followed by the output of
//! `pg_dump` for the tenant's schema. The dump is a snapshot of one moment, and desks continue to work.

use crate::config::without_password;
use crate::database;
use crate::postgres_programs::{not_started, succeeded, with_address};
use carrel_embedded_postgres::own_program;
use carrel_platform::Node;
use carrel_platform::database::Server;
use carrel_platform::node::{CopySource, Entry};
use carrel_platform::tenant::schema_of;
use carrel_records::Failure;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The first line of every file.
const WHAT_IT_IS: &str = "carrel tenant, form 1";

/// Writes the tenant to a new file.
pub async fn dump(node: &Arc<Node>, id: &str, file: PathBuf) -> Result<String, String> {
    let as_text = |failure: Failure| failure.to_string();
    let missing = || format!("there is no tenant '{id}'");
    let tenant = node.find_tenant(id).await.map_err(as_text)?.ok_or_else(missing)?;
    let entry = node.entry(id).await.map_err(as_text)?.ok_or_else(missing)?;
    let server = tenant.database().server();
    let bytes = in_background(move || write(&entry, &server, &file)).await?;
    Ok(format!("tenant '{id}' is written: {} KiB", bytes.div_ceil(1024)))
}

/// Creates the tenant of the file with all its data; refused if it exists.
pub async fn restore(node: &Arc<Node>, server: Server, file: PathBuf) -> Result<String, String> {
    let (entry, rest) = in_background(move || open(&file)).await?;
    let fill = in_background(move || fill(&server, rest));
    let tenant = node.take_in(&entry, fill).await.map_err(|failure| failure.to_string())?;
    Ok(format!("tenant '{}' is restored", tenant.id))
}

/// Moves the tenant to another database, which its line in the table of tenants then names.
pub async fn move_to(node: &Arc<Node>, id: &str, address: &str) -> Result<String, String> {
    database::wait_for(&database::find_primary(&database::read(address)?, &[]).await).await?;
    let copy = |source: CopySource| in_background(move || pass_on(&source));
    let moved = node.move_tenant(id, address, copy).await.map_err(|failure| with_cause(&failure))?;
    let how = match moved.not_followed {
        None => "desks worked while it was copied".to_owned(),
        Some(reason) => format!("it was copied in that time, as {reason}"),
    };
    Ok(format!(
        "tenant '{id}' has moved to {}; writes were refused for {:.1} s: {how}",
        without_password(address),
        moved.pause.as_secs_f64()
    ))
}

/// The failure with PostgreSQL's message.
fn with_cause(failure: &Failure) -> String {
    let Failure::Internal { cause: Some(cause), .. } = failure else { return failure.to_string() };
    match cause.source() {
        Some(reason) => format!("{failure}: {reason}"),
        None => failure.to_string(),
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}

/// Returns the file's size in bytes.
fn write(entry: &Entry, server: &Server, path: &Path) -> Result<u64, String> {
    let with_path = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::options().write(true).create_new(true).open(path).map_err(with_path)?;
    let written = (|| {
        let head = serde_json::to_string(entry).map_err(|error| error.to_string())?;
        writeln!(file, "{WHAT_IT_IS}\n{head}").map_err(with_path)?;
        let output = pg_dump(entry, server)?.stdout(file.try_clone().map_err(with_path)?).output();
        succeeded("pg_dump", output)?;
        file.sync_all().map_err(with_path)?;
        file.metadata().map(|metadata| metadata.len()).map_err(with_path)
    })();
    if written.is_err() {
        // A partial file must not look complete.
        let _ = std::fs::remove_file(path);
    }
    written
}

fn open(path: &Path) -> Result<(Entry, BufReader<File>), String> {
    let with_path = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = BufReader::new(File::open(path).map_err(with_path)?);
    let (mut what, mut head) = (String::new(), String::new());
    let is_ours = (&mut file).take(64).read_line(&mut what).is_ok() && what.trim_end() == WHAT_IT_IS;
    if !is_ours {
        return Err(format!("{} was not written by 'carrel tenant dump'", path.display()));
    }
    file.read_line(&mut head).map_err(with_path)?;
    let entry = serde_json::from_str(&head).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((entry, file))
}

/// All or nothing.
fn fill(server: &Server, rest: impl Read) -> Result<(), String> {
    fill_by(program("pg_restore", server)?, server, rest)
}

fn fill_by(mut command: Command, server: &Server, mut rest: impl Read) -> Result<(), String> {
    let database = server.config.get_dbname().unwrap_or("postgres").to_owned();
    let mut child = command
        .args(["--single-transaction", "--exit-on-error", "--no-privileges", "--dbname", &database])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started("pg_restore", &error))?;
    let mut input = child.stdin.take().expect("the pipe was requested");
    // If pg_dump fails, its own message is more precise.
    let copied = std::io::copy(&mut rest, &mut input);
    drop(input);
    succeeded("pg_restore", child.wait_with_output())?;
    copied.map(|_| ()).map_err(|error| format!("reading the file: {error}"))
}

/// Streams from one server to the other without a file.
fn pass_on(source: &CopySource) -> Result<(), String> {
    let mut command = pg_dump(&source.entry, &source.from)?;
    command.env("PGAPPNAME", source.application_name());
    if let Some(snapshot) = &source.snapshot {
        command.arg(format!("--snapshot={snapshot}"));
    }
    let mut dump = command.stdout(Stdio::piped()).spawn().map_err(|error| not_started("pg_dump", &error))?;
    let output = dump.stdout.take().expect("the pipe was requested");
    let mut restore = program("pg_restore", &source.to)?;
    restore.env("PGAPPNAME", source.application_name());
    let filled = fill_by(restore, &source.to, output);
    let dumped = dump.wait_with_output();
    // If pg_restore fails, SIGPIPE may end pg_dump: then the reason is pg_restore's.
    if dumped.as_ref().is_ok_and(|output| output.status.code().is_none()) {
        filled?;
        return succeeded("pg_dump", dumped);
    }
    succeeded("pg_dump", dumped)?;
    filled
}

/// `pg_dump` of the tenant's schema.
fn pg_dump(entry: &Entry, server: &Server) -> Result<Command, String> {
    let mut command = program("pg_dump", server)?;
    command.args(["--format=custom", "--no-privileges", "--schema", &schema_of(&entry.id)]);
    Ok(command)
}

fn program(name: &str, server: &Server) -> Result<Command, String> {
    own_program(name).map(|program| with_address(program, server))
}
