//! The text of the rules: read, validated, replaced.

use crate::records::policies::CIRCULATION_RULES;
use carrel_circulation_rules::{PolicyKind, PolicyUse, Rules, SyntaxError};
use carrel_platform::http::pretty;
use carrel_platform::record_store::write::{self, Document, Ready};
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router, Tenant, Tx};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashSet;
use uuid::{Uuid, uuid};

/// Id of the row in a tenant that was created without rules.
const RULES_ID: Uuid = uuid!("11b5e4ae-8af8-4fbb-a3d1-4a6f1e6b4b3c");

/// The table of the policies of each kind, in the order of [`PolicyKind::ALL`].
const POLICY_TABLES: [&str; 5] =
    ["loan_policy", "request_policy", "patron_notice_policy", "overdue_fine_policy", "lost_item_fee_policy"];

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/circulation/rules", |call| async move {
        let document = stored(&call).await?;
        Ok(Answer::json_bytes(pretty(&document)))
    });
    router.on("PUT", "/circulation/rules", replace_checked);
    router.on("GET", "/circulation-rules-storage", |call| async move {
        let document = stored(&call).await?;
        Ok(Answer::json(&document))
    });
    router.on("PUT", "/circulation-rules-storage", |call| async move {
        let document = call.object()?;
        replace(&call, document).await
    });
}

async fn stored(call: &Call) -> Result<Value, Failure> {
    let connection = call.tenant()?.reader().await?;
    let rows = connection.query("SELECT doc FROM circulation_rules ORDER BY id LIMIT 1", vec![]).await?;
    Ok(match rows.first() {
        Some(row) => row.get::<_, Json>(0).parse(),
        None => json!({"id": RULES_ID, "rulesAsText": ""}),
    })
}

async fn replace_checked(call: Call) -> Result<Answer, Failure> {
    let document: Document = match serde_json::from_slice(&call.body) {
        Ok(document) => document,
        // FOLIO quirk: a body that is not a JSON object is reported like an error in the rules, without a position.
        Err(error) => return Ok(refused(&json!({"message": format!("Failed to decode:{error}")}))),
    };
    let Some(text) = document.get("rulesAsText").and_then(Value::as_str) else {
        return Ok(refused(&json!({"message": "rulesAsText must be a text"})));
    };
    let policies = known_policies(call.tenant()?).await?;
    if let Err(SyntaxError { message, line, column }) = Rules::check(text, |used| policies.know(used)) {
        return Ok(refused(&json!({"message": message, "line": line, "column": column})));
    }
    replace(&call, document).await
}

fn refused(body: &Value) -> Answer {
    Answer::json_bytes(pretty(body)).status(StatusCode::UNPROCESSABLE_ENTITY)
}

/// Stores the text without validation; the next desk action uses it.
async fn replace(call: &Call, mut document: Document) -> Result<Answer, Failure> {
    document.remove("id");
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    match lock(&mut tx).await? {
        Some((id, before)) => {
            let before = before.parse();
            let ready = write::prepare_replacement(
                &CIRCULATION_RULES,
                id,
                document,
                &before,
                &call.caller,
                call.now,
            )?;
            write::update(&mut pipeline, tenant, &CIRCULATION_RULES, &ready, &before, call.now);
        }
        None => {
            document.insert("id".into(), RULES_ID.to_string().into());
            let ready = write::prepare_new(&CIRCULATION_RULES, document, &call.caller, call.now)?;
            store_first(&mut pipeline, &ready);
        }
    }
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

async fn lock(tx: &mut Tx) -> Result<Option<(Uuid, Json)>, Failure> {
    let sql = "SELECT id, doc FROM circulation_rules ORDER BY id LIMIT 1 FOR NO KEY UPDATE";
    Ok(tx.query(sql, vec![]).await?.first().map(|row| (row.get(0), row.get(1))))
}

/// Two concurrent first writes both succeed, and the later text stays.
fn store_first(pipeline: &mut Pipeline, ready: &Ready) {
    pipeline.add(
        "INSERT INTO circulation_rules (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc",
        vec![ready.id.into(), Bind::Json(Value::Object(ready.document.clone()).to_string())],
    );
}

/// The policies that exist.
struct KnownPolicies([HashSet<String>; 5]);

impl KnownPolicies {
    fn know(&self, used: &PolicyUse<'_>) -> bool {
        self.0[used.kind as usize].contains(used.name)
    }
}

async fn known_policies(tenant: &Tenant) -> Result<KnownPolicies, Failure> {
    // The primary, so that a policy created just before is found.
    let connection = tenant.writer().await?;
    let mut pipeline = Pipeline::new();
    for table in POLICY_TABLES {
        pipeline.add(format!("SELECT id::text FROM {table}"), vec![]);
    }
    let results = connection.send(pipeline).await?;
    Ok(KnownPolicies(
        PolicyKind::ALL.map(|kind| results.rows(kind as usize).iter().map(|row| row.get(0)).collect()),
    ))
}
