//! Moving a tenant to another database: its schema is copied, its line in the table of tenants names the new address, and
//! the old copy is dropped.
//!
//! 1. `platform.tenant_move` says what is under way. The program that moves the tenant holds an advisory lock.
//! 2. Where the source gives logical changes, they are kept from here on, the schema is copied as of one moment while
//!    desks work, and the changes since are applied to the copy until few are left (`follow.rs`).
//! 3. The tenant's role loses its right to write, and what is still writing ends (`fence.rs`). Reads go on. What is left of
//!    the changes is applied; without logical changes the whole schema is copied now.
//! 4. The source's schema is renamed, so that nobody reads it any more, and one update of the tenant's line names the new
//!    address. All nodes are notified.
//! 5. The copy at which the line does not point is dropped, and a fence at the other one is taken away. If the program
//!    dies before, any node does this. So the tenant is whole at one address at every time.

mod changes;
mod fence;
mod follow;

use super::databases::primary_of;
use super::{Database, Entry, Node, notifications};
use crate::database::{Server, failure};
use crate::jobs::table;
use crate::tenant::schema_of;
use carrel_records::Failure;
use follow::Follower;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

/// What is copied from where to where.
#[derive(Debug, Clone)]
pub struct CopySource {
    pub entry: Entry,
    pub from: Server,
    pub to: Server,
    /// A snapshot that the source has exported; the copy is as of it.
    pub snapshot: Option<String>,
}

impl CopySource {
    /// The name that the copying programs give themselves at both databases; what is left of them is ended by it.
    pub fn application_name(&self) -> String {
        copier_of(&schema_of(&self.entry.id))
    }
}

fn copier_of(schema: &str) -> String {
    format!("copy {schema}")
}

/// How a move went.
#[derive(Debug, Clone)]
pub struct Moved {
    /// The time for which writes were refused.
    pub pause: Duration,
    /// Why the whole copy was made in that time; `None` if desks worked meanwhile.
    pub not_followed: Option<String>,
}

/// One connection outside of the pools, with the role that connects.
struct Session {
    client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Session {
    async fn open(server: &Server) -> Result<Session, Failure> {
        let mut server = server.clone();
        server.config.application_name("carrel move").connect_timeout(Duration::from_secs(5));
        let (client, connection) =
            server.connect().await.map_err(|error| failure(error, "connecting for a move"))?;
        let driver = tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Session { client, driver })
    }

    async fn run(&self, sql: &str, doing: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).await.map_err(|error| failure(error, doing))
    }

    /// Takes an advisory lock of this database until the session ends; false where another session has it.
    async fn try_lock(&self, name: &str) -> Result<bool, Failure> {
        let row = self.client.query_one("SELECT pg_try_advisory_lock(hashtext($1))", &[&name]).await;
        row.map(|row| row.get(0)).map_err(|error| failure(error, "locking a tenant for its move"))
    }
}

/// The lock of whoever moves the tenant, in the platform's database.
fn lock_of(id: &str) -> String {
    format!("move of {id}")
}

/// A lock at the source, by which the target is recognized as the same database under another address.
fn lock_at_source(id: &str) -> String {
    format!("source of {id}")
}

/// The old copy's schema, once nobody may read it.
fn sealed_schema(schema: &str) -> String {
    format!("moved_{schema}")
}

impl Node {
    /// Moves the tenant to the database of an address; `copy` copies its schema with all rows.
    pub async fn move_tenant<C>(
        self: &Arc<Self>,
        id: &str,
        address: &str,
        copy: impl FnOnce(CopySource) -> C,
    ) -> Result<Moved, Failure>
    where
        C: Future<Output = Result<(), String>>,
    {
        let refused = |words: String| Err(Failure::Invalid(words));
        let main = Session::open(&self.main.server()).await?;
        if !main.try_lock(&lock_of(id)).await? {
            return refused(format!("tenant '{id}' is being moved already"));
        }
        self.finish(&main, id).await?;
        // As it is now: another program may have moved it a moment ago.
        self.look_for_changes().await?;
        let (Some(tenant), Some(entry)) = (self.find_tenant(id).await?, self.entry(id).await?) else {
            return refused(format!("there is no tenant '{id}'"));
        };
        let from = Arc::clone(&tenant.database);
        let source = Session::open(&from.server()).await?;
        for name in [
            lock_at_source(id),
            // Of upgrades and of index builds.
            tenant.schema.clone(),
            format!("indexes of {}", tenant.schema),
        ] {
            if !source.try_lock(&name).await? {
                return refused(format!(
                    "an upgrade or index build of tenant '{id}' runs: move it afterwards"
                ));
            }
        }
        let server = primary_of(&Server::read(address).map_err(Failure::Invalid)?).await;
        let target = Session::open(&server).await?;
        let is_main = !target.try_lock(&lock_of(id)).await?;
        let is_source = !target.try_lock(&lock_at_source(id)).await?;
        if is_source || is_main && from.address().is_none() {
            return refused(format!("tenant '{id}' is in that database already"));
        }
        let to = self.database((!is_main).then_some(address)).await?;
        let schema = tenant.schema.clone();
        let rows = target.client.query("SELECT 1 WHERE to_regnamespace($1) IS NOT NULL", &[&schema]).await;
        if !rows.map_err(|error| failure(error, "looking for the schema"))?.is_empty() {
            return refused(format!("the other database has a schema {schema}, and it stays as it is"));
        }
        let noted = main
            .client
            .execute(
                "INSERT INTO platform.tenant_move (tenant, source, target) VALUES ($1, $2, $3)",
                &[&id, &from.address(), &to.address()],
            )
            .await;
        noted.map_err(|error| failure(error, "noting the move"))?;
        let work = Move { id, schema: &schema, entry, from: &from, to: &to, main: &main, source: &source };
        let moved = work.run(&target, copy).await;
        // The tenant's locks at the source, which cleaning up takes as well.
        drop(source);
        let finished = self.finish(&main, id).await;
        self.look_for_changes().await?;
        if let (Ok(_), Err(failure)) = (&moved, finished) {
            tracing::warn!(tenant = id, "a node drops the old copy later: {failure}");
        }
        moved
    }

    /// Finishes a move whose program has died.
    pub(super) async fn finish_if_abandoned(&self, id: &str) -> Result<(), Failure> {
        let main = Session::open(&self.main.server()).await?;
        if !main.try_lock(&lock_of(id)).await? {
            return Ok(());
        }
        tracing::info!(tenant = id, "finishing what a program left of the move of tenant {id}");
        self.finish(&main, id).await
    }

    /// Drops the copy at which the tenant's line does not point, both where the tenant was dropped, and lets the other
    /// one be written again. The caller holds the tenant's lock.
    async fn finish(&self, main: &Session, id: &str) -> Result<(), Failure> {
        let sql = "SELECT tenant_move.source, tenant_move.target, tenant.id IS NOT NULL AS is_there, tenant.database
                   FROM platform.tenant_move LEFT JOIN platform.tenant ON tenant.id = tenant_move.tenant
                   WHERE tenant_move.tenant = $1";
        let rows = main.client.query(sql, &[&id]).await;
        let rows = rows.map_err(|error| failure(error, "reading what is moving"))?;
        let Some(row) = rows.first() else { return Ok(()) };
        let (source, target): (Option<String>, Option<String>) = (row.get("source"), row.get("target"));
        let (is_there, stays): (bool, Option<String>) = (row.get("is_there"), row.get("database"));
        let places = if source == target { vec![source] } else { vec![source, target] };
        for place in places {
            let server = match &place {
                None => self.main.server(),
                Some(address) => primary_of(&Server::read(address).map_err(Failure::Invalid)?).await,
            };
            let session = Session::open(&server).await?;
            if is_there && place == stays {
                fence::take_away(&session, &schema_of(id)).await?;
            } else {
                fence::drop_copy(&session, &schema_of(id)).await?;
            }
        }
        let done = main.client.execute("DELETE FROM platform.tenant_move WHERE tenant = $1", &[&id]).await;
        done.map_err(|error| failure(error, "ending the move"))?;
        if !is_there {
            table::forget(&self.platform().await?, id).await?;
        }
        Ok(())
    }

    /// Drops a tenant whose data are in another database.
    pub(super) async fn drop_elsewhere(&self, id: &str, address: &str) -> Result<(), Failure> {
        let main = Session::open(&self.main.server()).await?;
        if !main.try_lock(&lock_of(id)).await? {
            return Err(Failure::Invalid(format!("tenant '{id}' is being moved: drop it afterwards")));
        }
        // Noted together, so that the schema goes even if this program dies now.
        let sql = "WITH gone AS (DELETE FROM platform.tenant WHERE id = $1)
                   INSERT INTO platform.tenant_move (tenant, source, target) VALUES ($1, $2, $2)
                   ON CONFLICT (tenant) DO NOTHING";
        let noted = main.client.execute(sql, &[&id, &address]).await;
        noted.map_err(|error| failure(error, "dropping the tenant"))?;
        self.finish(&main, id).await
    }
}

/// A move under way.
struct Move<'a> {
    id: &'a str,
    schema: &'a str,
    entry: Entry,
    from: &'a Database,
    to: &'a Database,
    main: &'a Session,
    source: &'a Session,
}

impl Move<'_> {
    async fn run<C>(&self, target: &Session, copy: impl FnOnce(CopySource) -> C) -> Result<Moved, Failure>
    where
        C: Future<Output = Result<(), String>>,
    {
        target.run(&super::lifecycle::make_role_sql(self.schema), "making the tenant's role").await?;
        let what = |snapshot| CopySource {
            entry: self.entry.clone(),
            from: self.from.server(),
            to: self.to.server(),
            snapshot,
        };
        let (pause, not_followed) = match Follower::begin(&self.from.server(), self.source, self.schema).await
        {
            Ok(mut follower) => {
                copy(what(Some(follower.snapshot.clone()))).await.map_err(Failure::Invalid)?;
                follower.copied().await?;
                follower.catch_up(self.source, target).await?;
                let started = Instant::now();
                fence::refuse_writes(self.source, self.schema).await?;
                follower.apply_the_rest(self.source, target).await?;
                self.switch().await?;
                (started.elapsed(), None)
            }
            Err(reason) => {
                tracing::info!(tenant = self.id, "writes are refused while the tenant is copied: {reason}");
                let started = Instant::now();
                fence::refuse_writes(self.source, self.schema).await?;
                copy(what(None)).await.map_err(Failure::Invalid)?;
                self.switch().await?;
                (started.elapsed(), Some(reason))
            }
        };
        Ok(Moved { pause, not_followed })
    }

    /// From here on the tenant is at its new address.
    async fn switch(&self) -> Result<(), Failure> {
        fence::seal(self.source, self.schema).await?;
        let sql = format!(
            "WITH switched AS (UPDATE platform.tenant SET database = $2
                 WHERE id = $1 AND database IS NOT DISTINCT FROM $3 RETURNING id)
             SELECT pg_notify('{}', id) FROM switched",
            notifications::TENANTS
        );
        let rows = self.main.client.query(&sql, &[&self.id, &self.to.address(), &self.from.address()]).await;
        let rows = rows.map_err(|error| failure(error, "naming the new address"))?;
        match rows.len() {
            1 => Ok(()),
            _ => Err(Failure::Invalid(format!("tenant '{}' was dropped meanwhile", self.id))),
        }
    }
}
