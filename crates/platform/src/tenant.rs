//! A tenant on this node: its connections and its state in memory.

mod indexes;

pub use indexes::MissingIndex;
pub(crate) use indexes::large_tables;

use crate::cache::Cache;
use crate::database::replicas::{ReplicaState, Replicas};
use crate::database::{Connection, OpenPool, Tx};
use crate::jobs::Hints;
use crate::node::Database;
use crate::record_store::Records;
use crate::settings_version::SettingsVersion;
use crate::tenant_profile::TenantProfile;
use crate::tenant_state::TenantState;
use crate::transaction_listeners::TransactionListeners;
use carrel_records::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One tenant on this node.
pub struct Tenant {
    pub id: String,
    pub name: String,
    pub description: String,
    /// Name of its schema and of its role.
    pub schema: String,
    /// The rules that it relaxes; it never changes.
    pub profile: TenantProfile,
    pub(crate) pools: TenantPools,
    /// Values computed from its settings.
    pub cache: Cache,
    /// State that modules keep in memory for it.
    pub state: TenantState,
    /// Functions of modules that run in the transactions of other modules.
    pub listeners: Arc<TransactionListeners>,
    pub(crate) version: Arc<SettingsVersion>,
    /// Where its data are.
    pub(crate) database: Arc<Database>,
    /// Every declared record type.
    pub(crate) records: Arc<Records>,
    /// To the jobs of its node.
    pub(crate) hints: Hints,
}

/// Its pools.
pub(crate) struct TenantPools {
    pub writer: OpenPool,
    /// The primary, for clients' queries.
    pub reader: OpenPool,
    /// The primary, for work that holds a reading connection at the same time.
    pub second: OpenPool,
    pub replicas: Replicas,
    /// Reads that the primary has served.
    pub reads: AtomicU64,
}

impl TenantPools {
    pub fn close(&self) {
        self.writer.close();
        self.reader.close();
        self.second.close();
        self.replicas.close();
    }
}

impl Tenant {
    /// A connection that may write.
    pub async fn writer(&self) -> Result<Connection, Failure> {
        self.pools.writer.get().await
    }

    /// A connection that may write, for work that reads from another connection at the same time. It has a separate
    /// share of the budget: a task with another connection may wait for this one, but no task with this one waits for
    /// another.
    pub async fn background(&self) -> Result<Connection, Failure> {
        self.pools.second.get().await
    }

    /// A connection to the tenant's database with the role of the node, for upkeep and for looking at its activity.
    pub async fn upkeep(&self) -> Result<Connection, Failure> {
        self.database.upkeep.get().await
    }

    /// The database that holds the tenant.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// A transaction on the primary.
    pub async fn begin(&self) -> Result<Tx, Failure> {
        Ok(self.writer().await?.begin())
    }

    /// A connection for plain reads: a replica that has replayed every commit acknowledged so far by any node,
    /// otherwise the primary. So users read their own writes.
    pub async fn reader(&self) -> Result<Connection, Failure> {
        match self.pools.replicas.caught_up(&self.pools.reader).await {
            Some(connection) => Ok(connection),
            None => {
                self.pools.reads.fetch_add(1, Relaxed);
                self.pools.reader.get().await
            }
        }
    }

    /// A connection to the primary for plain reads, for queries that a replica could not finish.
    pub async fn primary_reader(&self) -> Result<Connection, Failure> {
        self.pools.reads.fetch_add(1, Relaxed);
        self.pools.reader.get().await
    }

    /// Connections for reading that this node may open to each of the tenant's servers.
    pub fn reader_connections(&self) -> usize {
        self.pools.reader.max_connections()
    }

    /// The state of each replica, in the order of the configuration.
    pub fn replicas(&self) -> Vec<ReplicaState> {
        self.pools.replicas.state()
    }

    /// Reads that the primary has served for this node.
    pub fn reads_of_the_primary(&self) -> u64 {
        self.pools.reads.load(Relaxed)
    }

    /// Open and idle connections to the primary, and waiting callers, for writes and for clients' queries.
    pub fn pool_use(&self) -> [(&'static str, (usize, usize, usize)); 2] {
        [("writes", self.pools.writer.usage()), ("queries", self.pools.reader.usage())]
    }

    /// The tenant's settings version, at most two seconds old, and newer than every change that this node has made or
    /// was notified of.
    pub async fn settings_version(&self) -> Result<i64, Failure> {
        let pending = match self.version.current() {
            Ok(version) => return Ok(version),
            Err(pending) => pending,
        };
        let connection = self.writer().await?;
        let rows = connection.query("SELECT value FROM settings_version WHERE id = 1", vec![]).await?;
        let version: i64 = rows.first().map_or(0, |row| row.get("value"));
        Ok(self.version.answered(pending, version))
    }

    /// Stores the settings version that a desk action has read with its facts.
    pub fn saw_settings_version(&self, settings_version: i64) {
        self.version.saw(settings_version);
    }

    /// A cached table has changed: the next reader reads the settings version again.
    pub fn settings_version_is_stale(&self) {
        self.version.has_changed();
    }
}

/// The schema and role of a tenant.
pub fn schema_of(id: &str) -> String {
    format!("library_{id}")
}

/// Letters, digits and underscores, beginning with a letter: usable in a schema's name without quotes.
pub fn is_tenant_id(id: &str) -> bool {
    id.len() <= 48
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
