//! The program `carrel`: command line and logging.

use carrel_server::lab::{self, LabCommand};
use carrel_server::tenants::{self, TenantCommand};
use carrel_server::{backup, config, demo, observability, serve};
use clap::{Parser, Subcommand};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A library services platform in one program that serves FOLIO's public API.
#[derive(Parser)]
#[command(name = "carrel", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve libraries.
    Serve(config::Settings),
    /// Serve a sample library with users, works and rules, to try Carrel out.
    Demo(config::Settings),
    /// Create, list, dump, restore, move and drop tenants.
    Tenant {
        #[command(subcommand)]
        command: TenantCommand,
    },
    /// Write a base backup of the database, and follow its changes.
    Backup(backup::BackupArguments),
    /// Create a data directory from a backup, as of a moment.
    Restore(backup::RestoreArguments),
    /// Play workloads and measure.
    Lab {
        #[command(subcommand)]
        command: LabCommand,
    },
    /// Check the configuration.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// List the routes of FOLIO's surface.
    Routes {
        /// Only those that are not built.
        #[arg(long)]
        missing: bool,
    },
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print the settings in force, or what is wrong with them.
    Check(config::Settings),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Serve(settings) => settings.resolve().and_then(|settings| run(serve::serve(settings))),
        Command::Demo(settings) => settings.resolve().and_then(|settings| run(demo::demo(settings))),
        Command::Tenant { command } => run(tenants::run(command)),
        Command::Backup(arguments) => run(backup::backup(arguments)),
        Command::Restore(arguments) => run(backup::restore(arguments)),
        Command::Lab { command } => run(lab::run(command)),
        Command::Config { command: ConfigCommand::Check(settings) } => {
            settings.resolve().and_then(|settings| {
                settings.refuse_if_there_is_no_postgres()?;
                println!("{settings}");
                Ok(())
            })
        }
        Command::Routes { missing } => {
            // A reader such as `head` may close the pipe early.
            let _ = std::io::stdout().write_all(observability::routes_as_text(missing).as_bytes());
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("carrel: {words}");
            ExitCode::FAILURE
        }
    }
}

/// Threads that run requests: half of the processors, since the database needs the other half. On a machine with two
/// processors a second thread costs more in context switches than it gains.
fn worker_threads() -> usize {
    let configured = std::env::var("TOKIO_WORKER_THREADS").ok().and_then(|number| number.parse().ok());
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    configured.unwrap_or(processors / 2).max(1)
}

fn run(work: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("CARREL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,tokio_postgres=warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        // Colors are for terminals only.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        // A closed standard error must not end the program.
        .log_internal_errors(false)
        .init();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(worker_threads())
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime could not be started: {error}"))?
        .block_on(work)
}
