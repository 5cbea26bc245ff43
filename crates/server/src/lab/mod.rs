//! `carrel lab`: the load player. With an address it plays against any FOLIO-compatible server; without one it starts a
//! server with generated data, and runs the floor on the same database.

mod data;
mod gate;
mod own_server;
mod play;
mod reference;

use carrel_embedded_postgres::{EmbeddedPostgres, Purpose, own_program};
use carrel_lab::{
    CicoOptions, Credentials, FloorOptions, HoldsOptions, LoadOptions, RunOptions, TestDataFiles, Timing,
};
use clap::{Args, Subcommand, ValueEnum};
use own_server::Server;
use play::PlayArguments;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Measure the least that the database must do for a scan.
    Floor {
        #[command(flatten)]
        target: Target,
    },
    /// Play bare scans, holds or list refreshes at saturation and at a common rate, and the floor for comparison.
    Run {
        workload: Workload,
        #[command(flatten)]
        target: Target,
        /// Folder of the desk's sources, for the workload `desk`.
        #[arg(long, env = "CARREL_WEB", default_value = "web")]
        web: PathBuf,
        /// Write a report for people.
        #[arg(long)]
        report: Option<PathBuf>,
    },
    /// Play a workload file and write a report.
    Play(Box<PlayArguments>),
    /// Reproduce the five reports of FOLIO's Performance Task Force.
    Reference(Box<reference::ReferenceArguments>),
    /// Fail when a desk action costs more than the committed baseline allows.
    Gate(gate::GateArguments),
    /// List the shipped workloads.
    Workloads,
    /// Compare runs of `lab play`, or one with published figures (`reference:NAME`), with the first one.
    Compare {
        /// JSON files of runs, or `reference:NAME`.
        #[arg(required = true, num_args = 2..)]
        runs: Vec<String>,
        /// Write the comparison as a page.
        #[arg(long)]
        html: Option<PathBuf>,
    },
    /// Fill a tenant with a generated library, and say how long it took and how large it is.
    Data(data::DataArguments),
    /// Fill a server with generated items and users through the public API.
    Load {
        #[command(flatten)]
        target: Target,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Check-out and check-in.
    Cico,
    /// Placing a hold: item level, instance level, by the patron.
    Holds,
    /// Refreshing lists, compared with one statement that stores the same result.
    Lists,
    /// Scans at the staff desk in a browser.
    Desk,
}

/// The server and the data of a run.
#[derive(Debug, Clone, Args)]
pub struct Target {
    /// A running server; without it one is started on the data directory.
    #[arg(long)]
    address: Option<String>,
    /// The server's database, for the floor; known if the lab started the server.
    #[arg(long)]
    database: Option<String>,
    /// Directory of the server that is started.
    #[arg(long, default_value = "data/lab")]
    data: PathBuf,
    #[arg(long, default_value = "diku")]
    tenant: String,
    #[arg(long, default_value = "diku_admin")]
    username: String,
    /// Password of the user.
    #[arg(long, env = "CARREL_LAB_PASSWORD", default_value = "admin-of-the-lab", hide_env_values = true)]
    password: String,
    /// Items in the data set.
    #[arg(long, default_value_t = 100_000)]
    items: u64,
    /// Users in the data set.
    #[arg(long, default_value_t = 20_000)]
    patrons: u64,
    /// Items that are on loan before check-outs and check-ins are measured; they stay so.
    #[arg(long, default_value_t = 20_000)]
    open_loans: usize,
    /// Process id of a server given by --address, for its processor time.
    #[arg(long)]
    server_pid: Option<u32>,
    /// Shorten the run to about a minute.
    #[arg(long)]
    quick: bool,
    /// Write the figures as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

impl Target {
    fn timing(&self) -> Timing {
        if self.quick { Timing::quick() } else { Timing::thorough() }
    }

    fn credentials(&self) -> Credentials {
        Credentials {
            tenant: self.tenant.clone(),
            username: self.username.clone(),
            password: self.password.clone(),
        }
    }
}

/// Runs the command.
pub async fn run(command: LabCommand) -> Result<(), String> {
    match command {
        LabCommand::Floor { target } => {
            let (database, _postgres) = database_of(&target)?;
            carrel_lab::floor(FloorOptions {
                database,
                pgbench: pgbench()?,
                items: target.items,
                users: target.patrons,
                timing: target.timing(),
                json: target.json.clone(),
                commit: version(),
            })
            .await
            .map(|_| ())
            .map_err(|error| error.to_string())
        }
        LabCommand::Load { target } => {
            let server = Server::of(&target, 1).await?;
            load(&target, &server.address).await
        }
        LabCommand::Run { workload, target, web, report } => {
            let server = Server::of(&target, 1).await?;
            if server.is_ours() {
                load(&target, &server.address).await?;
            }
            match workload {
                Workload::Desk => desk(&target, &server, web),
                Workload::Lists => lists(&target, &server).await,
                Workload::Holds => holds(&target, &server, report).await,
                Workload::Cico => cico(&target, &server, report).await,
            }
        }
        LabCommand::Data(arguments) => data::run(arguments).await,
        LabCommand::Play(arguments) => play::run(*arguments).await,
        LabCommand::Reference(arguments) => reference::run(*arguments).await,
        LabCommand::Gate(arguments) => gate::run(arguments).await,
        LabCommand::Workloads => play::list(),
        LabCommand::Compare { runs, html } => play::compare(&runs, html.as_deref()),
    }
}

async fn cico(target: &Target, server: &Server, report: Option<PathBuf>) -> Result<(), String> {
    carrel_lab::run_cico(CicoOptions {
        address: server.address.clone(),
        credentials: target.credentials(),
        files: TestDataFiles::default(),
        most_items: 20_000,
        most_users: 5_000,
        open_loans: target.open_loans,
        run: run_options(target, server, target.timing(), report)?,
    })
    .await
    .map_err(|error| error.to_string())?;
    server.tell_memory();
    Ok(())
}

async fn holds(target: &Target, server: &Server, report: Option<PathBuf>) -> Result<(), String> {
    let loaded = load_options(target, &server.address);
    carrel_lab::run_holds(HoldsOptions {
        address: server.address.clone(),
        credentials: target.credentials(),
        library: loaded.library(),
        run: run_options(target, server, target.timing().for_holds(), report)?,
    })
    .await
    .map_err(|error| error.to_string())?;
    server.tell_memory();
    Ok(())
}

fn desk(target: &Target, server: &Server, web: PathBuf) -> Result<(), String> {
    carrel_lab::run_desk(&carrel_lab::DeskOptions {
        address: server.address.clone(),
        credentials: target.credentials(),
        web,
        json: target.json.clone(),
    })
    .map_err(|error| error.to_string())
}

async fn lists(target: &Target, server: &Server) -> Result<(), String> {
    let database = target.database.clone().or_else(|| server.database.clone());
    carrel_lab::run_lists(carrel_lab::ListsOptions {
        address: server.address.clone(),
        credentials: target.credentials(),
        database: database.ok_or("lists are measured beside a statement: give --database")?,
        server: target.server_pid.or_else(|| server.process_id()),
        json: target.json.clone(),
    })
    .await
    .map_err(|error| error.to_string())?;
    server.tell_memory();
    Ok(())
}

fn run_options(
    target: &Target,
    server: &Server,
    timing: Timing,
    report: Option<PathBuf>,
) -> Result<RunOptions, String> {
    let database = target.database.clone().or_else(|| server.database.clone());
    Ok(RunOptions {
        pgbench: database.is_some().then(pgbench).transpose()?,
        database,
        server: target.server_pid.or_else(|| server.process_id()),
        timing,
        json: target.json.clone(),
        report,
        commit: version(),
    })
}

/// PostgreSQL's load generator, which runs the floor.
fn pgbench() -> Result<PathBuf, String> {
    Ok(own_program("pgbench")?.get_program().into())
}

async fn load(target: &Target, address: &str) -> Result<(), String> {
    let loaded = carrel_lab::load(load_options(target, address)).await;
    loaded.map(|_| ()).map_err(|error| error.to_string())
}

fn load_options(target: &Target, address: &str) -> LoadOptions {
    LoadOptions {
        address: address.to_owned(),
        credentials: target.credentials(),
        items: target.items,
        users: target.patrons,
        ..LoadOptions::default()
    }
}

fn version() -> Option<String> {
    Some(env!("CARGO_PKG_VERSION").to_owned())
}

/// The database for the floor alone.
fn database_of(target: &Target) -> Result<(String, Option<EmbeddedPostgres>), String> {
    if let Some(database) = &target.database {
        return Ok((database.clone(), None));
    }
    let postgres = EmbeddedPostgres::start(&target.data, Purpose::Production)?;
    Ok((postgres.url("postgres"), Some(postgres)))
}
