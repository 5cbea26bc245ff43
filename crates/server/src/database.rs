//! The named database at the start: waited for while it comes up, and refused with a reason where it cannot serve.

use crate::config::without_password;
use std::error::Error;
use std::time::{Duration, Instant};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};

/// A database that starts together with this program needs a moment.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Waits until the database answers, and says what is in the way where it never does or lacks something.
pub async fn wait_for(address: &Config) -> Result<(), String> {
    let mut address = address.clone();
    address.connect_timeout(Duration::from_secs(5));
    let (started, mut told) = (Instant::now(), false);
    let client = loop {
        match address.connect(NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                break client;
            }
            Err(error) => {
                let words = with_causes(&error);
                if !comes_up(&error) || started.elapsed() > LONGEST_WAIT {
                    return Err(format!("the database cannot be reached: {words}"));
                }
                if !told {
                    tracing::warn!("waiting for the database: {words}");
                    told = true;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    };
    examine(&client).await
}

/// What an address asks for that this program cannot do.
pub fn refuse(text: &str) -> Result<(), String> {
    let address: Config = text.parse().map_err(|error| {
        format!("the database address '{}': {}", without_password(text), with_causes(&error))
    })?;
    if address.get_ssl_mode() == SslMode::Require {
        return Err(format!(
            "the database address '{}' asks for TLS, which this program does not speak to PostgreSQL: use a trusted network or a proxy on this machine",
            without_password(text)
        ));
    }
    if address.get_hosts().is_empty() {
        return Err(format!("the database address '{}' names no host", without_password(text)));
    }
    Ok(())
}

async fn examine(client: &Client) -> Result<(), String> {
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
        return Err("the database is a replica, which cannot be written to: name the primary with --database and this one with --replica".into());
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
    Ok(())
}

/// Not there yet, or still starting; a wrong password stays wrong.
fn comes_up(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => ["57P03", "53300"].contains(&code.code()),
        None => true,
    }
}

fn with_causes(error: &tokio_postgres::Error) -> String {
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
            "postgresql://carrel:secret@db/x?sslmode=require",
            "user=carrel password=secret",
            "host=db port=many password=secret",
        ] {
            let words = refuse(text).expect_err(text);
            assert!(!words.contains("secret"), "{words}");
        }
        assert_eq!(refuse("postgresql://carrel:secret@db/x"), Ok(()));
        assert_eq!(refuse("host=/var/run/postgresql user=carrel"), Ok(()));
    }
}
