//! Holdings records of several titles bound into one item.
//!
//! Routes: `/inventory-storage/bound-withs` (PUT), which replaces all parts of an item; single parts are
//! plain records. Announces `inventory.bound-with`.

mod decide;

use crate::fields::{filled, id};
use crate::records::holdings::BOUND_WITH_PART;
use crate::store::{self, RecordEvent};
use carrel_platform::database::Json;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal, RefusalCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("PUT", "/inventory-storage/bound-withs", bind);
}

async fn bind(call: Call) -> Result<Answer, Failure> {
    let (item, wanted) = read_request(&call)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let main = pipeline
        .add("SELECT holdings_record_id FROM item WHERE id = $1 FOR NO KEY UPDATE", vec![item.into()]);
    let known =
        pipeline.add("SELECT id FROM holdings_record WHERE id = ANY($1)", vec![wanted.clone().into()]);
    let parts = pipeline
        .add("SELECT id, holdings_record_id, doc FROM bound_with_part WHERE item_id = $1", vec![item.into()]);
    let results = tx.send(pipeline).await?;
    let known: Vec<Uuid> = results.rows(known).iter().map(|row| row.get("id")).collect();
    let main: Option<Option<Uuid>> = results.first(main).map(|row| row.get("holdings_record_id"));
    refuse_if_something_is_missing(item, main.is_some(), &wanted, &known)?;
    let present: BTreeMap<Uuid, (Uuid, Json)> = results
        .rows(parts)
        .iter()
        .map(|row| (row.get("holdings_record_id"), (row.get("id"), row.get("doc"))))
        .collect();

    let decision = decide::decide(main.flatten(), &wanted, &present.keys().copied().collect::<Vec<_>>());
    let mut pipeline = Pipeline::new();
    let (mut rows, mut events, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    for holdings in decision.bind {
        let Value::Object(part) = json!({"itemId": item, "holdingsRecordId": holdings}) else { continue };
        let ready = write::complete_new(&BOUND_WITH_PART, part, &call.caller, call.now)?;
        let text = Value::Object(ready.document).to_string();
        events.push(RecordEvent { id: ready.id, old: None, new: Some(text.clone()) });
        rows.push((ready.id, text));
    }
    for holdings in decision.release {
        let Some((part, document)) = present.get(&holdings) else { continue };
        events.push(RecordEvent { id: *part, old: Some(document.0.clone()), new: None });
        gone.push(*part);
    }
    store::insert(&mut pipeline, BOUND_WITH_PART.table, rows);
    pipeline.add("DELETE FROM bound_with_part WHERE id = ANY($1)", vec![gone.into()]);
    store::announce(&mut pipeline, "inventory.bound-with", &tenant.id, events, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| store::constraint_failure(&BOUND_WITH_PART, error, std::iter::empty()))?;
    Ok(Answer::no_content())
}

fn read_request(call: &Call) -> Result<(Uuid, Vec<Uuid>), Failure> {
    let body = call.object()?;
    let item = id(&body, "itemId").ok_or_else(|| {
        Refusal::new("must not be null").with("itemId", filled(&body, "itemId").unwrap_or("null"))
    })?;
    let Some(Value::Array(contents)) = body.get("boundWithContents") else {
        return Err(Refusal::new("must not be null").with("boundWithContents", "null").into());
    };
    let mut wanted = Vec::with_capacity(contents.len());
    for content in contents {
        let holdings = content.as_object().and_then(|content| id(content, "holdingsRecordId"));
        let holdings = holdings.ok_or_else(|| {
            Refusal::new("must not be null").with("boundWithContents.holdingsRecordId", "null")
        })?;
        if !wanted.contains(&holdings) {
            wanted.push(holdings);
        }
    }
    Ok((item, wanted))
}

fn refuse_if_something_is_missing(
    item: Uuid,
    is_item: bool,
    wanted: &[Uuid],
    known: &[Uuid],
) -> Result<(), Failure> {
    let mut refusals = Vec::new();
    if !is_item {
        refusals.push(
            Refusal::new("Item not found.").with("itemId", item.to_string()).code(RefusalCode::ItemNotFound),
        );
    }
    for holdings in wanted.iter().filter(|holdings| !known.contains(holdings)) {
        refusals.push(
            Refusal::new("Holdings record not found.")
                .with("holdingsRecordId", holdings.to_string())
                .code(RefusalCode::HoldingNotFound),
        );
    }
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}
