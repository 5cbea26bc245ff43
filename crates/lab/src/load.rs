//! `lab load`: sends a generated library through the public batch endpoints.
//!
//! Loading twice loads nothing twice: what must be there first has fixed ids, and a batch whose first record is
//! there is skipped (a batch is stored whole or not at all). So an interrupted load is continued by starting it
//! again with the same sizes and seed.

use crate::client::{Address, Connection, Credentials, Session};
use crate::data::{self, Library, PopularInstances};
use crate::error::{LabError, Result};
use crate::player::on_own_thread;
use http::Method;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Records per call, the number that FOLIO's own loaders use.
const BATCH: usize = 1000;
/// Users have no batch endpoint; this many make a batch for progress and for skipping.
const USERS_AT_ONCE: usize = 100;

/// Options of `carrel lab load`.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// The login; it needs the permissions to store inventory, users, policies and rules.
    pub credentials: Credentials,
    /// Number of items.
    pub items: u64,
    /// Number of users.
    pub users: u64,
    /// Number of instances; two thirds of the items unless given.
    pub instances: Option<u64>,
    /// The seed of the content.
    pub seed: u64,
    /// Concurrent calls.
    pub connections: usize,
    /// Replaces circulation rules that somebody has written; otherwise only FOLIO's default rules and blank ones are
    /// replaced.
    pub replace_rules: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            address: "http://localhost:9130".into(),
            credentials: Credentials {
                tenant: "diku".into(),
                username: "diku_admin".into(),
                password: String::new(),
            },
            items: 100_000,
            users: 20_000,
            instances: None,
            seed: 1,
            connections: 4,
            replace_rules: false,
        }
    }
}

impl LoadOptions {
    /// The library that is loaded.
    pub fn library(&self) -> Library {
        let instances = self.instances.unwrap_or(self.items * 2 / 3).max(1);
        Library { instances, items: self.items, users: self.users, seed: self.seed }
    }
}

/// The numbers of records stored by a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Instances stored by this load.
    pub instances: u64,
    /// Holdings records stored by this load.
    pub holdings: u64,
    /// Items stored by this load.
    pub items: u64,
    /// Users stored by this load.
    pub users: u64,
}

/// Loads the library and prints the progress to standard error.
pub async fn load(options: LoadOptions) -> Result<LoadReport> {
    on_own_thread(move || send_all(options)).await
}

async fn send_all(options: LoadOptions) -> Result<LoadReport> {
    if options.connections == 0 {
        return Err(LabError::new("loading needs at least one connection"));
    }
    let address = Address::parse(&options.address)?;
    let mut clerk = Connection::new(address.clone());
    let session = Session::login(&mut clerk, options.credentials.clone()).await?;
    lay_foundation(&mut clerk, &session, options.replace_rules).await?;

    send(&address, session, options.connections, options.library()).await
}

/// Sends the records of a library whose foundation exists.
pub async fn send_all_of(address: &Address, session: &Session, library: Library) -> Result<LoadReport> {
    send(address, session.clone(), 1, library).await
}

async fn send(
    address: &Address,
    session: Session,
    connections: usize,
    library: Library,
) -> Result<LoadReport> {
    let connections = (0..connections).map(|_| Connection::new(address.clone())).collect();
    let mut loader = Loader { connections, session: Arc::new(Mutex::new(session)) };
    Ok(LoadReport {
        instances: loader.send(&INSTANCES, library.instances, library.all_instances()).await?,
        holdings: loader.send(&HOLDINGS, library.instances, library.all_holdings()).await?,
        items: loader.send(&ITEMS, library.items, library.all_items()).await?,
        users: loader.send(&USERS, library.users, library.all_users()).await?,
    })
}

/// Creates missing locations, types, groups, policies and rules.
pub async fn lay_foundation(clerk: &mut Connection, session: &Session, replace_rules: bool) -> Result<()> {
    for (path, record) in data::library() {
        let id = record["id"].as_str().unwrap_or_default();
        if !exists(clerk, session, path, id).await? {
            let answer = session.send(clerk, Method::POST, path, &record).await?;
            if !answer.status.is_success() {
                return Err(LabError::new(format!("POST {path} for {record} answered {}", answer.brief())));
            }
        }
    }
    let rules = data::circulation_rules();
    let current = session.get(clerk, "/circulation/rules").await?;
    let current = current["rulesAsText"].as_str().unwrap_or("").trim();
    if current == rules.trim() {
        return Ok(());
    }
    if !replace_rules && !may_be_replaced(current) {
        eprintln!(
            "this tenant has circulation rules of its own; they are kept and decide the lab's loans too"
        );
        return Ok(());
    }
    let answer =
        session.send(clerk, Method::PUT, "/circulation/rules", &json!({ "rulesAsText": rules })).await?;
    if !answer.status.is_success() {
        return Err(LabError::new(format!("PUT /circulation/rules answered {}", answer.brief())));
    }
    Ok(())
}

/// Whether the rules may be replaced: blank ones, FOLIO's defaults, and earlier rules of the lab.
fn may_be_replaced(rules: &str) -> bool {
    const FOLIO_EXAMPLE_LOAN_POLICY: &str = "d9cd0bed-1b49-4b5e-a7bd-064b8d177231";
    rules.is_empty()
        || rules.contains(FOLIO_EXAMPLE_LOAN_POLICY)
        || data::LOAN_POLICIES.iter().any(|(name, _)| rules.contains(&data::named(name).to_string()))
}

/// Whether the collection has a record with the id.
pub async fn exists(connection: &mut Connection, session: &Session, path: &str, id: &str) -> Result<bool> {
    let target = format!("{path}/{id}");
    let answer = connection.call(Method::GET, &target, &session.headers(), Default::default()).await?;
    match answer.status.as_u16() {
        200 => Ok(true),
        404 => Ok(false),
        _ => Err(LabError::new(format!("GET {target} answered {}", answer.brief()))),
    }
}

/// Stores the instances with many requests, except existing ones.
pub async fn load_popular(address: &Address, session: &Session, popular: &PopularInstances) -> Result<()> {
    let connections = (0..4).map(|_| Connection::new(address.clone())).collect();
    let mut loader = Loader { connections, session: Arc::new(Mutex::new(session.clone())) };
    loader.send(&INSTANCES, popular.instances(), popular.all_instances()).await?;
    loader.send(&HOLDINGS, popular.instances(), popular.all_holdings()).await?;
    loader.send(&ITEMS, popular.items(), popular.all_items()).await?;
    Ok(())
}

/// A kind of record and its endpoint.
struct Upload {
    name: &'static str,
    path: &'static str,
    /// Batch endpoint and the key of its array.
    batch: Option<(&'static str, &'static str)>,
}

const INSTANCES: Upload = Upload {
    name: "instances",
    path: "/instance-storage/instances",
    batch: Some(("/instance-storage/batch/synchronous", "instances")),
};
const HOLDINGS: Upload = Upload {
    name: "holdings",
    path: "/holdings-storage/holdings",
    batch: Some(("/holdings-storage/batch/synchronous", "holdingsRecords")),
};
const ITEMS: Upload = Upload {
    name: "items",
    path: "/item-storage/items",
    batch: Some(("/item-storage/batch/synchronous", "items")),
};
const USERS: Upload = Upload { name: "users", path: "/users", batch: None };

impl Upload {
    fn at_once(&self) -> usize {
        if self.batch.is_some() { BATCH } else { USERS_AT_ONCE }
    }

    /// Stores the missing records and returns their number.
    async fn store(
        &self,
        connection: &mut Connection,
        session: &Session,
        records: Vec<Value>,
    ) -> Result<u64> {
        let id = |record: &Value| record["id"].as_str().unwrap_or_default().to_string();
        let Some((target, key)) = self.batch else {
            // One connection stores a batch in order, so the last one is there only if all are.
            if let Some(last) = records.last()
                && exists(connection, session, self.path, &id(last)).await?
            {
                return Ok(0);
            }
            let mut stored = 0;
            for record in &records {
                let answer = session.send(connection, Method::POST, self.path, record).await?;
                if answer.status.is_success() {
                    stored += 1;
                } else if !exists(connection, session, self.path, &id(record)).await? {
                    return Err(LabError::new(format!("POST {} answered {}", self.path, answer.brief())));
                }
            }
            return Ok(stored);
        };
        if exists(connection, session, self.path, &id(&records[0])).await? {
            return Ok(0);
        }
        let number = records.len() as u64;
        let body = Value::Object(Map::from_iter([(key.to_string(), Value::Array(records))]));
        let answer = session.send(connection, Method::POST, target, &body).await?;
        if !answer.status.is_success() {
            return Err(LabError::new(format!("POST {target} answered {}", answer.brief())));
        }
        Ok(number)
    }
}

/// A few connections that send batches from one stream of records.
struct Loader {
    connections: Vec<Connection>,
    session: Arc<Mutex<Session>>,
}

impl Loader {
    async fn send(
        &mut self,
        upload: &'static Upload,
        total: u64,
        records: impl Iterator<Item = Value> + Send + 'static,
    ) -> Result<u64> {
        let begun = Instant::now();
        let records = Arc::new(Mutex::new(records));
        let (passed, stored) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut work = Vec::new();
        for mut connection in self.connections.drain(..) {
            let (records, session) = (records.clone(), self.session.clone());
            let (passed, stored) = (passed.clone(), stored.clone());
            work.push(tokio::spawn(async move {
                loop {
                    let batch: Vec<Value> = records.lock().await.by_ref().take(upload.at_once()).collect();
                    if batch.is_empty() {
                        return Ok::<_, LabError>(connection);
                    }
                    let session = {
                        let mut session = session.lock().await;
                        session.renew(&mut connection).await?;
                        session.clone()
                    };
                    let number = batch.len() as u64;
                    stored
                        .fetch_add(upload.store(&mut connection, &session, batch).await?, Ordering::Relaxed);
                    passed.fetch_add(number, Ordering::Relaxed);
                }
            }));
        }
        let progress = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(5)).await;
                eprintln!("{}: {} of {total}", upload.name, passed.load(Ordering::Relaxed));
            }
        });
        let mut outcome = Ok(());
        for task in work {
            match task.await.map_err(|error| LabError::new(format!("a loader panicked: {error}")))? {
                Ok(connection) => self.connections.push(connection),
                Err(error) => outcome = Err(error),
            }
        }
        progress.abort();
        outcome?;
        let (stored, seconds) = (stored.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
        let there = total - stored;
        eprintln!(
            "{}: {stored} stored in {seconds:.1} s ({:.0} a second), {there} were there",
            upload.name,
            stored as f64 / seconds.max(0.001)
        );
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_somebody_wrote_are_kept() {
        assert!(may_be_replaced(""));
        assert!(may_be_replaced(&data::circulation_rules()));
        assert!(may_be_replaced("fallback-policy: l d9cd0bed-1b49-4b5e-a7bd-064b8d177231"));
        assert!(!may_be_replaced("priority: t\nfallback-policy: l 11111111-1b49-4b5e-a7bd-064b8d177231"));
    }
}
