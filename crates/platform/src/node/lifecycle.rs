//! Tenants come and go: made, taken in from another library, renamed, emptied, dropped.

use super::{Entry, FirstRecord, Node, RELEASE, ReferenceRecords};
use crate::database::{Connection, Pipeline, Work, failure};
use crate::jobs::table;
use crate::record_store::upgrade;
use crate::tenant::{Tenant, is_tenant_id, schema_of};
use carrel_records::Failure;
use jiff::Timestamp;
use std::sync::Arc;

impl Node {
    /// Makes the tenant with its schema, role, tables and first records; an existing one is left as it is.
    pub async fn create_tenant(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
    ) -> Result<Arc<Tenant>, Failure> {
        self.create_tenant_with(id, name, description, ReferenceRecords::Loaded).await
    }

    /// The same, with or without the reference records.
    pub async fn create_tenant_with(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
        reference_records: ReferenceRecords,
    ) -> Result<Arc<Tenant>, Failure> {
        self.make_tenant(id, name, description, Some(reference_records)).await
    }

    /// Makes a tenant for a public test suite: empty, and taking what the suite leaves out.
    pub async fn create_lenient_tenant(self: &Arc<Self>, id: &str) -> Result<Arc<Tenant>, Failure> {
        self.make_tenant(id, id, "", None).await
    }

    /// Without first records the tenant is one of a public test suite, and lenient.
    async fn make_tenant(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
        first_records: Option<ReferenceRecords>,
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
        self.make_role(id).await?;
        let schema = schema_of(id);
        let connection = self.platform.get().await?;
        connection
            .client()
            .batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema} AUTHORIZATION {schema};"))
            .await
            .map_err(|error| failure(error, "making the tenant's schema"))?;
        drop(connection);
        let lenient = first_records.is_none();
        self.bring_up_to_date(id, lenient).await?;
        if let Some(reference_records) = first_records {
            self.write_first_records(id, reference_records).await?;
        }
        self.enter_tenant(&Entry {
            id: id.into(),
            name: name.into(),
            description: description.into(),
            lenient,
            declarations: self.declarations(),
            release: RELEASE.into(),
        })
        .await?;
        tracing::info!(tenant = id, "tenant {id} is ready");
        Ok(self.keep_tenant(id.to_owned(), name.to_owned(), description.to_owned(), lenient))
    }

    /// The role of a tenant, which is committed before anything is made that belongs to it.
    async fn make_role(&self, id: &str) -> Result<(), Failure> {
        // The name holds only letters, digits and underscores, so it can stand in the statement.
        let schema = schema_of(id);
        let connection = self.platform.get().await?;
        connection
            .client()
            .batch_execute(&format!(
                "DO $$ BEGIN CREATE ROLE {schema} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; WHEN unique_violation THEN NULL; END $$;
                 GRANT {schema} TO CURRENT_USER;
                 GRANT USAGE ON SCHEMA carrel TO {schema};"
            ))
            .await
            .map_err(|error| failure(error, "making the tenant's role"))
    }

    async fn enter_tenant(&self, entry: &Entry) -> Result<(), Failure> {
        let connection = self.platform.get().await?;
        connection
            .query(
                "INSERT INTO platform.tenant (id, name, description, declarations, lenient, release)
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING",
                vec![
                    entry.id.as_str().into(),
                    entry.name.as_str().into(),
                    entry.description.as_str().into(),
                    entry.declarations.as_str().into(),
                    entry.lenient.into(),
                    entry.release.as_str().into(),
                ],
            )
            .await?;
        Ok(())
    }

    /// The tenant's line in the table of tenants.
    pub async fn entry(&self, id: &str) -> Result<Option<Entry>, Failure> {
        let connection = self.platform.get().await?;
        let rows = connection
            .query(
                "SELECT id, name, description, lenient, declarations, release FROM platform.tenant WHERE id = $1",
                vec![id.into()],
            )
            .await?;
        Ok(rows.first().map(|row| Entry {
            id: row.get(0),
            name: row.get(1),
            description: row.get(2),
            lenient: row.get(3),
            declarations: row.get(4),
            release: row.get(5),
        }))
    }

    /// Takes in a tenant whose schema comes from another library: its role is made, `fill` brings the schema with its
    /// tables, and what they lack is added.
    pub async fn take_in(
        self: &Arc<Self>,
        entry: &Entry,
        fill: impl Future<Output = Result<(), String>>,
    ) -> Result<Arc<Tenant>, Failure> {
        let refused = |words: String| Failure::Invalid(words);
        let id = entry.id.as_str();
        if !is_tenant_id(id) {
            return Err(refused(format!("'{id}' is no tenant's id")));
        }
        if upgrade::is_newer(&entry.release, RELEASE) {
            let words = format!(
                "tenant '{id}' was brought up to date by release {}, and this program is release {RELEASE}",
                entry.release
            );
            return Err(refused(words));
        }
        let _one_at_a_time = self.making.lock().await;
        if self.find_tenant(id).await?.is_some() {
            return Err(refused(format!("tenant '{id}' is there already; nothing was changed")));
        }
        self.make_role(id).await?;
        if let Err(words) = fill.await {
            // All that was filled in is gone with its transaction; the role must go, too.
            drop_role(&self.platform.get().await?, id).await;
            return Err(refused(words));
        }
        self.enter_tenant(entry).await?;
        // Brings it up to date where the release is another one.
        self.read_tenants().await?;
        self.tenant(id).ok_or_else(|| Failure::internal(format!("tenant {id} was taken in and is not there")))
    }

    /// Changes name and description.
    pub async fn rename_tenant(
        self: &Arc<Self>,
        id: &str,
        name: &str,
        description: &str,
    ) -> Result<(), Failure> {
        let connection = self.platform.get().await?;
        connection
            .query(
                "UPDATE platform.tenant SET name = $2, description = $3 WHERE id = $1",
                vec![id.into(), name.into(), description.into()],
            )
            .await?;
        let lenient = self.tenant(id).is_some_and(|tenant| tenant.lenient);
        self.keep_tenant(id.to_owned(), name.to_owned(), description.to_owned(), lenient);
        Ok(())
    }

    /// Drops the tenant with all its data; false where there is none.
    pub async fn drop_tenant(self: &Arc<Self>, id: &str) -> Result<bool, Failure> {
        let _one_at_a_time = self.making.lock().await;
        let Some(tenant) = self.find_tenant(id).await? else { return Ok(false) };
        let connection = self.platform.get().await?;
        self.let_go(&tenant);
        self.drop_schema(connection, &tenant, "BEGIN").await?;
        Ok(true)
    }

    /// Drops the tenant once its data have been carried elsewhere; where that fails, it stays as it is. Meanwhile
    /// everybody reads, and who writes is asked to try again, so that nothing is written that was not carried.
    pub async fn give_away(
        self: &Arc<Self>,
        tenant: &Tenant,
        carry: impl Future<Output = Result<(), String>>,
    ) -> Result<(), Failure> {
        let _one_at_a_time = self.making.lock().await;
        let schema = &tenant.schema;
        let connection = self.platform.get().await?;
        let held = format!(
            "BEGIN; SET LOCAL lock_timeout = '60s'; SET LOCAL idle_in_transaction_session_timeout = 0;
             DO $$ DECLARE name text; BEGIN
                 FOR name IN SELECT relname FROM pg_class
                     WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r' ORDER BY relname
                 LOOP EXECUTE format('LOCK TABLE {schema}.%I IN EXCLUSIVE MODE', name); END LOOP;
             END $$"
        );
        let carried = match connection.client().batch_execute(&held).await {
            Ok(()) => carry.await.map_err(Failure::Invalid),
            Err(error) => Err(failure(error, "keeping others from writing to the tenant")),
        };
        if let Err(failure) = carried {
            let _ = connection.client().batch_execute("ROLLBACK").await;
            return Err(failure);
        }
        self.let_go(tenant);
        self.drop_schema(connection, tenant, "SELECT 1").await
    }

    fn let_go(&self, tenant: &Tenant) {
        self.tenants.write().expect("no holder of this lock panics").remove(&tenant.id);
        tenant.pools.close();
    }

    /// Ends a transaction with the tenant's end in it; `first` begins it where none is open.
    async fn drop_schema(&self, connection: Connection, tenant: &Tenant, first: &str) -> Result<(), Failure> {
        let (id, schema) = (&tenant.id, &tenant.schema);
        let dropped = connection
            .client()
            // Together, so that another node finds either the tenant or none. The id holds only letters, digits
            // and underscores.
            .batch_execute(&format!(
                "{first}; DELETE FROM platform.tenant WHERE id = '{id}'; DROP SCHEMA IF EXISTS {schema} CASCADE; COMMIT;"
            ))
            .await;
        if let Err(error) = dropped {
            let _ = connection.client().batch_execute("ROLLBACK").await;
            return Err(failure(error, "dropping the tenant's schema"));
        }
        table::forget(&connection, id).await?;
        drop_role(&connection, id).await;
        tracing::info!(tenant = id, "tenant {id} was dropped");
        Ok(())
    }

    /// Deletes all records of a tenant and leaves its tables, in one round trip.
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
        id: &str,
        reference_records: ReferenceRecords,
    ) -> Result<(), Failure> {
        let schema = schema_of(id);
        let pool = self.pools.open(Some(&schema), 1, Work::Writes, None);
        let mut tx = pool.get().await?.begin();
        let now = Timestamp::now();
        let mut pipeline = Pipeline::new();
        let wanted = |first: &&FirstRecord| match reference_records {
            ReferenceRecords::Loaded => true,
            ReferenceRecords::LeftOut => !first.is_reference,
        };
        let first_records: Vec<&FirstRecord> = self.first_records.iter().filter(wanted).collect();
        for FirstRecord { path, document, .. } in &first_records {
            let record = self
                .records
                .iter()
                .find(|record| record.path == path)
                .ok_or_else(|| Failure::internal(format!("first record of unknown collection {path}")))?;
            crate::record_store::write::insert_first(&mut pipeline, record, document, now)?;
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

/// Drops a tenant's role. It stays if it owns something in another database of the same server.
async fn drop_role(connection: &Connection, id: &str) {
    let schema = schema_of(id);
    let sql = format!("REVOKE USAGE ON SCHEMA carrel FROM {schema}; DROP ROLE IF EXISTS {schema};");
    if let Err(error) = connection.client().batch_execute(&sql).await {
        tracing::info!(tenant = id, error = %error, "the role of tenant {id} stays");
    }
}
