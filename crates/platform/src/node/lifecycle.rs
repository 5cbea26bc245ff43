//! Creates, imports, renames, empties and drops tenants.

use super::{Database, Entry, FirstRecord, Node, RELEASE, ReferenceRecords};
use crate::database::{Bind, Connection, Pipeline, Work, failure};
use crate::jobs::timers::TimerSetting;
use crate::jobs::timing::Next;
use crate::jobs::{self, table};
use crate::record_store::upgrade;
use crate::tenant::{Tenant, is_tenant_id, schema_of};
use crate::tenant_profile::TenantProfile;
use carrel_records::Failure;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Client;

/// When the jobs of a restored tenant run first.
const FIRST_RUN: Duration = Duration::from_secs(60);

impl Node {
    /// Creates the tenant with its schema, role, tables and first records; an existing one is left unchanged.
    pub async fn create_tenant(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
    ) -> Result<Arc<Tenant>, Failure> {
        self.create_tenant_with(id, name, description, ReferenceRecords::Loaded).await
    }

    /// [`Node::create_tenant`] with or without the reference records.
    pub async fn create_tenant_with(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
        reference_records: ReferenceRecords,
    ) -> Result<Arc<Tenant>, Failure> {
        self.make_tenant(id, name, description, Some(reference_records), None).await
    }

    /// Makes the tenant in the database of another address.
    pub async fn create_tenant_at(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        address: &str,
    ) -> Result<Arc<Tenant>, Failure> {
        self.make_tenant(id, name, "", Some(ReferenceRecords::Loaded), Some(address)).await
    }

    /// Creates an empty, lenient tenant for a public test suite.
    pub async fn create_lenient_tenant(self: &Arc<Self>, id: &str) -> Result<Arc<Tenant>, Failure> {
        self.make_tenant(id, id, "", None, None).await
    }

    /// Without first records, the tenant is for a public test suite, and lenient.
    async fn make_tenant(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
        first_records: Option<ReferenceRecords>,
        address: Option<&str>,
    ) -> Result<Arc<Tenant>, Failure> {
        if !is_tenant_id(id) {
            return Err(Failure::Invalid(format!(
                "Invalid tenant id '{id}': 1 to 48 lower-case letters, digits and underscores, beginning with a letter"
            )));
        }
        let _one_at_a_time = self.making.lock().await;
        if let Some(tenant) = self.find_tenant(id).await? {
            return Ok(tenant);
        }
        let database = self.database(address).await?;
        self.make_role(&database, id).await?;
        let schema = schema_of(id);
        let connection = database.upkeep.get().await?;
        connection
            .client()
            .batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema} AUTHORIZATION {schema};"))
            .await
            .map_err(|error| failure(error, "making the tenant's schema"))?;
        drop(connection);
        let lenient = first_records.is_none();
        self.bring_up_to_date(&database, id, &TenantProfile::stored(lenient)).await?;
        if let Some(reference_records) = first_records {
            self.write_first_records(&database, id, reference_records).await?;
        }
        let entry = Entry {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            lenient,
            declarations: self.declarations(),
            release: RELEASE.into(),
            timers: Vec::new(),
        };
        self.enter_tenant(&entry, database.address()).await?;
        tracing::info!(tenant = id, "tenant {id} is ready");
        Ok(self.keep_tenant(&entry, database))
    }

    /// Creates the tenant's role in a separate transaction, which commits before anything that belongs to the role is
    /// created.
    async fn make_role(&self, database: &Database, id: &str) -> Result<(), Failure> {
        let connection = database.upkeep.get().await?;
        connection
            .client()
            .batch_execute(&make_role_sql(&schema_of(id)))
            .await
            .map_err(|error| failure(error, "making the tenant's role"))
    }

    async fn enter_tenant(&self, entry: &Entry, address: Option<&str>) -> Result<(), Failure> {
        let connection = self.platform().await?;
        connection
            .query(
                "INSERT INTO platform.tenant (id, name, description, declarations, lenient, release, database)
                 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
                vec![
                    entry.id.as_str().into(),
                    entry.name.as_str().into(),
                    entry.description.as_str().into(),
                    entry.declarations.as_str().into(),
                    entry.lenient.into(),
                    entry.release.as_str().into(),
                    address.map_or(Bind::Null, Bind::from),
                ],
            )
            .await?;
        for (name, setting) in &entry.timers {
            let next = match &setting.timing {
                _ if setting.disabled => Next::Never,
                // Its first run finds when it is due by its declaration.
                timing if timing.is_empty() => Next::In(FIRST_RUN),
                timing => timing.next(Timestamp::now()).unwrap_or(Next::In(FIRST_RUN)),
            };
            jobs::set(&connection, &entry.id, name, setting, next).await?;
        }
        Ok(())
    }

    /// The tenant's row in the table of tenants.
    pub async fn entry(&self, id: &str) -> Result<Option<Entry>, Failure> {
        let connection = self.platform().await?;
        let rows = connection
            .query(
                "SELECT id, name, description, lenient, declarations, release FROM platform.tenant WHERE id = $1",
                vec![id.into()],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let rows = jobs::of_tenant(&connection, id).await?;
        let timers = rows.into_iter().filter(|row| row.setting != TimerSetting::default());
        let timers = timers.map(|row| (row.name, row.setting)).collect();
        Ok(Some(Entry { timers, ..Entry::of(row) }))
    }

    /// Imports a tenant from another PostgreSQL: creates its role, lets `fill` create the schema with its tables, and
    /// adds the parts that they lack.
    pub async fn take_in(
        self: &Arc<Self>,
        entry: &Entry,
        fill: impl Future<Output = Result<(), String>>,
    ) -> Result<Arc<Tenant>, Failure> {
        let refused = |words: String| Failure::Invalid(words);
        let id = entry.id.as_str();
        if !is_tenant_id(id) {
            return Err(refused(format!("'{id}' is not a valid tenant id")));
        }
        if upgrade::is_newer(&entry.release, RELEASE) {
            let words = format!(
                "tenant '{id}' was upgraded by release {}, and this program is release {RELEASE}",
                entry.release
            );
            return Err(refused(words));
        }
        let _one_at_a_time = self.making.lock().await;
        if self.find_tenant(id).await?.is_some() {
            return Err(refused(format!("tenant '{id}' exists already; nothing was changed")));
        }
        self.make_role(&self.main, id).await?;
        if let Err(words) = fill.await {
            // The imported schema is rolled back with its transaction; the role must be dropped separately.
            drop_role(self.platform().await?.client(), &schema_of(id)).await;
            return Err(refused(words));
        }
        self.enter_tenant(entry, None).await?;
        // Upgrades the schema if it comes from another release.
        self.read_tenants().await?;
        self.tenant(id).ok_or_else(|| Failure::internal(format!("tenant {id} was imported but is not found")))
    }

    /// Changes name and description.
    pub async fn rename_tenant(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
    ) -> Result<(), Failure> {
        let connection = self.platform().await?;
        connection
            .query(
                "UPDATE platform.tenant SET name = $2, description = $3 WHERE id = $1",
                vec![id.into(), name.into(), description.into()],
            )
            .await?;
        drop(connection);
        self.read_tenants().await
    }

    /// Drops the tenant with all its data; false if there is none.
    pub async fn drop_tenant(self: &Arc<Self>, id: &str) -> Result<bool, Failure> {
        let _one_at_a_time = self.making.lock().await;
        let Some(tenant) = self.find_tenant(id).await? else { return Ok(false) };
        if let Some(address) = tenant.database.address() {
            self.drop_elsewhere(id, address).await?;
            self.let_go(&tenant);
            tracing::info!(tenant = id, "tenant {id} was dropped");
            return Ok(true);
        }
        let connection = self.platform().await?;
        let moving =
            connection.query("SELECT 1 FROM platform.tenant_move WHERE tenant = $1", vec![id.into()]).await?;
        if !moving.is_empty() {
            return Err(Failure::Invalid(format!("tenant '{id}' is being moved: drop it afterwards")));
        }
        self.let_go(&tenant);
        self.drop_schema(connection, &tenant).await?;
        Ok(true)
    }

    fn let_go(&self, tenant: &Tenant) {
        self.tenants.write().expect("no holder of this lock panics").remove(&tenant.id);
        tenant.pools.close();
    }

    async fn drop_schema(&self, connection: Connection, tenant: &Tenant) -> Result<(), Failure> {
        let (id, schema) = (&tenant.id, &tenant.schema);
        let dropped = connection
            .client()
            // In one transaction, so that another node finds either the tenant or none. The id has only letters, digits
            // and underscores.
            .batch_execute(&format!(
                "BEGIN; DELETE FROM platform.tenant WHERE id = '{id}'; DROP SCHEMA IF EXISTS {schema} CASCADE; COMMIT;"
            ))
            .await;
        if let Err(error) = dropped {
            let _ = connection.client().batch_execute("ROLLBACK").await;
            return Err(failure(error, "dropping the tenant's schema"));
        }
        table::forget(&connection, id).await?;
        drop_role(connection.client(), schema).await;
        tracing::info!(tenant = id, "tenant {id} was dropped");
        Ok(())
    }

    /// Deletes all records of a tenant and keeps its tables, in one round trip.
    pub async fn empty_tenant(&self, tenant: &Tenant) -> Result<(), Failure> {
        let connection = tenant.writer().await?;
        connection
            .client()
            .batch_execute(include_str!("../empty_tenant.sql"))
            .await
            .map_err(|error| failure(error, "emptying a tenant"))?;
        tenant.cache.clear();
        tenant.settings_version_is_stale();
        Ok(())
    }

    async fn write_first_records(
        &self,
        database: &Database,
        id: &str,
        reference_records: ReferenceRecords,
    ) -> Result<(), Failure> {
        let schema = schema_of(id);
        let pool = database.pools.open(Some(&schema), 1, Work::Writes, None);
        let mut tx = pool.get().await?.begin();
        let now = Timestamp::now();
        let mut pipeline = Pipeline::new();
        let wanted = |first: &&FirstRecord| match reference_records {
            ReferenceRecords::Loaded => true,
            ReferenceRecords::LeftOut => !first.is_reference,
        };
        let first_records: Vec<&FirstRecord> = self.first_records.iter().filter(wanted).collect();
        for first in &first_records {
            let path = &first.path;
            let record = self
                .records
                .iter()
                .find(|record| record.path == path)
                .ok_or_else(|| Failure::internal(format!("first record of unknown collection {path}")))?;
            crate::record_store::write::insert_first(&mut pipeline, record, first, now)?;
        }
        tx.send(pipeline).await.map_err(|error| {
            let which =
                first_records.get(error.step).map(|first| format!("{} {}", first.path, first.document));
            Failure::from(error).while_doing(&format!("writing first record {which:?}"))
        })?;
        tx.commit().await?;
        Ok(())
    }
}

/// Makes a role that owns a tenant's schema. Its name holds only letters, digits and underscores.
pub(super) fn make_role_sql(schema: &str) -> String {
    format!(
        "DO $$ BEGIN CREATE ROLE {schema} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; WHEN unique_violation THEN NULL; END $$;
         GRANT {schema} TO CURRENT_USER;
         GRANT USAGE ON SCHEMA carrel TO {schema};"
    )
}

/// Drops a tenant's role. It stays if it owns objects in another database of the same server.
pub(super) async fn drop_role(client: &Client, schema: &str) {
    let sql = format!("REVOKE USAGE ON SCHEMA carrel FROM {schema}; DROP ROLE IF EXISTS {schema};");
    if let Err(error) = client.batch_execute(&sql).await {
        tracing::info!(error = %error, "the role {schema} stays");
    }
}
