//! One private PostgreSQL for a test program, with a template database that is copied for every test.

use carrel_embedded_postgres::{EmbeddedPostgres, Purpose};
use carrel_platform::Node;
use carrel_platform::ServerOptions;
use carrel_platform::database::Address;
use carrel_server::{administrator, first_records, modules};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use crate::scratch::Scratch;
use crate::server::{ADMIN, PASSWORD, TENANT};

/// Connections of a tenant for writing.
pub(crate) const CONNECTIONS: usize = 8;
const TEMPLATE: &str = "carrel_template";

static CLUSTER: OnceLock<Cluster> = OnceLock::new();
static TEMPLATE_MADE: OnceCell<Uuid> = OnceCell::const_new();
static COPIES: AtomicU64 = AtomicU64::new(0);

/// The private server of this test program.
pub struct Cluster {
    postgres: EmbeddedPostgres,
    _scratch: Scratch,
}

impl Cluster {
    /// The server, started at the first call.
    pub async fn running() -> &'static Cluster {
        if let Some(cluster) = CLUSTER.get() {
            return cluster;
        }
        tokio::task::spawn_blocking(|| CLUSTER.get_or_init(Cluster::start))
            .await
            .expect("PostgreSQL for the tests could not be started; the reason stands above")
    }

    fn start() -> Cluster {
        let scratch = Scratch::new();
        let postgres = EmbeddedPostgres::start(&scratch.folder, Purpose::Test)
            .unwrap_or_else(|words| panic!("PostgreSQL for the tests: {words}"));
        Cluster { postgres, _scratch: scratch }
    }

    /// The address of a database of the server.
    pub fn address(&self, database: &str) -> Address {
        Address {
            primary: self.postgres.config(database).into(),
            replicas: Vec::new(),
            per_tenant: CONNECTIONS,
        }
    }

    /// The address as text, for programs.
    pub fn url(&self, database: &str) -> String {
        self.postgres.url(database)
    }

    /// The file to which the server writes its messages.
    pub fn log(&self) -> PathBuf {
        self.postgres.log()
    }

    /// A connection with all rights, for checks that bypass the API.
    pub async fn connect(&self, database: &str) -> Client {
        let (client, connection) =
            self.postgres.config(database).connect(NoTls).await.expect("the tests' PostgreSQL answers");
        tokio::spawn(connection);
        client
    }

    /// Copies the template; returns the new database's name and the administrator's id.
    pub async fn copy_of_template(&self) -> (String, Uuid) {
        let administrator = *TEMPLATE_MADE.get_or_init(|| self.make_template()).await;
        let name = format!("library_copy_{}", COPIES.fetch_add(1, Relaxed));
        let admin = self.connect("postgres").await;
        admin
            .batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY"))
            .await
            .expect("a database can be copied");
        (name, administrator)
    }

    /// Drops a copy, so that several hundred copies do not fill the disk.
    pub fn forget_copy(&'static self, name: String) {
        let drop = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    let admin = self.connect("postgres").await;
                    let _ = admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
                });
            }
        };
        let _ = std::thread::Builder::new().name("drop-copy".into()).spawn(drop);
    }

    /// A database with the tenant, its tables, its first records and its administrator.
    async fn make_template(&self) -> Uuid {
        let admin = self.connect("postgres").await;
        admin.batch_execute(&format!("CREATE DATABASE {TEMPLATE}")).await.expect("a database can be made");
        let server = Node::open(
            self.address(TEMPLATE),
            8,
            modules::modules(),
            ServerOptions::default(),
            first_records::all(),
        )
        .await
        .expect("an empty database becomes a library");
        let tenant =
            server.create_tenant(TENANT, "Test library", "").await.expect("a tenant can be made in it");
        administrator::appoint(&tenant, ADMIN, PASSWORD).await.expect("the tenant gets an administrator");
        let row = tenant
            .writer()
            .await
            .expect("the tenant's database answers")
            .query("SELECT id FROM users WHERE doc->>'username' = $1", vec![ADMIN.into()])
            .await
            .expect("users can be read");
        let administrator: Uuid = row[0].get(0);
        drop((tenant, server));
        // A template can be copied only while there are no connections to it.
        admin
            .batch_execute(&format!(
                "ALTER DATABASE {TEMPLATE} ALLOW_CONNECTIONS false;
                 SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{TEMPLATE}';"
            ))
            .await
            .expect("the template can be closed");
        loop {
            let open = admin
                .query("SELECT 1 FROM pg_stat_activity WHERE datname = $1", &[&TEMPLATE])
                .await
                .expect("activity can be read");
            if open.is_empty() {
                return administrator;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}
