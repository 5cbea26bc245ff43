//! `carrel lab`: the load player. With an address it plays against any FOLIO-compatible server; without one it
//! starts a server of its own, with a data set made for the purpose, and the floor on the same database.

use carrel_embedded_postgres::{EmbeddedPostgres, Purpose, own_program};
use carrel_lab::{
    CicoOptions, Credentials, FloorOptions, HoldsOptions, LoadOptions, PlanOptions, RunOptions,
    TestDataFiles, Timing,
};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Measure the least that the database must do for a scan: the yardstick.
    Floor {
        #[command(flatten)]
        target: Target,
    },
    /// Play a workload and print its figures beside the floor's.
    Run {
        workload: Workload,
        #[command(flatten)]
        target: Target,
        /// Play the transactions of a workload file instead of bare scans.
        #[arg(long)]
        plan: Option<PathBuf>,
        /// Virtual users of a plan.
        #[arg(long, default_value_t = 8)]
        users: usize,
        /// Seconds that a plan is played, ramp-up included.
        #[arg(long, default_value_t = 300)]
        seconds: u64,
        /// Write a report for people.
        #[arg(long)]
        report: Option<PathBuf>,
    },
    /// Fill a server with generated items and users.
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
    /// Refreshing lists, beside one statement that stores the same result.
    Lists,
}

/// Where to play, with what.
#[derive(Debug, Clone, Args)]
pub struct Target {
    /// A running server; without it one is started on the data directory.
    #[arg(long)]
    address: Option<String>,
    /// The server's database, for the floor; known where the server is our own.
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
    /// Within a minute or so.
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

/// Does what the command says.
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
            let server = Server::of(&target).await?;
            load(&target, &server.address).await
        }
        LabCommand::Run { workload, target, plan, users, seconds, report } => {
            if workload != Workload::Cico && plan.is_some() {
                return Err("a plan is played by `lab run cico`".into());
            }
            let server = Server::of(&target).await?;
            if server.is_ours() {
                load(&target, &server.address).await?;
            }
            match plan {
                None if workload == Workload::Lists => lists(&target, &server).await,
                None if workload == Workload::Holds => holds(&target, &server, report).await,
                None => cico(&target, &server, report).await,
                Some(file) => carrel_lab::run_plan(PlanOptions {
                    workload: file,
                    address: server.address.clone(),
                    credentials: target.credentials(),
                    files: TestDataFiles::default(),
                    users,
                    ramp_up: Duration::from_secs((users as u64).min(seconds / 4)),
                    duration: Duration::from_secs(seconds),
                    pause_factor: 1.0,
                    most_items: 20_000,
                    most_users: 5_000,
                    seed: 1,
                    json: target.json.clone(),
                    report,
                    commit: version(),
                })
                .await
                .map(|_| ())
                .map_err(|error| error.to_string()),
            }
        }
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

async fn lists(target: &Target, server: &Server) -> Result<(), String> {
    let database = target.database.clone().or_else(|| server.database.clone());
    carrel_lab::run_lists(carrel_lab::ListsOptions {
        address: server.address.clone(),
        credentials: target.credentials(),
        database: database.ok_or("lists are measured beside a statement: give --database")?,
        server: target.server_pid.or_else(|| server.process.as_ref().map(Child::id)),
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
        server: target.server_pid.or_else(|| server.process.as_ref().map(Child::id)),
        timing,
        json: target.json.clone(),
        report,
        commit: version(),
    })
}

/// PostgreSQL's load generator, which plays the floor.
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

/// The server that is played against: somebody's, or a process of our own that ends with the run.
struct Server {
    address: String,
    database: Option<String>,
    process: Option<Child>,
}

impl Server {
    async fn of(target: &Target) -> Result<Server, String> {
        if let Some(address) = &target.address {
            return Ok(Server { address: address.clone(), database: None, process: None });
        }
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let made = Command::new(&program)
            .args(["tenant", "create", &target.tenant, "--admin", &target.username, "--data"])
            .arg(&target.data)
            .env("CARREL_ADMIN_PASSWORD", &target.password)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // It fails where the tenant is there from an earlier run; the login tells whether all is well.
        let _ = made.map_err(|error| format!("the lab's tenant could not be made: {error}"))?;
        let port = free_port()?;
        let process = Command::new(&program)
            .args(["serve", "--port", &port.to_string(), "--data"])
            .arg(&target.data)
            .env("CARREL_LOG", "warn")
            .env("CARREL_LIST_REFRESH_VISIBLE", "0")
            .spawn()
            .map_err(|error| format!("the lab's server could not be started: {error}"))?;
        let server = Server {
            address: format!("http://127.0.0.1:{port}"),
            database: Some(format!(
                "host={} user=carrel dbname=postgres",
                carrel_embedded_postgres::socket_of(&target.data)?.display()
            )),
            process: Some(process),
        };
        server.wait_until_it_answers(port).await?;
        Ok(server)
    }

    fn is_ours(&self) -> bool {
        self.process.is_some()
    }

    async fn wait_until_it_answers(&self, port: u16) -> Result<(), String> {
        let started = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if started.elapsed() > Duration::from_secs(60) {
                return Err("the lab's server did not start within a minute".into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Prints how much memory a server of our own takes after the run.
    fn tell_memory(&self) {
        if let Some(bytes) = self.resident_bytes() {
            println!("resident memory of the server: {} MiB", bytes / 1024 / 1024);
        }
    }

    /// Resident memory of the process of our own.
    fn resident_bytes(&self) -> Option<u64> {
        let id = self.process.as_ref()?.id();
        let text = std::fs::read_to_string(format!("/proc/{id}/statm")).ok()?;
        let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * 4096)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // Asked to stop, the server stops its database too; killed, it would leave it running.
            let _ = Command::new("kill").arg(process.id().to_string()).status();
            let _ = process.wait();
        }
    }
}

fn free_port() -> Result<u16, String> {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no port is free: {error}"))
}
