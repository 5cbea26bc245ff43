//! How queries of lists find their records: every field has an index, or is admitted to be scanned.

use super::fql;
use carrel_lists::{FieldPlan, field_plans};
use carrel_platform::Bind;
use carrel_testkit::TestServer;
use serde_json::{Value, json};

#[tokio::test]
async fn every_field_has_an_index_or_is_admitted_to_be_scanned() {
    let library = TestServer::start().await;
    let plans = field_plans(&library.node.records);
    assert!(plans.len() > 2_000, "all fields of all entity types: {}", plans.len());
    let wrong: Vec<String> = plans
        .iter()
        .filter(|plan| plan.is_indexed == plan.may_scan && plan.is_simple)
        .map(|plan| format!("{}\t{}", plan.entity_type, plan.field))
        .collect();
    assert!(
        wrong.is_empty(),
        "crates/lists/entity-types/scans.tsv names the fields without an index, and no others; add or remove:\n{}",
        wrong.join("\n")
    );
    for plan in &plans {
        assert!(plan.is_indexed || plan.may_scan, "{}.{}", plan.entity_type, plan.field);
        assert_eq!(plan.reported.is_empty(), plan.is_indexed, "{}.{}", plan.entity_type, plan.field);
    }
}

/// The statement with its values in it, as PostgreSQL explains none with parameters.
fn with_values(plan: &FieldPlan) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut sql = plan.statement.sql.clone();
    for (index, bind) in plan.statement.binds.iter().enumerate().rev() {
        let value = match bind {
            Bind::Text(text) => quoted(text),
            Bind::Texts(texts) => {
                format!("ARRAY[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
            }
            other => panic!("{other:?} is no value of a condition"),
        };
        sql = sql.replace(&format!("${}", index + 1), &value);
    }
    sql
}

#[tokio::test]
async fn a_field_with_an_index_is_found_by_it() {
    let library = TestServer::start().await;
    let database = library.database().await;
    database.batch_execute("SET enable_seqscan = off").await.expect("a setting can be changed");
    let plans = field_plans(&library.node.records);
    let mut scanning = Vec::new();
    for plan in plans.iter().filter(|plan| plan.is_simple && plan.is_indexed) {
        let rows = database
            .query(&format!("EXPLAIN (COSTS OFF) {}", with_values(plan)), &[])
            .await
            .unwrap_or_else(|error| panic!("{}.{}: {error:?}", plan.entity_type, plan.field));
        let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        if !lines.iter().any(|line| line.contains("Index Cond")) {
            scanning.push(format!("{}.{}\n{}", plan.entity_type, plan.field, lines.join("\n")));
        }
    }
    assert!(
        scanning.is_empty(),
        "{} fields are not found by their index:\n{}",
        scanning.len(),
        scanning.join("\n")
    );
}

#[tokio::test]
async fn a_scan_is_shown_by_the_report_of_missing_indexes() {
    let library = TestServer::start().await;
    let users = super::USERS;
    let query = fql(json!({"users.pronouns": {"$eq": "they"}}));
    library.get(&format!("/query?entityTypeId={users}&query={query}")).await.expect(200);
    let report = library.get("/admin/missing-indexes").await.expect(200);
    let seen = |value: &Value| value.to_string().contains("users.pronouns");
    assert!(seen(&report), "{report}");
}
