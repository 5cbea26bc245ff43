//! Runs the floor by PostgreSQL's own `pgbench`, so that it does not depend on our driver.

use super::tables::SCHEMA;
use crate::error::{Context, LabError, Result};
use crate::player::Tempo;
use crate::samples::Samples;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// `pgbench` counts its running time in whole seconds.
const SHORTEST: Duration = Duration::from_secs(2);

/// A `pgbench` executable and its fixed arguments.
#[derive(Debug, Clone)]
pub struct Pgbench {
    pub program: PathBuf,
    /// Connection string or URL of the database.
    pub database: String,
    pub items: u64,
    pub users: u64,
}

impl Pgbench {
    /// Plays a phase with `workers` connections; a paced phase counts from the scheduled arrival, as the player does.
    pub fn play(&self, workers: usize, tempo: Tempo) -> Result<Samples> {
        let seconds = tempo.length().max(SHORTEST).as_secs_f64().round() as u64;
        let mut arguments = vec!["-T".to_owned(), seconds.to_string()];
        if let Tempo::Paced { rate, .. } = tempo {
            arguments.extend(["-R".to_owned(), rate.to_string()]);
        }
        self.run(workers, &arguments)
    }

    /// One transaction per connection: the cost of connecting and preparing.
    pub fn connect_only(&self, workers: usize) -> Result<Samples> {
        self.run(workers, &["-t".to_owned(), "1".to_owned()])
    }

    fn run(&self, workers: usize, arguments: &[String]) -> Result<Samples> {
        let folder = std::env::temp_dir().join(format!("carrel-lab-floor-{}", std::process::id()));
        let played = std::fs::create_dir_all(&folder)
            .context("creating a folder for pgbench")
            .and_then(|()| self.run_in(&folder, workers, arguments));
        let _ = std::fs::remove_dir_all(&folder);
        played
    }

    fn run_in(&self, folder: &Path, workers: usize, arguments: &[String]) -> Result<Samples> {
        let script = folder.join("floor.sql");
        std::fs::write(&script, script_of(self.items, self.users)).context("writing the floor's script")?;
        let output = Command::new(&self.program)
            .current_dir(folder)
            .args(["--no-vacuum", "--protocol=prepared", "--log", "--log-prefix=floor", "-c"])
            .arg(workers.to_string())
            .args(arguments)
            .arg("-f")
            .arg(&script)
            .arg(&self.database)
            .output()
            .context("starting pgbench")?;
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        let per_second = per_second(&output_text).filter(|_| output.status.success());
        let Some(per_second) = per_second else {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(LabError::new(format!("pgbench failed: {}", errors.trim())));
        };
        let mut samples = Samples::default();
        for entry in std::fs::read_dir(folder).context("reading pgbench's log")?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("floor.") && entry.path() != script {
                let log = std::fs::read_to_string(entry.path()).context("reading pgbench's log")?;
                log.lines().for_each(|line| read_transaction(line, &mut samples));
            }
        }
        samples.lasted(Duration::from_secs_f64(samples.count() as f64 / per_second.max(0.001)));
        Ok(samples)
    }
}

/// Transactions per second without the connection time, from the output of `pgbench`.
fn per_second(output_text: &str) -> Option<f64> {
    output_text.lines().find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse().ok())
}

/// A line of the log: client, number, microseconds, script, two parts of the time, and where arrivals are scheduled
/// the microseconds by which the transaction began late.
fn read_transaction(line: &str, samples: &mut Samples) {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let micros =
        |field: usize| fields.get(field).and_then(|text| text.parse().ok()).map(Duration::from_micros);
    match micros(2) {
        Some(answer) => samples.succeeded(answer, micros(6).unwrap_or_default()),
        None => samples.failed(format!("pgbench: {line}")),
    }
}

/// Five statements in one transaction: patron and item by barcode, a loan, the item's status, commit.
fn script_of(items: u64, users: u64) -> String {
    let by_barcode = |table: &str, number: &str, prefix: &str| {
        format!(
            "select id from {SCHEMA}.{table} where barcode = \
             '{prefix}-' || lpad(:{number}::text, greatest(6, length(:{number}::text)), '0') \\gset {table}_\n"
        )
    };
    format!(
        "\\set user random(1, {users})\n\\set copy random(1, {items})\nbegin;\n{}{}\
         insert into {SCHEMA}.loan (id, patron_id, item_id, loan_date) \
         values (gen_random_uuid(), :patron_id, :item_id, now());\n\
         update {SCHEMA}.item set status = 'Checked out' where id = :item_id;\ncommit;\n",
        by_barcode("patron", "user", "user"),
        by_barcode("item", "copy", "item"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_read_from_what_pgbench_prints() {
        let output_text =
            "number of clients: 8\nlatency average = 1.5 ms\ntps = 5331.25 (without initial connection time)";
        assert_eq!(per_second(output_text), Some(5331.25));
        assert_eq!(per_second("nothing"), None);
    }

    #[test]
    fn a_paced_transaction_has_its_wait() {
        let mut samples = Samples::default();
        read_transaction("0 1 2000 0 1700000000 123 500", &mut samples);
        read_transaction("0 2 2000 0 1700000000 456", &mut samples);
        read_transaction("0 3 failed 0 1700000000 456", &mut samples);
        assert_eq!((samples.count(), samples.failures()), (2, 1));
    }
}
