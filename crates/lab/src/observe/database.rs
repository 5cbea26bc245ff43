//! PostgreSQL's statistics views: connections and waits over time, and the increase of the counts of statements, of the
//! database and of I/O during a level.

use crate::error::{Context, Result};
use crate::floor::connect;
use crate::processor_time::postmaster_of;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio_postgres::Client;

/// Statements that are listed by their total time.
const TOP: usize = 15;
/// Statements with a longer average are listed, in milliseconds.
const SLOW: f64 = 100.0;

/// Connections and waits at each sample, and the counts of the level.
#[derive(Debug, Clone, Default)]
pub struct DatabaseFigures {
    /// Connections at each sample.
    pub connections: Vec<u64>,
    /// Sessions that executed a statement.
    pub active: Vec<u64>,
    /// Sessions that waited for a lock of another session.
    pub lock_waits: Vec<u64>,
    /// Waits of active sessions, by the number of samples.
    pub waits: BTreeMap<String, u64>,
    /// Counts of `pg_stat_database`.
    pub counts: BTreeMap<String, i64>,
    /// Reads, writes and extensions of `pg_stat_io` by kind of process, where the version has it.
    pub io: BTreeMap<String, i64>,
    /// The statements with the most time, and all those with an average above 100 ms.
    pub statements: Vec<Statement>,
    /// Time of all statements, in milliseconds.
    pub total_ms: f64,
    /// Why figures are missing.
    pub notes: Vec<String>,
}

/// A statement's share.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The role that ran it: a tenant's, or the platform's.
    pub role: String,
    /// Its text with placeholders for values.
    pub text: String,
    /// How often it ran.
    pub calls: i64,
    /// Its time in all, in milliseconds.
    pub total_ms: f64,
}

impl Statement {
    /// Its average time, in milliseconds.
    pub fn average_ms(&self) -> f64 {
        self.total_ms / self.calls.max(1) as f64
    }

    /// Whether its average is above 100 ms.
    pub fn is_slow(&self) -> bool {
        self.average_ms() > SLOW
    }
}

impl DatabaseFigures {
    /// The figures as JSON.
    pub fn json(&self) -> Value {
        let statement = |statement: &Statement| {
            json!({ "role": statement.role, "calls": statement.calls, "total_ms": statement.total_ms,
                "average_ms": statement.average_ms(), "statement": statement.text })
        };
        json!({
            "connections": self.connections, "active": self.active, "lock_waits": self.lock_waits,
            "waits": self.waits, "counts": self.counts, "io": self.io, "total_ms": self.total_ms,
            "statements": self.statements.iter().map(statement).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

type Statements = BTreeMap<(String, i64), Statement>;

/// A connection for reading statistics.
pub struct Database {
    client: Client,
    /// The view of `pg_stat_statements`, if it is installed.
    statements_view: Option<String>,
    before: (BTreeMap<String, i64>, BTreeMap<String, i64>, Statements),
    figures: DatabaseFigures,
}

impl Database {
    /// Connects and stores the initial counts.
    pub async fn open(address: &str) -> Result<Database> {
        let client = connect(&address.parse().context("reading the database's address")?).await?;
        let schema = client
            .query_opt(
                "select quote_ident(nspname) from pg_extension join pg_namespace n on n.oid = extnamespace
                 where extname = 'pg_stat_statements'
                     and current_setting('pg_stat_statements.track', true) is not null",
                &[],
            )
            .await
            .context("looking for pg_stat_statements")?;
        let statements_view = schema.map(|row| format!("{}.pg_stat_statements", row.get::<_, String>(0)));
        let mut database =
            Database { client, statements_view, before: Default::default(), figures: Default::default() };
        if database.statements_view.is_none() {
            database
                .figures
                .notes
                .push("pg_stat_statements is not loaded, so statements are not listed".into());
        }
        database.before = database.counts().await;
        Ok(database)
    }

    /// The postmaster's process id, if it runs on this machine.
    pub async fn postmaster(&self) -> Option<u32> {
        let row = self.client.query_one("select pg_backend_pid()", &[]).await.ok()?;
        postmaster_of(row.get(0))
    }

    /// Samples the sessions; returns the number of connections.
    pub async fn look(&mut self) -> u64 {
        let rows = self
            .client
            .query(
                "select coalesce(state, '') state, coalesce(wait_event_type || ': ' || wait_event, '') wait, count(*)
                 from pg_stat_activity
                 where backend_type = 'client backend' and pid <> pg_backend_pid() group by 1, 2",
                &[],
            )
            .await
            .unwrap_or_default();
        let (mut all, mut active, mut locked) = (0, 0, 0);
        for row in rows {
            let (state, wait, count) =
                (row.get::<_, String>(0), row.get::<_, String>(1), row.get::<_, i64>(2).unsigned_abs());
            all += count;
            if state == "active" {
                active += count;
                let wait = if wait.is_empty() { "none: on the processor".into() } else { wait };
                if wait.starts_with("Lock:") {
                    locked += count;
                }
                *self.figures.waits.entry(wait).or_default() += count;
            }
        }
        self.figures.connections.push(all);
        self.figures.active.push(active);
        self.figures.lock_waits.push(locked);
        all
    }

    /// The figures since the connection was opened.
    pub async fn finish(mut self) -> DatabaseFigures {
        let (counts, io, statements) = self.counts().await;
        let less = |after: BTreeMap<String, i64>, before: &BTreeMap<String, i64>| {
            let each = after.into_iter().map(|(name, value)| {
                let value = value - before.get(&name).copied().unwrap_or(0);
                (name, value)
            });
            each.filter(|(_, value)| *value != 0).collect()
        };
        self.figures.counts = less(counts, &self.before.0);
        self.figures.io = less(io, &self.before.1);
        let mut grown: Vec<Statement> = statements
            .into_iter()
            .map(|(key, mut statement)| {
                if let Some(before) = self.before.2.get(&key) {
                    statement.calls -= before.calls;
                    statement.total_ms -= before.total_ms;
                }
                statement
            })
            .filter(|statement| statement.calls > 0)
            .collect();
        grown.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        self.figures.total_ms = grown.iter().map(|statement| statement.total_ms).sum();
        let listed = grown.into_iter().enumerate();
        self.figures.statements =
            listed.filter(|(index, s)| *index < TOP || s.is_slow()).map(|(_, statement)| statement).collect();
        self.figures
    }

    async fn counts(&self) -> (BTreeMap<String, i64>, BTreeMap<String, i64>, Statements) {
        let database = self
            .client
            .query(
                "select j.key, j.value::numeric::bigint from pg_stat_database s, jsonb_each_text(to_jsonb(s)) j
                 where s.datname = current_database() and j.key in ('xact_commit', 'xact_rollback', 'blks_read',
                     'blks_hit', 'tup_returned', 'tup_fetched', 'tup_inserted', 'tup_updated', 'tup_deleted',
                     'deadlocks', 'temp_files', 'temp_bytes', 'conflicts')",
                &[],
            )
            .await;
        // The view came with version 16.
        let io = self
            .client
            .query(
                "select backend_type || ' ' || context || ': ' || what, sum(n)::bigint
                 from pg_stat_io, lateral (values ('reads', reads), ('writes', writes), ('extends', extends),
                     ('fsyncs', fsyncs)) v (what, n)
                 where n > 0 group by 1",
                &[],
            )
            .await;
        let named = |rows: std::result::Result<Vec<tokio_postgres::Row>, tokio_postgres::Error>| {
            rows.unwrap_or_default().iter().map(|row| (row.get(0), row.get(1))).collect()
        };
        (named(database), named(io), self.statements().await)
    }

    async fn statements(&self) -> Statements {
        let Some(view) = &self.statements_view else { return BTreeMap::new() };
        let rows = self
            .client
            .query(
                &format!(
                    "select r.rolname::text, s.queryid, max(left(s.query, 2000)), sum(s.calls)::bigint,
                         sum(s.total_exec_time)
                     from {view} s join pg_roles r on r.oid = s.userid
                     where s.queryid is not null and s.query not like '%pg_stat_%' group by 1, 2"
                ),
                &[],
            )
            .await
            .unwrap_or_default();
        rows.iter()
            .map(|row| {
                let statement = Statement {
                    role: row.get(0),
                    text: row.get::<_, String>(2).split_whitespace().collect::<Vec<_>>().join(" "),
                    calls: row.get(3),
                    total_ms: row.get(4),
                };
                ((row.get(0), row.get(1)), statement)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_slow_above_a_hundred_milliseconds_on_average() {
        let statement =
            |calls, total_ms| Statement { role: "r".into(), text: "select".into(), calls, total_ms };
        assert!(statement(2, 201.0).is_slow());
        assert!(!statement(3, 201.0).is_slow());
    }
}
