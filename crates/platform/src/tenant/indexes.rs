//! Indexes of large tables, built while desks work: an upgrade at start defers them to a job.
//!
//! An index with a new definition is built next to the old one and takes its name in the end. An index that a dead node
//! has left unfinished is dropped and started again. A session lock excludes other programs.

use super::Tenant;
use crate::database::failure;
use crate::record_store::ddl;
use crate::record_store::upgrade::{self, Made};
use carrel_records::Failure;
use tokio_postgres::{Client, Error};

/// Indexes of smaller tables are built within the upgrade's transaction, since it takes only moments.
const LARGE: i64 = 16 * 1024 * 1024;

/// An index that is declared and does not exist.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingIndex {
    pub name: String,
    pub table: String,
    /// The part of its table that was read, in percent, while it is being built.
    pub percent: Option<f64>,
    make: String,
    definition: String,
}

impl MissingIndex {
    /// The name under which it is built.
    fn new_name(&self) -> String {
        // PostgreSQL cuts names at 63 bytes; an index's name is ASCII.
        format!("{}_new", &self.name[..self.name.len().min(59)])
    }
}

impl Tenant {
    /// Declared indexes of the tenant that are missing, or that an interrupted build has left unusable.
    pub async fn missing_indexes(&self) -> Result<Vec<MissingIndex>, Failure> {
        let connection = self.upkeep().await?;
        self.missing(connection.client()).await.map_err(|error| failure(error, "looking for missing indexes"))
    }

    /// Builds them one after the other without blocking writers; returns a summary.
    pub async fn build_missing_indexes(&self) -> Result<String, Failure> {
        let connection = self.upkeep().await?;
        let built = self.build(connection.client()).await;
        // The connection has a separate role. The lock is released before it, since the time at which a connection
        // closes is not determined.
        let _ = connection.client().batch_execute("SELECT pg_advisory_unlock_all()").await;
        connection.discard();
        let built = built.map_err(|(doing, error)| failure(error, &doing))?;
        Ok(match built {
            None => "another program builds them".to_owned(),
            Some(0) => "all indexes stand".to_owned(),
            Some(number) => format!("{number} built"),
        })
    }

    async fn missing(&self, client: &Client) -> Result<Vec<MissingIndex>, Error> {
        let schema = &self.schema;
        let rows = client
            .query(&format!("SELECT kind, on_table, name, definition FROM {schema}.schema_part"), &[])
            .await?;
        let made: Made = rows.iter().map(|row| ((row.get(0), row.get(1), row.get(2)), row.get(3))).collect();
        let rows = client
            .query(
                "SELECT relname::text, indisvalid,
                     (SELECT round(100.0 * blocks_done / nullif(blocks_total, 0), 1)::float8
                      FROM pg_stat_progress_create_index AS progress WHERE progress.index_relid = pg_class.oid)
                 FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
                 WHERE relnamespace = to_regnamespace($1)",
                &[schema],
            )
            .await?;
        let state = |name: &str| rows.iter().find(|row| row.get::<_, &str>(0) == name);
        let mut missing = Vec::new();
        for part in ddl::parts(&self.records, &self.profile) {
            if part.kind != ddl::PartKind::Index {
                continue;
            }
            let definition = upgrade::fingerprint(&part.make);
            let known = made.get(&(part.kind.name().to_owned(), part.table.to_owned(), part.name.clone()));
            let stands = state(&part.name).is_some_and(|row| row.get(1));
            if known == Some(&definition) && stands {
                continue;
            }
            let mut index = MissingIndex {
                name: part.name,
                table: part.table.to_owned(),
                percent: None,
                make: part.make,
                definition,
            };
            index.percent = state(&index.new_name()).and_then(|row| row.get(2));
            missing.push(index);
        }
        Ok(missing)
    }

    /// The number of indexes built, or `None` if another program is building them.
    async fn build(&self, client: &Client) -> Result<Option<usize>, (String, Error)> {
        let at = |doing: &str| {
            let doing = doing.to_owned();
            move |error| (doing, error)
        };
        let schema = &self.schema;
        let row = client
            .query_one("SELECT pg_try_advisory_lock(hashtext('indexes of ' || $1))", &[schema])
            .await
            .map_err(at("keeping others from building indexes"))?;
        if !row.get::<_, bool>(0) {
            return Ok(None);
        }
        let missing = self.missing(client).await.map_err(at("looking for missing indexes"))?;
        client
            .batch_execute(&format!(
                "SET ROLE {schema}; SET search_path TO {schema}, carrel; SET lock_timeout = 0"
            ))
            .await
            .map_err(at("becoming the tenant"))?;
        for index in &missing {
            tracing::info!(tenant = self.id, "building index {} of tenant {}", index.name, self.id);
            build_one(client, index).await.map_err(at(&format!("building index {}", index.name)))?;
        }
        Ok(Some(missing.len()))
    }
}

async fn build_one(client: &Client, index: &MissingIndex) -> Result<(), Error> {
    let (name, new, table) = (&index.name, index.new_name(), &index.table);
    client.batch_execute(&format!("DROP INDEX CONCURRENTLY IF EXISTS {new}")).await?;
    let make = index.make.replacen(
        &format!("INDEX IF NOT EXISTS {name} "),
        &format!("INDEX CONCURRENTLY {new} "),
        1,
    );
    client.batch_execute(&make).await?;
    // Only the statistics of the index give the planner the distribution of an expression.
    client.batch_execute(&format!("ANALYZE {table}")).await?;
    // Dropping the old index waits for its readers, and other sessions wait for the drop: only briefly.
    let exchange = format!(
        "BEGIN; SET LOCAL lock_timeout = '5s'; DROP INDEX IF EXISTS {name}; ALTER INDEX {new} RENAME TO {name}"
    );
    let exchanged = async {
        client.batch_execute(&exchange).await?;
        client
            .execute(
                "INSERT INTO schema_part (kind, on_table, name, definition) VALUES ('index', $1, $2, $3)
                 ON CONFLICT (kind, on_table, name) DO UPDATE SET definition = EXCLUDED.definition",
                &[table, name, &index.definition],
            )
            .await?;
        client.batch_execute("COMMIT").await
    };
    exchanged.await
}

/// The tenant's tables that are too large to block writers while an index is built.
pub(crate) async fn large_tables(client: &Client) -> Result<Vec<String>, Error> {
    let rows = client
        .query(
            "SELECT relname::text FROM pg_class
             WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > $1",
            &[&LARGE],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
