//! `carrel tenant create | list | upgrade | dump | restore | move | drop`: tenants from the command line, without a running server.
//!
//! Creates a tenant's first administrator with a password of the operator's choice; there is no
//! default password.

use crate::administrator::{self, Appointed};
use crate::config::{Settings, without_password};
use crate::database;
use crate::serve;
use crate::tenant_transfer;
use clap::Subcommand;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum TenantCommand {
    /// Create a tenant and its first administrator. The password is read from CARREL_ADMIN_PASSWORD or, without that,
    /// as one line from standard input.
    Create {
        /// Lower-case letters, digits and underscores, beginning with a letter.
        id: String,
        /// Username of the administrator.
        #[arg(long)]
        admin: String,
        /// The library's display name.
        #[arg(long)]
        name: Option<String>,
        /// Address of another PostgreSQL that holds its data, as for --database.
        #[arg(long)]
        at: Option<String>,
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// List the tenants.
    List {
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// Upgrade tenants before the start of a new release, and drop schema parts that no release needs any more. Run it
    /// when no older program uses the database.
    Upgrade {
        /// One tenant; all if omitted.
        id: Option<String>,
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// Write a tenant with all its data to a file, while desks continue to work.
    Dump {
        id: String,
        /// A file that does not exist yet.
        #[arg(long)]
        to: PathBuf,
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// Create the tenant in a file of `carrel tenant dump`, with all its data.
    Restore {
        file: PathBuf,
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// Move a tenant's data to another PostgreSQL. It stays a tenant of this platform: all nodes follow by themselves.
    Move {
        id: String,
        /// Address of the other PostgreSQL, as for --database, which every node can reach; that of --database moves
        /// it back.
        #[arg(long)]
        to: String,
        #[command(flatten)]
        settings: Box<Settings>,
    },
    /// Delete a tenant with all its data.
    Drop {
        id: String,
        /// Required, to prevent accidental deletion.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        settings: Box<Settings>,
    },
}

/// The shortest initial password of an administrator.
const SHORTEST_PASSWORD: usize = 8;

/// Runs the command and prints its result.
pub async fn run(command: TenantCommand) -> Result<(), String> {
    match command {
        TenantCommand::Create { id, admin, name, at, settings } => {
            let password = password()?;
            let open_node = serve::unless_stopped(serve::open(&settings.resolve()?)).await?;
            let done =
                create(&open_node, &id, &admin, name.as_deref().unwrap_or(&id), at.as_deref(), &password)
                    .await;
            serve::stop(open_node).await;
            println!("{}", done?);
            Ok(())
        }
        TenantCommand::List { settings } => {
            let open_node = serve::unless_stopped(serve::open(&settings.resolve()?)).await?;
            for tenant in open_node.node.tenants() {
                let address = tenant.database().address().map(without_password);
                println!("{}\t{}\t{}", tenant.id, tenant.name, address.unwrap_or_default());
            }
            serve::stop(open_node).await;
            Ok(())
        }
        TenantCommand::Upgrade { id, settings } => {
            // Opening the node upgrades every tenant.
            let open_node = serve::unless_stopped(serve::open(&settings.resolve()?)).await?;
            let done = tidy(&open_node, id.as_deref()).await;
            serve::stop(open_node).await;
            done?.iter().for_each(|line| println!("{line}"));
            Ok(())
        }
        TenantCommand::Dump { id, to, settings } => {
            let open_node = serve::unless_stopped(serve::open(&settings.resolve()?)).await?;
            let done = serve::unless_stopped(tenant_transfer::dump(&open_node.node, &id, to)).await;
            serve::stop(open_node).await;
            println!("{}", done?);
            Ok(())
        }
        TenantCommand::Restore { file, settings } => {
            let open_node = serve::unless_stopped(serve::open(&settings.resolve()?)).await?;
            let server = open_node.primary.clone();
            let done = serve::unless_stopped(tenant_transfer::restore(&open_node.node, server, file)).await;
            serve::stop(open_node).await;
            println!("{}", done?);
            Ok(())
        }
        TenantCommand::Move { id, to, settings } => {
            let open_node = serve::unless_stopped(serve::open(&settings.resolve()?)).await?;
            let done = serve::unless_stopped(tenant_transfer::move_to(&open_node.node, &id, &to)).await;
            serve::stop(open_node).await;
            println!("{}", done?);
            Ok(())
        }
        TenantCommand::Drop { id, yes, settings } => {
            if !yes {
                return Err(format!("this deletes all data of tenant '{id}': confirm with --yes"));
            }
            let open_node = serve::unless_stopped(serve::open(&settings.resolve()?)).await?;
            let done = open_node.node.drop_tenant(&id).await;
            serve::stop(open_node).await;
            match done.map_err(|failure| failure.to_string())? {
                true => println!("tenant '{id}' was dropped"),
                false => return Err(format!("there is no tenant '{id}'")),
            }
            Ok(())
        }
    }
}

async fn tidy(open_node: &serve::OpenNode, id: Option<&str>) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for tenant in open_node.node.tenants() {
        if id.is_none_or(|id| id == tenant.id) {
            lines.push(format!("tenant '{}' is up to date", tenant.id));
            let notes =
                open_node.node.drop_obsolete_schema(&tenant).await.map_err(|failure| failure.to_string())?;
            lines.extend(notes.into_iter().map(|line| format!("  {line}")));
            let built = tenant.build_missing_indexes().await;
            lines.push(format!("  indexes: {}", built.map_err(|failure| failure.to_string())?));
        }
    }
    match (id, lines.is_empty()) {
        (Some(id), true) => Err(format!("there is no tenant '{id}'")),
        _ => Ok(lines),
    }
}

async fn create(
    open_node: &serve::OpenNode,
    id: &str,
    admin: &str,
    name: &str,
    at: Option<&str>,
    password: &str,
) -> Result<String, String> {
    let as_text = |failure: carrel_records::Failure| failure.to_string();
    // An existing tenant without staff gets its administrator now.
    if let Some(tenant) = open_node.node.find_tenant(id).await.map_err(as_text)?
        && administrator::has_staff(&tenant).await.map_err(as_text)?
    {
        return Err(format!("tenant '{id}' exists already; nothing was changed"));
    }
    let tenant = match at {
        None => open_node.node.create_tenant(id, name, "").await.map_err(as_text)?,
        Some(address) => {
            database::wait_for(&database::find_primary(&database::read(address)?, &[]).await).await?;
            open_node.node.create_tenant_at(id, name, address).await.map_err(as_text)?
        }
    };
    match administrator::appoint(&tenant, admin, password).await.map_err(as_text)? {
        Appointed::Now => Ok(format!("tenant '{id}' is ready; log in as '{admin}'")),
        Appointed::NameTaken => {
            Err(format!("tenant '{id}' already has a user '{admin}', who was not changed"))
        }
    }
}

fn password() -> Result<String, String> {
    let password = match std::env::var("CARREL_ADMIN_PASSWORD") {
        Ok(password) => password,
        Err(_) => {
            if std::io::stdin().is_terminal() {
                eprintln!("Password of the administrator (it will be visible), then Enter:");
            }
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map_err(|error| format!("the password: {error}"))?;
            line.trim_end_matches(['\n', '\r']).to_owned()
        }
    };
    if password.chars().count() < SHORTEST_PASSWORD {
        return Err(format!("a password of at least {SHORTEST_PASSWORD} characters is needed"));
    }
    Ok(password)
}
