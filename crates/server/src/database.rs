//! The check of a configured database at start: waits while it starts, refuses it with a reason if it is unusable.

use crate::config::without_password;
use carrel_platform::database::{Members, Server, node_share};
use std::error::Error;
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// A database that starts together with this program needs some time.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The longest time to ask a server who it is.
const LONGEST_QUESTION: Duration = Duration::from_secs(3);

/// The primary among the hosts of the address and the replicas, looked for as long as a database that starts may take;
/// where none is found, the first host of the address.
pub async fn find_primary(database: &Server, replicas: &[Server]) -> Server {
    let mut servers = database.members();
    servers.extend(replicas.iter().flat_map(Server::members));
    let found = match servers.len() {
        1 => None,
        _ => Members::find_primary(&servers, LONGEST_WAIT).await,
    };
    found.unwrap_or_else(|| servers.swap_remove(0))
}

/// Refuses a replica that is a standby of another server than the database's: it would never be read from, and be taken
/// for the primary after its promotion. Servers that do not answer are not examined.
pub async fn refuse_foreign_replicas(database: &Server, replicas: &[Server]) -> Result<(), String> {
    let mut system = None;
    for server in database.members() {
        system = system_of(&server).await;
        if system.is_some() {
            break;
        }
    }
    let Some(system) = system else { return Ok(()) };
    for (number, standby) in (1..).zip(replicas.iter().flat_map(Server::members)) {
        if system_of(&standby).await.is_some_and(|found| found != system) {
            return Err(format!(
                "server {number} of --replica is no standby of --database, but has other data. A database that tenants have of their own is read from its primary only"
            ));
        }
    }
    Ok(())
}

/// The identity of a server's data, which is equal on a primary and its standbys; `None` if it does not say.
async fn system_of(server: &Server) -> Option<i64> {
    let asked = async {
        let (client, connection) = server.connect().await.ok()?;
        let driver = tokio::spawn(connection);
        let system = system_identifier(&client).await;
        driver.abort();
        system.ok()
    };
    tokio::time::timeout(LONGEST_QUESTION, asked).await.ok()?
}

/// The identity of a server's data.
pub async fn system_identifier(client: &Client) -> Result<i64, tokio_postgres::Error> {
    Ok(client.query_one("SELECT system_identifier FROM pg_control_system()", &[]).await?.get(0))
}

/// Waits until the database answers; the error says why it never does, or what it lacks. Returns the number of
/// connections that this node may open, so that the other nodes and some other programs fit.
pub async fn wait_for(server: &Server) -> Result<usize, String> {
    let mut server = server.clone();
    server.config.connect_timeout(Duration::from_secs(5));
    let (started, mut waiting_reported) = (Instant::now(), false);
    let client = loop {
        match server.connect().await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                break client;
            }
            Err(error) => {
                let words = explained(&error);
                if !comes_up(&error) || started.elapsed() > LONGEST_WAIT {
                    return Err(format!("the database cannot be reached: {words}"));
                }
                if !waiting_reported {
                    tracing::warn!("waiting for the database: {words}");
                    waiting_reported = true;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    };
    examine(&client).await
}

/// Makes `pg_stat_statements` readable on a private PostgreSQL, if the library is installed. The program works without
/// it.
pub async fn count_statements(server: &Server) {
    let create = async {
        let (client, connection) = server.connect().await?;
        let driver = tokio::spawn(connection);
        let created = client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await;
        driver.abort();
        created
    };
    if let Err(error) = create.await {
        tracing::debug!("statements are not counted: {}", with_causes(&error));
    }
}

/// Parses an address; an error shows it without its password.
pub fn read(text: &str) -> Result<Server, String> {
    Server::read(text).map_err(|words| format!("the database address '{}': {words}", without_password(text)))
}

async fn examine(client: &Client) -> Result<usize, String> {
    let row = client
        .query_one(
            "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(), current_user::text,
                 current_database()::text, has_database_privilege(current_database(), 'CREATE'),
                 (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user),
                 current_setting('server_encoding')",
            &[],
        )
        .await
        .map_err(|error| format!("the database does not answer: {}", with_causes(&error)))?;
    let (version, replica): (i32, bool) = (row.get(0), row.get(1));
    let (user, database): (String, String) = (row.get(2), row.get(3));
    let (may_create, may_create_roles): (bool, bool) = (row.get(4), row.get(5));
    let encoding: String = row.get(6);
    if version < 150_000 {
        return Err(format!("the database is PostgreSQL {}: 15 or newer is needed", version / 10_000));
    }
    if replica {
        return Err("the database is a replica, which cannot be written to, and no primary is named beside it: name the primary with --database and this one with --replica".into());
    }
    if encoding != "UTF8" {
        return Err(format!("the database '{database}' is encoded in {encoding}: UTF8 is needed"));
    }
    if !may_create {
        return Err(format!(
            "user '{user}' may not create schemas in the database '{database}': GRANT CREATE ON DATABASE \"{database}\" TO \"{user}\""
        ));
    }
    if !may_create_roles {
        return Err(format!(
            "user '{user}' may not create roles, and every tenant has its own: ALTER ROLE \"{user}\" CREATEROLE"
        ));
    }
    node_share(client, true)
        .await
        .map_err(|error| format!("the database does not answer: {}", with_causes(&error)))
}

/// Whether the error is temporary: the server is starting. A wrong password or certificate is not temporary.
fn comes_up(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => ["57P03", "53300"].contains(&code.code()),
        None => !is_about_tls(error),
    }
}

/// The driver exposes this kind of error only by its text.
fn is_about_tls(error: &tokio_postgres::Error) -> bool {
    error.to_string().contains("TLS handshake")
}

/// The error's text, with advice if it concerns TLS.
fn explained(error: &tokio_postgres::Error) -> String {
    let words = with_causes(error);
    let advice = if words.contains("server does not support TLS") {
        "its address requires TLS, which the server does not offer: set 'ssl = on' there, or sslmode=disable here"
    } else if words.contains("not valid for name") {
        "its certificate is not made for this host: name the host as the certificate does, or use sslmode=verify-ca"
    } else if words.contains("UnknownIssuer") || words.contains("BadSignature") {
        "its certificate is not signed by any of those in sslrootcert"
    } else if error.code().is_some_and(|code| code.code() == "28000") && words.contains("no encryption") {
        "it takes encrypted connections only: use sslmode=require or, better, verify-full"
    } else {
        return words;
    };
    format!("{advice} ({words})")
}

/// The error's text with those of its causes.
pub fn with_causes(error: &tokio_postgres::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_used_is_refused_without_its_password() {
        for text in [
            "postgresql://carrel:secret@db/x?sslmode=perhaps",
            "user=carrel password=secret",
            "host=db port=many password=secret",
        ] {
            let words = read(text).expect_err(text);
            assert!(!words.contains("secret"), "{words}");
        }
        assert!(read("postgresql://carrel:secret@db/x").is_ok());
        assert!(read("host=/var/run/postgresql user=carrel").is_ok());
    }
}
