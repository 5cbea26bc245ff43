//! `carrel lab play`, `lab workloads` and `lab compare`.

use super::own_server::{Server, tenant_name};
use super::{Target, load_options, pgbench, version};
use carrel_lab::{
    Address, Credentials, Figures, Form, PlayOptions, PlayReport, Process, PrometheusOptions, SHIPPED,
    WatchOptions, Workload,
};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `lab play`.
#[derive(Debug, Args)]
pub struct PlayArguments {
    /// A workload file, or the name of a shipped one (`carrel lab workloads`).
    pub workload: String,
    #[command(flatten)]
    pub target: Target,
    /// Numbers of users, one level after the other, instead of the workload's.
    #[arg(long, value_delimiter = ',')]
    pub users: Vec<usize>,
    /// Length of a level in seconds, ramp-up included, instead of the workload's.
    #[arg(long)]
    pub seconds: Option<f64>,
    /// Divides the plan's pauses and multiplies its arrivals, instead of the workload's.
    #[arg(long)]
    pub pace: Option<f64>,
    /// How often each level is played; the spread of the repeats is reported as noise.
    #[arg(long, default_value_t = 1)]
    pub repeats: usize,
    /// Write PREFIX.html, PREFIX.md and PREFIX.json.
    #[arg(long, value_name = "PREFIX")]
    pub report: Option<PathBuf>,
    /// Compare with the JSON file of another run, or with published figures (`reference:NAME`).
    #[arg(long)]
    pub baseline: Option<String>,
    /// Send at most this many calls per second.
    #[arg(long)]
    pub most_per_second: Option<f64>,
    /// Run at most this many turns at the same time.
    #[arg(long, default_value_t = 2000)]
    pub most_users: usize,
    /// Play each transaction once with one user, show every call, measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Show the run on a page of this machine while it goes on; without a port, on a free one.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub live: Option<u16>,
    /// Check in the items that the run checked out, and run the workload's clean-up steps, on a server given by
    /// --address, too.
    #[arg(long)]
    pub clean_up: bool,
    /// Further tenants, as TENANT or TENANT:USERNAME; the password is the same.
    #[arg(long = "with-tenant", value_name = "TENANT[:USERNAME]")]
    pub with_tenants: Vec<String>,
    /// A process to observe, besides the server and its database.
    #[arg(long = "watch", value_name = "NAME=PID")]
    pub watched: Vec<String>,
    /// A Prometheus server.
    #[arg(long)]
    pub prometheus: Option<String>,
    /// Query for Prometheus instead of the default ones.
    #[arg(long = "prometheus-query", value_name = "NAME=EXPRESSION")]
    pub prometheus_queries: Vec<String>,
    /// Take a flame graph of the server for this many seconds of each level (Carrel only).
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=50))]
    pub flame_graph: u64,
    /// Remark on this run, for the report.
    #[arg(long, default_value = "")]
    pub condition: String,
    /// Seed of the choice of transactions, pauses and random arrivals.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl PlayArguments {
    /// The default arguments of a workload.
    pub fn of(workload: &str, target: Target) -> PlayArguments {
        PlayArguments {
            workload: workload.to_owned(),
            target,
            users: Vec::new(),
            seconds: None,
            pace: None,
            repeats: 1,
            report: None,
            baseline: None,
            most_per_second: None,
            most_users: 2000,
            dry_run: false,
            live: None,
            clean_up: false,
            with_tenants: Vec::new(),
            watched: Vec::new(),
            prometheus: None,
            prometheus_queries: Vec::new(),
            flame_graph: 0,
            condition: String::new(),
            seed: 1,
        }
    }
}

/// Plays a workload on the given server, or on a new one.
pub async fn run(arguments: PlayArguments) -> Result<(), String> {
    let workload = Workload::find(&arguments.workload).map_err(|error| error.to_string())?;
    let server = Server::of(&arguments.target, workload.tenants()).await?;
    play_on(&arguments, &server).await.map(|_| ())
}

/// Plays a workload, prints the figures, writes the report.
pub async fn play_on(arguments: &PlayArguments, server: &Server) -> Result<PlayReport, String> {
    let to_text = |error: carrel_lab::LabError| error.to_string();
    let workload = Workload::find(&arguments.workload).map_err(to_text)?;
    // A misspelled name must be reported before the run.
    let baseline = arguments.baseline.as_deref().map(Figures::read).transpose().map_err(to_text)?;
    let target = &arguments.target;
    let tenants = tenants(arguments, server, workload.tenants());
    if let Some(database) = server.database.as_ref().filter(|_| server.is_ours()) {
        for credentials in &tenants {
            fill(target, server, credentials, database).await?;
        }
    }
    let options = options(arguments, workload, server, tenants)?;
    let report = carrel_lab::play(options).await.map_err(to_text)?;
    print!("{}", report.table());
    if let Some(prefix) = &arguments.report {
        report.save(prefix, baseline.as_ref()).map_err(to_text)?;
    }
    if let Some(file) = &target.json {
        std::fs::write(file, format!("{:#}\n", report.json()))
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(report)
}

/// Fills a tenant of the lab's server through COPY; one that already has a part of the data goes on through the API.
pub async fn fill(
    target: &Target,
    server: &Server,
    credentials: &Credentials,
    database: &str,
) -> Result<(), String> {
    let copied = super::data::copy(target, &server.address, credentials, database.to_owned()).await;
    let Err(error) = copied else { return Ok(()) };
    eprintln!("{error}; loading through the API");
    let options =
        carrel_lab::LoadOptions { credentials: credentials.clone(), ..load_options(target, &server.address) };
    carrel_lab::load(options).await.map(|_| ()).map_err(|error| error.to_string())
}

/// Prints the shipped workloads.
pub fn list() -> Result<(), String> {
    for (name, _) in SHIPPED {
        let workload = Workload::find(name).map_err(|error| error.to_string())?;
        println!("{name:<22} {}", workload.title);
    }
    println!("\npublished figures for --baseline and compare:");
    for name in carrel_lab::reference_names() {
        println!("reference:{name}");
    }
    Ok(())
}

/// Prints a comparison as Markdown, and writes it as a page.
pub fn compare(runs: &[String], html: Option<&Path>) -> Result<(), String> {
    let document = carrel_lab::compare(runs).map_err(|error| error.to_string())?;
    println!("{}", document.markdown());
    match html {
        Some(file) => {
            std::fs::write(file, document.html()).map_err(|error| format!("{}: {error}", file.display()))
        }
        None => Ok(()),
    }
}

fn tenants(arguments: &PlayArguments, server: &Server, wanted: usize) -> Vec<Credentials> {
    let first = arguments.target.credentials();
    let mut tenants = vec![first.clone()];
    for text in &arguments.with_tenants {
        let (tenant, username) = text.split_once(':').unwrap_or((text, &first.username));
        tenants.push(Credentials { tenant: tenant.into(), username: username.into(), ..first.clone() });
    }
    if server.is_ours() {
        for number in tenants.len() + 1..=wanted {
            tenants.push(Credentials { tenant: tenant_name(&first.tenant, number), ..first.clone() });
        }
    }
    tenants
}

fn options(
    arguments: &PlayArguments,
    workload: Workload,
    server: &Server,
    tenants: Vec<Credentials>,
) -> Result<PlayOptions, String> {
    let target = &arguments.target;
    let form = form(arguments, &workload)?;
    if arguments.most_per_second.is_some_and(|most| most <= 0.0) || arguments.most_users == 0 {
        return Err("--most-per-second and --most-users must be above 0".into());
    }
    let database = target.database.clone().or_else(|| server.database.clone());
    Ok(PlayOptions {
        workload,
        form,
        repeats: arguments.repeats.max(1),
        address: server.address.clone(),
        watch: watch(arguments, server, &database, &tenants[0])?,
        tenants,
        most_items: 20_000,
        most_records: 10_000,
        most_per_second: arguments.most_per_second,
        most_users: arguments.most_users,
        clean_up: server.is_ours() || arguments.clean_up,
        dry_run: arguments.dry_run,
        live: arguments.live,
        floor: database.map(|database| Ok::<_, String>((database, pgbench()?))).transpose()?,
        seed: arguments.seed,
        commit: version(),
        command: command(),
        condition: arguments.condition.clone(),
    })
}

fn form(arguments: &PlayArguments, workload: &Workload) -> Result<Form, String> {
    let mut form = if arguments.target.quick { workload.short.clone() } else { workload.long.clone() };
    if !arguments.users.is_empty() {
        form.users.clone_from(&arguments.users);
    }
    if form.users.contains(&0) {
        return Err("--users must be above 0".into());
    }
    if let Some(seconds) = arguments.seconds {
        form.length = Duration::try_from_secs_f64(seconds).map_err(|error| format!("--seconds: {error}"))?;
    }
    form.pace = arguments.pace.unwrap_or(form.pace);
    if form.length.is_zero() || form.pace.is_nan() || form.pace <= 0.0 {
        return Err("--seconds and --pace must be above 0".into());
    }
    Ok(form)
}

fn watch(
    arguments: &PlayArguments,
    server: &Server,
    database: &Option<String>,
    credentials: &Credentials,
) -> Result<WatchOptions, String> {
    let target = &arguments.target;
    let mut processes =
        vec![Process { name: "generator".into(), id: std::process::id(), with_children: false }];
    if let Some(id) = target.server_pid.or_else(|| server.process_id()) {
        processes.push(Process { name: "server".into(), id, with_children: false });
    }
    for text in &arguments.watched {
        let (name, id) =
            text.split_once('=').ok_or_else(|| format!("--watch {text}: NAME=PID is expected"))?;
        let id = id.parse().map_err(|error| format!("--watch {text}: {error}"))?;
        processes.push(Process { name: name.into(), id, with_children: true });
    }
    let address = |text: &str| Address::parse(text).map_err(|error| error.to_string());
    let prometheus = match &arguments.prometheus {
        None => None,
        Some(text) => {
            let query = |text: &String| {
                let (name, query) = text.split_once('=')?;
                Some((name.to_owned(), query.to_owned()))
            };
            let queries: Option<Vec<_>> = arguments.prometheus_queries.iter().map(query).collect();
            let queries = queries.ok_or("--prometheus-query: NAME=EXPRESSION is expected")?;
            Some(PrometheusOptions { address: address(text)?, queries })
        }
    };
    Ok(WatchOptions {
        processes,
        database: database.clone(),
        server: Some((address(&server.address)?, credentials.clone())),
        prometheus,
        log: server.log.clone(),
        flame_graph: arguments.flame_graph,
    })
}

/// The command that repeats the run, without passwords.
fn command() -> String {
    let mut words = vec!["./carrel".to_owned()];
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--password" {
            arguments.next();
        } else if !argument.starts_with("--password=") {
            let is_plain =
                argument.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=,".contains(&byte));
            words.push(if is_plain { argument } else { format!("'{}'", argument.replace('\'', "'\\''")) });
        }
    }
    words.join(" ")
}
