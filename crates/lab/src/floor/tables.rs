//! The floor's tables: a temporary schema with as many rows as the data set, primary keys and barcode indexes only. It
//! is dropped at the end; if a run was killed, the next one drops it.

use crate::error::{Context, LabError, Result};
use tokio_postgres::{Client, Config, NoTls};

/// Name of the schema; an advisory lock excludes a second run.
pub const SCHEMA: &str = "carrel_lab_floor";
/// Any constant that no other program uses ("floor" in ASCII).
const LOCK: i64 = 0x66_6c_6f_6f_72;

/// A connection with its driver task started.
pub async fn connect(config: &Config) -> Result<Client> {
    let (client, connection) = config.connect(NoTls).await.context("connecting to the floor's database")?;
    // The task ends with its client; a broken connection makes the client's next call fail.
    tokio::spawn(connection);
    Ok(client)
}

/// The scratch schema, filled, and the connection that keeps other labs out of it.
pub struct Tables {
    keeper: Client,
    /// Process id of the connection's backend.
    pub backend: i32,
    /// The server's version and the settings on which durability depends, for the report.
    pub server: String,
}

impl Tables {
    /// Creates the schema with `items` and `users` rows.
    pub async fn create(config: &Config, items: u64, users: u64) -> Result<Tables> {
        let keeper = connect(config).await?;
        let free: bool = keeper
            .query_one("select pg_try_advisory_lock($1)", &[&LOCK])
            .await
            .context("locking the floor")?
            .get(0);
        if !free {
            return Err(LabError::new("another lab measures its floor on this database; wait for it to end"));
        }
        keeper.batch_execute(&definition(items, users)).await.context("creating the floor's tables")?;
        // A checkpoint now, so that none happens during the measurement. Only some roles may request one; for the
        // others the figures are less exact.
        let _ = keeper.batch_execute("checkpoint").await;
        let row = keeper
            .query_one(
                "select format('PostgreSQL %s, fsync %s, synchronous_commit %s, shared_buffers %s',
                    current_setting('server_version'), current_setting('fsync'),
                    current_setting('synchronous_commit'), current_setting('shared_buffers')), pg_backend_pid()",
                &[],
            )
            .await
            .context("reading the server's settings")?;
        Ok(Tables { keeper, server: row.get(0), backend: row.get(1) })
    }

    /// Bytes of write-ahead log since the database was created.
    pub async fn wal_position(&self) -> Result<u64> {
        let sql = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
        let row = self.keeper.query_one(sql, &[]).await.context("reading the write-ahead log's position")?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    /// Drops the schema.
    pub async fn drop(self) -> Result<()> {
        self.keeper
            .batch_execute(&format!("drop schema {SCHEMA} cascade"))
            .await
            .context("dropping the floor's tables")
    }
}

/// Rows are inserted in random order of their ids, as in a library; free space on each page allows updates of the
/// status in place (HOT) from the first scan on. Status is not indexed.
fn definition(items: u64, users: u64) -> String {
    format!(
        "drop schema if exists {SCHEMA} cascade;
        create schema {SCHEMA};
        set search_path = {SCHEMA};
        create table patron (id uuid not null, barcode text not null, name text not null);
        create table item (id uuid not null, barcode text not null, status text not null)
            with (fillfactor = 70);
        create table loan (id uuid primary key, patron_id uuid not null, item_id uuid not null,
            loan_date timestamptz not null);
        insert into patron (id, barcode, name)
            select gen_random_uuid(), 'user-' || lpad(n::text, greatest(6, length(n::text)), '0'), 'Reader'
            from generate_series(1, {users}) n;
        insert into item (id, barcode, status)
            select gen_random_uuid(), 'item-' || lpad(n::text, greatest(6, length(n::text)), '0'), 'Available'
            from generate_series(1, {items}) n;
        alter table patron add primary key (id);
        alter table item add primary key (id);
        create unique index on patron (barcode);
        create unique index on item (barcode);
        analyze patron; analyze item; analyze loan;"
    )
}
