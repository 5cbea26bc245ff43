//! The tenant's statements by total time, from PostgreSQL's `pg_stat_statements`.

use carrel_platform::{Answer, Call};
use carrel_records::Failure;
use serde_json::{Value, json};

/// Shown where the extension is not loaded.
const HOW_TO_COUNT: &str = "Add pg_stat_statements to shared_preload_libraries, start PostgreSQL again, and run CREATE EXTENSION pg_stat_statements in this database.";

/// Shown where the database user may not read statistics of other roles.
const HOW_TO_SEE: &str =
    "GRANT pg_read_all_stats to the user of --database: the statements are those of the tenant's role.";

pub async fn list(call: Call) -> Result<Answer, Failure> {
    let limit = call.query.number("limit", 20, 1, 500)?;
    let tenant = call.tenant()?;
    let schema = &tenant.schema;
    let connection = tenant.upkeep().await?;
    let place = connection
        .query(
            // The extension's setting exists only where it is loaded; a tenant's role may not read the list of
            // libraries.
            "SELECT quote_ident(nspname), pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
             FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
             WHERE extname = 'pg_stat_statements' AND current_setting('pg_stat_statements.track', true) IS NOT NULL",
            vec![],
        )
        .await?;
    let none = |reason: &str| Answer::json(&json!({"statements": [], "totalRecords": 0, "reason": reason}));
    let Some((place, may_see)) = place.first().map(|row| (row.get::<_, String>(0), row.get::<_, bool>(1)))
    else {
        return Ok(none(HOW_TO_COUNT));
    };
    if !may_see {
        return Ok(none(HOW_TO_SEE));
    }
    // Values in the texts are replaced by `$1`, so they contain no personal data. DDL is left out.
    let rows = connection
        .query(
            format!(
                "SELECT query, calls, total_exec_time, mean_exec_time, max_exec_time, rows, shared_blks_hit,
                     shared_blks_read
                 FROM {place}.pg_stat_statements
                 WHERE userid = (SELECT oid FROM pg_roles WHERE rolname = $1)
                     AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                     AND query ~* '^ *(SELECT|WITH|INSERT|UPDATE|DELETE)'
                 ORDER BY total_exec_time DESC LIMIT $2"
            ),
            vec![schema.as_str().into(), limit.into()],
        )
        .await?;
    let statements: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "statement": row.get::<_, String>(0),
                "calls": row.get::<_, i64>(1),
                "totalMilliseconds": row.get::<_, f64>(2),
                "meanMilliseconds": row.get::<_, f64>(3),
                "longestMilliseconds": row.get::<_, f64>(4),
                "rows": row.get::<_, i64>(5),
                "blocksInMemory": row.get::<_, i64>(6),
                "blocksRead": row.get::<_, i64>(7),
            })
        })
        .collect();
    Ok(Answer::json(&json!({"statements": statements, "totalRecords": statements.len()})))
}
