//! Where a tenant's data lives, and its few connections, born with role and search path.

use crate::database::{LONGEST_QUERY, Server, failure, unreachable_now};
use carrel_records::Failure;
use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where a PostgreSQL server is and how many connections it gets from this node.
#[derive(Debug, Clone)]
pub struct Address {
    pub primary: Server,
    pub replicas: Vec<Server>,
    /// Connections per tenant for writing; as many again for reading from each replica.
    pub per_tenant: usize,
}

/// Nobody waits longer than this for a connection.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

fn busy() -> Failure {
    Failure::Unavailable("All connections to the database are busy. Try again in a moment.".into())
}

/// What a pool's connections are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Statements of ours that come again and again.
    Deeds,
    /// What clients ask in CQL.
    Queries,
}

/// All pools of this node stand under one limit of connections in use.
#[derive(Debug, Clone)]
pub struct Pools {
    limit: Arc<Semaphore>,
}

impl Pools {
    pub fn new(limit: usize) -> Pools {
        Pools { limit: Arc::new(Semaphore::new(limit)) }
    }

    /// A pool for one role and schema; `None` keeps the role that connects.
    pub fn open(&self, server: &Server, schema: Option<&str>, size: usize, work: Work) -> OpenPool {
        let mut config = server.config.clone();
        // Waiting longer than this for a row means that something is stuck; the desk hears of it.
        let mut options = String::from("-c lock_timeout=7500 -c idle_in_transaction_session_timeout=30000");
        options.push_str(match work {
            // Planning a scan's facts takes forty times as long as running them, and their plan is the same
            // whatever the barcode: planned once a connection. Tables that are empty today will not be, so
            // indexes are used from the first day.
            Work::Deeds => " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off",
            // A client's query is planned for its own values: a plan for any value would not know how rare
            // a status is, and would bulk job the whole table by id.
            Work::Queries => " -c plan_cache_mode=force_custom_plan",
        });
        if work == Work::Queries {
            // What finds nothing for so long keeps others from their lists.
            options.push_str(&format!(" -c statement_timeout={}", LONGEST_QUERY.as_millis()));
        }
        options.push_str(" -c jit=off -c timezone=UTC");
        // A statement whose node has died holds its locks no longer than this.
        options.push_str(" -c client_connection_check_interval=2000");
        if let Some(schema) = schema {
            options.push_str(&format!(" -c role={schema} -c search_path={schema},carrel"));
        }
        config.options(&options);
        config.connect_timeout(Duration::from_secs(5));
        // A server whose machine is gone says nothing; without this it would be waited for during two hours.
        config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3).tcp_user_timeout(Duration::from_secs(30));
        // The tenant stands in the name, so that its waits can be told from others'.
        config.application_name(
            schema.map_or_else(|| "carrel".to_owned(), |schema| format!("carrel {schema}")),
        );
        let manager = Manager::from_config(
            config,
            server.tls.clone(),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let pool = Pool::builder(manager)
            .max_size(size)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(LONGEST_WAIT))
            .create_timeout(Some(Duration::from_secs(5)))
            .build()
            .expect("a pool with a runtime and a size can be built");
        OpenPool { pool, limit: Arc::clone(&self.limit) }
    }
}

/// The connections of one role to one server.
#[derive(Debug, Clone)]
pub struct OpenPool {
    pool: Pool,
    limit: Arc<Semaphore>,
}

impl OpenPool {
    /// Borrows a connection, waiting for one for ten seconds at most.
    pub async fn get(&self) -> Result<Connection, Failure> {
        let permit = tokio::time::timeout(LONGEST_WAIT, Arc::clone(&self.limit).acquire_owned())
            .await
            .map_err(|_| busy())?
            .map_err(|_| Failure::Unavailable("The server is shutting down.".into()))?;
        // A connection that died while idle is replaced here, one that dies in use by whoever comes next.
        let client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(cause) => failure(cause, "opening a connection to the database"),
            PoolError::Timeout(TimeoutType::Wait) => busy(),
            PoolError::Timeout(_) => unreachable_now(),
            // The tenant was dropped while somebody asked for it.
            PoolError::Closed => Failure::Unavailable("The tenant is being closed.".into()),
            other => Failure::Internal {
                context: "borrowing a database connection".into(),
                cause: Some(other.into()),
            },
        })?;
        Ok(Connection { client, _permit: permit })
    }

    pub fn close(&self) {
        self.pool.close();
    }

    /// (open, idle, waiting)
    pub fn use_now(&self) -> (usize, usize, usize) {
        let status = self.pool.status();
        (status.size, status.available, status.waiting)
    }
}

/// A borrowed connection.
#[derive(Debug)]
pub struct Connection {
    pub(crate) client: Object,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    /// Closes the connection instead of giving it back: it is in the middle of something.
    pub fn discard(self) {
        drop(Object::take(self.client));
    }

    /// The driver's client, for COPY and streams.
    pub fn client(&self) -> &tokio_postgres::Client {
        &self.client
    }
}
