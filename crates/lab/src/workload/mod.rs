//! A workload is a file: transactions as lists of calls with pauses and checks. The format is described in
//! `lab/workloads/README.md`; reading one finds every mistake before the first call is made.

mod call;
mod play;
mod turn;

pub use play::{PlanOptions, run_plan};

use crate::error::{Context, LabError, Result};
use call::Call;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A workload as it stands in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    source: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    data: BTreeMap<String, DataKind>,
    #[serde(default)]
    pauses: BTreeMap<String, [f64; 2]>,
    addresses: BTreeMap<String, String>,
    #[serde(default)]
    bodies: BTreeMap<String, String>,
    transaction: Vec<TransactionText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TransactionText {
    name: String,
    share: f64,
    calls: String,
}

/// Where a variable's rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataKind {
    /// Barcodes of active users.
    Users,
    /// Barcodes of available items.
    AvailableItems,
    /// Barcodes of items that are checked out.
    LentItems,
    /// The worker's service point.
    ServicePoints,
}

/// A workload that can be played.
#[derive(Debug)]
pub struct Workload {
    /// Names the report.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// Where the plan comes from.
    pub source: String,
    /// Headers of every call besides tenant and token.
    pub headers: BTreeMap<String, String>,
    /// Variables that every turn takes from the data.
    pub data: BTreeMap<String, DataKind>,
    /// What a turn may be.
    pub transactions: Vec<Transaction>,
}

/// What a member of staff would call one action.
#[derive(Debug)]
pub struct Transaction {
    /// Its name in the report.
    pub name: String,
    /// Its weight among the turns.
    pub share: f64,
    /// Its calls, in order.
    pub calls: Vec<Call>,
}

impl Workload {
    /// Reads a workload file.
    pub fn read(path: &Path) -> Result<Workload> {
        let text = std::fs::read_to_string(path).context(format!("reading {}", path.display()))?;
        Workload::parse(&text).map_err(|error| LabError::new(format!("{}: {error}", path.display())))
    }

    /// Reads the text of a workload file.
    pub fn parse(text: &str) -> Result<Workload> {
        let file: File = toml::from_str(text).context("reading the workload")?;
        let mut transactions = Vec::new();
        for transaction in &file.transaction {
            let mut calls = Vec::new();
            for line in transaction.calls.lines().map(str::trim).filter(|line| !line.is_empty()) {
                calls.extend(Call::parse(line, &file.pauses, &file.addresses, &file.bodies)?);
            }
            if calls.is_empty() || transaction.share <= 0.0 {
                let name = &transaction.name;
                return Err(LabError::new(format!("transaction {name} needs calls and a share above 0")));
            }
            transactions.push(Transaction {
                name: transaction.name.clone(),
                share: transaction.share,
                calls,
            });
        }
        if transactions.is_empty() {
            return Err(LabError::new("a workload needs a transaction"));
        }
        Ok(Workload {
            name: file.name,
            title: file.title,
            source: file.source,
            headers: file.headers,
            data: file.data,
            transactions,
        })
    }

    /// The transaction for a throw between 0 and 1.
    pub fn draw(&self, throw: f64) -> &Transaction {
        let mut left = throw * self.transactions.iter().map(|t| t.share).sum::<f64>();
        for transaction in &self.transactions {
            left -= transaction.share;
            if left < 0.0 {
                return transaction;
            }
        }
        self.transactions.last().expect("a workload has a transaction")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORCHID: &str = include_str!("../../../../lab/workloads/cico-orchid.toml");

    #[test]
    fn the_orchid_plan_has_the_calls_that_were_counted_in_it() {
        let plan = Workload::parse(ORCHID).unwrap();
        let counts = |name: &str| {
            let transaction = plan.transactions.iter().find(|t| t.name == name).unwrap();
            ["OPTIONS", "GET", "POST"].map(|m| transaction.calls.iter().filter(|c| c.method == m).count())
        };
        assert_eq!(counts("check-in"), [12, 11, 1]);
        assert_eq!(counts("check-out"), [19, 19, 1]);
    }

    #[test]
    fn the_orchid_plan_pauses_as_long_as_it_did_when_run() {
        let plan = Workload::parse(ORCHID).unwrap();
        let means: Vec<f64> = plan
            .transactions
            .iter()
            .map(|t| t.calls.iter().filter_map(|c| c.pause).map(|(from, to)| (from + to) / 2.0).sum())
            .collect();
        assert_eq!(means, [6.5, 5.5]);
    }

    #[test]
    fn shares_decide_what_a_turn_is() {
        let plan = Workload::parse(ORCHID).unwrap();
        assert_eq!(plan.draw(0.42).name, "check-in");
        assert_eq!(plan.draw(0.44).name, "check-out");
        assert_eq!(plan.draw(0.999_999).name, "check-out");
    }

    #[test]
    fn a_mistake_is_found_on_reading() {
        for (wrong, reported) in [
            ("O nowhere", "nowhere"),
            ("X items", "X items"),
            ("T9 G items", "T9"),
            ("P items missing-body", "missing-body"),
        ] {
            let text = format!(
                "name = 'n'\ntitle = 't'\nsource = 's'\n[addresses]\nitems = 'items'\n\
                [[transaction]]\nname = 'x'\nshare = 1\ncalls = '{wrong}'\n"
            );
            let error = Workload::parse(&text).unwrap_err().to_string();
            assert!(error.contains(reported), "{wrong}: {error}");
        }
    }
}
