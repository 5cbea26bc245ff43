//! What keeps everybody from a copy of a tenant: first from writing, then from reading.
//!
//! Both are states of the database, not locks: they hold for every node, also if the program that moves the tenant dies.

use super::{Session, copier_of, follow, sealed_schema};
use crate::database::failure;
use carrel_records::Failure;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Who still writes after this time is ended.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest time until all of them have ended.
const LONGEST_END: Duration = Duration::from_secs(10);
/// Statistics that are written at the same time may be in the way.
const ATTEMPTS: usize = 20;

/// Takes from the tenant's role the right to write, and waits until every transaction that writes has ended.
pub(super) async fn refuse_writes(source: &Session, schema: &str) -> Result<(), Failure> {
    let sql = format!(
        "BEGIN; SET LOCAL ROLE {schema};
         REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA {schema} FROM {schema}; COMMIT"
    );
    change(source, &sql, "refusing writes").await?;
    // Whoever takes a table's lock for writing from now on also sees that it may not write. So those are waited for who
    // have it now.
    let started = Instant::now();
    let mut waited_for: Option<HashSet<String>> = None;
    loop {
        let writers = writers(source, schema).await?;
        let now: HashSet<String> = writers.iter().map(|(transaction, _)| transaction.clone()).collect();
        let left = match &waited_for {
            None => now,
            Some(before) => before.intersection(&now).cloned().collect(),
        };
        if left.is_empty() {
            return Ok(());
        }
        if started.elapsed() > LONGEST_END {
            return Err(Failure::Unavailable(format!("{} transactions do not end", left.len())));
        }
        if started.elapsed() > PATIENCE {
            for (_, process) in writers.iter().filter(|(transaction, _)| left.contains(transaction)) {
                let ended = source.client.execute("SELECT pg_terminate_backend($1)", &[process]).await;
                ended.map_err(|error| failure(error, "ending a transaction"))?;
            }
        }
        waited_for = Some(left);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Transactions that may have written to the tenant's tables, and their processes.
async fn writers(source: &Session, schema: &str) -> Result<Vec<(String, i32)>, Failure> {
    let sql = "SELECT DISTINCT locks.virtualtransaction, locks.pid
               FROM pg_locks AS locks JOIN pg_class ON pg_class.oid = locks.relation
               WHERE locks.locktype = 'relation' AND locks.granted AND locks.pid <> pg_backend_pid()
                   AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                   AND pg_class.relnamespace = to_regnamespace($1) AND pg_class.relkind IN ('r', 'p')
                   AND locks.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                                      'AccessExclusiveLock')";
    let rows = source.client.query(sql, &[&schema]).await;
    let rows = rows.map_err(|error| failure(error, "looking who writes"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Renames the schema, so that nobody reads it any more; nodes that have not followed yet fail and look again.
pub(super) async fn seal(source: &Session, schema: &str) -> Result<(), Failure> {
    let sql = format!("ALTER SCHEMA {schema} RENAME TO {}", sealed_schema(schema));
    change(source, &sql, "sealing the old copy").await
}

/// Lets the copy be read and written again.
pub(super) async fn take_away(place: &Session, schema: &str) -> Result<(), Failure> {
    end_copiers(place, schema).await?;
    follow::drop_slot(place, schema).await?;
    let sealed = sealed_schema(schema);
    let sql = format!(
        "DO $$ BEGIN
             IF to_regnamespace('{sealed}') IS NOT NULL AND to_regnamespace('{schema}') IS NULL THEN
                 ALTER SCHEMA {sealed} RENAME TO {schema};
             END IF;
             IF EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('{schema}') AND relkind = 'r'
                        AND relacl IS NOT NULL) THEN
                 SET LOCAL ROLE {schema};
                 GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {schema};
             END IF;
         END $$"
    );
    change(place, &sql, "letting the tenant be written again").await
}

/// Drops a copy and, unless it owns something in another database of the same server, the role.
pub(super) async fn drop_copy(place: &Session, schema: &str) -> Result<(), Failure> {
    end_copiers(place, schema).await?;
    follow::drop_slot(place, schema).await?;
    let sealed = sealed_schema(schema);
    let sql = format!(
        "SET lock_timeout = '60s'; DROP SCHEMA IF EXISTS {sealed} CASCADE; DROP SCHEMA IF EXISTS {schema} CASCADE"
    );
    place.run(&sql, "dropping the old copy").await?;
    crate::node::lifecycle::drop_role(&place.client, schema).await;
    Ok(())
}

/// Ends programs that copy the tenant and have outlived the one that started them.
async fn end_copiers(place: &Session, schema: &str) -> Result<(), Failure> {
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name = $1 AND datname = current_database()";
    let started = Instant::now();
    while started.elapsed() < LONGEST_END {
        let ended = place.client.query(sql, &[&copier_of(schema)]).await;
        if ended.map_err(|error| failure(error, "ending copying programs"))?.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(Failure::Unavailable("programs that copy the tenant do not end".into()))
}

async fn change(place: &Session, sql: &str, doing: &str) -> Result<(), Failure> {
    for _ in 1..ATTEMPTS {
        match place.client.batch_execute(sql).await {
            Ok(()) => return Ok(()),
            // "tuple concurrently updated" has the code of an internal error.
            Err(error) if error.code().is_some_and(|code| ["XX000", "40P01"].contains(&code.code())) => {
                let _ = place.client.batch_execute("ROLLBACK").await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => {
                let _ = place.client.batch_execute("ROLLBACK").await;
                return Err(failure(error, doing));
            }
        }
    }
    place.run(sql, doing).await
}
