//! Invariants of every tenant after a run, checked in Carrel's tables if the database is known.

use crate::error::{Context, Result};
use crate::floor::connect;

/// What is counted, the required tables, and the statement; the count must be zero.
const CHECKS: [(&str, &str, &str); 4] = [
    (
        "open loans of items that are available",
        "item_state",
        "select count(*) from loan join item_state s on s.item_id = loan.item_id
         where loan.is_open and s.status = 'Available'",
    ),
    (
        "items with several open loans",
        "loan",
        "select count(*) from (select item_id from loan where is_open group by 1 having count(*) > 1) twice",
    ),
    (
        "request queues with gaps",
        "request_queue",
        "select count(*) from (select queue_id from request where is_open group by 1
             having count(*) <> max(position) or min(position) <> 1) gaps",
    ),
    (
        "lists that are still being refreshed",
        "list_job",
        "select count(*) from list_job where state in ('queued', 'running')",
    ),
];

/// A sentence for each tenant.
pub async fn check(database: &str, tenants: &[String]) -> Result<Vec<String>> {
    let client = connect(&database.parse().context("reading the database's address")?).await?;
    let mut sentences = Vec::new();
    for tenant in tenants {
        let schema = format!("library_{tenant}");
        let found = client
            .query_opt("select quote_ident(nspname) from pg_namespace where nspname = $1", &[&schema])
            .await;
        let Some(row) = found.context("looking for a tenant's schema")? else {
            sentences.push(format!("{tenant}: not a tenant of Carrel on this database, so not checked."));
            continue;
        };
        let path = format!("set search_path = {}", row.get::<_, String>(0));
        client.batch_execute(&path).await.context("entering a tenant's schema")?;
        let mut wrong = Vec::new();
        for (what, table, sql) in CHECKS {
            let there = client.query_one("select to_regclass($1) is not null", &[&table]).await;
            if there.context("looking for a table")?.get::<_, bool>(0) {
                let count: i64 = client.query_one(sql, &[]).await.context(format!("counting {what}"))?.get(0);
                if count > 0 {
                    wrong.push(format!("{count} {what}"));
                }
            }
        }
        sentences.push(if wrong.is_empty() {
            format!(
                "{tenant}: one open loan per lent item, no gaps in request queues, no refresh in progress."
            )
        } else {
            format!("{tenant}: INCONSISTENT: {}.", wrong.join(", "))
        });
    }
    Ok(sentences)
}
