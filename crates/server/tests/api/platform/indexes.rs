//! Queries on fields declared as indexed can use their index.

use carrel_cql::Query;
use carrel_platform::record_store::read;
use carrel_platform::{Connection, Json};
use carrel_records::{Field, Index, Kind, RecordType, ReferenceIndex, Routes};
use carrel_testkit::TestServer;
use serde_json::Value;

/// Table, field and reason why its query needs no index condition. The list only shrinks.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

fn record_types() -> Vec<&'static RecordType> {
    carrel_server::modules::modules().iter().flat_map(|module| module.records.iter().copied()).collect()
}

#[tokio::test]
async fn every_declared_index_exists_in_a_new_tenant() {
    let server = TestServer::start().await;
    let connection = server.tenant.writer().await.expect("a connection");
    let rows = connection
        .query("SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema()", vec![])
        .await
        .expect("indexes can be listed");
    let existing: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let mut missing = Vec::new();
    for record in record_types() {
        for statement in carrel_cql::sql::index_ddl(record) {
            let name = statement
                .split_whitespace()
                .skip_while(|word| !word.eq_ignore_ascii_case("EXISTS"))
                .nth(1)
                .unwrap_or_else(|| panic!("an index is made IF NOT EXISTS with a name: {statement}"));
            if !existing.iter().any(|index| index == name.trim_matches('"')) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "declared and not there: {missing:?}");
}

/// The planner estimates an index of exactly the open loans as empty if there are few at the moment, and then scans it
/// completely for the loan of an item, so that scans become slower with each loan. An index with a narrower condition
/// does not have this problem.
#[tokio::test]
async fn no_index_contains_exactly_the_open_loans() {
    let server = TestServer::start().await;
    let connection = server.tenant.writer().await.expect("a connection");
    let rows = connection
        .query(
            "SELECT indexrelid::regclass::text FROM pg_index
             WHERE indrelid = 'loan'::regclass AND indpred IS NOT NULL
                 AND pg_get_expr(indpred, indrelid) NOT LIKE '%lostItemHasBeenBilled%'",
            vec![],
        )
        .await
        .expect("indexes can be listed");
    let partial: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(partial.is_empty(), "{partial:?}");
}

/// A query that the field's index serves.
fn queries(field: &Field) -> Vec<String> {
    let name = field.name;
    let value = match field.kind {
        Kind::Uuid => "2b94c631-fca9-4892-a730-03ee529ffe27",
        Kind::Number => "17",
        Kind::Boolean => "true",
        Kind::Date => "2026-03-04T05:06:07Z",
        Kind::Text | Kind::Array { .. } => "abc",
    };
    let by_value = format!("{name} == \"{value}\"");
    let by_words = format!("{name} = \"{value}\"");
    match field.index {
        Index::None => vec![],
        Index::Value => vec![by_value],
        Index::Words => vec![by_words],
        Index::ValueAndWords => vec![by_value, by_words],
    }
}

/// Whether the plan reads the whole table.
fn reads_all(plan: &Value, table: &str) -> bool {
    let here = plan["Relation Name"] == table
        && match plan["Node Type"].as_str() {
            Some("Seq Scan") => true,
            // A full scan of an index narrows nothing.
            Some("Index Scan" | "Index Only Scan") => plan["Index Cond"].is_null(),
            _ => false,
        };
    here || plan["Plans"].as_array().is_some_and(|plans| plans.iter().any(|plan| reads_all(plan, table)))
}

async fn plan(
    connection: &Connection,
    record: &RecordType,
    all: &[&'static RecordType],
    text: &str,
) -> Result<Value, String> {
    let query = Query::parse(text).map_err(|bad| bad.to_string())?;
    let condition =
        read::unreported_condition(Some(&query), record, all).map_err(|failure| failure.to_string())?;
    let sql = format!(
        "EXPLAIN (FORMAT JSON) SELECT 1 FROM {} WHERE {}",
        read::from_sql(record),
        condition.conditions
    );
    let rows = connection
        .query(sql, read::binds(&condition.arguments))
        .await
        .map_err(|error| error.error.to_string())?;
    let plan: Json = rows[0].get(0);
    Ok(plan.parse()[0]["Plan"].clone())
}

#[tokio::test]
async fn a_query_on_an_indexed_field_uses_an_index() {
    let server = TestServer::start().await;
    let connection = server.tenant.writer().await.expect("a connection");
    connection.client().batch_execute("SET enable_seqscan = off").await.expect("a setting");
    let all = record_types();
    let mut wrong = Vec::new();
    for record in all.iter().filter(|record| record.routes == Routes::Collection) {
        for field in record.fields {
            if EXCEPTIONS.iter().any(|(table, name, _)| *table == record.table && *name == field.name) {
                continue;
            }
            for query in queries(field) {
                match plan(&connection, record, &all, &query).await {
                    Ok(plan) if reads_all(&plan, record.table) => {
                        wrong.push(format!("{}: {query}: {plan}", record.table));
                    }
                    Ok(_) => {}
                    Err(words) => wrong.push(format!("{}: {query}: {words}", record.table)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "queries on indexed fields that read the whole table:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_reference_is_found_by_its_index() {
    let server = TestServer::start().await;
    let connection = server.tenant.writer().await.expect("a connection");
    connection.client().batch_execute("SET enable_seqscan = off").await.expect("a setting");
    let all = record_types();
    let mut wrong = Vec::new();
    for record in all.iter().filter(|record| record.routes == Routes::Collection) {
        for key in record.belongs_to.iter().filter(|key| key.index != ReferenceIndex::Missing) {
            let query = format!("{} == \"2b94c631-fca9-4892-a730-03ee529ffe27\"", key.field);
            match plan(&connection, record, &all, &query).await {
                Ok(plan) if reads_all(&plan, record.table) => {
                    wrong.push(format!("{}: {query}", record.table))
                }
                Ok(_) => {}
                Err(words) => wrong.push(format!("{}: {query}: {words}", record.table)),
            }
        }
    }
    assert!(wrong.is_empty(), "references without a usable index:\n{}", wrong.join("\n"));
}
