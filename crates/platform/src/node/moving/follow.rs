//! Applies to the copy of a tenant what desks change while and after it is made.
//!
//! A replication slot of the source keeps the changes. The copy is as of a snapshot that is taken after the slot was
//! made; transactions that the snapshot shows are in the copy already and are left out.

use super::Session;
use super::changes::{Change, Snapshot, Tables, Value, read};
use crate::database::{Server, failure};
use carrel_records::Failure;
use futures_util::future::try_join_all;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

/// Changes that are fetched at once; a transaction is never split.
const BATCH: i32 = 5_000;
/// So few changes in one round are applied within the pause.
const FEW: usize = 500;
/// A round of this time or less is short enough for the pause.
const SHORT: Duration = Duration::from_millis(500);
/// The longest time to catch up; a source that writes faster than changes are applied is not followed for ever.
const LONGEST_CATCH_UP: Duration = Duration::from_secs(1_800);
/// The longest wait for transactions that were running when the slot was made.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Columns of the target's tables by table and name: type, and whether only PostgreSQL gives them values.
type Columns = HashMap<(String, String), (String, bool)>;

/// Follows the changes of one tenant.
pub(super) struct Follower {
    /// For the program that copies.
    pub snapshot: String,
    /// Keeps the snapshot until the copy is made.
    keeper: Option<Session>,
    shown: Snapshot,
    schema: String,
    columns: Columns,
    statements: HashMap<String, Statement>,
}

/// Name of the slot and of the publication.
fn name_of(schema: &str) -> String {
    format!("carrel_{schema}")
}

impl Follower {
    /// Begins to keep changes; the reason if the source gives none.
    pub async fn begin(server: &Server, source: &Session, schema: &str) -> Result<Follower, String> {
        let as_text = |error: tokio_postgres::Error| match error.as_db_error() {
            Some(error) => error.message().to_owned(),
            None => error.to_string(),
        };
        let row = source
            .client
            .query_one(
                "SELECT current_setting('wal_level'),
                     (SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user),
                     (SELECT string_agg(relname, ', ') FROM pg_class
                      WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND NOT EXISTS (
                          SELECT 1 FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)),
                     (SELECT string_agg(format('%I.%I', $1, relname), ', ') FROM pg_class
                      WHERE relnamespace = to_regnamespace($1) AND relkind = 'r')",
                &[&schema],
            )
            .await
            .map_err(as_text)?;
        let (level, may_replicate): (&str, bool) = (row.get(0), row.get(1));
        if level != "logical" {
            return Err(format!("wal_level is {level} there, and logical is needed"));
        }
        if !may_replicate {
            return Err("the database user may not replicate: ALTER ROLE … REPLICATION".into());
        }
        if let Some(tables) = row.get::<_, Option<&str>>(2) {
            return Err(format!("tables without a primary key: {tables}"));
        }
        let Some(tables) = row.get::<_, Option<&str>>(3) else { return Err("there are no tables".into()) };
        let name = name_of(schema);
        // The publication first: a slot reads it as of each change.
        source
            .client
            .batch_execute(&format!("CREATE PUBLICATION {name} FOR TABLE {tables}"))
            .await
            .map_err(as_text)?;
        source
            .client
            .query_one("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", &[&name])
            .await
            .map_err(as_text)?;
        wait_for_those_running(source).await?;
        let keeper = Session::open(server).await.map_err(|failure| failure.to_string())?;
        keeper
            .client
            .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
            .map_err(as_text)?;
        let row = keeper
            .client
            .query_one("SELECT pg_export_snapshot(), pg_current_snapshot()::text", &[])
            .await
            .map_err(as_text)?;
        let shown = Snapshot::read(row.get(1)).ok_or("a snapshot that cannot be understood")?;
        Ok(Follower {
            snapshot: row.get(0),
            keeper: Some(keeper),
            shown,
            schema: schema.to_owned(),
            columns: HashMap::new(),
            statements: HashMap::new(),
        })
    }

    /// The copy is made; the snapshot is not needed any more.
    pub async fn copied(&mut self) -> Result<(), Failure> {
        let Some(keeper) = self.keeper.take() else { return Ok(()) };
        keeper.run("COMMIT", "ending the snapshot of the copy").await
    }

    /// Applies changes until few come in.
    pub async fn catch_up(&mut self, source: &Session, target: &Session) -> Result<(), Failure> {
        let schema = &self.schema;
        // Not everybody may switch references off; they hold in the order of the source, too.
        let _ = target.client.batch_execute("SET session_replication_role = replica").await;
        target
            .run(
                &format!("SET ROLE {schema}; SET search_path TO {schema}, carrel; SET jit = off"),
                "becoming the tenant",
            )
            .await?;
        self.columns = columns_of(target, schema).await?;
        let started = Instant::now();
        loop {
            let round = Instant::now();
            let applied = self.apply_batch(source, target).await?;
            if applied < FEW && round.elapsed() < SHORT {
                return Ok(());
            }
            if started.elapsed() > LONGEST_CATCH_UP {
                return Err(Failure::Unavailable(
                    "the tenant changes faster than its copy can follow: move it at a quieter time".into(),
                ));
            }
        }
    }

    /// Applies everything that the source has committed; nobody writes there any more.
    pub async fn apply_the_rest(&mut self, source: &Session, target: &Session) -> Result<(), Failure> {
        // A commit that waits for the disk brings everything before it to the disk, from where changes are read.
        source
            .run(
                "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, 'carrel', 'end')",
                "marking the end of the changes",
            )
            .await?;
        // A round also ends before its limit where decoding comes to the end of the log.
        while self.apply_batch(source, target).await? > 0 {}
        copy_sequences(source, target, &self.schema).await
    }

    /// Applies the next changes; gives the number of messages, 0 where there is none any more.
    async fn apply_batch(&mut self, source: &Session, target: &Session) -> Result<usize, Failure> {
        let name = name_of(&self.schema);
        let rows = source
            .client
            .query(
                "SELECT xid::text::bigint, data FROM pg_logical_slot_get_binary_changes(
                     $1::text::name, NULL, $2, 'proto_version', '1', 'publication_names', $1::text)",
                &[&name, &BATCH],
            )
            .await
            .map_err(|error| failure(error, "reading the changes of a tenant"))?;
        let mut tables = Tables::new();
        let mut changes = Vec::new();
        for row in &rows {
            let transaction = row.get::<_, i64>(0) as u32;
            let change = read(row.get(1))
                .map_err(|words| Failure::internal(format!("the changes of a tenant contain {words}")))?;
            match change {
                Change::Table(id, table) => {
                    tables.insert(id, table);
                }
                Change::Other => {}
                _ if self.shown.shows(transaction) => {}
                change => changes.push(change),
            }
        }
        if !changes.is_empty() {
            self.apply(target, &tables, &changes)
                .await
                .map_err(|error| failure(error, "applying the changes of a tenant"))?;
        }
        Ok(rows.len())
    }

    async fn apply(
        &mut self,
        target: &Session,
        tables: &Tables,
        changes: &[Change],
    ) -> Result<(), tokio_postgres::Error> {
        let client = &target.client;
        client.batch_execute("BEGIN; SET CONSTRAINTS ALL DEFERRED").await?;
        let mut writes = Vec::with_capacity(changes.len());
        let Follower { schema, columns, statements, .. } = self;
        for (sql, values) in changes.iter().filter_map(|change| statement(schema, columns, tables, change)) {
            let statement = match statements.get(&sql) {
                Some(known) => known.clone(),
                None => {
                    let statement = client.prepare(&sql).await?;
                    statements.insert(sql, statement.clone());
                    statement
                }
            };
            writes.push((statement, values));
        }
        // Sent in this order, and done in it.
        let done = try_join_all(writes.iter().map(|(statement, values)| async move {
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
            client.execute(statement, &values).await
        }))
        .await;
        match done {
            Ok(_) => client.batch_execute("COMMIT").await,
            Err(error) => {
                let _ = client.batch_execute("ROLLBACK").await;
                Err(error)
            }
        }
    }
}

/// The statement of a change with its values as text.
fn statement<'c>(
    schema: &str,
    columns: &Columns,
    tables: &'c Tables,
    change: &'c Change,
) -> Option<(String, Vec<Option<&'c str>>)> {
    let mut values = Vec::new();
    let mut bound = |value: &'c Value, table: &str, column: &str| {
        let text = match value {
            Value::Text(text) => Some(text.as_str()),
            Value::Null | Value::Unchanged => None,
        };
        values.push(text);
        let kind = columns.get(&(table.to_owned(), column.to_owned()));
        format!("${}::text::{}", values.len(), kind.map_or("text", |(kind, _)| kind))
    };
    let sql = match change {
        Change::Insert { table, new } => {
            let table = tables.get(table)?;
            let names: Vec<String> = table.columns.iter().map(|(name, _)| quoted(name)).collect();
            let values: Vec<String> = table
                .columns
                .iter()
                .zip(new)
                .map(|((column, _), value)| bound(value, &table.name, column))
                .collect();
            format!(
                "INSERT INTO {schema}.{} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
                quoted(&table.name),
                names.join(", "),
                values.join(", ")
            )
        }
        Change::Update { table, old_key, new } => {
            let table = tables.get(table)?;
            let mut set = Vec::new();
            for ((column, is_key), value) in table.columns.iter().zip(new) {
                let by_system = columns
                    .get(&(table.name.clone(), column.clone()))
                    .is_some_and(|(_, by_system)| *by_system);
                let stays = *value == Value::Unchanged || by_system || *is_key && old_key.is_none();
                if !stays {
                    set.push(format!("{} = {}", quoted(column), bound(value, &table.name, column)));
                }
            }
            if set.is_empty() {
                return None;
            }
            let key = old_key.as_ref().unwrap_or(new);
            let found = key_of(&table.columns, key)
                .map(|(column, value)| format!("{} = {}", quoted(column), bound(value, &table.name, column)))
                .collect::<Vec<_>>();
            format!(
                "UPDATE {schema}.{} SET {} WHERE {}",
                quoted(&table.name),
                set.join(", "),
                found.join(" AND ")
            )
        }
        Change::Delete { table, old_key } => {
            let table = tables.get(table)?;
            let found = key_of(&table.columns, old_key)
                .map(|(column, value)| format!("{} = {}", quoted(column), bound(value, &table.name, column)))
                .collect::<Vec<_>>();
            format!("DELETE FROM {schema}.{} WHERE {}", quoted(&table.name), found.join(" AND "))
        }
        Change::Truncate { tables: truncated, cascades } => {
            let names: Vec<String> = truncated
                .iter()
                .filter_map(|table| Some(format!("{schema}.{}", quoted(&tables.get(table)?.name))))
                .collect();
            if names.is_empty() {
                return None;
            }
            format!("TRUNCATE {}{}", names.join(", "), if *cascades { " CASCADE" } else { "" })
        }
        Change::Table(..) | Change::Other => return None,
    };
    Some((sql, values))
}

/// The columns of the key with their values.
fn key_of<'a>(
    columns: &'a [(String, bool)],
    values: &'a [Value],
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    columns
        .iter()
        .zip(values)
        .filter(|((_, is_key), _)| *is_key)
        .map(|((column, _), value)| (column.as_str(), value))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A transaction that was running when the slot was made, and has ended since, must be shown by the snapshot: its changes
/// may not be kept.
async fn wait_for_those_running(source: &Session) -> Result<(), String> {
    let as_text = |error: tokio_postgres::Error| error.to_string();
    let row = source.client.query_one("SELECT pg_snapshot_xmax(pg_current_snapshot())::text", &[]).await;
    let until: String = row.map_err(as_text)?.get(0);
    let started = Instant::now();
    loop {
        let sql = "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8";
        let row = source.client.query_one(sql, &[&until]).await.map_err(as_text)?;
        if row.get(0) {
            return Ok(());
        }
        if started.elapsed() > LONGEST_WAIT {
            return Err("a transaction of that server does not end".into());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn columns_of(target: &Session, schema: &str) -> Result<Columns, Failure> {
    let sql = "SELECT relname::text, attname::text, format_type(atttypid, atttypmod), attidentity = 'a'
               FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
               WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND attnum > 0 AND NOT attisdropped";
    let rows = target.client.query(sql, &[&schema]).await;
    let rows = rows.map_err(|error| failure(error, "reading the columns of the copy"))?;
    Ok(rows.iter().map(|row| ((row.get(0), row.get(1)), (row.get(2), row.get(3)))).collect())
}

/// Sequences are not part of the changes.
async fn copy_sequences(source: &Session, target: &Session, schema: &str) -> Result<(), Failure> {
    let sql = "SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences
               WHERE schemaname = $1 AND last_value IS NOT NULL";
    let rows = source.client.query(sql, &[&schema]).await;
    for row in rows.map_err(|error| failure(error, "reading sequences"))? {
        let (name, last): (String, i64) = (row.get(0), row.get(1));
        let set = target.client.execute("SELECT setval($1::text::regclass, $2)", &[&name, &last]).await;
        set.map_err(|error| failure(error, "setting a sequence"))?;
    }
    Ok(())
}

/// Ends the keeping of changes.
pub(super) async fn drop_slot(place: &Session, schema: &str) -> Result<(), Failure> {
    let name = name_of(schema);
    // After a crash the slot may be in use for a moment.
    let started = Instant::now();
    loop {
        let sql = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
                   WHERE slot_name = $1 AND database = current_database()";
        match place.client.query(sql, &[&name]).await {
            Ok(_) => break,
            Err(error) if error.code().is_some_and(|code| code.code() == "55006") => {
                if started.elapsed() > LONGEST_WAIT {
                    return Err(failure(error, "dropping a replication slot"));
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(failure(error, "dropping a replication slot")),
        }
    }
    place.run(&format!("DROP PUBLICATION IF EXISTS {name}"), "dropping a publication").await
}
