//! The context of figures: program, machine, database, and amount of data.

use crate::client::{Connection, Session};
use crate::error::Result;
use serde_json::{Value, json};
use std::fmt;
use std::fs;
use std::process::Command;

/// Program, machine and database of a run.
#[derive(Debug, Clone)]
pub struct About {
    /// Version of the program under test, or "unknown".
    pub commit: String,
    /// Processor, cores, memory, kernel.
    pub machine: String,
    /// Version and durability settings, if the lab has the database's address.
    pub database: Option<String>,
    /// When the run ended.
    pub when: jiff::Timestamp,
}

impl About {
    /// This machine, now. Without a given commit, that of the working directory is used.
    pub fn here(commit: Option<String>) -> About {
        let commit = commit.or_else(checked_out_commit).unwrap_or_else(|| "unknown".into());
        About { commit, machine: machine(), database: None, when: jiff::Timestamp::now() }
    }

    /// Adds the database's version and settings.
    pub fn with_database(mut self, database: String) -> About {
        self.database = Some(database);
        self
    }
}

/// The numbers of records of the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSize {
    /// Items.
    pub items: u64,
    /// Users.
    pub users: u64,
    /// Items with another status than Available: few enough to be counted exactly, while the total is estimated.
    pub away: u64,
    /// Open loans.
    pub open_loans: u64,
    /// Open requests.
    pub open_requests: u64,
}

impl DataSize {
    /// Reads the numbers from the API.
    pub async fn ask(connection: &mut Connection, session: &Session) -> Result<DataSize> {
        let mut totals = [0; 5];
        let targets = [
            "/item-storage/items?limit=0",
            "/users?limit=0",
            "/item-storage/items?query=status.name%3C%3E%22Available%22&limit=0",
            "/loan-storage/loans?query=status.name==%22Open%22&limit=0",
            "/request-storage/requests?query=status==%22Open*%22&limit=0",
        ];
        for (total, target) in totals.iter_mut().zip(targets) {
            *total = session.get(connection, target).await?["totalRecords"].as_u64().unwrap_or(0);
        }
        let [items, users, away, open_loans, open_requests] = totals;
        Ok(DataSize { items, users, away, open_loans, open_requests })
    }

    /// The sizes as JSON.
    pub fn json(&self) -> Value {
        json!({ "items": self.items, "users": self.users, "open_loans": self.open_loans,
            "open_requests": self.open_requests })
    }
}

impl fmt::Display for DataSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DataSize { items, users, away, open_loans, open_requests } = self;
        write!(
            f,
            "{items} items ({away} not available), {users} users, {open_loans} open loans, \
            {open_requests} open requests"
        )
    }
}

fn checked_out_commit() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let processor =
        after(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = after(&read("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or_else(String::new, |kib| format!(", {} GiB", kib.div_ceil(1 << 20)));
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{processor}, {cores} cores{memory}, {} {}", std::env::consts::OS, kernel.trim())
}
