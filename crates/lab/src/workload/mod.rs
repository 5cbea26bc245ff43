//! A workload is a file: transactions as lists of calls with pauses and checks, the load, where the data come from,
//! what is done before and after. The format is described in `lab/workloads/README.md`; reading a file finds every
//! mistake before the first call is made.

mod call;
mod check;
mod engine;
mod file;
mod level;
mod play;
mod recorder;
mod shipped;
mod source;
mod steps;
mod template;
mod turn;

pub use level::LevelFigures;
pub use play::{PlayOptions, play};
pub use recorder::Track;
pub use shipped::SHIPPED;
pub use template::target;

use crate::error::{Context, LabError, Result};
use call::Call;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A workload that can be played.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Names the report.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// What a run is to find out.
    pub purpose: String,
    /// Where the plan comes from.
    pub source: String,
    /// How calls begin.
    pub load: Load,
    /// Users and length of a run in CI.
    pub short: Form,
    /// Users and length of a run whose figures are published.
    pub long: Form,
    /// Headers of every call besides tenant and token.
    pub headers: BTreeMap<String, String>,
    /// Variables that every turn takes from the data.
    pub data: BTreeMap<String, Source>,
    /// What is done before each level, unmeasured.
    pub prepare: Vec<Step>,
    /// What a turn may be.
    pub transactions: Vec<Transaction>,
    /// What is done after each level, unmeasured.
    pub clean_up: Vec<Step>,
    /// The workloads of a mix, which has no transactions of its own.
    pub parts: Vec<Part>,
}

/// A workload of a mix.
#[derive(Debug, Clone)]
pub struct Part {
    /// The workload.
    pub workload: Workload,
    /// With how many users.
    pub users: usize,
}

/// How turns begin.
#[derive(Debug, Clone)]
pub struct Load {
    /// By a schedule, or after each other.
    pub mode: Mode,
    /// Arrivals per minute and user of an open load, at pace 1.
    pub per_minute: f64,
    /// Arrivals come at random, at the same mean rate, instead of evenly.
    pub random_arrivals: bool,
    /// Who logs in.
    pub login: Login,
    /// What follows a failed turn of a closed load.
    pub after_failure: AfterFailure,
    /// Pause after a failed turn.
    pub failure_pause: Duration,
    /// Turns of each user of a closed load; without it users go on until the time is over.
    pub turns: Option<u64>,
    /// Number of tenants that are played at once.
    pub tenants: usize,
}

/// Whether arrivals wait for answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Arrivals follow a schedule and do not wait for slow answers.
    #[default]
    Open,
    /// Each user does one thing after the other: a slower server gets fewer calls.
    Closed,
}

/// Logins before the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// One for each tenant, whose token all users share.
    #[default]
    Shared,
    /// One for each user of a closed load, when they start.
    Each,
    /// None: the calls log in themselves.
    None,
}

/// What a user of a closed load does after a failed turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterFailure {
    /// Go on with the next turn.
    #[default]
    Next,
    /// Log in again first, as the public plans do.
    Login,
}

/// Users and length of a run.
#[derive(Debug, Clone)]
pub struct Form {
    /// Numbers of users, one level after the other.
    pub users: Vec<usize>,
    /// Length of a level, ramp-up included.
    pub length: Duration,
    /// From one user's start to the next one's.
    pub ramp_up: Duration,
    /// Pauses are divided by this and arrivals multiplied with it; 1 is the plan.
    pub pace: f64,
}

impl Form {
    fn short() -> Form {
        let (length, ramp_up) = (Duration::from_secs(5), Duration::from_millis(50));
        Form { users: vec![1, 8], length, ramp_up, pace: 10.0 }
    }

    fn long() -> Form {
        let (length, ramp_up) = (Duration::from_secs(1800), Duration::from_secs(10));
        Form { users: vec![1, 5, 8, 20], length, ramp_up, pace: 1.0 }
    }
}

/// Where a variable's rows come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Barcodes of active users.
    Users,
    /// Barcodes of available items.
    AvailableItems,
    /// Barcodes of items that are checked out before each level and checked in after it.
    LentItems,
    /// The desk's service point.
    ServicePoints,
    /// A field of the records of a collection.
    Records {
        /// Collection with query, without limit and offset.
        path: String,
        /// Key of the array in the answer.
        key: String,
        /// Path of the field in a record.
        field: String,
        /// The share of the collection, from 0 to 1, that is skipped.
        from: f64,
    },
    /// A column of a CSV file.
    File {
        /// The file.
        file: PathBuf,
        /// The column, counted from 1.
        column: usize,
    },
    /// The values themselves.
    Values(Vec<String>),
}

/// Something that is done before or after a level.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it is, for the terminal.
    pub name: String,
    /// How often it is done.
    pub times: Times,
    /// Its calls; a failed one ends the run.
    pub calls: Vec<Call>,
}

/// How often a step is done, in each tenant.
#[derive(Debug, Clone, PartialEq)]
pub enum Times {
    /// This many times.
    Number(u64),
    /// Once for each of the tenant's users.
    Users,
    /// Once for each row of a variable; of data, only for those that a turn used.
    Each(String),
}

/// One action of a member of staff.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Its name in the report.
    pub name: String,
    /// Its weight among the turns.
    pub share: f64,
    /// Its calls, in order.
    pub calls: Vec<Call>,
}

impl Workload {
    /// Finds a workload by the path of its file or by the name of a shipped one.
    pub fn find(name: &str) -> Result<Workload> {
        if let Some((_, text)) =
            SHIPPED.iter().find(|(shipped, _)| *shipped == name.trim_end_matches(".toml"))
        {
            let text = Workload::parse(text, &Workload::find);
            return text.map_err(|error| LabError::new(format!("{name}: {error}")));
        }
        let path = Path::new(name);
        if !path.is_file() {
            let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
            return Err(LabError::new(format!("{name} is neither a file nor one of {}", names.join(", "))));
        }
        let text = std::fs::read_to_string(path).context(format!("reading {name}"))?;
        let beside = |other: &str| {
            let file = path.parent().unwrap_or(Path::new("")).join(other);
            if file.is_file() { Workload::find(&file.to_string_lossy()) } else { Workload::find(other) }
        };
        Workload::parse(&text, &beside).map_err(|error| LabError::new(format!("{name}: {error}")))
    }

    /// The workloads that are played at once, with their number of users.
    pub fn parts(&self, users: usize) -> Vec<(&Workload, usize)> {
        if self.parts.is_empty() {
            return vec![(self, users)];
        }
        self.parts.iter().map(|part| (&part.workload, part.users)).collect()
    }

    /// The numbers of users of a form.
    pub fn levels(&self, form: &Form) -> Vec<usize> {
        if self.parts.is_empty() {
            return form.users.clone();
        }
        vec![self.parts.iter().map(|part| part.users).sum()]
    }

    /// The largest number of tenants of its parts.
    pub fn tenants(&self) -> usize {
        self.parts.iter().map(|part| part.workload.load.tenants).chain([self.load.tenants]).max().unwrap_or(1)
    }

    /// The transaction for a random number between 0 and 1.
    pub fn draw(&self, throw: f64) -> &Transaction {
        let mut left = throw * self.transactions.iter().map(|t| t.share).sum::<f64>();
        for transaction in &self.transactions {
            left -= transaction.share;
            if left < 0.0 {
                return transaction;
            }
        }
        self.transactions.last().expect("a workload that is played has a transaction")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_workload_is_sound() {
        for (name, _) in SHIPPED {
            let workload = Workload::find(name).unwrap();
            assert_eq!(workload.name, *name);
            assert!(!workload.purpose.is_empty(), "{name} has a purpose");
        }
    }

    #[test]
    fn the_public_plans_have_the_calls_that_were_counted_in_them() {
        for (name, check_in, check_out) in [
            ("cico-fameflower", [6, 7, 1], [16, 16, 1]),
            ("cico-november-2020", [8, 7, 1], [18, 18, 1]),
            ("cico-orchid", [12, 11, 1], [19, 19, 1]),
        ] {
            let plan = Workload::find(name).unwrap();
            let counts = |name: &str| {
                let transaction = plan.transactions.iter().find(|t| t.name == name).unwrap();
                ["OPTIONS", "GET", "POST"].map(|m| transaction.calls.iter().filter(|c| c.method == m).count())
            };
            assert_eq!((counts("check-in"), counts("check-out")), (check_in, check_out), "{name}");
        }
    }

    #[test]
    fn the_public_plans_pause_as_long_as_they_did_when_run() {
        for (name, expected) in
            [("cico-fameflower", [2.0, 5.5]), ("cico-november-2020", [2.0, 5.5]), ("cico-orchid", [6.5, 5.5])]
        {
            let plan = Workload::find(name).unwrap();
            let means: Vec<f64> =
                plan.transactions.iter().map(|t| t.calls.iter().map(Call::mean_pause).sum()).collect();
            assert_eq!(means, expected, "{name}");
        }
    }

    #[test]
    fn shares_decide_what_a_turn_is() {
        let plan = Workload::find("cico-orchid").unwrap();
        assert_eq!(plan.draw(0.42).name, "check-in");
        assert_eq!(plan.draw(0.44).name, "check-out");
        assert_eq!(plan.draw(0.999_999).name, "check-out");
    }
}
