//! What one process serves: all tenants of a platform, with the modules' declarations. A tenant's data are in the
//! platform's own database, or in the one that its line in the table of tenants names.

mod bootstrap;
mod databases;
mod lifecycle;
mod moving;
mod notifications;
mod schema;
mod upkeep;

pub use databases::Database;
pub use moving::CopySource;
pub use upkeep::{INDEX_BUILDS, OUTBOX_RETENTION};

use crate::cache::Cache;
use crate::database::replicas::Replicas;
use crate::database::{
    Address, Bind, Connection, ConnectionLimit, Pools, WatchedTables, Work, database_unreachable, failure,
};
use crate::http::App;
use crate::jobs::timers::TimerSetting;
use crate::jobs::{Hints, Job};
use crate::module::Module;
use crate::record_store::{Records, upgrade};
use crate::settings_version::SettingsVersion;
use crate::tenant::{Tenant, TenantPools, is_tenant_id, schema_of};
use crate::tenant_profile::TenantProfile;
use crate::tenant_state::TenantState;
use crate::token::Keys;
use crate::transaction_listeners::TransactionListeners;
use carrel_records::Failure;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock, Weak};
use std::time::{Duration, Instant};
use tokio_postgres::Row;

/// The server's options, from its configuration.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Behind a gateway: tenant, user and permissions are taken from the headers.
    pub behind_gateway: bool,
    /// A secret that the gateway must send in `X-Carrel-Gateway`; without one only loopback may call.
    pub gateway_secret: Option<String>,
    /// Behind a gateway: an unknown tenant is created on first use.
    pub makes_tenants: bool,
    /// Bytes of the largest body, that of a batch of records. Other routes accept less.
    pub largest_body: usize,
    /// Bytes of memory for all bodies of more than 64 KiB together.
    pub body_memory: usize,
    /// Connections of clients that may be open at once.
    pub connections_in_all: usize,
    /// Connections of one address that may be open at once.
    pub connections_per_address: usize,
    /// Time for a request's head, and for a kept connection to be idle.
    pub header_timeout: Duration,
    /// Time within which a write is answered.
    pub write_timeout: Duration,
    /// Time within which a read is answered, or its streaming begins.
    pub read_timeout: Duration,
    /// Time within which work on many records or a whole tenant is answered.
    pub long_call_timeout: Duration,
    /// Origins whose pages may use cookies, such as `https://desk.example.org`.
    pub allowed_origins: Vec<String>,
    /// When browsers send cookies with requests from pages of other sites.
    pub cookie_same_site: SameSite,
    /// `/metrics` answers without a token.
    pub open_metrics: bool,
    /// Concurrent calls of one client, at most.
    pub most_calls_at_once: usize,
    /// Cookies are marked `Secure`.
    pub secure_cookies: bool,
    /// The older login issues tokens without expiration, and they are accepted.
    pub endless_tokens: bool,
    /// An operator may open a tenant in which no user can log in to calls without a token.
    pub allows_bootstrap: bool,
    /// Proxies whose `X-Forwarded-For` is trusted for the client's address.
    pub trusted_proxies: Vec<IpAddr>,
    /// Answers have the number of database round trips in a header.
    pub counts_round_trips: bool,
}

/// The `SameSite` attribute of a cookie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SameSite {
    Strict,
    #[default]
    Lax,
    /// Sent from pages of every site; browsers accept it only with `Secure`.
    None,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            behind_gateway: false,
            gateway_secret: None,
            makes_tenants: false,
            largest_body: 64 * 1024 * 1024,
            body_memory: 256 * 1024 * 1024,
            connections_in_all: 10_000,
            connections_per_address: 1_000,
            header_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(75),
            long_call_timeout: Duration::from_secs(15 * 60),
            allowed_origins: Vec::new(),
            cookie_same_site: SameSite::Lax,
            open_metrics: false,
            // Many desks may share an account or an address, and programs that load data send hundreds of calls at
            // once.
            most_calls_at_once: 1000,
            secure_cookies: false,
            endless_tokens: false,
            allows_bootstrap: false,
            trusted_proxies: Vec::new(),
            counts_round_trips: false,
        }
    }
}

/// A record that new tenants start with.
#[derive(Debug, Clone)]
pub struct FirstRecord {
    /// Path of its collection.
    pub path: String,
    pub document: Value,
    /// Not needed by Carrel: a tenant can be created without these.
    pub is_reference: bool,
    /// FOLIO's module writes it by a script, so it has no `metadata`.
    pub without_metadata: bool,
}

/// Whether a new tenant gets the reference records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceRecords {
    Loaded,
    LeftOut,
}

/// All that this node serves.
pub struct Node {
    pub modules: Vec<Module>,
    /// Every declared record type.
    pub records: Arc<Records>,
    listeners: Arc<TransactionListeners>,
    pub options: ServerOptions,
    pub keys: Keys,
    /// Records that new tenants start with; a record comes after those that it refers to.
    pub first_records: Vec<FirstRecord>,
    /// State that modules keep in memory for all tenants together.
    pub state: TenantState,
    per_tenant: usize,
    /// The platform's own database.
    main: Arc<Database>,
    /// Other databases that hold tenants, by their addresses.
    others: databases::Others,
    /// Tenants whose database cannot be reached since this node has started.
    unreachable: RwLock<HashSet<String>>,
    /// Tables from which values are cached.
    cached_tables: HashSet<&'static str>,
    tenants: RwLock<HashMap<String, Arc<Tenant>>>,
    making: tokio::sync::Mutex<()>,
    started: Instant,
    /// It will soon take no more calls.
    stopping: AtomicBool,
    /// Hints of this node's use cases to its jobs.
    pub(crate) hints: Hints,
    /// The HTTP application of this node.
    app: RwLock<Weak<App>>,
}

/// A row of the table of tenants.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    pub id: String,
    pub name: String,
    pub description: String,
    pub lenient: bool,
    /// Fingerprint of the declarations that its schema was last upgraded to.
    pub declarations: String,
    /// The release that did the upgrade.
    pub release: String,
    /// What somebody has set for its jobs; filled for a dump only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<(String, TimerSetting)>,
}

impl Entry {
    fn of(row: &Row) -> Entry {
        Entry {
            id: row.get("id"),
            name: row.get("name"),
            description: row.get("description"),
            lenient: row.get("lenient"),
            declarations: row.get("declarations"),
            release: row.get("release"),
            timers: Vec::new(),
        }
    }
}

/// What became of a tenant since this node has read its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    Here,
    /// It is being moved to another database, or was moved just now.
    Moving,
    Dropped,
}

/// Notifies every node that cached tables of the current tenant have changed.
const ANNOUNCE_CHANGE: &str = "SELECT pg_notify('carrel_settings', current_schema()::text)";

/// This program's release.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Connections of [`Tenant::background`] for one tenant.
const SECOND_PER_TENANT: usize = 4;

impl Node {
    /// Connects, upgrades the platform's own tables and every tenant, and reads the tenants.
    pub async fn open(
        address: Address,
        connections: impl Into<ConnectionLimit>,
        modules: Vec<Module>,
        options: ServerOptions,
        first_records: Vec<FirstRecord>,
    ) -> Result<Arc<Node>, Failure> {
        let per_tenant = address.per_tenant;
        let main = Database::new(None, address.primary, address.replicas, connections.into()).await;
        let secret = set_up_platform(&main.upkeep.get().await?).await?;
        let declared = modules.iter().flat_map(|module| module.records.iter().copied()).collect();
        let change_listeners = modules.iter().flat_map(|module| module.change_listeners).collect();
        let cached_tables = modules.iter().flat_map(|module| module.cached_tables.iter().copied()).collect();
        let mut listeners = TransactionListeners::default();
        for module in &modules {
            (module.transaction_listeners)(&mut listeners);
        }
        let node = Arc::new(Node {
            modules,
            records: Arc::new(Records::new(declared, change_listeners)),
            listeners: Arc::new(listeners),
            options,
            keys: Keys::new(&secret),
            first_records,
            state: TenantState::default(),
            per_tenant,
            main,
            others: databases::Others::default(),
            unreachable: RwLock::default(),
            cached_tables,
            tenants: RwLock::default(),
            making: tokio::sync::Mutex::new(()),
            started: Instant::now(),
            stopping: AtomicBool::new(false),
            hints: Hints::default(),
            app: RwLock::default(),
        });
        tokio::spawn(notifications::listen(Arc::downgrade(&node), Arc::downgrade(&node.main)));
        node.read_tenants().await?;
        Ok(node)
    }

    /// All background jobs: those of the modules and those that maintain the tables.
    pub fn jobs(&self) -> Vec<&'static Job> {
        self.modules
            .iter()
            .flat_map(|module| module.jobs.iter().copied())
            .chain([&INDEX_BUILDS, &OUTBOX_RETENTION])
            .collect()
    }

    /// The HTTP application of this node; `None` on a node that does not listen.
    pub fn app(&self) -> Option<Arc<App>> {
        self.app.read().expect("no holder of this lock panics").upgrade()
    }

    pub(crate) fn serve_as(&self, app: &Arc<App>) {
        *self.app.write().expect("no holder of this lock panics") = Arc::downgrade(app);
    }

    /// Says on the health page that this node stops; it still answers.
    pub fn begin_to_stop(&self) {
        self.stopping.store(true, Relaxed);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// A connection to the platform's own tables, with the role of the server's address.
    pub async fn platform(&self) -> Result<Connection, Failure> {
        self.main.upkeep.get().await
    }

    pub fn tenant(&self, id: &str) -> Option<Arc<Tenant>> {
        self.tenants.read().expect("no holder of this lock panics").get(id).cloned()
    }

    pub fn tenants(&self) -> Vec<Arc<Tenant>> {
        let mut all: Vec<_> =
            self.tenants.read().expect("no holder of this lock panics").values().cloned().collect();
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// The tenant, even if another node has created it since.
    pub async fn find_tenant(self: &Arc<Self>, id: &str) -> Result<Option<Arc<Tenant>>, Failure> {
        if let Some(tenant) = self.tenant(id) {
            return Ok(Some(tenant));
        }
        if !is_tenant_id(id) {
            return Ok(None);
        }
        self.read_tenants().await?;
        let tenant = self.tenant(id);
        if tenant.is_none() && self.unreachable.read().expect("no holder of this lock panics").contains(id) {
            return Err(database_unreachable());
        }
        Ok(tenant)
    }

    /// Lets go of tenants that another node has dropped, and takes in what it has made, renamed or moved. Finishes what
    /// a program that has died left of a move.
    pub async fn look_for_changes(self: &Arc<Self>) -> Result<(), Failure> {
        let _one_at_a_time = self.making.lock().await;
        let connection = self.platform().await?;
        let rows = connection.query("SELECT id, database FROM platform.tenant", vec![]).await?;
        let moves = connection.query("SELECT tenant FROM platform.tenant_move", vec![]).await?;
        drop(connection);
        let there: HashSet<String> = rows.iter().map(|row| row.get("id")).collect();
        let addresses: HashSet<String> = rows.iter().filter_map(|row| row.get("database")).collect();
        self.others.forget_except(&addresses);
        self.unreachable.write().expect("no holder of this lock panics").retain(|id| there.contains(id));
        self.tenants.write().expect("no holder of this lock panics").retain(|id, tenant| {
            if !there.contains(id) {
                tracing::info!(tenant = id, "tenant {id} was dropped by another node");
                tenant.pools.close();
            }
            there.contains(id)
        });
        self.read_tenants().await?;
        for row in moves {
            self.finish_if_abandoned(row.get("tenant")).await?;
        }
        Ok(())
    }

    /// What another node has done to a tenant that this node knows, or knew a moment ago. Asked when a call failed.
    pub async fn whereabouts(self: &Arc<Self>, tenant: &Tenant) -> Whereabouts {
        let id = tenant.id.as_str();
        let Some(known) = self.tenant(id) else { return Whereabouts::Dropped };
        let Ok(connection) = self.platform().await else { return Whereabouts::Here };
        let result = connection
            .query(
                "SELECT database, EXISTS (SELECT 1 FROM platform.tenant_move WHERE tenant = id) AS moving
                 FROM platform.tenant WHERE id = $1",
                vec![id.into()],
            )
            .await;
        drop(connection);
        let Ok(rows) = result else { return Whereabouts::Here };
        let Some(row) = rows.first() else {
            if let Some(tenant) = self.tenants.write().expect("no holder of this lock panics").remove(id) {
                tracing::info!(tenant = id, "tenant {id} was dropped by another node");
                tenant.pools.close();
            }
            return Whereabouts::Dropped;
        };
        let address: Option<String> = row.get("database");
        let has_moved = address.as_deref() != known.database.address();
        if has_moved {
            // The next call goes to the new address, also if the notification was lost.
            let _ = self.read_tenants().await;
        }
        if has_moved || row.get("moving") || address.as_deref() != tenant.database.address() {
            return Whereabouts::Moving;
        }
        Whereabouts::Here
    }

    async fn read_tenants(self: &Arc<Self>) -> Result<(), Failure> {
        let connection = self.platform().await?;
        let rows = connection
            .query(
                "SELECT id, name, description, declarations, lenient, release, database
                 FROM platform.tenant ORDER BY id",
                vec![],
            )
            .await?;
        drop(connection);
        let current = self.declarations();
        for row in rows {
            let entry = Entry::of(&row);
            let id = entry.id.as_str();
            let address: Option<String> = row.get("database");
            let ready = async {
                let database = self.database(address.as_deref()).await?;
                if upgrade::is_newer(&entry.release, RELEASE) {
                    tracing::debug!(tenant = id, "release {} has upgraded tenant {id}", entry.release);
                } else if entry.declarations != current {
                    self.bring_up_to_date(&database, id, &TenantProfile::stored(entry.lenient)).await?;
                }
                Ok::<_, Failure>(database)
            };
            match ready.await {
                Ok(database) => {
                    self.keep_tenant(&entry, database);
                }
                // The other tenants are served.
                Err(failure) if address.is_some() => {
                    tracing::warn!(tenant = id, "the database of tenant {id} cannot be used: {failure}");
                    self.unreachable.write().expect("no holder of this lock panics").insert(entry.id);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    fn keep_tenant(&self, entry: &Entry, database: Arc<Database>) -> Arc<Tenant> {
        self.unreachable.write().expect("no holder of this lock panics").remove(&entry.id);
        let mut tenants = self.tenants.write().expect("no holder of this lock panics");
        if let Some(known) = tenants.get(&entry.id) {
            let is_same_place = known.database.address() == database.address();
            if known.name == entry.name
                && known.description == entry.description
                && known.profile == TenantProfile::stored(entry.lenient)
                && is_same_place
            {
                return Arc::clone(known);
            }
            if !is_same_place {
                tracing::info!(tenant = entry.id, "tenant {} has moved to another database", entry.id);
                known.pools.close();
            }
        }
        let schema = schema_of(&entry.id);
        let version = Arc::new(SettingsVersion::default());
        let size = self.per_tenant;
        let queries = |pools: &Pools| pools.open(Some(&schema), size, Work::Queries, None);
        let tenant = Arc::new(Tenant {
            pools: TenantPools {
                writer: database.pools.open(Some(&schema), size, Work::Writes, Some(self.watched(&version))),
                reader: queries(&database.pools),
                second: database.pools.open_second(&schema, SECOND_PER_TENANT, Work::Writes),
                replicas: Replicas::new(
                    Arc::clone(database.pools.members()),
                    database.replicas.iter().map(|(member, pools)| (*member, queries(pools))).collect(),
                ),
                reads: AtomicU64::new(0),
            },
            id: entry.id.clone(),
            name: entry.name.clone(),
            description: entry.description.clone(),
            schema,
            profile: TenantProfile::stored(entry.lenient),
            cache: Cache::default(),
            state: TenantState::default(),
            listeners: Arc::clone(&self.listeners),
            version,
            database,
            records: Arc::clone(&self.records),
            hints: self.hints.clone(),
        });
        tenants.insert(entry.id.clone(), Arc::clone(&tenant));
        tenant
    }

    /// What every transaction that changes a cached table does in addition: it increments the tenant's settings version
    /// and notifies all nodes.
    fn watched(&self, version: &Arc<SettingsVersion>) -> Arc<WatchedTables> {
        let version = Arc::clone(version);
        Arc::new(WatchedTables {
            tables: self.cached_tables.clone(),
            before_commit: vec![
                "UPDATE settings_version SET value = value + 1 WHERE id = 1",
                ANNOUNCE_CHANGE,
            ],
            committed: Box::new(move || version.has_changed()),
        })
    }

    /// Tables whose values are cached; every change of one increments the tenant's settings version.
    pub fn cached_tables(&self) -> &HashSet<&'static str> {
        &self.cached_tables
    }
}

async fn set_up_platform(connection: &Connection) -> Result<Vec<u8>, Failure> {
    // Several nodes may start at once on an empty database.
    let script = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(7217316);\n{}\n{}\nCOMMIT;",
        include_str!("../platform.sql"),
        databases::shared_ddl()
    );
    if let Err(error) = connection.client().batch_execute(&script).await {
        let _ = connection.client().batch_execute("ROLLBACK").await;
        return Err(failure(error, "setting up the platform's tables"));
    }
    let secret: [u8; 32] = rand::random();
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let rows = connection
        .query(
            "WITH made AS (INSERT INTO platform.signing_key (id, secret) VALUES (1, $1)
                 ON CONFLICT (id) DO NOTHING RETURNING secret)
             SELECT secret FROM made UNION ALL SELECT secret FROM platform.signing_key WHERE id = 1 LIMIT 1",
            vec![Bind::Text(hex)],
        )
        .await?;
    let secret: String = rows.first().map(|row| row.get(0)).unwrap_or_default();
    Ok(secret.into_bytes())
}
