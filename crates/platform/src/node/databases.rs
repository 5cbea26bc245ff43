//! The databases that hold tenants: the platform's own, and others that lines of the table of tenants name.
//!
//! Each has its pools under one budget of its own, which all tenants there share, connections for upkeep, and one on which this node hears what other
//! nodes have changed there. Jobs, signing key and table of tenants stay in the platform's own.

use super::{Node, notifications};
use crate::database::{ConnectionLimit, Members, OpenPool, Pools, Server, Work, failure, node_share};
use carrel_records::Failure;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Connections with the node's own role.
const UPKEEP_CONNECTIONS: usize = 4;
/// The longest wait for one of several servers to say that it is the primary, when a database is opened.
const FINDING_PRIMARY: Duration = Duration::from_secs(10);
/// A database that could not be reached is tried again after this time.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// Time to connect to another database and to set it up.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);

/// A database that holds tenants.
pub struct Database {
    address: Option<String>,
    pub(super) pools: Pools,
    limit: ConnectionLimit,
    /// Of each server that may be read from while it is not the primary, with its index among the members: the
    /// replicas in the order of the configuration, then the hosts of the primary's address.
    pub(super) replicas: Vec<(usize, Pools)>,
    pub(crate) upkeep: OpenPool,
}

impl Database {
    pub(super) async fn new(
        address: Option<String>,
        primary: Server,
        replicas: Vec<Server>,
        limit: ConnectionLimit,
    ) -> Arc<Database> {
        let mut servers = primary.members();
        let named_as_primary = servers.len();
        servers.extend(replicas.iter().flat_map(Server::members));
        let number = servers.len();
        let members = Members::of(servers);
        if number > 1 {
            members.wait_for_primary(FINDING_PRIMARY).await;
        }
        let connections = limit.at_first();
        let pools = Pools::of_primary(Arc::clone(&members), connections);
        let read_from = match number > named_as_primary {
            true => (named_as_primary..number).chain(0..named_as_primary),
            false => (0..0).chain(0..0),
        };
        let replicas = read_from
            .map(|member| (member, Pools::new(members.servers()[member].clone(), connections)))
            .collect();
        let upkeep = pools.open(None, UPKEEP_CONNECTIONS, Work::Upkeep, None);
        Arc::new(Database { address, pools, limit, replicas, upkeep })
    }

    /// As the table of tenants has it, with its password; `None` for the platform's own.
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Takes this share of the server's connections, unless the operator has set their number.
    pub(super) fn take_share(&self, share: usize) {
        let (_, limit) = self.pools.usage();
        if matches!(self.limit, ConnectionLimit::Share(_)) && share != limit {
            tracing::info!("this node opens at most {share} database connections from now on");
            self.pools.set_budget(share);
            self.replicas.iter().for_each(|(_, pools)| pools.set_budget(share));
        }
    }

    /// Connections to the primary that are open, and that this node may open.
    pub fn connections(&self) -> (usize, usize) {
        self.pools.usage()
    }

    /// The server that takes writes at the moment.
    pub fn server(&self) -> Server {
        self.pools.members().primary().clone()
    }
}

/// Databases besides the platform's own, by address.
#[derive(Default)]
pub(super) struct Others {
    known: Mutex<HashMap<String, Known>>,
    /// Held while one is opened, so that each is opened once.
    opening: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
enum Known {
    Open(Arc<Database>),
    Failed(Instant),
}

impl Others {
    /// Closes those that no tenant has any more.
    pub fn forget_except(&self, addresses: &HashSet<String>) {
        let mut known = self.known.lock().expect("no holder of this lock panics");
        known.retain(|address, _| addresses.contains(address));
    }

    fn get(&self, address: &str) -> Option<Known> {
        self.known.lock().expect("no holder of this lock panics").get(address).cloned()
    }

    fn put(&self, address: &str, known: Known) {
        self.known.lock().expect("no holder of this lock panics").insert(address.to_owned(), known);
    }
}

impl Node {
    /// The database of an address, opened when it is first asked for; `None` is the platform's own.
    pub(super) async fn database(self: &Arc<Self>, address: Option<&str>) -> Result<Arc<Database>, Failure> {
        let Some(address) = address else { return Ok(Arc::clone(&self.main)) };
        if let Some(Known::Open(database)) = self.others.get(address) {
            return Ok(database);
        }
        let _one_at_a_time = self.others.opening.lock().await;
        match self.others.get(address) {
            Some(Known::Open(database)) => return Ok(database),
            Some(Known::Failed(at)) if at.elapsed() < RETRY_AFTER => {
                return Err(crate::database::database_unreachable());
            }
            _ => {}
        }
        match open(address).await {
            Ok(database) => {
                self.others.put(address, Known::Open(Arc::clone(&database)));
                tokio::spawn(notifications::listen(Arc::downgrade(self), Arc::downgrade(&database)));
                Ok(database)
            }
            Err(failure) => {
                self.others.put(address, Known::Failed(Instant::now()));
                Err(failure)
            }
        }
    }
}

/// Connects, makes what tenants share there, and asks how many connections this node may have.
async fn open(address: &str) -> Result<Arc<Database>, Failure> {
    let servers = Server::read(address).map_err(|words| {
        Failure::Misconfigured(format!("The address of a tenant's database cannot be used: {words}"))
    })?;
    let server = primary_of(&servers).await;
    let share = async {
        let (client, connection) =
            server.connect().await.map_err(|error| failure(error, "opening a tenant's database"))?;
        let driver = tokio::spawn(connection);
        let done = async {
            client.batch_execute(&set_up()).await?;
            node_share(&client, true).await
        };
        let done = done.await.map_err(|error| failure(error, "setting up a tenant's database"));
        driver.abort();
        done
    };
    let share = tokio::time::timeout(OPENING_TIMEOUT, share)
        .await
        .map_err(|_| crate::database::database_unreachable())??;
    let limit = ConnectionLimit::Share(share);
    Ok(Database::new(Some(address.to_owned()), servers, Vec::new(), limit).await)
}

/// The server of an address that takes writes; the first one where none says so.
pub(super) async fn primary_of(address: &Server) -> Server {
    let mut servers = address.members();
    let found = match servers.len() {
        1 => None,
        _ => Members::find_primary(&servers, OPENING_TIMEOUT).await,
    };
    found.unwrap_or_else(|| servers.swap_remove(0))
}

/// What tenants share in a database.
fn set_up() -> String {
    format!("BEGIN; SELECT pg_advisory_xact_lock(7217316);\n{}\nCOMMIT;", shared_ddl())
}

/// The functions behind fields, and which timelines there were.
pub(super) fn shared_ddl() -> String {
    format!("{}\n{}", carrel_cql::sql::HELPERS_DDL, include_str!("../shared.sql"))
}
