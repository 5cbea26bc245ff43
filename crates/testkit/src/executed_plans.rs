//! The plans that PostgreSQL executed for the statements of a test, with the rows, buffers and WAL of each.
//!
//! The extension `auto_explain` is loaded into every connection of the test's database and writes each executed plan
//! to the server's log, from which it is read here.

use crate::cluster::CONNECTIONS;
use crate::server::TestServer;
use serde_json::Value;
use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// A recording of all statements of a test's database from its start on.
pub struct ExecutedPlans {
    log: PathBuf,
    /// Bytes of the log from before the recording, or already read.
    read_to: u64,
    database: String,
    looker: tokio_postgres::Client,
}

/// A statement that was executed.
#[derive(Debug, Clone)]
pub struct ExecutedPlan {
    pub statement: String,
    /// The plan in PostgreSQL's JSON format, with actual rows, buffers and WAL.
    pub plan: Value,
}

impl TestServer {
    /// Records the plans of all statements from now on. The server's connections are replaced by new ones, so that each
    /// statement is planned again with the current tables.
    pub async fn record_plans(&self) -> ExecutedPlans {
        let looker = self.cluster.connect("postgres").await;
        let database = self.database.clone();
        for setting in [
            "session_preload_libraries = 'auto_explain'",
            "auto_explain.log_min_duration = 0",
            "auto_explain.log_analyze = on",
            "auto_explain.log_buffers = on",
            "auto_explain.log_wal = on",
            "auto_explain.log_timing = off",
            "auto_explain.log_format = 'json'",
        ] {
            let sql = format!("ALTER DATABASE {database} SET {setting}");
            looker.batch_execute(&sql).await.expect("a database can be given settings");
        }
        self.replace_connections().await;
        let log = self.cluster.log();
        let read_to = std::fs::metadata(&log).map_or(0, |file| file.len());
        ExecutedPlans { log, read_to, database, looker }
    }

    /// Ends all connections to the test's database and opens the writing ones again. The statistics of the old ones are
    /// then in PostgreSQL's views.
    pub async fn replace_connections(&self) {
        let looker = self.cluster.connect("postgres").await;
        let ours = "FROM pg_stat_activity WHERE datname = $1";
        let old = looker
            .query(&format!("SELECT pid, pg_terminate_backend(pid) {ours}"), &[&self.database])
            .await
            .expect("connections can be ended");
        let old: Vec<i32> = old.iter().map(|row| row.get(0)).collect();
        // A process that received the signal to end may still exist.
        let still = format!("SELECT 1 {ours} AND pid = ANY($2)");
        while !looker.query(&still, &[&self.database, &old]).await.expect("activity can be read").is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let mut all_answer = false;
        while !all_answer {
            let mut connections = Vec::new();
            for _ in 0..CONNECTIONS {
                connections.push(self.tenant.writer().await.expect("the database answers"));
            }
            all_answer = true;
            for connection in &connections {
                all_answer &= connection.query("SELECT 1", vec![]).await.is_ok();
            }
        }
    }
}

impl ExecutedPlans {
    /// The statements that were executed since the last call, in the order in which they ended.
    pub async fn take(&mut self) -> Vec<ExecutedPlan> {
        let rows = self
            .looker
            .query("SELECT pid FROM pg_stat_activity WHERE datname = $1", &[&self.database])
            .await
            .expect("activity can be read");
        let ours: HashSet<i32> = rows.iter().map(|row| row.get(0)).collect();
        let mut file = std::fs::File::open(&self.log).expect("the server's log can be read");
        file.seek(SeekFrom::Start(self.read_to)).expect("the log is a file");
        let mut text = String::new();
        self.read_to += file.read_to_string(&mut text).expect("the log is text") as u64;
        plans_in(&text).filter(|(pid, _)| ours.contains(pid)).map(|(_, plan)| plan).collect()
    }
}

/// The plans in a part of the log, each with the process that executed it. Lines of a message after its first begin
/// with a tabulator.
fn plans_in(log: &str) -> impl Iterator<Item = (i32, ExecutedPlan)> {
    let mut lines = log.lines().peekable();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            if !line.ends_with(" plan:") {
                continue;
            }
            let mut json = String::new();
            while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
                json.push_str(more);
                json.push('\n');
            }
            let pid = line.split_once('[').and_then(|(_, rest)| rest.split(']').next()?.parse().ok());
            // The tabulators are also within the text of the statement, where JSON does not allow them.
            let read: Result<Value, _> = serde_json::from_str(&json.replace('\t', " "));
            if let (Some(pid), Ok(mut read)) = (pid, read) {
                let statement = read["Query Text"].as_str().unwrap_or_default().to_owned();
                return Some((pid, ExecutedPlan { statement, plan: read["Plan"].take() }));
            }
        }
    })
}

impl ExecutedPlan {
    /// The most rows that any part of the plan read from a table or an index, whether it kept them or not, with a
    /// description of that part.
    pub fn most_rows_read(&self) -> (u64, String) {
        let mut most = (0, String::new());
        let mut parts = vec![&self.plan];
        while let Some(part) = parts.pop() {
            parts.extend(part["Plans"].as_array().into_iter().flatten());
            let number = |key: &str| part[key].as_f64().unwrap_or(0.0);
            if part["Relation Name"].is_null() && part["Index Name"].is_null() {
                continue;
            }
            let rows = number("Actual Rows")
                + number("Rows Removed by Filter")
                + number("Rows Removed by Index Recheck");
            let rows = (rows * number("Actual Loops")).round() as u64;
            if rows > most.0 {
                let text = |key: &str| part[key].as_str().unwrap_or("").to_owned();
                most = (
                    rows,
                    format!("{} on {} {}", text("Node Type"), text("Relation Name"), text("Index Name")),
                );
            }
        }
        most
    }

    /// Pages of 8 KiB that the statement accessed, in memory or on disk.
    pub fn buffers(&self) -> u64 {
        self.total("Shared Hit Blocks") + self.total("Shared Read Blocks")
    }

    /// Bytes that the statement's own changes added to the write-ahead log.
    pub fn wal_bytes(&self) -> u64 {
        self.total("WAL Bytes")
    }

    /// A figure of the whole statement. Changes in a WITH clause that nothing refers to run after the rest, so the figures
    /// of the rest do not contain theirs.
    fn total(&self, key: &str) -> u64 {
        let of = |part: &Value| part[key].as_u64().unwrap_or(0);
        let parts = self.plan["Plans"].as_array().into_iter().flatten();
        let is_apart = |part: &&Value| {
            let name = part["Subplan Name"].as_str().and_then(|name| name.strip_prefix("CTE "));
            part["Node Type"] == "ModifyTable" && name.is_some_and(|name| !refers_to(&self.plan, name))
        };
        of(&self.plan) + parts.filter(is_apart).map(of).sum::<u64>()
    }
}

/// Whether a part of the plan reads what a WITH clause returns.
fn refers_to(plan: &Value, clause: &str) -> bool {
    plan["CTE Name"] == clause
        || plan["Plans"].as_array().into_iter().flatten().any(|part| refers_to(part, clause))
}
