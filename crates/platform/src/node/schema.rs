//! Creates and upgrades the tables of a tenant.

use super::{Database, INDEX_BUILDS, Node, RELEASE};
use crate::database::{failure, run_script};
use crate::jobs::table;
use crate::record_store::{ddl, upgrade};
use crate::tenant::{Tenant, large_tables, schema_of};
use crate::tenant_profile::TenantProfile;
use carrel_records::Failure;

impl Node {
    /// Runs the upgrade steps that the tenant lacks, and creates the schema parts that it lacks; idempotent. It is one
    /// transaction, serialized by an advisory lock.
    pub(super) async fn bring_up_to_date(
        &self,
        database: &Database,
        id: &str,
        profile: &TenantProfile,
    ) -> Result<(), Failure> {
        let connection = database.upkeep.get().await?;
        let client = connection.client();
        let done = async {
            run_script(client, &self.opening(id)).await?;
            let made = read_made(client).await?;
            let parts = ddl::parts(&self.records, profile);
            // Without jobs nobody builds the indexes of large tables later.
            let large = if profile.no_jobs { Vec::new() } else { large_tables(client).await? };
            let mut plan = upgrade::plan(&parts, &made, &large);
            let mut script = String::new();
            for step in self.modules.iter().flat_map(|module| module.steps) {
                let key = (upgrade::STEP.to_owned(), String::new(), step.name.to_owned());
                if made.contains_key(&key) {
                    continue;
                }
                // A tenant without any schema part is new.
                if !made.is_empty() {
                    tracing::info!(tenant = id, "tenant {id}: {}", step.name);
                    script.push_str(step.sql);
                    script.push_str(";\n");
                }
                plan.made.push([key.0, key.1, key.2, upgrade::fingerprint(step.sql)]);
            }
            script.push_str(&plan.script);
            for module in &self.modules {
                script.push_str(module.tables);
                script.push('\n');
            }
            if profile.dangling_references {
                script.push_str(ddl::WITHOUT_REFERENCES);
            }
            run_script(client, &script).await?;
            let column = |place: usize| plan.made.iter().map(|made| made[place].as_str()).collect::<Vec<_>>();
            client
                .execute(
                    "INSERT INTO schema_part (kind, on_table, name, definition)
                     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
                     ON CONFLICT (kind, on_table, name) DO UPDATE SET definition = EXCLUDED.definition",
                    &[&column(0), &column(1), &column(2), &column(3)],
                )
                .await?;
            client.batch_execute("COMMIT").await?;
            Ok(plan.has_more)
        };
        let has_more = match done.await {
            Ok(has_more) => has_more,
            Err(error) => {
                let _ = client.batch_execute("ROLLBACK").await;
                return Err(failure(error, "making the tenant's tables"));
            }
        };
        drop(connection);
        let platform = self.platform().await?;
        platform
            .query(
                "UPDATE platform.tenant SET declarations = $2, release = $3 WHERE id = $1",
                vec![id.into(), self.declarations().into(), RELEASE.into()],
            )
            .await?;
        if has_more {
            table::soon(&platform, id, INDEX_BUILDS.name).await?;
        }
        Ok(())
    }

    /// Drops the parts that are no longer declared and contain no data of their own; for use when no older program
    /// runs. Returns what was dropped and what was kept.
    pub async fn drop_obsolete_schema(&self, tenant: &Tenant) -> Result<Vec<String>, Failure> {
        let connection = tenant.upkeep().await?;
        let client = connection.client();
        let done = async {
            run_script(client, &self.opening(&tenant.id)).await?;
            let made = read_made(client).await?;
            let (go, mut notes) = upgrade::leftovers(&ddl::parts(&self.records, &tenant.profile), &made);
            for (leftover, statement) in &go {
                client.batch_execute(statement).await?;
                client
                    .execute(
                        "DELETE FROM schema_part WHERE kind = $1 AND on_table = $2 AND name = $3",
                        &[&leftover.kind, &leftover.table, &leftover.name],
                    )
                    .await?;
                notes.push(format!(
                    "{} {} of table {} was dropped",
                    leftover.kind, leftover.name, leftover.table
                ));
            }
            client.batch_execute(DROP_FORMER_NAMES).await?;
            client.batch_execute("COMMIT").await?;
            Ok(notes)
        };
        match done.await {
            Ok(notes) => Ok(notes),
            Err(error) => {
                let _ = client.batch_execute("ROLLBACK").await;
                Err(failure(error, "dropping obsolete parts of the tenant's schema"))
            }
        }
    }

    /// Begins a transaction in the tenant's schema that excludes others of its kind.
    fn opening(&self, id: &str) -> String {
        let schema = schema_of(id);
        format!(
            "BEGIN; SELECT pg_advisory_xact_lock(hashtext('{schema}'));
             SET LOCAL ROLE {schema}; SET LOCAL search_path TO {schema}, carrel; SET LOCAL lock_timeout = 0;
             {}",
            include_str!("../tenant.sql")
        )
    }

    /// A fingerprint of all parts of a tenant's schema.
    pub(super) fn declarations(&self) -> String {
        let mut all = String::from(include_str!("../tenant.sql"));
        for part in ddl::parts(&self.records, &TenantProfile::STRICT) {
            all.push_str(&part.make);
            all.push('\n');
        }
        for module in &self.modules {
            all.push_str(module.tables);
            module.steps.iter().for_each(|step| all.push_str(step.sql));
        }
        upgrade::fingerprint(&all)
    }
}

/// Drops the views by which programs of earlier releases see tables under their former names.
const DROP_FORMER_NAMES: &str = "
DO $$ DECLARE former text; BEGIN
    FOR former IN SELECT relname FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v'
            AND obj_description(oid, 'pg_class') = 'former name'
    LOOP
        EXECUTE format('DROP VIEW %I', former);
    END LOOP;
END $$";

async fn read_made(client: &tokio_postgres::Client) -> Result<upgrade::Made, tokio_postgres::Error> {
    let rows = client.query("SELECT kind, on_table, name, definition FROM schema_part", &[]).await?;
    Ok(rows.iter().map(|row| ((row.get(0), row.get(1), row.get(2)), row.get(3))).collect())
}
