//! What one process serves: all tenants of a database, with the modules' declarations.

mod bootstrap;
mod lifecycle;
mod notifications;
mod schema;
mod upkeep;

pub use upkeep::{INDEX_BUILDS, OUTBOX_RETENTION};

use crate::cache::Cache;
use crate::database::replicas::Replicas;
use crate::database::{
    Address, Bind, Connection, Members, OpenPool, Pools, Server, WatchedTables, Work, failure,
};
use crate::http::App;
use crate::jobs::Job;
use crate::module::Module;
use crate::record_store::{change_listeners, upgrade};
use crate::settings_version::SettingsVersion;
use crate::tenant::{Tenant, TenantPools, is_tenant_id, schema_of};
use crate::tenant_state::TenantState;
use crate::token::Keys;
use crate::transaction_listeners::TransactionListeners;
use carrel_records::{Failure, RecordType};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock, Weak};
use std::time::{Duration, Instant};

/// How the server behaves, from its configuration.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Behind a gateway: tenant, user and permissions are taken from the headers.
    pub behind_gateway: bool,
    /// A secret that the gateway must send in `X-Carrel-Gateway`; without one only loopback may call.
    pub gateway_secret: Option<String>,
    /// Behind a gateway: an unknown tenant is made on first use.
    pub makes_tenants: bool,
    /// Largest body that is read, in bytes: that of a batch of records. Other routes take less.
    pub largest_body: usize,
    /// Bytes of all bodies of more than 64 KiB that are held at once.
    pub body_memory: usize,
    /// Connections of clients that may be open at once.
    pub connections_in_all: usize,
    /// Connections of one address that may be open at once.
    pub connections_per_address: usize,
    /// Time for a request's head, and for which a kept connection may be idle.
    pub header_timeout: Duration,
    /// Time within which a write is answered.
    pub write_timeout: Duration,
    /// Time within which a read is answered, or its streaming begins.
    pub read_timeout: Duration,
    /// Time within which work on many records or a whole tenant is answered.
    pub long_call_timeout: Duration,
    /// Origins whose pages may use cookies, such as `https://desk.example.org`.
    pub allowed_origins: Vec<String>,
    /// When browsers send the cookies along from pages of other sites.
    pub cookie_same_site: SameSite,
    /// `/metrics` answers without a token.
    pub open_metrics: bool,
    /// Calls of one client that may be under way at once.
    pub most_calls_at_once: usize,
    /// Cookies are marked `Secure`.
    pub secure_cookies: bool,
    /// The older login gives tokens without an end, and they are accepted.
    pub endless_tokens: bool,
    /// An operator may open a tenant in which nobody can log in to calls without a token.
    pub allows_bootstrap: bool,
    /// Proxies whose `X-Forwarded-For` says from which address a call comes.
    pub trusted_proxies: Vec<IpAddr>,
    /// Address of the server for tests that count.
    pub counts_round_trips: bool,
}

/// The `SameSite` attribute of a cookie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SameSite {
    Strict,
    #[default]
    Lax,
    /// Sent from pages of every site; browsers take it only with `Secure`.
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
            // Many desks may share an account or an address; programs that load data send hundreds at once.
            most_calls_at_once: 1000,
            secure_cookies: false,
            endless_tokens: false,
            allows_bootstrap: false,
            trusted_proxies: Vec::new(),
            counts_round_trips: false,
        }
    }
}

/// A record that a new tenant begins with.
#[derive(Debug, Clone)]
pub struct FirstRecord {
    /// Path of its collection.
    pub path: String,
    pub document: Value,
    /// A library may prefer records of its own; a tenant can be created without these.
    pub is_reference: bool,
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
    pub records: Arc<[&'static RecordType]>,
    listeners: Arc<TransactionListeners>,
    pub options: ServerOptions,
    pub keys: Keys,
    /// Records that a new tenant begins with, in order of reference.
    pub first_records: Vec<FirstRecord>,
    /// What modules keep in memory for all tenants together.
    pub state: TenantState,
    per_tenant: usize,
    pools: Pools,
    /// Of the primary, for [`Tenant::background`].
    background: Pools,
    /// Of each server that may be read from while it is not the primary, with its index among the members: the
    /// replicas in the order of the configuration, then the hosts of the primary's address.
    replicas: Vec<(usize, Pools)>,
    platform: OpenPool,
    /// Tables from which values are cached.
    cached_tables: HashSet<&'static str>,
    tenants: RwLock<HashMap<String, Arc<Tenant>>>,
    making: tokio::sync::Mutex<()>,
    started: Instant,
    /// What answers this node's calls.
    app: RwLock<Weak<App>>,
}

/// A line of the table of tenants.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    pub id: String,
    pub name: String,
    pub description: String,
    pub lenient: bool,
    /// Fingerprint of the declarations that its schema was last brought up to.
    pub declarations: String,
    /// The release that did so.
    pub release: String,
}

/// Tells every node that cached tables of the tenant at hand have changed.
const ANNOUNCE_CHANGE: &str = "SELECT pg_notify('carrel_settings', current_schema()::text)";

/// This program's release.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The longest wait for one of several servers to say that it is the primary, when the node opens.
const FINDING_PRIMARY: Duration = Duration::from_secs(10);

/// Connections of [`Tenant::background`], of all tenants and of one.
const BACKGROUND_CONNECTIONS: usize = 8;
const BACKGROUND_PER_TENANT: usize = 4;

impl Node {
    /// Connects, brings the platform's own tables and every tenant up to date, and reads the tenants.
    pub async fn open(
        address: Address,
        connections: usize,
        modules: Vec<Module>,
        options: ServerOptions,
        first_records: Vec<FirstRecord>,
    ) -> Result<Arc<Node>, Failure> {
        let mut servers = address.primary.members();
        let named_as_primary = servers.len();
        servers.extend(address.replicas.iter().flat_map(Server::members));
        let number = servers.len();
        let members = Members::of(servers);
        if number > 1 {
            members.wait_for_primary(FINDING_PRIMARY).await;
        }
        let background = Pools::of_primary(Arc::clone(&members), BACKGROUND_CONNECTIONS);
        let pools = Pools::of_primary(Arc::clone(&members), connections);
        let read_from = match number > named_as_primary {
            true => (named_as_primary..number).chain(0..named_as_primary),
            false => (0..0).chain(0..0),
        };
        let replicas = read_from
            .map(|member| (member, Pools::new(members.servers()[member].clone(), connections)))
            .collect();
        let platform = pools.open(None, 4, Work::Upkeep, None);
        let secret = set_up_platform(&platform.get().await?).await?;
        change_listeners::connect(modules.iter().flat_map(|module| module.change_listeners));
        let records: Arc<[&'static RecordType]> =
            modules.iter().flat_map(|module| module.records.iter().copied()).collect();
        let cached_tables = modules.iter().flat_map(|module| module.cached_tables.iter().copied()).collect();
        let mut listeners = TransactionListeners::default();
        for module in &modules {
            (module.transaction_listeners)(&mut listeners);
        }
        let node = Arc::new(Node {
            modules,
            records,
            listeners: Arc::new(listeners),
            options,
            keys: Keys::new(&secret),
            first_records,
            state: TenantState::default(),
            per_tenant: address.per_tenant,
            pools,
            background,
            replicas,
            platform,
            cached_tables,
            tenants: RwLock::default(),
            making: tokio::sync::Mutex::new(()),
            started: Instant::now(),
            app: RwLock::default(),
        });
        node.read_tenants().await?;
        tokio::spawn(notifications::listen(Arc::downgrade(&node), members));
        Ok(node)
    }

    /// What is done in the background, by the modules and for the tables' own sake.
    pub fn jobs(&self) -> Vec<&'static Job> {
        self.modules
            .iter()
            .flat_map(|module| module.jobs.iter().copied())
            .chain([&INDEX_BUILDS, &OUTBOX_RETENTION])
            .collect()
    }

    /// What answers this node's calls; nothing on a node that does not listen.
    pub fn app(&self) -> Option<Arc<App>> {
        self.app.read().expect("no holder of this lock panics").upgrade()
    }

    pub(crate) fn serve_as(&self, app: &Arc<App>) {
        *self.app.write().expect("no holder of this lock panics") = Arc::downgrade(app);
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// A connection to the platform's own tables, with the role that connects.
    pub async fn platform(&self) -> Result<Connection, Failure> {
        self.platform.get().await
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

    /// The tenant, also when another node made it since.
    pub async fn find_tenant(self: &Arc<Self>, id: &str) -> Result<Option<Arc<Tenant>>, Failure> {
        if let Some(tenant) = self.tenant(id) {
            return Ok(Some(tenant));
        }
        if !is_tenant_id(id) {
            return Ok(None);
        }
        self.read_tenants().await?;
        Ok(self.tenant(id))
    }

    /// Lets go of tenants that another node has dropped, and takes in what it has made or renamed.
    pub async fn look_for_changes(&self) -> Result<(), Failure> {
        let _one_at_a_time = self.making.lock().await;
        let connection = self.platform.get().await?;
        let rows = connection.query("SELECT id FROM platform.tenant", vec![]).await?;
        drop(connection);
        let there: HashSet<String> = rows.iter().map(|row| row.get(0)).collect();
        self.tenants.write().expect("no holder of this lock panics").retain(|id, tenant| {
            if !there.contains(id) {
                tracing::info!(tenant = id, "tenant {id} was dropped elsewhere");
                tenant.pools.close();
            }
            there.contains(id)
        });
        self.read_tenants().await
    }

    /// Whether a tenant that this node knows, or knew a moment ago, was dropped by another one.
    pub async fn has_lost(&self, id: &str) -> bool {
        if self.tenant(id).is_none() {
            return true;
        }
        let Ok(connection) = self.platform.get().await else { return false };
        let asked = connection.query("SELECT 1 FROM platform.tenant WHERE id = $1", vec![id.into()]).await;
        let gone = asked.is_ok_and(|rows| rows.is_empty());
        if gone && let Some(tenant) = self.tenants.write().expect("no holder of this lock panics").remove(id)
        {
            tracing::info!(tenant = id, "tenant {id} was dropped elsewhere");
            tenant.pools.close();
        }
        gone
    }

    async fn read_tenants(&self) -> Result<(), Failure> {
        let connection = self.platform.get().await?;
        let rows = connection
            .query(
                "SELECT id, name, description, declarations, lenient, release FROM platform.tenant ORDER BY id",
                vec![],
            )
            .await?;
        let current = self.declarations();
        for row in rows {
            let (id, name, description, declared): (String, String, String, String) =
                (row.get(0), row.get(1), row.get(2), row.get(3));
            let lenient = row.get(4);
            let release: String = row.get(5);
            if upgrade::is_newer(&release, RELEASE) {
                tracing::debug!(tenant = id, "tenant {id} was brought up to date by release {release}");
            } else if declared != current {
                self.bring_up_to_date(&id, lenient).await?;
            }
            self.keep_tenant(id, name, description, lenient);
        }
        Ok(())
    }

    fn keep_tenant(&self, id: String, name: String, description: String, lenient: bool) -> Arc<Tenant> {
        let mut tenants = self.tenants.write().expect("no holder of this lock panics");
        if let Some(known) = tenants.get(&id)
            && known.name == name
            && known.description == description
            && known.lenient == lenient
        {
            return Arc::clone(known);
        }
        let schema = schema_of(&id);
        let version = Arc::new(SettingsVersion::default());
        let size = self.per_tenant;
        let queries = |pools: &Pools| pools.open(Some(&schema), size, Work::Queries, None);
        let tenant = Arc::new(Tenant {
            pools: TenantPools {
                writer: self.pools.open(Some(&schema), size, Work::Writes, Some(self.watched(&version))),
                reader: queries(&self.pools),
                background: self.background.open(Some(&schema), BACKGROUND_PER_TENANT, Work::Writes, None),
                replicas: Replicas::new(
                    Arc::clone(self.pools.members()),
                    self.replicas.iter().map(|(member, pools)| (*member, queries(pools))).collect(),
                ),
                reads: AtomicU64::new(0),
            },
            id: id.clone(),
            name,
            description,
            schema,
            lenient,
            cache: Cache::default(),
            state: TenantState::default(),
            listeners: Arc::clone(&self.listeners),
            version,
            platform: self.platform.clone(),
            records: self.records.clone(),
        });
        tenants.insert(id, Arc::clone(&tenant));
        tenant
    }

    /// What every transaction that changes a cached table of a tenant does beside it: it moves the tenant's settings
    /// version and notifies all nodes.
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

    /// Tables from which values are cached; every change of one moves the tenant's settings version.
    pub fn cached_tables(&self) -> &HashSet<&'static str> {
        &self.cached_tables
    }
}

async fn set_up_platform(connection: &Connection) -> Result<Vec<u8>, Failure> {
    // Several nodes may start at once on an empty database.
    let script = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(7217316);\n{}\n{}\nCOMMIT;",
        include_str!("../platform.sql"),
        carrel_cql::sql::HELPERS_DDL
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
