//! The servers that hold tenants besides the platform's own.

use crate::config::without_password;
use crate::database::{self, system_identifier};
use carrel_platform::database::Server;
use std::time::Duration;
use tokio_postgres::config::Host;

/// The longest time to connect to a server and to ask it who it is.
const LONGEST_QUESTION: Duration = Duration::from_secs(10);

/// A server that is backed up in a directory of its own.
pub struct Other {
    pub server: Server,
    /// Name of the directory.
    pub folder: String,
}

/// Servers of tenants' own databases which a base backup of the platform's server does not contain; for one that cannot
/// be used, what is wrong with it. None if the server holds no platform.
pub async fn of(platform: &Server) -> Result<Vec<Result<Other, String>>, String> {
    let (system, addresses) = bounded(read(platform)).await?;
    let mut systems = vec![system];
    let mut others = Vec::new();
    for (address, tenants) in addresses {
        let missed = |words: String| {
            format!("no backup of tenants {tenants} at {}: {words}", without_password(&address))
        };
        match examined(&address).await {
            Ok((other, system)) if !systems.contains(&system) => {
                systems.push(system);
                others.push(Ok(other));
            }
            // Another database of a server that is backed up as a whole.
            Ok(_) => {}
            Err(words) => others.push(Err(missed(words))),
        }
    }
    Ok(others)
}

/// The server's identity, and the addresses in its table of tenants with their tenants.
async fn read(platform: &Server) -> Result<(i64, Vec<(String, String)>), tokio_postgres::Error> {
    let (client, connection) = platform.connect().await?;
    let driver = tokio::spawn(connection);
    let answers = async {
        let system = system_identifier(&client).await?;
        let known = client.query_one("SELECT to_regclass('platform.tenant') IS NOT NULL", &[]).await?;
        if !known.get::<_, bool>(0) {
            return Ok((system, Vec::new()));
        }
        let rows = client
            .query(
                "SELECT database, string_agg(id, ', ' ORDER BY id) AS tenants FROM platform.tenant
                 WHERE database IS NOT NULL GROUP BY database ORDER BY database",
                &[],
            )
            .await?;
        Ok((system, rows.iter().map(|row| (row.get("database"), row.get("tenants"))).collect()))
    };
    let answers = answers.await;
    driver.abort();
    answers
}

async fn examined(address: &str) -> Result<(Other, i64), String> {
    let server = database::read(address)?;
    let server = database::find_primary(&server, &[]).await;
    let folder = folder_of(&server);
    let asked = async {
        let (client, connection) = server.connect().await?;
        let driver = tokio::spawn(connection);
        let system = system_identifier(&client).await;
        driver.abort();
        system
    };
    let system = bounded(asked).await?;
    Ok((Other { server, folder }, system))
}

async fn bounded<T>(asked: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, String> {
    match tokio::time::timeout(LONGEST_QUESTION, asked).await {
        Ok(answered) => answered
            .map_err(|error| format!("the database cannot be asked: {}", database::with_causes(&error))),
        Err(_) => Err("the database does not answer".into()),
    }
}

/// Host and port, with `_` for characters that do not belong in a file's name.
fn folder_of(server: &Server) -> String {
    let host = match server.config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.to_string_lossy().into_owned(),
        None => "localhost".into(),
    };
    let port = server.config.get_ports().first().copied().unwrap_or(5432);
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
    format!("at-{}-{port}", host.chars().map(safe).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_named_by_host_and_port() {
        for (address, expected) in [
            ("postgresql://u@db.example.org:5433/x", "at-db.example.org-5433"),
            ("host=/run/postgresql user=u", "at-_run_postgresql-5432"),
        ] {
            let server = Server::read(address).expect("an address");
            assert_eq!(folder_of(&server), expected);
        }
    }
}
