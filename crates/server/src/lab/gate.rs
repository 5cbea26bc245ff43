//! `carrel lab gate`: the check in CI that desk actions did not become more expensive.

use super::own_server::Server;
use super::{Target, run_options};
use carrel_lab::{CicoOptions, GateFigures, GateRuns, TestDataFiles, Timing};
use clap::Args;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Numbers of users at which processor time is compared.
const USERS: [usize; 2] = [1, 8];

/// Arguments of `lab gate`.
#[derive(Debug, Args)]
pub struct GateArguments {
    #[command(flatten)]
    pub target: Target,
    /// The committed figures.
    #[arg(long, default_value = "lab/gate.json")]
    pub baseline: PathBuf,
    /// Write the figures as the new baseline instead of comparing.
    #[arg(long)]
    pub update: bool,
    /// Compare exact counts only, not processor time: for debug builds.
    #[arg(long)]
    pub counts_only: bool,
    /// Measure so many times: medians are compared, and the spread of the repeats is printed, or written with --update as
    /// the noise of the ratios.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
}

/// Measures, and fails if something got worse.
pub async fn run(arguments: GateArguments) -> Result<(), String> {
    let target = &arguments.target;
    let to_text = |error: carrel_lab::LabError| error.to_string();
    // A missing baseline must be reported before the measurement.
    let text = match std::fs::read_to_string(&arguments.baseline) {
        Ok(text) => text,
        Err(_) if arguments.update => "{}".to_owned(),
        Err(error) => return Err(format!("{}: {error}; --update writes it", arguments.baseline.display())),
    };
    let mut baseline = carrel_lab::gate_baseline(&text).map_err(to_text)?;
    let server = Server::of(target, 1).await?;
    let database = target.database.clone().or_else(|| server.database.clone());
    let database = database.ok_or("the gate needs the server's database: give --database")?;
    if server.is_ours() {
        super::play::fill(target, &server, &target.credentials(), &database).await?;
    }
    let mut runs = GateRuns::default();
    for number in 1..=arguments.repeat {
        if arguments.repeat > 1 {
            eprintln!("run {number} of {}", arguments.repeat);
        }
        let counted =
            carrel_lab::count_actions(server.address.clone(), target.credentials(), database.clone());
        let mut figures = counted.await.map_err(to_text)?;
        if !arguments.counts_only {
            figures.extend(ratios(target, &server).await?);
        }
        runs.add(figures);
    }
    if arguments.repeat > 1 {
        println!("{}", runs.steadiness(&baseline));
    }
    if arguments.update {
        baseline.extend(runs.baseline());
        let text = format!("{:#}\n", carrel_lab::gate_json(&baseline));
        return std::fs::write(&arguments.baseline, text)
            .map_err(|error| format!("{}: {error}", arguments.baseline.display()));
    }
    let (table, worse) = carrel_lab::judge(&runs.medians(), &baseline);
    print!("{table}");
    match worse.is_empty() {
        true => Ok(()),
        false => Err(format!("worse than {}:\n  {}", arguments.baseline.display(), worse.join("\n  "))),
    }
}

/// The floor's processor time divided by that of check-outs and check-ins, saturated.
async fn ratios(target: &Target, server: &Server) -> Result<GateFigures, String> {
    let timing = Timing {
        levels: USERS.to_vec(),
        saturated: Duration::from_secs(1),
        paced: Duration::from_millis(200),
        rounds: 6,
        ..Timing::quick()
    };
    let report = carrel_lab::run_cico(CicoOptions {
        address: server.address.clone(),
        credentials: target.credentials(),
        files: TestDataFiles::default(),
        most_items: 20_000,
        most_users: 5_000,
        open_loans: 0,
        run: run_options(target, server, timing, None)?,
    })
    .await
    .map_err(|error| error.to_string())?;
    let json = report.json();
    let mut figures = GateFigures::new();
    for (operation, by_users) in json["cpu_ratio"].as_object().into_iter().flatten() {
        for (users, ratio) in by_users.as_object().into_iter().flatten() {
            if let Some(ratio) = Value::as_f64(ratio) {
                figures.insert(format!("cpu ratio: {}, {users} users", operation.replace('_', "-")), ratio);
            }
        }
    }
    Ok(figures)
}
