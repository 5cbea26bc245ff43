//! `carrel lab data`: fills a tenant with a generated library, through COPY if the server's database is known and
//! otherwise through the public API, and deletes data of circulation.

use super::own_server::Server;
use super::{Target, load_options};
use carrel_lab::{CopyOptions, Credentials};
use clap::Args;
use serde_json::{Map, Value};
use std::time::Instant;

/// Arguments of `lab data`.
#[derive(Debug, Args)]
pub struct DataArguments {
    #[command(flatten)]
    pub target: Target,
    /// Load through the public API, as into any FOLIO.
    #[arg(long)]
    pub through_api: bool,
    /// First delete all loans, requests, accounts, sessions, notices and blocks of the tenant.
    #[arg(long)]
    pub reset: bool,
}

/// Loads, and prints duration and size.
pub async fn run(arguments: DataArguments) -> Result<(), String> {
    let target = &arguments.target;
    let server = Server::of(target, 1).await?;
    let database = target.database.clone().or_else(|| server.database.clone());
    let begun = Instant::now();
    if arguments.reset {
        let database = database.as_ref().ok_or("--reset needs the server's database: give --database")?;
        let schema = schema_of(&target.tenant);
        carrel_lab::reset_circulation(database, &schema).await.map_err(|error| error.to_string())?;
        println!("loans, requests and what belongs to them are deleted, all items are available");
    }
    match database.filter(|_| !arguments.through_api) {
        Some(database) => copy(target, &server.address, &target.credentials(), database).await?,
        None => super::load(target, &server.address).await?,
    }
    println!("loaded in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Fills a tenant through COPY, and prints its tables.
pub async fn copy(
    target: &Target,
    address: &str,
    credentials: &Credentials,
    database: String,
) -> Result<(), String> {
    let library = load_options(target, address).library();
    let tables = carrel_lab::copy_library(CopyOptions {
        address: address.to_owned(),
        credentials: credentials.clone(),
        database,
        schema: schema_of(&credentials.tenant),
        library,
        open_loans: (target.open_loans as u64).min(library.items / 2),
        complete_item,
    })
    .await
    .map_err(|error| error.to_string())?;
    for table in tables.iter().filter(|table| table.rows > 0) {
        let mib = table.bytes as f64 / 1_048_576.0;
        println!(
            "{:<16}{:>10} rows{:>8.1} s{mib:>9.1} MiB",
            table.name,
            table.rows,
            table.time.as_secs_f64()
        );
    }
    Ok(())
}

/// A tenant's schema.
fn schema_of(tenant: &str) -> String {
    format!("library_{tenant}")
}

fn complete_item(item: &mut Map<String, Value>, holdings: &Map<String, Value>) {
    carrel_inventory::items::complete::compute(item, Some(holdings));
}
